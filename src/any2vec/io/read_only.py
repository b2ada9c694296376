"""Read-only arrays: compiled kernels take these and arrays that can be written for different types."""

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

__all__ = ["read_only"]

T = TypeVar("T", bound=np.generic)


def read_only(array: NDArray[T]) -> NDArray[T]:
    """Return a plain view of an array that cannot be written through: one compiled kernel serves all."""
    view = array.view(np.ndarray)
    view.flags.writeable = False
    return view
