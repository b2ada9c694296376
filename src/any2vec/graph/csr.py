"""Edges to compressed sparse rows, by two counting sorts: by column, then by row.

Rows come out sorted in linear time whatever the degrees, and equal edges keep the order in which they were read. Each
thread reads all entries and places those of its range of rows, so the result does not depend on threads. At most
two copies of the entries are in memory.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from any2vec.errors import Any2VecError
from any2vec.io.memory import release, zeros
from any2vec.llvm.compiled import njit

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Floats = NDArray[np.float32]

NONE = -(2**31)  # in place of a target: a vertex listed without an edge
_TOO_MUCH = "the weights of an edge listed more than once add up to more than a float32 holds"
_PARALLEL = 1 << 20  # entries from which threads pay
NO_WEIGHTS = np.zeros(0, np.float32)


class Edges(NamedTuple):
    """A block of edges: int32 arrays of their ends, and float32 weights or None."""

    sources: NDArray[np.int32]
    targets: NDArray[np.int32]
    weights: NDArray[np.float32] | None = None

    @classmethod
    def of(cls, pairs: Any, weights: NDArray[np.float32] | None = None) -> "Edges":
        """Make a block of pairs of ends."""
        sources, targets = np.array(pairs, np.int32).reshape(-1, 2).T
        return cls(sources.copy(), targets.copy(), weights)


def joined(blocks: Sequence[Edges]) -> Edges:
    """Make one block of several, of which all have weights, or none has."""
    sources, targets = (np.concatenate([block[end] for block in blocks]) for end in (0, 1))
    weights = [block.weights for block in blocks if block.weights is not None]
    return Edges(sources, targets, np.concatenate(weights) if weights else None)


class CSR(NamedTuple):
    """Compressed sparse rows, each sorted by neighbour."""

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    weights: NDArray[np.float32] | None
    once: int = 0  # weighted edges that are listed in both directions, and count once


def build_csr(
    edges: list[Edges], vertices: int, *, directed: bool, merge: bool = True, loops: bool = True, threads: int = 1
) -> CSR:
    """Sort edges into rows, an undirected one into the rows of both its ends (a self loop once).

    All blocks have weights, or none has; the list is emptied to free memory early. `merge` adds up the weights of
    equal edges. Undirected ones that are listed in both directions count once, if all of these have the same weights in
    both. Raises if a sum is more than a float32 holds.
    """
    weighted = bool(edges) and edges[0].weights is not None
    columns, indptr = zeros(vertices + 1, np.int64), zeros(vertices + 1, np.int64)
    for sources, targets, _ in edges:
        _count(sources, targets, columns, indptr, not directed, loops)
    np.cumsum(indptr, out=indptr)
    columns = np.cumsum(columns, out=columns) if directed else indptr.copy()
    by_column = _empty(columns, weighted)
    _scatter_all(edges, by_column, not directed, loops, merge, threads)
    csr = _transpose(by_column, indptr, threads)
    del by_column
    return settled(*merged(csr)) if merge else csr


def _empty(indptr: NDArray[np.int64], weighted: bool) -> CSR:
    entries = int(indptr[-1])
    return CSR(indptr, zeros(entries, np.int32), zeros(entries, np.float32) if weighted else None)


def _or_none(weights: NDArray[np.float32] | None) -> NDArray[np.float32]:
    return NO_WEIGHTS if weights is None else weights


def _scatter_all(edges: list[Edges], out: CSR, both: bool, loops: bool, merge: bool, threads: int) -> None:
    cursor = out.indptr[:-1].copy()

    def scatter(low: int, high: int) -> None:
        for sources, targets, weights in edges:
            given = (sources, targets, _or_none(weights), cursor, out.indices, _or_none(out.weights), both, loops)
            _scatter(*given, merge, low, high)

    _by_ranges(scatter, out.indptr, threads)
    edges.clear()


def _transpose(csr: CSR, indptr: NDArray[np.int64], threads: int) -> CSR:
    out = _empty(indptr, csr.weights is not None)
    cursor = indptr[:-1].copy()
    given = (csr.indptr, csr.indices, _or_none(csr.weights), cursor, out.indices, _or_none(out.weights))
    _by_ranges(lambda low, high: _turn(*given, low, high), indptr, threads)
    return out


def _by_ranges(place: Callable[[int, int], None], indptr: NDArray[np.int64], threads: int) -> None:
    """Run ``place(low, high)`` on threads, for ranges of rows with about as many entries each."""
    rows, entries = len(indptr) - 1, int(indptr[-1])
    if threads == 1 or entries < _PARALLEL:
        place(0, rows)
        return
    cuts = np.searchsorted(indptr, np.linspace(0, entries, threads + 1)[1:-1]).tolist()
    with ThreadPoolExecutor(threads, thread_name_prefix="any2vec-graph") as executor:
        list(executor.map(place, [0, *cuts], [*cuts, rows]))


def merged(csr: CSR, first: int = 0) -> tuple[CSR, NDArray[np.int64]]:
    """Merge equal entries of the rows of vertices `first` on, in place; return also what `_merge` counts in `both`."""
    both = np.zeros(2, np.int64)
    kept, listed = _merge(csr.indptr, csr.indices, _or_none(csr.weights), first, both), len(csr.indices)
    if kept < 0:
        raise Any2VecError(_TOO_MUCH)
    indices, weights = csr.indices[:kept], None if csr.weights is None else csr.weights[:kept]
    for array in (csr.indices, csr.weights):
        if array is not None and kept < listed:
            release(array, kept, listed)
    return CSR(csr.indptr, indices, weights), both


def settled(csr: CSR, both: NDArray[np.int64]) -> CSR:
    """Let edges listed alike in both directions (`both[0]`, with a sign) count once, unless others have two weights."""
    equal, others = both.tolist()
    if csr.weights is None or not equal:
        return csr
    listed = np.flatnonzero(csr.weights < 0)
    with np.errstate(over="ignore"):
        csr.weights[listed] *= np.float32(-2 if others else -1)
    if np.isinf(csr.weights[listed]).any():
        raise Any2VecError(_TOO_MUCH)
    return csr._replace(once=0 if others else equal)


@njit(nogil=True, cache=True)
def _count(sources: Ints, targets: Ints, columns: Longs, rows: Longs, both: bool, loops: bool) -> None:
    """Count the entries of each row and column, one place later: the cumulative sum is then indptr."""
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
    sources: Ints,
    targets: Ints,
    weights: Floats,
    cursor: Longs,
    out: Ints,
    out_weights: Floats,
    both: bool,
    loops: bool,
    merge: bool,
    low: int,
    high: int,
) -> None:
    """Put each entry's row among the entries of its column, for columns `low` to ``high - 1``.

    Weights of edges that `merge` will take together are negative if an undirected edge is listed from its larger end.
    """
    weighted = weights.size > 0
    for i in range(sources.size):
        source, target = sources[i], targets[i]
        if target == NONE or (source == target and not loops):
            continue
        if low <= target < high:
            place = cursor[target]
            cursor[target] = place + 1
            out[place] = source
            if weighted:
                out_weights[place] = weights[i] if not both or not merge or source <= target else -weights[i]
        if both and source != target and low <= source < high:
            place = cursor[source]
            cursor[source] = place + 1
            out[place] = target
            if weighted:
                out_weights[place] = weights[i] if not merge or source <= target else -weights[i]


@njit(nogil=True, cache=True)
def _turn(
    indptr: Longs, indices: Ints, weights: Floats, cursor: Longs, out: Ints, out_weights: Floats, low: int, high: int
) -> None:
    """Transpose rows `low` to ``high - 1``: columns are visited in order, so each row comes out sorted."""
    weighted = weights.size > 0
    for column in range(indptr.size - 1):
        for i in range(indptr[column], indptr[column + 1]):
            row = indices[i]
            if low <= row < high:
                place = cursor[row]
                cursor[row] = place + 1
                out[place] = column
                if weighted:
                    out_weights[place] = weights[i]


@njit(nogil=True, cache=True)
def _merge(  # noqa: C901 (calls would cost speed)
    indptr: Longs, indices: Ints, weights: Floats, first_row: int, both: Longs
) -> int:
    """Merge equal neighbours in place. Return the entries left, -1 if a sum of weights is infinite.

    `both` counts edges that are listed in both directions, with equal weights and with others. The former get the sum
    of one direction, with a sign (see `settled`).
    """
    weighted = weights.size > 0
    kept = begin = 0
    for row in range(indptr.size - 1):
        i, end = begin, indptr[row + 1]
        begin = end
        while i < end:
            column = indices[i]
            first = i
            while i < end and indices[i] == column:
                i += 1
            if weighted:
                total = 0.0
                if i > first + 2:
                    weights[first:i].sort()  # the sum is then that of any order in which edges are read
                sign = 1
                if i > first + 1 and (weights[first] < 0) != (weights[i - 1] < 0):
                    equal, many = True, i - first
                    for j in range((many + 1) // 2):
                        equal &= weights[first + j] == -weights[i - 1 - j]
                    both[0 if equal else 1] += first_row + row < column
                    first, sign = (first + many // 2, -1) if equal else (first, 1)
                if i > first + 2 and weights[first] < 0:
                    weights[first:i] = np.sort(np.abs(weights[first:i]))
                for j in range(first, i):
                    total += np.float64(abs(weights[j]))
                weights[kept] = sign * np.float32(total)
                if np.isinf(weights[kept]):
                    return -1
            indices[kept] = column
            kept += 1
        indptr[row + 1] = kept
    return kept


def once(edges: Edges, vertices: int, where: Callable[[int, int], str] | None) -> tuple[Edges, int]:
    """List each edge from its smaller end, one that is there both ways once; return also how many of these there were.

    Weights must be the same in both directions, or an error says ``where(i, j)``. But without `where`, or if any of
    these edges is there several times in a direction, all edges then stay, to be added up.
    """
    sources, targets, weights = edges
    low, high = np.minimum(sources, targets), np.maximum(sources, targets)
    keys = low.astype(np.int64) * vertices + high
    by = (keys,) if weights is None else (weights, keys)
    there, back = np.flatnonzero(sources < targets), np.flatnonzero(sources > targets)
    both = np.intersect1d(keys[there], keys[back])
    there, back = (listed[np.isin(keys[listed], both)] for listed in (there, back))
    there, back = (listed[np.lexsort([column[listed] for column in by])] for listed in (there, back))
    if len(there) != len(back) or any((column[there] != column[back]).any() for column in by):
        if where is not None and weights is not None and len(there) == len(back) == len(both):
            edge = int(there[(weights[there] != weights[back]).argmax()])
            raise Any2VecError(
                f"{where(int(sources[edge]), int(targets[edge]))} have two different weights; an undirected graph "
                f"needs equal ones; give these, or `directed=True`"
            )
        both, back = both[:0], back[:0]
    kept = np.ones(len(sources), np.bool_)
    kept[back] = False
    return Edges(low[kept], high[kept], None if weights is None else weights[kept]), len(both)


def both_noted(name: str, edges: int, both: int) -> list[str]:
    """Say for a warning if some weighted edges, but not all, are listed in both directions and count once."""
    if both in (0, edges):
        return []
    found = f"{both:,} of {edges:,} edges are listed in both directions with the same weight, and count once"
    return [f"{name}: {found}; if edges have a direction, give `directed=True`"]
