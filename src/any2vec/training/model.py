"""The labels of all vertices: embedding vectors e and training vectors t."""

import mmap
from dataclasses import dataclass

import numpy as np
from numba import float32, njit, uint64
from numpy.typing import NDArray

from any2vec.errors import Any2VecError
from any2vec.operators.tiles import ROW_ALIGNMENT
from any2vec.samples.draws import INITIAL, draw, epoch_key

__all__ = ["Model", "new_model"]

_HUGE_PAGE = 1 << 21
_CHECKED = 1 << 22  # floats looked at together


@dataclass(frozen=True, eq=False)
class Model:
    """Labels of V vertices, one row each, and room for mirrors behind them.

    Attributes
    ----------
    e, t : float32 array, shape (rows, padded), 64-byte aligned
        Rows 0..V-1 are the masters; columns from D on are zeros and stay so.
    vertices : int
        V.
    dim : int
        D.
    """

    e: NDArray[np.float32]
    t: NDArray[np.float32]
    vertices: int
    dim: int

    @property
    def embedding(self) -> NDArray[np.float32]:
        """The embedding vectors, a view of shape (V, D)."""
        return self.e[: self.vertices, : self.dim]

    @property
    def training(self) -> NDArray[np.float32]:
        """The training vectors, a view of shape (V, D)."""
        return self.t[: self.vertices, : self.dim]

    def is_finite(self, rows: int | None = None) -> bool:
        """Whether all values of the first `rows` vertices, or of all, are finite."""
        step = max(1, _CHECKED // self.e.shape[1])
        last = self.vertices if rows is None else min(rows, self.vertices)
        return all(
            bool(np.isfinite(label[first : min(first + step, last)]).all())
            for label in (self.e, self.t)
            for first in range(0, last, step)
        )


def new_model(vertices: int, dim: int, *, mirrors: int = 0, seed: int = 1) -> Model:
    """Make the labels as word2vec starts: e evenly in (-1/2D, 1/2D), t zero.

    Each row of `e` is a function of the seed and its id.

    Parameters
    ----------
    vertices, dim : int
        V and D.
    mirrors : int
        Rows to put behind the masters.
    seed : int
        The user's seed.

    Returns
    -------
    Model
        New labels.

    Raises
    ------
    Any2VecError
        If there is not enough memory.
    """
    padded = -(-dim // ROW_ALIGNMENT) * ROW_ALIGNMENT
    rows = vertices + mirrors
    try:
        e, t = _zeros(rows, padded), _zeros(rows, padded)
    except (OSError, MemoryError, OverflowError, ValueError) as error:
        need = 2 * rows * padded * 4 / 2**30
        raise Any2VecError(
            f"{vertices:,} words of {dim} dimensions need {need:.1f} GiB of memory, more than there is: "
            "choose a smaller dim, a larger min_count or a max_size"
        ) from error
    _fill(e, vertices, dim, np.uint64(epoch_key(seed, 0, INITIAL)))
    return Model(e, t, vertices, dim)


def _zeros(rows: int, columns: int) -> NDArray[np.float32]:
    """Fresh zeros on a page boundary; in huge pages where the system has them: fewer address look-ups."""
    size = rows * columns * 4
    if hasattr(mmap, "MAP_ANONYMOUS"):
        memory = mmap.mmap(-1, size + _HUGE_PAGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        if hasattr(mmap, "MADV_HUGEPAGE"):
            memory.madvise(mmap.MADV_HUGEPAGE)
    else:
        memory = mmap.mmap(-1, size + _HUGE_PAGE)
    flat = np.frombuffer(memory, np.float32)
    skip = (-flat.ctypes.data % _HUGE_PAGE) // 4
    return flat[skip : skip + rows * columns].reshape(rows, columns)


@njit(nogil=True, cache=True)
def _fill(e: NDArray[np.float32], vertices: int, dim: int, key: int) -> None:
    for i in range(vertices):
        for d in range(dim):
            share = np.float64(draw(key, uint64(i) * uint64(dim) + uint64(d)) >> uint64(11)) / 2.0**53
            e[i, d] = float32((share - 0.5) / dim)
