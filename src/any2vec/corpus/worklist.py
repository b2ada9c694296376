"""W: the corpus as the ids of its words, which is read piece by piece; of a text it is memory-mapped."""

import mmap
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from any2vec.io.memory import memory_errors, read_only

__all__ = [
    "BOUNDS",
    "IDS",
    "LINES",
    "Piece",
    "StoredWorklist",
    "Worklist",
    "map_file",
    "open_lines",
    "open_worklist",
    "release",
]

IDS, BOUNDS = "ids.int32", "bounds.int64"  # the files of a worklist
LINES = "lines.int64"  # beside them: which line each sentence is, if these are documents


class Piece(NamedTuple):
    """Whole sentences of a worklist, with some of its positions.

    Attributes
    ----------
    ids : int32 array
        Ids of their words; read-only.
    bounds : int64 array, shape (sentences + 1,)
        Sentence i is ``ids[bounds[i] : bounds[i + 1]]``; read-only.
    at : int
        Position in the worklist of ``ids[0]``; negative if that is in the part of the host before.
    low, high : int
        The positions are ``ids[low:high]``.
    """

    ids: NDArray[np.int32]
    bounds: NDArray[np.int64]
    at: int
    low: int
    high: int


class Worklist(ABC):
    """The ids of a corpus's words, in the order of the text: all of W, or the parts of the hosts held here.

    Attributes
    ----------
    first : int
        Position in W of the first word.
    size : int
        Words.
    seconds : float
        CPU seconds in which threads have made what they read of it, if it is not stored.
    """

    first: int

    @property
    def seconds(self) -> float:
        """CPU seconds in which threads have made what they read."""
        return 0.0

    @property
    @abstractmethod
    def nbytes(self) -> int:
        """Bytes that it takes, of memory or of files."""

    @property
    @abstractmethod
    def size(self) -> int:
        """Number of words."""

    @abstractmethod
    def pieces(self, low: int, high: int) -> Iterator[Piece]:
        """Yield positions low..high-1 in pieces, in their order; at least one, which may be empty."""

    @abstractmethod
    def lengths(self, most: int) -> NDArray[np.int64]:
        """Return the lengths of the first sentences, `most` of them if there are as many."""

    @abstractmethod
    def between(self, low: int, high: int) -> Self:
        """Return the worklist of positions low..high-1, not copied; both are sentence bounds."""

    def release(self) -> None:  # noqa: B027
        """Let the system take back the memory of what was read."""


@dataclass(frozen=True, eq=False)
class StoredWorklist(Worklist):
    """A worklist that lies in memory or in files.

    Attributes
    ----------
    ids : int32 array, shape (N,)
        Ids of the words that are in the vocabulary; memory-mapped or not, read-only.
    bounds : int64 array, shape (sentences + 1,)
        Sentence i is ``ids[bounds[i] : bounds[i + 1]]``, at least one word; memory-mapped or not, read-only.
    first : int
        Position in W of ``ids[0]``.
    """

    ids: NDArray[np.int32]
    bounds: NDArray[np.int64]
    first: int = 0
    _maps: tuple[mmap.mmap, ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        """Make both read-only, wherever they are from: the same compiled kernels take them."""
        for name in ("ids", "bounds"):
            object.__setattr__(self, name, read_only(getattr(self, name)))

    def __len__(self) -> int:
        """Return the number of sentences."""
        return len(self.bounds) - 1

    @property
    def size(self) -> int:
        """Number of words."""
        return len(self.ids)

    @property
    def nbytes(self) -> int:
        """Bytes of both arrays."""
        return self.ids.nbytes + self.bounds.nbytes

    def pieces(self, low: int, high: int) -> Iterator[Piece]:
        """Yield all sentences, as one piece."""
        yield Piece(self.ids, self.bounds, 0, low, high)

    def lengths(self, most: int) -> NDArray[np.int64]:
        """Return the lengths of the first sentences."""
        return np.diff(self.bounds[: most + 1])

    def between(self, low: int, high: int) -> "StoredWorklist":
        """Return ``ids[low:high]``, not copied, as a worklist whose bounds begin at 0; both are sentence bounds."""
        i, j = np.searchsorted(self.bounds, [low, high]).tolist()
        bounds = self.bounds[i : j + 1]
        return StoredWorklist(self.ids[low:high], bounds - low if low else bounds, self.first + low, self._maps)

    def release(self) -> None:
        """Let the system take back the pages read so far; they stay in the file, and mostly in the page cache."""
        release(self._maps)


def open_worklist(folder: Path, first: int = 0) -> StoredWorklist:
    """Map the worklist in a folder, whose first word is at position `first` of W; its arrays are read when used."""
    maps: list[mmap.mmap] = []
    ids, bounds = map_file(folder / IDS, np.int32, maps), map_file(folder / BOUNDS, np.int64, maps)
    return StoredWorklist(ids, bounds, first, tuple(maps))


def open_lines(folder: Path) -> NDArray[np.int64]:
    """Map the lines of the sentences of a worklist."""
    return map_file(folder / LINES, np.int64, [])


def release(maps: Iterable[mmap.mmap]) -> None:
    """Let the system take back the pages of files that were read."""
    if hasattr(mmap, "MADV_DONTNEED"):
        for mapped in maps:
            mapped.madvise(mmap.MADV_DONTNEED)


def map_file(path: Path, kind: type[np.generic], maps: list[mmap.mmap]) -> NDArray[Any]:
    """Map a file of numbers, read-only, and append the map to `maps`."""
    with path.open("rb") as file:
        if path.stat().st_size == 0:  # a host without words; an empty file cannot be mapped
            return np.frombuffer(b"", kind)
        with memory_errors(str(path)):
            maps.append(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    return np.frombuffer(maps[-1], kind)
