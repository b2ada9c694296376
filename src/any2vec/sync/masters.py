"""Masters, the canonical matrices of a host's range of vertices: what hosts changed is merged, rows are rebalanced."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from any2vec.cluster.communicator import DamagedError
from any2vec.cluster.workers import Workers
from any2vec.llvm.compiled import njit
from any2vec.llvm.intrinsics import prefetch
from any2vec.operators.matrices import Matrices, zeros
from any2vec.operators.tiles import ROW_ALIGNMENT, TILE_ROWS, aligned, dots, register_width
from any2vec.sync.combiners import Combiner, PartsCombiner, SumCombiner
from any2vec.sync.combiners.plain import gradient_row
from any2vec.sync.wire import INFINITE, MAGNITUDE, added, numbers_of, scale_of

ORTHOGONAL = 0.99
"""Orthogonality (Eq. 9) from which a row's changes count as orthogonal: two of equal length at 82 degrees or more."""

_ONE_ROW_OF = 256  # orthogonality is measured on one row in 256: it costs as much as combining
_PARTS, _ROWS = 16384, 512  # parts, at most, and rows combined at a time
_STRIP = 64  # rows that stay in L1 while the hosts' parts are added to them, host by host
_AHEAD = 4  # parts of a host prefetched
_LINE = 64  # bytes of a cache line
_WIDTH = register_width()
_REBALANCED = 512  # rows that a thread rebalances, at least
_DIRECTIONS = 4  # directions at a time
_FEW = 0.3  # share of the directions up to which going through them takes less than a product with a matrix


class Rebalancing(NamedTuple):
    """How rows are rebalanced: to ``E G`` and ``T G^-1``, where G stretches some directions."""

    # (n, padded): Unit vectors, orthogonal; n is a multiple of 4, and columns from D on are zeros
    directions: NDArray[np.float32]
    # (n,): The amount added to a row of e, or of t, along each direction, per unit of the row's own component
    e: NDArray[np.float32]
    t: NDArray[np.float32]
    dim: int  # D

    @classmethod
    def of(cls, logs: NDArray[np.float32], directions: NDArray[np.float32], padded: int) -> Self:
        """Stretch e by the exponentials of `logs` along `directions`, and t by as much less."""
        n, dim = directions.shape
        rows = np.zeros((-(-n // _DIRECTIONS) * _DIRECTIONS, padded), np.float32)
        rows[:n, :dim] = directions
        exponents = np.zeros(len(rows), np.float32)
        exponents[:n] = logs
        return cls(rows, np.expm1(exponents), np.expm1(-exponents), dim)

    def apply(self, rows: dict[str, NDArray[np.float32]], workers: Workers) -> float:
        """Rebalance rows, 64-byte aligned, in place; by matrix, all of which have as many. Return CPU seconds.

        A row's bits do not depend on the others.
        """
        began = time.thread_time()
        stretches = [self._stretch(of, self.e if which == "e" else self.t) for which, of in rows.items()]
        seconds = time.thread_time() - began

        def run(low: int, high: int) -> float:
            began = time.thread_time()
            for stretch in stretches:
                stretch(low, high)
            return time.thread_time() - began

        n = len(next(iter(rows.values())))
        return seconds + float(sum(workers.join(workers.spread(run, n, _REBALANCED))))

    def _stretch(self, rows: NDArray[np.float32], added: NDArray[np.float32]) -> Callable[[int, int], None]:
        """Return what stretches rows low..high-1."""
        if len(added) <= _FEW * self.dim:
            return lambda low, high: _along(rows[low:high], self.directions, added)
        matrix = zeros(self.dim, self.dim)
        matrix[:, : self.dim] = ((self.directions.T * added) @ self.directions)[: self.dim, : self.dim]
        multiply = _multiply(_WIDTH)
        return lambda low, high: multiply(rows[low:high], matrix)


class Changes(NamedTuple):
    """What hosts send to the masters of one matrix, also as kernels read it."""

    rows: NDArray[np.int32]  # (m,): Rows of this host's masters, host by host, rising for each host
    ends: NDArray[np.int64]  # (H + 1,): Those of host h are ``rows[ends[h] : ends[h + 1]]``
    # (m, padded): The rows as the hosts left them; or, rounded, what hosts added (`wire.added`)
    values: NDArray[Any]
    updates: NDArray[np.int32]  # (m,): Updates of each in the round; rows with none are ignored

    @classmethod
    def of(
        cls, rows: NDArray[np.int32], counts: NDArray[np.int64], values: NDArray[Any], updates: NDArray[np.int32]
    ) -> Self:
        """Put together what hosts send, of which each has `counts` rows."""
        return cls(rows, np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)]), values, updates)


@dataclass
class Combined:
    """Statistics of merging."""

    finite: bool = True  # whether all values are
    rows: int = 0  # rows measured that two or more hosts changed
    orthogonal: int = 0  # how many of them were orthogonal
    orthogonality: float = 0.0  # sum of their orthogonalities (GraphAny2Vec, Eq. 9)
    seconds: float = 0.0  # CPU time of the threads
    rebalancing: Rebalancing | None = None  # what all rows are to be rebalanced by
    largest: float = 0.0  # largest change of a number of the hottest rows in one of some mini-batches (`sync.columns`)

    def __iadd__(self, other: "Combined") -> "Combined":
        """Add the statistics of another part."""
        self.finite &= other.finite
        self.rows += other.rows
        self.orthogonal += other.orthogonal
        self.orthogonality += other.orthogonality
        self.seconds += other.seconds
        return self


def check_updates(changes: Changes) -> None:
    """Raise a DamagedError if a host says that it updated a row less than no times."""
    if changes.updates.min(initial=0) < 0:
        host = int(np.searchsorted(changes.ends[1:], int(np.argmin(changes.updates)), "right"))
        raise DamagedError.of(host, "a number of updates below 0")


def merge(masters: Matrices, changes: dict[str, Changes], combiner: Combiner, workers: Workers) -> Combined:
    """Merge what hosts changed, by matrix, into the masters, which hold what all hosts began the round with.

    `combiner` has begun the round.
    """
    began = time.thread_time()
    runs = [partial(_merge_blocks, which, masters, change, combiner, workers) for which, change in changes.items()]
    futures = [future for run in runs for future in workers.start(run, workers.threads)]
    total = Combined(seconds=time.thread_time() - began)
    for found in workers.join(futures):
        total += found
    return total


def memory_of_merging(vertices: int, hosts: int, threads: int, dim: int) -> int:
    """Bytes of the parts and sums in hand while so many threads merge, with `dim` floats in a row."""
    rows = min(_ROWS, max(1, _PARTS // hosts), -(-vertices // hosts))
    return threads * 4 * dim * rows * (1 + hosts)


def _merge_blocks(
    which: str, masters: Matrices, changes: Changes, combiner: Combiner, workers: Workers, thread: int
) -> Combined:
    """Merge a thread's blocks of rows of a matrix."""
    began, found = time.thread_time(), Combined()
    base = (masters.e if which == "e" else masters.t)[: masters.vertices]
    measured = -masters.first % _ONE_ROW_OF  # the same rows for any number of hosts
    rows = max(1, min(_ROWS, _PARTS // (changes.ends.size - 1)))
    for first in range(thread * rows, len(base), workers.threads * rows):
        block = base[first : first + rows]
        orthogonal = _orthogonality(changes, first, block, measured)
        found += Combined(_add(_combined(which, changes, first, block, combiner), block), *orthogonal)
    found.seconds = time.thread_time() - began
    return found


def _combined(
    which: str, changes: Changes, first: int, base: NDArray[np.float32], combiner: Combiner
) -> NDArray[np.float32]:
    """Combine what hosts added to the rows from `first` on."""
    n, out = len(base), np.empty(base.shape, np.float32)
    if isinstance(combiner, SumCombiner):
        hosts, totals = np.empty(n, np.int32), np.empty(n, np.int64)
        _sum(changes, first, base, out, hosts, totals)
        combiner.scale(which, out, hosts, totals)
    else:
        assert isinstance(combiner, PartsCombiner)
        starts = _starts(changes, first, n)
        parts, updates = np.empty((starts[-1], base.shape[1]), np.float32), np.empty(starts[-1], np.int32)
        _take(changes, first, base, starts[:-1].copy(), parts, updates)
        combiner.combine(which, parts, starts, updates, out)
    return out


@njit(nogil=True, cache=True)
def find(rows: Any, low: int, high: int, row: int) -> int:
    """Index of the first of ``rows[low:high]`` that is not below `row`."""
    while low < high:
        middle = (low + high) // 2
        if rows[middle] < row:
            low = middle + 1
        else:
            high = middle
    return low


@njit(nogil=True, cache=True, fastmath=True)
def _sum(changes: Any, first: int, base: Any, sums: Any, hosts: Any, totals: Any) -> None:
    """Sum what hosts added to the rows from `first` on; count hosts and updates (`SumCombiner.scale`)."""
    n, dim, wide = len(base), numbers_of(changes.values), changes.values.shape[1]
    flat, last, line = changes.values.reshape(-1), changes.rows.size - 1, _LINE // changes.values.itemsize
    sums[:], hosts[:], totals[:] = 0, 0, 0
    places = np.empty(changes.ends.size - 1, np.int64)
    for host in range(places.size):
        places[host] = find(changes.rows, changes.ends[host], changes.ends[host + 1], first)
    for end in range(first + _STRIP, first + n + _STRIP, _STRIP):
        for host in range(places.size):
            at = places[host]
            while at < changes.ends[host + 1] and changes.rows[at] < min(end, first + n):
                i = changes.rows[at] - first
                ahead = min(at + _AHEAD, last) * wide
                for d in range(0, wide, line):
                    prefetch(flat, ahead + d)
                if changes.updates[at]:
                    hosts[i] += 1
                    totals[i] += changes.updates[at]
                    out, value, own = sums[i], changes.values[at], base[i]
                    scale = scale_of(value)
                    for d in range(dim):
                        out[d] += added(value[d], own[d], scale)
                at += 1
            places[host] = at


@njit(nogil=True, cache=True)
def _starts(changes: Any, first: int, n: int) -> Any:
    """Offsets of each row's parts in a list by row."""
    starts = np.zeros(n + 1, np.int64)
    for host in range(changes.ends.size - 1):
        end = changes.ends[host + 1]
        at = find(changes.rows, changes.ends[host], end, first)
        while at < end and changes.rows[at] < first + n:
            starts[changes.rows[at] - first + 1] += changes.updates[at] > 0
            at += 1
    return np.cumsum(starts)


@njit(nogil=True, cache=True)
def _take(changes: Any, first: int, base: Any, place: Any, parts: Any, updates: Any) -> None:
    """List what hosts added to the rows from `first` on, by row from its `place`, in host order."""
    n, dim = len(base), numbers_of(changes.values)
    for host in range(changes.ends.size - 1):
        end = changes.ends[host + 1]
        at = find(changes.rows, changes.ends[host], end, first)
        while at < end and changes.rows[at] < first + n:
            i = changes.rows[at] - first
            if changes.updates[at]:
                updates[place[i]] = changes.updates[at]
                value, scale = changes.values[at], scale_of(changes.values[at])
                for d in range(dim):
                    parts[place[i], d] = added(value[d], base[i, d], scale)
                parts[place[i], dim:] = 0
                place[i] += 1
            at += 1


@njit(nogil=True, cache=True)
def _add(out: Any, base: Any) -> bool:
    """Add what was combined to the masters; return whether they are finite."""
    largest = np.int32(0)
    bits = base.view(np.int32)
    for i in range(out.shape[0]):
        for d in range(out.shape[1]):
            base[i, d] += out[i, d]
        for d in range(out.shape[1]):
            largest = max(largest, bits[i, d] & MAGNITUDE)
    return bool(largest < INFINITE)


@njit(nogil=True, cache=True)
def _orthogonality(changes: Any, first: int, base: Any, start: int) -> tuple[int, int, float]:
    """Measure every 256th row: rows measured, rows that are orthogonal, sum of orthogonalities."""
    measured = orthogonal = 0
    total = 0.0
    n, dim = len(base), numbers_of(changes.values)
    parts, scratch = np.zeros((changes.ends.size - 1, base.shape[1]), np.float32), np.empty(base.shape[1], np.float32)
    for row in range(first + (start - first) % _ONE_ROW_OF, first + n, _ONE_ROW_OF):
        k, squares, combined = 0, np.float32(0), np.float32(0)
        for host in range(changes.ends.size - 1):
            at = find(changes.rows, changes.ends[host], changes.ends[host + 1], row)
            if at < changes.ends[host + 1] and changes.rows[at] == row and changes.updates[at]:
                value, scale = changes.values[at], scale_of(changes.values[at])
                for d in range(dim):
                    parts[k, d] = added(value[d], base[row - first, d], scale)
                    squares += parts[k, d] * parts[k, d]
                k += 1
        if k > 1 and squares > 0:
            gradient_row(parts[:k], changes.updates, scratch)
            for d in range(dim):
                combined += scratch[d] * scratch[d]
            found = float(combined / squares)
            measured += 1
            total += found
            orthogonal += int(found >= ORTHOGONAL)
    return measured, orthogonal, total


@njit(nogil=True, fastmath=True, error_model="numpy", cache=True)
def _along(rows: Any, directions: Any, added: Any) -> None:
    for i in range(rows.shape[0]):
        row = rows[i]
        for k in range(0, added.size, _DIRECTIONS):
            u, v, w, x = directions[k], directions[k + 1], directions[k + 2], directions[k + 3]
            a = b = c = d = np.float32(0)
            for j in range(row.size):
                a += row[j] * u[j]
                b += row[j] * v[j]
                c += row[j] * w[j]
                d += row[j] * x[j]
            a, b, c, d = a * added[k], b * added[k + 1], c * added[k + 2], d * added[k + 3]
            for j in range(row.size):
                row[j] += a * u[j] + b * v[j] + (c * w[j] + d * x[j])


@cache
def _multiply(width: int) -> Any:
    """Compile what adds its product with a symmetric matrix to each row."""
    tile = TILE_ROWS if width == 16 else 4  # twice as many sums fill registers, or a part of one: all alike

    @njit(nogil=True, fastmath=True, error_model="numpy", cache=True)
    def multiply(rows: Any, matrix: Any) -> None:
        dim, padded = matrix.shape
        flat, columns = rows.reshape(-1), matrix.reshape(-1)
        places, products = np.arange(0, matrix.size, padded), aligned(tile * dim + ROW_ALIGNMENT)
        offsets = np.empty(tile, np.int64)
        for first in range(0, rows.shape[0], tile):
            last = min(first + tile, rows.shape[0])
            for i in range(tile):  # always as many: sums of smaller tiles have other bits
                offsets[i] = min(first + i, last - 1) * padded
            dots(flat, offsets, columns, places, products, tile, dim, padded, width)
            for i in range(last - first):
                row = rows[first + i]
                for d in range(dim):
                    row[d] += products[d * tile + i]

    return multiply
