"""The matrices e and t, and the copies of their hot rows that threads have."""

from dataclasses import dataclass
from typing import Any, NamedTuple, Self

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


def new_matrices(first: int, last: int, dim: int, *, copies: int = 0, seed: int = 1, scale: float = 1.0) -> Matrices:
    """Make the matrices of vertices first..last-1 as word2vec starts: e uniform in (-1/2D, 1/2D), t zero.

    A row of `e` is a function of the seed and its id, times the `scale`. `copies` rows lie behind those of the
    vertices.
    """
    rows = last - first + copies
    e, t = (zeros(rows, dim) for _ in range(2))
    _fill(e, first, last, dim, np.uint64(epoch_key(seed, 0, INITIAL)), scale)
    return Matrices(e, t, first, last - first, dim)


def new_documents(first: int, last: int, dim: int, *, seed: int = 1) -> NDArray[np.float32]:
    """Make rows of documents first..last-1 of W, each a function of the seed and its number, as those of e."""
    rows = zeros(last - first, dim)
    _fill(rows, first, last, dim, np.uint64(epoch_key(seed, 0, DOCUMENTS)), 1.0)
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
def _fill(e: NDArray[np.float32], first: int, last: int, dim: int, key: int, scale: float) -> None:
    for i in range(first, last):
        for d in range(dim):
            share = np.float64(draw(key, uint64(i) * uint64(dim) + uint64(d)) >> uint64(11)) / 2.0**53
            e[i - first, d] = float32((share - 0.5) * scale / dim)


_WINDOWS = 256
"""Windows whose updates of a row no thread has merged, about (measured: benchmarks/log/threads.md)."""

_LARGEST_BLOCK = 256  # rows that one thread merges while others have to merge other ones
_RARELY = 1e-9  # updates for a position: as good as none
_LEAST = 8  # windows that update a row between two merges of a thread's copy, with ever so many threads

_WORTH = 64
"""Updates by a thread, before all copies are merged, that make a row worth a copy."""

BYTES = 64 << 20
"""Bytes that a thread's copies may take."""

DIRECTIONS = 16
"""Directions in which the curvature is known."""

AT, NEXT_MERGE, NEXT_MEASUREMENT, MEASURED, ROWS_MERGED, GROWING_UNTIL = range(6)
"""Entries of `HotRows.position`."""


class HotRows(NamedTuple):
    """A thread's copies of the hottest rows."""

    rows: int  # rows that have a copy: 0..rows-1; 0 for none
    shift: int  # row of a copy minus row of its master
    # (A + 1,): Block b is rows ``bounds[b]`` to ``bounds[b + 1] - 1``, of all rows; the first B blocks are copied, and
    # those of a block are merged together
    bounds: NDArray[np.int64]
    # (2, A): Updates of a block's row for a position of the worklist, of e and of t, in the mean
    updates: NDArray[np.float64]
    every: NDArray[np.int64]  # (2, B): Positions of this thread between two merges of a block, of e and of t
    samples: NDArray[np.float64]  # (2,): Samples in an update of a row of e and of t
    threads: int  # the threads, at least two if rows are copied
    before: NDArray[np.float32]  # (2, rows * dim): The copies as they last were equal to their masters
    # (2, B): Position, counted from the first one of this thread, where a block was last merged
    merged: NDArray[np.int64]
    # (6,): By `AT`, ...: how far the thread is; where a block is next to be merged, and the curvature to be measured;
    # how often it was; how many rows were merged; up to where matrices count as growing, or -1
    position: NDArray[np.int64]
    # (2, n, dim): Of the curvature of e and of t: n directions that have most of it, orthogonal, of length 1
    directions: NDArray[np.float32]
    values: NDArray[np.float32]  # (2, n): The curvature there, without alpha
    # (2,): Mean squared length of the rows of e and of t when the curvature was last measured, by updates
    squares: NDArray[np.float64]
    # (dim, dim): P, where P + P^T is what merging took from E^T E - T^T T (`sync.balance`)
    missing: NDArray[np.float32]
    shares: NDArray[np.float32]  # (rows,): What a row of e counts there, if not 1
    locks: NDArray[np.int32]  # (2, B, 16): The first of a block is 1 while a thread merges it; shared by the threads

    def first(self, rows: int, shift: int) -> Self:
        """Return those of the first `rows` rows only; copies are `shift` rows behind their masters."""
        copied = min(rows, self.rows)
        bounds = np.unique(np.minimum(np.append(self.bounds, copied), rows))
        blocks = np.searchsorted(self.bounds, bounds[1:]) - 1
        updates = np.ascontiguousarray(self.updates[:, blocks])
        every = np.ascontiguousarray(self.every[:, blocks[: np.searchsorted(bounds, copied)]])
        return self._replace(
            rows=copied, shift=shift, bounds=bounds, updates=updates, every=every, merged=np.zeros_like(every)
        )


def how_many_hot(updates: NDArray[np.float64], positions: int, dim: int) -> int:
    """Return how many rows threads copy; parameters as of `hot_rows`."""
    most = min(updates.shape[1], _most(dim))
    wanted = np.flatnonzero(updates[:, :most].max(axis=0) * positions >= _WORTH)
    return int(wanted[-1]) + 1 if len(wanted) else 0


def memory_of_copies(rows: int, spare: int, threads: int, dim: int) -> int:
    """Bytes of the copies of so many rows, and of as many spare ones, by all threads; `dim` floats in a row."""
    rows = min(rows, _most(dim))
    merged = 4 * dim * (dim + 2 * DIRECTIONS) if rows else 0  # what merging took, and directions
    return threads * (4 * dim * (4 * rows + 2 * spare) + merged)


def _most(dim: int) -> int:
    """Rows of both matrices whose copies, as they are and as they were, have enough bytes."""
    return BYTES // (4 * dim * 4)


def hot_rows(
    updates: NDArray[np.float64],
    samples: NDArray[np.float64],
    per_window: NDArray[np.float64],
    positions: int,
    threads: int,
    dim: int,
    shares: NDArray[np.float64] | None = None,
) -> list[HotRows]:
    """Choose the rows that threads copy, and make room for the copies: return each thread's, with ``shift`` 0.

    `updates`, shape (2, V), are those of each row of e and of t for a position of W, in the mean; `samples`, shape
    (2,), the samples of an update; `per_window`, shape (2,), the updates by a window of a row of e and of t that it
    has. A thread takes so many `positions` before it merges all its copies. `shares`, shape (V,), are what rows of e
    count in the balance, if not 1.
    """
    rows = how_many_hot(updates, positions, dim)
    bounds = _blocks(rows, updates.shape[1])
    blocks = bounds.index(rows)
    sums = np.add.reduceat(updates, bounds[:-1], axis=1) if len(bounds) > 1 else np.zeros((2, 0))
    rates = sums / np.diff(bounds)
    between = max(_WINDOWS // threads, _LEAST) * per_window[:, None]
    every = (between / np.maximum(rates[:, :blocks], _RARELY)).astype(np.int64) + 1
    locks = np.zeros((2, blocks, ROW_ALIGNMENT), np.int32)
    return [
        HotRows(
            rows,
            0,
            np.array(bounds),
            rates,
            every,
            samples,
            threads,
            before=np.empty((2, rows * dim), np.float32),
            merged=np.zeros_like(every),
            position=np.zeros(6, np.int64),
            directions=_directions(dim),
            values=np.zeros((2, DIRECTIONS), np.float32),
            squares=np.zeros(2),
            missing=np.zeros((dim, dim), np.float32),
            shares=np.zeros(0, np.float32) if shares is None else shares[:rows].astype(np.float32),
            locks=locks,
        )
        for _ in range(threads)
    ]


def _blocks(copied: int, rows: int) -> list[int]:
    """Return the bounds of blocks that double, up to a size if they are copied, and that end where these rows do."""
    bounds = [0]
    while (begin := bounds[-1]) < rows:
        end = 2 * begin + 1
        bounds.append(min(end, begin + _LARGEST_BLOCK, copied) if begin < copied else min(end, rows))
    return bounds


def _directions(dim: int) -> NDArray[np.float32]:
    """Directions to begin with, aligned as rows are."""
    directions = zeros(2 * DIRECTIONS, dim).reshape(2, DIRECTIONS, dim)
    directions[:] = np.eye(DIRECTIONS, dim)
    return directions


def no_hot_rows() -> HotRows:
    """Return what a single thread has: no copies."""
    return hot_rows(np.zeros((2, 0)), np.zeros(2), np.ones(2), 0, 1, ROW_ALIGNMENT)[0]
