"""Lookup tables of walks: alias tables for weighted choices, and hash tables of neighbours.

Memory: 16 bytes per entry for choices. Neighbours: 11 per entry and 32 per vertex, with weights 22 and 68.
"""

from math import isqrt
from typing import Any, NamedTuple

import numpy as np
from numba import int64, uint64
from numpy.typing import NDArray

from any2vec.errors import Any2VecError
from any2vec.graph.csr import CSR, merged
from any2vec.io.memory import read_only, zeros
from any2vec.llvm.compiled import njit
from any2vec.samples.draws import WALKS, below, draw, epoch_key
from any2vec.samples.targets import share_columns

_SLOTS = 8  # ids in a bucket: 32 bytes, which one comparison of a vector register looks through

BUCKET, WEIGHTED_BUCKET = _SLOTS, 2 * _SLOTS
"""Length of a bucket without and with weights; with them it is a cache line."""

_FILL = 3  # entries for each bucket: few are full, so few look-ups go on to a second one
_EMPTY = -1


def choices(
    indptr: NDArray[np.int64], indices: NDArray[np.int32] | NDArray[np.uint32], weights: NDArray[np.float32]
) -> NDArray[np.uint64]:
    """Build Walker's alias tables, one for each row, as uint64 array of shape (2 E,).

    Item 2 i of entry i is its neighbour, with its alias in the high half. Item 2 i + 1 is its own part of its column,
    in units of 2^-32.
    """
    table = zeros(2 * max(1, len(indices)), np.uint64)
    _fill_choices(indptr, indices, weights, table)
    return table


@njit(nogil=True, cache=True)
def _fill_choices(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32] | NDArray[np.uint32],
    weights: NDArray[np.float32],
    table: NDArray[np.uint64],
) -> None:
    widest = 0
    for v in range(indptr.size - 1):
        widest = max(widest, indptr[v + 1] - indptr[v])
    left, threshold = np.empty(widest), np.empty(widest)
    alias, order = np.empty(widest, np.int64), np.empty(widest, np.int64)
    for v in range(indptr.size - 1):
        first = indptr[v]
        degree = indptr[v + 1] - first
        total = 0.0
        for i in range(degree):
            total += weights[first + i]
        for i in range(degree):
            left[i] = weights[first + i] / total * degree
        share_columns(left[:degree], threshold, alias, order)
        for i in range(degree):
            own, other = uint64(indices[first + i]), uint64(indices[first + alias[i]])
            table[2 * (first + i)] = own | (other << uint64(32))
            table[2 * (first + i) + 1] = uint64(threshold[i] * 4294967296.0)


@njit(inline="always")
def chosen(table: NDArray[np.uint64], entry: int, fraction: int) -> int:
    """Neighbour that `fraction`, of 2^32, selects in the column of an entry."""
    both = table[2 * entry]
    aliased = uint64(fraction >= table[2 * entry + 1])  # no branch: it could not be predicted
    return int64((both >> (uint64(32) * aliased)) & uint64(0xFFFFFFFF))


def _neighbour_table(
    rows: NDArray[np.int64], indices: NDArray[np.int32], weights: NDArray[np.float32] | None
) -> NDArray[np.int32]:
    """Build hash tables of the rows' neighbours, one after the other; a row must not have a neighbour twice.

    A row has a bucket for every three entries and one more; the position of its first follows from where the row
    begins, so nothing else is looked up. `rows` is the graph's indptr with its last item repeated: a vertex V without
    neighbours. A bucket is eight ids, filled from the front, -1 where empty, and with weights the bits of eight more.
    """
    stride = BUCKET if weights is None else WEIGHTED_BUCKET
    table = zeros((int(rows[-1]) // _FILL + len(rows)) * stride, np.int32)
    table.fill(_EMPTY)
    _fill_neighbours(rows, indices, np.zeros(0, np.int32) if weights is None else weights.view(np.int32), table, stride)
    return table


@njit(nogil=True, cache=True)
def _fill_neighbours(
    rows: NDArray[np.int64],
    indices: NDArray[np.int32],
    weights: NDArray[np.int32],
    table: NDArray[np.int32],
    stride: int,
) -> None:
    for v in range(rows.size - 2):
        first = rows[v]
        degree = rows[v + 1] - first
        begin = first // _FILL + v
        end = begin + degree // _FILL + 1
        for i in range(first, first + degree):
            bucket = bucket_of(indices[i], v, first, degree)
            while table[stride * bucket + _SLOTS - 1] != _EMPTY:
                bucket = bucket + 1 if bucket + 1 < end else begin
            slot = stride * bucket
            while table[slot] != _EMPTY:
                slot += 1
            table[slot] = indices[i]
            if weights.size:
                table[slot + _SLOTS] = weights[i]


@njit(nogil=True, cache=True)
def _relative_weights(
    indptr: NDArray[np.int64], weights: NDArray[np.float32]
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Divide weights by the mean of their row; return also the largest of each row, and 0 for vertex V."""
    relative, heaviest = np.empty_like(weights), np.zeros(indptr.size, np.float32)
    for v in range(indptr.size - 1):
        total = 0.0
        for i in range(indptr[v], indptr[v + 1]):
            total += weights[i]
        for i in range(indptr[v], indptr[v + 1]):
            relative[i] = weights[i] * ((indptr[v + 1] - indptr[v]) / total)
            heaviest[v] = max(heaviest[v], relative[i])
    return relative, heaviest


@njit(inline="always")
def bucket_of(x: int, v: int, first: int, degree: int) -> int:
    """Bucket of x in the row of v, which begins at `first`, unless it is full."""
    scattered = (uint64(x) * uint64(0x9E3779B1)) & uint64(0xFFFFFFFF)
    return first // _FILL + v + int64((scattered * uint64(degree // _FILL + 1)) >> uint64(32))


@njit(inline="always")
def find(table: NDArray[np.int32], stride: int, bucket: int, x: int, v: int, first: int, degree: int) -> int:
    """Position of the weight of x, whose bucket is `bucket`, or where it would be; -1 if x is not a neighbour of v."""
    while True:
        slot = stride * bucket
        found = -1
        for i in range(_SLOTS):
            found = slot + i if table[slot + i] == x else found
        if found >= 0:
            return found + _SLOTS
        if table[slot + _SLOTS - 1] == _EMPTY:
            return -1
        bucket += 1
        if bucket == first // _FILL + v + degree // _FILL + 1:
            bucket = first // _FILL + v


_ROUNDS, _MORE_ROUNDS, _FEW = 2, 6, 4096
# times that each side is shifted by a random function of the other: more for fewer than _FEW vertices, as functions of
# few values mix less


class Starts(NamedTuple):
    """Where the walks of passes start: at vertices in an order, or at vertices that are drawn from a table."""

    keys: NDArray[np.uint64]  # of the passes: draw v is the key of the walk from v (or drawn i-th), draw V the order's
    per_pass: int  # walks in a pass
    left: int  # numbers of values of left and right, which make at least as many pairs as there are vertices
    right: int
    table: NDArray[np.uint64]  # what `choices` makes of one row; empty: starts are not drawn


def starts_of(seed: int, passes: range, per_pass: int, table: NDArray[np.uint64]) -> Starts:
    """Return where the walks of some passes start."""
    left = max(1, isqrt(per_pass))
    keys = np.array([epoch_key(seed, one, WALKS) for one in passes], np.uint64)
    return Starts(keys, per_pass, left, max(1, -(-per_pass // left)), table)


@njit(inline="always")
def _vertex_at(place: int, key: int, starts: Starts) -> int:
    """Vertex at `place` of the order `key`."""
    x, lefts, rights = uint64(place), uint64(starts.left), uint64(starts.right)  # unsigned: they divide faster
    rounds = _MORE_ROUNDS if starts.per_pass < _FEW else _ROUNDS
    while True:
        a = x // rights
        b = x - a * rights
        for r in range(rounds):
            a += below(draw(key, (uint64(2 * r) << uint64(32)) + b), lefts)
            a -= lefts * uint64(a >= lefts)
            b += below(draw(key, (uint64(2 * r + 1) << uint64(32)) + a), rights)
            b -= rights * uint64(b >= rights)
        x = a * rights + b
        if x < uint64(starts.per_pass):
            return int64(x)


@njit(inline="always")
def _vertex_drawn(place: int, key: int, table: NDArray[np.uint64]) -> int:
    """Vertex that draw `place` of `key` chooses."""
    bits = draw(key, place)
    columns = uint64(table.size >> 1)
    at = (bits >> uint64(32)) * columns + (((bits & uint64(0xFFFFFFFF)) * columns) >> uint64(32))
    return chosen(table, int64(at >> uint64(32)), at & uint64(0xFFFFFFFF))


@njit(inline="always")
def start_at(place: int, key: int, order: int, starts: Starts) -> tuple[int, int]:
    """Where the walk at a place of a pass starts, and the key of its draws; `order` is draw V of the pass's key."""
    if starts.table.size > 0:
        v, number = _vertex_drawn(place, order, starts.table), place
    else:
        v = number = _vertex_at(place, order, starts)
    return v, draw(key, number)


@njit(inline="always")
def start_of(walk: int, starts: Starts) -> tuple[int, int]:
    """Where a walk that is counted over all passes starts, and the key of its draws."""
    pass_ = walk // starts.per_pass
    key = starts.keys[pass_]
    return start_at(walk - pass_ * starts.per_pass, key, draw(key, starts.per_pass), starts)


@njit(inline="always")
def half_draw(key: int, number: int) -> int:
    """32 random bits of the stream `key`: a draw is two of them, the high half first."""
    bits = draw(key, uint64(number) >> uint64(1))
    return (bits << (uint64(32) * (uint64(number) & uint64(1)))) >> uint64(32)


@njit(inline="always")
def unit(bits: int) -> float:
    """Fraction of 1 from the high 53 of 64 random bits."""
    return float(int64(bits >> uint64(11))) * 2.0**-53


LOOSE = 31
"""Bit of a neighbour's id that is set if the edge to it is loose; ids leave it free."""


@njit(nogil=True, cache=True)
def levels(indptr: NDArray[np.int64], weights: NDArray[np.float32], gamma: float) -> NDArray[np.float32]:
    """Return of each vertex v the mean weight of its edges (2 v), and below which it finds one loose (2 v + 1)."""
    found = np.zeros(2 * indptr.size, np.float32)
    for v in range(indptr.size - 1):
        row = weights[indptr[v] : indptr[v + 1]]
        if row.size == 0:
            continue
        mean = 0.0  # of equal weights it is exactly theirs
        for weight in row:
            mean += float(weight)
        mean /= row.size
        squares = 0.0
        for weight in row:
            squares += (float(weight) - mean) ** 2
        found[2 * v] = mean
        found[2 * v + 1] = max(0.0, mean + gamma * np.sqrt(squares / row.size))
    return found


@njit(nogil=True, cache=True)
def _marked(
    indptr: NDArray[np.int64], indices: NDArray[np.int32], weights: NDArray[np.float32], found: NDArray[np.float32]
) -> NDArray[np.uint32]:
    """Return the neighbours, with the bit `LOOSE` of those that their vertex has a loose edge to."""
    ids = np.empty(indices.size, np.uint32)
    for v in range(indptr.size - 1):
        for i in range(indptr[v], indptr[v + 1]):
            ids[i] = uint64(indices[i]) | (uint64(weights[i] < found[2 * v + 1]) << uint64(LOOSE))
    return ids


@njit(inline="always")
def in_out(other: float, level: float, loose: bool, away: float) -> float:
    """Factor of an edge c -> x, from 1/q (`away`) to 1.

    `other` is the weight of w -> x, 0 if there is no such edge, and `level` where x finds it loose; `loose`, whether c
    finds its own edge so.
    """
    if other > 0.0 and other >= level:
        return 1.0
    if loose:
        return min(1.0, away)
    return away if other == 0.0 else away + (1.0 - away) * (float(other) / float(level))


_NONE = np.zeros(0, np.float32)


class Entries(NamedTuple):
    """Rows: those of a graph, or of the vertices of a share, which are counted from 0 here."""

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    weights: NDArray[np.float32] | None


class RowTables(NamedTuple):
    """What the kernels of walks look up."""

    rows: NDArray[np.int64]  # neighbours of v are entries rows[v] to rows[v + 1] - 1; the last vertex, n, has none
    targets: NDArray[Any]  # neighbours; of a weighted graph `choices`, with the marks of node2vec+
    heaviest: NDArray[np.float32]  # the largest relative weight of each row, for node2vec on weighted graphs
    table: NDArray[np.int32]  # `_neighbour_table`, for node2vec
    levels: NDArray[np.float32]  # `levels`, for node2vec+


def check_weights(weights: NDArray[np.float32] | None) -> None:
    """Raise an error if walks cannot go by the weights."""
    if weights is not None and not (np.isfinite(weights) & (weights > 0)).all():
        raise Any2VecError("weights of edges must be positive numbers for walks")


def counted(entries: Entries) -> Entries:
    """Merge equal edges to one of their weight, without weights of their number: walks are the same."""
    indptr, indices, weights = entries
    many = np.ones(len(indices), np.float32) if weights is None else weights.copy()
    return Entries(*merged(CSR(indptr.copy(), indices.copy(), many))[0][:3])


def row_tables(entries: Entries, *, second: bool, extended: bool, gamma: float) -> RowTables:
    """Make the tables for walks of the second order or the first, for node2vec+ (`extended`) or not."""
    indptr, indices, weights = entries
    rows = np.append(indptr, indptr[-1])
    if len(indices) == 0:  # kernels read an entry before they check for one
        indices = np.zeros(1, np.int32)
    indices = read_only(indices)
    usual = levels(indptr, weights, gamma) if extended else _NONE
    ids = _marked(indptr, indices, weights, usual) if extended else indices
    targets = indices if weights is None else choices(indptr, ids, weights)
    heaviest, table = _NONE, np.zeros(0, np.int32)
    if second:
        relative = None
        if weights is not None:
            relative, heaviest = _relative_weights(indptr, weights)
        table = _neighbour_table(rows, indices, weights if extended else relative)
    return RowTables(rows, targets, heaviest, table, usual)


def start_shares(entries: Entries) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Return the vertices that have edges, and the weights of these, or their number, together."""
    indptr, _, weights = entries
    degrees = np.diff(indptr)
    with_edges = np.flatnonzero(degrees)
    begins = indptr[:-1][with_edges]
    shares = degrees[with_edges] if weights is None else np.add.reduceat(weights, begins, dtype=np.float64)
    return with_edges, np.asarray(shares, np.float32)


def start_table(vertices: NDArray[np.int64], shares: NDArray[np.float32]) -> NDArray[np.uint64]:
    """Make the table that starts are drawn from: vertices, and their shares."""
    return choices(np.array([0, len(vertices)], np.int64), vertices.astype(np.int32), shares)


@njit(nogil=True, cache=True)
def any_twice(indptr: NDArray[np.int64], indices: NDArray[np.int32]) -> bool:
    """Whether a row has a neighbour twice."""
    for v in range(indptr.size - 1):
        for i in range(indptr[v] + 1, indptr[v + 1]):
            if indices[i] == indices[i - 1]:
                return True
    return False
