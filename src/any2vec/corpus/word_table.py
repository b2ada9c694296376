"""A growing table from words to provisional ids: what one thread counts with."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from any2vec.corpus import tokenizer as kernels
from any2vec.errors import Any2VecError
from any2vec.io.memory import zeros

__all__ = ["WordCounts", "WordTable"]

FIRST_SLOTS, FIRST_ARENA = 1 << 12, 1 << 15


@dataclass(frozen=True, eq=False)
class WordCounts:
    """Words and how often each occurs in one part of a corpus, in no particular order.

    Attributes
    ----------
    arena : uint8 array
        The words' bytes one after the other, each followed by a line feed,
        and spare room (words.ROOM).
    starts : int64 array, shape (n + 1,)
        Word i is ``arena[starts[i] : starts[i + 1] - 1]``.
    counts : int64 array, shape (n,)
        Occurrences of each word.
    """

    arena: NDArray[np.uint8]
    starts: NDArray[np.int64]
    counts: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.counts)

    def word(self, i: int) -> bytes:
        """Return the bytes of word `i`."""
        return self.arena[self.starts[i] : self.starts[i + 1] - 1].tobytes()


class WordTable:
    """A growing table from words to provisional ids, in the order of their first occurrence.

    Attributes
    ----------
    state : int64 array, shape (5,)
        Where a kernel stands: text position, entries written, distinct words, words and line ends so far.
    """

    def __init__(self) -> None:
        self._slots = zeros(4 * FIRST_SLOTS, np.uint64)
        self._starts = zeros(_room(FIRST_SLOTS) + 1, np.int64)
        self._arena = zeros(FIRST_ARENA, np.uint8)
        self.state = np.zeros(5, np.int64)

    def scan(self, text: NDArray[np.uint8], begin: int, end: int, out: NDArray[np.int32]) -> int:
        """Count the words of ``text[begin:end]`` and write their provisional ids.

        Parameters
        ----------
        text : uint8 array
            Holds a blank at `end`.
        begin, end : int
            Where to start and stop.
        out : int32 array, at least ``end - begin + 2`` long
            Gets the ids; -1 ends a sentence.

        Returns
        -------
        int
            DONE, or NUL or TOO_LONG if what stands before ``state[POSITION]`` cannot be text.
        """
        self.state[kernels.POSITION] = begin
        self.state[[kernels.ENTRIES, kernels.WORDS, kernels.LINES]] = 0
        while True:
            status = kernels.scan(text, end, self._slots, self._starts, self._arena, out, self.state)
            if status not in (kernels.GROW_SLOTS, kernels.GROW_ARENA):
                return int(status)
            self._grow(status)

    def add(self, part: WordCounts) -> NDArray[np.int32]:
        """Add the words and counts of a part.

        Parameters
        ----------
        part : WordCounts
            Its words need not be distinct.

        Returns
        -------
        int32 array, shape (len(part),)
            The id here of each of its words.
        """
        ids = np.empty(len(part), np.int32)
        other = (part.arena, part.starts, part.counts)
        self.state[kernels.POSITION] = 0
        while True:
            status = kernels.add(*other, self._slots, self._starts, self._arena, ids, self.state)
            if status == kernels.DONE:
                return ids
            self._grow(status)

    def part(self) -> WordCounts:
        """Return what was counted; the words' bytes are not copied."""
        n = int(self.state[kernels.DISTINCT])
        counts = np.empty(n, np.int64)
        kernels.counts_of(self._slots, counts)
        return WordCounts(self._arena, self._starts[: n + 1], counts)

    def _grow(self, what: int) -> None:
        if what == kernels.GROW_ARENA:
            self._arena = _longer(self._arena, 2 * len(self._arena))
            return
        slots = len(self._slots) // 4
        if slots >= 2**31:
            words = f"{_room(slots):,}"
            raise Any2VecError(f"more than {words} distinct words, but ids have 31 bits; are these words?")
        old, self._slots = self._slots, zeros(8 * slots, np.uint64)
        kernels.rehash(old, self._slots)
        self._starts = _longer(self._starts, _room(2 * slots) + 1)


def _room(slots: int) -> int:
    return slots * 5 // 8  # fuller tables have long runs of full slots


def _longer(array: NDArray[Any], size: int) -> NDArray[Any]:
    longer = zeros(size, array.dtype.type)
    longer[: len(array)] = array
    return longer
