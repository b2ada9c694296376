"""Words whose vector is the mean of several rows: a row of their own, and those of their parts.

Parts are n-grams (Bojanowski et al. 2017, "Enriching word vectors with subword information", section 3.2), features of
items, or what an operator of a user's own makes of a word.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

_FEW = 1 << 22  # numbers of which each may have an entry in a table, whatever is listed


@dataclass(frozen=True, eq=False)
class WordRows:
    """The rows of e that make each word's vector: V rows of words and P rows of parts, the most frequent ones first."""

    bounds: NDArray[np.int64]  # word w has the rows ``rows[bounds[w] : bounds[w + 1]]``
    rows: NDArray[np.int32]  # each word's own row first, then those of its parts, as often as it has them
    ids: NDArray[np.int64]  # rising numbers of the P parts that words have
    parts: NDArray[np.int32]  # row of each part

    @classmethod
    def of(
        cls, counts: NDArray[np.int64], bounds: NDArray[np.int64], parts: Sequence[int] | NDArray[np.integer]
    ) -> Self:
        """Give rows to words that have the parts ``parts[bounds[w] : bounds[w + 1]]``, by the counts of words."""
        ids, listed = _numbered(parts)
        used = np.bincount(listed, np.repeat(counts.astype(np.float64), np.diff(bounds)), len(ids))
        places = np.flatnonzero(np.bincount(listed, minlength=len(ids)))
        every = np.concatenate([counts, used[places]])
        numbers = np.empty(len(every), np.int32)
        numbers[np.argsort(-every, kind="stable")] = np.arange(len(every), dtype=np.int32)
        own, of_parts = np.split(numbers, [len(counts)])
        at = np.empty(len(ids), np.int32)
        at[places] = of_parts
        rows = np.insert(at[listed], bounds[:-1], own)
        return cls(bounds + np.arange(len(bounds)), rows, ids[places], of_parts)

    @property
    def own(self) -> NDArray[np.int32]:
        """The row of each word's own; shape (V,)."""
        return self.rows[self.bounds[:-1]]

    @property
    def number(self) -> int:
        """V + P, the rows of e."""
        return len(self.bounds) - 1 + len(self.ids)

    @property
    def nbytes(self) -> int:
        """Bytes of the lists."""
        return self.bounds.nbytes + self.rows.nbytes + self.ids.nbytes + self.parts.nbytes

    @property
    def most(self) -> int:
        """Rows of the word that has most."""
        return int(np.diff(self.bounds).max())

    def spread(self, of_words: NDArray[np.float64]) -> NDArray[np.float64]:
        """Sum up, for each row of e, what words have of something; shape (V,) to shape (V + P,)."""
        weights = np.repeat(np.asarray(of_words, np.float64), np.diff(self.bounds))
        return np.bincount(self.rows, weights, self.number).astype(np.float64, copy=False)

    def shares(self, counts: NDArray[np.float64], words: float = 1.0) -> NDArray[np.float64]:
        """Return a row's share of so many words: 1/n, if they have n rows, in the mean over words by their counts."""
        sizes = np.diff(self.bounds)
        others = (words - 1.0) * np.average(sizes, weights=counts)
        return self.spread(counts / (sizes + others)) / self.spread(counts)


def _numbered(parts: Sequence[int] | NDArray[np.integer]) -> tuple[NDArray[np.int64], NDArray[np.integer]]:
    """Return numbers, rising, and the place among them of each part: the parts themselves, unless these are sparse."""
    listed = parts if isinstance(parts, np.ndarray) and parts.dtype == np.int32 else np.asarray(parts, np.int64)
    if not len(listed):
        return np.empty(0, np.int64), listed
    if listed.min() >= 0 and listed.max() < max(_FEW, len(listed)):
        return np.arange(int(listed.max()) + 1), listed
    found, places = np.unique(np.asarray(listed, np.int64), return_inverse=True)
    return found, places
