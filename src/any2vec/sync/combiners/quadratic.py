"""The quadratic model of the loss (`operators.merging`): the curvature that all rows of a matrix share.

They share it because the rows they meet are drawn from the same distribution::

    C_e = kappa s E[t t^T]        C_t = kappa E[e e^T]        kappa = E[g^2 p (1 - p)] / E[g^2]

g is the gradient y - p of a sample: what moves rows is samples that have one. Where most predictions are certain, as on
sparse graphs, the plain mean of p (1 - p) is several times smaller, and the sum of the hosts' changes overshoots.

s is the number of samples that move a row of e at a time (`Operator.samples_per_pair`): K + 1 with negative sampling,
the mean length of a path with hierarchical softmax. CBOW has the same C_e. A row is one of n in a mean there, and would
alone move the mean by 1/n of its step. But hosts learn what the rows of a context have in common, and that moves the
mean by the whole step. With C_e / n, the sum of what 32 hosts learned overshoots.

Where words have parts, n words are n times their parts, and what the words do not share is told from what they do: if
rows x are independent of each other but for their mean m, the mean of n has the second moments::

    S = m m^T + (E[x x^T] - m m^T) / n

t meets these, so C_t = kappa S. A step of the rows along u moves their mean by the share u^T S u / u^T E[x x^T] u: by 1
along what all rows share, and by 1/n along what none do. The eigenvalues of C_e are multiplied by that.

The rows of a line are not independent: those of one label have more in common than their mean. But n is large, and the
moments of rows are many times those of their mean. So hosts keep some of the means that t met ("joined"), and C_t is of
their moments. C_e is as in CBOW.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from any2vec.io.memory import is_finite
from any2vec.llvm.compiled import njit
from any2vec.operators.matrices import zeros
from any2vec.operators.tiles import copy
from any2vec.sync.combiners.base import CombinerContext, Touched

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


def _axes_of(matrix: NDArray[np.float64], mean: NDArray[np.float64], shared: float) -> NDArray[np.float32]:
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


SEEN = 4096  # rows of a matrix, about, that all hosts together look at to measure its moments


class QuadraticModel:
    """The curvature of both matrices, measured by all hosts together.

    Parameters
    ----------
    context : CombinerContext
        The hosts, the width of rows, and the samples that move a row.
    mean_apart : bool
        Whether a shift of all rows of e along their mean m has a curvature of its own. The shift changes all scores
        alike, so rows of t compensate for it, and what counts is how far they come: alpha kappa |m|^2 M replaces
        alpha c N, where M is the mean number of updates of a row of t over the samples.

    Attributes
    ----------
    vectors : dict from str to float32 array, shape (D, padded)
        By matrix, the eigenvectors of the curvature; their eigenvalues rise.
    rates : dict from str to float32 array, shape (D,)
        By matrix, the eigenvalues, times alpha.
    shared : dict from str to float32
        By matrix, alpha kappa |m|^2 M, if the last eigenvector is `mean_apart`; else 0.
    seconds : float
        CPU time of measuring, without that of messages.
    """

    def __init__(self, context: CombinerContext, *, mean_apart: bool = False) -> None:
        self._context, self._mean_apart = context, mean_apart
        dim = context.masters.dim
        self.vectors: dict[str, NDArray[np.float32]] = {which: zeros(dim, dim) for which in "et"}
        self.rates: dict[str, NDArray[np.float32]] = {}
        self.shared: dict[str, np.float32] = {}
        self.seconds = 0.0

    def measure(self, alpha: float, kappa: float, here: dict[str, Touched]) -> None:
        """Measure the curvature: each host sums over rows that it touched, and the first solves.

        The rows are as the round left them. In the first rounds they grow many times over, and into new directions:
        with the curvature that they began with, the hosts' changes would be summed there.
        """
        channel, dim = self._context.channel, self._context.masters.dim
        with self.timed():
            own = np.stack([self._own_moments(here.get("joined", here["e"])), self._own_moments(here["t"])])
            if "apart" in here:  # rows of t meet these, too
                own[0] *= self._stride(here["e"])
                own[0] += self._stride(here["apart"]) * self._own_moments(here["apart"])
        sums = channel.reduce(("reduce", "both", "moments"), own)
        found = np.zeros((2, dim + 2, dim), np.float32)
        if sums is not None:
            with self.timed():
                e, t = (Means.of(total, channel.communicator.size) for total in sums)
                apart = float(e.row @ e.row) * t.updates * self._mean_apart
                joined = e.joined(self._context.independent)
                found[:] = _axes_of(t.moments, e.row, apart), _axes_of(joined, t.row, 0.0)
                if joined is not e.moments:
                    values = found[0, 0] * _shares(found[0, 2:], joined, e.moments)
                    order = np.argsort(values, kind="stable")
                    found[0, 0], found[0, 2:] = values[order], found[0, 2:][order]
        found = channel.distribute(("broadcast", "both", "moments"), found)
        for which, (values, shared, *vectors) in zip("et", found, strict=True):
            samples = self._context.samples_per_pair[which]
            self.rates[which] = (alpha * kappa * samples * values).astype(np.float32)
            self.shared[which] = np.float32(alpha * kappa * shared[0])
            self.vectors[which][:, :dim] = vectors

    @contextmanager
    def timed(self) -> Iterator[None]:
        """Add the CPU time of a block; the trainer says what is not finite there."""
        began = time.thread_time()
        with np.errstate(all="ignore"):
            yield
        self.seconds += time.thread_time() - began

    def _own_moments(self, touched: Touched) -> NDArray[np.float64]:
        """Sum over some of the rows of a matrix, as often as met: moments; the rows; their updates; how often."""
        communicator, stride = self._context.channel.communicator, self._stride(touched)
        first = communicator.rank * stride // communicator.size  # hosts begin apart: the hottest rows count but once
        return moments(touched, self._context.masters.dim, first, stride)

    def _stride(self, touched: Touched) -> int:
        """Return how many rows each one that is looked at stands for."""
        return max(1, len(touched.rows) * self._context.channel.communicator.size // SEEN)


def _shares(vectors: NDArray[np.float32], joined: NDArray[np.float64], moments: NDArray[np.float64]) -> Any:
    """Return by how much joined rows move along each vector, for each unit by which rows do."""
    along, whole = (np.einsum("id,de,ie->i", vectors, of, vectors) for of in (joined, moments))
    return along / np.maximum(whole, 1e-30)


@njit(nogil=True, cache=True)
def row_sample(first: int, n: int, number: int, hottest: int) -> Any:
    """Choose some of the vertices first..first+n-1; return their rows, counted from `first`, and how many each is for.

    All of the `hottest` are there, one in two of as many after them, one in four of twice as many, and so on.
    Which these are changes with `number`.
    """
    most = min(n, 32 * hottest)
    rows, weights = np.empty(most, np.int64), np.empty(most, np.float32)
    found, low, high, one_of = 0, 0, hottest, 1
    while low < first + n:
        begin = max(low, first)
        for vertex in range(begin + -(begin + number) % one_of, min(high, first + n), one_of):
            rows[found], weights[found] = vertex - first, one_of
            found += 1
        low, high, one_of = high, 2 * high, 2 * one_of
    return rows[:found].copy(), weights[:found].copy()
