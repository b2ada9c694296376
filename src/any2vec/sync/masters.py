"""Masters: the canonical labels of a host's range of vertices, and how what hosts changed is merged into them."""

import time
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from any2vec.cluster.workers import Workers
from any2vec.llvm.prefetch import prefetch_row
from any2vec.operators.labels import Labels
from any2vec.operators.tiles import ROW_ALIGNMENT
from any2vec.sync.combiners import Combiner, PartsCombiner, SumCombiner
from any2vec.sync.combiners.gradient import gradient_row

__all__ = ["ORTHOGONAL", "Changes", "Combined", "merge"]

ORTHOGONAL = 0.99
"""Orthogonality (Eq. 9) from which the changes of a row count as orthogonal: two of a size, at 82 degrees or more."""

_MEASURED = 256  # of so many rows the orthogonality of one is measured: it costs what the combiner costs
_MAGNITUDE, _INFINITE = np.int32(0x7FFFFFFF), np.int32(0x7F800000)  # a float32 without its sign; and infinity
_PARTS, _ROWS = 16384, 512  # parts, at most, and rows combined at a time
_STRIP = 64  # rows that stay in the fastest cache while one host's parts after the other's are added to them
_AHEAD = 4  # parts of a host that are on their way to the cache while one is added


@dataclass(frozen=True, eq=False)
class Changes:
    """What hosts tell the masters of one label.

    Attributes
    ----------
    rows : int32 array, shape (m,)
        Places among this host's masters, host by host; rising for each host.
    values : float32 array, shape (m, padded)
        The labels' values on those hosts.
    updates : int32 array, shape (m,)
        Updates made to them in the round; those with none are passed over.
    counts : int64 array, shape (H,)
        How many each host tells of.
    """

    rows: NDArray[np.int32]
    values: NDArray[np.float32]
    updates: NDArray[np.int32]
    counts: NDArray[np.int64]


@dataclass
class Combined:
    """What merging found.

    Attributes
    ----------
    finite : bool
        Whether all values are.
    rows : int
        Rows that two hosts or more changed, of those measured.
    orthogonal : int
        How many of them were orthogonal.
    orthogonality : float
        Sum of their orthogonalities (GraphAny2Vec, Eq. 9).
    seconds : float
        Time that threads spent on it.
    """

    finite: bool = True
    rows: int = 0
    orthogonal: int = 0
    orthogonality: float = 0.0
    seconds: float = 0.0

    def __iadd__(self, other: "Combined") -> "Combined":
        """Add what was found elsewhere."""
        self.finite &= other.finite
        self.rows += other.rows
        self.orthogonal += other.orthogonal
        self.orthogonality += other.orthogonality
        self.seconds += other.seconds
        return self


def merge(masters: Labels, changes: dict[str, Changes], combiner: Combiner, workers: Workers) -> Combined:
    """Merge what hosts changed into the masters.

    Parameters
    ----------
    masters : Labels
        What all hosts began the round with; gets the result.
    changes : dict from str to Changes
        By label, ``e`` and ``t``.
    combiner : Combiner
        It has begun the round.
    workers : Workers
        The threads that do it.

    Returns
    -------
    Combined
        What was found on the way.
    """
    began = time.thread_time()
    merges = [_Merge(label, masters, change, combiner, workers.threads) for label, change in changes.items()]
    futures = [future for one in merges for future in workers.start(one.run, workers.threads)]
    total = Combined(seconds=time.thread_time() - began)
    for found in workers.join(futures):
        total += found
    return total


class _Merge:
    """The merge of one label, in blocks of rows."""

    def __init__(self, label: str, masters: Labels, changes: Changes, combiner: Combiner, threads: int) -> None:
        self._label, self._combiner, self._threads = label, combiner, threads
        self._base = (masters.e if label == "e" else masters.t)[: masters.vertices]
        ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(changes.counts)])
        self._parts = _Parts(changes.rows, ends, changes.values, changes.updates)
        self._measured = -masters.first % _MEASURED  # the first row here that is: the same ones for any number of hosts
        self._rows = max(1, min(_ROWS, _PARTS // len(changes.counts)))

    def run(self, thread: int) -> Combined:
        """Merge the blocks of one thread."""
        began = time.thread_time()
        found = Combined()
        for first in range(thread * self._rows, len(self._base), self._threads * self._rows):
            found += self._block(first, self._base[first : first + self._rows])
        found.seconds = time.thread_time() - began
        return found

    def _block(self, first: int, base: NDArray[np.float32]) -> Combined:
        n = len(base)
        orthogonal = _orthogonality(self._parts, first, base, self._measured)
        out = np.empty(base.shape, np.float32)
        if isinstance(self._combiner, SumCombiner):
            hosts, totals = np.empty(n, np.int32), np.empty(n, np.int64)
            _sum(self._parts, first, base, out, hosts, totals)
            self._combiner.scale(self._label, out, hosts, totals)
        else:
            assert isinstance(self._combiner, PartsCombiner)
            starts = _starts(self._parts, first, n)
            parts, told = np.empty((starts[-1], base.shape[1]), np.float32), np.empty(starts[-1], np.int32)
            _take(self._parts, first, base, starts[:-1].copy(), parts, told)
            self._combiner.combine(self._label, parts, starts, told, out)
        return Combined(_add(out, base), *orthogonal)


class _Parts(NamedTuple):
    """What hosts tell of rows: those of host h are at ``ends[h] : ends[h + 1]``, rising."""

    rows: NDArray[np.int32]
    ends: NDArray[np.int64]
    values: NDArray[np.float32]
    updates: NDArray[np.int32]


@njit(nogil=True, cache=True)
def _find(rows: Any, low: int, high: int, row: int) -> int:
    """Where in ``rows[low:high]`` the first is that is not below `row`."""
    while low < high:
        middle = (low + high) // 2
        if rows[middle] < row:
            low = middle + 1
        else:
            high = middle
    return low


@njit(nogil=True, cache=True, fastmath=True)
def _sum(told: Any, first: int, base: Any, sums: Any, hosts: Any, totals: Any) -> None:
    """Add up what hosts added to the rows from `first` on; find what else `SumCombiner.scale` is given."""
    n, dim = base.shape
    flat, last = told.values.reshape(-1), told.rows.size - 1
    sums[:], hosts[:], totals[:] = 0, 0, 0
    places = np.empty(told.ends.size - 1, np.int64)
    for host in range(places.size):
        places[host] = _find(told.rows, told.ends[host], told.ends[host + 1], first)
    for end in range(first + _STRIP, first + n + _STRIP, _STRIP):
        for host in range(places.size):
            at = places[host]
            while at < told.ends[host + 1] and told.rows[at] < min(end, first + n):
                i = told.rows[at] - first
                ahead = min(at + _AHEAD, last) * dim
                for d in range(0, dim, ROW_ALIGNMENT):
                    prefetch_row(flat, ahead + d, ROW_ALIGNMENT)
                if told.updates[at]:
                    hosts[i] += 1
                    totals[i] += told.updates[at]
                    out, value, own = sums[i], told.values[at], base[i]
                    for d in range(dim):
                        out[d] += value[d] - own[d]
                at += 1
            places[host] = at


@njit(nogil=True, cache=True)
def _starts(told: Any, first: int, n: int) -> Any:
    """Where the parts of each row begin, and end, when they are listed row by row."""
    starts = np.zeros(n + 1, np.int64)
    for host in range(told.ends.size - 1):
        end = told.ends[host + 1]
        at = _find(told.rows, told.ends[host], end, first)
        while at < end and told.rows[at] < first + n:
            starts[told.rows[at] - first + 1] += told.updates[at] > 0
            at += 1
    return np.cumsum(starts)


@njit(nogil=True, cache=True)
def _take(told: Any, first: int, base: Any, place: Any, parts: Any, updates: Any) -> None:
    """List what hosts added to the rows from `first` on, each where its `place` is, in host order."""
    n, dim = base.shape
    for host in range(told.ends.size - 1):
        end = told.ends[host + 1]
        at = _find(told.rows, told.ends[host], end, first)
        while at < end and told.rows[at] < first + n:
            i = told.rows[at] - first
            if told.updates[at]:
                updates[place[i]] = told.updates[at]
                for d in range(dim):
                    parts[place[i], d] = told.values[at, d] - base[i, d]
                place[i] += 1
            at += 1


@njit(nogil=True, cache=True)
def _add(out: Any, base: Any) -> bool:
    """Add what was combined to the masters; tell whether they are finite."""
    largest = np.int32(0)
    bits = base.view(np.int32)
    for i in range(out.shape[0]):
        for d in range(out.shape[1]):
            base[i, d] += out[i, d]
        for d in range(out.shape[1]):
            largest = max(largest, bits[i, d] & _MAGNITUDE)
    return bool(largest < _INFINITE)


@njit(nogil=True, cache=True)
def _orthogonality(told: Any, first: int, base: Any, start: int) -> tuple[int, int, float]:
    """Measure some rows: how many, how many of them are orthogonal, and the sum of their orthogonalities."""
    measured = orthogonal = 0
    total = 0.0
    n, dim = base.shape
    parts, scratch = np.empty((told.ends.size - 1, dim), np.float32), np.empty(dim, np.float32)
    for row in range(first + (start - first) % _MEASURED, first + n, _MEASURED):
        k = 0
        for host in range(told.ends.size - 1):
            at = _find(told.rows, told.ends[host], told.ends[host + 1], row)
            if at < told.ends[host + 1] and told.rows[at] == row and told.updates[at]:
                for d in range(dim):
                    parts[k, d] = told.values[at, d] - base[row - first, d]
                k += 1
        squares = np.sum(parts[:k] * parts[:k])
        if k > 1 and squares > 0:
            gradient_row(parts[:k], scratch)
            found = np.sum(scratch * scratch) / squares
            measured += 1
            total += found
            orthogonal += int(found >= ORTHOGONAL)
    return measured, orthogonal, total
