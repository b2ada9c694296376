"""`NameWriter`: the names that codes of vertices stand for, of which numbers are written as decimal numbers."""

import numpy as np
from numpy.typing import NDArray

from any2vec.corpus.word_table import WordCounts, WordTable, copy_words
from any2vec.graph.graph import Names
from any2vec.llvm.compiled import njit

__all__ = ["NameWriter", "spelled"]


class NameWriter:
    """Writes the names that codes stand for."""

    def __init__(self) -> None:
        self._arena = bytearray()
        self._lengths = [np.zeros(1, np.int64)]
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def add(self, codes: NDArray[np.int32], arena: NDArray[np.uint8], ends: NDArray[np.int64]) -> None:
        """Add numbers, and in place of each code below 0 the next word of an arena."""
        lengths = np.empty(len(codes), np.int64)
        text = np.empty(int(_measure(codes, ends, lengths)), np.uint8)
        _write(codes, arena, ends, text)
        self._arena += text.data
        self._lengths.append(lengths)
        self._count += len(codes)

    def names(self) -> Names:
        """Return all names."""
        starts = np.concatenate(self._lengths)
        np.cumsum(starts, out=starts)
        return Names(np.frombuffer(self._arena, np.uint8), starts)


def spelled(
    codes: NDArray[np.int32], strings: WordTable | WordCounts
) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.uint8]]:
    """Return codes with -1 in place of -k - 1 for string k, and these strings' lengths (with a line feed) and bytes."""
    places = -1 - codes[codes < 0].astype(np.int64)
    lengths = strings.starts[places + 1] - strings.starts[places]
    ends = np.append(0, np.cumsum(lengths))
    arena = np.empty(int(ends[-1]), np.uint8)
    copy_words(strings.arena, strings.starts, places, arena, ends)
    return np.maximum(codes, -1), lengths, arena


@njit(nogil=True, cache=True)
def _measure(codes: NDArray[np.int32], ends: NDArray[np.int64], lengths: NDArray[np.int64]) -> int:
    """Write the length of each name, with one byte more, and return their sum."""
    word = total = 0
    for i in range(codes.size):
        if codes[i] < 0:
            lengths[i] = ends[word + 1] - ends[word]
            word += 1
        else:
            rest, digits = codes[i] // 10, 1
            while rest > 0:
                rest //= 10
                digits += 1
            lengths[i] = digits + 1
        total += int(lengths[i])
    return total


@njit(nogil=True, cache=True)
def _write(
    codes: NDArray[np.int32], arena: NDArray[np.uint8], ends: NDArray[np.int64], text: NDArray[np.uint8]
) -> None:
    """Write names, each followed by a line feed."""
    word = at = 0
    for i in range(codes.size):
        if codes[i] < 0:
            for j in range(ends[word], ends[word + 1]):
                text[at] = arena[j]
                at += 1
            word += 1
            continue
        rest, digits = codes[i] // 10, 1
        while rest > 0:
            rest //= 10
            digits += 1
        rest = codes[i]
        for j in range(digits):
            text[at + digits - 1 - j] = 48 + rest % 10
            rest //= 10
        text[at + digits] = 10
        at += digits + 1
