"""A corpus that was read: W, the ids of its words, which is read piece by piece; its documents; its hosts' parts."""

import mmap
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from any2vec.corpus.parts import WordRows
from any2vec.corpus.vocabulary import Vocabulary
from any2vec.io.memory import memory_errors, read_only
from any2vec.io.outputs import refusals

IDS, BOUNDS = "ids.int32", "bounds.int64"  # the files of a worklist
LINES = "lines.int64"  # beside them: which line each sentence is, if these are documents


class Piece(NamedTuple):
    """Whole sentences of a worklist, and the positions ``ids[low:high]`` of it; both arrays are read-only."""

    ids: NDArray[np.int32]
    bounds: NDArray[np.int64]  # sentence i is ``ids[bounds[i] : bounds[i + 1]]``
    at: int  # position in the worklist of ``ids[0]``; negative if that is in the part of the host before
    low: int
    high: int


class Worklist(ABC):
    """The ids of a corpus's words, in the order of the text: all of W, or the parts of the hosts held here."""

    first: int  # position in W of the first word

    @property
    def seconds(self) -> float:
        """CPU seconds in which threads have made what they read of it, if it is not stored."""
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
    """A worklist in memory or in files: sentence i is ``ids[bounds[i] : bounds[i + 1]]``, at least one word."""

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
    with refusals(path, what="cannot be read"), path.open("rb") as file:
        if path.stat().st_size == 0:  # a host without words; an empty file cannot be mapped
            return np.frombuffer(b"", kind)
        with memory_errors(str(path)):
            maps.append(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    return np.frombuffer(maps[-1], kind)


@dataclass(frozen=True, eq=False)
class Documents:
    """The documents (lines, rows or items of the text) that have a word of V: each is a sentence of W."""

    lines: NDArray[np.int64]  # number, from 1, of each sentence held here among the items that this process read
    first: int  # sentences of W before those held here
    before: int  # items before those that this process read
    number: int  # items in all
    tags: Sequence[str] = field(default=(), repr=False)  # of all items that this process read; else their numbers

    def names(self, low: int, high: int) -> list[str]:
        """Return the names of sentences low..high-1 of W."""
        lines = self.lines[low - self.first : high - self.first]
        if self.tags:
            return [self.tags[line - 1] for line in lines.tolist()]
        return list(map(str, (lines + self.before).tolist()))


NO_KIND = 255
"""Kind of a vertex of an earlier graph."""


@dataclass(frozen=True, eq=False)
class Corpus:
    """A text, ready for training; numbers are totals over all hosts."""

    vocabulary: Vocabulary  # the same on all hosts
    worklist: Worklist  # W, or on a cluster this host's part of it
    raw_words: int  # in the text, with those that `min_count` dropped
    sentences: int  # those with a word in the vocabulary
    invalid: int  # words that were not UTF-8, or tokens with lone surrogates: U+FFFD replaces these
    cuts: NDArray[np.int64]  # host h's part of W is ``cuts[h]`` to ``cuts[h + 1] - 1``: whole sentences, or nothing
    held: range  # the hosts whose parts are in `worklist`
    cached: bool
    seconds: dict[str, float] = field(repr=False)  # to scan (read, count, choose) and to encode; both 0 if cached
    folder: Path  # has the worklist's files; removed with this object unless it is in the cache
    line_ends: int = 0  # line feeds of the text, and words ``</s>`` if these end sentences
    rows: WordRows | None = None  # of e, that make a word's vector, if they are several
    documents: Documents | None = None
    memory: dict[str, int] = field(default_factory=dict, repr=False)  # bytes by part, of a graph and its walks
    kinds: NDArray[np.uint8] | None = None  # of each vertex of a graph with kinds; `NO_KIND` if it lacks the vertex
    read_bytes: int = 0  # that hosts have sent each other to read a graph in parts
    walk_bytes: int = 0  # and to walk on it
    given: Any = field(default=None, repr=False)  # what the estimator that read it has loaded to go on from

    @property
    def vertices(self) -> int:
        """The rows that a matrix has: V, or V + P with P rows of parts."""
        return len(self.vocabulary) if self.rows is None else self.rows.number

    @property
    def hosts(self) -> int:
        """H, the number of hosts the text is cut for."""
        return len(self.cuts) - 1

    def documents_of(self, host: int) -> range:
        """Return the numbers in W of a host's documents; the host is one of `held`."""
        assert self.documents
        assert isinstance(self.worklist, StoredWorklist)
        low, high = (int(cut) - self.worklist.first for cut in self.cuts[host : host + 2])
        first, last = (np.searchsorted(self.worklist.bounds, [low, high]) + self.documents.first).tolist()
        return range(first, last)

    def part(self, host: int) -> Worklist:
        """Return the worklist of a host, one of those `held`: it begins at position `first` of W, and may be empty."""
        if host not in self.held:
            raise IndexError(f"host {host}'s part is not here; those of {self.held} are")
        low, high = (int(cut) - self.worklist.first for cut in self.cuts[host : host + 2])
        return self.worklist.between(low, high)
