"""Second moments of the rows of a matrix, and their principal axes."""

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from any2vec.io.memory import is_finite
from any2vec.llvm.compiled import njit
from any2vec.operators.tiles import copy
from any2vec.sync.combiners.base import Touched

__all__ = ["Means", "axes_of", "moments"]

_ROWS = 8  # rows whose moments are added at a time


def moments(touched: Touched, dim: int, first: int = 0, stride: int = 1) -> NDArray[np.float64]:
    """Sum up rows first, first + stride, ..., of `dim` columns, each as often, w, as it was touched.

    Return shape (D + 3, D): the sum of ``w x x^T``, of which the part above the diagonal is to be ignored; then
    ``w x``; then ``w^2`` and ``w``, in every column. The bits are the same for any number of threads.
    """
    sums = np.zeros((dim + 3, touched.matrix.shape[1]))
    block = np.empty((dim, sums.shape[1]), np.float32)
    _moments(touched.matrix, touched.rows, touched.updates, first, stride, block, sums)
    return np.ascontiguousarray(sums[:, :dim])


class Means(NamedTuple):
    """Over the rows of a matrix, as often as hosts met them: moments, the row itself, its updates by all hosts."""

    moments: NDArray[np.float64]
    row: NDArray[np.float64]
    updates: float

    @classmethod
    def of(cls, total: NDArray[np.float64], hosts: int) -> Self:
        """From what so many hosts summed."""
        total = total / max(total[-1, 0], 1.0)
        lower = np.tril(total[:-3])
        return cls(lower + np.tril(lower, -1).T, total[-3], float(total[-2, 0]) * hosts)

    def joined(self, rows: float) -> NDArray[np.float64]:
        """Return the moments of the mean of so many rows that have nothing in common but their mean."""
        if rows == 1:
            return self.moments
        shared = np.outer(self.row, self.row)
        return np.asarray(shared + (self.moments - shared) / rows)


def axes_of(matrix: NDArray[np.float64], mean: NDArray[np.float64], shared: float) -> NDArray[np.float32]:
    """Eigenvalues, in rising order; `shared`; eigenvectors. If `shared` is not 0, the last is along `mean`."""
    if not is_finite(np.vstack([matrix, mean])):
        return np.zeros((len(matrix) + 2, len(matrix)), np.float32)
    if shared:
        unit = mean / np.linalg.norm(mean)
        across = np.eye(len(mean)) - np.outer(unit, unit)
        matrix = across @ matrix @ across + 2 * np.trace(matrix) * np.outer(unit, unit)
    values, vectors = np.linalg.eigh(matrix)
    return np.vstack([np.maximum(values, 0.0), np.full(len(matrix), shared), vectors.T]).astype(np.float32)


@njit(nogil=True, fastmath=True, error_model="numpy", cache=True)
def _moments(matrix: Any, places: Any, updates: Any, start: int, stride: int, block: Any, sums: Any) -> None:
    dim, size = block.shape
    x, w, a = np.zeros((_ROWS, size), np.float32), np.empty(_ROWS, np.float32), np.empty(_ROWS, np.float32)
    weight = squares = 0.0
    for first in range(start, places.size, 256 * stride):
        last = min(first + 256 * stride, places.size)
        block[:] = 0
        for r in range(first, last, _ROWS * stride):
            for k in range(_ROWS):
                at = r + k * stride
                w[k] = 0
                if at < last:
                    w[k] = updates[at]
                    copy(x[k], matrix[places[at]], size)
                weight += w[k]
                squares += np.float64(w[k]) ** 2
            _add_products(x, w, size, sums[dim])
            for i in range(dim):
                for k in range(_ROWS):
                    a[k] = x[k, i] * w[k]
                _add_products(x, a, i // 16 * 16 + 16, block[i])  # the lower half, and what completes a vector
        for i in range(dim):
            for j in range(i + 1):
                sums[i, j] += block[i, j]
    sums[dim + 1], sums[dim + 2] = squares, weight


@njit(inline="always")
def _add_products(x: Any, a: Any, n: int, out: Any) -> None:
    a0, a1, a2, a3, a4, a5, a6, a7 = a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7]
    for j in range(n):
        low = a0 * x[0, j] + a1 * x[1, j] + a2 * x[2, j] + a3 * x[3, j]
        out[j] += low + (a4 * x[4, j] + a5 * x[5, j] + a6 * x[6, j] + a7 * x[7, j])
