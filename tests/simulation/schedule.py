"""Simulated hosts that take turns as a seed says, and whose messages are late."""

import random
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from any2vec.cluster import local
from any2vec.cluster.local import Call, Rendezvous

__all__ = ["scheduled"]

LATE = 0.2  # share of messages, and of calls before which others go first


class Schedule:
    """What a seed draws of hosts' turns.

    Parameters
    ----------
    seed : int
        The seed.
    called : function
        Called with its rank before each call of a host.
    """

    def __init__(self, seed: int, called: Callable[[int], None]) -> None:
        self.draw, self.called, self.here = random.Random(f"schedule {seed}"), called, threading.local()

    def pause(self) -> None:
        """Let other hosts go first, sometimes, if a host's program calls this."""
        host = getattr(self.here, "host", None)
        if host is not None and not host._waits and not host._rendezvous._released and self.late():
            with host.waiting():
                pass

    def late(self) -> bool:
        return self.draw.random() < LATE


def drawn_turns(schedule: Schedule) -> type[Rendezvous]:
    """Make the class of a rendezvous whose hosts take turns as drawn, one at a time."""

    class DrawnTurns(Rendezvous):
        def __init__(self, hosts: int, cores: int) -> None:
            super().__init__(hosts, 1)

        def _next(self) -> None:
            while self._free and self._turns:
                self._free -= 1
                self._turns.rotate(schedule.draw.randrange(len(self._turns)))
                self._turns.popleft().put(None)

    return DrawnTurns


def late_host(schedule: Schedule) -> type[local._Simulated]:
    """Make the class of a host that receives some messages late."""

    class LateHost(local._Simulated):
        def _enter(self, kind: str, part=None) -> Call:
            schedule.here.host = self
            schedule.called(self.rank)
            schedule.pause()
            return super()._enter(kind, part)

        def leave(self) -> None:
            schedule.here.host = None
            super().leave()

        def test(self, call: Call) -> bool:
            return not schedule.late() and super().test(call)

        def _progress(self, call: Call) -> bool:
            pending = self._pending
            schedule.draw.shuffle(pending)
            late = [other for other in pending if other is not call and schedule.late()]
            self._pending = [other for other in pending if other not in late]
            try:
                return super()._progress(call)
            finally:
                self._pending += late

    return LateHost


def only_host(schedule: Schedule) -> type[local._Alone]:
    """Make the class of the only host, whose calls are counted, too."""

    class OnlyHost(local._Alone):
        def barrier(self) -> None:
            schedule.called(0)

        def allgather(self, values):
            schedule.called(0)
            return super().allgather(values)

        def _begin(self, transfer) -> None:
            schedule.called(0)
            super()._begin(transfer)

    return OnlyHost


@contextmanager
def scheduled(seed: int, called: Callable[[int], None]) -> Iterator[Callable[[], None]]:
    """Draw which host goes next; before each call of a host, call a function with its rank.

    Yields a function that lets others go first, sometimes, if a host's program calls it.
    """
    schedule = Schedule(seed, called)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(local, "Rendezvous", drawn_turns(schedule))
        patch.setattr(local, "_Simulated", late_host(schedule))
        patch.setattr(local, "_Alone", only_host(schedule))
        yield schedule.pause
