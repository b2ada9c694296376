"""W: the corpus as the ids of its words, memory-mapped."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["BOUNDS", "IDS", "Worklist", "open_worklist"]

IDS, BOUNDS = "ids.int32", "bounds.int64"  # the files of a worklist


@dataclass(frozen=True, eq=False)
class Worklist:
    """The ids of a corpus's words, in the order of the text.

    Attributes
    ----------
    ids : int32 array, shape (N,)
        Ids of the words that are in the vocabulary; memory-mapped, read-only.
    bounds : int64 array, shape (sentences + 1,)
        Sentence i is ``ids[bounds[i] : bounds[i + 1]]``, at least one word; memory-mapped, read-only.
    """

    ids: NDArray[np.int32]
    bounds: NDArray[np.int64]

    def __len__(self) -> int:
        """Return the number of sentences."""
        return len(self.bounds) - 1


def open_worklist(folder: Path) -> Worklist:
    """Map the worklist in a folder.

    Parameters
    ----------
    folder : Path
        Holds ``ids.int32`` and ``bounds.int64``.

    Returns
    -------
    Worklist
        Its arrays read from the files when they are used.

    Raises
    ------
    OSError, ValueError
        If a file is missing or empty.
    """
    return Worklist(_map(folder / IDS, np.int32), _map(folder / BOUNDS, np.int64))


def _map(path: Path, kind: type[np.generic]) -> NDArray[Any]:
    return np.memmap(path, kind, "r").view(np.ndarray)
