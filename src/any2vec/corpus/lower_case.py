"""Lower case of text in bytes: as `str.lower`, without making it a str."""

import re
from functools import cache

import numpy as np
from numpy.typing import NDArray

from any2vec.corpus.blocks import IS_SPACE, Span
from any2vec.corpus.tokenizer import MAX_WORD
from any2vec.corpus.utf8 import CODES, decode, encode, padded
from any2vec.io.inputs import WHITESPACE
from any2vec.llvm.compiled import njit

__all__ = ["GROWTH", "lowered"]

GROWTH = 1.5  # bytes of lower case for one, at most: three for two
WIDE = 64  # bytes that are looked at together
DOTTED_I, SIGMA = ord("İ"), ord("Σ")
CONTEXTUAL = -1  # how `_lower` ends where what follows is left to `_RUN`
_RUN = re.compile(rf"(?<![^{WHITESPACE}])[^{WHITESPACE}]*(?:İ|Σ)[^{WHITESPACE}]*".encode())
"""A run with İ, whose lower case is two characters, or Σ, whose lower case depends on those around it."""


def lowered(span: Span, buffer: NDArray[np.uint8]) -> Span:
    """Return a text in lower case, written to `buffer`, of `GROWTH` times its size and padding.

    What is not UTF-8 stays, and so does a character in a run too long for a scan that would make the run shorter.
    """
    text, begin, end = span.text, span.begin, span.end
    size = _lower(text, begin, end, _table(), True, buffer)
    if size == CONTEXTUAL:
        data = _RUN.sub(_lower_run, text[begin:end].tobytes())
        size = _lower(padded(data), 0, len(data), _table(), False, buffer)
    buffer[size] = ord(" ")
    return Span(buffer, 0, size)


def _lower_run(found: re.Match[bytes]) -> bytes:
    run = found[0]
    if len(run) > MAX_WORD:
        return run
    return run.decode("utf-8", "surrogateescape").lower().encode("utf-8", "surrogateescape")


@cache
def _table() -> NDArray[np.int32]:
    """Return the lower case of each code point."""
    points = np.arange(CODES, dtype="<i4")
    points[DOTTED_I] = ord("i")
    text = points.tobytes().decode("utf-32-le", "surrogatepass").lower()
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<i4").astype(np.int32)


@njit(nogil=True, cache=True)
def _lower(
    text: NDArray[np.uint8], begin: int, end: int, table: NDArray[np.int32], stopping: bool, out: NDArray[np.uint8]
) -> int:
    """Write ``text[begin:end]`` in lower case; return its size, or `CONTEXTUAL` if `stopping` at such a character."""
    at, size = begin, 0
    is_long, known = False, begin  # whether the run at `at` is too long for a scan, as far as that is known
    stop = begin  # of bytes that are looked at one by one
    while at < end:
        if at >= stop:
            stop = min(at + WIDE, end)
            if _lower_ascii(text[at:stop], out[size:]):
                at, size = stop, size + stop - at
                continue
        code, length = decode(text, at)
        if stopping and (code == DOTTED_I or code == SIGMA):  # noqa: PLR1714, SIM109 (a tuple costs speed)
            return CONTEXTUAL
        after = size
        if code >= 0 and table[code] != code:
            after = encode(table[code], out, size)
        if size < after < size + length and at >= known:
            is_long, known = _is_long(text, begin, at, end)
        if after == size or (after < size + length and is_long):
            for k in range(length):
                out[size + k] = text[at + k]
            after = size + length
        at += length
        size = after
    return size


@njit(nogil=True, cache=True)
def _lower_ascii(text: NDArray[np.uint8], out: NDArray[np.uint8]) -> bool:
    """Write a text in lower case if it is ASCII, and return whether it is; the compiler makes vector code of this."""
    union = np.uint8(0)
    for k in range(text.size):
        union |= text[k]
    if union < 128:
        for k in range(text.size):
            capital = np.uint8(text[k] - np.uint8(65)) < 26
            out[k] = text[k] + (np.uint8(32) if capital else np.uint8(0))
    return bool(union < 128)


@njit(nogil=True, cache=True)
def _is_long(text: NDArray[np.uint8], begin: int, at: int, end: int) -> tuple[bool, int]:
    """Return whether the run without whitespace at `at` is too long for a scan, and up to where that holds."""
    first = last = at
    while first > begin and at - first <= MAX_WORD and not IS_SPACE[text[first - 1]]:
        first -= 1
    while last < end and last - at <= MAX_WORD and not IS_SPACE[text[last]]:
        last += 1
    return last - first > MAX_WORD, last
