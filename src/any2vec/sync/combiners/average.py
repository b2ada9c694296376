"""The average over all hosts, those too that did not touch the row (DMTK's; GraphAny2Vec, section 5.1)."""

import numpy as np
from numpy.typing import NDArray

from any2vec.sync.combiners.base import Combiner
from any2vec.sync.combiners.sum import scaled_sum

__all__ = ["Average"]


class Average(Combiner):
    """The sum of what hosts added, divided by the number of all hosts."""

    def combine(
        self,
        label: str,
        parts: NDArray[np.float32],
        starts: NDArray[np.int64],
        updates: NDArray[np.int32],
        out: NDArray[np.float32],
    ) -> None:
        """Average the parts."""
        scaled_sum(parts, starts, 1.0 / self.setting.communicator.size, out)
