"""Rounds, slices and the learning rate: how far all hosts together are, at any position (ARCHITECTURE, invariant 5)."""

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from any2vec.operators.base import Rate
from any2vec.samples.draws import ORDER, epoch_key, permutation
from any2vec.samples.windows import Slice
from any2vec.training.options import Decay

SHORTEST = 1 / 16
"""Length of the first round of several hosts, in usual rounds."""

MOST_ROUNDS = 1_000_000
"""Rounds of an epoch: more are refused in checkpoints, and no scheme chooses more by itself."""

_GROWTH = 1 / 12
_VISITS = 10.0
_PER_HOST, _MOST_PER_OTHER = 1.5, 2.5
_ENOUGH = 12  # rounds, of combiners that allow for long ones: 32 and 128 hosts have one host's accuracy with them
_MOST_ROUNDS, _THREADS_PER_ROUND = 4, 4  # in an epoch of several threads on one host
_LENGTHS = 8  # of rounds, about
# where the order is drawn: blocks of a part, words of one, which take a call each, and blocks that are too many
_BLOCKS, _SHORTEST_BLOCK, _LONGEST_BLOCK, _MOST_BLOCKS = 256, 1024, 1 << 15, 1 << 16
_VISITS_PER_ROUND = 32.0  # fewer, and merging all copies would cost more than a tenth


def default_rounds(hosts: int, visits: float = 0.0, threads: int = 1, *, long_rounds: bool = False) -> int:
    """Choose S: the papers' 1.5 per host (GraphAny2Vec, A.1); 12 at most with a combiner that allows for `long_rounds`.

    There are more rounds, up to 2.5 per other host, if the other hosts would meet a row of e more than ten times in a
    round. The curvature combiner's assumptions hold for ten. `visits` is how often an epoch meets a row of e after
    subsampling, in the mean over rows.

    One host has one round with one thread. With several `threads` it has one per thread, up to four, or a quarter of
    the threads. Between some rounds the rows are rebalanced (`sync.balance.is_due`): merging copies changes B, the
    more the more threads there are.
    """
    if hosts == 1:
        most = max(min(threads, _MOST_ROUNDS), threads // _THREADS_PER_ROUND)
        return max(1, min(most, math.floor(visits / _VISITS_PER_ROUND)))
    wanted = visits * (hosts - 1) / hosts / _VISITS
    least = min(_PER_HOST * hosts, _ENOUGH if long_rounds else math.inf)
    return math.floor(max(least, min(wanted, _MOST_PER_OTHER * (hosts - 1))) + 0.5)


def growth(hosts: int) -> float:
    """Return the largest length of a round of the first epoch, as a share of all rounds before it.

    The rows begin near zero. Each grows with the others, so they grow about as the square of the words done. In a
    round, a host sees only its own share of the growth, and the sum of the hosts' changes falls behind one machine. It
    falls behind first in the component that all rows have in common, and last in the many minor directions.

    With many hosts, a round may let the rows grow by a fifth, as measured by the eigenvalues of E^T E + T^T T. With
    few hosts it may be more, as each sees a larger share: with two hosts three quarters (benchmarks/README.md).
    """
    return _GROWTH * (hosts / (hosts - 1)) ** 2


class Schedule:
    """Cuts each host's part of the worklist into S slices per epoch, and lets the learning rate fall.

    A slice is a round; the first epoch's first rounds are shorter (`growth`). The rate falls with the words done by all
    hosts together, as on one machine. Host h has positions ``cuts[h]`` to ``cuts[h + 1] - 1`` of W. A run that is taken
    up begins with the epoch `first`. Of that, positions `left` (k, 2), from and to, are to be done, if another number
    of hosts began it. `order` is the seed of the order in which epochs take the blocks of parts; None for the text's.
    """

    def __init__(
        self,
        decay: Decay,
        epochs: int,
        rounds: int,
        cuts: NDArray[np.int64],
        first: int = 0,
        left: NDArray[np.int64] | None = None,
        order: int | None = None,
    ) -> None:
        self._order, self._drawn = order, dict[tuple[int, int], list[tuple[int, int]]]()
        self.epochs, self.rounds, self._decay = epochs, rounds, decay
        self.words = int(cuts[-1])
        self._cuts: list[int] = cuts.tolist()
        self._first, self._given = first, left
        hosts = len(self._cuts) - 1
        self._begun = [self._whole(first, host) for host in range(hosts)]
        ends: list[float] | list[Fraction] = [Fraction(s, rounds) for s in range(rounds + 1)]
        if left is not None:
            self._begun = [self._pieces(host, left[np.argsort(left[:, 0])]) for host in range(hosts)]
            n = max(1, math.ceil(rounds * self._length(self._begun) / self.words))
            ends = [Fraction(s, n) for s in range(n + 1)]
        elif first == 0 and hosts > 1:
            ends = _first_epoch(rounds, hosts)
        self._ends = ends
        self._done = self.words - self._length(self._begun)  # of the epoch begun

    def numbers(self, epoch: int) -> range:
        """Numbers of an epoch's rounds, from 0 through all epochs."""
        begun = len(self._ends) - 1
        if epoch == self._first:
            return range(begun)
        first = begun + (epoch - self._first - 1) * self.rounds
        return range(first, first + self.rounds)

    def epoch(self, number: int) -> int:
        """Epoch of a round."""
        begun = len(self._ends) - 1
        return self._first + (0 if number < begun else 1 + (number - begun) // self.rounds)

    def slice(self, host: int, number: int) -> Slice | None:
        """Return what a host takes in a round; None after the last."""
        epoch = self.epoch(number)
        if epoch >= self.epochs:
            return None
        pieces, s = self._part(epoch, host), number - self.numbers(epoch).start
        length = sum(high - low for low, high in pieces)
        return Slice.of(epoch, pieces, _cut(length, self._share(epoch, s)), _cut(length, self._share(epoch, s + 1)))

    def done(self, number: int) -> int:
        """Words that all hosts have done when a round begins."""
        epoch = self.epoch(number)
        share = self._share(epoch, number - self.numbers(epoch).start)
        lengths = np.diff(self._cuts).tolist()
        if epoch == self._first:
            lengths = [sum(high - low for low, high in pieces) for pieces in self._begun]
        before = self._done if epoch == self._first else 0
        return epoch * self.words + before + sum(_cut(length, share) for length in lengths)

    def begun(self, epoch: int) -> NDArray[np.int64] | None:
        """Positions of W that these hosts have to do in an epoch, shape (k, 2); None for all."""
        return self._given if epoch == self._first else None

    def left(self, number: int) -> NDArray[np.int64]:
        """Positions of W that are left in its epoch when a round begins; shape (k, 2)."""
        epoch = self.epoch(number)
        s = number - self.numbers(epoch).start
        found = []
        for host in range(len(self._cuts) - 1):
            pieces = self._part(epoch, host)
            length = sum(high - low for low, high in pieces)
            rest = Slice.of(epoch, pieces, _cut(length, self._share(epoch, s)), length)
            found += [(self._cuts[host] + low, self._cuts[host] + high) for low, high in rest.ranges if low < high]
        return np.array(found, np.int64).reshape(-1, 2)

    def first(self, host: int) -> int:
        """Position of W where a host's part begins."""
        return self._cuts[host]

    def rate(self, number: int, words: int) -> Rate:
        """Learning rate in a round, for a thread that does `words` words of it."""
        begin, end = self.done(number), self.done(number + 1)
        pace = (end - begin) / words if words else 0.0
        total = self._decay.until_zero(float(self.words * self.epochs))
        return Rate(float(self._decay.alpha), self._decay.floor, float(begin), pace, total)

    def middle(self, number: int) -> float:
        """Learning rate in the middle of a round."""
        done = (self.done(number) + self.done(number + 1)) / 2
        return self._decay.at(done / (self.words * self.epochs))

    def _part(self, epoch: int, host: int) -> list[tuple[int, int]]:
        """Pieces of a host's part that an epoch takes, in their order."""
        return self._begun[host] if epoch == self._first else self._whole(epoch, host)

    def _whole(self, epoch: int, host: int) -> list[tuple[int, int]]:
        """All of a host's part, in the order of an epoch."""
        size = self._cuts[host + 1] - self._cuts[host]
        if self._order is None or not size:
            return [(0, size)]
        if (epoch, host) not in self._drawn:
            block = max(_SHORTEST_BLOCK, min(size // _BLOCKS, _LONGEST_BLOCK), size // _MOST_BLOCKS)
            key = epoch_key(self._order, epoch, ORDER) + host
            self._drawn = {key: one for key, one in self._drawn.items() if key[0] >= epoch - 1}
            blocks = permutation(key % (1 << 64), -(-size // block)).tolist()
            self._drawn[epoch, host] = [(block * i, min(block * (i + 1), size)) for i in blocks]
        return self._drawn[epoch, host]

    def _pieces(self, host: int, left: NDArray[np.int64]) -> list[tuple[int, int]]:
        """Intersect what is left, rising, with a host's part, in its order; at least one piece, perhaps empty."""
        found, (begins, ends) = list[tuple[int, int]](), (left - self._cuts[host]).T
        for low, high in self._whole(self._first, host):
            some = slice(*np.searchsorted(ends, low, "right").reshape(1), *np.searchsorted(begins, high).reshape(1))
            found += zip(begins[some].clip(low).tolist(), ends[some].clip(max=high).tolist(), strict=True)
        return found or [(0, 0)]

    def _share(self, epoch: int, s: int) -> Fraction:
        """Share of what an epoch takes that is done after s of its rounds."""
        return Fraction(self._ends[s]) if epoch == self._first else Fraction(s, self.rounds)

    @staticmethod
    def _length(parts: list[list[tuple[int, int]]]) -> int:
        return sum(high - low for pieces in parts for low, high in pieces)


def round_shares(rounds: int, hosts: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the lengths of the rounds of the first epoch, and of others, as shares of an epoch."""
    schedule, words = Schedule(Decay(0.0), 2, rounds, np.arange(hosts + 1) << 40), hosts << 40
    first, usual = schedule.numbers(0), schedule.numbers(1)
    done = np.array([schedule.done(number) for number in range(usual.stop + 1)]) / words
    return np.diff(done[: first.stop + 1]), np.diff(done[first.stop :])


def round_lengths(rounds: int, hosts: int, epochs: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return a few lengths, rising, as shares of an epoch, and how many rounds of a run are about as long as each."""
    first, usual = round_shares(rounds, hosts)
    shares, times = np.append(first, usual), np.append(np.ones(len(first)), np.full(len(usual), epochs - 1.0))
    lengths = np.unique(np.geomspace(shares.min(), shares.max(), _LENGTHS))
    nearest = np.abs(np.log(np.divide.outer(shares, lengths))).argmin(axis=1)
    return lengths, np.bincount(nearest, times, len(lengths)).astype(np.float64)


def _cut(length: int, share: Fraction) -> int:
    return length * share.numerator // share.denominator


def _first_epoch(rounds: int, hosts: int) -> list[float]:
    """Bounds of the first epoch's rounds, 0 to 1: short at first, then even, no longer than the usual ones."""
    more, shortest = growth(hosts), SHORTEST / rounds
    ends = [0.0, shortest]
    while more * ends[-1] < 1 / rounds and ends[-1] + max(more * ends[-1], shortest) < 1:
        ends.append(ends[-1] + max(more * ends[-1], shortest))
    done, rest = ends[-1], math.ceil((1 - ends[-1]) * rounds)
    return ends + [done + (1 - done) * s / rest for s in range(1, rest)] + [1.0]
