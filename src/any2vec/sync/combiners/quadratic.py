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
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from any2vec.operators.matrices import zeros
from any2vec.sync.combiners.base import CombinerContext, Touched
from any2vec.sync.combiners.moments import Means, axes_of, moments

__all__ = ["SEEN", "QuadraticModel"]

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
            own = np.stack([self._own_moments(here[which]) for which in "et"])
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
                found[:] = axes_of(t.moments, e.row, apart), axes_of(joined, t.row, 0.0)
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
