"""First-order walks: DeepWalk's, where the next vertex depends on the current one alone, and those along metapaths.

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
from any2vec.walks.metapaths import start_on_path
from any2vec.walks.tables import chosen, half_draw, start_at

_LANES = 64  # walks stepped together; more do not fit in the L1 cache


@njit(inline="always")
def entry_drawn(begin: int, degree: int, one: int, two: int, weighted: int) -> tuple[int, int]:
    """Entry of a row that 32 random bits draw; with weights 64, of which 32 are left to choose in its column."""
    high = one * uint64(degree)
    if weighted:
        high += (two * uint64(degree)) >> uint64(32)
    return begin + int64(high >> uint64(32)), high & uint64(0xFFFFFFFF)


# A kernel is one function, long as it is.
@cache
def first_order(weighted: int, restarting: int, typed: int = 0) -> Callable[..., None]:  # noqa: C901, PLR0915
    """Return the kernel for graphs with weights or without (1 or 0), for walks that may restart, and along metapaths.

    The kernel writes walks `first` to ``last - 1`` of the pass of `starts` to the rows of `out`. Along metapaths, a
    vertex has a row for each slot of `paths`, and a start is one of all metapaths together.
    """

    @njit(nogil=True, cache=True, error_model="numpy")
    def walk(  # noqa: C901, PLR0912, PLR0915
        rows: Any, targets: Any, paths: Any, starts: Any, first: int, last: int, restart: int, out: Any, lengths: Any
    ) -> None:
        length = out.shape[1]
        key = starts.keys[0]
        order = draw(key, starts.per_pass)
        row = np.empty(_LANES, np.int64)  # of a walk's vertex, along a metapath for the kind that comes next
        step = np.empty(_LANES, np.int64)  # of its metapath
        origin = np.empty(_LANES, np.int64)
        entry = np.empty(_LANES, np.int64)
        keys = np.empty(_LANES, np.uint64)
        bits = np.empty(_LANES, np.uint64)
        for begin in range(first, last, _LANES):
            lanes = min(_LANES, last - begin)
            base = begin - first
            for i in range(lanes):
                x, keys[i] = start_at(begin + i, key, order, starts)
                row[i] = x
                if typed:
                    x, origin[i] = start_on_path(x, paths)
                    step[i] = origin[i]
                    row[i] = x * paths.slots + paths.slot[step[i]]
                prefetch(rows, row[i])
                out[base + i, 0] = x
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
                    begins = rows[row[i]]
                    degree = rows[row[i] + 1] - begins
                    one, two = bits[i] >> uint64(32), bits[i] & uint64(0xFFFFFFFF)
                    entry[i], left = entry_drawn(begins, degree, one, two, weighted)
                    if weighted:
                        bits[i] = left
                        prefetch(targets, 2 * entry[i])
                    else:
                        prefetch(targets, entry[i])
                    stuck |= degree == 0
                if stuck:
                    for i in range(lanes):
                        if rows[row[i]] == rows[row[i] + 1]:
                            entry[i] = 0  # it goes on from any entry, beyond its end
                            ended += lengths[base + i] == length
                            lengths[base + i] = min(lengths[base + i], k)
                    if ended == lanes:
                        break
                for i in range(lanes):
                    x = chosen(targets, entry[i], bits[i]) if weighted else int64(targets[entry[i]])
                    if typed:
                        step[i] = paths.after[step[i]]
                    if restarting and half_draw(mix(keys[i]), k - 1) < uint64(restart):
                        x = int64(out[base + i, 0])
                        if typed:
                            step[i] = origin[i]
                    out[base + i, k] = x
                    row[i] = x * paths.slots + paths.slot[step[i]] if typed else x
                    prefetch(rows, row[i])

    return walk
