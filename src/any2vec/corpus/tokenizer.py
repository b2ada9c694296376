"""The compiled loops of the corpus pass: words to provisional ids, provisional ids to final ones.

A table from words to ids is open addressing with linear probing. A slot is four 64-bit numbers, half a cache
line: the two halves of the word's key (words.key_of), its id + 1 (0: empty) and its count. So one access to
memory finds and counts most words. The words' bytes lie in an arena in the order of their ids, each followed
by a line feed. Words of up to 15 bytes are their own keys and longer ones are confirmed byte by byte: two
words are never taken for one. (Numba's cache looks at the age of this file only: after a change of words.py,
touch this one.)
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from any2vec.corpus.word_hash import (
    LONG,
    ROOM,
    SEED,
    hash_key,
    key_of,
    low_bytes,
    mix,
    same_bytes,
)
from any2vec.llvm.bits import load_u64, trailing_zeros

__all__ = [
    "DISTINCT",
    "DONE",
    "ENTRIES",
    "GROW_ARENA",
    "GROW_SLOTS",
    "LINES",
    "MAX_WORD",
    "NUL",
    "POSITION",
    "TOO_LONG",
    "WORDS",
    "add",
    "counts_of",
    "rehash",
    "remap",
    "scan",
]

MAX_WORD = 65_536  # bytes; a longer "word" comes from a file that is not text
DONE, GROW_SLOTS, GROW_ARENA, NUL, TOO_LONG = range(5)  # what a kernel says when it stops
POSITION, ENTRIES, DISTINCT, WORDS, LINES = range(5)  # the places in a kernel's state
NOTHING, ONE, TWO, THREE, FOUR = (np.uint64(i) for i in range(5))
WORD, COUNT = TWO, THREE  # where the id + 1 and the count are in a slot
SEVENS, HIGHS = np.uint64(0x7F7F7F7F7F7F7F7F), np.uint64(0x8080808080808080)
PAST_BLANK = np.uint64(0x5F5F5F5F5F5F5F5F)  # 0x21 + 0x5F = 0x80


@njit(nogil=True, cache=True)
def _find(
    hashed: np.uint64,
    first: np.uint64,
    second: np.uint64,
    text: NDArray[np.uint8],
    begin: int,
    length: int,
    slots: NDArray[np.uint64],
    starts: NDArray[np.int64],
    arena: NDArray[np.uint8],
) -> np.uint64:
    """Return where the slot of a word begins, or the empty one where it belongs."""
    mask = np.uint64(slots.size - 4)
    slot = (hashed << TWO) & mask
    while True:
        word = slots[slot + WORD]
        if word == 0:
            return slot
        if slots[slot] == first and slots[slot + ONE] == second:
            if second < LONG:
                return slot
            start = starts[np.int64(word - ONE)]
            if starts[np.int64(word)] - start == length + 1 and same_bytes(arena, start, text, begin, length):
                return slot
        slot = (slot + FOUR) & mask


@njit(nogil=True, cache=True)
def _insert(
    slot: np.uint64,
    first: np.uint64,
    second: np.uint64,
    text: NDArray[np.uint8],
    begin: int,
    length: int,
    slots: NDArray[np.uint64],
    starts: NDArray[np.int64],
    arena: NDArray[np.uint8],
    state: NDArray[np.int64],
) -> int:
    """Put a new word into its slot, or say what has to grow first."""
    word = state[DISTINCT]
    start = starts[word]
    if word + 1 >= starts.size:
        return GROW_SLOTS
    if start + length + 1 + ROOM > arena.size:
        return GROW_ARENA
    for i in range(length):
        arena[start + i] = text[begin + i]
    arena[start + length] = 10
    starts[word + 1] = start + length + 1
    slots[slot] = first
    slots[slot + ONE] = second
    slots[slot + WORD] = word + 1
    state[DISTINCT] = word + 1
    return DONE


@njit(nogil=True, cache=True)
def _until_blank(text: NDArray[np.uint8], position: int) -> tuple[np.uint64, np.uint64]:
    """Return load_u64 bytes, and the high bit of each of them that is 32 or less (no carry crosses a byte)."""
    chunk = load_u64(text, position)
    return chunk, ~(((chunk & SEVENS) + PAST_BLANK) | chunk) & HIGHS


@njit(nogil=True, cache=True)
def scan(  # noqa: C901, PLR0912, PLR0915 (calls would cost compile time and speed)
    text: NDArray[np.uint8],
    end: int,
    slots: NDArray[np.uint64],
    starts: NDArray[np.int64],
    arena: NDArray[np.uint8],
    out: NDArray[np.int32],
    state: NDArray[np.int64],
) -> int:
    """Count words from ``state[POSITION]`` to `end`, where there is a blank; write ids, and -1 at line ends.

    Of line ends with no word between them only the first is written.
    """
    position, entries = state[POSITION], state[ENTRIES]
    words, lines = state[WORDS], state[LINES]
    status = DONE
    while position < end:
        byte = text[position]
        if byte == 32 or 9 <= byte <= 13:
            if byte == 10:
                lines += 1
                if entries == 0 or out[entries - 1] != -1:
                    out[entries] = -1
                    entries += 1
            position += 1
            continue
        begin = position
        first, stops = _until_blank(text, position)
        second = NOTHING
        if stops != 0:
            inside = np.int64(trailing_zeros(stops) >> THREE)
            first &= low_bytes(inside)
            hashed = mix(SEED, first)
        else:
            hashed = mix(SEED, first)
            position += 8
            chunk, stops = _until_blank(text, position)
            short = stops != 0
            while stops == 0:
                hashed = mix(hashed, chunk)
                position += 8
                chunk, stops = _until_blank(text, position)
            inside = np.int64(trailing_zeros(stops) >> THREE)
            chunk &= low_bytes(inside)
            if not short or chunk != 0:
                hashed = mix(hashed, chunk)
            second = chunk if short else hashed | LONG
        position += inside
        byte = text[position]
        if byte != 32 and not 9 <= byte <= 13:  # a control character: rare, so slow
            while byte > 32 or not (byte == 32 or 9 <= byte <= 13 or byte == 0):
                position += 1
                byte = text[position]
            hashed, first, second = key_of(text, begin, position - begin)
        length = position - begin
        if byte == 0:
            status = NUL
            break
        if length > MAX_WORD:
            status = TOO_LONG
            break
        slot = _find(hashed, first, second, text, begin, length, slots, starts, arena)
        if slots[slot + WORD] == 0:
            status = _insert(slot, first, second, text, begin, length, slots, starts, arena, state)
            if status != DONE:
                position = begin
                break
        slots[slot + COUNT] += ONE
        words += 1
        out[entries] = np.int64(slots[slot + WORD]) - 1
        entries += 1
    state[POSITION], state[ENTRIES], state[WORDS], state[LINES] = position, entries, words, lines
    return status


@njit(nogil=True, cache=True)
def add(
    other_arena: NDArray[np.uint8],
    other_starts: NDArray[np.int64],
    other_counts: NDArray[np.int64],
    slots: NDArray[np.uint64],
    starts: NDArray[np.int64],
    arena: NDArray[np.uint8],
    ids: NDArray[np.int32],
    state: NDArray[np.int64],
) -> int:
    """Add another table's words and counts from ``state[POSITION]`` on; write their ids here."""
    for other in range(state[POSITION], other_counts.size):
        begin = other_starts[other]
        length = other_starts[other + 1] - begin - 1
        hashed, first, second = key_of(other_arena, begin, length)
        slot = _find(hashed, first, second, other_arena, begin, length, slots, starts, arena)
        if slots[slot + WORD] == 0:
            status = _insert(slot, first, second, other_arena, begin, length, slots, starts, arena, state)
            if status != DONE:
                state[POSITION] = other
                return status
        slots[slot + COUNT] += np.uint64(other_counts[other])
        ids[other] = np.int64(slots[slot + WORD]) - 1
    return DONE


@njit(nogil=True, cache=True)
def rehash(old: NDArray[np.uint64], slots: NDArray[np.uint64]) -> None:
    """Move the words of a table's slots to the empty slots of a larger table."""
    mask = np.uint64(slots.size - 4)
    for i in range(0, old.size, 4):
        if old[i + 2] != 0:
            slot = (hash_key(old[i], old[i + 1]) << TWO) & mask
            while slots[slot + WORD] != 0:
                slot = (slot + FOUR) & mask
            for j in range(4):
                slots[slot + np.uint64(j)] = old[i + j]


@njit(nogil=True, cache=True)
def counts_of(slots: NDArray[np.uint64], counts: NDArray[np.int64]) -> None:
    """Write the count of each word of a table."""
    for i in range(0, slots.size, 4):
        if slots[i + 2] != 0:
            counts[np.int64(slots[i + 2]) - 1] = slots[i + 3]


@njit(nogil=True, cache=True)
def remap(ids: NDArray[np.int32], final: NDArray[np.int32], ends: NDArray[np.int64]) -> tuple[int, int]:
    """Turn provisional ids into final ones in place, dropping words whose final id is -1.

    `ends` gets where sentences end. The first line end is always written, for a sentence that began in an
    earlier block may end there; other sentences that are left without a word are dropped. Returns the numbers
    of ids and ends.
    """
    kept = ended = 0
    last = -1
    for i in range(ids.size):
        word = ids[i]
        if word >= 0:
            word = final[word]
            ids[kept] = word  # kept <= i, so nothing unread is overwritten
            kept += word >= 0
        elif kept != last:
            ends[ended] = kept
            ended += 1
            last = kept
    return kept, ended
