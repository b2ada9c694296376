"""The curvature combiner: small steps are summed, large ones averaged, direction by direction (DESIGN, section 6).

It is a mean-field form of SymSGD's sound combiners (Maleki et al. 2017, "Parallel stochastic gradient descent with
sound combiners"). Within a round the loss of a row x is about quadratic, with a curvature C that all rows of a label
share, because the rows they meet are drawn from the same distribution::

    C_e = kappa (K + 1) E[t t^T]        C_t = kappa E[e e^T]        kappa = E[p (1 - p)]

A host with n_h updates moves a row by (I - exp(-alpha n_h C)) (x* - x), one machine with all N = sum n_h would by
(I - exp(-alpha N C)) (x* - x). So, in the eigenvectors of C, the sum of what the hosts added is scaled by
(1 - exp(-alpha c N)) / sum_h (1 - exp(-alpha c n_h)).
"""

from typing import Any

import numpy as np
from numba import float32, njit
from numpy.typing import NDArray

from any2vec.cluster.communicator import broadcast, gather
from any2vec.operators.labels import is_finite
from any2vec.sync.combiners.base import Combiner, Round, Setting

__all__ = ["Curvature", "moments"]

_EVERY = 1  # rounds between two looks at the moments, which move slowly; at first they do not
_ROWS = 4  # rows whose moments are added at a time
_LEAST = 1e-3  # alpha c N below which the hosts' parts are just summed: the scale is 1 to half of this


class Curvature(Combiner):
    """Scales the sum of what hosts added, in the eigenvectors of the label's curvature.

    It reads the option ``kappa``: a number, or None to take the one measured in each round.
    """

    needs_updates = True

    def __init__(self, setting: Setting) -> None:
        super().__init__(setting)
        negative = setting.negative
        masters = setting.masters
        self._kappa: float | None = setting.options.get("kappa")
        self._weights = {
            "e": (masters.t, setting.source_shares + negative * setting.destination_shares),
            "t": (masters.e, setting.source_shares),
        }
        self._vectors: dict[str, NDArray[np.float32]] = {}
        self._values: dict[str, NDArray[np.float64]] = {}
        self._rates: dict[str, NDArray[np.float64]] = {}

    def begin(self, round_: Round) -> None:
        """Look at the moments if it is time to, and scale the eigenvalues to this round."""
        if round_.number < _EVERY or round_.number % _EVERY == 0:
            self._look()
        kappa = round_.kappa if self._kappa is None else self._kappa
        self._rates = {label: round_.alpha * kappa * values for label, values in self._values.items()}

    def combine(
        self,
        label: str,
        parts: NDArray[np.float32],
        starts: NDArray[np.int64],
        updates: NDArray[np.int32],
        out: NDArray[np.float32],
    ) -> None:
        """Sum and scale."""
        _combine(parts, starts, updates, self._vectors[label], self._rates[label], out)

    def _look(self) -> None:
        """Find the eigenvectors: each host sums over its masters, and one host for each label solves for all."""
        communicator = self.setting.communicator
        dim = self.setting.masters.dim
        roots = {"e": 0, "t": communicator.size - 1}
        solved = {}
        for label, (rows, weights) in self._weights.items():
            with communicator.working():
                own = moments(rows[: len(weights)], weights, dim)
            sums = gather(communicator, own, roots[label])
            if sums is not None:
                with communicator.working():
                    solved[label] = _solve(sums, dim)
        for label, root in roots.items():
            both = broadcast(communicator, solved.get(label, np.empty((dim + 1, dim))), root)
            self._values[label] = both[0]
            padded = np.zeros((dim, self.setting.masters.e.shape[1]), np.float32)
            padded[:, :dim] = both[1:]
            self._vectors[label] = padded


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
        Symmetric. The same bits for any number of threads.
    """
    sums = np.zeros((rows.shape[1], rows.shape[1]))
    block = np.zeros(sums.shape, np.float32)
    _moments(np.ascontiguousarray(rows), weights.astype(np.float32), block, sums)
    sums = sums[:dim, :dim]
    return np.tril(sums) + np.tril(sums, -1).T


def _solve(sums: NDArray[np.float64], dim: int) -> NDArray[np.float64]:
    """Eigenvalues, largest first, in row 0, and the eigenvectors in the rows after it."""
    total = np.zeros((dim, dim))
    for one in sums:  # in host order
        total += one
    if not is_finite(total):  # the trainer will say so at the end of the round
        return np.zeros((dim + 1, dim))
    values, vectors = np.linalg.eigh(total)
    return np.vstack([np.maximum(values[::-1], 0.0), vectors.T[::-1]])


@njit(nogil=True, fastmath=True, cache=True)
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
            for j in range(size):
                sums[i, j] += block[i, j]


@njit(nogil=True, fastmath=True, cache=True)
def _combine(parts: Any, starts: Any, updates: Any, vectors: Any, rates: Any, out: Any) -> None:
    dim = rates.size
    scale = np.empty(dim, np.float64)
    for i in range(starts.size - 1):
        out[i] = 0
        total = 0
        for j in range(starts[i], starts[i + 1]):
            total += updates[j]
            for d in range(out.shape[1]):
                out[i, d] += parts[j, d]
        hosts = starts[i + 1] - starts[i]
        if hosts < 2:
            continue
        large = 0
        while large < dim and rates[large] * total >= _LEAST:
            large += 1
        for c in range(large):
            scale[c] = 0.0
        for j in range(starts[i], starts[i + 1]):
            for c in range(large):
                scale[c] += _gone(rates[c] * updates[j])
        for c in range(large):
            scale[c] = _gone(rates[c] * total) / scale[c] - 1.0
        for c in range(large):
            along = float32(0.0)
            for d in range(out.shape[1]):
                along += out[i, d] * vectors[c, d]
            along *= float32(scale[c])
            for d in range(out.shape[1]):
                out[i, d] += along * vectors[c, d]


@njit(nogil=True, fastmath=True, inline="always")
def _gone(x: float) -> float:
    """``1 - exp(-x)`` for x not below 0, to 1e-5, in steps that a compiler makes vectors of."""
    u = min(x, 30.0) / 64.0
    y = 1.0 - u * (1.0 - u * (0.5 - u * (1 / 6 - u * (1 / 24 - u / 120))))
    for _ in range(6):
        y *= y
    return 1.0 - y
