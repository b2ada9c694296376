"""First-order walks (DeepWalk): the next vertex depends on the current one alone.

Each step waits for memory, so many walks are stepped together: first each one's entry is chosen and prefetched, then
each one's neighbour is read.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numba import int64, uint64

from any2vec.llvm.compiled import njit
from any2vec.llvm.intrinsics import prefetch
from any2vec.samples.draws import draw, mix
from any2vec.walks.tables import chosen, half_draw, start_drawn, vertex_at

__all__ = ["first_order", "typed"]

_LANES = 64  # walks stepped together; more do not fit in the L1 cache


# A kernel is one function, long as it is.
@cache
def first_order(weighted: int, restarting: int, drawn: int = 0) -> Callable[..., None]:  # noqa: C901, PLR0915
    """Return the kernel for graphs with weights or without (1 or 0), and for walks that may restart or not (1 or 0).

    If `drawn`, walks start at vertices that are drawn from `starts`. The kernel writes walks `first` to ``last - 1`` of
    the pass with that key to the rows of `out`.
    """

    @njit(nogil=True, cache=True, error_model="numpy")
    def walk(  # noqa: C901, PLR0912, PLR0915
        rows: Any,
        targets: Any,
        starts: Any,
        key: int,
        left: int,
        right: int,
        first: int,
        last: int,
        restart: int,
        out: Any,
        lengths: Any,
    ) -> None:
        vertices = rows.size - 2
        length = out.shape[1]
        order = draw(key, vertices)
        current = np.empty(_LANES, np.int64)
        entry = np.empty(_LANES, np.int64)
        keys = np.empty(_LANES, np.uint64)
        bits = np.empty(_LANES, np.uint64)
        for begin in range(first, last, _LANES):
            lanes = min(_LANES, last - begin)
            base = begin - first
            for i in range(lanes):
                if drawn:
                    v = start_drawn(begin + i, order, starts)
                    keys[i] = draw(key, begin + i)
                else:
                    v = vertex_at(begin + i, vertices, left, right, order)
                    keys[i] = draw(key, v)
                prefetch(rows, v)
                current[i] = v
                out[base + i, 0] = v
                lengths[base + i] = length
            ended = 0
            for k in range(1, length):
                if weighted:
                    for i in range(lanes):
                        bits[i] = draw(keys[i], k - 1)
                elif k & 1:  # one draw does for two steps
                    for i in range(lanes):
                        bits[i] = draw(keys[i], (k - 1) >> 1)
                else:
                    for i in range(lanes):
                        bits[i] <<= uint64(32)
                stuck = False
                for i in range(lanes):
                    v = current[i]
                    begins = rows[v]
                    degree = rows[v + 1] - begins
                    high = (bits[i] >> uint64(32)) * uint64(degree)
                    if weighted:
                        high += ((bits[i] & uint64(0xFFFFFFFF)) * uint64(degree)) >> uint64(32)
                        bits[i] = high & uint64(0xFFFFFFFF)
                        begins += int64(high >> uint64(32))
                        prefetch(targets, 2 * begins)
                    else:
                        begins += int64(high >> uint64(32))
                        prefetch(targets, begins)
                    entry[i] = begins
                    stuck |= degree == 0
                if stuck:
                    for i in range(lanes):
                        v = current[i]
                        if rows[v] == rows[v + 1]:
                            entry[i] = 0  # it goes on from any entry, beyond its end
                            ended += lengths[base + i] == length
                            lengths[base + i] = min(lengths[base + i], k)
                    if ended == lanes:
                        break
                for i in range(lanes):
                    x = chosen(targets, entry[i], bits[i]) if weighted else int64(targets[entry[i]])
                    if restarting and half_draw(mix(keys[i]), k - 1) < uint64(restart):
                        x = int64(out[base + i, 0])
                    current[i] = x
                    out[base + i, k] = x
                    prefetch(rows, x)

    return walk


@cache
def typed(weighted: int, restarting: int) -> Callable[..., None]:  # noqa: C901, PLR0915 (as `first_order`)
    """Return the kernel for graphs with weights or without (1 or 0), and for walks that may restart or not (1 or 0).

    The kernel writes walks `first` to ``last - 1`` of the pass with that key to the rows of `out`. The order is of the
    starts of all metapaths together.
    """

    @njit(nogil=True, cache=True, error_model="numpy")
    def walk(  # noqa: C901, PLR0912, PLR0915
        bounds: Any,
        targets: Any,
        slots: int,
        paths: Any,
        key: int,
        left: int,
        right: int,
        first: int,
        last: int,
        restart: int,
        out: Any,
        lengths: Any,
    ) -> None:
        starts, slot, after = paths.starts, paths.slot, paths.after
        length = out.shape[1]
        order = draw(key, starts.size)
        row = np.empty(_LANES, np.int64)  # of a walk's vertex, for the kind that comes next
        step = np.empty(_LANES, np.int64)
        origin = np.empty(_LANES, np.int64)
        entry = np.empty(_LANES, np.int64)
        keys = np.empty(_LANES, np.uint64)
        bits = np.empty(_LANES, np.uint64)
        for begin in range(first, last, _LANES):
            lanes = min(_LANES, last - begin)
            base = begin - first
            for i in range(lanes):
                place = vertex_at(begin + i, starts.size, left, right, order)
                path = 0
                while place >= paths.ends[path]:
                    path += 1
                v = int64(starts[place])
                step[i] = origin[i] = paths.first[path]
                row[i] = v * slots + slot[step[i]]
                prefetch(bounds, row[i])
                keys[i] = draw(key, place)
                out[base + i, 0] = v
                lengths[base + i] = length
            ended = 0
            for k in range(1, length):
                if weighted:
                    for i in range(lanes):
                        bits[i] = draw(keys[i], k - 1)
                elif k & 1:  # one draw does for two steps
                    for i in range(lanes):
                        bits[i] = draw(keys[i], (k - 1) >> 1)
                else:
                    for i in range(lanes):
                        bits[i] <<= uint64(32)
                stuck = False
                for i in range(lanes):
                    begins = bounds[row[i]]
                    degree = bounds[row[i] + 1] - begins
                    high = (bits[i] >> uint64(32)) * uint64(degree)
                    if weighted:
                        high += ((bits[i] & uint64(0xFFFFFFFF)) * uint64(degree)) >> uint64(32)
                        bits[i] = high & uint64(0xFFFFFFFF)
                        begins += int64(high >> uint64(32))
                        prefetch(targets, 2 * begins)
                    else:
                        begins += int64(high >> uint64(32))
                        prefetch(targets, begins)
                    entry[i] = begins
                    stuck |= degree == 0
                if stuck:
                    for i in range(lanes):
                        if bounds[row[i]] == bounds[row[i] + 1]:
                            entry[i] = 0  # it goes on from any entry, beyond its end
                            ended += lengths[base + i] == length
                            lengths[base + i] = min(lengths[base + i], k)
                    if ended == lanes:
                        break
                for i in range(lanes):
                    x = chosen(targets, entry[i], bits[i]) if weighted else int64(targets[entry[i]])
                    step[i] = after[step[i]]
                    if restarting and half_draw(mix(keys[i]), k - 1) < uint64(restart):
                        x, step[i] = int64(out[base + i, 0]), origin[i]
                    out[base + i, k] = x
                    row[i] = x * slots + slot[step[i]]
                    prefetch(bounds, row[i])

    return walk
