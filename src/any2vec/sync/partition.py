"""Which host has the master of each vertex: V is cut into equal contiguous ranges (GraphAny2Vec, section 3.2)."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Partition"]


@dataclass(frozen=True)
class Partition:
    """V vertices, cut among H hosts.

    Attributes
    ----------
    vertices, hosts : int
        V and H.
    """

    vertices: int
    hosts: int

    @property
    def bounds(self) -> NDArray[np.int64]:
        """Host h has the masters of vertices ``bounds[h]`` .. ``bounds[h + 1] - 1``; shape (H + 1,)."""
        return np.arange(self.hosts + 1, dtype=np.int64) * self.vertices // self.hosts

    def range(self, host: int) -> tuple[int, int]:
        """First vertex of a host, and the one after its last."""
        return self.vertices * host // self.hosts, self.vertices * (host + 1) // self.hosts

    def counts(self, ids: NDArray[np.int32]) -> NDArray[np.int64]:
        """How many of some vertices, in rising order, each host has the masters of; shape (H,)."""
        return np.diff(np.searchsorted(ids, self.bounds))
