"""Walks of the first order, or along metapaths, on a graph in shares: the steps of `first_order`.

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
from any2vec.walks.metapaths import start_on_path
from any2vec.walks.tables import chosen, half_draw, start_of
from any2vec.walks.walker import entry_drawn

_TOGETHER = 64  # questions whose rows are fetched together
_ENDED = 0xFFFFFFFF
LIVE, UPCOMING = 0, 1  # of `WalkGroup.state`


class WalkGroup(NamedTuple):
    """The walks `first` to ``last - 1``, counted over all passes, that one thread steps; some are under way."""

    lanes: NDArray[Any]  # a walk under way in each
    state: NDArray[np.int64]  # how many are, and the next walk that begins
    first: int
    last: int
    out: NDArray[np.int32]  # a row for each walk
    lengths: NDArray[np.int32]
    questions: NDArray[np.uint32]  # one of each walk under way


FIRST_LANE = np.dtype(
    [
        ("key", np.uint64),  # of the walk's draws
        ("row", np.int64),  # of `out`
        ("step", np.int64),  # how many vertices it has; 0 if the lane needs a walk
        ("at", np.int64),  # the step of its metapath
        ("origin", np.int64),  # and the first one
    ]
)


@njit(nogil=True, cache=True, error_model="numpy")
def ask_first(  # noqa: C901, PLR0912, PLR0915
    answers: Any, places: Any, group: Any, starts: Any, paths: Any, restart: int
) -> None:
    """Take the answers to the walks under way, ask their next questions, and let others begin where one ends."""
    lanes, out, lengths, questions = group.lanes, group.out, group.lengths, group.questions
    typed = int64(paths.slot.size > 0)
    weighted = questions.shape[1] == 3 + typed
    length = out.shape[1]
    i, n, upcoming = 0, group.state[LIVE], group.state[UPCOMING]
    while i < n:
        lane = lanes[i]
        row, step = lane.row, lane.step
        x = int64(0)
        if step > 0:
            answer = answers[places[i], 0]
            if answer == uint32(_ENDED):
                lengths[row] = step
                step = 0
            else:
                x = int64(answer)
                if typed:
                    lane.at = paths.after[lane.at]
                if restart > 0 and half_draw(mix(lane.key), step - 1) < uint64(restart):
                    x = int64(out[row, 0])
                    lane.at = lane.origin
                out[row, step] = x
                step += 1
                if step == length:
                    lengths[row] = length
                    step = 0
        while step == 0 and upcoming < group.last:
            x, lane.key = start_of(upcoming, starts)
            row = upcoming - group.first
            upcoming += 1
            if typed:
                x, lane.origin = start_on_path(x, paths)
                lane.at = lane.origin
            out[row, 0] = x
            lengths[row] = 1
            lane.row = row
            step = int64(length > 1)
        if step == 0:  # the last lane takes its place
            n -= 1
            lanes[i], places[i] = lanes[n], places[n]
            continue
        lane.step = step
        questions[i, 0] = x
        if weighted:
            bits = draw(lane.key, step - 1)
            questions[i, 1] = bits >> uint64(32)
            questions[i, 2] = bits & uint64(0xFFFFFFFF)
        else:
            questions[i, 1] = half_draw(lane.key, step - 1)
        if typed:
            questions[i, questions.shape[1] - 1] = paths.slot[lane.at]
        i += 1
    group.state[LIVE], group.state[UPCOMING] = n, upcoming


@cache
def answer_first(weighted: int) -> Callable[..., None]:
    """Return the kernel that answers with neighbours of this host's vertices, each of which has `slots` rows."""

    @njit(nogil=True, cache=True, error_model="numpy")
    def answer(rows: Any, targets: Any, slots: int, questions: Any, answers: Any) -> None:
        many, typed = questions.shape[0], questions.shape[1] == 3 + weighted
        entry = np.empty(_TOGETHER, np.int64)
        bits = np.empty(_TOGETHER, np.uint64)
        for begin in range(0, many, _TOGETHER):
            some = min(_TOGETHER, many - begin)
            for i in range(some):
                q = begin + i
                entry[i] = int64(questions[q, 0]) * slots + (int64(questions[q, 2 + weighted]) if typed else 0)
                prefetch(rows, entry[i])
            for i in range(some):
                begins = rows[entry[i]]
                degree = rows[entry[i] + 1] - begins
                one, two = uint64(questions[begin + i, 1]), uint64(questions[begin + i, 2 if weighted else 1])
                at, bits[i] = entry_drawn(begins, degree, one, two, weighted)
                if degree == 0:
                    at = int64(-1)
                elif weighted:
                    prefetch(targets, 2 * at)
                else:
                    prefetch(targets, at)
                entry[i] = at
            for i in range(some):
                at = entry[i]
                if at < 0:
                    answers[begin + i, 0] = uint32(_ENDED)
                elif weighted:
                    answers[begin + i, 0] = chosen(targets, at, bits[i])
                else:
                    answers[begin + i, 0] = targets[at]

    return answer
