"""Lookup tables of walks: alias tables for weighted choices, and hash tables of neighbours.

Memory: 16 bytes per entry for choices. Neighbours: 11 per entry and 32 per vertex, with weights 22 and 68.
"""

import numpy as np
from numba import int64, uint64
from numpy.typing import NDArray

from any2vec.io.memory import zeros
from any2vec.llvm.compiled import njit
from any2vec.samples.negatives import share_columns

__all__ = ["BUCKET", "WEIGHTED_BUCKET", "bucket_of", "choices", "chosen", "find", "neighbour_table", "relative_weights"]

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


def neighbour_table(
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
def relative_weights(
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
