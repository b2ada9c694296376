"""Keys and hashes of words, eight bytes at a time."""

import numpy as np
from numpy.typing import NDArray

from any2vec.llvm.compiled import njit
from any2vec.llvm.intrinsics import load_u64

__all__ = ["LONG", "PADDING", "SEED", "hash_key", "key_of", "low_bytes", "mix", "same_bytes"]

PADDING = 8  # spare bytes at the end of every array of bytes: `load_u64` reads past the last word
SEED, PRIME = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD6E8FEB86659FD93)
HALF = np.uint64(32)
NOTHING, LONG = np.uint64(0), np.uint64(1 << 63)


@njit(nogil=True, cache=True)
def mix(hashed: np.uint64, chunk: np.uint64) -> np.uint64:
    """Hash eight more bytes."""
    hashed = (hashed ^ chunk) * PRIME
    return hashed ^ (hashed >> HALF)


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
        first, second = load_u64(array, begin) & low_bytes(length), NOTHING
    else:
        first, second = load_u64(array, begin), NOTHING
        if length < 16:
            second = load_u64(array, begin + 8) & low_bytes(length - 8)
    if length < 16 and (length == 0 or array[stop - 1] != 0):
        return hash_key(first, second), first, second
    hashed = SEED
    while stop - begin >= 8:
        hashed = mix(hashed, load_u64(array, begin))
        begin += 8
    hashed = mix(hashed, load_u64(array, begin) & low_bytes(stop - begin))
    return hashed, first, hashed | LONG


@njit(nogil=True, cache=True)
def hash_key(first: np.uint64, second: np.uint64) -> np.uint64:
    """Hash a key (of a long word only the low bits are its hash)."""
    if second >= LONG:
        return second
    hashed = mix(SEED, first)
    return mix(hashed, second) if second != 0 else hashed


@njit(nogil=True, cache=True)
def same_bytes(a: NDArray[np.uint8], i: int, b: NDArray[np.uint8], j: int, length: int) -> bool:
    """Whether ``a[i : i + length]`` equals ``b[j : j + length]``."""
    for k in range(length):  # noqa: SIM110 (rare; comparing eight bytes at a time made the whole scan slower)
        if a[i + k] != b[j + k]:
            return False
    return True
