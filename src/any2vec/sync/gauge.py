"""Keeping the gauge: combining must not change E^T E - T^T T more than the hosts did (ARCHITECTURE, section 7).

Scores e . t stay the same when E becomes E G and T becomes T G^-T, for any invertible G; cosines between rows of E do
not. Which G training ends with is decided by SGD: a sample adds g t to e and g e to t, so ``B = E^T E - T^T T``, sums
over all rows, stays as it is to first order. A combiner that scales changes of e and of t unlike, changes it.

B is additive over rows and hosts, so what it should be after a round is known: what it was, and what each host added.
The masters are turned by the symmetric G that makes it so. What is missing is measured on a sample of rows that has all
of the hottest (they change most), and summed up until a turn is due.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray

from any2vec.io.finite import is_finite
from any2vec.operators.labels import Labels
from any2vec.sync.channel import Channel
from any2vec.sync.masters import Changes
from any2vec.sync.turn import Turn

__all__ = ["Gauge", "is_due"]

_HOTTEST = 64  # vertices that are all in the sample whose changes are measured
_SEEN = 512  # in that for E^T E and T^T T
_OFTEN = 16  # rounds that are all followed by a turn, then as many of which half are, a third, ...
_STEPS = 4  # of solving, at most: until one is
_SMALL = 0.02  # small enough to be the last
_LARGEST = 0.5  # and no larger than this: the logarithm of how much G stretches a direction


def is_due(number: int) -> bool:
    """Whether the labels are turned after round `number`, from 0: ever more rarely, as ever less is missing."""
    return number % (1 + number // _OFTEN) == 0


class Gauge:
    """Measures rounds, and finds the turn that leaves B as the hosts did.

    Parameters
    ----------
    masters : Labels
        This host's masters.
    channel : Channel
        The hosts.

    Attributes
    ----------
    missing : float32 array, shape (D, D)
        What this host's masters lack in B since labels were turned.
    seconds : float
        CPU time of the round, without that of messages.
    """

    def __init__(self, masters: Labels, channel: Channel) -> None:
        self._masters, self._channel = masters, channel
        self.missing = np.zeros((masters.dim, masters.dim), np.float32)
        self.seconds = 0.0
        self._rows = np.zeros(0, np.int64)
        self._weights = np.zeros(0, np.float32)
        self._before: dict[str, NDArray[np.float32]] = {}

    def begin(self, number: int, changes: dict[str, Changes]) -> None:
        """Measure what hosts added in round `number`, before `changes` are merged."""
        self.seconds = 0.0
        with self._timed():
            masters = self._masters
            self._rows, self._weights = _sample(masters.first, masters.vertices, number, _HOTTEST)
            weights = np.zeros(masters.vertices, np.float32)
            weights[self._rows] = self._weights
            for label, sign, matrix in self._labels():
                self._before[label] = matrix[self._rows]
                change = changes[label]
                parts = np.flatnonzero((weights[change.rows] > 0) & (change.updates > 0))
                rows = change.rows[parts]
                self.missing += sign * _added(matrix[rows], change.values[parts, : masters.dim], weights[rows])

    def end(self, number: int) -> Turn | None:
        """Compare with what merging added; return how to turn the labels, if that is due. All hosts call this."""
        with self._timed():
            for label, sign, matrix in self._labels():
                self.missing -= sign * _added(self._before[label], matrix[self._rows], self._weights)
        if not is_due(number):
            return None
        with self._timed():
            own = np.stack([self.missing, *(self._squares(number, matrix) for _, _, matrix in self._labels())])
        self.missing[:] = 0
        sums = self._channel.gather(("reduce", "both", "moments"), own, 0)
        found = np.zeros((2, *self.missing.shape), np.float32)
        if sums is not None:
            with self._timed():
                found = _solve(*sums.sum(axis=0, dtype=np.float64))
        found = self._channel.broadcast(("broadcast", "both", "moments"), found, 0)
        if not found.any():
            return None
        padded = np.zeros((*found.shape[:2], self._masters.e.shape[1]), np.float32)
        padded[:, :, : found.shape[2]] = found
        return Turn(*padded)

    def _labels(self) -> list[tuple[str, float, NDArray[np.float32]]]:
        return [("e", 1.0, self._masters.embedding), ("t", -1.0, self._masters.training)]

    def _squares(self, number: int, matrix: NDArray[np.float32]) -> NDArray[np.float32]:
        rows, weights = _sample(self._masters.first, self._masters.vertices, number, _SEEN)
        return _added(np.zeros((len(rows), matrix.shape[1]), np.float32), matrix[rows], weights)

    @contextmanager
    def _timed(self) -> Iterator[None]:
        began = time.thread_time()
        with np.errstate(all="ignore"):  # the trainer will say what is not finite
            yield
        self.seconds += time.thread_time() - began


def _sample(first: int, n: int, number: int, hottest: int) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Choose some of the vertices first..first+n-1, other ones each round; return their rows, and how many each is for.

    All of the `hottest` are there; of as many after them, one in two; of twice as many, one in four; and so on.
    """
    rows: list[NDArray[np.int64]] = []
    weights: list[NDArray[np.float32]] = []
    low, high, one_of = 0, hottest, 1
    while low < first + n or not rows:
        begin = max(low, first)
        begin += -(begin + number) % one_of
        found = np.arange(begin, min(high, first + n), one_of) - first
        rows.append(found)
        weights.append(np.full(len(found), one_of, np.float32))
        low, high, one_of = high, 2 * high, 2 * one_of
    return np.concatenate(rows), np.concatenate(weights)


def _added(
    before: NDArray[np.float32], after: NDArray[np.float32], weights: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Sum up ``after after^T - before before^T`` over rows, with weights."""
    product = ((after - before) * weights[:, None]).T @ (after + before)
    return np.asarray((product + product.T) / 2)


def _solve(missing: NDArray[np.float64], e: NDArray[np.float64], t: NDArray[np.float64]) -> NDArray[np.float32]:
    """Find the symmetric G that adds `missing` to B, given E^T E and T^T T; return it and its inverse, or zeros.

    ``G = exp(X)`` adds ``(e + t) X + X (e + t)`` for small X (a Lyapunov equation); Newton's steps.
    """
    gauge, inverse = np.eye(len(e)), np.eye(len(e))
    if not is_finite(np.vstack([missing, e, t])) or not e.any():
        return np.zeros((2, *e.shape), np.float32)
    wanted = e - t + missing
    for _ in range(_STEPS):
        values, vectors = np.linalg.eigh(e + t)
        values = np.maximum(values, 1e-6 * values[-1])
        x = vectors.T @ (wanted - (e - t)) @ vectors / (values[:, None] + values)
        logs, axes = np.linalg.eigh(x)
        axes, logs = vectors @ axes, np.clip(logs, -_LARGEST, _LARGEST)
        step, back = (axes * np.exp(logs)) @ axes.T, (axes * np.exp(-logs)) @ axes.T
        gauge, inverse = gauge @ step, back @ inverse
        e, t = step @ e @ step, back @ t @ back
        if np.abs(logs).max() < _SMALL:
            break
    return np.stack([gauge, inverse.T]).astype(np.float32)
