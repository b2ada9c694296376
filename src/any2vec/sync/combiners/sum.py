"""The sum of what hosts added: too much where they agree, so that training may diverge (GraphAny2Vec, section 4)."""

import numpy as np
from numpy.typing import NDArray

from any2vec.sync.combiners.base import SumCombiner

__all__ = ["Sum"]


class Sum(SumCombiner):
    """What all hosts added, added up."""

    def scale(
        self, which: str, sums: NDArray[np.float32], hosts: NDArray[np.int32], updates: NDArray[np.int64]
    ) -> None:
        """Leave the sums as they are."""
