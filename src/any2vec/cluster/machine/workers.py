"""The threads of one host."""

import threading
from collections.abc import Callable
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from types import TracebackType
from typing import Any, Self

from any2vec.cluster.communicator import Communicator
from any2vec.cluster.local import computing, is_simulated, waiting
from any2vec.cluster.machine.cores import refused_thread

__all__ = ["Workers"]

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
