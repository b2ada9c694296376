"""What walks look up: weighted choices among a vertex's neighbours, and whether two vertices are neighbours.

Both take memory in proportion to the edges: 16 bytes an entry for choices; for neighbours 11 (22 with
weights), and 32 (64) a vertex.
"""

from typing import Any

import numpy as np
from numba import int64, njit, uint64
from numpy.typing import NDArray

from any2vec.graph.walk_prefetch import prefetch

__all__ = ["bucket_of", "choices", "chosen", "find", "neighbour_table", "prefetch_bucket", "sums_of"]

_SLOTS = 8  # ids in a bucket: 32 bytes, which one comparison of a vector register looks through
_FILL = 3  # entries for which a row gets a bucket: few buckets are full, so few look-ups go on to a second one
_EMPTY = -1
_LINE = 64


def _aligned(size: int, kind: type[np.generic]) -> NDArray[Any]:
    """Return an array that begins at a cache line; large ones are in huge pages, where the system has them."""
    item = np.dtype(kind).itemsize
    spare = np.empty(size + _LINE // item, kind)
    skip = -spare.ctypes.data % _LINE // item
    return spare[skip : skip + size]


def choices(indptr: NDArray[np.int64], indices: NDArray[np.int32], weights: NDArray[np.float32]) -> NDArray[np.uint64]:
    """Walker's alias tables, one for each row.

    Parameters
    ----------
    indptr, indices, weights : arrays
        The graph's.

    Returns
    -------
    uint64 array, shape (2 E,)
        For entry i at 2 i: its neighbour, and above it in the high half its alias; at 2 i + 1 the part of its column,
        of 2^32, that is its own.
    """
    table = _aligned(2 * max(1, len(indices)), np.uint64)
    _fill_choices(indptr, indices, weights, table)
    return table


@njit(nogil=True, cache=True)
def _fill_choices(
    indptr: NDArray[np.int64], indices: NDArray[np.int32], weights: NDArray[np.float32], table: NDArray[np.uint64]
) -> None:
    """Vose's method, row by row."""
    widest = 0
    for v in range(indptr.size - 1):
        widest = max(widest, indptr[v + 1] - indptr[v])
    left = np.empty(widest, np.float64)
    order = np.empty(widest, np.int64)  # columns that are not full from the front, others from the back
    for v in range(indptr.size - 1):
        first = indptr[v]
        degree = indptr[v + 1] - first
        total = 0.0
        for i in range(degree):
            total += weights[first + i]
        smalls, larges = 0, degree
        for i in range(degree):
            left[i] = weights[first + i] / total * degree
            own = uint64(indices[first + i])
            table[2 * (first + i)] = own | (own << uint64(32))
            table[2 * (first + i) + 1] = uint64(1) << uint64(32)
            if left[i] < 1.0:
                order[smalls] = i
                smalls += 1
            else:
                larges -= 1
                order[larges] = i
        while smalls > 0 and larges < degree:
            smalls -= 1
            low, high = order[smalls], order[larges]
            own = uint64(indices[first + low])
            table[2 * (first + low)] = own | (uint64(indices[first + high]) << uint64(32))
            table[2 * (first + low) + 1] = uint64(left[low] * 4294967296.0)
            left[high] -= 1.0 - left[low]
            if left[high] < 1.0:
                larges += 1
                order[smalls] = high
                smalls += 1


@njit(inline="always")
def chosen(table: NDArray[np.uint64], entry: int, fraction: int) -> int:
    """Neighbour that `fraction`, of 2^32, chooses in the column of an entry."""
    both = table[2 * entry]
    aliased = uint64(fraction >= table[2 * entry + 1])  # no branch: it could not be predicted
    return int64((both >> (uint64(32) * aliased)) & uint64(0xFFFFFFFF))


def neighbour_table(
    rows: NDArray[np.int64], indices: NDArray[np.int32], weights: NDArray[np.float32] | None
) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """Hash tables of the rows' neighbours, one after the other.

    A row has a bucket for every three entries and one more; the place of its first follows from where the row begins,
    so nothing else has to be looked up.

    Parameters
    ----------
    rows : int64 array, shape (V + 2,)
        The graph's `indptr`, and its last entry again: a vertex V that has no neighbour.
    indices, weights : arrays
        The graph's; no neighbour twice in a row.

    Returns
    -------
    table : int32 array
        Buckets of eight, filled from the front; -1 is an empty place.
    beside : float32 array
        Weights, in the same places; empty if there are none.
    """
    size = (int(rows[-1]) // _FILL + len(rows)) * _SLOTS
    table = _aligned(size, np.int32)
    table.fill(_EMPTY)
    beside = _aligned(size if weights is not None else 0, np.float32)
    _fill_neighbours(rows, indices, np.zeros(0, np.float32) if weights is None else weights, table, beside)
    return table, beside


@njit(nogil=True, cache=True)
def _fill_neighbours(
    rows: NDArray[np.int64],
    indices: NDArray[np.int32],
    weights: NDArray[np.float32],
    table: NDArray[np.int32],
    beside: NDArray[np.float32],
) -> None:
    for v in range(rows.size - 2):
        first = rows[v]
        degree = rows[v + 1] - first
        begin = first // _FILL + v
        end = begin + degree // _FILL + 1
        for i in range(first, first + degree):
            bucket = bucket_of(indices[i], v, first, degree)
            while table[_SLOTS * bucket + _SLOTS - 1] != _EMPTY:
                bucket = bucket + 1 if bucket + 1 < end else begin
            slot = _SLOTS * bucket
            while table[slot] != _EMPTY:
                slot += 1
            table[slot] = indices[i]
            if weights.size:
                beside[slot] = weights[i]


@njit(nogil=True, cache=True)
def sums_of(indptr: NDArray[np.int64], weights: NDArray[np.float32]) -> NDArray[np.float64]:
    """Sum and largest of each row's weights, one after the other; and zeros for the vertex that stands for none."""
    sums = np.zeros(2 * indptr.size)
    for v in range(indptr.size - 1):
        total = largest = 0.0
        for i in range(indptr[v], indptr[v + 1]):
            total += weights[i]
            largest = max(largest, float(weights[i]))
        sums[2 * v], sums[2 * v + 1] = total, largest
    return sums


@njit(inline="always")
def bucket_of(x: int, v: int, first: int, degree: int) -> int:
    """Bucket in which the row of v, from `first` on, has x, if there is room for it."""
    scattered = (uint64(x) * uint64(0x9E3779B1)) & uint64(0xFFFFFFFF)
    return first // _FILL + v + int64((scattered * uint64(degree // _FILL + 1)) >> uint64(32))


@njit(inline="always")
def prefetch_bucket(table: NDArray[Any], bucket: int) -> None:
    """Ask for a bucket, or the weights beside it."""
    prefetch(table, _SLOTS * bucket)


@njit(inline="always")
def find(table: NDArray[np.int32], bucket: int, x: int, v: int, first: int, degree: int) -> int:
    """Slot of x, whose bucket is `bucket`, in the table of the row of v; -1 if it is not a neighbour."""
    while True:
        slot = _SLOTS * bucket
        found = -1
        for i in range(_SLOTS):
            found = slot + i if table[slot + i] == x else found
        if found >= 0 or table[slot + _SLOTS - 1] == _EMPTY:
            return found
        bucket += 1
        if bucket == first // _FILL + v + degree // _FILL + 1:
            bucket = first // _FILL + v
