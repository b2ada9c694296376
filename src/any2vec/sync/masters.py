"""Masters: the canonical labels of a host's range of vertices, and how what hosts changed is merged into them."""

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from any2vec.cluster.workers import Workers
from any2vec.operators.labels import Labels
from any2vec.operators.tiles import ROW_ALIGNMENT, prefetch_row
from any2vec.sync.combiners import Combiner, PartsCombiner, SumCombiner
from any2vec.sync.combiners.gradient import gradient_row

__all__ = ["ORTHOGONAL", "Changes", "Combined", "merge"]

ORTHOGONAL = 0.99
"""Orthogonality (Eq. 9) from which the changes of a row count as orthogonal: two of a size, at 82 degrees or more."""

_MEASURED = 256  # of so many rows the orthogonality of one is measured: it costs what the combiner costs
_MAGNITUDE, _INFINITE = np.int32(0x7FFFFFFF), np.int32(0x7F800000)  # a float32 without its sign; and infinity
_AHEAD = 6  # parts that are on their way to the cache while one is added
_PARTS, _ROWS = 16384, 1024  # parts and rows combined at a time: the rows stay in the cache


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
    """

    rows: NDArray[np.int32]
    values: NDArray[np.float32]
    updates: NDArray[np.int32]


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
    merges = [_Merge(label, masters, change, combiner) for label, change in changes.items()]
    futures = [future for one in merges for future in workers.spread(one.run, one.blocks)]
    total = Combined(seconds=time.thread_time() - began)
    for found in workers.join(futures):
        total += found
    return total


class _Merge:
    """The merge of one label, in blocks of rows."""

    def __init__(self, label: str, masters: Labels, changes: Changes, combiner: Combiner) -> None:
        self._label, self._changes, self._combiner = label, changes, combiner
        self._base = masters.e if label == "e" else masters.t
        self._order, self._starts = _by_row(changes.rows, masters.vertices)
        self._cuts = _cut(self._starts, _PARTS, _ROWS)
        self.blocks = len(self._cuts) - 1

    def run(self, low: int, high: int) -> Combined:
        """Merge blocks low..high-1."""
        began = time.thread_time()
        found = Combined()
        base, values, updates = self._base, self._changes.values, self._changes.updates
        for block in range(low, high):
            first, last = int(self._cuts[block]), int(self._cuts[block + 1])
            size, n = int(self._starts[last] - self._starts[first]), last - first
            if not size:
                continue
            orthogonal = _orthogonality(self._order, self._starts, first, last, values, updates, base)
            out = np.empty((n, base.shape[1]), np.float32)
            if isinstance(self._combiner, SumCombiner):
                hosts, totals = np.empty(n, np.int32), np.empty(n, np.int64)
                _sum(self._order, self._starts, first, values, updates, base, out, hosts, totals)
                self._combiner.scale(self._label, out, hosts, totals)
            else:
                assert isinstance(self._combiner, PartsCombiner)
                parts, told = np.empty((size, base.shape[1]), np.float32), np.empty(size, np.int32)
                starts = np.empty(n + 1, np.int64)
                _take(self._order, self._starts, first, values, updates, base, parts, told, starts)
                self._combiner.combine(self._label, parts, starts, told, out)
            found += Combined(_add(out, base[first:last]), *orthogonal)
        found.seconds = time.thread_time() - began
        return found


@njit(nogil=True, cache=True)
def _by_row(rows: NDArray[np.int32], n: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Where each row's parts are, in host order: ``order[starts[r] : starts[r + 1]]``."""
    starts = np.zeros(n + 1, np.int64)
    for row in rows:
        starts[row + 1] += 1
    starts = np.cumsum(starts)
    place = starts[:-1].copy()
    order = np.empty(rows.size, np.int64)
    for i, row in enumerate(rows):
        order[place[row]] = i
        place[row] += 1
    return order, starts


@njit(nogil=True, cache=True)
def _cut(starts: NDArray[np.int64], parts: int, rows: int) -> NDArray[np.int64]:
    """Cut rows into blocks of about so many parts, and at most so many rows."""
    cuts = [0]
    for row in range(1, starts.size):
        if row == starts.size - 1 or starts[row + 1] - starts[cuts[-1]] > parts or row - cuts[-1] >= rows:
            cuts.append(row)
    return np.array(cuts, np.int64)


@njit(nogil=True, cache=True, fastmath=True)
def _sum(
    order: Any, starts: Any, first: int, values: Any, updates: Any, base: Any, sums: Any, hosts: Any, totals: Any
) -> None:
    """Add up what hosts added to the rows from `first` on; find what else `SumCombiner.scale` is given."""
    dim, flat, last = base.shape[1], values.reshape(-1), order.size - 1
    for i in range(hosts.size):
        own, out = base[first + i], sums[i]
        out[:] = 0
        hosts[i] = totals[i] = 0
        for j in range(starts[first + i], starts[first + i + 1]):
            source = order[j]
            ahead = order[min(j + _AHEAD, last)] * dim
            for d in range(0, dim, ROW_ALIGNMENT):
                prefetch_row(flat, ahead + d, ROW_ALIGNMENT)
            if updates[source]:
                hosts[i] += 1
                totals[i] += updates[source]
                value = values[source]
                for d in range(out.size):
                    out[d] += value[d] - own[d]


@njit(nogil=True, cache=True)
def _take(
    order: Any, all_starts: Any, first: int, values: Any, updates: Any, base: Any, parts: Any, told: Any, starts: Any
) -> None:
    """List what hosts added to the rows from `first` on."""
    m = 0
    for i in range(starts.size - 1):
        starts[i] = m
        row = first + i
        for j in range(all_starts[row], all_starts[row + 1]):
            source = order[j]
            if updates[source]:
                told[m] = updates[source]
                for d in range(base.shape[1]):
                    parts[m, d] = values[source, d] - base[row, d]
                m += 1
    starts[-1] = m


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
def _orthogonality(
    order: Any, starts: Any, first: int, last: int, values: Any, updates: Any, base: Any
) -> tuple[int, int, float]:
    """Measure some rows: how many, how many of them are orthogonal, and the sum of their orthogonalities."""
    measured = orthogonal = 0
    total = 0.0
    scratch = np.empty(base.shape[1], np.float32)
    for row in range((first + _MEASURED - 1) // _MEASURED * _MEASURED, last, _MEASURED):
        size = starts[row + 1] - starts[row]
        parts = np.empty((size, base.shape[1]), np.float32)
        k = 0
        for j in range(starts[row], starts[row + 1]):
            if updates[order[j]]:
                parts[k] = values[order[j]] - base[row]
                k += 1
        squares = np.sum(parts[:k] * parts[:k])
        if k > 1 and squares > 0:
            gradient_row(parts[:k], scratch)
            found = np.sum(scratch * scratch) / squares
            measured += 1
            total += found
            orthogonal += int(found >= ORTHOGONAL)
    return measured, orthogonal, total
