"""Where the tokens of raw text begin and end: words, and other visible characters one by one.

A token is one of:

- A word: letters, numbers, marks and ``_``; also an apostrophe between two of them, and a point or comma between two
  digits.
- Any other visible character, with the marks that follow it. Chinese characters are such. An emoji of several
  characters is one.

Spaces and control characters separate tokens; invisible characters, such as a soft hyphen, are left out. Bytes that
are not UTF-8 count as letters.
"""

import unicodedata
from functools import cache
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from any2vec.corpus.blocks import Span
from any2vec.corpus.tokenizer import MAX_WORD
from any2vec.corpus.utf8 import CODES, decode
from any2vec.llvm.compiled import njit

__all__ = ["GROWTH", "tokens"]

GROWTH = 2  # bytes for one, at most: a space, and itself
LETTER, DIGIT, MARK, JOINER, APOSTROPHE, POINT, REGIONAL, SIGN, SPACE, INVISIBLE = range(10)
"""Kinds of characters. Joiners are marks after which the next sign belongs to the token, too (ZWJ); two regional
indicators are a flag."""

_SEEN = (range(0x40000), range(0xE0000, 0xE1000))  # code points: all others are private, or nothing yet
_OF_CATEGORY = {"Nd": DIGIT, "Pc": LETTER, "Cf": INVISIBLE, "Cc": SPACE}
_OF_INITIAL = {"L": LETTER, "N": LETTER, "M": MARK, "Z": SPACE, "P": SIGN, "S": SIGN, "C": SIGN}
_CHINESE = (range(0x3400, 0x4DC0), range(0x4E00, 0xA000), range(0xF900, 0xFB00), range(0x20000, 0x32400))
_OTHERS = {
    SIGN: (*range(0x600, 0x606), 0x6DD, 0x70F, 0x890, 0x891, 0x8E2, 0x110BD, 0x110CD),  # visible, though of Cf
    SPACE: (0x200B,),  # zero width space
    LETTER: (0,),  # which the scan refuses
    MARK: (0x200C, *range(0x1F3FB, 0x1F400)),  # ZWNJ; skin tones of emoji
    JOINER: (0x200D,),
    APOSTROPHE: (0x27, 0x2019),
    POINT: (0x2C, 0x2E),
    REGIONAL: range(0x1F1E6, 0x1F200),
}


def tokens(span: Span, buffer: NDArray[np.uint8], longest: int = MAX_WORD) -> Span:
    """Return a text with whitespace between its tokens, written to `buffer`, of `GROWTH` times its size and padding.

    Whitespace of the text stays. From a run of more than `longest` bytes without any, all stays as it is.
    """
    size = _spaced(span.text, span.begin, span.end, _kinds(), longest, buffer)
    buffer[size] = ord(" ")
    return Span(buffer, 0, size)


@cache
def _kinds() -> NDArray[np.uint8]:
    """Return the kind of each code point."""
    found = np.full(CODES, SIGN, np.uint8)
    for seen in _SEEN:
        categories = map(unicodedata.category, map(chr, seen))
        of = [_OF_CATEGORY[name] if name in _OF_CATEGORY else _OF_INITIAL[name[0]] for name in categories]
        found[seen.start : seen.stop] = of
    found[list(chain.from_iterable(_CHINESE))] = SIGN
    for kind, others in _OTHERS.items():
        found[list(others)] = kind
    return found


@njit(nogil=True, cache=True)
def _next_kind(text: NDArray[np.uint8], at: int, end: int, kinds: NDArray[np.uint8]) -> Any:
    """Return the kind of the first visible character from `at` on; INVISIBLE if there is none."""
    kind: Any = np.int64(INVISIBLE)
    while at < end and kind == INVISIBLE:
        code, length = decode(text, at)
        kind = np.int64(LETTER) if code < 0 else np.int64(kinds[code])
        at += length
    return kind


@njit(nogil=True, cache=True)
def _spaced(  # noqa: C901, PLR0912 (one state, which calls would have to pass on)
    text: NDArray[np.uint8], begin: int, end: int, kinds: NDArray[np.uint8], longest: int, out: NDArray[np.uint8]
) -> int:
    """Write ``text[begin:end]`` with spaces between tokens; return its size."""
    at, size = begin, 0
    run, of_run = begin, 0  # where what has no whitespace begins
    inside = SPACE  # the token so far: a word (LETTER), a SIGN, or none
    kind: Any
    last: Any = SPACE  # the kind of its last character
    while True:
        if at - run > longest:
            out[of_run : of_run + end - run] = text[run:end]
            return of_run + end - run
        if at >= end:
            return size
        byte = text[at]
        if byte == 32 or 9 <= byte <= 13:
            out[size] = byte
            at, size = at + 1, size + 1
            run, of_run, inside = at, size, SPACE
            continue
        code, length = decode(text, at)
        kind = np.int64(LETTER) if code < 0 else np.int64(kinds[code])
        if kind == INVISIBLE:
            at += length
            continue
        if kind == SPACE:
            out[size] = 32
            at, size, inside = at + length, size + 1, SPACE
            continue
        token, goes_on = SIGN, False
        if kind <= DIGIT:  # or LETTER
            token, goes_on = LETTER, inside == LETTER
        elif kind <= JOINER:  # or MARK
            token, goes_on = LETTER, inside != SPACE
        elif inside == LETTER and kind == APOSTROPHE:
            goes_on = _next_kind(text, at + length, end, kinds) <= DIGIT
        elif inside == LETTER and kind == POINT and last == DIGIT:
            goes_on = _next_kind(text, at + length, end, kinds) == DIGIT
        elif inside == SIGN and kind == REGIONAL and last == REGIONAL:
            goes_on, kind = True, SIGN  # the flag is whole
        elif inside == SIGN and kind != REGIONAL:
            goes_on = last == JOINER
        if goes_on:
            token = inside
        elif inside != SPACE:
            out[size] = 32
            size += 1
        inside, last = token, kind
        for k in range(length):
            out[size + k] = text[at + k]
        at, size = at + length, size + length
        while token == LETTER and text[at] < 128 and kinds[text[at]] == LETTER:  # most of a text, so fast
            out[size] = text[at]
            at, size, last = at + 1, size + 1, LETTER
