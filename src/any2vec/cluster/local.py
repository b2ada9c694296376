"""Hosts in one process: one alone, or several that run the same program in threads."""

import contextvars
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from queue import SimpleQueue
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from any2vec.cluster.communicator import Communicator, Request
from any2vec.cluster.rendezvous import Call, Part, ReleasedError, Rendezvous
from any2vec.cluster.rows import check_rows

__all__ = ["alone", "simulate"]

T = TypeVar("T")


def alone() -> Communicator:
    """Give the line of a host that is the only one.

    Returns
    -------
    Communicator
        Of size 1.
    """
    return _Alone(nullcontext())


def simulate(hosts: int, cores: int, program: Callable[[Communicator], T]) -> list[T]:
    """Run a program on several hosts, the first in this thread, the others in threads of their own.

    Parameters
    ----------
    hosts : int
        H; one host is not `Communicator.simulated`.
    cores : int
        How many hosts run at once, or blocks inside `Communicator.working` in threads of theirs.
    program : callable
        What each host does, given its communicator.

    Returns
    -------
    list
        What each host's program returned.

    Raises
    ------
    BaseException
        What the program raised, of the first host where it did; the other hosts end at their next collective call.
    """
    if hosts < 1 or cores < 1:
        raise ValueError(f"{hosts} hosts on {cores} cores")
    if hosts == 1:
        return [program(_Alone(threading.Semaphore(cores)))]
    hall = Rendezvous(hosts, cores)
    results: dict[int, T] = {}
    errors: dict[int, BaseException] = {}

    ended: list[int] = []
    bell: SimpleQueue[None] = SimpleQueue()

    def run(rank: int) -> None:
        host = _Simulated(hall, rank)
        with _noting(errors, hall, rank):
            hall.take()
            try:
                hall.check()
                results[rank] = program(host)
                host.leave()
            finally:
                hall.give()
        ended.append(rank)
        bell.put(None)

    # In a copy of the context, as NumPy keeps there how it treats overflow.
    threads = [
        threading.Thread(target=contextvars.copy_context().run, args=(run, rank), name=f"host-{rank}")
        for rank in range(1, hosts)
    ]
    with _noting(errors, hall, 0):
        for thread in threads:
            thread.start()
        run(0)
    started = [thread for thread in threads if thread.ident is not None]
    while len(set(ended) - {0}) < len(started):
        with _noting(errors, hall, 0):  # Ctrl-C; the hosts still have to end
            bell.get()
    for thread in started:  # not sooner: a `join` that Ctrl-C interrupts may take a thread for ended (Python 3.11)
        thread.join()
    if errors:
        try:
            raise errors[min(errors)]
        finally:
            errors.clear()  # or they and their frames would keep each other alive
    return [results[rank] for rank in range(hosts)]


class _Done:
    """A request that was done at once."""

    def test(self) -> bool:
        return True

    def wait(self) -> None:
        pass


class _Alone:
    """The only host: what it sends, it gets."""

    rank = 0
    size = 1
    simulated = False
    clock = staticmethod(time.perf_counter)

    def __init__(self, gate: AbstractContextManager[Any]) -> None:
        self._gate = gate

    def barrier(self) -> None:
        pass

    def allgather(self, values: NDArray[Any]) -> NDArray[Any]:
        return np.stack([values])

    def alltoallv(
        self,
        send: NDArray[Any],
        send_counts: NDArray[np.int64],
        receive: NDArray[Any],
        counts: NDArray[np.int64],
        starts: NDArray[np.int64] | None = None,
    ) -> None:
        (sent,), (start,), (came,), _ = check_rows(send, send_counts, receive, counts, starts, 1)
        if sent != came:
            raise ValueError(f"host 0 sends {sent} rows to host 0, which expects {came}")
        receive[:came] = send[start : start + sent]

    def ialltoallv(
        self,
        send: NDArray[Any],
        send_counts: NDArray[np.int64],
        receive: NDArray[Any],
        counts: NDArray[np.int64],
        starts: NDArray[np.int64] | None = None,
    ) -> Request:
        self.alltoallv(send, send_counts, receive, counts, starts)
        return _Done()

    def working(self) -> AbstractContextManager[None]:
        return self._gate

    def resting(self) -> AbstractContextManager[None]:
        return nullcontext()


@contextmanager
def _noting(errors: dict[int, BaseException], hall: Rendezvous, rank: int) -> Iterator[None]:
    try:
        yield
    except ReleasedError:
        pass
    except BaseException as error:
        errors.setdefault(rank, error)
        hall.release()


class _Copying:
    """An alltoallv under way."""

    def __init__(self, host: "_Simulated", call: Call) -> None:
        self._host = host
        self._call = call

    def test(self) -> bool:
        return self._host.test(self._call)

    def wait(self) -> None:
        self._host.wait(self._call)


class _Simulated:
    """A simulated host's end of the line."""

    simulated = True
    clock = staticmethod(time.thread_time)  # others have the cores while this one waits

    def __init__(self, hall: Rendezvous, rank: int) -> None:
        self.rank = rank
        self.size = hall.hosts
        self._hall = hall
        self._thread = threading.get_ident()
        self._number = 0
        self._rests = False
        self._pending: list[Call] = []  # whose rows this host has not copied

    def barrier(self) -> None:
        self.wait(self._enter("barrier"))

    def allgather(self, values: NDArray[Any]) -> NDArray[Any]:
        call = self._enter("allgather", values)
        self.wait(call)
        return call.gathered.copy()

    def alltoallv(
        self,
        send: NDArray[Any],
        send_counts: NDArray[np.int64],
        receive: NDArray[Any],
        counts: NDArray[np.int64],
        starts: NDArray[np.int64] | None = None,
    ) -> None:
        self.ialltoallv(send, send_counts, receive, counts, starts).wait()

    def ialltoallv(
        self,
        send: NDArray[Any],
        send_counts: NDArray[np.int64],
        receive: NDArray[Any],
        counts: NDArray[np.int64],
        starts: NDArray[np.int64] | None = None,
    ) -> Request:
        sent, send_starts, came, _ = check_rows(send, send_counts, receive, counts, starts, self.size)
        call = self._enter("alltoallv", Part(send, receive, sent, send_starts, came))
        self._pending.append(call)
        return _Copying(self, call)

    @contextmanager
    def working(self) -> Iterator[None]:
        if threading.get_ident() == self._thread and not self._rests:  # it has a core
            with self.resting():
                pass
            self._hall.check()
            yield
            return
        self._hall.take()
        try:
            self._hall.check()
            yield
        finally:
            self._hall.give()

    @contextmanager
    def resting(self) -> Iterator[None]:
        self._hall.give()
        self._rests = True
        try:
            yield
        finally:
            self._hall.take()
            self._rests = False

    def test(self, call: Call) -> bool:
        """Copy what has come, of any call, and tell whether this one is done."""
        with self.working():
            return self._progress(call)

    def wait(self, call: Call) -> None:
        """Wait until a call is done, and meanwhile go on with others, as hosts elsewhere may wait for them."""
        while not self._progress(call):
            self._hall.sleep(self.rank, lambda: call.done or any(pending.ready for pending in self._pending))

    def _progress(self, call: Call) -> bool:
        for pending in self._pending.copy():
            if pending.ready:
                self._pending.remove(pending)
                if pending.copy(self.rank):
                    self._hall.copied(pending)
        if not call.done:
            self._hall.check()
        return call.done

    def leave(self) -> None:
        """Note that this host's program has ended."""
        for call in self._pending.copy():
            self.wait(call)
        self._hall.leave(self.rank)

    def _enter(self, kind: str, part: Any = None) -> Call:
        self._number += 1
        return self._hall.enter(self.rank, self._number, kind, part)
