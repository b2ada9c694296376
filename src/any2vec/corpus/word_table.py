"""A hash table from words to provisional ids and counts.

Open addressing with linear probing. A slot is four 64-bit numbers, half a cache line: the two halves of the word's key
(`key_of`), its id + 1 (0 if empty) and its count. So most words take one access to memory. The words' bytes
lie in an arena in the order of their ids, each followed by a line feed. Words of up to 15 bytes are their own keys,
longer ones are compared byte by byte: two words are never taken for one.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from any2vec.errors import Any2VecError
from any2vec.io.memory import zeros
from any2vec.llvm.compiled import njit
from any2vec.llvm.intrinsics import load_u64

PADDING = 8  # spare bytes at the end of every array of bytes: `load_u64` reads past the last word
SEED, _PRIME = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD6E8FEB86659FD93)
_HALF = np.uint64(32)
_ZERO, LONG = np.uint64(0), np.uint64(1 << 63)


@njit(nogil=True, cache=True)
def mix(hashed: np.uint64, chunk: np.uint64) -> np.uint64:
    """Hash eight more bytes."""
    hashed = (hashed ^ chunk) * _PRIME
    return hashed ^ (hashed >> _HALF)


@njit(nogil=True, cache=True)
def low_bytes(count: int) -> np.uint64:
    """Return a mask of the lowest `count` bytes, 0 to 7."""
    return (np.uint64(1) << np.uint64(8 * count)) - np.uint64(1)


@njit(nogil=True, cache=True)
def key_of(array: NDArray[np.uint8], begin: int, length: int) -> tuple[np.uint64, np.uint64, np.uint64]:
    """Return the hash of a word and the two halves of its key.

    A word of at most 15 bytes is its own key, padded with zeros, so equal keys mean equal words (one that ends in a
    zero byte counts as long). The second half of a longer word's key is its hash with the highest bit set: such words
    must be compared byte by byte.
    """
    stop = begin + length
    if length < 8:
        first, second = load_u64(array, begin) & low_bytes(length), _ZERO
    else:
        first, second = load_u64(array, begin), _ZERO
        if length < 16:
            second = load_u64(array, begin + 8) & low_bytes(length - 8)
    if length < 16 and (length == 0 or array[stop - 1] != 0):
        return _hash_key(first, second), first, second
    hashed = SEED
    while stop - begin >= 8:
        hashed = mix(hashed, load_u64(array, begin))
        begin += 8
    hashed = mix(hashed, load_u64(array, begin) & low_bytes(stop - begin))
    return hashed, first, hashed | LONG


@njit(nogil=True, cache=True)
def _hash_key(first: np.uint64, second: np.uint64) -> np.uint64:
    """Hash a key (of a long word only the low bits are its hash)."""
    if second >= LONG:
        return second
    hashed = mix(SEED, first)
    return mix(hashed, second) if second != 0 else hashed


@njit(nogil=True, cache=True)
def _same_bytes(a: NDArray[np.uint8], i: int, b: NDArray[np.uint8], j: int, length: int) -> bool:
    """Whether ``a[i : i + length]`` equals ``b[j : j + length]``."""
    for k in range(length):  # noqa: SIM110 (rare; comparing eight bytes at a time made the whole scan slower)
        if a[i + k] != b[j + k]:
            return False
    return True


_FIRST_SLOTS, _FIRST_ARENA = 1 << 12, 1 << 15
DONE, GROW_SLOTS, _GROW_ARENA = range(3)  # how a kernel ends
POSITION, _DISTINCT = range(2)  # places in a table's state
NOTHING, ONE, _TWO, THREE, _FOUR = (np.uint64(i) for i in range(5))
WORD, COUNT = _TWO, THREE  # where the id + 1 and the count are in a slot


@dataclass(frozen=True, eq=False)
class WordCounts:
    """Words and how often each occurs in a part of a corpus, in no particular order."""

    arena: NDArray[np.uint8]  # the words' bytes, each word followed by a line feed, and `PADDING` bytes
    starts: NDArray[np.int64]  # word i is ``arena[starts[i] : starts[i + 1] - 1]``
    counts: NDArray[np.int64]

    @classmethod
    def of(cls, words: Sequence[bytes], counts: NDArray[np.int64]) -> "WordCounts":
        """Lay out a list of words."""
        starts = np.zeros(len(words) + 1, np.int64)
        np.cumsum([len(word) + 1 for word in words], out=starts[1:])
        arena = np.frombuffer(bytearray(b"\n").join([*words, bytes(PADDING)]), np.uint8)
        return cls(arena, starts, counts)

    def __len__(self) -> int:
        return len(self.counts)

    def word(self, i: int) -> bytes:
        """Return the bytes of word `i`."""
        return self.arena[self.starts[i] : self.starts[i + 1] - 1].tobytes()

    def words(self, places: NDArray[Any] | slice = slice(None)) -> list[bytes]:
        """Return the bytes of the words at some places, or of all."""
        starts, stops = self.starts[:-1][places], self.starts[1:][places] - 1
        first = int(starts.min(initial=self.starts[-1]))
        arena = self.arena[first : stops.max(initial=first)].tobytes()
        ends = zip((starts - first).tolist(), (stops - first).tolist(), strict=True)
        return [arena[start:stop] for start, stop in ends]


class WordTable:
    """A growing table from words to provisional ids, in the order of their first occurrence.

    Kernels write `slots`, `starts`, `arena` and `state`: six numbers, of which the last four are the tokenizer's.
    """

    def __init__(self) -> None:
        self.slots = zeros(4 * _FIRST_SLOTS, np.uint64)
        self.starts = zeros(_capacity(_FIRST_SLOTS) + 1, np.int64)
        self.arena = zeros(_FIRST_ARENA, np.uint8)
        self.state = np.zeros(6, np.int64)

    def __len__(self) -> int:
        return int(self.state[_DISTINCT])

    def add(self, part: WordCounts) -> NDArray[np.int32]:
        """Add words, which need not be distinct, and their counts; return their ids here."""
        ids = np.empty(len(part), np.int32)
        other = (part.arena, part.starts, part.counts)
        self.state[POSITION] = 0
        while True:
            status = _add(*other, self.slots, self.starts, self.arena, ids, self.state)
            if status == DONE:
                return ids
            self.grow(status)

    def part(self) -> WordCounts:
        """Return what was counted; the words' bytes are not copied."""
        n = int(self.state[_DISTINCT])
        counts = np.empty(n, np.int64)
        _counts_of(self.slots, counts)
        return WordCounts(self.arena, self.starts[: n + 1], counts)

    def grow(self, status: int) -> None:
        """Double what a kernel found too small: GROW_SLOTS or GROW_ARENA."""
        if status == _GROW_ARENA:
            self.arena = _longer(self.arena, 2 * len(self.arena))
            return
        slots = len(self.slots) // 4
        if slots >= 2**31:
            words = f"{_capacity(slots):,}"
            raise Any2VecError(f"more than {words} distinct words, but ids have 31 bits; are these words?")
        old, self.slots = self.slots, zeros(8 * slots, np.uint64)
        _rehash(old, self.slots)
        self.starts = _longer(self.starts, _capacity(2 * slots) + 1)


def merge(parts: Sequence[WordCounts]) -> tuple[WordCounts, list[NDArray[np.int32]]]:
    """Add up what threads or hosts counted; return each word once, and for each part the places of its words there."""
    table = WordTable()
    ids = [table.add(part) for part in parts]
    return table.part(), ids


def _capacity(slots: int) -> int:
    return slots * 5 // 8  # fuller tables have long runs of full slots


def _longer(array: NDArray[Any], size: int) -> NDArray[Any]:
    longer = zeros(size, array.dtype.type)
    longer[: len(array)] = array
    return longer


@njit(nogil=True, cache=True)
def find(
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
    slot = (hashed << _TWO) & mask
    while True:
        word = slots[slot + WORD]
        if word == 0:
            return slot
        if slots[slot] == first and slots[slot + ONE] == second:
            if second < LONG:
                return slot
            start = starts[np.int64(word - ONE)]
            if starts[np.int64(word)] - start == length + 1 and _same_bytes(arena, start, text, begin, length):
                return slot
        slot = (slot + _FOUR) & mask


@njit(nogil=True, cache=True)
def insert(
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
    """Put a new word into its slot, or return what has to grow first."""
    word = state[_DISTINCT]
    start = starts[word]
    if word + 1 >= starts.size:
        return GROW_SLOTS
    if start + length + 1 + PADDING > arena.size:
        return _GROW_ARENA
    for i in range(length):
        arena[start + i] = text[begin + i]
    arena[start + length] = 10
    starts[word + 1] = start + length + 1
    slots[slot] = first
    slots[slot + ONE] = second
    slots[slot + WORD] = word + 1
    state[_DISTINCT] = word + 1
    return DONE


@njit(nogil=True, cache=True)
def _add(
    other_arena: NDArray[np.uint8],
    other_starts: NDArray[np.int64],
    other_counts: NDArray[np.int64],
    slots: NDArray[np.uint64],
    starts: NDArray[np.int64],
    arena: NDArray[np.uint8],
    ids: NDArray[np.int32],
    state: NDArray[np.int64],
) -> int:
    """Add words and their counts, from ``state[POSITION]`` on; write their ids."""
    for other in range(state[POSITION], other_counts.size):
        begin = other_starts[other]
        length = other_starts[other + 1] - begin - 1
        hashed, first, second = key_of(other_arena, begin, length)
        slot = find(hashed, first, second, other_arena, begin, length, slots, starts, arena)
        if slots[slot + WORD] == 0:
            status = insert(slot, first, second, other_arena, begin, length, slots, starts, arena, state)
            if status != DONE:
                state[POSITION] = other
                return status
        slots[slot + COUNT] += np.uint64(other_counts[other])
        ids[other] = np.int64(slots[slot + WORD]) - 1
    return DONE


@njit(nogil=True, cache=True)
def _rehash(old: NDArray[np.uint64], slots: NDArray[np.uint64]) -> None:
    """Move the words of a table's slots to the slots of a larger, empty one."""
    mask = np.uint64(slots.size - 4)
    for i in range(0, old.size, 4):
        if old[i + 2] != 0:
            slot = (_hash_key(old[i], old[i + 1]) << _TWO) & mask
            while slots[slot + WORD] != 0:
                slot = (slot + _FOUR) & mask
            for j in range(4):
                slots[slot + np.uint64(j)] = old[i + j]


@njit(nogil=True, cache=True)
def _counts_of(slots: NDArray[np.uint64], counts: NDArray[np.int64]) -> None:
    """Write the count of each word of a table."""
    for i in range(0, slots.size, 4):
        if slots[i + 2] != 0:
            counts[np.int64(slots[i + 2]) - 1] = slots[i + 3]


@njit(nogil=True, cache=True)
def copy_words(
    arena: NDArray[np.uint8],
    starts: NDArray[np.int64],
    places: NDArray[np.int64],
    to: NDArray[np.uint8],
    to_starts: NDArray[np.int64],
) -> None:
    """Copy words, each with what follows it, from their places in one text to where they start in another."""
    for i in range(places.size):
        start = starts[places[i]]
        for j in range(to_starts[i + 1] - to_starts[i]):
            to[to_starts[i] + j] = arena[start + j]
