"""Rounds and the learning rate: how far all hosts together are, at any position (DESIGN, section 3, invariant 5)."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from any2vec.operators.skipgram import Rate
from any2vec.samples.inspection import Slice

__all__ = ["FLOOR", "HALVINGS", "Schedule"]

FLOOR = 1e-4
"""Share of its start below which the learning rate does not fall (word2vec's)."""

HALVINGS = 6
"""How often the very first slice of several hosts is halved: it takes so many rounds more, each twice the one before.

The labels begin at about zero and grow many times over in what is one round later on. Hosts that do that apart, each
from nothing, overshoot together: e and t get a large part that all rows share, and it takes epochs to go."""


class _Place(NamedTuple):
    """Where a round begins: after ``slices / 2**halvings`` slices of an epoch."""

    epoch: int
    slices: int
    halvings: int


class Schedule:
    """Cuts each host's part of the worklist into S slices, and says how the learning rate falls.

    A slice is a round, but for the first of all (`HALVINGS`). The rate falls linearly with the words done by all hosts
    together, as on one machine.

    Parameters
    ----------
    alpha : float
        Learning rate at the start.
    epochs, rounds : int
        Epochs, and S, rounds in each.
    cuts : int64 array, shape (H + 1,)
        Positions of W where the hosts' parts begin.
    """

    def __init__(self, alpha: float, epochs: int, rounds: int, cuts: NDArray[np.int64]) -> None:
        self.alpha, self.epochs, self.rounds = alpha, epochs, rounds
        self._lengths = np.diff(cuts).tolist()
        self._more = HALVINGS if len(self._lengths) > 1 else 0  # rounds of the first epoch
        self.words = int(cuts[-1])

    def numbers(self, epoch: int) -> range:
        """Give the numbers of an epoch's rounds, from 0 through all epochs."""
        first, last = (e * self.rounds + (self._more if e else 0) for e in (epoch, epoch + 1))
        return range(first, last)

    def epoch(self, number: int) -> int:
        """Say which epoch a round is in."""
        return self._place(number).epoch

    def slice(self, host: int, number: int) -> Slice | None:
        """Give what a host takes in a round; None after the last."""
        begin, end = self._place(number), self._place(number + 1)
        if begin.epoch >= self.epochs:
            return None
        length = self._lengths[host]
        return Slice(begin.epoch, self._cut(length, begin), self._cut(length, end) if end.slices else length)

    def done(self, number: int) -> int:
        """Words that all hosts have done when a round begins."""
        place = self._place(number)
        return place.epoch * self.words + sum(self._cut(length, place) for length in self._lengths)

    def _place(self, number: int) -> _Place:
        if 0 < number <= self._more:
            return _Place(0, 1, self._more + 1 - number)
        return _Place(*divmod(number - self._more if number else 0, self.rounds), 0)

    def _cut(self, length: int, place: _Place) -> int:
        return length * place.slices // (self.rounds << place.halvings)

    def rate(self, number: int, words: int) -> Rate:
        """Learning rate in a round, for a thread that does `words` words of it."""
        begin, end = self.done(number), self.done(number + 1)
        pace = (end - begin) / words if words else 0.0
        return Rate(float(self.alpha), FLOOR, float(begin), pace, float(self.words * self.epochs))

    def middle(self, number: int) -> float:
        """Learning rate in the middle of a round."""
        done = (self.done(number) + self.done(number + 1)) / 2
        return self.alpha * max(1.0 - done / (self.words * self.epochs), FLOOR)
