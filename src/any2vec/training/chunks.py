"""How threads divide a slice: each has a part, and when it is done, helps the others."""

from bisect import bisect_right
from collections import deque
from itertools import pairwise

__all__ = ["Chunks"]

_MOST = 64  # chunks of a thread
_SHORTEST = 4096  # positions of a chunk


class Chunks:
    """A slice cut into chunks; all of it is one for a single thread.

    Threads begin far apart: neighbouring texts are alike, and threads that learn the same thing at once learn it twice.

    Parameters
    ----------
    size : int
        Positions of the slice.
    threads : int
        The threads.
    """

    def __init__(self, size: int, threads: int) -> None:
        length = max(size // (threads * _MOST), _SHORTEST) if threads > 1 else max(size, 1)
        chunks = [(begin, min(begin + length, size)) for begin in range(0, max(size, 1), length)]
        cuts = [len(chunks) * k // threads for k in range(threads + 1)]
        self._left = [deque(chunks[low:high]) for low, high in pairwise(cuts)]
        self._first = [low * length for low in cuts]

    def take(self, thread: int) -> tuple[int, int] | None:
        """Take the next chunk, as positions counted from the slice's first; None if none is left."""
        mine = self._left[thread]
        while True:
            try:
                return mine.popleft() if mine else max(self._left, key=len).pop()
            except IndexError:  # another thread was faster
                if not any(self._left):
                    return None

    def done(self, begin: int) -> int:
        """Estimate how many positions all threads have done when one begins with a chunk."""
        threads = len(self._left)
        return (begin - self._first[bisect_right(self._first, begin, hi=threads) - 1]) * threads
