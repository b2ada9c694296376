"""Rendezvous and core scheduler for simulated hosts."""

import threading
from collections import deque
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Call", "ReleasedError", "Rendezvous"]

Event = SimpleQueue[None]  # and not threading.Event: a host that Ctrl-C ends while it waits must leave no lock behind


class ReleasedError(BaseException):
    """Ends the program of a host when another one has failed; never leaves `simulate`."""


class Call:
    """A collective call: the parts of the hosts and its state."""

    def __init__(self, kind: str, hosts: int) -> None:
        self.kind = kind
        self.parts: list[Any] = [None] * hosts
        self.absent = hosts
        self.gathered: NDArray[Any] = np.empty(0)
        self.uncopied = 0  # hosts that have not copied their rows
        self.ready = False
        self.done = False

    def begin(self) -> None:
        """Do what needs the parts of all hosts; called by the last host to enter."""
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
        """Copy a host's rows from their senders, without any lock; return whether there were any."""
        parts = self.parts  # before `finish` may remove them
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
        """Note that all rows are copied, and release the buffers."""
        self.done = True
        self.parts = []


class Rendezvous:
    """Rendezvous and core scheduler for simulated hosts.

    A host holds a core while it runs and hands it on when it has to wait. So no more threads are awake than there are
    cores. With all threads awake, most of the time would be spent on the interpreter's lock.
    """

    def __init__(self, hosts: int, cores: int) -> None:
        self.hosts = hosts
        self._events: list[Event] = [SimpleQueue() for _ in range(hosts)]
        self._asleep: list[int] = []  # hosts that wait for a call to progress
        self._turns: deque[Event] = deque()  # of threads that wait for a core
        self._free = cores
        self._lock = threading.Lock()
        self._open: dict[int, Call] = {}  # calls that some hosts have not entered, by number
        self._left: int | None = None
        self._released = False

    def take(self) -> None:
        """Wait for a core."""
        event: Event = SimpleQueue()
        with self._lock:
            if self._released:
                return
            self._turns.append(event)
            self._next()
        event.get()

    def give(self) -> None:
        """Hand a core on."""
        with self._lock:
            self._free += 1
            self._next()

    def sleep(self, rank: int, awake: Callable[[], bool]) -> None:
        """Hand a host's core on until a call has progressed, unless `awake` returns True."""
        with self._lock:
            if self._released or awake():
                return
            self._asleep.append(rank)
            self._free += 1
            self._next()
        self._events[rank].get()

    def _next(self) -> None:
        while self._free and self._turns:
            self._free -= 1
            self._turns.popleft().put(None)

    def enter(self, rank: int, number: int, kind: str, part: Any) -> Call:
        """Add a host's part to the collective call of this number."""
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
        self.wake()
        return call

    def copied(self, call: Call) -> None:
        """Note that another host has copied its rows."""
        with self._lock:
            call.uncopied -= 1
            last = not call.uncopied
        if last:
            call.finish()
            self.wake()

    def leave(self, rank: int) -> None:
        """Note that a host makes no more calls."""
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
        """Wake all hosts, to end their programs."""
        with self._lock:
            self._released = True
            self._turns.extend(self._events[rank] for rank in self._asleep)
            self._asleep.clear()
            self._free = len(self._turns)  # they will all end soon
            self._next()

    def wake(self) -> None:
        """Wake all sleeping hosts, each in its turn, to check their calls again."""
        with self._lock:
            self._turns.extend(self._events[rank] for rank in self._asleep)
            self._asleep.clear()
            self._next()
