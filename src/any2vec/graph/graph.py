"""`Graph`: compressed sparse rows, the names of vertices, and their kinds."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from any2vec.corpus.word_table import copy_words
from any2vec.errors import Any2VecError
from any2vec.io.memory import read_only, zeros

_MOST_KINDS = 255
"""Kinds in a graph."""


@dataclass(frozen=True, eq=False)
class Kinds:
    """The kinds of a graph's vertices.

    Attributes
    ----------
    names : tuple of str, length T
        Names of the kinds, at most 255.
    of : uint8 array, shape (V,)
        The kind of each vertex, an index into `names`.

    Raises
    ------
    Any2VecError
        If there are more kinds, a name is empty or occurs twice, or a number is no kind's.
    """

    names: tuple[str, ...]
    of: NDArray[Any]

    def __post_init__(self) -> None:
        if len(self.names) > _MOST_KINDS:
            first = ", ".join(map(repr, self.names[:3]))
            raise Any2VecError(
                f"vertices have {len(self.names):,} kinds, {first} and so on; there may be {_MOST_KINDS} at most"
            )
        if len(set(self.names)) < len(self.names) or not all(self.names):
            raise Any2VecError(f"kinds must have names that differ and are not empty, unlike {self.names}")
        found = np.asarray(self.of)
        if found.ndim != 1 or found.dtype.kind not in "iu" or (len(found) and found.min() < 0):
            raise Any2VecError(f"kinds of vertices must be a list of whole numbers from 0, not {found.dtype}")
        if len(found) and found.max() >= len(self.names):
            raise Any2VecError(f"kinds of vertices are below {len(self.names)}, their number; {found.max()} is not")
        object.__setattr__(self, "of", read_only(found.astype(np.uint8)))

    @classmethod
    def of_vertices(cls, kinds: Iterable[str]) -> "Kinds":
        """Make them of the name of each vertex's kind; kinds are in the order in which they first occur."""
        numbers: dict[str, int] = {}

        def number_of(kind: str) -> int:
            if kind not in numbers and len(numbers) < _MOST_KINDS + 1:  # one too many: refused, with its name
                numbers[kind] = len(numbers)
            return numbers.get(kind, 0)

        found = np.fromiter(map(number_of, kinds), np.uint16)
        return cls(tuple(numbers), found)

    def __len__(self) -> int:
        return len(self.of)

    def __getitem__(self, vertex: int) -> str:
        """Return the name of a vertex's kind."""
        return self.names[self.of[vertex]]

    def __iter__(self) -> Iterator[str]:
        return (self.names[kind] for kind in self.of.tolist())

    @property
    def counts(self) -> NDArray[np.int64]:
        """Vertices of each kind, shape (T,)."""
        return np.bincount(self.of, minlength=len(self.names))

    def __str__(self) -> str:
        """List how many vertices there are of each kind: of five kinds at most."""
        named = sorted(zip(self.counts.tolist(), self.names, strict=True), key=lambda kind: -kind[0])
        more = f" and {len(named) - 5:,} more kinds" if len(named) > 5 else ""
        return ", ".join(f"{count:,} {name}" for count, name in named[:5]) + more

    def __repr__(self) -> str:
        return f"<Kinds: {self}>"


GROUP = 1 << 16  # names decoded at a time


class Names(Sequence[str]):
    """Names of vertices, kept as UTF-8 and decoded on access: name i is ``arena[starts[i] : starts[i + 1] - 1]``."""

    def __init__(self, arena: NDArray[np.uint8], starts: NDArray[np.int64]) -> None:
        self._arena = arena
        self._starts = starts

    def __len__(self) -> int:
        return len(self._starts) - 1

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> list[str]: ...
    def __getitem__(self, index: int | slice) -> str | list[str]:
        if isinstance(index, slice):
            places = range(*index.indices(len(self)))
            return list(self._between(places.start, places.stop)) if places.step == 1 else [self[i] for i in places]
        i = index + len(self) if index < 0 else index
        if not 0 <= i < len(self):
            raise IndexError(f"no vertex {index}: there are {len(self):,}")
        return self._arena[self._starts[i] : self._starts[i + 1] - 1].tobytes().decode()

    def __iter__(self) -> Iterator[str]:
        return self._between(0, len(self))

    def __repr__(self) -> str:
        return f"<{len(self):,} names>"

    @property
    def nbytes(self) -> int:
        """Bytes that names take."""
        return self._arena.nbytes + self._starts.nbytes

    def arranged(self, order: NDArray[np.int64]) -> "Names":
        """Return the names of some vertices, in their order."""
        starts = zeros(len(order) + 1, np.int64)
        np.cumsum(self._starts[order + 1] - self._starts[order], out=starts[1:])
        arena = zeros(int(starts[-1]), np.uint8)
        copy_words(self._arena, self._starts, order, arena, starts)
        return Names(arena, starts)

    def _between(self, low: int, high: int) -> Iterator[str]:
        for first in range(low, high, GROUP):
            starts = self._starts[first : min(first + GROUP, high) + 1].tolist()
            text = self._arena[starts[0] : starts[-1]].tobytes()
            for begin, end in pairwise(starts):
                yield text[begin - starts[0] : end - starts[0] - 1].decode()


@dataclass(frozen=True, eq=False, repr=False)
class Graph:
    """An immutable graph in compressed sparse rows.

    An undirected edge is in the rows of both its vertices, a self loop once.

    Attributes
    ----------
    indptr : int64 array, shape (V + 1,)
        The neighbours of vertex v are ``indices[indptr[v] : indptr[v + 1]]``.
    indices : int32 array
        Neighbours (in a directed graph: targets), sorted for each vertex.
    weights : float32 array or None
        Weight of each entry of `indices`; None if the graph is unweighted.
    names : sequence of str, length V
        Names of the vertices.
    directed : bool
        Whether edges have a direction.
    kinds : Kinds or None
        The kind of each vertex; None if they have none.
    """

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    weights: NDArray[np.float32] | None
    names: Sequence[str]
    directed: bool = False
    kinds: Kinds | None = None

    def __post_init__(self) -> None:
        entries, vertices = len(self.indices), len(self.indptr) - 1
        if vertices < 0 or self.indptr[0] != 0 or self.indptr[-1] != entries or (np.diff(self.indptr) < 0).any():
            raise Any2VecError(f"indptr must rise from 0 to the number of indices, {entries:,}")
        if entries and not 0 <= self.indices.min() <= self.indices.max() < vertices:
            wrong = self.indices[(self.indices < 0) | (self.indices >= vertices)][0]
            raise Any2VecError(f"indices must be vertices, 0 to {vertices - 1:,}; {wrong:,} is not")
        if len(self.names) != vertices or (self.weights is not None and len(self.weights) != entries):
            raise Any2VecError(
                f"{vertices:,} vertices and {entries:,} indices: give as many names, and as many weights or None"
            )
        if self.kinds is not None and len(self.kinds) != vertices:
            raise Any2VecError(f"{vertices:,} vertices and {len(self.kinds):,} kinds of vertices: give each its kind")
        for name in ("indptr", "indices", "weights"):
            if (array := getattr(self, name)) is not None:
                object.__setattr__(self, name, read_only(array))

    def __len__(self) -> int:
        return len(self.indptr) - 1

    def __repr__(self) -> str:
        kind = f"{'directed' if self.directed else 'undirected'}, {'un' if self.weights is None else ''}weighted"
        return f"<Graph: {len(self):,} vertices, {self.edges:,} edges, {kind}>"

    @cached_property
    def edges(self) -> int:
        """Number of edges, an undirected one counted once."""
        entries = len(self.indices)
        return entries if self.directed else (entries + self.loops) // 2

    @cached_property
    def loops(self) -> int:
        """Number of self loops."""
        return count_loops(self.indptr, self.indices)

    @property
    def degrees(self) -> NDArray[np.int64]:
        """Neighbours of each vertex (in a directed graph: outgoing edges)."""
        return np.diff(self.indptr)

    @cached_property
    def ids(self) -> dict[str, int]:
        """Vertex by name."""
        return {name: vertex for vertex, name in enumerate(self.names)}


def entries_by_rows(
    indptr: NDArray[np.int64], indices: NDArray[np.int32], first: int = 0
) -> Iterator[tuple[NDArray[np.int32], NDArray[np.int32]]]:
    """Yield the vertex and the neighbour of the entries in the rows of vertices `first` on: some at a time."""
    for low in range(0, len(indptr) - 1, GROUP):
        ends = indptr[low : low + GROUP + 1]
        rows = np.arange(first + low, first + low + len(ends) - 1, dtype=np.int32)
        yield np.repeat(rows, np.diff(ends)), indices[ends[0] : ends[-1]]


def count_loops(indptr: NDArray[np.int64], indices: NDArray[np.int32], first: int = 0) -> int:
    """Count the self loops in the rows of vertices `first` on."""
    return sum(int(np.count_nonzero(rows == found)) for rows, found in entries_by_rows(indptr, indices, first))
