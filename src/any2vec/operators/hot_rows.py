"""Per-thread copies of the hottest rows: the papers' cure for staleness, inside one machine.

Threads that update the same row fight over its cache lines: each must fetch what the other wrote. Ids fall by count, so
the hottest rows are the first: each thread works on copies of rows 0..n-1, which lie behind the V masters, and now and
then merges them (a reduce and a broadcast; GraphAny2Vec, section 3.3). A row is merged after about as many windows that
had it as any other: seldom, if it is seldom in one. Where the threads' cores share a cache, a line that another thread
wrote is no farther than one that was evicted, and copies may be slower than none (`training.copying`).

Added up, what threads learned apart overshoots. They merge by SymSGD's rule (Maleki et al. 2017, "Parallel stochastic
gradient descent with sound combiners"): where a thread moved its copy from b to c while others moved the master from b
to m, one thread would have come to::

    m + (c - b) - (1 - exp(-alpha C n)) (m - b)

after its n updates of alpha each, if C is the curvature of the loss (`sync.combiners.curvature`). C is taken to be a
multiple of the identity, but for a few directions that have most of it.
"""

from typing import Any, NamedTuple, Self

import numpy as np
from numba import float32, int64, njit
from numpy.typing import NDArray

from any2vec.llvm.atomics import exchange
from any2vec.llvm.prefetch import prefetch
from any2vec.operators.labels import zeros
from any2vec.operators.tiles import ROW_ALIGNMENT, add_rows, aligned, dots, register_width

__all__ = ["HotRows", "hot_rows", "merge", "merge_due", "no_hot_rows", "open_copies"]

WINDOWS = 256
"""Windows whose updates of a row no thread has merged, about (measured: benchmarks/README.md)."""

_LEAST = 8  # windows that update a row between two merges of a thread's copy, with ever so many threads

WORTH = 64
"""Updates by a thread, before all copies are merged, that make a row worth a copy."""

BYTES = 64 << 20
"""Bytes that a thread's copies may take."""

_AHEAD = 8  # rows that merging prefetches
_LINE = 16  # int32 in a cache line
_DIRECTIONS = 16  # of the curvature
_WIDTH = register_width()
_SEEN = 32  # rows of a block that are looked at to measure it
_LOOKS = 1 << 16  # positions between two measurements, at most
_FIRST = 1 << 13  # of all threads before the second one: labels grow fast at first
_NOTHING = 1e-6  # of all curvature
_ONE_ROW_OF = 16  # merged rows is looked at for what is missing


class HotRows(NamedTuple):
    """A thread's copies of the hottest rows.

    Attributes
    ----------
    rows : int
        Rows that have a copy: 0..rows-1; 0 for none.
    shift : int
        Row of a copy minus row of its master.
    bounds : int64 array, shape (A + 1,)
        Block b is rows ``bounds[b]`` to ``bounds[b + 1] - 1``, of all rows; the first B blocks are copied, and those of
        a block are merged together.
    updates : float64 array, shape (2, A)
        Updates of a block's row for a position of the worklist, of e and of t, in the mean.
    between : float64 array, shape (2,)
        Updates of a row of e and of t between two merges, in the mean.
    samples : float64 array, shape (2,)
        Samples in an update of a row of e and of t.
    soon : int
        Positions of this thread between the first two measurements of the curvature; then ever more.
    before : float32 array, shape (2, rows * dim)
        The copies as they last were equal to their masters.
    merged : int64 array, shape (2, B)
        Position, counted from the first one of this thread, where a block was last merged.
    position : int64 array, shape (5,)
        How far the thread is, where a block is to be merged next, where the curvature is to be measured, and how often
        it was; and how many rows were merged.
    directions : float32 array, shape (2, n, dim)
        Of the curvature of e and of t: n directions that have most of it, orthogonal, of length 1.
    values : float32 array, shape (2, n + 1)
        The curvature there, without alpha, and elsewhere.
    missing : float32 array, shape (dim, dim)
        P, where P + P^T is what merging took from E^T E - T^T T (`sync.gauge`).
    locks : int32 array, shape (2, B, 16)
        The first of a block is 1 while a thread merges it; shared by the threads.
    """

    rows: int
    shift: int
    bounds: NDArray[np.int64]
    updates: NDArray[np.float64]
    between: NDArray[np.float64]
    samples: NDArray[np.float64]
    soon: int
    before: NDArray[np.float32]
    merged: NDArray[np.int64]
    position: NDArray[np.int64]
    directions: NDArray[np.float32]
    values: NDArray[np.float32]
    missing: NDArray[np.float32]
    locks: NDArray[np.int32]

    def first(self, rows: int, shift: int) -> Self:
        """Return those of the first `rows` rows only; copies are `shift` rows behind their masters."""
        copied = min(rows, self.rows)
        bounds = np.unique(np.minimum(np.append(self.bounds, copied), rows))
        blocks = np.searchsorted(self.bounds, bounds[1:]) - 1
        updates = np.ascontiguousarray(self.updates[:, blocks])
        merged = np.zeros((2, np.searchsorted(bounds, copied)), np.int64)
        return self._replace(rows=copied, shift=shift, bounds=bounds, updates=updates, merged=merged)


def hot_rows(
    updates: NDArray[np.float64],
    samples: NDArray[np.float64],
    per_window: NDArray[np.float64],
    positions: int,
    threads: int,
    dim: int,
) -> list[HotRows]:
    """Choose the rows that threads copy, and make room for the copies.

    Parameters
    ----------
    updates : float64 array, shape (2, V)
        Updates of each row of e and of t for a position of the worklist, in the mean.
    samples : float64 array, shape (2,)
        Samples in an update.
    per_window : float64 array, shape (2,)
        Updates that a window makes to a row of e and of t that it has.
    positions : int
        Positions that a thread takes before it merges all its copies.
    threads : int
        The threads.
    dim : int
        Floats in a row.

    Returns
    -------
    list of HotRows
        Each thread's, with ``shift`` 0.
    """
    most = min(updates.shape[1], BYTES // (4 * dim * 4))
    wanted = np.flatnonzero(updates[:, :most].max(axis=0) * positions >= WORTH)
    rows = int(wanted[-1]) + 1 if len(wanted) else 0
    bounds = _blocks(rows, updates.shape[1])
    blocks = bounds.index(rows)
    sums = np.add.reduceat(updates, bounds[:-1], axis=1) if len(bounds) > 1 else np.zeros((2, 0))
    locks = np.zeros((2, blocks, _LINE), np.int32)
    return [
        HotRows(
            rows,
            0,
            np.array(bounds),
            sums / np.diff(bounds),
            max(WINDOWS // threads, _LEAST) * per_window,
            samples,
            max(_FIRST // threads, 1),
            before=np.empty((2, rows * dim), np.float32),
            merged=np.zeros((2, blocks), np.int64),
            position=np.zeros(5, np.int64),
            directions=_directions(dim),
            values=np.zeros((2, _DIRECTIONS + 1), np.float32),
            missing=np.zeros((dim, dim), np.float32),
            locks=locks,
        )
        for _ in range(threads)
    ]


def _blocks(copied: int, rows: int) -> list[int]:
    """Return the bounds of blocks that double, and that end where the copied rows do."""
    bounds = [0]
    while bounds[-1] < rows:
        end = 2 * bounds[-1] + 1
        bounds.append(min(end, copied if bounds[-1] < copied else rows))
    return bounds


def _directions(dim: int) -> NDArray[np.float32]:
    """Directions to begin with, aligned as rows are."""
    directions = zeros(2 * _DIRECTIONS, dim).reshape(2, _DIRECTIONS, dim)
    directions[:] = np.eye(_DIRECTIONS, dim)
    return directions


def no_hot_rows() -> HotRows:
    """Return what a single thread has: no copies."""
    return hot_rows(np.zeros((2, 0)), np.zeros(2), np.ones(2), 0, 1, ROW_ALIGNMENT)[0]


@njit(nogil=True, cache=True)
def open_copies(e: NDArray[np.float32], t: NDArray[np.float32], hot: HotRows, dim: int) -> None:
    """Copy the masters, flat `e` and `t`, into this thread's copies and into `before`."""
    for label, before in ((e, hot.before[0]), (t, hot.before[1])):
        for k in range(hot.rows * dim):
            before[k] = label[k]  # read once: another thread may be merging
            label[hot.shift * dim + k] = before[k]
    hot.merged[:] = 0
    hot.position[:3] = 0


@njit(nogil=True)
def merge_due(
    e: NDArray[np.float32], t: NDArray[np.float32], hot: HotRows, alpha: float, kappa: float, dim: int
) -> None:
    """Merge the blocks that are due; one that another thread is merging stays due.

    `kappa` is the mean second derivative of the loss; while it is 0, the curvature stays what it was.
    """
    position = hot.position[0]
    if position >= hot.position[2] and kappa > 0:
        _measure(e, t, hot, kappa, dim)
        hot.position[2] = position + min(max(position, hot.soon), _LOOKS)
    following = hot.position[2]
    for of, label in enumerate((e, t)):
        for block in range(hot.merged.shape[1]):
            every = int64(hot.between[of] / max(hot.updates[of, block], 1e-9)) + 1
            if position - hot.merged[of, block] >= every:
                _merge_block(label, hot, of, block, alpha, dim, False)
            following = min(following, hot.merged[of, block] + every)
    hot.position[1] = max(following, position + 1)


@njit(nogil=True, cache=True)
def merge(e: NDArray[np.float32], t: NDArray[np.float32], hot: HotRows, alpha: float, dim: int) -> None:
    """Merge all blocks, and wait for other threads where they do."""
    for of, label in enumerate((e, t)):
        for block in range(hot.merged.shape[1]):
            _merge_block(label, hot, of, block, alpha, dim, True)


@njit(nogil=True, fastmath=True)
def _measure(e: NDArray[np.float32], t: NDArray[np.float32], hot: HotRows, kappa: float, dim: int) -> None:
    """Measure the curvature of each label from some rows of the other, by a step of subspace iteration.

    Where the directions were eigenvectors, they stay so, and the lengths that they are multiplied by are eigenvalues.
    """
    moved, parts = np.empty((_DIRECTIONS, dim), np.float32), aligned(2 * _DIRECTIONS)
    places = np.arange(_DIRECTIONS) * dim
    for of, other in ((0, t), (1, e)):
        directions, values = hot.directions[of], hot.values[of]
        moved[:] = 0
        square = weight = 0.0
        for block in range(hot.updates.shape[1]):
            shift = hot.shift if block < hot.merged.shape[1] else 0
            first, last = hot.bounds[block] + shift, hot.bounds[block + 1] + shift
            stride = max((last - first) // _SEEN, 1)
            each = float32(hot.updates[1 - of, block] * stride)
            for row in range(first + hot.position[3] % stride, last, stride):
                dots(other, row * dim, directions.reshape(-1), places, parts, 1, _DIRECTIONS, dim, _WIDTH)
                x, length = other[row * dim : (row + 1) * dim], float32(0.0)
                for k in range(dim):
                    length += x[k] * x[k]
                for i in range(_DIRECTIONS):
                    along, part = moved[i], each * parts[i]
                    for k in range(dim):  # the inner loop, so that it is vectorized
                        along[k] += part * x[k]
                weight += each
                square += each * length
        if weight == 0:
            continue
        scale, rest = kappa * hot.samples[of] / weight, square
        for i in range(_DIRECTIONS):
            for j in range(i):
                shared = float32(0.0)
                for k in range(dim):
                    shared += moved[i, k] * directions[j, k]
                for k in range(dim):
                    moved[i, k] -= shared * directions[j, k]
            length = float32(0.0)
            for k in range(dim):
                length += moved[i, k] * moved[i, k]
            length = np.sqrt(length)
            if length > float32(_NOTHING) * square:
                directions[i] = moved[i] / length
                rest -= length
            values[i] = scale * length
        values[_DIRECTIONS] = scale * max(rest, 0.0) / max(dim - _DIRECTIONS, 1)
        for i in range(_DIRECTIONS):  # a direction with nothing may no longer be orthogonal to the others
            values[i] = max(values[i], values[_DIRECTIONS])
    hot.position[3] += 1


@njit(nogil=True, fastmath=True)
def _merge_block(
    label: NDArray[np.float32], hot: HotRows, of: int, block: int, alpha: float, dim: int, last: bool
) -> None:
    lock = hot.locks[of, block]
    while exchange(lock, np.int32(1)) != 0:
        if not last:
            return
    steps = float32(alpha * hot.updates[of, block] * (hot.position[0] - hot.merged[of, block]))
    directions, before = hot.directions[of].reshape(-1), hot.before[of]
    others, parts, less = aligned(dim), aligned(2 * _DIRECTIONS), np.empty(_DIRECTIONS, np.float32)
    places = np.arange(_DIRECTIONS) * dim
    kept = np.exp(-steps * hot.values[of, _DIRECTIONS])
    for i in range(_DIRECTIONS):
        less[i] = np.exp(-steps * hot.values[of, i]) - kept
    for row in range(hot.bounds[block] * dim, hot.bounds[block + 1] * dim, dim):
        copy = row + hot.shift * dim
        for k in range(_AHEAD * dim, (_AHEAD + 1) * dim, _LINE):
            prefetch(label, row + k)
            prefetch(before, row + k)
            prefetch(label, copy + k)
        mine, master, base = label[copy : copy + dim], label[row : row + dim], before[row : row + dim]
        if last:
            moved = float32(0.0)
            for k in range(dim):
                moved += abs(mine[k] - base[k])
            if moved == 0:
                continue
        for k in range(dim):
            others[k] = master[k] - base[k]
        dots(others, 0, directions, places, parts, 1, _DIRECTIONS, dim, _WIDTH)
        for i in range(_DIRECTIONS):
            parts[i] *= less[i]
        for k in range(dim):
            others[k] *= kept
        add_rows(others, 0, directions, places, parts, _DIRECTIONS, dim, _WIDTH)
        hot.position[4] += 1
        if hot.position[4] % _ONE_ROW_OF == 0:
            _miss(base, mine, master, others, float32(_ONE_ROW_OF * (1 - 2 * of)), hot.missing)
        for k in range(dim):
            others[k] += mine[k]
        for k in range(dim):
            master[k] = others[k]
        if last:
            continue
        for k in range(dim):
            mine[k] = others[k]
        for k in range(dim):
            base[k] = others[k]
    hot.merged[of, block] = hot.position[0]
    exchange(lock, np.int32(0))


@njit(nogil=True, fastmath=True)
def _miss(base: Any, mine: Any, master: Any, others: Any, weight: float, missing: NDArray[np.float32]) -> None:
    """Add what this thread did to the square of its copy, less what merging does to that of the master.

    ``mine mine^T - base base^T - (mine + others) (mine + others)^T + master master^T`` is P + P^T; this adds P.
    """
    u, v = (base + master) / float32(2), mine + others / float32(2)
    for i in range(missing.shape[0]):
        a, b, row = weight * (master[i] - base[i]), weight * others[i], missing[i]
        for j in range(row.size):
            row[j] += a * u[j] - b * v[j]
