"""`Graph`: compressed sparse rows, the names of vertices, and their kinds; and what a vertex is called.

One rule for ids from pairs, arrays, frames, dicts, libraries' graphs and labels. Files of text are apart: what stands
in them is the name, so '007', '1.0' and '1e3' stay as they are.
"""

import numbers
import operator
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, time, timedelta
from decimal import Decimal
from functools import cached_property
from itertools import pairwise
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from any2vec.corpus.word_table import copy_words
from any2vec.errors import Any2VecError, shown
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


_MISSING = ("NoneType", "NaTType", "NAType", "MaskedConstant")
_NUMBER = numbers.Number | np.number
_TIMES = (date, time, timedelta, np.datetime64, np.timedelta64)
_REFUSED = (bool, np.bool_, bytes, bytearray, memoryview, list, dict, set, frozenset, np.ndarray, np.void, range, type)
_GIVE = "give strings or integers"


def vertex_name(vertex: Any, where: str, what: str = "a vertex") -> str:
    """Return what a vertex is called; `where` and `what` say in errors where it stands, and what it is.

    A string is its own name. Integers, and floats and decimals that are whole numbers, are written as decimal numbers.
    Tuples and other objects are called by their ``str()``, in which the same holds for numbers. What is missing (None,
    NaN, an empty string), no whole number, too large to tell integers apart, or a bool, bytes, a time, a collection or
    an object without a text, is an error.
    """
    if isinstance(vertex, str):
        return _checked(str.__str__(vertex), where, what)
    if getattr(vertex, "shape", None) == () and not isinstance(vertex, np.generic) and hasattr(vertex, "__array__"):
        vertex = vertex if isinstance(vertex, np.ma.core.MaskedConstant) else np.asarray(vertex)[()]  # a tensor's item
    elif hasattr(vertex, "as_py"):  # Arrow's
        vertex = vertex.as_py()
    if type(vertex).__name__ in _MISSING:
        raise Any2VecError(f"{where}: {what} is missing ({vertex})")
    if isinstance(vertex, _TIMES + _REFUSED) or callable(vertex) or _is_collection(vertex):
        raise Any2VecError(f"{where}: {what} is a {type(vertex).__name__}, {shown(vertex)}; {_GIVE}")
    if isinstance(vertex, _NUMBER):
        return _name_of_number(vertex, where, what)
    if isinstance(vertex, str):  # an item of an array or of Arrow
        return _checked(str.__str__(vertex), where, what)
    if isinstance(vertex, tuple):
        return _checked(repr(tuple(map(_part, vertex))), where, what)
    kind = type(vertex)
    if all(getattr(kind, text) is getattr(object, text) for text in ("__str__", "__repr__")):  # else an address
        raise Any2VecError(f"{where}: {what} is a {kind.__name__}, which has no text of its own; {_GIVE}")
    return _checked(str(vertex), where, what)


def _is_collection(value: Any) -> bool:
    """Whether a value holds others, and is no tuple: an array or column of any library, a deque, an iterator."""
    if isinstance(value, np.generic | str | tuple):
        return False
    return hasattr(value, "__array__") or isinstance(value, Collection | Iterator)


def label_name(label: Any, where: str, what: str = "a label") -> str:
    """Return what a class label, or a kind of vertices, is called: as a vertex, or a bool's text."""
    return str(bool(label)) if isinstance(label, bool | np.bool_) else vertex_name(label, where, what)


def names_of_vertices(vertices: Any, where: str) -> list[str]:
    """Return the names of some vertices: any iterable, array or column of them."""
    if isinstance(vertices, str | bytes):
        kind = "string" if isinstance(vertices, str) else "bytes"
        raise Any2VecError(f"{where} {shown(vertices)}: is a {kind}; give a list of names")
    if hasattr(vertices, "__array__") and not isinstance(vertices, np.generic):
        found = np.ma.asarray(vertices) if isinstance(vertices, np.ma.MaskedArray) else np.asarray(vertices)
        if found.ndim != 1:
            raise Any2VecError(f"{where}: an array of shape {found.shape}; give a list of names")
        vertices = vertex_column(found, where)
    elif not isinstance(vertices, Iterable):
        raise Any2VecError(f"{where} {shown(vertices)}: is a {type(vertices).__name__}; give a list of names")
    return [vertex_name(vertex, f"{where}, item {i:,}") for i, vertex in enumerate(vertices)]


def vertex_column(column: NDArray[Any], where: str, item: str = "item") -> list[Any]:
    """Return the vertices in a column of one type as objects of Python; errors name the column and the row."""
    kind = column.dtype.kind
    if kind in "bcmMSV":
        decode = ": decode them, such as with .astype(str)" if kind == "S" else ""
        raise Any2VecError(f"{where}: is of type {column.dtype}; vertices are strings or integers{decode}")
    if np.ma.is_masked(column):
        masked = int(np.flatnonzero(np.ma.getmaskarray(column))[0])
        raise Any2VecError(f"{where}, {item} {masked:,}: a vertex is missing (masked)")
    if kind == "f":
        return whole_numbers(column, lambda i: f"{where}, {item} {i:,}").tolist()
    return list(column.tolist())


def whole_numbers(floats: NDArray[Any], where: Any) -> NDArray[np.int64]:
    """Convert floats that are whole numbers; ``where(i)`` locates the first that is not, for errors."""
    with np.errstate(invalid="ignore"):
        right = (np.abs(floats) < min(_exact(floats.dtype), 2.0**62)) & (np.trunc(floats) == floats)
    if not right.all():
        i = int(np.argmin(right))
        name = _name_of_number(floats.flat[i], where(i), "a vertex")
        raise Any2VecError(f"{where(i)}: a vertex is {name}; floats so large are not read; {_GIVE}")
    return floats.astype(np.int64)


class VertexIds:
    """Numbers vertices by first occurrence; those with one name are one."""

    def __init__(self) -> None:
        self.ids: dict[str, int] = {}

    def add(self, vertex: Any, where: str, column: str = "") -> int:
        """Return the number of a vertex; its place is for errors."""
        if type(vertex) is str and vertex in self.ids:
            return self.ids[vertex]
        name = str(vertex) if type(vertex) is int and -_SHORT < vertex < _SHORT else vertex_name(vertex, where + column)
        return self.ids.setdefault(name, len(self.ids))


_SHORT = 1 << 64


def _checked(name: str, where: str, what: str) -> str:
    if not name:
        raise Any2VecError(f"{where}: {what} is missing (an empty string)")
    if not name.isascii():
        try:
            name.encode()
        except UnicodeEncodeError:
            raise Any2VecError(f"{where}: {what} is {name!a}, which is not valid Unicode") from None
    return name


def _name_of_number(number: Any, where: str, what: str) -> str:
    if number != number:  # noqa: PLR0124 (NaN of any type)
        raise Any2VecError(f"{where}: {what} is missing ({number})")
    exact = isinstance(number, int | np.integer | Decimal | numbers.Rational | float | np.floating)
    try:
        whole = int(number) if exact else operator.index(number)
        if whole == number:
            name = str(whole)
            if isinstance(number, float | np.floating) and abs(whole) >= _exact(np.asarray(number).dtype):
                reason = f"of so large floats ({np.asarray(number).dtype}) several integers are one; give integers"
                raise Any2VecError(f"{where}: {what} is {number!s}: {reason}")
            return name
    except (TypeError, ValueError, OverflowError):  # complex; infinite; too many digits
        pass
    raise Any2VecError(f"{where}: {what} is {shown(_python(number))}, not a whole number; {_GIVE}")


def _exact(kind: "np.dtype[Any]") -> float:
    """Return the number from which a type of floats lacks integers."""
    return float(2.0 ** (int(np.finfo(kind).nmant) + 1))


def _python(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _part(value: Any) -> Any:
    """Return an item of a tuple so that equal ones look alike."""
    value = tuple(map(_part, value)) if isinstance(value, tuple) else _python(value)
    return int(value) if isinstance(value, float) and value.is_integer() else value
