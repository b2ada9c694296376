"""Arguments of kernels: the learning rate, where rows are, per-thread counters."""

from typing import Any, NamedTuple

import numpy as np
from numba import float32
from numpy.typing import NDArray

from any2vec.llvm.compiled import njit

__all__ = ["Rate", "RowTable", "ThreadStats", "add_curvature", "learning_rate"]


class Rate(NamedTuple):
    """The learning rate, falling linearly with the words done by all threads and hosts (GraphAny2Vec, 3.1).

    At a position of the slice it is ``alpha * max(1 - (done + pace * (before + position - low)) / total, floor)``.

    Attributes
    ----------
    alpha : float
        Initial learning rate.
    floor : float
        Least share of `alpha`.
    done : float
        Words done by all hosts when the slice begins.
    pace : float
        Words that all threads do while this one does one.
    total : float
        Words of all epochs; more, if it does not fall to 0 (`training.running.decay`).
    before : int
        Words of the slice before `low`, if it is one of several pieces: added first, the rate has the bits of one.
    """

    alpha: float
    floor: float
    done: float
    pace: float
    total: float
    before: int = 0


@njit(error_model="numpy", cache=True)  # no fastmath: all kernels are to compute the same bits
def learning_rate(rate: Rate, ahead: int) -> float:
    """Learning rate `ahead` words into the slice."""
    left = 1.0 - (rate.done + rate.pace * (rate.before + ahead)) / rate.total
    return float32(rate.alpha * max(left, rate.floor))


class ThreadStats(NamedTuple):
    """Per-thread counters and the shared stop flag.

    Attributes
    ----------
    words, samples, loss : float64 array, shape (1,)
        Positions done, samples applied, and the sum of their losses.
    curvature : float64 array, shape (2,)
        Over some samples, sums of the loss's second derivative, times the squared gradient, and of the latter; one
        thread alone does not measure it, unless its run blends.
    stop : int64 array, shape (1,)
        Nonzero if the kernel is to return early; shared by the threads.
    """

    words: NDArray[np.float64]
    samples: NDArray[np.float64]
    loss: NDArray[np.float64]
    curvature: NDArray[np.float64]
    stop: NDArray[np.int64]


@njit(inline="always")
def add_curvature(stats: ThreadStats, curvature: float, steps: Any, size: int, alpha: float) -> None:
    """Add to a thread's `curvature`, from what `Operator.steps` returned and the first `size` steps."""
    squares = 0.0
    for i in range(size):
        squares += (steps[i] / alpha) ** 2
    stats.curvature[0] += curvature
    stats.curvature[1] += squares


_NO_ROWS, _NONE = np.zeros(0, np.int32), np.zeros(0, np.uint8)


class RowTable(NamedTuple):
    """Per vertex: its local row, or its update count.

    Attributes
    ----------
    e, t : int32 array, shape (V,)
        By the kernel's addressing. ``direct``: empty. ``counted``: updates of the row, one per pair of which the
        vertex is the source and per sample of which it is the destination. ``mapped``: the row of each
        vertex.
    frozen : uint8 array, shape (V,)
        1 where the row of e must not change; empty for kernels that do not freeze.
    spare : int
        First of the thread's 4 * window spare rows of e, where frozen sources are copied.
    sources : int
        Sources of a group, at most, if these may be more than 2 * window.
    documents : int
        Floats from the first row of e to that of this host's first document, which may lie before it.
    """

    e: NDArray[np.int32] = _NO_ROWS
    t: NDArray[np.int32] = _NO_ROWS
    frozen: NDArray[np.uint8] = _NONE
    spare: int = 0
    sources: int = 0
    documents: int = 0
