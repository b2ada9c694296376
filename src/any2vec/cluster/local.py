"""Hosts in one process: one alone, or several that run the same program in threads."""

import contextvars
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from queue import SimpleQueue
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from any2vec.cluster.communicator import Communicator, Request

__all__ = ["alone", "check_rows", "simulate"]

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
        How many blocks inside `Communicator.working` run at once.
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
    hall = _Hall(hosts, cores)
    results: dict[int, T] = {}
    errors: dict[int, BaseException] = {}

    ended: list[int] = []

    def run(rank: int) -> None:
        host = _Simulated(hall, rank)
        with _noting(errors, hall, rank):
            hall.check()
            results[rank] = program(host)
            host.leave()
        ended.append(rank)
        hall.ring()

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
            hall.bells[0].get()
    for thread in started:  # not sooner: a `join` that Ctrl-C interrupts may take a thread for ended (Python 3.11)
        thread.join()
    if errors:
        try:
            raise errors[min(errors)]
        finally:
            errors.clear()  # or they and their frames would keep each other alive
    return [results[rank] for rank in range(hosts)]


def check_rows(
    send: NDArray[Any],
    send_counts: NDArray[np.int64],
    receive: NDArray[Any],
    counts: NDArray[np.int64],
    starts: NDArray[np.int64] | None,
    hosts: int,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """See that one host's part in `Communicator.alltoallv` makes sense; if not, it is a mistake of the caller's.

    Parameters
    ----------
    send, send_counts, receive, counts, starts : array
        As given to `Communicator.alltoallv`.
    hosts : int
        H.

    Returns
    -------
    send_counts, send_starts, counts, starts : int64 array, shape (H,)
        How many rows go to each host and from where in `send`, how many come and to where in `receive`; all new.
    """
    if send.dtype != receive.dtype or send.shape[1:] != receive.shape[1:]:
        raise ValueError(
            f"rows of {send.dtype} {send.shape[1:]} cannot be received as {receive.dtype} {receive.shape[1:]}"
        )
    return *_cut(send, send_counts, starts, hosts), *_cut(receive, counts, None, hosts)


def _cut(
    rows: NDArray[Any], counts: NDArray[np.int64], starts: NDArray[np.int64] | None, hosts: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    if not rows.flags.c_contiguous:
        raise ValueError("rows must be C-contiguous")
    counts = np.array(counts, np.int64)
    starts = np.cumsum(counts) - counts if starts is None else np.array(starts, np.int64)
    if counts.shape != (hosts,) or starts.shape != (hosts,):
        raise ValueError(f"counts and starts must be {hosts} numbers of rows, one a host")
    if min(counts.min(), starts.min()) < 0 or (starts + counts).max() > len(rows):
        raise ValueError(f"{counts} rows from {starts} are not in {len(rows)} rows")
    return counts, starts


class _ReleasedError(BaseException):
    """Ends the program of a host that waits for one that failed; it never leaves `simulate`."""


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


class _Part(NamedTuple):
    """What a host brings to alltoallv."""

    send: NDArray[Any]
    receive: NDArray[Any]
    send_counts: NDArray[np.int64]
    send_starts: NDArray[np.int64]
    counts: NDArray[np.int64]


class _Call:
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


class _Hall:
    """Where simulated hosts meet.

    Whoever waits sleeps on a bell of its own, a queue: so a host that Ctrl-C ends while it waits leaves no lock behind.
    """

    def __init__(self, hosts: int, cores: int) -> None:
        self.hosts = hosts
        self.cores: SimpleQueue[None] = SimpleQueue()
        for _ in range(cores):
            self.cores.put(None)
        self.bells: list[SimpleQueue[None]] = [SimpleQueue() for _ in range(hosts)]
        self._lock = threading.Lock()
        self._open: dict[int, _Call] = {}  # calls that some hosts have not come to, by number
        self._left: int | None = None
        self._released = False

    def enter(self, rank: int, number: int, kind: str, part: Any) -> _Call:
        """Bring a host's part to its collective call of this number."""
        with self._lock:
            self.check()
            if self._left is not None:
                raise RuntimeError(f"host {rank} calls {kind}, but host {self._left} has ended")
            if number not in self._open:
                self._open[number] = _Call(kind, self.hosts)
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

    def copied(self, call: _Call) -> None:
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
            raise _ReleasedError

    def release(self) -> None:
        """Wake all hosts, to end their programs."""
        self._released = True
        self.ring()
        self.cores.put(None)  # Ctrl-C may have lost one

    def ring(self) -> None:
        """Wake all hosts that wait, to look again at what they wait for."""
        for bell in self.bells:
            if bell.empty():
                bell.put(None)


@contextmanager
def _noting(errors: dict[int, BaseException], hall: _Hall, rank: int) -> Iterator[None]:
    try:
        yield
    except _ReleasedError:
        pass
    except BaseException as error:
        errors.setdefault(rank, error)
        hall.release()


class _Copying:
    """An alltoallv under way."""

    def __init__(self, host: "_Simulated", call: _Call) -> None:
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

    def __init__(self, hall: _Hall, rank: int) -> None:
        self.rank = rank
        self.size = hall.hosts
        self._hall = hall
        self._number = 0
        self._pending: list[_Call] = []  # whose rows this host has not copied

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
        call = self._enter("alltoallv", _Part(send, receive, sent, send_starts, came))
        self._pending.append(call)
        return _Copying(self, call)

    @contextmanager
    def working(self) -> Iterator[None]:
        self._hall.cores.get()
        try:
            self._hall.check()
            yield
        finally:
            self._hall.cores.put(None)

    def test(self, call: _Call) -> bool:
        """Copy what has come, of any call, and tell whether this one is done."""
        for pending in self._pending.copy():
            if pending.ready:
                self._pending.remove(pending)
                if pending.copy(self.rank):
                    self._hall.copied(pending)
        if not call.done:
            self._hall.check()
        return call.done

    def wait(self, call: _Call) -> None:
        """Wait until a call is done, and meanwhile go on with others, as hosts elsewhere may wait for them."""
        while not self.test(call):
            self._hall.bells[self.rank].get()

    def leave(self) -> None:
        """Note that this host's program has ended."""
        for call in self._pending.copy():
            self.wait(call)
        self._hall.leave(self.rank)

    def _enter(self, kind: str, part: Any = None) -> _Call:
        self._number += 1
        return self._hall.enter(self.rank, self._number, kind, part)
