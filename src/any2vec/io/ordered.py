"""Map on threads, in order, with a bounded number of items under way."""

from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

__all__ = ["ordered"]

Item = TypeVar("Item")
Result = TypeVar("Result")


def ordered(work: Callable[[Item], Result], items: Iterable[Item], threads: int) -> Generator[Result, None, None]:
    """Yield ``work(item)`` for each item, in order, computed on `threads` threads; close it to be sure that all ended.

    Items are drawn in the caller's thread, at most ``threads + 2`` ahead of the results; one thread is the caller's.
    """
    if threads == 1:
        yield from map(work, items)
        return
    executor = ThreadPoolExecutor(threads, thread_name_prefix="any2vec")
    pending: deque[Future[Result]] = deque()
    try:
        for item in items:
            pending.append(executor.submit(work, item))
            if len(pending) >= threads + 2:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()
    finally:
        executor.shutdown(wait=True, cancel_futures=True)
