"""Hosts in one process: one alone, or several that run the same program in threads.

Simulated hosts share the cores of one machine. The thread that runs a host's program holds a core except during
collective calls and `waiting`; other threads of the host hold one inside `computing`. `Workers` use both.
"""

import contextvars
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from queue import SimpleQueue
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from any2vec.cluster.communicator import CheckedTransfers, Communicator, Transfer
from any2vec.cluster.machine import refused_thread

_Event = SimpleQueue[None]  # and not threading.Event: a host that Ctrl-C ends while it waits must leave no lock behind


class _ReleasedError(BaseException):
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
        self._events: list[_Event] = [SimpleQueue() for _ in range(hosts)]
        self._asleep: list[int] = []  # hosts that wait for a call to progress
        self._turns: deque[_Event] = deque()  # of threads that wait for a core
        self._free = cores
        self._lock = threading.Lock()
        self._open: dict[int, Call] = {}  # calls that some hosts have not entered, by number
        self._left: int | None = None
        self._released = False

    def take(self) -> None:
        """Wait for a core."""
        event: _Event = SimpleQueue()
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
            raise _ReleasedError

    def release(self) -> None:
        """Wake all hosts, to end their programs."""
        with self._lock:
            self._released = True
            self._free = len(self._turns) + len(self._asleep)  # they will all end soon
        self.wake()

    def wake(self) -> None:
        """Wake all sleeping hosts, each in its turn, to check their calls again."""
        with self._lock:
            self._turns.extend(self._events[rank] for rank in self._asleep)
            self._asleep.clear()
            self._next()


T = TypeVar("T")


def alone() -> Communicator:
    """Return the communicator of a single host."""
    return _Alone()


def is_simulated(communicator: Communicator) -> bool:
    """Return whether a host shares its process with others; it then has one thread."""
    return isinstance(communicator, _Simulated)


def clock_of(communicator: Communicator) -> Callable[[], float]:
    """Return the clock to time collective calls with: a simulated host's stops while others have the cores."""
    return time.thread_time if is_simulated(communicator) else time.perf_counter


def computing(communicator: Communicator) -> AbstractContextManager[None]:
    """Hold a core in the block, if hosts share them; for threads besides that of the host's program."""
    return communicator.computing() if isinstance(communicator, _Simulated) else nullcontext()


def waiting(communicator: Communicator) -> AbstractContextManager[None]:
    """Release the core of a host's program while the block waits for anything but a collective call."""
    return communicator.waiting() if isinstance(communicator, _Simulated) else nullcontext()


def simulate(hosts: int, cores: int, program: Callable[[Communicator], T]) -> list[T]:
    """Run a program on several hosts, the first in this thread, the others in threads; return its results.

    A single host is not simulated: it may have threads. Of several, as many compute at the same time as there are
    `cores`. The program's exception on the first host where it raised one is raised; the others end at their next
    collective call.
    """
    if hosts < 1 or cores < 1:
        raise ValueError(f"{hosts} hosts on {cores} cores")
    if hosts == 1:
        return [program(_Alone())]
    with threadpool_limits(1, "blas"):  # here, as hosts that change it one after the other would not restore it
        return _run(Rendezvous(hosts, cores), program)


def _run(rendezvous: Rendezvous, program: Callable[[Communicator], T]) -> list[T]:
    """Run a program on all hosts."""
    hosts = rendezvous.hosts
    results: dict[int, T] = {}
    errors: dict[int, BaseException] = {}

    ended: list[int] = []
    end: SimpleQueue[None] = SimpleQueue()

    def run(rank: int) -> None:
        host = _Simulated(rendezvous, rank)
        with _noting(errors, rendezvous, rank):
            rendezvous.take()
            try:
                rendezvous.check()
                results[rank] = program(host)
                host.leave()
            finally:
                rendezvous.give()
        ended.append(rank)
        end.put(None)

    # In a copy of the context, where NumPy keeps how it treats overflow.
    threads = [
        threading.Thread(target=contextvars.copy_context().run, args=(run, rank), name=f"host-{rank}")
        for rank in range(1, hosts)
    ]
    with _noting(errors, rendezvous, 0):
        for number, thread in enumerate(threads):
            try:
                thread.start()
            except RuntimeError:
                raise refused_thread(number, len(threads), "hosts") from None
        run(0)
    started = [thread for thread in threads if thread.ident is not None]
    while len(set(ended) - {0}) < len(started):
        with _noting(errors, rendezvous, 0):  # Ctrl-C; the hosts still have to end
            end.get()
    for thread in started:  # not sooner: a `join` that Ctrl-C interrupts may consider a thread ended (Python 3.11)
        thread.join()
    if errors:
        try:
            raise errors[min(errors)]
        finally:
            errors.clear()  # or they and their frames would keep each other alive
    return [results[rank] for rank in range(hosts)]


@contextmanager
def _noting(errors: dict[int, BaseException], rendezvous: Rendezvous, rank: int) -> Iterator[None]:
    try:
        yield
    except _ReleasedError:
        pass
    except BaseException as error:
        errors.setdefault(rank, error)
        rendezvous.release()


class _Alone(CheckedTransfers):
    """The only host: it receives what it sends."""

    rank = 0
    size = 1

    def barrier(self) -> None:
        pass

    def allgather(self, values: NDArray[Any]) -> NDArray[Any]:
        return np.stack([values])

    def _begin(self, transfer: Transfer) -> None:
        transfer.keep(0)


class _Simulated(CheckedTransfers):
    """One of several hosts in this process."""

    def __init__(self, rendezvous: Rendezvous, rank: int) -> None:
        self.rank = rank
        self.size = rendezvous.hosts
        self._rendezvous = rendezvous
        self._number = 0
        self._waits = False
        self._pending: list[Call] = []  # whose rows this host has not copied

    def barrier(self) -> None:
        self.wait(self._enter("barrier"))

    def allgather(self, values: NDArray[Any]) -> NDArray[Any]:
        call = self._enter("allgather", values)
        self.wait(call)
        return call.gathered.copy()

    def _begin(self, transfer: Transfer) -> Call:
        call = self._enter("alltoallv", transfer)
        self._pending.append(call)
        return call

    @contextmanager
    def computing(self) -> Iterator[None]:
        self._rendezvous.take()
        try:
            self._rendezvous.check()
            yield
        finally:
            self._rendezvous.give()

    @contextmanager
    def waiting(self) -> Iterator[None]:
        self._rendezvous.give()
        self._waits = True
        try:
            yield
        finally:
            self._rendezvous.take()
            self._waits = False

    def test(self, call: Call) -> bool:
        if not self._waits:
            with self.waiting():  # others may need the core to progress
                pass
            self._progress(call)
        return call.done

    def wait(self, call: Call) -> None:
        """Wait until a call is done, and let others progress meanwhile: hosts elsewhere may wait for them."""
        while not self._progress(call):
            self._rendezvous.sleep(self.rank, lambda: call.done or any(pending.ready for pending in self._pending))

    def _progress(self, call: Call) -> bool:
        """Copy the rows of every call that are ready; return whether this one is done."""
        for pending in self._pending.copy():
            if pending.ready:
                self._pending.remove(pending)
                if pending.copy(self.rank):
                    self._rendezvous.copied(pending)
        if not call.done:
            self._rendezvous.check()
        return call.done

    def leave(self) -> None:
        """Note that this host's program has ended."""
        for call in self._pending.copy():
            self.wait(call)
        self._rendezvous.leave(self.rank)

    def _enter(self, kind: str, part: Any = None) -> Call:
        self._number += 1
        return self._rendezvous.enter(self.rank, self._number, kind, part)
