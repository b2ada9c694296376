"""Which ranks of MPI still wait: asked when a collective call takes too long, to name those that do not."""

import time
from typing import TYPE_CHECKING, Any

from any2vec.cluster.lost import LostHostError, time_limit

if TYPE_CHECKING:
    from mpi4py import MPI

__all__ = ["RollCall"]

_ASK, _HERE = 1, 2  # tags of empty messages
_BETWEEN = 0.5  # seconds between two looks for who asks
_ANSWERS = 2.0  # seconds within which a rank that waits has answered


class RollCall:
    """Asks other ranks whether they wait, and answers them; for ranks that wait."""

    def __init__(self, library: Any, communicator: "MPI.Comm") -> None:
        self._library = library
        self._communicator = communicator.Dup()
        self._limit = time_limit()
        self._looked = 0.0

    def look(self, began: float) -> None:
        """Now and then answer ranks that ask, and raise if this one has waited for too long since `began`."""
        now = time.monotonic()
        if now - max(began, self._looked) > _BETWEEN:
            self._looked = now
            self._answer()
            self._check(now - began)

    def _answer(self) -> None:
        for rank in self._arrived(_ASK):
            self._send(rank, _HERE)

    def _check(self, waited: float) -> None:
        """Raise if this rank has waited for too long."""
        if waited < self._limit:
            return
        me, ranks = self._communicator.rank, range(self._communicator.size)
        silent = set(ranks) - {me}
        for rank in sorted(silent):
            self._send(rank, _ASK)
        until = time.monotonic() + _ANSWERS
        while silent and time.monotonic() < until:
            silent -= set(self._arrived(_HERE))
            self._answer()
            time.sleep(0.01)
        if me > min(set(ranks) - silent):
            time.sleep(_ANSWERS)  # that one ends all
        raise LostHostError.late(sorted(silent), waited)

    def _arrived(self, tag: int) -> list[int]:
        found, status = [], self._library.Status()
        while self._communicator.Iprobe(self._library.ANY_SOURCE, tag, status):
            self._communicator.Recv(bytearray(0), status.Get_source(), tag)
            found.append(status.Get_source())
        return found

    def _send(self, rank: int, tag: int) -> None:
        self._communicator.Isend(b"", rank, tag).Free()  # empty: it needs no buffer
