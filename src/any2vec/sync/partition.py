"""Which host has the master of each vertex: contiguous ranges of V (GraphAny2Vec, section 3.2)."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

__all__ = ["MOST", "Partition"]

MOST = 2
"""Times its even share of the vertices that a host has, at most."""


@dataclass(frozen=True, eq=False)
class Partition:
    """The masters of V vertices, partitioned among H hosts.

    Attributes
    ----------
    bounds : int64 array, shape (H + 1,)
        Host h has the masters of vertices ``bounds[h]`` .. ``bounds[h + 1] - 1``.
    """

    bounds: NDArray[np.int64]

    @classmethod
    def even(cls, vertices: int, hosts: int) -> Self:
        """Give each host as many vertices."""
        return cls(np.arange(hosts + 1, dtype=np.int64) * vertices // hosts)

    @classmethod
    def by_use(cls, use: NDArray[np.float64], hosts: int, many: NDArray[Any] | None = None) -> Self:
        """Give each host vertices of as much use in all, but no more than twice as many as the others in the mean.

        `use`, shape (V,), is how often hosts touch each vertex: it falls, more or less. If an item of it is of several
        vertices, `many` has how many. All hosts wait for the one that sends and receives most. With equal ranges that
        is the first, as the vertices of small ids are the most frequent.
        """
        ends = np.arange(len(use) + 1.0) if many is None else np.append(0.0, np.cumsum(many))
        done = np.append(0.0, np.cumsum(use if many is None else use * many))
        bounds = np.zeros(hosts + 1, np.int64)
        bounds[hosts] = end = round(ends[-1])
        most = -(-MOST * end // hosts)
        for host in range(hosts - 1, 0, -1):  # the last have the rarest
            left = float(np.interp(end, ends, done))
            begin = round(float(np.interp(left * host / (host + 1), done, ends)))
            bounds[host] = end = min(max(begin, end - most), end, host * most)
        return cls(bounds)

    @property
    def vertices(self) -> int:
        """V."""
        return int(self.bounds[-1])

    @property
    def hosts(self) -> int:
        """H."""
        return len(self.bounds) - 1

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Vertices of each host; shape (H,)."""
        return np.diff(self.bounds)

    def range(self, host: int) -> tuple[int, int]:
        """Return the first vertex of a host, and the one after its last."""
        return int(self.bounds[host]), int(self.bounds[host + 1])

    def counts(self, ids: NDArray[np.int32]) -> NDArray[np.int64]:
        """Count, per host, the masters of some vertices in rising order; shape (H,)."""
        return np.diff(np.searchsorted(ids, self.bounds))
