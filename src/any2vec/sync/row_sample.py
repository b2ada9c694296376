"""A stratified sample of vertices: all of the hottest, which are updated most, and ever fewer of the others."""

from typing import Any

import numpy as np

from any2vec.llvm.compiled import njit

__all__ = ["row_sample"]


@njit(nogil=True, cache=True)
def row_sample(first: int, n: int, number: int, hottest: int) -> Any:
    """Choose some of the vertices first..first+n-1; return their rows, counted from `first`, and how many each is for.

    All of the `hottest` are there, one in two of as many after them, one in four of twice as many, and so on.
    Which these are changes with `number`.
    """
    most = min(n, 32 * hottest)
    rows, weights = np.empty(most, np.int64), np.empty(most, np.float32)
    found, low, high, one_of = 0, 0, hottest, 1
    while low < first + n:
        begin = max(low, first)
        for vertex in range(begin + -(begin + number) % one_of, min(high, first + n), one_of):
            rows[found], weights[found] = vertex - first, one_of
            found += 1
        low, high, one_of = high, 2 * high, 2 * one_of
    return rows[:found].copy(), weights[:found].copy()
