"""The threads of one host, and whether the cores that they run on share a cache."""

import math
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from types import TracebackType
from typing import Any, Self, TypeVar

import numpy as np
from numba import int32

from any2vec.cluster.communicator import Communicator
from any2vec.cluster.local import computing, is_simulated, waiting
from any2vec.cluster.machine import core_ids, refused_thread
from any2vec.llvm.compiled import njit
from any2vec.llvm.intrinsics import exchange, load_atomic

_POLL = 0.1  # seconds between two calls of `look`


class Workers:
    """A pool of threads that compute while the calling thread monitors them; used in a ``with`` block.

    A host that shares its process and its cores with others has one thread, and looks every `_POLL` seconds at most.
    """

    def __init__(self, threads: int, communicator: Communicator) -> None:
        self._communicator, self._shares = communicator, is_simulated(communicator)
        self.threads = 1 if self._shares else threads
        self._pool = ThreadPoolExecutor(self.threads)
        self._start_threads()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with waiting(self._communicator):
            self._pool.shutdown(wait=kind is not KeyboardInterrupt, cancel_futures=True)  # compiling cannot be stopped

    def start(self, task: Callable[[int], Any], parts: int) -> list["Future[Any]"]:
        """Queue ``task(0)`` .. ``task(parts - 1)`` behind earlier tasks."""
        return [self._pool.submit(self._work, task, part) for part in range(parts)]

    def spread(self, task: Callable[[int, int], Any], n: int, least: int = 1) -> list["Future[Any]"]:
        """Queue ``task(low, high)`` on even ranges of 0..n-1, one per thread, each of `least` or more."""
        parts = max(1, min(self.threads, n // least))
        return self.start(lambda part: task(n * part // parts, n * (part + 1) // parts), parts)

    def join(
        self, futures: "list[Future[Any]]", look: Callable[[], Any] | None = None, every: float = _POLL
    ) -> list[Any]:
        """Wait for tasks and return their results, in order; call `look` every `every` seconds meanwhile.

        The first exception of a task or of `look` is raised at once; the other tasks are not waited for.
        """
        running = set(futures)
        every = max(every, _POLL) if self._shares else every
        with waiting(self._communicator):
            while running:
                finished, running = wait(running, timeout=every if look else None, return_when=FIRST_EXCEPTION)
                for future in finished:
                    future.result()
                if look:
                    look()
        return [future.result() for future in futures]

    def _start_threads(self) -> None:
        """Start all threads now, not one by one while training goes on; raise an Any2VecError if that cannot be."""
        together, number = threading.Event(), 0
        try:
            for number in range(self.threads):  # noqa: B007
                self._pool.submit(together.wait)
        except RuntimeError:
            self._pool.shutdown(wait=False, cancel_futures=True)
            raise refused_thread(number, self.threads, "threads") from None
        finally:
            together.set()

    def _work(self, task: Callable[[int], Any], part: int) -> Any:
        with computing(self._communicator):
            return task(part)


_NEAR = 110.0  # nanoseconds: about what memory takes
_SHARE = 0.01  # of the time at most is spent measuring
_TRIPS = 50  # there and back
_REPEATS = 5  # the fastest counts: others were interrupted
_PATIENCE = 4_000_000  # looks at memory that a thread takes before it no longer expects an answer


class SharedCache:
    """Says whether a line that one core wrote reaches the others sooner than one from memory."""

    def __init__(self) -> None:
        self._shared, self._measured, self._next = False, -math.inf, -math.inf

    def is_shared(self, age: float) -> bool:
        """Return whether it does, as measured at most `age` seconds ago; no, if that never worked.

        It is longer ago if measuring takes long, or if the last attempt failed.
        """
        began = time.monotonic()
        if began >= max(self._measured + age, self._next):
            nanoseconds = message_time(core_ids())
            if nanoseconds < math.inf:
                self._shared = nanoseconds < _NEAR
            self._measured = time.monotonic()
            self._next = self._measured + (self._measured - began) / _SHARE
        return self._shared


def message_time(cores: list[int]) -> float:
    """Measure in how many nanoseconds all of some cores see what the first writes; infinite if one does not in time."""
    with ThreadPoolExecutor(2) as pool:
        return max((_ask(pool, cores[0], other) for other in cores[1:]), default=0.0)


def _ask(pool: ThreadPoolExecutor, core: int, other: int) -> float:
    """Let a thread on each core count a cell up in turns; return nanoseconds for one of them to see it."""
    cell = np.zeros(1, np.int32)

    def answer() -> None:
        _run_on(other)
        _play(cell, 1, 0, 2 * _TRIPS * _REPEATS, _PATIENCE)

    def ask() -> float:
        _run_on(core)
        found = math.inf
        for first in range(0, 2 * _TRIPS * _REPEATS, 2 * _TRIPS):
            began = time.perf_counter()
            if not _play(cell, 0, first, first + 2 * _TRIPS, _PATIENCE):
                return math.inf
            found = min(found, (time.perf_counter() - began) / (2 * _TRIPS) * 1e9)
        return found

    answered, asked = pool.submit(answer), pool.submit(ask)
    answered.result()
    return asked.result()


def _run_on(core: int) -> None:
    """Let this thread run on a core, where the system lets it choose."""
    with suppress(AttributeError, OSError):
        os.sched_setaffinity(0, {core})


@njit(nogil=True, cache=True)
def _play(cell: Any, player: int, first: int, last: int, patience: int) -> bool:
    """Take every second turn from `first` to `last`: count the cell up when the other did; return whether it does."""
    for turn in range(first + player, last, 2):
        looks = 0
        while load_atomic(cell) != turn:
            looks += 1
            if looks > patience:
                return False
        exchange(cell, int32(turn + 1))
    return True


_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


def ordered(work: Callable[[_Item], _Result], items: Iterable[_Item], threads: int) -> Generator[_Result, None, None]:
    """Yield ``work(item)`` for each item, in order, computed on `threads` threads; close it to be sure that all ended.

    Items are drawn in the caller's thread, at most ``threads + 2`` ahead of the results; one thread is the caller's.
    """
    if threads == 1:
        yield from map(work, items)
        return
    executor = ThreadPoolExecutor(threads, thread_name_prefix="any2vec")
    pending: deque[Future[_Result]] = deque()
    try:
        for item in items:
            pending.append(executor.submit(work, item))
            if len(pending) >= threads + 2:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()
    finally:
        executor.shutdown(wait=True, cancel_futures=True)
