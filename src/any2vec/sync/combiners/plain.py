"""Combiners without a model of the loss: the sum, the average, Adasum, and the Gradient Combiner of the papers."""

from typing import Any

import numpy as np
from numba import float32
from numpy.typing import NDArray

from any2vec.llvm.compiled import njit
from any2vec.operators.tiles import copy
from any2vec.sync.combiners.base import PartsCombiner, SumCombiner


@njit(nogil=True, fastmath=True, error_model="numpy", cache=True)
def _adasum(parts: Any, starts: Any, out: Any) -> None:
    for i in range(starts.size - 1):
        out[i] = 0
        for j in range(starts[i], starts[i + 1]):
            dot = float32(0.0)
            mine = float32(0.0)
            theirs = float32(0.0)
            for d in range(out.shape[1]):
                dot += out[i, d] * parts[j, d]
                mine += out[i, d] * out[i, d]
                theirs += parts[j, d] * parts[j, d]
            keep = add = float32(1.0)
            if mine > 0 and theirs > 0:
                keep -= dot / (float32(2.0) * mine)
                add -= dot / (float32(2.0) * theirs)
            for d in range(out.shape[1]):
                out[i, d] = keep * out[i, d] + add * parts[j, d]


class Adasum(PartsCombiner):
    """Both sides give up half of their projection on each other: the sum if orthogonal, the average if parallel."""

    def combine(
        self,
        which: str,
        parts: NDArray[np.float32],
        starts: NDArray[np.int64],
        updates: NDArray[np.int32],
        out: NDArray[np.float32],
    ) -> None:
        """Combine pairwise, in host order."""
        _adasum(parts, starts, out)


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


@njit(nogil=True, fastmath=True, error_model="numpy")
def gradient_row(parts: Any, out: Any) -> None:
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


@njit(nogil=True, cache=True)
def _orthogonal(parts: Any, starts: Any, out: Any) -> None:
    for i in range(starts.size - 1):
        if starts[i] < starts[i + 1]:
            gradient_row(parts[starts[i] : starts[i + 1]], out[i])
        else:
            out[i] = 0


class Gradient(PartsCombiner):
    """The Gradient Combiner (GraphAny2Vec, section 4): add only the part orthogonal to the sum so far."""

    def combine(
        self,
        which: str,
        parts: NDArray[np.float32],
        starts: NDArray[np.int64],
        updates: NDArray[np.int32],
        out: NDArray[np.float32],
    ) -> None:
        """Project and add."""
        _orthogonal(parts, starts, out)
