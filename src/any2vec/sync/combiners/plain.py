"""Combiners without a model of the loss: the sum, the average, Adasum, and the Gradient Combiner of the papers."""

from typing import Any

import numpy as np
from numba import float32, njit
from numpy.typing import NDArray

from any2vec.operators.tiles import copy
from any2vec.sync.combiners.base import RowCombiner, SumCombiner


class Average(SumCombiner):
    """The sum of what hosts added, divided by the number of all hosts."""

    def scale(
        self, which: str, sums: NDArray[np.float32], hosts: NDArray[np.int32], updates: NDArray[np.int64]
    ) -> None:
        """Divide by the number of hosts."""
        sums *= np.float32(1.0 / self.context.channel.communicator.size)


class Sum(SumCombiner):
    """What all hosts added, added up."""

    def scale(
        self, which: str, sums: NDArray[np.float32], hosts: NDArray[np.int32], updates: NDArray[np.int64]
    ) -> None:
        """Leave the sums as they are."""


@njit(fastmath=True, error_model="numpy", forceinline=True)
def gradient_row(parts: Any, updates: Any, out: Any) -> None:
    """Combine the parts of one row: GC(g1, .., gk) = GC(gk, .., GC(g2, g1)), Eq. 8 applied in host order."""
    copy(out, parts[0], out.size)
    for j in range(1, parts.shape[0]):
        dot = float32(0.0)
        norm = float32(0.0)
        for d in range(out.size):
            dot += out[d] * parts[j, d]
            norm += out[d] * out[d]
        share = dot / norm if norm > 0 else float32(0.0)
        for d in range(out.size):
            out[d] += parts[j, d] - share * out[d]


class Gradient(RowCombiner):
    """The Gradient Combiner (GraphAny2Vec, section 4): add only the part orthogonal to the sum so far."""

    row = staticmethod(gradient_row)


@njit(fastmath=True, error_model="numpy")
def _adasum_row(parts: Any, updates: Any, out: Any) -> None:
    """Combine the parts of one row pairwise, in host order."""
    out[:] = 0
    for j in range(parts.shape[0]):
        dot = float32(0.0)
        mine = float32(0.0)
        theirs = float32(0.0)
        for d in range(out.size):
            dot += out[d] * parts[j, d]
            mine += out[d] * out[d]
            theirs += parts[j, d] * parts[j, d]
        keep = add = float32(1.0)
        if mine > 0 and theirs > 0:
            keep -= dot / (float32(2.0) * mine)
            add -= dot / (float32(2.0) * theirs)
        for d in range(out.size):
            out[d] = keep * out[d] + add * parts[j, d]


class Adasum(RowCombiner):
    """Both sides give up half of their projection on each other: the sum if orthogonal, the average if parallel."""

    row = staticmethod(_adasum_row)
