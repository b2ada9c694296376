"""How threads divide a slice."""

from bisect import bisect_right
from collections import deque
from itertools import pairwise

__all__ = ["Chunks"]

_MOST = 64  # chunks of a thread
_SHORTEST = 4096  # positions of a chunk


class Chunks:
    """A slice cut into chunks; all of it is one for a single thread.

    Threads that see at once what others change take the next chunk each, so that the text is read in its order. Threads
    that learn `apart` have a part of the slice each, and when it is done, help the others: neighbouring texts are
    alike, and what is learned twice at once counts for too much when it is merged.

    Parameters
    ----------
    size : int
        Positions of the slice.
    threads : int
        The threads.
    apart : bool
        Whether each has a part.
    """

    def __init__(self, size: int, threads: int, apart: bool = False) -> None:
        length = max(size // (threads * _MOST), _SHORTEST) if threads > 1 else max(size, 1)
        chunks = [(begin, min(begin + length, size)) for begin in range(0, max(size, 1), length)]
        parts = threads if apart else 1
        cuts = [len(chunks) * k // parts for k in range(parts + 1)]
        self._first = [low * length for low in cuts[:-1]]
        self._left = [deque(chunks[low:high]) for low, high in pairwise(cuts)]

    def take(self, thread: int) -> tuple[int, int] | None:
        """Take the next chunk, as positions counted from the slice's first; None if none is left."""
        mine = self._left[thread % len(self._left)]
        while True:
            try:
                return mine.popleft() if mine else max(self._left, key=len).pop()
            except IndexError:  # another thread was faster
                if not any(self._left):
                    return None

    def done(self, begin: int) -> int:
        """Estimate how many positions all threads have done when one begins with a chunk."""
        return (begin - self._first[bisect_right(self._first, begin) - 1]) * len(self._first)
