"""Which columns of e and t a host has, and where they lie in its rows."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from any2vec.operators.matrices import padded_width

__all__ = ["ColumnLayout"]

_BLOCKS = 8  # H that divides it gives the bits of one host


@dataclass(frozen=True)
class ColumnLayout:
    """D columns in blocks, some for each of H hosts; all blocks of all hosts have the same padded width.

    There are eight blocks, or one for each host if H does not divide 8. A score is the sum over blocks in a tree
    (`operators.columns`): with 1, 2, 4 and 8 hosts it is the same tree.
    """

    dim: int
    hosts: int

    @property
    def blocks(self) -> int:
        """Blocks of a host."""
        return max(1, _BLOCKS // self.hosts) if _BLOCKS % self.hosts == 0 else 1

    @property
    def block(self) -> int:
        """Floats of a block, padded."""
        return padded_width(-(-self.dim // (self.blocks * self.hosts)))

    @property
    def width(self) -> int:
        """Floats of a host's row."""
        return self.block * self.blocks

    def put(self, host: int, rows: NDArray[np.float32], out: NDArray[np.float32]) -> None:
        """Copy a host's columns of whole rows to its own."""
        for own, whole in self._spans(host):
            out[:, own] = rows[:, whole]

    def take(self, host: int, own_rows: NDArray[np.float32], out: NDArray[np.float32]) -> None:
        """Copy a host's columns to whole rows."""
        for own, whole in self._spans(host):
            out[:, whole] = own_rows[:, own]

    def _spans(self, host: int) -> list[tuple[slice, slice]]:
        """Return a host's blocks, as slices of its own rows and of whole ones."""
        count = self.blocks * self.hosts
        bounds = [self.dim * k // count for k in range(count + 1)]
        found = []
        for k in range(self.blocks):
            low, high = bounds[host * self.blocks + k : host * self.blocks + k + 2]
            found.append((slice(k * self.block, k * self.block + high - low), slice(low, high)))
        return found
