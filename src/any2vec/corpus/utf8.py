"""Code points of UTF-8, for kernels."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from any2vec.corpus.word_hash import PADDING
from any2vec.llvm.compiled import njit

__all__ = ["CODES", "NO_CODE", "decode", "encode", "padded"]

CODES = 0x110000  # code points
NO_CODE = -1


def padded(text: bytes) -> NDArray[np.uint8]:
    """Return bytes as an array, with whitespace behind them for `decode`, and for a scan."""
    return np.frombuffer(bytearray(text + b" " * (1 + PADDING)), np.uint8)


@njit(nogil=True, cache=True)
def decode(text: NDArray[np.uint8], at: int) -> Any:
    """Return the code point at a byte, and its length in bytes: of what is not UTF-8, `NO_CODE` and 1.

    There must be three bytes behind the text, of which the first is below 128.
    """
    first = np.int64(text[at])
    if first < 0x80:
        return first, 1
    second = np.int64(text[at + 1])
    if first < 0xC2 or first > 0xF4 or second & 0xC0 != 0x80:
        return NO_CODE, 1
    if first < 0xE0:
        return (first & 0x1F) << 6 | second & 0x3F, 2
    third = np.int64(text[at + 2])
    if third & 0xC0 != 0x80:
        return NO_CODE, 1
    code = (first & 0xF) << 12 | (second & 0x3F) << 6 | third & 0x3F
    if first < 0xF0:
        return (code, 3) if code >= 0x800 and not 0xD800 <= code < 0xE000 else (NO_CODE, 1)
    fourth = np.int64(text[at + 3])
    code = (first & 0x7) << 18 | (second & 0x3F) << 12 | (third & 0x3F) << 6 | fourth & 0x3F
    return (code, 4) if fourth & 0xC0 == 0x80 and 0x10000 <= code < 0x110000 else (NO_CODE, 1)


@njit(nogil=True, cache=True)
def encode(code: int, out: NDArray[np.uint8], size: int) -> int:
    """Write a code point at `size`; return where the next one goes."""
    if code < 0x80:
        out[size] = code
        return size + 1
    if code < 0x800:
        out[size] = 0xC0 | code >> 6
        out[size + 1] = 0x80 | code & 0x3F
        return size + 2
    if code < 0x10000:
        out[size] = 0xE0 | code >> 12
        out[size + 1] = 0x80 | code >> 6 & 0x3F
        out[size + 2] = 0x80 | code & 0x3F
        return size + 3
    out[size] = 0xF0 | code >> 18
    out[size + 1] = 0x80 | code >> 12 & 0x3F
    out[size + 2] = 0x80 | code >> 6 & 0x3F
    out[size + 3] = 0x80 | code & 0x3F
    return size + 4
