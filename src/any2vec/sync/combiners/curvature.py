"""The curvature combiner: small steps are summed, large ones averaged, direction by direction (DESIGN, section 6).

It is a mean-field form of SymSGD's sound combiners (Maleki et al. 2017, "Parallel stochastic gradient descent with
sound combiners"). Within a round the loss of a row x is about quadratic, with a curvature C that all rows of a label
share, because the rows they meet are drawn from the same distribution::

    C_e = kappa (K + 1) E[t t^T]        C_t = kappa E[e e^T]        kappa = E[p (1 - p)]

A host with n_h updates moves a row by (I - exp(-alpha n_h C)) (x* - x), one machine with all N = sum n_h would by
(I - exp(-alpha N C)) (x* - x). So, in the eigenvectors of C, the sum of what the hosts added is scaled by
(1 - exp(-alpha c N)) / sum_h (1 - exp(-alpha c n_h)).
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numba import float32, njit
from numpy.typing import NDArray

from any2vec.operators.labels import is_finite
from any2vec.sync.combiners.base import Round, Setting, SumCombiner, Touched

__all__ = ["Curvature", "moments"]

_SEEN = 8192  # rows of a label, about, that all hosts together look at to measure its moments
_ROWS = 4  # rows whose moments are added at a time
_LEAST = 0.2  # alpha c N below which the scale, then above 0.9, is taken as that of the mean of such directions


class Curvature(SumCombiner):
    """Scales the sum of what hosts added, in the eigenvectors of the label's curvature.

    It reads the option ``kappa``: a number, or None to take the one measured in each round.
    """

    def __init__(self, setting: Setting) -> None:
        super().__init__(setting)
        self._kappa: float | None = setting.options.get("kappa")
        self._samples = {"e": setting.negative + 1, "t": 1}  # for a pair, that move its row of the label
        self._roots = {"e": 0, "t": setting.wire.communicator.size - 1}
        self._vectors: dict[str, NDArray[np.float32]] = {}
        self._rates: dict[str, NDArray[np.float32]] = {}

    def begin(self, round_: Round, here: dict[str, Touched]) -> None:
        """Measure the curvature: each host sums over rows that it touched, and one for each label does the rest.

        The rows are as the round left them: in the first rounds they grow many times over, and into new directions.
        With the curvature that they began with, what the hosts added would be summed there.
        """
        wire = self.setting.wire
        kappa = round_.kappa if self._kappa is None else self._kappa
        solved = {}
        for label, root in self._roots.items():
            with self._timed():
                own = self._own_moments(here["t" if label == "e" else "e"])
            sums = wire.gather(("reduce", label, "moments"), own, root)
            if sums is not None:
                with self._timed():
                    solved[label] = _solve(sums)
        for label, root in self._roots.items():
            dim, padded = self.setting.masters.dim, self.setting.masters.e.shape[1]
            nothing = np.empty((dim + 1, dim), np.float32)
            both = wire.broadcast(("broadcast", label, "moments"), solved.get(label, nothing), root)
            self._rates[label] = (round_.alpha * kappa * self._samples[label] * both[0]).astype(np.float32)
            self._vectors[label] = np.zeros((dim, padded), np.float32)
            self._vectors[label][:, :dim] = both[1:]

    def scale(
        self, label: str, sums: NDArray[np.float32], hosts: NDArray[np.int32], updates: NDArray[np.int64]
    ) -> None:
        """Scale the sums along the eigenvectors."""
        _scale(sums, hosts, updates, self._vectors[label], self._rates[label])

    @contextmanager
    def _timed(self) -> Iterator[None]:
        with self.setting.wire.communicator.working():
            began = time.thread_time()
            yield
            self.seconds += time.thread_time() - began

    def _own_moments(self, met: Touched) -> NDArray[np.float64]:
        """Sum over some of the rows of the other label, as often as they were met; and how often, in a last row."""
        communicator, dim = self.setting.wire.communicator, self.setting.masters.dim
        stride = max(1, len(met.rows) * communicator.size // _SEEN)
        some = slice(communicator.rank % stride, None, stride)
        weights = met.updates[some].astype(np.float64)
        return np.vstack([moments(met.label[met.rows[some]], weights, dim), np.full(dim, weights.sum())])


def moments(rows: NDArray[np.float32], weights: NDArray[np.float64], dim: int) -> NDArray[np.float64]:
    """Weighted sum of ``x x^T`` over rows x.

    Parameters
    ----------
    rows : float32 array, shape (n, padded)
        The rows.
    weights : float64 array, shape (n,)
        Their weights.
    dim : int
        D, the columns that count.

    Returns
    -------
    float64 array, shape (D, D)
        Symmetric; the part above the diagonal is to be ignored. The same bits for any number of threads.
    """
    sums = np.zeros((rows.shape[1], rows.shape[1]))
    _moments(np.ascontiguousarray(rows), weights.astype(np.float32), np.empty(sums.shape, np.float32), sums)
    return np.ascontiguousarray(sums[:dim, :dim])


def _solve(sums: NDArray[np.float64]) -> NDArray[np.float32]:
    """Mean moments in host order: their eigenvalues in row 0, the eigenvectors in the rows after it."""
    total = np.zeros_like(sums[0])
    for one in sums:
        total += one
    matrix, weight = np.tril(total[:-1]), total[-1, 0]
    if weight == 0 or not is_finite(matrix):  # if not finite, the trainer will say so
        return np.zeros_like(total, np.float32)
    values, vectors = np.linalg.eigh(matrix / weight)  # it reads the lower half
    return np.vstack([np.maximum(values, 0.0), vectors.T]).astype(np.float32)


@njit(nogil=True, fastmath=True, error_model="numpy", cache=True)
def _moments(rows: Any, weights: Any, block: Any, sums: Any) -> None:
    n, size = rows.shape
    x = np.zeros((_ROWS, size), np.float32)
    for first in range(0, n, 256):
        last = min(first + 256, n)
        block[:] = 0
        for r in range(first, last, _ROWS):
            for k in range(_ROWS):
                if r + k < last:
                    x[k] = rows[r + k]
                else:
                    x[k] = 0
            for i in range(size):
                w = weights[r : r + _ROWS]
                a0 = x[0, i] * w[0]
                a1 = x[1, i] * (w[1] if r + 1 < n else float32(0))
                a2 = x[2, i] * (w[2] if r + 2 < n else float32(0))
                a3 = x[3, i] * (w[3] if r + 3 < n else float32(0))
                for j in range(i // 16 * 16 + 16):  # the lower half, and what completes a vector
                    block[i, j] += a0 * x[0, j] + a1 * x[1, j] + a2 * x[2, j] + a3 * x[3, j]
        for i in range(size):
            for j in range(i + 1):
                sums[i, j] += block[i, j]


@njit(nogil=True, fastmath=True, error_model="numpy", cache=True)
def _scale(sums: Any, hosts: Any, updates: Any, vectors: Any, rates: Any) -> None:
    dim = rates.size
    scale = np.empty(dim, np.float32)
    for i in range(hosts.size):
        if hosts[i] < 2:
            continue
        row = sums[i]
        share, total = float32(1.0 / hosts[i]), float32(updates[i])
        rest = small = float32(0.0)
        for c in range(dim):  # no branches: it is to become vectors
            steps = rates[c] * total + float32(1e-6)
            scale[c] = _gone(steps) * share / _gone(steps * share)
        for c in range(dim):
            is_small = float32(rates[c] * total < _LEAST)
            small += is_small
            rest += is_small * scale[c]
        rest = rest / small if small > 0 else float32(1.0)
        for d in range(row.size):
            row[d] *= rest
        for c in range(dim):
            if rates[c] * total >= _LEAST:
                vector = vectors[c]
                along = float32(0.0)
                for d in range(row.size):
                    along += row[d] * vector[d]
                along *= scale[c] / rest - float32(1.0)
                for d in range(row.size):
                    row[d] += along * vector[d]


@njit(inline="always")
def _gone(x: float) -> float:
    """``1 - exp(-x)`` for x not below 0, to 1e-5, in steps that a compiler makes vectors of."""
    u = (x if x < float32(24.0) else float32(24.0)) * float32(1 / 64)
    y = float32(1 / 24) - u * float32(1 / 120)
    y = float32(1 / 6) - u * y
    y = float32(0.5) - u * y
    y = float32(1.0) - u * y
    y = u * y  # 1 - exp(-u); and now 1 - (1 - y)^2, six times: no digits are lost where x is small
    two = float32(2.0)
    y = y * (two - y)
    y = y * (two - y)
    y = y * (two - y)
    y = y * (two - y)
    y = y * (two - y)
    return y * (two - y)
