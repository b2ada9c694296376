"""Slices: the positions of W that a host takes in a round (`training.running.schedule` cuts them)."""

from collections.abc import Sequence
from typing import NamedTuple

__all__ = ["Slice"]


class Slice(NamedTuple):
    """What a host takes of its part of the worklist in a round.

    Attributes
    ----------
    epoch : int
        From 0.
    ranges : tuple of (int, int)
        Positions from and to; one range, unless another number of hosts began the epoch. Never empty.
    """

    epoch: int
    ranges: tuple[tuple[int, int], ...]

    @classmethod
    def of(cls, epoch: int, pieces: Sequence[tuple[int, int]], begin: int, end: int) -> "Slice":
        """Take words number `begin` to `end` of some pieces laid one after the other."""
        found: list[tuple[int, int]] = []
        before = 0
        for low, high in pieces:
            first, last = max(begin - before, 0), min(end - before, high - low)
            if first < last or (first == last == begin - before and not found):  # one range, even if there are no words
                found = [r for r in found if r[0] < r[1]] + [(low + first, low + last)]
            before += high - low
        return cls(epoch, tuple(found))

    @property
    def size(self) -> int:
        """Words in it."""
        return sum(high - low for low, high in self.ranges)

    def part(self, begin: int, end: int) -> "Slice":
        """Take words number `begin` to `end` of it."""
        return Slice.of(self.epoch, self.ranges, begin, end)
