"""Per-thread copies of the hottest rows: the papers' cure for staleness, inside one machine.

Threads that update the same row fight over its cache lines. Ids fall by count, so these are the first rows: each
thread works on copies of rows 0..n-1, which lie behind the V masters, and now and then adds what it changed to the
masters and reads them afresh (a reduce and a broadcast; GraphAny2Vec, section 3.3).
"""

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from any2vec.llvm.atomics import exchange

__all__ = ["HotRows", "merge", "open_copies"]


class HotRows(NamedTuple):
    """A thread's copies of the hottest rows.

    Attributes
    ----------
    rows : int
        Rows that have a copy: 0..rows-1; 0 for none.
    shift : int
        Row of a copy minus row of its master.
    every : int
        Windows between two merges.
    lock : int32 array, shape (1,)
        1 while a thread merges; shared by the threads.
    """

    rows: int
    shift: int
    every: int
    lock: NDArray[np.int32]


@njit(nogil=True)
def open_copies(label: NDArray[np.float32], before: NDArray[np.float32], hot: HotRows, dim: int) -> None:
    """Copy the masters of `label` (flat) into this thread's copies and into `before`."""
    for k in range(hot.rows * dim):
        before[k] = label[k]  # read once: another thread may be merging
        label[hot.shift * dim + k] = before[k]


@njit(nogil=True)
def _merge_label(label: NDArray[np.float32], before: NDArray[np.float32], first: int, size: int) -> None:
    for k in range(size):
        label[k] += label[first + k] - before[k]
        label[first + k] = label[k]
        before[k] = label[k]


@njit(nogil=True)
def merge(
    e: NDArray[np.float32],
    t: NDArray[np.float32],
    e_before: NDArray[np.float32],
    t_before: NDArray[np.float32],
    hot: HotRows,
    dim: int,
    wait: bool,
) -> bool:
    """Add to the masters what this thread changed since its last merge, and read them afresh.

    Returns False, with nothing done, if another thread was merging and `wait` is false.
    """
    while exchange(hot.lock, np.int32(1)) != 0:
        if not wait:
            return False
    for label, before in ((e, e_before), (t, t_before)):
        _merge_label(label, before, hot.shift * dim, hot.rows * dim)
    exchange(hot.lock, np.int32(0))
    return True
