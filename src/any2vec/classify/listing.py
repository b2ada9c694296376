"""From the bytes of lines to rows of e, as fastText's dictionary lists them.

Words, the end of a line among them, have rows of their own, or, if they are unknown, those of their n-grams of
characters; all words count for n-grams of words. What begins as labels do is skipped.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import int64, uint32, uint64
from numpy.typing import NDArray

from any2vec.corpus.lines import END_HASH, first_gram, longer_gram, word_hash
from any2vec.corpus.parts import HASH, hash_more
from any2vec.corpus.tokenizer import until_whitespace
from any2vec.corpus.word_table import WORD, find, key_of
from any2vec.llvm.compiled import njit
from any2vec.llvm.intrinsics import ones, prefetch, trailing_zeros

AT, TOKEN, FIRST, _GRAMS, LINE, LISTED = range(6)
"""Places in a kernel's state: in the text, among tokens, in a word; n-grams of words begun, lines and rows listed."""

_END = -1  # the length of the token that ends a line
_EIGHT, _LAST_SIX = np.uint64(3), np.uint64(63)


class Words(NamedTuple):
    """Where words and n-grams have their rows, and how lines are read."""

    slots: NDArray[np.uint64]  # of the table of words, likewise the next two
    starts: NDArray[np.int64]
    arena: NDArray[np.uint8]
    buckets: NDArray[np.uint64]  # for 64 buckets each: which have rows, as bits, and how many rows lie before
    prefix: NDArray[np.uint8]
    end: int  # the row of the end of a line; -1 if it has none
    number: int  # of words
    word_ngrams: int
    modulus: int
    least: int
    most: int
    counts_unknown: bool


@njit(cache=True)
def mark_buckets(ids: NDArray[np.int64], buckets: NDArray[np.uint64]) -> None:
    """Write which buckets have rows (`Words.buckets`, which are zeros before)."""
    for i in range(ids.size):
        place = 2 * (ids[i] >> 6)
        if buckets[place] == 0:
            buckets[place + 1] = i
        buckets[place] |= uint64(1) << (uint64(ids[i]) & _LAST_SIX)


@njit(inline="always")
def _is_space(byte: int) -> bool:
    return byte == 32 or 9 <= byte <= 13 or byte == 0


@njit(nogil=True, cache=True)
def find_tokens(
    text: Any, end: int, lines: int, slots: Any, begins: Any, lengths: Any, keys: Any, state: Any
) -> tuple[int, int, int]:
    """Find the next tokens, and ends of at most so many lines; return both numbers, and the longest token's bytes."""
    at, count, longest = state[AT], 0, 0
    mask = uint64(slots.size - 4)
    left = lines
    while at < end and count < begins.size and left > 0:
        byte = text[at]
        if _is_space(byte):
            if byte == 10:
                lengths[count] = _END
                count += 1
                left -= 1
            at += 1
            continue
        begin = at
        while True:
            _chunk, stops = until_whitespace(text, at)
            if stops == 0:
                at += 8
                continue
            at += int64(trailing_zeros(stops) >> _EIGHT)
            if _is_space(text[at]):
                break
            at += 1  # a control character
        begins[count], lengths[count] = begin, at - begin
        hashed, first, second = key_of(text, begin, at - begin)
        keys[count, 0], keys[count, 1], keys[count, 2] = hashed, first, second
        prefetch(slots, int64((hashed << uint64(2)) & mask))
        longest = max(longest, at - begin)
        count += 1
    state[AT] = at
    return count, lines - left, longest


@njit(inline="always")
def _starts_with(text: Any, begin: int, length: int, prefix: Any) -> bool:
    if prefix.size == 0 or length < prefix.size:
        return False
    at = 0
    while at < prefix.size and text[begin + at] == prefix[at]:
        at += 1
    return bool(at == prefix.size)


@njit(inline="always")
def _push(bucket: int, words: Any, state: Any, rows: Any, owners: Any, sizes: Any) -> None:
    """List the row of an n-gram."""
    line, row = state[LINE], bucket
    if words.buckets.size:
        place, bit = 2 * (bucket >> 6), uint64(bucket) & _LAST_SIX
        bits = words.buckets[place]
        row = int64(words.buckets[place + 1] + ones(bits & ((uint64(1) << bit) - uint64(1))))
        if (bits >> bit) & uint64(1) == 0:
            sizes[line] += int64(words.counts_unknown)
            return
    n = state[LISTED]
    rows[n], owners[n] = words.number + row, line
    state[LISTED] = n + 1
    sizes[line] += 1


@njit(nogil=True, cache=True)
def list_rows(  # noqa: C901, PLR0912 (one state, which calls would have to pass on)
    text: Any,
    tokens: int,
    begins: Any,
    lengths: Any,
    keys: Any,
    words: Any,
    grams: Any,
    spelled: Any,
    state: Any,
    rows: Any,
    owners: Any,
    sizes: Any,
    known: Any,
) -> None:
    """List rows of tokens, from where `state` is, until there are too many, and the line of each."""
    for token in range(state[TOKEN], tokens):
        begin, length, line = begins[token], lengths[token], state[LINE]
        is_end = length == _END
        if not is_end and _starts_with(text, begin, length, words.prefix):
            continue
        if rows.size - state[LISTED] < words.word_ngrams + words.most + 1:
            state[TOKEN] = token
            return
        row = words.end
        if not is_end:
            hashed, first, second = keys[token, 0], keys[token, 1], keys[token, 2]
            slot = find(hashed, first, second, text, begin, length, words.slots, words.starts, words.arena)
            row = int64(words.slots[slot + WORD]) - 1
        of_word = int64(0)
        if words.word_ngrams > 1 or words.most:
            of_word = int64(END_HASH) if is_end else int64(word_hash(text, begin, begin + length))
        if state[FIRST] == 0:
            if row >= 0:
                n = state[LISTED]
                rows[n], owners[n] = row, line
                state[LISTED] = n + 1
            if not is_end:
                known[line, 0] += int64(row >= 0)
                known[line, 1] += 1
            if words.word_ngrams > 1:
                _list_grams(of_word, words, grams, state, rows, owners, sizes)
        if words.most and row < 0 and of_word != END_HASH:
            if state[FIRST] == 0:
                spell(text, begin, length, spelled)
            if not list_characters(length + 2, words, spelled, state, rows, owners, sizes):
                state[TOKEN] = token
                return
        if is_end:
            state[LINE] += 1
            state[_GRAMS] = 0
    state[TOKEN] = tokens


@njit(inline="always")
def spell(text: Any, begin: int, length: int, spelled: Any) -> None:
    """Write ``<word>``."""
    spelled[0], spelled[length + 1] = 60, 62
    for i in range(length):
        spelled[i + 1] = text[begin + i]


@njit(inline="always")
def _list_grams(hashed: int, words: Any, grams: Any, state: Any, rows: Any, owners: Any, sizes: Any) -> None:
    """List the n-grams of words that end with this one; `grams` has what begins with each of those before."""
    before = state[_GRAMS]
    for i in range(before):
        grams[i] = longer_gram(grams[i], hashed)
        _push(int64(grams[i] % uint64(words.modulus)), words, state, rows, owners, sizes)
    if before == words.word_ngrams - 1:
        for i in range(1, before):
            grams[i - 1] = grams[i]
        before -= 1
    grams[before] = first_gram(hashed)
    state[_GRAMS] = before + 1


@njit(nogil=True, cache=True)
def list_characters(stop: int, words: Any, spelled: Any, state: Any, rows: Any, owners: Any, sizes: Any) -> bool:
    """List a word's n-grams of characters from where `state` is; return whether that is all of them."""
    for first in range(state[FIRST], stop):
        if (spelled[first] & 0xC0) == 0x80:
            continue
        if rows.size - state[LISTED] < words.most:
            state[FIRST] = first
            return False
        hashed, at, n = HASH, first, 1
        while at < stop and n <= words.most:
            hashed = hash_more(hashed, spelled[at])
            at += 1
            while at < stop and (spelled[at] & 0xC0) == 0x80:
                hashed = hash_more(hashed, spelled[at])
                at += 1
            if n >= words.least and not (n == 1 and (first == 0 or at == stop)):
                _push(int64(uint32(hashed) % uint32(words.modulus)), words, state, rows, owners, sizes)
            n += 1
    state[FIRST] = 0
    return True
