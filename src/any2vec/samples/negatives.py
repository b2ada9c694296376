"""The distribution of negative samples: unigram counts to the power 0.75, drawn in one table look-up."""

import numpy as np
from numba import int64, uint64
from numpy.typing import NDArray

from any2vec.llvm.compiled import njit

__all__ = ["alias_table", "negative", "probabilities"]

POWER = 0.75
"""Exponent of the counts (Mikolov et al. 2013, "Distributed representations of words and phrases", section 2.2)."""


def probabilities(counts: NDArray[np.int64], power: float = POWER) -> NDArray[np.float64]:
    """Compute each vertex's probability of being drawn as a negative.

    Parameters
    ----------
    counts : int64 array, shape (V,)
        Occurrences of each vertex.
    power : float
        Exponent of the counts.

    Returns
    -------
    float64 array, shape (V,)
        Sums to 1.
    """
    weights = counts.astype(np.float64) ** power
    return weights / weights.sum()


def alias_table(p: NDArray[np.float64]) -> NDArray[np.uint64]:
    """Walker's alias table of a distribution, V entries of 8 bytes: it fits in L2 where word2vec's has 40 MB.

    Parameters
    ----------
    p : float64 array, shape (V,)
        Probabilities; V below 2^32.

    Returns
    -------
    uint64 array, shape (V,)
        Entry i: in the low half its alias, in the high half the threshold up to which column i is i's own. Each
        column's share is exact to 2^-32 / V.
    """
    threshold, alias = _alias(p * p.size)
    high = np.minimum(threshold * 2.0**32, 2.0**32 - 1).astype(np.uint64)
    return (high << np.uint64(32)) | alias.astype(np.uint64)


@njit(cache=True)
def _alias(scaled: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Split the ids' shares, `scaled` (mean 1), into V columns of height 1 (Vose's method)."""
    n = scaled.size
    left = scaled.copy()
    threshold = np.ones(n)
    alias = np.arange(n)
    small = np.empty(n, np.int64)
    large = np.empty(n, np.int64)
    smalls = larges = 0
    for i in range(n):
        if left[i] < 1.0:
            small[smalls] = i
            smalls += 1
        else:
            large[larges] = i
            larges += 1
    while smalls and larges:
        smalls -= 1
        low, high = small[smalls], large[larges - 1]
        threshold[low] = left[low]
        alias[low] = high
        left[high] -= 1.0 - left[low]
        if left[high] < 1.0:
            larges -= 1
            small[smalls] = high
            smalls += 1
    return threshold, alias


@njit(inline="always")
def negative(bits: int, table: NDArray[np.uint64]) -> int:
    """Draw an id from 64 random bits, whose fraction times V is a column and a height in it."""
    size = uint64(table.size)
    place = (bits >> uint64(32)) * size + (((bits & uint64(0xFFFFFFFF)) * size) >> uint64(32))
    column = int64(place >> uint64(32))
    entry = table[column]
    aliased = int64((place & uint64(0xFFFFFFFF)) > (entry >> uint64(32)))  # no branch: it could not be predicted
    return column + aliased * (int64(entry & uint64(0xFFFFFFFF)) - column)
