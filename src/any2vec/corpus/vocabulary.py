"""V: the vertices that get vectors, with their ids and counts."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

__all__ = ["Vocabulary"]


@dataclass(frozen=True)
class Vocabulary:
    """Words in the order of their ids: by falling count, ties by their UTF-8 bytes.

    Attributes
    ----------
    words : sequence of str
        Word of each id, length V.
    counts : int64 array, shape (V,)
        How often each word occurs in the corpus.
    """

    words: Sequence[str]
    counts: NDArray[np.int64]

    @cached_property
    def ids(self) -> dict[str, int]:
        """Id of each word."""
        return {word: i for i, word in enumerate(self.words)}

    def __len__(self) -> int:
        return len(self.words)
