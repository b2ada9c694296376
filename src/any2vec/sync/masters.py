"""Masters: the canonical labels of a host's range of vertices, and how what hosts changed is merged into them."""

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from any2vec.cluster.workers import Workers
from any2vec.operators.labels import Labels
from any2vec.sync.combiners import Combiner
from any2vec.sync.combiners.gradient import gradient_row

__all__ = ["ORTHOGONAL", "Changes", "Combined", "merge"]

ORTHOGONAL = 0.99
"""Orthogonality (Eq. 9) from which the changes of a row count as orthogonal: two of a size, at 82 degrees or more."""

_MEASURED = 16  # of so many rows the orthogonality of one is measured: it costs what the combiner costs
_PARTS = 512  # parts combined at a time: they stay in the cache
_LEAST = 2048  # parts worth a thread


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
        Updates made to them in the round; empty if not told.
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
    futures = [future for one in merges for future in workers.spread(one.run, one.blocks, _LEAST // _PARTS)]
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
        self._cuts = _cut(self._starts, _PARTS)
        self.blocks = len(self._cuts) - 1

    def run(self, low: int, high: int) -> Combined:
        """Merge blocks low..high-1."""
        began = time.thread_time()
        found = Combined()
        for block in range(low, high):
            first, last = int(self._cuts[block]), int(self._cuts[block + 1])
            size = int(self._starts[last] - self._starts[first])
            if not size:
                continue
            parts = np.empty((size, self._base.shape[1]), np.float32)
            updates = np.empty(size, np.int32)
            starts = np.empty(last - first + 1, np.int64)
            out = np.empty((last - first, self._base.shape[1]), np.float32)
            changes = self._changes
            _take(self._order, self._starts, first, changes.values, changes.updates, self._base, parts, updates, starts)
            self._combiner.combine(self._label, parts, starts, updates, out)
            found += Combined(*_add(out, starts, parts, first, self._base))
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
def _cut(starts: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """Cut rows into blocks of about `size` parts, and at most as many rows."""
    cuts = [0]
    for row in range(1, starts.size):
        if row == starts.size - 1 or starts[row + 1] - starts[cuts[-1]] > size or row - cuts[-1] >= size:
            cuts.append(row)
    return np.array(cuts, np.int64)


@njit(nogil=True, cache=True)
def _take(
    order: Any, all_starts: Any, first: int, values: Any, updates: Any, base: Any, parts: Any, told: Any, starts: Any
) -> None:
    """List what hosts added to the rows from `first` on, but zeros: so it does not matter who sends unchanged rows."""
    m = 0
    for i in range(starts.size - 1):
        starts[i] = m
        row = first + i
        for j in range(all_starts[row], all_starts[row + 1]):
            source = order[j]
            changed = 0
            for d in range(base.shape[1]):
                added = values[source, d] - base[row, d]
                parts[m, d] = added
                changed |= int(added != 0)
            if changed:
                told[m] = updates[source] if updates.size else 0
                m += 1
    starts[-1] = m


@njit(nogil=True, cache=True)
def _add(out: Any, starts: Any, parts: Any, first: int, base: Any) -> tuple[bool, int, int, float]:
    """Add what was combined to the masters; see what `Combined` holds."""
    finite = True
    measured = orthogonal = 0
    total = 0.0
    scratch = np.empty(base.shape[1], np.float32)
    for i in range(starts.size - 1):
        begin, end = starts[i], starts[i + 1]
        if begin == end:
            continue
        row = first + i
        if end - begin > 1 and row % _MEASURED == 0:
            gradient_row(parts[begin:end], scratch)
            measured += 1
            orthogonality = _squares(scratch) / _squares(parts[begin:end])
            total += orthogonality
            orthogonal += orthogonality >= ORTHOGONAL
        bad = 0
        for d in range(base.shape[1]):
            base[row, d] += out[i, d]
            bad |= int(not np.isfinite(base[row, d]))
        finite &= bad == 0
    return finite, measured, orthogonal, total


@njit(inline="always")
def _squares(x: Any) -> float:
    total = 0.0
    for value in x.flat:
        total += float(value) * float(value)
    return total
