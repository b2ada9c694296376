"""Whether the cores of a host's threads share a cache.

It is measured, now and then: virtual machines do not tell the truth about caches, and are moved to other cores.
"""

import math
import time
from typing import Any

import numpy as np
from numba import int32, njit

from any2vec.cluster.workers import Workers
from any2vec.llvm.atomics import exchange, load

__all__ = ["SharedCache", "message_time"]

_NEAR = 110.0  # nanoseconds: about what memory takes
_SECONDS_BETWEEN = 0.5
_TRIPS = 50  # there and back
_REPEATS = 5  # the fastest counts: others were interrupted
_PATIENCE = 20_000_000  # looks at memory that a thread takes before it no longer expects an answer
_LINE = 32  # int32 in two cache lines, which are fetched together


class SharedCache:
    """Says whether a line that one of some threads wrote reaches the others sooner than one from memory.

    Parameters
    ----------
    workers : Workers
        The threads; idle when it is asked.
    """

    def __init__(self, workers: Workers) -> None:
        self._workers = workers
        self._shared, self._measured = False, -math.inf

    def is_shared(self) -> bool:
        """Return whether it does, measured in the last half second; if that fails, what was found before, or no."""
        if time.monotonic() - self._measured > _SECONDS_BETWEEN:
            nanoseconds = message_time(self._workers)
            if nanoseconds < math.inf:
                self._shared = nanoseconds < _NEAR
            self._measured = time.monotonic()
        return self._shared


def message_time(workers: Workers) -> float:
    """Measure how soon threads see what the first one writes.

    Returns
    -------
    float
        Nanoseconds, of the slowest thread; infinite if one does not answer, as when there are more threads than cores.
    """
    cells = np.zeros((workers.threads, _LINE), np.int32)

    def play(k: int) -> float:
        if k == 0:
            return max((_ask(cell) for cell in cells[1:]), default=0.0)
        _play(cells[k], 1, 0, 2 * _TRIPS * _REPEATS, _PATIENCE)
        return 0.0

    return max(workers.join(workers.start(play, workers.threads)))


def _ask(cell: Any) -> float:
    """Play with one thread; return nanoseconds for one way."""
    found = math.inf
    for first in range(0, 2 * _TRIPS * _REPEATS, 2 * _TRIPS):
        began = time.perf_counter()
        if not _play(cell, 0, first, first + 2 * _TRIPS, _PATIENCE):
            return math.inf
        found = min(found, (time.perf_counter() - began) / (2 * _TRIPS) * 1e9)
    return found


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
