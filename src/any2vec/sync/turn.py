"""Turning all labels: to others with the same scores (`sync.gauge`)."""

import time
from typing import Any, NamedTuple, Self

import numpy as np
from numba import njit
from numpy.typing import NDArray

from any2vec.cluster.workers import Workers

__all__ = ["Turn"]

_BLOCK = 512  # rows turned by a thread, at least
_ALONG = 4  # directions at a time


class Turn(NamedTuple):
    """How labels are turned: ``E G`` and ``T G^-1``, where G stretches some directions.

    Attributes
    ----------
    directions : float32 array, shape (n, padded)
        Unit vectors, orthogonal; n is a multiple of 4, and columns from D on are zeros.
    e, t : float32 array, shape (n,)
        What is added to a row of e, or of t, along each, for each unit of what it has there.
    """

    directions: NDArray[np.float32]
    e: NDArray[np.float32]
    t: NDArray[np.float32]

    @classmethod
    def of(cls, logs: NDArray[np.float32], directions: NDArray[np.float32], padded: int) -> Self:
        """Stretch e by the exponentials of `logs` along `directions`, and t by as much less."""
        n, dim = directions.shape
        rows = np.zeros((-(-n // _ALONG) * _ALONG, padded), np.float32)
        rows[:n, :dim] = directions
        exponents = np.zeros(len(rows), np.float32)
        exponents[:n] = logs
        return cls(rows, np.expm1(exponents), np.expm1(-exponents))

    def apply(self, e: NDArray[np.float32], t: NDArray[np.float32], workers: Workers) -> float:
        """Turn rows in place; a row's bits do not depend on the others. Return CPU seconds."""

        def run(low: int, high: int) -> float:
            began = time.thread_time()
            _stretch(e[low:high], self.directions, self.e)
            _stretch(t[low:high], self.directions, self.t)
            return time.thread_time() - began

        return float(sum(workers.join(workers.spread(run, len(e), _BLOCK))))


@njit(nogil=True, fastmath=True, error_model="numpy", cache=True)
def _stretch(rows: Any, directions: Any, added: Any) -> None:
    for i in range(rows.shape[0]):
        row = rows[i]
        for k in range(0, added.size, _ALONG):
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
