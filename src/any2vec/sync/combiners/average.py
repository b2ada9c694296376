"""The average over all hosts, those too that did not touch the row (DMTK's; GraphAny2Vec, section 5.1)."""

import numpy as np
from numpy.typing import NDArray

from any2vec.sync.combiners.base import SumCombiner

__all__ = ["Average"]


class Average(SumCombiner):
    """The sum of what hosts added, divided by the number of all hosts."""

    def scale(
        self, which: str, sums: NDArray[np.float32], hosts: NDArray[np.int32], updates: NDArray[np.int64]
    ) -> None:
        """Divide by the number of hosts."""
        sums *= np.float32(1.0 / self.context.channel.communicator.size)
