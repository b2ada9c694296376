"""Whether threads work on copies of the hottest rows (`operators.hot_rows`): with them or without, whichever is faster.

Where the threads' cores share no cache, copies are two to three times as fast. Where they do, either may be up to a
fifth faster, depending on the processor: chunks without copies are tried now and then. Virtual machines are moved
between cores every few seconds, so threads begin with copies, and go back to them after each move.
"""

import math
import time
from collections import deque
from typing import NamedTuple

from any2vec.cluster.workers import SharedCache

__all__ = ["Copying"]

_FIRST = 10.0  # seconds of a shared cache until the first trial, and between two; each time twice as long
_TRIAL = 0.25  # seconds of a thread in a trial
_OFTEN, _SELDOM = 0.5, 5.0  # seconds between two looks at the cache while rows are not copied, and while they are
_RECENT = 0.5  # what counts of earlier chunks at each look


class _Speed(NamedTuple):
    """Positions done, and the seconds that threads took for them."""

    positions: float = 0.0
    seconds: float = 0.0

    def __add__(self, other: "_Speed") -> "_Speed":  # type: ignore[override]
        return _Speed(self.positions + other.positions, self.seconds + other.seconds)


class Copying:
    """Decides for the threads of a host.

    Parameters
    ----------
    threads : int
        The threads.
    """

    def __init__(self, threads: int) -> None:
        self._threads, self._cache = threads, SharedCache()
        self._chunks = deque[tuple[bool, _Speed]]()
        self._advantage = 0.0  # of chunks without copies where a cache is shared: sum over trials of the logarithm
        self._trying, self._settled = False, False
        self._usual = self._tried = _Speed()
        self._wait, self._next = _FIRST, math.inf

    def done(self, copied: bool, positions: int, seconds: float) -> None:
        """Note how long a thread took for a chunk, with copies or without."""
        self._chunks.append((copied, _Speed(positions, seconds)))

    def wanted(self) -> bool:
        """Return whether threads are to copy rows, from their next chunk on; called every tenth of a second or so."""
        speeds = {False: _Speed(), True: _Speed()}
        for _ in range(len(self._chunks)):  # threads add to it meanwhile
            copied, speed = self._chunks.popleft()
            speeds[copied] += speed
        if not self._cache.is_shared(_SELDOM if self._copies else _OFTEN):
            self._stop_trial()
            self._advantage, self._wait = 0.0, _FIRST
            return True
        best = self._copies_best
        if self._trying:
            if self._settled:
                self._tried += speeds[not best]
            self._settled |= speeds[not best].seconds > 0  # the first chunks fetch what others had
            if self._tried.seconds >= _TRIAL * self._threads:
                self._compare()
            return self._copies
        old = self._usual
        self._usual = _Speed(_RECENT * old.positions, _RECENT * old.seconds) + speeds[best]
        self._next = min(self._next, time.monotonic() + self._wait)
        self._trying = self._usual.positions > 0 and time.monotonic() >= self._next
        return self._copies

    @property
    def _copies_best(self) -> bool:
        return self._advantage <= 0

    @property
    def _copies(self) -> bool:
        return self._copies_best != self._trying

    def _compare(self) -> None:
        tried, usual = (speed.positions / speed.seconds for speed in (self._tried, self._usual))
        self._advantage += math.log(tried / usual) * (1 if self._copies_best else -1)
        self._wait *= 2
        self._stop_trial()

    def _stop_trial(self) -> None:
        self._trying = self._settled = False
        self._usual = self._tried = _Speed()
        self._next = math.inf
