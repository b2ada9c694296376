"""Eight bytes of a word at a time: the compiled building blocks of hashing and comparing."""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic
from numpy.typing import NDArray

__all__ = [
    "LONG",
    "ROOM",
    "SEED",
    "eight",
    "hash_key",
    "key_of",
    "low_bytes",
    "mix",
    "same_bytes",
    "trailing_zeros",
]

ROOM = 8  # spare bytes that every array of bytes has at its end, for `eight` reads past a word
SEED, PRIME = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD6E8FEB86659FD93)
HALF = np.uint64(32)
NOTHING, LONG = np.uint64(0), np.uint64(1 << 63)


@intrinsic
def eight(typing_context: Any, array: Any, index: Any) -> Any:
    """Return the eight bytes at `index` of a uint8 array as a little-endian uint64."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        pointer = builder.gep(data, [arguments[1]])
        value = builder.load(builder.bitcast(pointer, ir.IntType(64).as_pointer()), align=1)
        return value if _little_endian() else builder.bswap(value)

    return types.uint64(array, types.int64), generate


@intrinsic
def trailing_zeros(typing_context: Any, bits: Any) -> Any:
    """Count the zero bits below the lowest one; 64 if there is none."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], cgutils.false_bit)

    return types.uint64(types.uint64), generate


def _little_endian() -> bool:
    return np.little_endian


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

    A word of at most 15 bytes is its own key, filled up with zeros, so equal keys mean equal words (one that
    ends in a zero byte counts as long). The second half of a longer word's key is its hash with the highest
    bit set: equal keys must be confirmed.
    """
    stop = begin + length
    if length < 8:
        first, second = eight(array, begin) & low_bytes(length), NOTHING
    else:
        first, second = eight(array, begin), NOTHING
        if length < 16:
            second = eight(array, begin + 8) & low_bytes(length - 8)
    if length < 16 and (length == 0 or array[stop - 1] != 0):
        return hash_key(first, second), first, second
    hashed = SEED
    while stop - begin >= 8:
        hashed = mix(hashed, eight(array, begin))
        begin += 8
    hashed = mix(hashed, eight(array, begin) & low_bytes(stop - begin))
    return hashed, first, hashed | LONG


@njit(nogil=True, cache=True)
def hash_key(first: np.uint64, second: np.uint64) -> np.uint64:
    """Hash a key (of a long word: only the low bits are its hash)."""
    if second >= LONG:
        return second
    hashed = mix(SEED, first)
    return mix(hashed, second) if second != 0 else hashed


@njit(nogil=True, cache=True)
def same_bytes(a: NDArray[np.uint8], i: int, b: NDArray[np.uint8], j: int, length: int) -> bool:
    """Whether ``a[i : i + length]`` equals ``b[j : j + length]``."""
    for k in range(length):  # noqa: SIM110 (rare; eight bytes at a time made the whole scan slower)
        if a[i + k] != b[j + k]:
            return False
    return True
