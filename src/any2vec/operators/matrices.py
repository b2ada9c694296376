"""The matrices of all vertices: embedding vectors e and training vectors t."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import float32, uint64
from numpy.typing import NDArray

from any2vec.errors import Any2VecError
from any2vec.io.memory import largest, release
from any2vec.io.memory import zeros as pages
from any2vec.llvm.compiled import njit
from any2vec.operators.tiles import ROW_ALIGNMENT
from any2vec.samples.draws import DOCUMENTS, INITIAL, draw, epoch_key


@dataclass(frozen=True, eq=False)
class Matrices:
    """Matrices of some vertices, one row each."""

    # (rows, padded): The rows of vertices first..first+vertices-1, and perhaps the threads' copies of hot rows behind
    # them. Columns from D on are zeros and stay so
    e: NDArray[np.float32]
    t: NDArray[np.float32]
    first: int  # the first vertex, and their number
    vertices: int
    dim: int  # D
    # (documents, padded): The rows of this host's documents, if there are any, which lie apart
    documents: NDArray[np.float32] | None = None

    @property
    def embedding(self) -> NDArray[np.float32]:
        """The embedding vectors, a view of shape (vertices, D)."""
        return self.e[: self.vertices, : self.dim]

    @property
    def training(self) -> NDArray[np.float32]:
        """The training vectors, a view of shape (vertices, D)."""
        return self.t[: self.vertices, : self.dim]

    def range(self, first: int, last: int) -> "Matrices":
        """Return the matrices of vertices first..last-1, as views."""
        rows = slice(first - self.first, last - self.first)
        return Matrices(self.e[rows], self.t[rows], first, last - first, self.dim)

    def copy(self) -> "Matrices":
        """Copy the rows of the vertices."""
        e, t = (zeros(self.vertices, self.dim) for _ in range(2))
        e[:], t[:] = self.e[: self.vertices], self.t[: self.vertices]
        return Matrices(e, t, self.first, self.vertices, self.dim)

    def release(self) -> None:
        """Give back the memory of matrices that `zeros` made and nobody needs any more."""
        for matrix in (self.e, self.t):
            release(matrix, 0, len(matrix))

    def largest(self, rows: int | None = None) -> float:
        """Return the largest magnitude in the first `rows` vertices here, or in all; NaN if there is one."""
        last = self.vertices if rows is None else min(rows, self.vertices)
        apart = 0.0 if self.documents is None else largest(self.documents)
        return float(np.max([apart, largest(self.e[:last]), largest(self.t[:last])]))


def padded_width(dim: int) -> int:
    """Floats in a row of D floats: the next multiple of `tiles.ROW_ALIGNMENT`."""
    return -(-dim // ROW_ALIGNMENT) * ROW_ALIGNMENT


def new_matrices(first: int, last: int, dim: int, *, copies: int = 0, seed: int = 1) -> Matrices:
    """Make the matrices of vertices first..last-1 as word2vec starts: e uniform in (-1/2D, 1/2D), t zero.

    A row of `e` is a function of the seed and its id. `copies` rows lie behind those of the vertices.
    """
    rows = last - first + copies
    e, t = (zeros(rows, dim) for _ in range(2))
    _fill(e, first, last, dim, np.uint64(epoch_key(seed, 0, INITIAL)))
    return Matrices(e, t, first, last - first, dim)


def new_documents(first: int, last: int, dim: int, *, seed: int = 1) -> NDArray[np.float32]:
    """Make rows of documents first..last-1 of W, each a function of the seed and its number, as those of e."""
    rows = zeros(last - first, dim)
    _fill(rows, first, last, dim, np.uint64(epoch_key(seed, 0, DOCUMENTS)))
    return rows


def zeros(rows: int, dim: int, kind: type[np.generic] = np.float32, *, padded: bool = True) -> NDArray[Any]:
    """Allocate rows of zeros for D numbers on a page boundary; raise an error if memory does not suffice."""
    width = padded_width(dim) if padded else dim
    try:
        return pages((rows, width), kind)
    except (OSError, MemoryError, OverflowError, ValueError) as error:
        need = 2 * rows * width * 4 / 2**30
        raise Any2VecError(
            f"{rows:,} words of {dim} dimensions need {need:.1f} GiB of memory, more than there is: "
            "choose a smaller `dim`, a larger `min_count` or a `max_size`"
        ) from error


@njit(nogil=True, cache=True)
def _fill(e: NDArray[np.float32], first: int, last: int, dim: int, key: int) -> None:
    for i in range(first, last):
        for d in range(dim):
            share = np.float64(draw(key, uint64(i) * uint64(dim) + uint64(d)) >> uint64(11)) / 2.0**53
            e[i - first, d] = float32((share - 0.5) / dim)
