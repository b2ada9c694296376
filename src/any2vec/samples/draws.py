"""Counter-based random draws: every draw is a pure function of what it is for, never of a running state.

So the samples are the same for any number of hosts, threads and rounds (ARCHITECTURE, invariant 1). The mixer
is splitmix64's (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014).
"""

import numpy as np
from numba import njit, uint64
from numpy.typing import NDArray

_GOLDEN = 0x9E3779B97F4A7C15

KEEP = 0
"""Stream of subsampling."""

NEGATIVES = 1
"""Stream of window sizes and negatives."""

INITIAL = 2
"""Stream of initial vectors."""

WALKS = 3
"""Stream of random walks."""

POOL = 4
"""Stream of pools of negatives."""

DOCUMENTS = 5
"""Stream of initial vectors of documents."""

HELD_OUT = 6
"""Stream of what is left out of training."""

ORDER = 7
"""Stream of the order of blocks of the text."""


@njit(inline="always")
def mix(x: int) -> int:
    """Scatter 64 bits over 64 bits (splitmix64's finalizer; a bijection)."""
    x = (x ^ (x >> uint64(30))) * uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> uint64(27))) * uint64(0x94D049BB133111EB)
    return x ^ (x >> uint64(31))


@njit(inline="always")
def draw(key: int, counter: int) -> int:
    """64 random bits: number `counter` of the stream `key`."""
    return mix(uint64(key) + (uint64(counter) + uint64(1)) * uint64(_GOLDEN))


@njit(inline="always")
def below(bits: int, n: int) -> int:
    """Scale the high 32 of 64 random bits to 0..n-1; n at most 2^32."""
    return ((bits >> uint64(32)) * uint64(n)) >> uint64(32)


def epoch_key(seed: int, epoch: int, stream: int) -> int:
    """Key, 64 bits, of one stream of draws in one epoch; the low 64 bits of the seed count."""
    key = int(seed) & 0xFFFFFFFFFFFFFFFF
    for part in (epoch, stream):
        key = _mix((key + (part + 1) * _GOLDEN) & 0xFFFFFFFFFFFFFFFF)
    return key


def shifted(key: int, first: int) -> int:
    """Key whose draw i is draw ``first + i`` of `key`: a host counts positions from where its part begins."""
    return (key + first * _GOLDEN) & 0xFFFFFFFFFFFFFFFF


def _mix(x: int) -> int:
    """Do `mix` in Python's integers."""
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & 0xFFFFFFFFFFFFFFFF
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & 0xFFFFFFFFFFFFFFFF
    return x ^ (x >> 31)


def permutation(key: int, n: int) -> NDArray[np.int64]:
    """Draw an order of 0..n-1: that of n draws of a stream."""
    return np.argsort(np.array([_mix(shifted(key, i + 1)) for i in range(n)], np.uint64), kind="stable")
