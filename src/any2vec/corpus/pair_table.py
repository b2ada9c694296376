"""A hash table of pairs of ids: open addressing with linear probing.

A slot is two 64-bit numbers: the pair + 1 (0 if the slot is empty), and the pair's number. The number of slots is a
power of two; at most half of them are full.
"""

import numpy as np
from numpy.typing import NDArray

from any2vec.llvm.compiled import njit

__all__ = ["HALF", "ONE", "TWO", "find", "hash_pair", "pack", "put"]

PRIME, HALF, ONE, TWO = np.uint64(0x9E3779B97F4A7C15), np.uint64(32), np.uint64(1), np.uint64(2)


@njit(nogil=True, cache=True)
def pack(first: int, second: int) -> np.uint64:
    """Pack two ids in 64 bits."""
    return np.uint64((np.uint64(first) << HALF) | np.uint64(second))


@njit(nogil=True, cache=True)
def hash_pair(pair: np.uint64) -> np.uint64:
    """Hash two ids, packed in 64 bits; the highest bits are the best."""
    hashed = (pair ^ (pair >> HALF)) * PRIME
    return np.uint64((hashed ^ (hashed >> HALF)) * PRIME)


@njit(nogil=True, cache=True)
def find(pair: np.uint64, hashed: np.uint64, slots: NDArray[np.uint64]) -> int:
    """Return the number of a pair, whose hash is given; -1 if it is not in the table."""
    mask = np.uint64(slots.size - 2)
    slot = (hashed >> HALF) & mask
    while slots[slot] != 0:
        if slots[slot] == pair + ONE:
            return int(np.int64(slots[slot + ONE]))
        slot = (slot + TWO) & mask
    return -1


@njit(nogil=True, cache=True)
def put(pair: np.uint64, hashed: np.uint64, number: int, slots: NDArray[np.uint64]) -> None:
    """Add a pair that is not in the table, and its number."""
    mask = np.uint64(slots.size - 2)
    slot = (hashed >> HALF) & mask
    while slots[slot] != 0:
        slot = (slot + TWO) & mask
    slots[slot], slots[slot + ONE] = pair + ONE, np.uint64(number)
