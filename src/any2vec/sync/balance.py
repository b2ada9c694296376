"""Keeping the balance: combining must not change E^T E - T^T T more than the hosts did (ARCHITECTURE, section 7).

Scores e . t stay the same when E becomes E G and T becomes T G^-T, for any invertible G; cosines between rows of E do
not. Which G training ends with is decided by SGD: a sample adds g t to e and g e to t, so ``B = E^T E - T^T T``, sums
over all rows, stays as it is to first order. A combiner that scales changes of e and of t unlike, changes it.

Where words have several rows, each row of e gets the whole gradient of their mean, and SGD keeps B if a row of e
counts as what it is of a word, or in CBOW of a context (`Operator.shares`).

B is additive over rows and hosts, so what it should be after a round is known: what it was, and what each host added.
The masters are multiplied by the symmetric G that makes it so (`masters.Rebalancing`). What is missing is measured on a
sample of rows that has all of the hottest (they change most), and summed up until a correction is due.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from any2vec.io.memory import is_finite
from any2vec.llvm.compiled import njit
from any2vec.operators.matrices import Matrices
from any2vec.sync.channel import Channel
from any2vec.sync.combiners.quadratic import row_sample
from any2vec.sync.masters import Changes, Rebalancing, find
from any2vec.sync.wire import added, scale_of

_HOTTEST = 64  # vertices that are all in the sample whose changes are measured
_SEEN = 512  # in that for E^T E and T^T T
_OFTEN = 16  # rounds of several hosts that all end with a correction, then as many of which half do, a third, ...
_LEAST, _LARGEST = 0.03, 0.5  # logarithms of how much a direction is stretched: what is less can wait


def is_due(number: int, hosts: int) -> bool:
    """Whether rows are rebalanced after round `number`, from 0: ever more rarely, as ever less is missing.

    On one host, what is missing comes from merging threads' copies, most of it while rows grow: they are rebalanced
    after 1, 3, 7, 15, ... rounds.
    """
    done = number + 1
    return number % (1 + number // _OFTEN) == 0 if hosts > 1 else done & (done + 1) == 0


class Balance:
    """Measures rounds, and finds the correction that leaves B as the hosts did.

    What is missing along directions in which it is least waits for a later one.

    Parameters
    ----------
    masters : Matrices
        This host's masters.
    channel : Channel
        The hosts.
    shares : float64 array, shape (V + P,), optional
        Weight of each row of e in B, if they are not all 1.

    Attributes
    ----------
    missing : float32 array, shape (D, D)
        What this host's masters lack in B; only the sum over hosts means anything.
    seconds : float
        CPU time of the round, without that of messages.
    """

    def __init__(self, masters: Matrices, channel: Channel, shares: NDArray[np.float64] | None = None) -> None:
        self._masters, self._channel, self._shares = masters, channel, shares
        self.missing = np.zeros((masters.dim, masters.dim), np.float32)
        self.seconds = 0.0
        self._sampled: list[_Sampled] = []

    def begin(self, number: int, changes: dict[str, Changes]) -> None:
        """Measure what hosts added in round `number`, before `changes` are merged."""
        self.seconds = 0.0
        with self._timed():
            self._sampled = self._sample(number, _HOTTEST)
            for which, sampled in zip("et", self._sampled, strict=True):
                self.missing += sampled.added(changes[which])

    def end(self, number: int) -> Rebalancing | None:
        """Compare with what merging added; return how to rebalance rows, if that is due. All hosts call this."""
        with self._timed():
            for sampled in self._sampled:
                self.missing -= sampled.merged()
        if not is_due(number, self._channel.communicator.size):
            return None
        with self._timed():
            own = np.stack([self.missing, *(x.before.T @ x.before for x in self._sample(number, _SEEN))])
            if (documents := self._masters.documents) is not None:
                some = documents[:: -(-len(documents) // _SEEN) or 1, : self._masters.dim]
                own[1] += len(documents) / max(len(some), 1) * (some.T @ some)  # they are stretched as rows of e
        self.missing[:] = 0
        sums = self._channel.reduce(("reduce", "both", "moments"), own)
        found = np.zeros((self._masters.dim, 1 + self._masters.dim), np.float32)
        if sums is not None:
            with self._timed():
                logs, directions, self.missing[:] = _solve(*sums)
                found[: len(logs), 0], found[: len(logs), 1:] = logs, directions
        found = self._channel.distribute(("broadcast", "both", "moments"), found)
        n = np.count_nonzero(found[:, 0])
        return Rebalancing.of(found[:n, 0], found[:n, 1:], self._masters.e.shape[1]) if n else None

    def _sample(self, number: int, hottest: int) -> "list[_Sampled]":
        """Take the same rows of e and of t."""
        masters = self._masters
        rows, weights = row_sample(masters.first, masters.vertices, number, hottest)
        by_matrix = [weights, weights]
        if self._shares is not None:
            by_matrix[0] = np.float32(weights * self._shares[masters.first + rows])
        signed = zip((masters.embedding, masters.training), (1.0, -1.0), by_matrix, strict=True)
        return [_Sampled(matrix, sign, rows, np.sqrt(of_rows)[:, None]) for matrix, sign, of_rows in signed]

    @contextmanager
    def _timed(self) -> Iterator[None]:
        began = time.thread_time()
        with np.errstate(all="ignore"):  # the trainer will say what is not finite
            yield
        self.seconds += time.thread_time() - began


class _Sampled:
    """Some rows x of a matrix as they were, `before`, times the square roots of their weights."""

    def __init__(self, matrix: NDArray[np.float32], sign: float, rows: NDArray[np.int64], roots: Any) -> None:
        self._matrix, self._sign, self._rows, self._roots = matrix, sign, rows, roots
        self.before = self._weighted()

    def _weighted(self) -> NDArray[np.float32]:
        return np.asarray(self._matrix[self._rows] * self._roots)

    def added(self, changes: Changes) -> NDArray[np.float32]:
        """Sum ``d d^T`` over what each host added, d, and keep the sum of d by row."""
        self._sums = np.zeros_like(self.before)
        d = np.empty(((changes.ends.size - 1) * len(self._rows), self._matrix.shape[1]), np.float32)
        d = d[: _differences(changes, self._rows, self._matrix, self._roots[:, 0], d, self._sums)]
        return np.asarray(self._sign * (d.T @ d), np.float32)

    def merged(self) -> NDArray[np.float32]:
        """Return what merging added, ``(x + c) (x + c)^T - x x^T``, less ``x d^T + d x^T`` of what hosts did."""
        c = self._weighted() - self.before
        mixed = self.before.T @ (c - self._sums)
        return np.asarray(self._sign * (mixed + mixed.T + c.T @ c), np.float32)


@njit(nogil=True, cache=True)
def _differences(changes: Any, rows: Any, masters: Any, roots: Any, d: Any, sums: Any) -> int:
    """List what each host added to rows of the sample, weighted, and sum it by row; return how many there are."""
    found = 0
    for host in range(changes.ends.size - 1):
        at, end = changes.ends[host], changes.ends[host + 1]
        for k in range(rows.size):
            at = find(changes.rows, at, end, rows[k])
            if at == end:
                break
            if changes.rows[at] == rows[k] and changes.updates[at]:
                value, scale = changes.values[at], scale_of(changes.values[at])
                for j in range(d.shape[1]):
                    d[found, j] = added(value[j], masters[rows[k], j], scale) * roots[k]
                    sums[k, j] += d[found, j]
                found += 1
    return found


def _solve(missing: NDArray[np.float64], e: NDArray[np.float64], t: NDArray[np.float64]) -> Any:
    """Find the symmetric G that adds `missing` to B, given E^T E and T^T T.

    ``G = exp(X)`` adds ``(e + t) X + X (e + t)`` for small X (a Lyapunov equation). Return the eigenvalues of X that
    are worth it, their eigenvectors as rows, and what is missing still if only these are stretched.
    """
    if not missing.any() or not e.any() or not is_finite(np.vstack([missing, e, t])):
        return np.zeros(0), np.zeros((0, len(e))), np.zeros_like(e)
    values, vectors = np.linalg.eigh(e + t)
    values = np.maximum(values, 1e-6 * values[-1])
    x = vectors.T @ missing @ vectors / (values[:, None] + values)
    logs, axes = np.linalg.eigh(x)
    logs = np.clip(logs, -_LARGEST, _LARGEST)
    wanted = np.abs(logs) > _LEAST
    logs, directions = logs[wanted], (vectors @ axes[:, wanted]).T
    return logs, directions, missing - _added(e, directions, np.expm1(logs)) + _added(t, directions, np.expm1(-logs))


def _added(
    matrix: NDArray[np.float64], directions: NDArray[np.float64], by: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return ``G matrix G - matrix``, where G adds `by` times what a row has along each of n orthogonal directions."""
    along, scaled = directions @ matrix, directions.T * by
    half = scaled @ along
    return half + half.T + scaled @ ((along @ directions.T) * by) @ directions
