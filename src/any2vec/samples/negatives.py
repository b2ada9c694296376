"""The distribution of negative samples: unigram counts to a power, drawn in one table look-up."""

from typing import Any

import numpy as np
from numba import int64, uint64
from numpy.typing import NDArray

from any2vec.llvm.compiled import njit

__all__ = ["POWER", "alias_table", "negative", "probabilities", "share_columns"]

POWER = 0.75
"""Usual exponent of the counts (Mikolov et al. 2013, "Distributed representations of words and phrases", 2.2)."""


def probabilities(counts: NDArray[Any], power: float = POWER, many: Any = 1) -> NDArray[np.float64]:
    """Return each vertex's probability of being drawn as a negative; shape (V,).

    It grows with the `power` of the counts; a vertex without any is never drawn. If `counts` are those of groups,
    `many` has the number of vertices of each, and the probabilities are those of the groups.
    """
    weights = np.where(counts > 0, counts, 1.0) ** power * many
    weights[counts == 0] = 0  # of an earlier text, in which it is not known how often it occurred
    return weights / weights.sum()


def alias_table(p: NDArray[np.float64]) -> NDArray[np.uint64]:
    """Make Walker's alias table of V < 2^32 probabilities, of 8 bytes each: it fits in L2 where word2vec's has 40 MB.

    Entry i has its alias in the low half, and in the high half the threshold up to which column i is i's own. Each
    column's share is exact to 2^-32 / V.
    """
    threshold, alias, order = np.empty(p.size), np.empty(p.size, np.int64), np.empty(p.size, np.int64)
    share_columns(p * p.size, threshold, alias, order)
    high = np.minimum(threshold * 2.0**32, 2.0**32 - 1).astype(np.uint64)
    return (high << np.uint64(32)) | alias.astype(np.uint64)


@njit(nogil=True, cache=True)
def share_columns(left: Any, threshold: Any, alias: Any, order: Any) -> None:
    """Make n columns of height 1 of n shares, `left`, whose mean is 1 (Vose's method); `left` and `order` are scratch.

    Column i is i's own up to ``threshold[i]``, and that of ``alias[i]`` from there on.
    """
    smalls, larges = 0, left.size  # in `order`, small ones from the front, large ones from the back
    for i in range(left.size):
        threshold[i], alias[i] = 1.0, i
        if left[i] < 1.0:
            order[smalls] = i
            smalls += 1
        else:
            larges -= 1
            order[larges] = i
    while smalls > 0 and larges < left.size:
        smalls -= 1
        low, high = order[smalls], order[larges]
        threshold[low], alias[low] = left[low], high
        left[high] -= 1.0 - left[low]
        if left[high] < 1.0:
            larges += 1
            order[smalls] = high
            smalls += 1


@njit(inline="always")
def negative(bits: int, table: NDArray[np.uint64]) -> int:
    """Draw an id from 64 random bits, whose fraction times V is a column and a height in it."""
    size = uint64(table.size)
    place = (bits >> uint64(32)) * size + (((bits & uint64(0xFFFFFFFF)) * size) >> uint64(32))
    column = int64(place >> uint64(32))
    entry = table[column]
    aliased = int64((place & uint64(0xFFFFFFFF)) > (entry >> uint64(32)))  # no branch: it could not be predicted
    return column + aliased * (int64(entry & uint64(0xFFFFFFFF)) - column)
