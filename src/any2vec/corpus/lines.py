"""Lines with labels, as fastText has them (Joulin et al. 2017, "Bag of tricks for efficient text classification").

A line is the rows of its words, of their n-grams of characters, of the end of the line, and of n-grams of words, which
are hashed to buckets. Every word of the text counts for n-grams of words, with a row or without.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from any2vec.llvm.compiled import njit

PREFIX = "__label__"
"""What labels begin with."""

LINE_END = "</s>"
"""The word that ends a line."""

HASH = np.uint64(2166136261)  # of nothing
_PRIME, _LOW = np.uint64(16777619), np.uint64(0xFFFFFFFF)  # FNV-1a, 32 bits
_SIGN = np.uint64(0xFFFFFF00)
_NEXT = np.uint64(116_049_371)


@njit(inline="always")
def hash_more(hashed: Any, byte: Any) -> Any:
    """Hash one more byte, taken as a signed one."""
    taken = np.uint64(byte)
    if taken >= np.uint64(128):
        taken |= _SIGN
    return ((hashed ^ taken) * _PRIME) & _LOW


@njit(nogil=True, cache=True)
def word_hash(text: NDArray[np.uint8], begin: int, end: int) -> np.int32:
    """Hash a word's bytes as fastText does, to 32 bits with a sign."""
    hashed = HASH
    for at in range(begin, end):
        hashed = hash_more(hashed, text[at])
    return np.int32(np.uint32(hashed))


@njit(inline="always")
def longer_gram(gram: Any, hashed: Any) -> Any:
    """Hash an n-gram of words and the word behind it; an n-gram of one word is its hash, 64 bits with its sign."""
    return gram * _NEXT + np.uint64(np.int64(hashed))


@njit(inline="always")
def first_gram(hashed: Any) -> Any:
    """Return the n-gram of one word."""
    return np.uint64(np.int64(hashed))
