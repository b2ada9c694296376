"""node2vec's walks on a graph in shares: the steps of `second_order`, by questions to the hosts that have the vertices.

A candidate is drawn where the walk's vertex c is. Whether it is a neighbour of the vertex before, w, is looked up where
w is. If it is drawn from the row of w, whether it is a neighbour of c is looked up where c is. A step that is drawn
exactly asks for one neighbour of c after the other.

A look and the draw after it are one question where one host can do both. One such host is that of c, if the candidate
is refused. Where edges have no direction, another is that of the candidate, if it is accepted: it can tell whether w is
its neighbour. (KnightKing, Yang et al., SOSP 2019, sends such questions to w.)
"""

from collections.abc import Callable
from enum import IntEnum
from functools import cache
from typing import Any

import numpy as np
from numba import float32, int64, uint32, uint64

from any2vec.llvm.compiled import njit
from any2vec.llvm.intrinsics import prefetch
from any2vec.samples.draws import mix
from any2vec.walks.second_order import (
    BACK,
    END,
    FROM_OTHER,
    GOLDEN,
    IDS,
    INNER,
    draw_candidate,
    looked_factor,
    takes_common,
    takes_looked_up,
    weight_back,
)
from any2vec.walks.share_first_order import LIVE, UPCOMING
from any2vec.walks.tables import (
    BUCKET,
    LOOSE,
    WEIGHTED_BUCKET,
    bucket_of,
    chosen,
    find,
    half_draw,
    start_of,
    unit,
)

QUESTION = 5
"""Words of a question: the vertex; w, a candidate, or the number of a neighbour; a kind, or the degree of w; bits.

A sixth is what to look for before the draw, where looks and draws may be one question.
"""

ANSWER = 3
"""Words of an answer: a vertex or a weight; the degree of c, a weight, or the heaviest of its row; marks."""

_NONE = 0xFFFFFFFF  # no vertex before: -1 as a word
_LOOK, _ENTRY = 0xFFFFFFFF, 0xFFFFFFFE  # kinds of questions, besides a draw: is x a neighbour; which is neighbour i
_MARKED_LOOSE, _FOUND = 16, 32  # marks of answers, besides the kind of the candidate

_TOGETHER = 64


class Waits(IntEnum):
    """What a walk waits for, or what came of an answer."""

    IDLE = 0  # the lane needs a walk
    DRAWN = 1  # a candidate
    OTHER = 2  # which neighbour of w the candidate is
    LOOK_W = 3  # whether it is one of w
    LOOK_C = 4  # whether it is one of c
    EXACT = 5  # in an exact draw: the next neighbour of c
    EXACT_LOOK = 6  # and whether it is one of w
    TAKEN = 7
    REFUSED = 8
    ONWARD = 9  # whether w is a neighbour of the candidate, and the draw there, if it is taken
    AGAIN = 10  # whether the candidate is a neighbour of c, and the draw there, if it is refused


SECOND_LANE = np.dtype(
    [
        ("key", np.uint64),  # of the walk's draws
        ("state", np.uint64),
        ("more", np.uint64),  # the bits that judge a candidate
        ("wanted", np.float64),  # of an exact draw: where it lies, infinite while factors are added up
        ("total", np.float64),  # and the sum so far
        ("row", np.int32),  # of `out`
        ("step", np.int32),  # where in the row the next vertex goes
        ("c", np.int32),
        ("w", np.int32),  # -1: there is none
        ("degree", np.int32),  # of c
        ("others", np.int32),  # neighbours of w
        ("refused", np.int32),  # candidates for this step so far
        ("waits", np.int32),
        ("x", np.int32),  # the candidate, or its number among the neighbours of w
        ("marks", np.int32),  # of the answer that had it
        ("at", np.int32),  # which neighbour of c an exact draw has come to
        ("weight", np.float32),  # of the edge to the candidate from w, or in an exact draw from c
    ]
)


@njit(nogil=True, cache=True, error_model="numpy")
def ask_second(
    answers: Any, places: Any, group: Any, starts: Any, levels: Any, bias: Any, bound: int, restart: int
) -> None:
    """Take the answers to the walks under way, ask their next questions, and let others begin where one ends.

    Only node2vec+ has `levels`, of all vertices.
    """
    lanes, out, questions = group.lanes, group.out, group.questions
    both = questions.shape[1] > QUESTION
    numbers = answers.view(np.float32)
    i, n, upcoming = 0, group.state[LIVE], group.state[UPCOMING]
    while i < n:
        lane, place = lanes[i], places[i]
        waits = Waits.IDLE
        if lane.waits != Waits.IDLE:
            walk = out[lane.row]
            waits = _hear(lane, answers[place], numbers[place], walk, levels, bias, bound, restart, both)
            if waits == Waits.REFUSED:
                waits = _refuse(lane, bound)
            elif waits == Waits.TAKEN:
                _step(lane, walk)
                waits = Waits.DRAWN if lane.step < walk.size else Waits.IDLE
            if waits == Waits.IDLE:
                group.lengths[lane.row] = lane.step
        if waits == Waits.IDLE and upcoming < group.last:
            lane.c, lane.key = start_of(upcoming, starts)
            lane.state, lane.w, lane.others, lane.refused = lane.key, -1, 0, 0
            lane.row, lane.step = upcoming - group.first, 1
            out[lane.row, 0] = lane.c
            upcoming += 1
            waits = Waits.DRAWN
        if waits == Waits.IDLE:  # the last lane takes its place
            n -= 1
            lanes[i], places[i] = lanes[n], places[n]
            continue
        lane.waits = waits
        _ask(lane, questions[i], both)
        i += 1
    group.state[LIVE], group.state[UPCOMING] = n, upcoming


@njit(nogil=True, cache=True, error_model="numpy")
def _hear(  # noqa: C901, PLR0911 (a case for each state)
    lane: Any,
    words: Any,
    numbers: Any,
    walk: Any,
    levels: Any,
    bias: Any,
    bound: int,
    restart: int,
    both: bool,
) -> Waits:
    """Take an answer, which is `words` or `numbers`; return what the walk waits for next, or what becomes of x."""
    if lane.waits >= Waits.ONWARD:
        found = int64(words[2]) & _FOUND != 0
        if lane.waits == Waits.ONWARD:
            if found:
                return Waits.REFUSED
            _step(lane, walk)
        elif found:
            return Waits.TAKEN
        elif lane.refused + 1 >= bound and lane.refused + 1 >= lane.degree:
            return Waits.REFUSED
        else:
            lane.refused += 1
        _next_bits(lane)
        lane.waits = Waits.DRAWN
    extended, taken = levels.size > 0, False
    if lane.waits == Waits.DRAWN:
        return _hear_candidate(lane, words, walk, bias, restart, both)
    if lane.waits == Waits.OTHER:
        lane.x, lane.weight = words[0], numbers[1]
        if lane.x == lane.w:
            return Waits.REFUSED
        return Waits.AGAIN if both else Waits.LOOK_C
    if lane.waits in (Waits.EXACT, Waits.EXACT_LOOK):
        return _hear_exact(lane, words, numbers, levels, bias)
    more, there, x = unit(lane.more), numbers[0] >= float32(0.0), int64(lane.x)
    if lane.waits == Waits.LOOK_W:
        loose = lane.marks & _MARKED_LOOSE != 0
        taken = takes_looked_up(there, numbers[0], x, loose, more, levels, bias, bias.outward, extended)
    elif there:
        taken = takes_common(numbers[0], lane.weight, x, int64(lane.c), more, numbers[1], levels, bias, extended)
    return Waits.TAKEN if taken else Waits.REFUSED


@njit(nogil=True, cache=True, error_model="numpy")
def _hear_candidate(lane: Any, words: Any, walk: Any, bias: Any, restart: int, both: bool) -> Waits:
    """Take a candidate; return what becomes of it."""
    lane.x, lane.degree, lane.marks = words[0], words[1], words[2]
    more, back = unit(lane.more), lane.x == lane.w
    if lane.marks & END:
        return Waits.IDLE
    if restart > 0 and lane.refused == 0 and half_draw(mix(lane.key), lane.step - 1) < uint64(restart):
        lane.x, lane.c = walk[0], -1  # nothing is before the next step
        return Waits.TAKEN
    if lane.marks & BACK:
        lane.x = lane.w
        return Waits.TAKEN
    if lane.marks & FROM_OTHER:
        return Waits.OTHER
    looked_up = more * bias.away >= 1.0 if bias.outward else lane.marks & INNER != 0
    if looked_up and not back and lane.w >= 0:
        return Waits.ONWARD if both and bias.outward and lane.step + 1 < walk.size else Waits.LOOK_W
    taken = bias.outward or not looked_up  # nothing is a neighbour of nothing
    if back:
        taken &= more * bias.away < bias.back
    return Waits.TAKEN if taken else Waits.REFUSED


@njit(nogil=True, cache=True, error_model="numpy")
def _hear_exact(lane: Any, words: Any, numbers: Any, levels: Any, bias: Any) -> Waits:
    """Take a neighbour of c, or whether it is one of w; return what an exact draw needs next."""
    if lane.waits == Waits.EXACT:
        lane.x, lane.marks, lane.weight = words[0], words[2], numbers[1]
        if lane.w != lane.x and lane.w >= 0:
            return Waits.EXACT_LOOK
        factor = bias.back if lane.x == lane.w else bias.away
    else:
        there, loose = numbers[0] >= float32(0.0), lane.marks & _MARKED_LOOSE != 0
        factor = looked_factor(there, numbers[0], int64(lane.x), loose, levels, bias, levels.size > 0)
    lane.total += factor * lane.weight
    if lane.total > lane.wanted:
        return Waits.TAKEN
    lane.at += 1
    if lane.at == lane.degree:
        if lane.wanted != np.inf:
            return Waits.TAKEN
        lane.wanted, lane.total, lane.at = unit(mix(lane.state)) * lane.total, 0.0, 0  # once more, up to there
    return Waits.EXACT


@njit(nogil=True, cache=True, error_model="numpy")
def _step(lane: Any, walk: Any) -> None:
    """Let a walk go to its candidate."""
    walk[lane.step] = lane.x
    lane.step += 1
    lane.others = lane.degree if lane.c >= 0 else 0
    lane.w, lane.c, lane.refused = lane.c, lane.x, 0


@njit(nogil=True, cache=True, error_model="numpy")
def _refuse(lane: Any, bound: int) -> Waits:
    """Count a refusal; return what the walk waits for next."""
    lane.refused += 1
    if lane.refused < bound or lane.refused < lane.degree:
        return Waits.DRAWN
    lane.state += uint64(GOLDEN) + uint64(GOLDEN)
    lane.wanted, lane.total, lane.at = np.inf, 0.0, 0
    return Waits.EXACT


@njit(nogil=True, cache=True, error_model="numpy")
def _next_bits(lane: Any) -> None:
    """Draw the bits that judge a candidate."""
    lane.state += uint64(GOLDEN) + uint64(GOLDEN)
    lane.more = mix(lane.state)


@njit(nogil=True, cache=True, error_model="numpy")
def _ask(lane: Any, question: Any, both: bool) -> None:
    """Write what a walk asks."""
    if lane.waits == Waits.DRAWN or lane.waits >= Waits.ONWARD:
        bits = mix(lane.state + uint64(GOLDEN))
        question[0], question[1], question[2] = lane.c, lane.w, lane.others
        question[3], question[4] = bits >> uint64(32), bits & uint64(0xFFFFFFFF)
        if both:
            question[5] = uint32(_NONE)
        if lane.waits == Waits.DRAWN:
            _next_bits(lane)
        elif lane.waits == Waits.AGAIN:
            question[5] = lane.x
        else:
            question[0], question[1], question[2], question[5] = lane.x, lane.c, lane.degree, lane.w
    elif lane.waits == Waits.OTHER:
        question[0], question[1], question[2] = lane.w, lane.x, uint32(_ENTRY)
    elif lane.waits == Waits.EXACT:
        question[0], question[1], question[2] = lane.c, lane.at, uint32(_ENTRY)
    else:
        asked = lane.c if lane.waits == Waits.LOOK_C else lane.w
        question[0], question[1], question[2] = asked, lane.x, uint32(_LOOK)


@cache
def answer_second(weighted: int) -> Callable[..., None]:  # noqa: C901, PLR0915
    """Return the kernel that answers about this host's vertices."""
    stride = WEIGHTED_BUCKET if weighted else BUCKET

    @njit(nogil=True, cache=True, error_model="numpy")
    def answer(tables: Any, bias: Any, questions: Any, answers: Any) -> None:  # noqa: C901, PLR0912, PLR0915
        rows, targets, heaviest, table, levels = tables
        relative, numbers = table.view(np.float32), answers.view(np.float32)
        extended, both = levels.size > 0, questions.shape[1] > QUESTION
        bucket = np.empty(_TOGETHER, np.int64)
        sought = np.empty(_TOGETHER, np.int64)  # bucket of what is to be looked for before a draw
        entry = np.empty(_TOGETHER, np.int64)
        fraction = np.empty(_TOGETHER, np.uint64)
        for start in range(0, questions.shape[0], _TOGETHER):
            group = min(_TOGETHER, questions.shape[0] - start)
            for i in range(group):
                prefetch(rows, int64(questions[start + i, 0]))
            for i in range(group):  # what is to be looked for
                c, x, kind = int64(questions[start + i, 0]), int64(questions[start + i, 1]), questions[start + i, 2]
                begin = rows[c]
                degree = rows[c + 1] - begin
                if kind == uint32(_ENTRY):
                    entry[i] = begin + x
                    if weighted:
                        prefetch(targets, 2 * entry[i])
                    else:
                        prefetch(targets, entry[i])
                elif kind == uint32(_LOOK) or (bias.looking and x != _NONE):
                    bucket[i] = bucket_of(x, c, begin, degree)
                    prefetch(table, stride * bucket[i])
                    if weighted:
                        prefetch(heaviest, c)
                if both and kind < uint32(_ENTRY) and questions[start + i, 5] != uint32(_NONE):
                    sought[i] = bucket_of(int64(questions[start + i, 5]), c, begin, degree)
                    prefetch(table, stride * sought[i])
            for i in range(group):  # candidates are placed
                c, w, kind = int64(questions[start + i, 0]), int64(questions[start + i, 1]), questions[start + i, 2]
                if kind == uint32(_LOOK) or kind == uint32(_ENTRY):
                    continue
                begin = rows[c]
                degree = rows[c + 1] - begin
                answers[start + i, 1] = degree
                seen = 0
                if both and questions[start + i, 5] != uint32(_NONE):
                    x = int64(questions[start + i, 5])
                    seen = _FOUND if find(table, stride, sought[i], x, c, begin, degree) >= 0 else 0
                if degree == 0:
                    answers[start + i, 2] = END
                    entry[i] = -1
                    continue
                way_back = 0.0 if w == _NONE else 1.0
                if bias.looking and w != _NONE:
                    slot = find(table, stride, bucket[i], w, c, begin, degree)
                    way_back = weight_back(slot, c, relative, levels, weighted, extended)
                most = float(heaviest[c]) if weighted and not bias.outward else 1.0
                bits = (uint64(questions[start + i, 3]) << uint64(32)) | uint64(questions[start + i, 4])
                drawn, column, part = draw_candidate(bits, degree, int64(kind), most, way_back, bias, bias.outward)
                answers[start + i, 2] = drawn | seen
                if drawn in (FROM_OTHER, BACK):
                    answers[start + i, 0] = column
                    entry[i] = -1
                    continue
                entry[i] = begin + column
                if weighted:
                    fraction[i] = part
                    prefetch(targets, 2 * entry[i])
                else:
                    prefetch(targets, entry[i])
            for i in range(group):  # answers are read
                c, x, kind = int64(questions[start + i, 0]), int64(questions[start + i, 1]), questions[start + i, 2]
                begin = rows[c]
                degree = rows[c + 1] - begin
                if kind == uint32(_LOOK):
                    slot = find(table, stride, bucket[i], x, c, begin, degree)
                    numbers[start + i, 0] = float32(-1.0) if slot < 0 else relative[slot] if weighted else float32(1.0)
                    numbers[start + i, 1] = heaviest[c] if weighted else float32(1.0)
                    continue
                e = entry[i]
                if e < 0:
                    continue
                if kind == uint32(_ENTRY):
                    x = int64(targets[2 * e] & uint64(0xFFFFFFFF)) if weighted else int64(targets[e])
                    answers[start + i, 2] = 0
                else:
                    x = chosen(targets, e, fraction[i]) if weighted else int64(targets[e])
                if extended:
                    answers[start + i, 2] |= uint32(_MARKED_LOOSE) if x >> LOOSE else uint32(0)
                    x &= int64(IDS)
                answers[start + i, 0] = x
                if kind == uint32(_ENTRY):
                    slot = find(table, stride, bucket_of(x, c, begin, degree), x, c, begin, degree) if weighted else 0
                    numbers[start + i, 1] = relative[slot] if weighted else float32(1.0)

    return answer
