"""The scan: from the bytes of a text to words, counted in a table, and their provisional ids."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from any2vec.corpus.word_table import (
    COUNT,
    DONE,
    LONG,
    NOTHING,
    ONE,
    POSITION,
    SEED,
    THREE,
    WORD,
    WordTable,
    find,
    insert,
    key_of,
    low_bytes,
    mix,
)
from any2vec.llvm.compiled import njit
from any2vec.llvm.intrinsics import load_u64, trailing_zeros

MAX_WORD = 65_536  # bytes; a longer "word" comes from a file that is not text
NUL, _TOO_LONG = 3, 4  # how a scan ends, besides DONE, GROW_SLOTS and GROW_ARENA
_ENTRIES, _WORDS, _LINES, _EVERY_LINE = 2, 3, 4, 5  # the scan's places in a table's state
_SEVENS, _HIGHS = np.uint64(0x7F7F7F7F7F7F7F7F), np.uint64(0x8080808080808080)
_PAST_SPACE = np.uint64(0x5F5F5F5F5F5F5F5F)  # 0x21 + 0x5F = 0x80


class Scanned(NamedTuple):
    """The end of a scan (DONE, or NUL or _TOO_LONG: not text), ids written, words and line feeds up to there."""

    status: int
    entries: int
    words: int
    lines: int


def tokenize(
    table: WordTable,
    text: NDArray[np.uint8],
    begin: int,
    end: int,
    out: NDArray[np.int32],
    *,
    every_line: bool = False,
) -> Scanned:
    """Count the words of ``text[begin:end]``, where whitespace follows; write their ids, and -1 at line feeds.

    `out` has space for ``end - begin + 2`` ids. Without `every_line`, -1 is written only after a word.
    """
    state = table.state
    state[POSITION] = begin
    state[[_ENTRIES, _WORDS, _LINES]] = 0
    state[_EVERY_LINE] = every_line
    while True:
        status = scan(text, end, table.slots, table.starts, table.arena, out, state)
        if status in (DONE, NUL, _TOO_LONG):
            return Scanned(status, *state[[_ENTRIES, _WORDS, _LINES]].tolist())
        table.grow(status)


@njit(nogil=True, cache=True)
def until_whitespace(text: NDArray[np.uint8], position: int) -> tuple[np.uint64, np.uint64]:
    """Return eight bytes, and the high bit of each of them that is 32 or less (no carry crosses a byte)."""
    chunk = load_u64(text, position)
    return chunk, ~(((chunk & _SEVENS) + _PAST_SPACE) | chunk) & _HIGHS


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
    """Count words from ``state[POSITION]`` to `end`, where there is whitespace; write ids, and -1 at line feeds.

    Of line feeds with no word between them only the first is written, unless ``state[_EVERY_LINE]``.
    """
    position, entries = state[POSITION], state[_ENTRIES]
    words, lines, every = state[_WORDS], state[_LINES], state[_EVERY_LINE]
    status = DONE
    while position < end:
        byte = text[position]
        if byte == 32 or 9 <= byte <= 13:
            if byte == 10:
                lines += 1
                if entries == 0 or out[entries - 1] != -1 or every:
                    out[entries] = -1
                    entries += 1
            position += 1
            continue
        begin = position
        first, stops = until_whitespace(text, position)
        second = NOTHING
        if stops != 0:
            inside = np.int64(trailing_zeros(stops) >> THREE)
            first &= low_bytes(inside)
            hashed = mix(SEED, first)
        else:
            hashed = mix(SEED, first)
            position += 8
            chunk, stops = until_whitespace(text, position)
            short = stops != 0
            while stops == 0:
                hashed = mix(hashed, chunk)
                position += 8
                chunk, stops = until_whitespace(text, position)
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
            status = _TOO_LONG
            break
        slot = find(hashed, first, second, text, begin, length, slots, starts, arena)
        if slots[slot + WORD] == 0:
            status = insert(slot, first, second, text, begin, length, slots, starts, arena, state)
            if status != DONE:
                position = begin
                break
        slots[slot + COUNT] += ONE
        words += 1
        out[entries] = np.int64(slots[slot + WORD]) - 1
        entries += 1
    state[POSITION], state[_ENTRIES], state[_WORDS], state[_LINES] = position, entries, words, lines
    return status
