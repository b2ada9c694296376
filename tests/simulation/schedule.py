"""Simulated hosts that take turns as a seed says, and whose messages are late."""

import random
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from any2vec.cluster import local
from any2vec.cluster.rendezvous import Call, Rendezvous

__all__ = ["scheduled"]

LATE = 0.2  # share of messages, and of hosts that wait before they call


@contextmanager
def scheduled(seed: int, called: Callable[[int], None]) -> Iterator[Callable[[], None]]:
    """Draw which host goes next; before each call of a host, call a function with its rank.

    Yields a function that lets others go first, sometimes, if a host's program calls it.
    """
    d, here = random.Random(f"schedule {seed}"), threading.local()

    def pause() -> None:
        host = getattr(here, "host", None)
        if host is not None and not host._waits and not host._rendezvous._released and d.random() < LATE:
            with host.waiting():
                pass

    class DrawnTurns(Rendezvous):
        def __init__(self, hosts: int, cores: int) -> None:
            super().__init__(hosts, 1)

        def _next(self) -> None:
            while self._free and self._turns:
                self._free -= 1
                self._turns.rotate(d.randrange(len(self._turns)))
                self._turns.popleft().put(None)

    class LateHost(local._Simulated):
        def _enter(self, kind: str, part=None) -> Call:
            here.host = self
            called(self.rank)
            pause()
            return super()._enter(kind, part)

        def leave(self) -> None:
            here.host = None
            super().leave()

        def test(self, call: Call) -> bool:
            return d.random() > LATE and super().test(call)

        def _progress(self, call: Call) -> bool:
            kept = self._pending
            d.shuffle(kept)
            late = [other for other in kept if other is not call and d.random() < LATE]
            self._pending = [other for other in kept if other not in late]
            try:
                return super()._progress(call)
            finally:
                self._pending += late

    class OnlyHost(local._Alone):
        def barrier(self) -> None:
            called(0)

        def allgather(self, values):
            called(0)
            return super().allgather(values)

        def _begin(self, transfer) -> None:
            called(0)
            super()._begin(transfer)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(local, "Rendezvous", DrawnTurns)
        patch.setattr(local, "_Simulated", LateHost)
        patch.setattr(local, "_Alone", OnlyHost)
        yield pause
