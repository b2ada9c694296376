"""Each thread's own mirrors of the hottest rows: the papers' cure for staleness, inside one machine.

Two threads that update the same row fight over its cache lines. Ids fall by count, so the rows they fight over are
the first ones: every thread gets copies of rows 0..hot-1 behind the V masters, works on them, and now and then
adds what it changed to the masters and reads them afresh (a reduce and a broadcast; GraphAny2Vec, section 3.3).
"""

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from any2vec.llvm.atomics import exchange

__all__ = ["HotRows", "merge", "open_copies"]


class HotRows(NamedTuple):
    """Where a thread finds its mirrors.

    Attributes
    ----------
    hot : int
        Rows that have mirrors: ids 0..hot-1; none if 0.
    shift : int
        What to add to such an id to get its mirror's row.
    every : int
        Centres between two merges.
    lock : int32 array, shape (1,)
        1 while a thread merges; shared by the threads.
    """

    hot: int
    shift: int
    every: int
    lock: NDArray[np.int32]


@njit(nogil=True)
def open_copies(label: NDArray[np.float32], before: NDArray[np.float32], hot: int, shift: int, dim: int) -> None:
    """Copy the masters of `label` (flat) into this thread's mirrors, and remember them in `before`."""
    for k in range(hot * dim):
        before[k] = label[k]  # read once: another thread may be merging
        label[shift * dim + k] = before[k]


@njit(nogil=True)
def _merge_label(label: NDArray[np.float32], before: NDArray[np.float32], first: int, size: int) -> None:
    """Merge the mirrors of one label, which begin at `first`."""
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
    mirrors: HotRows,
    dim: int,
    wait: bool,
) -> bool:
    """Add to the masters what this thread changed since its last merge, and read them afresh.

    Returns
    -------
    bool
        False if another thread was merging and `wait` is false: then nothing was done.
    """
    while exchange(mirrors.lock, np.int32(1)) != 0:
        if not wait:
            return False
    for label, before in ((e, e_before), (t, t_before)):
        _merge_label(label, before, mirrors.shift * dim, mirrors.hot * dim)
    exchange(mirrors.lock, np.int32(0))
    return True
