"""Edges to compressed sparse rows: two counting sorts, the first by column and the second by row.

So rows come out sorted, in time that is linear and does not depend on how degrees are distributed, and equal
edges stay in the order in which they were read. Each thread goes through all entries and places those of a
range of rows, so results do not depend on threads. At most two copies of the entries are in memory.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from any2vec.errors import Any2VecError
from any2vec.io.memory import zeros

__all__ = ["NONE", "Edges", "Rows", "build_rows", "symmetric"]

NONE = -(2**31)  # in place of a target: the vertex has no edge here
MANY = 1 << 20  # entries; for fewer, threads do not pay
NO_WEIGHTS = np.zeros(0, np.float32)


class Edges(NamedTuple):
    """Some edges: int32 arrays of their ends, and float32 weights or None."""

    sources: NDArray[np.int32]
    targets: NDArray[np.int32]
    weights: NDArray[np.float32] | None = None


class Rows(NamedTuple):
    """Compressed sparse rows, sorted."""

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    weights: NDArray[np.float32] | None

    def transposed(self, threads: int = 1) -> "Rows":
        """Swap rows and columns."""
        n = len(self.indptr) - 1
        indptr = zeros(n + 1, np.int64)
        _count_columns(self.indices, indptr)
        return _transpose(self, _ends(indptr), threads)


def build_rows(
    edges: list[Edges], vertices: int, *, directed: bool, merge: bool = True, loops: bool = True, threads: int = 1
) -> Rows:
    """Sort edges into rows.

    Parameters
    ----------
    edges : list of Edges
        All of them, weighted or none. The list is emptied, to free memory as soon as possible.
    vertices : int
        Ends are less than this; a target may be NONE.
    directed : bool
        If not, an edge is entered in the rows of both its ends, a self loop once.
    merge : bool
        Whether equal edges become one, their weights added up.
    loops : bool
        Whether self loops are kept.
    threads : int
        Threads.

    Returns
    -------
    Rows
        The rows.

    Raises
    ------
    Any2VecError
        If a sum of weights is more than a float32 holds.
    """
    weighted = bool(edges) and edges[0].weights is not None
    columns, indptr = zeros(vertices + 1, np.int64), zeros(vertices + 1, np.int64)
    for sources, targets, _ in edges:
        _count(sources, targets, columns, indptr, not directed, loops)
    indptr = _ends(indptr)
    columns = _ends(columns) if directed else indptr.copy()
    entries = int(indptr[-1])
    by_column = Rows(columns, zeros(entries, np.int32), zeros(entries, np.float32) if weighted else None)
    _scatter_all(edges, by_column, not directed, loops, threads)
    rows = _transpose(by_column, indptr, threads)
    del by_column
    return _merged(rows) if merge else rows


def symmetric(rows: Rows, threads: int = 1) -> tuple[Rows, tuple[int, int] | None]:
    """Make a matrix symmetric, if each pair of entries has equal values or one of the two is missing.

    Parameters
    ----------
    rows : Rows
        A square matrix, merged.
    threads : int
        Threads.

    Returns
    -------
    rows : Rows
        Holds both of each pair.
    conflict : (int, int) or None
        Row and column of a pair with two different values.
    """
    other = rows.transposed(threads)
    same = np.array_equal(rows.indptr, other.indptr) and np.array_equal(rows.indices, other.indices)
    if same and (rows.weights is None or other.weights is None or np.array_equal(rows.weights, other.weights)):
        return rows, None
    n = len(rows.indptr) - 1
    indptr = zeros(n + 1, np.int64)
    none = np.zeros(0, np.int32)
    both = (rows.indptr, rows.indices, _or_none(rows.weights), other.indptr, other.indices, _or_none(other.weights))
    _union(*both, indptr, none, NO_WEIGHTS)
    entries = int(indptr[-1])
    weights = None if rows.weights is None else zeros(entries, np.float32)
    union = Rows(indptr, zeros(entries, np.int32), weights)
    row, column = _union(*both, indptr, union.indices, _or_none(weights))
    return union, (row, column) if row >= 0 else None


def _ends(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Turn counts, each one place late, into where rows begin and end."""
    return np.cumsum(counts, out=counts)


def _or_none(weights: NDArray[np.float32] | None) -> NDArray[np.float32]:
    return NO_WEIGHTS if weights is None else weights


def _scatter_all(edges: list[Edges], out: Rows, both: bool, loops: bool, threads: int) -> None:
    places = out.indptr[:-1].copy()

    def scatter(low: int, high: int) -> None:
        for sources, targets, weights in edges:
            given = (sources, targets, _or_none(weights), places, out.indices, _or_none(out.weights), both, loops)
            _scatter(*given, low, high)

    _by_ranges(scatter, out.indptr, threads)
    edges.clear()


def _transpose(rows: Rows, indptr: NDArray[np.int64], threads: int) -> Rows:
    entries = len(rows.indices)
    weights = None if rows.weights is None else zeros(entries, np.float32)
    turned = Rows(indptr, zeros(entries, np.int32), weights)
    places = indptr[:-1].copy()
    given = (rows.indptr, rows.indices, _or_none(rows.weights), places, turned.indices, _or_none(weights))
    _by_ranges(lambda low, high: _turn(*given, low, high), indptr, threads)
    return turned


def _by_ranges(place: Callable[[int, int], None], indptr: NDArray[np.int64], threads: int) -> None:
    """Run ``place(low, high)`` for ranges of rows with about as many entries, on threads."""
    rows, entries = len(indptr) - 1, int(indptr[-1])
    if threads == 1 or entries < MANY:
        place(0, rows)
        return
    cuts = np.searchsorted(indptr, np.linspace(0, entries, threads + 1)[1:-1]).tolist()
    with ThreadPoolExecutor(threads, thread_name_prefix="any2vec-graph") as executor:
        list(executor.map(place, [0, *cuts], [*cuts, rows]))


def _merged(rows: Rows) -> Rows:
    kept = _merge(rows.indptr, rows.indices, _or_none(rows.weights))
    if kept < 0:
        raise Any2VecError("the weights of an edge that is there many times add up to more than a float32 holds")
    if kept == len(rows.indices):
        return rows
    indices = zeros(kept, np.int32)
    indices[:] = rows.indices[:kept]
    if rows.weights is None:
        return Rows(rows.indptr, indices, None)
    weights = zeros(kept, np.float32)
    weights[:] = rows.weights[:kept]
    return Rows(rows.indptr, indices, weights)


@njit(nogil=True, cache=True)
def _count(
    sources: NDArray[np.int32],
    targets: NDArray[np.int32],
    columns: NDArray[np.int64],
    rows: NDArray[np.int64],
    both: bool,
    loops: bool,
) -> None:
    """Count the entries of each row and column, at the place behind its own."""
    for i in range(sources.size):
        source, target = sources[i], targets[i]
        if target == NONE or (source == target and not loops):
            continue
        rows[source + 1] += 1
        if not both:
            columns[target + 1] += 1
        elif source != target:
            rows[target + 1] += 1


@njit(nogil=True, cache=True)
def _scatter(
    sources: NDArray[np.int32],
    targets: NDArray[np.int32],
    weights: NDArray[np.float32],
    places: NDArray[np.int64],
    out: NDArray[np.int32],
    out_weights: NDArray[np.float32],
    both: bool,
    loops: bool,
    low: int,
    high: int,
) -> None:
    """Put each entry's row where its column's entries are, for columns from `low` to `high`."""
    weighted = weights.size > 0
    for i in range(sources.size):
        source, target = sources[i], targets[i]
        if target == NONE or (source == target and not loops):
            continue
        if low <= target < high:
            place = places[target]
            places[target] = place + 1
            out[place] = source
            if weighted:
                out_weights[place] = weights[i]
        if both and source != target and low <= source < high:
            place = places[source]
            places[source] = place + 1
            out[place] = target
            if weighted:
                out_weights[place] = weights[i]


@njit(nogil=True, cache=True)
def _count_columns(indices: NDArray[np.int32], counts: NDArray[np.int64]) -> None:
    for column in indices:
        counts[column + 1] += 1


@njit(nogil=True, cache=True)
def _turn(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    weights: NDArray[np.float32],
    places: NDArray[np.int64],
    out: NDArray[np.int32],
    out_weights: NDArray[np.float32],
    low: int,
    high: int,
) -> None:
    """Transpose rows `low` to `high`: columns are visited in order, so each row comes out sorted."""
    weighted = weights.size > 0
    for column in range(indptr.size - 1):
        for i in range(indptr[column], indptr[column + 1]):
            row = indices[i]
            if low <= row < high:
                place = places[row]
                places[row] = place + 1
                out[place] = column
                if weighted:
                    out_weights[place] = weights[i]


@njit(nogil=True, cache=True)
def _merge(indptr: NDArray[np.int64], indices: NDArray[np.int32], weights: NDArray[np.float32]) -> int:
    """Merge equal neighbours in place. Returns the entries left, -1 if a sum of weights is infinite."""
    weighted = weights.size > 0
    kept = begin = 0
    for row in range(indptr.size - 1):
        i, end = begin, indptr[row + 1]
        begin = end
        while i < end:
            column = indices[i]
            total = 0.0
            first = i
            while i < end and indices[i] == column:
                if weighted:
                    total += np.float64(weights[i])
                i += 1
            if weighted:
                weights[kept] = np.float32(total) if i > first + 1 else weights[first]
                if weights[kept] == np.inf:
                    return -1
            indices[kept] = column
            kept += 1
        indptr[row + 1] = kept
    return kept


@njit(nogil=True, cache=True)
def _union(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    weights: NDArray[np.float32],
    other_indptr: NDArray[np.int64],
    other_indices: NDArray[np.int32],
    other_weights: NDArray[np.float32],
    ends: NDArray[np.int64],
    out: NDArray[np.int32],
    out_weights: NDArray[np.float32],
) -> tuple[int, int]:
    """Unite sorted rows; only count them if `out` is empty. Returns where values differ, or -1."""
    weighted, writing = weights.size > 0, out.size > 0
    place = 0
    for row in range(indptr.size - 1):
        i, j = indptr[row], other_indptr[row]
        while i < indptr[row + 1] or j < other_indptr[row + 1]:
            here, there = i < indptr[row + 1], j < other_indptr[row + 1]
            if here and there and indices[i] != other_indices[j]:
                here = indices[i] < other_indices[j]
                there = not here
            column = indices[i] if here else other_indices[j]
            if writing:
                out[place] = column
                if weighted:
                    if here and there and weights[i] != other_weights[j]:
                        return row, column
                    out_weights[place] = weights[i] if here else other_weights[j]
            place += 1
            i += here
            j += there
        ends[row + 1] = place
    return -1, -1
