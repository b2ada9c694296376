"""node2vec+: which edges of a weighted graph count as edges, and how much.

An edge is loose if it weighs less than the mean and `gamma` standard deviations of the weights at the vertex that
judges it. Coming from w, vertex c judges its edges c -> x, and x judges the edge w -> x (Liu, Hirn and Krishnan,
"Accurately modeling biased random walks on weighted networks using node2vec+", Bioinformatics 2023, and PecanPy).
"""

import numpy as np
from numba import uint64
from numpy.typing import NDArray

from any2vec.llvm.compiled import njit

__all__ = ["LOOSE", "in_out", "levels", "marked"]

LOOSE = 31
"""Bit of a neighbour's id that is set if the edge to it is loose; ids leave it free."""


@njit(nogil=True, cache=True)
def levels(indptr: NDArray[np.int64], weights: NDArray[np.float32], gamma: float) -> NDArray[np.float32]:
    """Return of each vertex the mean weight of its edges, and the weight below which it finds an edge loose.

    Items 2 v and 2 v + 1 are those of v. Without edges they are 0.
    """
    found = np.zeros(2 * indptr.size, np.float32)
    for v in range(indptr.size - 1):
        row = weights[indptr[v] : indptr[v + 1]]
        if row.size == 0:
            continue
        mean = 0.0  # of equal weights it is exactly theirs
        for weight in row:
            mean += float(weight)
        mean /= row.size
        squares = 0.0
        for weight in row:
            squares += (float(weight) - mean) ** 2
        found[2 * v] = mean
        found[2 * v + 1] = max(0.0, mean + gamma * np.sqrt(squares / row.size))
    return found


@njit(nogil=True, cache=True)
def marked(
    indptr: NDArray[np.int64], indices: NDArray[np.int32], weights: NDArray[np.float32], found: NDArray[np.float32]
) -> NDArray[np.uint32]:
    """Return the neighbours, with the bit `LOOSE` of those that their vertex has a loose edge to."""
    ids = np.empty(indices.size, np.uint32)
    for v in range(indptr.size - 1):
        for i in range(indptr[v], indptr[v + 1]):
            ids[i] = uint64(indices[i]) | (uint64(weights[i] < found[2 * v + 1]) << uint64(LOOSE))
    return ids


@njit(inline="always")
def in_out(other: float, level: float, loose: bool, away: float) -> float:
    """Factor of an edge c -> x, from 1/q (`away`) to 1.

    `other` is the weight of w -> x, 0 if there is no such edge, and `level` where x finds it loose; `loose`, whether c
    finds its own edge so.
    """
    if other > 0.0 and other >= level:
        return 1.0
    if loose:
        return min(1.0, away)
    return away if other == 0.0 else away + (1.0 - away) * (float(other) / float(level))
