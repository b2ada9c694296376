"""Merging the threads' copies of the hottest rows (`operators.matrices`) with their masters.

Added up, what threads learned apart overshoots. Where a thread moved its copy from b to c while others moved the master
from b to m, one thread would have come, by SymSGD's rule (Maleki et al. 2017, "Parallel stochastic gradient descent
with sound combiners"), to::

    m + (c - b) - s (m - b),    s = 1 - exp(-alpha C n)

after its n updates of alpha each, if C is the curvature of the loss (`quadratic`). Where s is near 1,
that is c, with the noise of one thread's last updates. So a share of s, p = 1/3, is taken from what this thread
learned, and the rest from what the T - 1 others did::

    m + (c - b) - s (p (c - b) + (1 - p / (T - 1)) (m - b))

On a quadratic loss, if threads learn as much each and merge in turn, two of them follow one thread's path with any p,
and more do to second order in s. Where s is large, masters approach the optimum more slowly, and average: where it is
1, those of two threads are (2 c + m) / 3. A mean lags behind matrices that grow: while they do, p is 0. (A thread that
learns alone loses s p of what it learned.)

C is measured along a few directions that have most of it. In all others, and where alpha C n is small, what the threads
learned is added up: a merge would reduce it by little, but by that much each time, and matrices grow there for a whole
run.
"""

from typing import Any

import numpy as np
from numba import float32
from numpy.typing import NDArray

from any2vec.llvm.compiled import njit
from any2vec.llvm.intrinsics import exchange, prefetch
from any2vec.operators.matrices import (
    AT,
    DIRECTIONS,
    GROWING_UNTIL,
    MEASURED,
    NEXT_MEASUREMENT,
    NEXT_MERGE,
    ROWS_MERGED,
    HotRows,
)
from any2vec.operators.tiles import ROW_ALIGNMENT, add_rows, aligned, dots, register_width

LEAST = 0.1
"""alpha c n, of all hosts or threads together, below which their steps are summed: they overshoot by little."""


@njit(inline="always")
def share_gone(x: float) -> float:
    """``1 - exp(-x)`` for x not below 0, to 1e-5."""
    u = (x if x < float32(24.0) else float32(24.0)) * float32(1 / 64)
    y = float32(1 / 24) - u * float32(1 / 120)
    y = float32(1 / 6) - u * y
    y = float32(0.5) - u * y
    y = float32(1.0) - u * y
    y = u * y  # 1 - exp(-u); and now 1 - (1 - y)^2, six times: no digits are lost where x is small
    two = float32(2.0)
    y = y * (two - y)
    y = y * (two - y)
    y = y * (two - y)
    y = y * (two - y)
    y = y * (two - y)
    return y * (two - y)


_WIDTH = register_width()
_AHEAD = 8  # rows that merging prefetches
_SEEN = 32  # rows n to 2 n that are looked at to measure the curvature, for any n
_LOOKS = 1 << 16  # positions between two measurements, at most
_FIRST = 1 << 13  # of all threads before the second one: matrices grow fast at first
_NOTHING = 1e-6  # of all curvature
_OWN = 1 / 3  # p: share of s that is taken from what the thread itself learned; 0 while matrices grow
_ALONG = 4  # directions at a time
_GROWTH = 1.1  # a matrix grows if the mean square of its rows is more than so many times what was measured before
_STRIDE, _STRIDE_GROWING = 64, 8  # one merged row in so many is measured for the balance; while matrices grow


@njit(nogil=True, cache=True)
def open_copies(e: NDArray[np.float32], t: NDArray[np.float32], hot: HotRows, dim: int) -> None:
    """Copy the masters, flat `e` and `t`, into this thread's copies and into `before`; count positions from 0."""
    for matrix, before in ((e, hot.before[0]), (t, hot.before[1])):
        for k in range(hot.rows * dim):
            before[k] = matrix[k]  # read once: another thread may be merging
            matrix[hot.shift * dim + k] = before[k]
    hot.merged[:] = 0
    hot.position[: NEXT_MEASUREMENT + 1] = 0
    hot.position[GROWING_UNTIL] = -1


@njit(nogil=True, cache=True)
def merge_due(
    e: NDArray[np.float32], t: NDArray[np.float32], hot: HotRows, alpha: float, kappa: float, dim: int
) -> None:
    """Merge the blocks that are due; one that another thread is merging stays due.

    `kappa` is the mean second derivative of the loss; while it is 0, the curvature stays what it was.
    """
    position = hot.position[AT]
    if position >= hot.position[NEXT_MEASUREMENT] and kappa > 0:
        hot.position[NEXT_MEASUREMENT] = position + min(max(position, _FIRST // hot.threads, 1), _LOOKS)
        _measure(e, t, hot, kappa, dim)
    following = hot.position[NEXT_MEASUREMENT]
    for of, matrix in enumerate((e, t)):
        for block in range(hot.merged.shape[1]):
            if position - hot.merged[of, block] >= hot.every[of, block]:
                _merge_block(matrix, hot, of, block, alpha, dim, np.bool_(False))  # no constant: compiled once
            following = min(following, hot.merged[of, block] + hot.every[of, block])
    hot.position[NEXT_MERGE] = max(following, position + 1)


@njit(nogil=True, cache=True)
def merge(e: NDArray[np.float32], t: NDArray[np.float32], hot: HotRows, alpha: float, dim: int, thread: int) -> None:
    """Merge all blocks; each thread begins at a different one, and returns later to those that another is merging."""
    blocks = hot.merged.shape[1]
    left = (np.arange(2 * blocks) + 2 * blocks * thread // hot.threads) % max(2 * blocks, 1)
    rate = float32(alpha)  # as `merge_due` passes it, so that `_merge_block` is compiled once
    while left.size:
        busy = 0
        for place in left:
            of, block = divmod(place, blocks)
            matrix = e if of == 0 else t
            if not _merge_block(matrix, hot, of, block, rate, dim, np.bool_(True)):
                left[busy] = place
                busy += 1
        left = left[:busy]


@njit(nogil=True, fastmath=True, cache=True)
def _measure(e: NDArray[np.float32], t: NDArray[np.float32], hot: HotRows, kappa: float, dim: int) -> None:
    """Measure the curvature of each matrix from some rows of the other, by a step of subspace iteration.

    Where the directions were eigenvectors, they stay so, and the lengths that they are multiplied by are eigenvalues.
    If a matrix has grown, it counts as growing until the next measurement: threads then move rows alike, and merging
    takes more from the balance.
    """
    moved, parts = np.empty((DIRECTIONS, dim), np.float32), aligned(2 * DIRECTIONS)
    places = np.arange(DIRECTIONS) * dim
    for of, other in ((0, t), (1, e)):
        directions, values = hot.directions[of], hot.values[of]
        moved[:] = 0
        square = weight = 0.0
        for block in range(hot.updates.shape[1]):
            shift = hot.shift if block < hot.merged.shape[1] else 0
            first, last = hot.bounds[block] + shift, hot.bounds[block + 1] + shift
            stride = hot.bounds[block] // _SEEN + 1
            each = float32(hot.updates[1 - of, block] * stride)
            for row in range(first + (hot.position[MEASURED] - hot.bounds[block]) % stride, last, stride):
                dots(other, row * dim, directions.reshape(-1), places, parts, 1, DIRECTIONS, dim, _WIDTH)
                x, length = other[row * dim : (row + 1) * dim], float32(0.0)
                for k in range(dim):
                    length += x[k] * x[k]
                for i in range(DIRECTIONS):
                    along, part = moved[i], each * parts[i]
                    for k in range(dim):  # the inner loop, so that it is vectorized
                        along[k] += part * x[k]
                weight += each
                square += each * length
        if weight == 0:
            continue
        scale = kappa * hot.samples[of] / weight
        if square > _GROWTH * hot.squares[1 - of] * weight:
            hot.position[GROWING_UNTIL] = hot.position[NEXT_MEASUREMENT]
        hot.squares[1 - of] = square / weight
        for i in range(DIRECTIONS):
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
                for k in range(dim):
                    directions[i, k] = moved[i, k] / length
            values[i] = scale * length
    hot.position[MEASURED] += 1


@njit(nogil=True, fastmath=True, cache=True)
def _merge_block(
    matrix: NDArray[np.float32], hot: HotRows, of: int, block: int, alpha: float, dim: int, last: bool
) -> bool:
    """Merge a block, unless another thread is at it; return whether it was merged."""
    lock = hot.locks[of, block]
    if exchange(lock, np.int32(1)) != 0:
        return False
    steps = float32(alpha * hot.updates[of, block] * (hot.position[AT] - hot.merged[of, block]))
    directions, before = hot.directions[of].reshape(-1), hot.before[of]
    others, reduced = aligned(dim), aligned(dim)
    parts, less = aligned(2 * DIRECTIONS), np.zeros(DIRECTIONS, np.float32)
    growing = hot.merged[of, block] <= hot.position[GROWING_UNTIL]
    own = float32(0 if growing else _OWN)
    of_others = float32(1 - own / (hot.threads - 1))
    places = np.arange(DIRECTIONS) * dim
    shrunk = 0  # directions, in fours
    for i in range(DIRECTIONS):
        if hot.threads * steps * hot.values[of, i] >= LEAST:
            less[i] = -share_gone(steps * hot.values[of, i])
            shrunk = i - i % _ALONG + _ALONG
    stride = _STRIDE_GROWING if growing else _STRIDE
    for row in range(hot.bounds[block] * dim, hot.bounds[block + 1] * dim, dim):
        copy = row + hot.shift * dim
        for k in range(_AHEAD * dim, (_AHEAD + 1) * dim, ROW_ALIGNMENT):
            prefetch(matrix, row + k)
            prefetch(before, row + k)
            prefetch(matrix, copy + k)
        mine, master, base = matrix[copy : copy + dim], matrix[row : row + dim], before[row : row + dim]
        if last:
            moved = float32(0.0)
            for k in range(dim):
                moved += abs(mine[k] - base[k])
            if moved == 0:
                continue
        for k in range(dim):
            others[k] = master[k] - base[k]
        if shrunk:
            for k in range(dim):
                reduced[k] = own * (mine[k] - base[k]) + of_others * others[k]
            dots(reduced, 0, directions, places, parts, 1, shrunk, dim, _WIDTH)
            for i in range(shrunk):
                parts[i] *= less[i]
            for first in range(0, shrunk, _ALONG):
                add_rows(others, 0, directions, places[first:], parts[first:], _ALONG, dim, _WIDTH)
        hot.position[ROWS_MERGED] += 1
        if hot.position[ROWS_MERGED] % stride == 0:
            weight = float32(stride * (1 - 2 * of))
            if of == 0 and hot.shares.size:
                weight *= hot.shares[row // dim]
            _miss(base, mine, master, others, weight, hot.missing)
        if last:
            for k in range(dim):
                master[k] = mine[k] + others[k]
            continue
        for k in range(dim):
            merged = mine[k] + others[k]
            mine[k] = merged
            master[k] = merged
            base[k] = merged
    hot.merged[of, block] = hot.position[AT]
    exchange(lock, np.int32(0))
    return True


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
