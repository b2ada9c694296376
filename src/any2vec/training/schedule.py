"""Rounds and the learning rate: how far all hosts together are, at any position (DESIGN, section 3, invariant 5)."""

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from any2vec.operators.arguments import Rate
from any2vec.operators.inspection import Slice

__all__ = ["FLOOR", "SHORTEST", "Schedule", "growth"]

FLOOR = 1e-4
"""Share of its start below which the learning rate does not fall (word2vec's)."""

SHORTEST = 1 / 64
"""The first round of several hosts, in slices."""

_GROWTH, _LEAST_GROWTH = 8.0, 0.0625


def growth(hosts: int) -> float:
    """How long a round of the first epoch is, at most, for what all before it are together.

    The labels begin at about zero and grow many times over in what is one round later on. Hosts that do that apart,
    each from nothing, overshoot together, the more the more there are: e and t get a large part that all rows share,
    and it takes epochs to go. The figures were found by measuring.
    """
    return max(_LEAST_GROWTH, _GROWTH / hosts)


class Schedule:
    """Cuts each host's part of the worklist into S slices, and says how the learning rate falls.

    A slice is a round, but the first ones are shorter (`growth`). The rate falls linearly with the words done by all
    hosts together, as on one machine.

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
        self._first = _first_epoch(rounds, len(self._lengths)) if len(self._lengths) > 1 else None
        self._first_rounds = len(self._first) - 1 if self._first else rounds

    def numbers(self, epoch: int) -> range:
        """Give the numbers of an epoch's rounds, from 0 through all epochs."""
        if not epoch:
            return range(self._first_rounds)
        first = self._first_rounds + (epoch - 1) * self.rounds
        return range(first, first + self.rounds)

    def epoch(self, number: int) -> int:
        """Say which epoch a round is in."""
        return 0 if number < self._first_rounds else 1 + (number - self._first_rounds) // self.rounds

    def slice(self, host: int, number: int) -> Slice | None:
        """Give what a host takes in a round; None after the last."""
        epoch = self.epoch(number)
        if epoch >= self.epochs:
            return None
        length, s = self._lengths[host], number - self.numbers(epoch).start
        return Slice(epoch, _cut(length, self._share(epoch, s)), _cut(length, self._share(epoch, s + 1)))

    def done(self, number: int) -> int:
        """Words that all hosts have done when a round begins."""
        epoch = self.epoch(number)
        share = self._share(epoch, number - self.numbers(epoch).start)
        return epoch * self.words + sum(_cut(length, share) for length in self._lengths)

    def _share(self, epoch: int, s: int) -> Fraction:
        """How much of an epoch is done after s of its rounds."""
        return Fraction(s, self.rounds) if epoch or self._first is None else Fraction(self._first[s])

    def rate(self, number: int, words: int) -> Rate:
        """Learning rate in a round, for a thread that does `words` words of it."""
        begin, end = self.done(number), self.done(number + 1)
        pace = (end - begin) / words if words else 0.0
        return Rate(float(self.alpha), FLOOR, float(begin), pace, float(self.words * self.epochs))

    def middle(self, number: int) -> float:
        """Learning rate in the middle of a round."""
        done = (self.done(number) + self.done(number + 1)) / 2
        return self.alpha * max(1.0 - done / (self.words * self.epochs), FLOOR)


def _cut(length: int, share: Fraction) -> int:
    return length * share.numerator // share.denominator


def _first_epoch(rounds: int, hosts: int) -> list[float]:
    """Where the first epoch's rounds begin and end: short at first, then even, no longer than the usual ones."""
    more = growth(hosts)
    ends = [0.0, SHORTEST / rounds]
    while more * ends[-1] < 1 / rounds and (1 + more) * ends[-1] < 1:
        ends.append((1 + more) * ends[-1])
    done, rest = ends[-1], math.ceil((1 - ends[-1]) * rounds)
    return ends + [done + (1 - done) * s / rest for s in range(1, rest)] + [1.0]
