"""Edges from Python and NumPy: pairs or triples, dicts of neighbours, arrays and data frames."""

import reprlib
from array import array
from collections.abc import Iterable, Iterator, Mapping, Set
from typing import Any

import numpy as np
from numpy.typing import NDArray

from any2vec.errors import Any2VecError, counted
from any2vec.graph.build import EdgeTable, ReadOptions
from any2vec.graph.csr import Edges
from any2vec.graph.weights import number_of, weights_of_objects

__all__ = ["from_array", "from_data_frame", "from_neighbours", "from_pairs", "is_data_frame"]

_MISSING = ("None", "nan", "NaT", "<NA>")  # None, and what NumPy and pandas have for a missing value
_EXPECTED = "expected a pair (source, target) or a triple (source, target, weight)"


def is_data_frame(source: Any) -> bool:
    """Whether an object has columns that become arrays, as pandas and polars have them."""
    return hasattr(source, "columns") and hasattr(source, "to_numpy")


def from_pairs(source: Iterable[Any], options: ReadOptions, name: str = "", item: str = "item") -> EdgeTable:
    """Take an edge from each item: a pair, or a triple with a weight. By default the first decides which."""
    name = name or f"the {type(source).__name__}"
    allowed = (3,) if options.weighted else (2, 3)
    vertices = _Vertices()
    ends = array("i")
    weights = []
    for i, fields in enumerate(source):
        where = f"{name}, {item} {i:,}"
        if isinstance(fields, str | bytes | Mapping | Set) or not hasattr(fields, "__len__"):
            raise Any2VecError(f"{where}: {reprlib.repr(fields)} is a {type(fields).__name__}; {_EXPECTED}")
        if len(fields) not in allowed:
            as_first = f", as {item} 0" if len(allowed) == 1 and i else ""
            held = counted(len(fields), "field")
            raise Any2VecError(f"{where}: {reprlib.repr(fields)} has {held}; {_EXPECTED}{as_first}")
        if options.weighted is None:
            allowed = (len(fields),)
        ends.append(vertices.add(fields[0], where))
        ends.append(vertices.add(fields[1], where))
        if allowed == (3,):
            weights.append(fields[2])
    values = weights_of_objects(weights, allowed == (3,), lambda i: f"{name}, {item} {i:,}")
    return EdgeTable(name, [_edges(np.array(ends, np.int32).reshape(-1, 2), values)], list(vertices.ids))


def from_neighbours(source: Mapping[Any, Any], options: ReadOptions) -> EdgeTable:
    """Take edges from each key to its neighbours: a list of them, or a dict of their weights.

    An undirected edge may be listed from one end or from both, and counts once.
    """
    vertices = _Vertices()
    weights: dict[tuple[int, int], float | None] = {}
    for vertex, neighbours in source.items():
        where = f"the dict, vertex {reprlib.repr(vertex)}"
        start = vertices.add(vertex, where)
        for neighbour, given in _weighted(neighbours, where):
            end = vertices.add(neighbour, where)
            weight = None if given is None or options.weighted is False else number_of(given, where)
            pair = (start, end) if options.directed else (min(start, end), max(start, end))
            known = weights.setdefault(pair, weight)
            if known != weight:
                raise Any2VecError(
                    f"{where}: the edge to {reprlib.repr(neighbour)} has two different weights, {known} and {weight}; "
                    f"an undirected graph needs equal ones; give those, or `directed=True`"
                )
    names, pairs = list(vertices.ids), list(weights)

    def edge(i: int) -> str:
        return f"the dict, edge {names[pairs[i][0]]!r} to {names[pairs[i][1]]!r}"

    values = weights_of_objects(list(weights.values()), options.weighted, edge)
    return EdgeTable("the dict", [_edges(np.array(pairs, np.int32).reshape(-1, 2), values)], names)


def _weighted(neighbours: Any, where: str) -> Iterator[tuple[Any, Any]]:
    if isinstance(neighbours, Mapping):
        return iter(neighbours.items())
    if isinstance(neighbours, str | bytes) or not hasattr(neighbours, "__iter__"):
        raise Any2VecError(
            f"{where}: {reprlib.repr(neighbours)} is a {type(neighbours).__name__}; expected a list of "
            f"neighbours, or a dict of their weights"
        )
    return ((neighbour, None) for neighbour in neighbours)


def from_data_frame(source: Any, options: ReadOptions) -> EdgeTable:
    """Take an edge from each row of two columns, or of three: the third is the weight."""
    columns = list(source.columns)
    if not 2 <= len(columns) <= 3:
        raise Any2VecError(
            f"the data frame has {len(columns):,} columns; expected the two ends of an edge, or the ends and a weight: "
            f"choose them, such as frame[['source', 'target']]"
        )
    fields = [source[column].to_numpy().tolist() for column in columns]  # each of its own type, which str() shows
    return from_pairs(zip(*fields, strict=True), options, "the data frame", "row")


def from_array(source: NDArray[Any], options: ReadOptions) -> EdgeTable:
    """Take edges from an array of integers or strings of shape (E, 2)."""
    kind = source.dtype.kind
    if kind in "OT" and source.ndim == 2:
        return from_pairs(source.tolist(), options, "the array")
    shape = f"the array has the shape {source.shape} and the type {source.dtype}"
    if source.ndim == 2 and source.shape[1] == 3 and kind in "iuf":
        raise Any2VecError(
            f"{shape}: is the third column weights? Give an array of shape (E, 2), a list of triples (source, target, "
            f"weight), a data frame, or a sparse matrix of SciPy"
        )
    if source.ndim != 2 or source.shape[1] != 2 or kind not in "iuU":
        raise Any2VecError(
            f"{shape}; expected integers or strings of shape (E, 2), an edge in each row; give the matrix of a graph "
            f"as a sparse one of SciPy"
        )
    if options.weighted:
        raise Any2VecError(
            "an array of edges has no weights; give a list of triples, a sparse matrix of SciPy, or `weighted=False`"
        )
    if kind == "i" and (source < 0).any():
        row = int((source < 0).any(axis=1).argmax())
        raise Any2VecError(f"the array, row {row:,}: {source[row].tolist()} has a negative vertex")
    values, first, inverse = np.unique(source.ravel(), return_index=True, return_inverse=True)
    order = np.argsort(first)  # by first occurrence
    rank = np.empty(len(order), np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    names = [str(value) for value in values[order].tolist()]
    return EdgeTable("the array", [_edges(rank[inverse].reshape(-1, 2), None)], names)


def _edges(ends: NDArray[np.int32], weights: NDArray[np.float32] | None) -> Edges:
    return Edges(ends[:, 0].copy(), ends[:, 1].copy(), weights)


class _Vertices:
    """Numbers vertices by first occurrence; two with one str() are one."""

    def __init__(self) -> None:
        self.ids: dict[str, int] = {}

    def add(self, vertex: Any, where: str) -> int:
        name = str(vertex)
        if not isinstance(vertex, str):
            if name in _MISSING:
                raise Any2VecError(f"{where}: a vertex is missing ({name})")
            if isinstance(vertex, bytes | list | dict | np.ndarray):
                raise Any2VecError(f"{where}: a vertex is a {type(vertex).__name__}; give strings or integers")
        return self.ids.setdefault(name, len(self.ids))
