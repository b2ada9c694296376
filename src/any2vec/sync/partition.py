"""Which host has the master of each vertex: equal contiguous ranges of V (GraphAny2Vec, section 3.2)."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Partition"]


@dataclass(frozen=True)
class Partition:
    """The masters of V vertices, partitioned among H hosts."""

    vertices: int
    hosts: int

    @property
    def bounds(self) -> NDArray[np.int64]:
        """Host h has the masters of vertices ``bounds[h]`` .. ``bounds[h + 1] - 1``; shape (H + 1,)."""
        return np.arange(self.hosts + 1, dtype=np.int64) * self.vertices // self.hosts

    def range(self, host: int) -> tuple[int, int]:
        """Return the first vertex of a host, and the one after its last."""
        return self.vertices * host // self.hosts, self.vertices * (host + 1) // self.hosts

    def counts(self, ids: NDArray[np.int32]) -> NDArray[np.int64]:
        """Count, per host, the masters of some vertices in rising order; shape (H,)."""
        return np.diff(np.searchsorted(ids, self.bounds))
