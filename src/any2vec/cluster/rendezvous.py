"""Where simulated hosts meet: their collective calls, and whose turn it is to run."""

import threading
from collections import deque
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Call", "Part", "ReleasedError", "Rendezvous"]

Bell = SimpleQueue[None]


class ReleasedError(BaseException):
    """Ends the program of a host that waits for one that failed; it never leaves `simulate`."""


class Part(NamedTuple):
    """What a host brings to alltoallv."""

    send: NDArray[Any]
    receive: NDArray[Any]
    send_counts: NDArray[np.int64]
    send_starts: NDArray[np.int64]
    counts: NDArray[np.int64]


class Call:
    """A collective call: what the hosts brought to it, and how far it is."""

    def __init__(self, kind: str, hosts: int) -> None:
        self.kind = kind
        self.parts: list[Any] = [None] * hosts
        self.absent = hosts
        self.gathered: NDArray[Any] = np.empty(0)
        self.uncopied = 0  # hosts that have not copied their rows
        self.ready = False
        self.done = False

    def begin(self) -> None:
        """Do what can only be done when all parts are there; the last host to come calls it."""
        if self.kind == "allgather":
            if len({values.dtype for values in self.parts}) > 1:
                raise ValueError(f"allgather of different dtypes: {[str(values.dtype) for values in self.parts]}")
            self.gathered = np.stack(self.parts)
        elif self.kind == "alltoallv":
            self._match()
        if not self.uncopied:
            self.finish()
        self.ready = True

    def _match(self) -> None:
        if len({(part.send.dtype, part.send.shape[1:]) for part in self.parts}) > 1:
            raise ValueError("alltoallv of different rows")
        sent = np.array([part.send_counts for part in self.parts])
        came = np.array([part.counts for part in self.parts])
        wrong = np.argwhere(sent != came.T)
        if len(wrong):
            a, b = wrong[0]
            raise ValueError(f"host {a} sends {sent[a, b]} rows to host {b}, which expects {came[b, a]}")
        self._starts = np.array([part.send_starts for part in self.parts])
        self.uncopied = int(np.count_nonzero(came.any(axis=1)))

    def copy(self, receiver: int) -> bool:
        """Copy a host's rows from those who send them, if there are any; other threads run meanwhile."""
        parts = self.parts  # before `finish` may put them away
        if not parts:
            return False
        counts = parts[receiver].counts
        senders = np.flatnonzero(counts)
        if not len(senders):
            return False
        starts = self._starts[senders, receiver]
        ends = starts + counts[senders]
        pieces = [
            parts[sender].send[start:end]
            for sender, start, end in zip(senders.tolist(), starts.tolist(), ends.tolist(), strict=True)
        ]
        np.concatenate(pieces, out=parts[receiver].receive[: counts.sum()])
        return True

    def finish(self) -> None:
        """Note that all is done; a request that is kept does not keep the buffers."""
        self.done = True
        self.parts = []


class Rendezvous:
    """Where simulated hosts meet.

    A host runs while it has a core; where it has to wait, it hands the core on. So no more threads are awake than
    there are cores: with all of them awake, most of the time goes into handing Python's lock around. Whoever waits
    sleeps on a bell of its own, a queue: so a host that Ctrl-C ends while it waits leaves no lock behind.
    """

    def __init__(self, hosts: int, cores: int) -> None:
        self.hosts = hosts
        self._bells: list[Bell] = [SimpleQueue() for _ in range(hosts)]
        self._asleep: list[int] = []  # hosts that wait for something to happen
        self._turns: deque[Bell] = deque()  # of those who wait for a core
        self._free = cores
        self._lock = threading.Lock()
        self._open: dict[int, Call] = {}  # calls that some hosts have not come to, by number
        self._left: int | None = None
        self._released = False

    def take(self) -> None:
        """Wait for a core."""
        bell: Bell = SimpleQueue()
        with self._lock:
            if self._released:
                return
            self._turns.append(bell)
            self._next()
        bell.get()

    def give(self) -> None:
        """Hand a core on."""
        with self._lock:
            self._free += 1
            self._next()

    def sleep(self, rank: int, awake: Callable[[], bool]) -> None:
        """Hand a host's core on until something has happened, if it is not `awake`."""
        with self._lock:
            if self._released or awake():
                return
            self._asleep.append(rank)
            self._free += 1
            self._next()
        self._bells[rank].get()

    def _next(self) -> None:
        while self._free and self._turns:
            self._free -= 1
            self._turns.popleft().put(None)

    def enter(self, rank: int, number: int, kind: str, part: Any) -> Call:
        """Bring a host's part to its collective call of this number."""
        with self._lock:
            self.check()
            if self._left is not None:
                raise RuntimeError(f"host {rank} calls {kind}, but host {self._left} has ended")
            if number not in self._open:
                self._open[number] = Call(kind, self.hosts)
            call = self._open[number]
            if call.kind != kind:
                raise RuntimeError(f"host {rank} calls {kind} where others call {call.kind}")
            call.parts[rank] = part
            call.absent -= 1
            if call.absent:
                return call
            del self._open[number]
        call.begin()
        self.ring()
        return call

    def copied(self, call: Call) -> None:
        """Note that one more host has copied its rows."""
        with self._lock:
            call.uncopied -= 1
            last = not call.uncopied
        if last:
            call.finish()
            self.ring()

    def leave(self, rank: int) -> None:
        """Note that a host will make no more calls."""
        with self._lock:
            self._left = rank
            waiting = next((call.kind for call in self._open.values()), None)
        if waiting is not None and not self._released:
            raise RuntimeError(f"host {rank} has ended, but others call {waiting}")

    def check(self) -> None:
        """End a host's program if another's failed."""
        if self._released:
            raise ReleasedError

    def release(self) -> None:
        """Wake all who wait, to end their programs."""
        with self._lock:
            self._released = True
            self._turns.extend(self._bells[rank] for rank in self._asleep)
            self._asleep.clear()
            self._free = len(self._turns)  # they will all end soon
            self._next()

    def ring(self) -> None:
        """Wake all hosts that sleep, each in its turn, to look again at what they wait for."""
        with self._lock:
            self._turns.extend(self._bells[rank] for rank in self._asleep)
            self._asleep.clear()
            self._next()
