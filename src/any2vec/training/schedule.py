"""Rounds and the learning rate: how far all hosts together are, at any position (DESIGN, section 3, invariant 5)."""

import numpy as np
from numpy.typing import NDArray

from any2vec.operators.skipgram import Rate
from any2vec.samples.inspection import Slice

__all__ = ["FLOOR", "Schedule"]

FLOOR = 1e-4
"""Share of its start below which the learning rate does not fall (word2vec's)."""


class Schedule:
    """Cuts each host's part of the worklist into S slices, and says how the learning rate falls.

    It falls linearly with the words done by all hosts together, as on one machine.

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
        self.words = int(cuts[-1])

    def slice(self, host: int, number: int) -> Slice | None:
        """Give what a host takes in round `number`, from 0 through all epochs; None after the last."""
        epoch, s = divmod(number, self.rounds)
        if epoch >= self.epochs:
            return None
        length = self._lengths[host]
        return Slice(epoch, length * s // self.rounds, length * (s + 1) // self.rounds)

    def done(self, number: int) -> int:
        """Words that all hosts have done when round `number` begins."""
        epoch, s = divmod(number, self.rounds)
        return epoch * self.words + sum(length * s // self.rounds for length in self._lengths)

    def rate(self, number: int, words: int) -> Rate:
        """Learning rate in a round, for a thread that does `words` words of it."""
        begin, end = self.done(number), self.done(number + 1)
        pace = (end - begin) / words if words else 0.0
        return Rate(float(self.alpha), FLOOR, float(begin), pace, float(self.words * self.epochs))

    def middle(self, number: int) -> float:
        """Learning rate in the middle of a round."""
        done = (self.done(number) + self.done(number + 1)) / 2
        return self.alpha * max(1.0 - done / (self.words * self.epochs), FLOOR)
