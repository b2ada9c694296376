"""The threads of one host."""

from collections.abc import Callable
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from types import TracebackType
from typing import Any, Self

from any2vec.cluster.communicator import Communicator

__all__ = ["Workers"]

_POLL = 0.1  # seconds between two looks at the threads, where there is something to look after


class Workers:
    """Threads that do a host's work, while the one that called them looks after it; use it in a ``with`` block.

    Parameters
    ----------
    threads : int
        How many.
    communicator : Communicator
        This host's: it says when they may work.
    """

    def __init__(self, threads: int, communicator: Communicator) -> None:
        self.threads = threads
        self._communicator = communicator
        self._pool = ThreadPoolExecutor(threads)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._communicator.resting():
            self._pool.shutdown(cancel_futures=True)

    def start(self, task: Callable[[int], Any], parts: int) -> list["Future[Any]"]:
        """Begin ``task(0)`` .. ``task(parts - 1)``, after what was begun before."""
        return [self._pool.submit(self._work, task, part) for part in range(parts)]

    def spread(self, task: Callable[[int, int], Any], n: int, least: int = 1) -> list["Future[Any]"]:
        """Begin ``task(low, high)`` on even cuts of 0..n-1, one for each thread, of `least` or more."""
        parts = max(1, min(self.threads, n // least))
        return self.start(lambda part: task(n * part // parts, n * (part + 1) // parts), parts)

    def join(
        self, futures: "list[Future[Any]]", look: Callable[[], Any] | None = None, every: float = _POLL
    ) -> list[Any]:
        """Wait for what was begun.

        Parameters
        ----------
        futures : list of Future
            From `start` or `spread`.
        look : function, optional
            Called now and then.
        every : float
            Seconds between two calls.

        Returns
        -------
        list
            What the tasks returned, in order. What one raises, or `look`, is raised here, and the others are left.
        """
        running = set(futures)
        with self._communicator.resting():
            while running:
                finished, running = wait(running, timeout=every if look else None, return_when=FIRST_EXCEPTION)
                for future in finished:
                    future.result()
                if look:
                    look()
        return [future.result() for future in futures]

    def _work(self, task: Callable[[int], Any], part: int) -> Any:
        with self._communicator.working():
            return task(part)
