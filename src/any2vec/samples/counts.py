"""Sums of counts: given ones may be as large as int64 holds, and their sum larger."""

import numpy as np
from numpy.typing import NDArray

from any2vec.errors import Any2VecError

__all__ = ["total_of"]

_MOST = 1 << 62  # as many again may be counted on from there


def total_of(counts: NDArray[np.int64], what: str = "counts") -> int:
    """Return the sum of counts, which must be below 2^62; `what` they are, for the error."""
    found = float(counts.sum(dtype=np.float64))
    if found >= _MOST:
        largest = int(counts.max())
        raise Any2VecError(f"{what} sum up to {found:.3g}, the largest is {largest:,}; their sum must be below 2^62")
    return int(counts.sum())
