"""The sum of what hosts added: too much where they agree, so that training may diverge (GraphAny2Vec, section 4)."""

from typing import Any

import numpy as np
from numba import float32, njit
from numpy.typing import NDArray

from any2vec.sync.combiners.base import Combiner

__all__ = ["Sum", "scaled_sum"]


@njit(nogil=True, fastmath=True, cache=True)
def scaled_sum(parts: Any, starts: Any, scale: float, out: Any) -> None:
    """Write ``scale`` times the sum of each row's parts."""
    factor = float32(scale)
    for i in range(starts.size - 1):
        out[i] = 0
        for j in range(starts[i], starts[i + 1]):
            for d in range(out.shape[1]):
                out[i, d] += parts[j, d]
        for d in range(out.shape[1]):
            out[i, d] *= factor


class Sum(Combiner):
    """What all hosts added, added up."""

    def combine(
        self,
        label: str,
        parts: NDArray[np.float32],
        starts: NDArray[np.int64],
        updates: NDArray[np.int32],
        out: NDArray[np.float32],
    ) -> None:
        """Add the parts up."""
        scaled_sum(parts, starts, 1.0, out)
