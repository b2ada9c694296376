"""Large arrays of zeros in huge pages, whose memory goes back to the system at once."""

import mmap
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["zeros"]

_HUGE_PAGE = 1 << 21


def zeros(shape: int | tuple[int, ...], kind: type[np.generic], *, whole: bool = True) -> NDArray[Any]:
    """Return zeros that begin on a page boundary; pages cost memory only once they are written.

    What threads get from malloc mostly stays with the process; these pages go as soon as the array does. From 2 MiB on
    they are huge ones, where the system has them: a hundredth of the page faults, and fewer address look-ups. Pass
    ``whole=False`` for an array that may stay mostly unused.
    """
    count = int(np.prod(shape, dtype=object))
    size = count * np.dtype(kind).itemsize
    huge = whole and size >= _HUGE_PAGE and hasattr(mmap, "MADV_HUGEPAGE")
    length = size + _HUGE_PAGE if huge else max(size, 1)
    if not hasattr(mmap, "MAP_PRIVATE"):  # Windows
        return np.frombuffer(mmap.mmap(-1, length), kind, count).reshape(shape)
    pages = mmap.mmap(-1, length, flags=mmap.MAP_PRIVATE | mmap.MAP_ANON)  # shared, as by default, pages are small
    skip = 0
    if huge:
        with suppress(OSError):  # a kernel may be built without
            pages.madvise(mmap.MADV_HUGEPAGE)
        skip = -np.frombuffer(pages, np.uint8).ctypes.data % _HUGE_PAGE
    return np.frombuffer(pages, kind, count, skip).reshape(shape)
