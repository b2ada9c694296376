"""W: the corpus as the ids of its words, memory-mapped."""

import mmap
from dataclasses import dataclass, field
from pathlib import Path

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
    _maps: tuple[mmap.mmap, ...] = field(default=(), repr=False)

    def __len__(self) -> int:
        """Return the number of sentences."""
        return len(self.bounds) - 1

    def release(self) -> None:
        """Let the system take back the memory that was read so far: it stays in the file, and mostly in its cache."""
        if hasattr(mmap, "MADV_DONTNEED"):
            for mapped in self._maps:
                mapped.madvise(mmap.MADV_DONTNEED)


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
    maps = tuple(_map(folder / name) for name in (IDS, BOUNDS))
    return Worklist(np.frombuffer(maps[0], np.int32), np.frombuffer(maps[1], np.int64), maps)


def _map(path: Path) -> mmap.mmap:
    with path.open("rb") as file:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
