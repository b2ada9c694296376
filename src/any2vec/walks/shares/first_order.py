"""Walks of the first order, or along metapaths, on a graph in shares: the steps of `first_order` and `typed`.

A walk's host draws its steps, and asks the host that has the walk's vertex for the neighbour. A question has the vertex
and 32 random bits; with weights 32 more; with metapaths the slot of the neighbour's kind.
"""

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numba import int64, uint32, uint64
from numpy.typing import NDArray

from any2vec.llvm.compiled import njit
from any2vec.llvm.intrinsics import prefetch
from any2vec.samples.draws import draw, mix
from any2vec.walks.tables import chosen, half_draw, start_of

__all__ = ["FirstLanes", "answer_first", "ask_first"]

_GROUP = 64  # questions whose rows are fetched together
_ENDED = 0xFFFFFFFF


class FirstLanes(NamedTuple):
    """Walks under way, one in each lane.

    Attributes
    ----------
    key : uint64 array
        Of the walk's draws.
    row : int64 array
        Of `out`, where it is written.
    step : int64 array
        How many vertices it has; 0 if the lane needs a walk.
    at, origin : int64 array
        Step of its metapath, and the first one.
    """

    key: NDArray[np.uint64]
    row: NDArray[np.int64]
    step: NDArray[np.int64]
    at: NDArray[np.int64]
    origin: NDArray[np.int64]

    @classmethod
    def empty(cls, lanes: int) -> "FirstLanes":
        """Return lanes without walks."""
        return cls(np.zeros(lanes, np.uint64), *(np.zeros(lanes, np.int64) for _ in range(4)))


@njit(nogil=True, cache=True, error_model="numpy")
def ask_first(  # noqa: C901, PLR0912, PLR0915
    answers: Any,
    places: Any,
    lanes: Any,
    live: int,
    upcoming: int,
    first: int,
    last: int,
    keys: Any,
    per_pass: int,
    left: int,
    right: int,
    starts: Any,
    paths: Any,
    restart: int,
    out: Any,
    lengths: Any,
    questions: Any,
) -> tuple[int, int]:
    """Hear answers and ask the next questions; return how many there are, and the next `upcoming`.

    The walks are `first` to ``last - 1``, which are counted over all passes, of which those from `upcoming` on are not
    begun. They start at vertices that are drawn from `starts`, or if that is empty at each.
    """
    typed = int64(paths.slot.size > 0)
    weighted = questions.shape[1] == 3 + typed
    length = out.shape[1]
    i = 0
    n = live
    while i < n:
        row, step = lanes.row[i], lanes.step[i]
        x = int64(0)
        if step > 0:
            answer = answers[places[i], 0]
            if answer == uint32(_ENDED):
                lengths[row] = step
                step = 0
            else:
                x = int64(answer)
                if typed:
                    lanes.at[i] = paths.after[lanes.at[i]]
                if restart > 0 and half_draw(mix(lanes.key[i]), step - 1) < uint64(restart):
                    x = int64(out[row, 0])
                    if typed:
                        lanes.at[i] = lanes.origin[i]
                out[row, step] = x
                step += 1
                if step == length:
                    lengths[row] = length
                    step = 0
        while step == 0 and upcoming < last:
            x, lanes.key[i] = start_of(upcoming, keys, per_pass, left, right, starts)
            row = upcoming - first
            upcoming += 1
            if typed:
                path = 0
                while x >= paths.ends[path]:
                    path += 1
                lanes.at[i] = lanes.origin[i] = paths.first[path]
                x = int64(paths.starts[x])
            out[row, 0] = x
            lengths[row] = 1
            lanes.row[i] = row
            step = int64(length > 1)
        if step == 0:  # the last lane takes its place
            n -= 1
            if i < n:
                lanes.key[i], lanes.row[i], lanes.step[i] = lanes.key[n], lanes.row[n], lanes.step[n]
                lanes.at[i], lanes.origin[i] = lanes.at[n], lanes.origin[n]
                places[i] = places[n]
            continue
        lanes.step[i] = step
        questions[i, 0] = x
        if weighted:
            bits = draw(lanes.key[i], step - 1)
            questions[i, 1] = bits >> uint64(32)
            questions[i, 2] = bits & uint64(0xFFFFFFFF)
        else:
            questions[i, 1] = half_draw(lanes.key[i], step - 1)
        if typed:
            questions[i, questions.shape[1] - 1] = paths.slot[lanes.at[i]]
        i += 1
    return n, upcoming


@cache
def answer_first(weighted: int) -> Callable[..., None]:  # noqa: C901
    """Return the kernel that answers with neighbours of this host's vertices, each of which has `slots` rows."""

    @njit(nogil=True, cache=True, error_model="numpy")
    def answer(rows: Any, targets: Any, slots: int, questions: Any, answers: Any) -> None:
        many, typed = questions.shape[0], questions.shape[1] == 3 + weighted
        entry = np.empty(_GROUP, np.int64)
        bits = np.empty(_GROUP, np.uint64)
        for begin in range(0, many, _GROUP):
            group = min(_GROUP, many - begin)
            for i in range(group):
                q = begin + i
                entry[i] = int64(questions[q, 0]) * slots + (int64(questions[q, 2 + weighted]) if typed else 0)
                prefetch(rows, entry[i])
            for i in range(group):
                q = begin + i
                begins = rows[entry[i]]
                degree = rows[entry[i] + 1] - begins
                high = uint64(questions[q, 1]) * uint64(degree)
                if weighted:
                    high += (uint64(questions[q, 2]) * uint64(degree)) >> uint64(32)
                    bits[i] = high & uint64(0xFFFFFFFF)
                at = begins + int64(high >> uint64(32))
                if degree == 0:
                    at = int64(-1)
                elif weighted:
                    prefetch(targets, 2 * at)
                else:
                    prefetch(targets, at)
                entry[i] = at
            for i in range(group):
                at = entry[i]
                if at < 0:
                    answers[begin + i, 0] = uint32(_ENDED)
                elif weighted:
                    answers[begin + i, 0] = chosen(targets, at, bits[i])
                else:
                    answers[begin + i, 0] = targets[at]

    return answer
