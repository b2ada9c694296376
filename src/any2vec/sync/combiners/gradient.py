"""The Gradient Combiner of the papers (GraphAny2Vec, section 4): add only the part orthogonal to the sum so far."""

from typing import Any

import numpy as np
from numba import float32
from numpy.typing import NDArray

from any2vec.llvm.compiled import njit
from any2vec.operators.tiles import copy
from any2vec.sync.combiners.base import PartsCombiner


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
def _combine(parts: Any, starts: Any, out: Any) -> None:
    for i in range(starts.size - 1):
        if starts[i] < starts[i + 1]:
            gradient_row(parts[starts[i] : starts[i + 1]], out[i])
        else:
            out[i] = 0


class Gradient(PartsCombiner):
    """Each host's part, less its projection on what is combined so far, in host order."""

    def combine(
        self,
        which: str,
        parts: NDArray[np.float32],
        starts: NDArray[np.int64],
        updates: NDArray[np.int32],
        out: NDArray[np.float32],
    ) -> None:
        """Project and add."""
        _combine(parts, starts, out)
