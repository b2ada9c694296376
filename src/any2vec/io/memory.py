"""Large arrays that give their memory back."""

import mmap
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["zeros"]

_LARGE = 1 << 22  # bytes from which on huge pages are asked for, as NumPy does: a hundredth of the page faults


def zeros(size: int, kind: type[np.generic], *, whole: bool = True) -> NDArray[Any]:
    """Return zeros in memory pages of their own.

    The pages cost nothing before they are used, and the system has them back as soon as the array goes; what
    threads get from malloc mostly stays with the process.

    Parameters
    ----------
    size : int
        Length of the array.
    kind : type
        Its dtype.
    whole : bool
        Whether most of it will be used: if not, a large one is in small pages.

    Returns
    -------
    array, shape (size,)
        Begins at a page.
    """
    length = max(size, 1) * np.dtype(kind).itemsize
    if not hasattr(mmap, "MAP_PRIVATE"):  # Windows
        return np.frombuffer(mmap.mmap(-1, length), kind, size)
    pages = mmap.mmap(-1, length, flags=mmap.MAP_PRIVATE | mmap.MAP_ANON)  # shared, as by default, pages are small
    if whole and length >= _LARGE and hasattr(mmap, "MADV_HUGEPAGE"):
        with suppress(OSError):  # a kernel may be built without
            pages.madvise(mmap.MADV_HUGEPAGE)
    return np.frombuffer(pages, kind, size)
