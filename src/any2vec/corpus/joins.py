"""Join pairs of words to phrases, from left to right, in a text as ids."""

import numpy as np
from numpy.typing import NDArray

from any2vec.corpus.bigrams import hash_pair
from any2vec.corpus.id_text import END, INSIDE, IdText
from any2vec.llvm.compiled import njit

__all__ = ["join"]

HALF, ONE, TWO = np.uint64(32), np.uint64(1), np.uint64(2)


def join(text: IdText, firsts: NDArray[np.int32], seconds: NDArray[np.int32], phrases: NDArray[np.int32]) -> None:
    """Replace pairs of ids in the text by those of `phrases`; a word is joined to the one before it if that is free.

    Afterwards `final` changes nothing.
    """
    table, joined = _Pairs(firsts, seconds), np.zeros(len(firsts), np.int64)
    before = -1
    for piece, after in zip(text.pieces, _afters(text), strict=True):
        ids, final = text.load(piece), text.final[piece.part]
        before = _join(ids, final, before, after, table.filter, table.slots, phrases, joined)
        text.store(piece, ids)
    for ids, sign in ((firsts, -1), (seconds, -1), (phrases, 1)):
        np.add.at(text.counts, ids, sign * joined)
    text.words -= int(joined.sum())
    same = np.arange(len(text.counts), dtype=np.int32)
    text.final = [same] * len(text.files)


class _Pairs:
    """A hash table of pairs, and a filter.

    A slot is a pair + 1 (0 if it is empty) and its number. Most pairs of a text are in no bit of the filter, which is
    small enough for a core's cache.
    """

    def __init__(self, firsts: NDArray[np.int32], seconds: NDArray[np.int32]) -> None:
        bits = (2 * len(firsts) + 1).bit_length()
        self.slots = np.zeros(2 << bits, np.uint64)
        self.filter = np.zeros(1 << bits, np.uint8)
        _fill(firsts, seconds, self.slots, self.filter)


def _afters(text: IdText) -> list[int]:
    """Return for each piece the word after it in the same sentence; -1 if there is none."""
    afters, after = [], -1
    for piece, ids in zip(reversed(text.pieces), reversed(text.views()), strict=True):
        afters.append(after)
        after = _first(ids, text.final[piece.part], after)
    return afters[::-1]


@njit(nogil=True, cache=True)
def _first(ids: NDArray[np.int32], final: NDArray[np.int32], after: int) -> int:
    for i in range(ids.size):
        if ids[i] >= 0:
            return int(final[ids[i]])
        if ids[i] == END:
            return -1
    return after


@njit(nogil=True, cache=True)
def _fill(
    firsts: NDArray[np.int32], seconds: NDArray[np.int32], slots: NDArray[np.uint64], filter_: NDArray[np.uint8]
) -> None:
    mask = np.uint64(slots.size - 2)
    for i in range(firsts.size):
        pair = (np.uint64(firsts[i]) << HALF) | np.uint64(seconds[i])
        hashed = hash_pair(pair)
        slot = (hashed >> HALF) & mask
        while slots[slot] != 0:
            slot = (slot + TWO) & mask
        slots[slot], slots[slot + ONE] = pair + ONE, np.uint64(i)
        filter_[_byte(hashed, filter_.size)] |= _bit(hashed)


@njit(nogil=True, cache=True)
def _byte(hashed: np.uint64, size: int) -> np.uint64:
    return (hashed >> np.uint64(35)) & np.uint64(size - 1)


@njit(nogil=True, cache=True)
def _bit(hashed: np.uint64) -> np.uint8:
    return np.uint8(ONE << ((hashed >> HALF) & np.uint64(7)))


@njit(nogil=True, cache=True)
def _number(first: int, second: int, filter_: NDArray[np.uint8], slots: NDArray[np.uint64]) -> int:
    """Return the number of a pair of words, -1 if it is not to be joined; either may be -1, for none."""
    if first < 0 or second < 0:
        return -1
    pair = (np.uint64(first) << HALF) | np.uint64(second)
    hashed = hash_pair(pair)
    if filter_[_byte(hashed, filter_.size)] & _bit(hashed) == 0:
        return -1
    mask = np.uint64(slots.size - 2)
    slot = (hashed >> HALF) & mask
    while slots[slot] != 0:
        if slots[slot] == pair + ONE:
            return int(np.int64(slots[slot + ONE]))
        slot = (slot + TWO) & mask
    return -1


@njit(nogil=True, cache=True)
def _join(
    ids: NDArray[np.int32],
    final: NDArray[np.int32],
    before: int,
    after: int,
    filter_: NDArray[np.uint8],
    slots: NDArray[np.uint64],
    phrases: NDArray[np.int32],
    joined: NDArray[np.int64],
) -> int:
    """Join the words of a piece in place, and count in `joined` the phrases that begin in it.

    `before` and `after` are the words beside it in the same sentence, -1 if there is none, or `before` is not free.
    Return what is `before` the next piece.
    """
    last, place = before, -1  # the last word that is free, and where it is here
    for i in range(ids.size):
        if ids[i] >= 0:
            word = int(final[ids[i]])
            number = _number(last, word, filter_, slots)
            if number >= 0:
                ids[i] = INSIDE
                if place >= 0:
                    ids[place] = phrases[number]
                    joined[number] += 1
                last = place = -1
            else:
                ids[i] = word
                last, place = word, i
        elif ids[i] == END:
            last = place = -1
    if place >= 0:
        number = _number(last, after, filter_, slots)
        if number >= 0:
            ids[place] = phrases[number]
            joined[number] += 1
    return int(last)
