"""Large arrays that give their memory back."""

import mmap
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["zeros"]


def zeros(size: int, kind: type[np.generic]) -> NDArray[Any]:
    """Return zeros in memory pages of their own.

    The pages cost nothing before they are used, and the system has them back as soon as the array goes; what
    threads get from malloc mostly stays with the process.

    Parameters
    ----------
    size : int
        Length of the array.
    kind : type
        Its dtype.

    Returns
    -------
    array, shape (size,)
        Begins at a page.
    """
    pages = mmap.mmap(-1, max(size, 1) * np.dtype(kind).itemsize)
    return np.frombuffer(pages, kind, size)
