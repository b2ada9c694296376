"""Join pairs of words to phrases, from left to right, in a text as ids."""

from collections.abc import Iterator
from contextlib import closing
from queue import SimpleQueue

import numpy as np
from numpy.typing import NDArray

from any2vec.corpus.bigrams import hash_pair
from any2vec.corpus.id_text import END, INSIDE, IdText
from any2vec.corpus.scan import Piece
from any2vec.io.ordered import ordered
from any2vec.llvm.compiled import njit

__all__ = ["join"]

HALF, ONE, TWO = np.uint64(32), np.uint64(1), np.uint64(2)


def join(
    text: IdText, firsts: NDArray[np.int32], seconds: NDArray[np.int32], phrases: NDArray[np.int32], threads: int
) -> None:
    """Replace pairs of ids in the text by those of `phrases`; a word is joined to the one before it if that is free.

    Afterwards `final` changes nothing.
    """
    table = _Pairs(firsts, seconds)
    spare: SimpleQueue[NDArray[np.int64]] = SimpleQueue()
    for _ in range(threads):
        spare.put(np.zeros(len(firsts), np.int64))

    def replace(item: tuple[Piece, int, int]) -> None:
        piece, before, after = item
        ids, final = text.load(piece), text.final[piece.part]
        joined = spare.get()
        try:
            _join(ids, final, before, after, table.filter, table.slots, phrases, joined)
        finally:
            spare.put(joined)
        text.store(piece, ids)

    beside = list(_beside(text, table))
    with closing(ordered(replace, beside, threads)) as done:
        for _ in done:
            pass
    joined = np.sum([spare.get() for _ in range(threads)], axis=0)
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


def _beside(text: IdText, table: _Pairs) -> Iterator[tuple[Piece, int, int]]:
    """Yield each piece with the word before it, and the one after it, in the same sentence; -1 if there is none.

    The one before is -1 also if it is joined to its own predecessor.
    """
    views = text.views()
    afters, after = [-1] * len(views), -1
    for i in range(len(views) - 1, -1, -1):
        afters[i] = after
        after = _first(views[i], text.final[text.pieces[i].part], after)
    before = -1
    for piece, ids, after in zip(text.pieces, views, afters, strict=True):
        yield piece, before, after
        before = _free(ids, text.final[piece.part], before, table.filter, table.slots)


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
) -> None:
    """Join the words of a piece in place, and count in `joined` the phrases that begin in it."""
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


@njit(nogil=True, cache=True)
def _free(
    ids: NDArray[np.int32], final: NDArray[np.int32], before: int, filter_: NDArray[np.uint8], slots: NDArray[np.uint64]
) -> int:
    """Return the last word of a piece if it is free after `_join`, -1 if not or if a sentence ends there.

    Found from the end: the word is the last of a run in which each could be joined to the next, and the run's first
    word is free. So every other one is.
    """
    last = right = -1
    free = True
    for i in range(ids.size - 1, -1, -1):
        if ids[i] >= 0:
            word = int(final[ids[i]])
            if right < 0:
                last = word
            elif _number(word, right, filter_, slots) < 0:
                return last if free else -1
            else:
                free = not free
            right = word
        elif ids[i] == END:
            return last if free else -1
    if right < 0:
        return before
    if _number(before, right, filter_, slots) >= 0:
        free = not free
    return last if free else -1
