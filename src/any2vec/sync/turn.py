"""Turning all labels: to others with the same scores (`sync.gauge`)."""

import time
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from any2vec.cluster.workers import Workers

__all__ = ["Turn"]

_BLOCK = 512  # rows turned by a thread, at least


class Turn(NamedTuple):
    """How labels are turned: ``E G`` and ``T G^-1``, G symmetric.

    Attributes
    ----------
    e, t : float32 array, shape (D, padded)
        G and its inverse; columns from D on are zeros.
    """

    e: NDArray[np.float32]
    t: NDArray[np.float32]

    def apply(self, e: NDArray[np.float32], t: NDArray[np.float32], workers: Workers) -> float:
        """Turn rows in place; a row's bits do not depend on the others. Return CPU seconds."""

        def run(low: int, high: int) -> float:
            began = time.thread_time()
            _turn(e[low:high], self.e)
            _turn(t[low:high], self.t)
            return time.thread_time() - began

        return float(sum(workers.join(workers.spread(run, len(e), _BLOCK))))


@njit(nogil=True, fastmath=True, error_model="numpy", cache=True)
def _turn(rows: Any, matrix: Any) -> None:
    dim, padded = matrix.shape
    out = np.empty(padded, np.float32)
    for i in range(rows.shape[0]):
        out[:] = 0
        for k in range(0, dim - 3, 4):
            a, b, c, d = rows[i, k], rows[i, k + 1], rows[i, k + 2], rows[i, k + 3]
            for j in range(padded):
                out[j] += a * matrix[k, j] + b * matrix[k + 1, j] + (c * matrix[k + 2, j] + d * matrix[k + 3, j])
        for k in range(dim // 4 * 4, dim):
            for j in range(padded):
                out[j] += rows[i, k] * matrix[k, j]
        rows[i] = out
