"""Whether the cores of this process share a cache.

This is measured now and then. Virtual machines do not tell the truth about caches, and are moved to other cores.
"""

import math
import os
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import numpy as np
from numba import int32

from any2vec.cluster.machine.cores import core_ids
from any2vec.llvm.atomics import exchange, load
from any2vec.llvm.compiled import njit

__all__ = ["SharedCache", "message_time"]

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
        while load(cell) != turn:
            looks += 1
            if looks > patience:
                return False
        exchange(cell, int32(turn + 1))
    return True
