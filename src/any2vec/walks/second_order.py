"""node2vec's walks: the next vertex depends on where the walk is and on the vertex before.

At vertex c, coming from w, an edge c -> x has its weight times a factor (Grover and Leskovec, "node2vec", KDD 2016).
The factor is 1/p if x is w. It is 1 if there is an edge w -> x. It is 1/q for all others. Tables of edge pairs are not
needed (rejection sampling). Candidates are drawn from a sum of simple parts, which is nowhere below the distribution.
They are accepted with the ratio of the two. The parts are:

- Any neighbour of c, with factor 1/q.
- If q > 1, common neighbours of c and w, with the rest to 1. A candidate is drawn from the smaller of the two rows,
  and looked up in the other. So few are refused at a hub.
- The vertex w, with the excess of 1/p over 1/q. The weight of its edge is looked up when the walk comes to c.

If q < 1, the first part has too much at common neighbours. The excess is the probability that one is refused.

With extreme p and q almost all candidates may be refused: with p = 1000 and q = 0.001 at a leaf, all but one in a
million. After a bound of refusals, the step is drawn from the exact distribution, by enumerating the row of c. Usual
graphs and factors do not reach the bound.

Weights are relative to the mean of their row. node2vec+ (`tables.in_out`) has other factors, also from 1/q to 1: with
them a candidate that was looked up is accepted with their share of what it was drawn for.

A candidate is placed by `draw_candidate`, and judged by `takes_looked_up` and `takes_common`: here, where the whole
graph is, and by the questions of hosts that have shares of it (`share_second_order`). Here many walks are stepped
together to hide the latency of memory: a candidate is placed, then read, then judged. A walk that ends makes way for
another.
"""

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numba import float32, int64, uint64

from any2vec.llvm.compiled import njit
from any2vec.llvm.intrinsics import prefetch
from any2vec.samples.draws import draw, mix
from any2vec.walks.tables import (
    BUCKET,
    LOOSE,
    WEIGHTED_BUCKET,
    bucket_of,
    chosen,
    find,
    half_draw,
    in_out,
    start_at,
    unit,
)

_LANES = 64
GOLDEN = 0x9E3779B97F4A7C15  # what draw adds for each number
REFUSALS = 1024  # of one step: then enumerating costs less than further tries
IDS = uint64((1 << LOOSE) - 1)
# Kinds of candidates: any neighbour; none; one to look up in the row of w; one of the row of w to look up in that of c;
# w; the walk's start
_FREE, END, INNER, FROM_OTHER, BACK, _RESTART = 0, 1, 2, 4, 8, 16


class _Bias(NamedTuple):
    """The factors of edges, and what follows from them."""

    q: float
    back: float  # 1/p
    away: float  # 1/q
    excess: float  # of the way back, over what every neighbour has
    common: float  # the same of a common neighbour
    per_common: float
    outward: bool  # q < 1
    looking: bool  # whether the weight of the edge back is looked up; else it is that of any edge


def bias_of(p: float, q: float, *, weighted: bool, directed: bool) -> _Bias:
    """Return what p and q make of edges."""
    back, away = 1.0 / p, 1.0 / q
    excess, common = max(0.0, back - away), 1.0 - away
    looking = excess > 0.0 and (weighted or directed)
    return _Bias(q, back, away, excess, common, 1.0 / common if common > 0.0 else 0.0, q < 1.0, looking)


@njit(inline="always")
def weight_back(slot: int, c: int, relative: Any, levels: Any, weighted: int, extended: int) -> float:
    """Weight of the edge c -> w, which was looked up at `slot`."""
    weight = 0.0 if slot < 0 else float(relative[slot]) if weighted else 1.0
    if extended:
        weight /= levels[2 * c]
    return weight


@njit(inline="always")
def draw_candidate(
    bits: int, degree: int, others: int, most: float, way_back: float, bias: _Bias, outward: int
) -> tuple[int, int, int]:
    """Draw a candidate: its kind, its place in the row of c or w, and which part of the entry's column it takes.

    c and w have `degree` and `others` neighbours, `most` is the largest weight at c, `way_back` that of c -> w.
    """
    smaller = others * most < degree
    free = bias.away * degree
    shared = 0.0 if outward else bias.common * min(float(degree), others * most)
    returning = bias.excess * way_back
    y = unit(bits) * (free + shared + returning)
    backwards = y >= free + shared and returning > 0.0
    inner = y >= free and shared > 0.0
    scale = bias.q
    if inner:
        y -= free
        scale = bias.per_common
    from_other = inner and smaller
    if from_other:
        scale /= most
    at = y * scale
    column = min(int64(at), (others if from_other else degree) - 1)
    part = uint64(0) if from_other else uint64((at - column) * 4294967296.0)
    return BACK if backwards else FROM_OTHER if from_other else INNER if inner else _FREE, column, part


@njit(inline="always")
def looked_factor(there: bool, other: float, x: int, loose: bool, levels: Any, bias: _Bias, extended: int) -> float:
    """Factor of an edge c -> x, if `other` is the weight of w -> x, if that edge is there."""
    if extended:
        factor = in_out(other if there else float32(0.0), levels[2 * x + 1], loose, bias.away)
    else:
        factor = 1.0 if there else bias.away
    return factor


@njit(inline="always")
def takes_looked_up(
    there: bool, other: float, x: int, loose: bool, more: float, levels: Any, bias: _Bias, outward: int, extended: int
) -> bool:
    """Whether a candidate is taken that was looked up in the row of w; arguments as of `looked_factor`."""
    if extended:
        factor = looked_factor(there, other, x, loose, levels, bias, extended)
        taken = more * (bias.away if outward else bias.common) < (factor if outward else factor - bias.away)
    else:
        taken = there != outward
    return taken


@njit(inline="always")
def takes_common(
    weight: float, other: float, x: int, c: int, more: float, most: float, levels: Any, bias: _Bias, extended: int
) -> bool:
    """Whether a common neighbour is taken that was drawn at w; the edges c -> x and w -> x have these weights."""
    if extended:
        factor = in_out(other, levels[2 * x + 1], weight < levels[2 * c + 1], bias.away)
        taken = more * most * bias.common < weight / levels[2 * c] * (factor - bias.away)
    else:
        taken = more * most < weight
    return taken


@njit(nogil=True, cache=True, error_model="numpy")
def _exact(tables: Any, bias: Any, c: int, w: int, bits: int, weighted: int, extended: int) -> int:
    """Draw a step from its exact distribution, in time linear in the degree of c."""
    rows, targets, table, levels = tables.rows, tables.targets, tables.table, tables.levels
    relative, stride = table.view(np.float32), WEIGHTED_BUCKET if weighted else BUCKET
    begin, other = rows[c], rows[w]
    degree, others = rows[c + 1] - begin, rows[w + 1] - other
    wanted, total = np.inf, 0.0
    x = int64(0)
    for _ in range(2):  # add up, then stop where the draw lies
        total = 0.0
        for entry in range(begin, begin + degree):
            target = uint64(targets[2 * entry if weighted else entry])
            x = int64(target & IDS)
            factor = bias.back
            if x != w:
                slot = find(table, stride, bucket_of(x, w, other, others), x, w, other, others)
                loose = target & uint64(1 << LOOSE) != uint64(0)
                looked = extended and others > 0
                factor = looked_factor(slot >= 0, relative[max(slot, 0)], x, loose, levels, bias, looked)
            if weighted:
                factor *= relative[find(table, stride, bucket_of(x, c, begin, degree), x, c, begin, degree)]
            total += factor
            if total > wanted:
                return x
        wanted = unit(bits) * total
    return x


# A kernel is one function, long as it is.
@cache
def second_order(  # noqa: C901, PLR0915
    weighted: int, outward: int, extended: int = 0, bound: int = REFUSALS
) -> Callable[..., None]:
    """Return the kernel for weights or none (1 or 0), for q < 1 or not, and for node2vec+ or not.

    With node2vec+ (only with weights) the table has the `weights` themselves, which are else empty. A step is drawn
    exactly once it was refused `bound` times, and as often as c has neighbours.
    """
    stride = WEIGHTED_BUCKET if weighted else BUCKET

    @njit(nogil=True, cache=True, error_model="numpy")
    def walk(  # noqa: C901, PLR0912, PLR0915
        tables: Any,
        weights: Any,
        bias: Any,
        starts: Any,
        first: int,
        last: int,
        restart: int,
        out: Any,
        lengths: Any,
    ) -> None:
        rows, targets, heaviest, table, levels = tables
        relative = table.view(np.float32)
        vertices = rows.size - 2
        length = out.shape[1]
        key = starts.keys[0]
        order = draw(key, starts.per_pass)
        current = np.empty(_LANES, np.int64)
        before = np.empty(_LANES, np.int64)  # or V, which has no neighbours: there is none
        row = np.empty(_LANES, np.int64)  # of out
        step = np.zeros(_LANES, np.int64)  # where in the row the next vertex goes; 0 if the lane needs a walk
        refused = np.empty(_LANES, np.int64)  # candidates for this step so far
        way_back = np.empty(_LANES, np.float64)  # what the edge to `before` weighs
        keys = np.empty(_LANES, np.uint64)
        state = np.empty(_LANES, np.uint64)
        bits = np.empty(_LANES, np.uint64)
        more = np.empty(_LANES, np.uint64)
        kind = np.empty(_LANES, np.int64)
        entry = np.empty(_LANES, np.int64)
        candidate = np.empty(_LANES, np.int64)
        bucket = np.empty(_LANES, np.int64)
        loose = np.empty(_LANES, np.int64)  # whether the edge to the candidate is, for node2vec+
        upcoming = first
        lanes = _LANES
        while True:
            for i in range(lanes - 1, -1, -1):
                if step[i] == 0 and upcoming < last:
                    current[i], keys[i] = start_at(upcoming, key, order, starts)
                    before[i], state[i], row[i] = vertices, keys[i], upcoming - first
                    out[row[i], 0] = current[i]
                    step[i], refused[i] = 1, 0
                    upcoming += 1
                if step[i] == 0 and upcoming == last:  # the last lane takes its place
                    lanes -= 1
                    current[i], before[i], row[i], step[i] = current[lanes], before[lanes], row[lanes], step[lanes]
                    refused[i], keys[i], state[i] = refused[lanes], keys[lanes], state[lanes]
                    way_back[i] = way_back[lanes]
            if lanes == 0:
                break
            if bias.looking:
                for i in range(lanes):
                    if refused[i] == 0:
                        c = current[i]
                        bucket[i] = bucket_of(before[i], c, rows[c], rows[c + 1] - rows[c])
                        prefetch(table, stride * bucket[i])
            for i in range(lanes):
                bits[i] = mix(state[i] + uint64(GOLDEN))
                state[i] += uint64(GOLDEN) + uint64(GOLDEN)
                more[i] = mix(state[i])
            for i in range(lanes):  # candidates are placed
                c, w = current[i], before[i]
                begin, other = rows[c], rows[w]
                degree, others = rows[c + 1] - begin, rows[w + 1] - other
                if degree == 0:
                    kind[i], entry[i] = END, 0
                    continue
                if refused[i] == 0 and bias.looking:
                    slot = find(table, stride, bucket[i], w, c, begin, degree)
                    way_back[i] = weight_back(slot, c, relative, levels, weighted, extended)
                elif refused[i] == 0:
                    way_back[i] = 1.0 if w < vertices else 0.0
                most = float(heaviest[c]) if weighted and not outward else 1.0
                found, column, part = draw_candidate(bits[i], degree, others, most, way_back[i], bias, outward)
                entry[i] = (other if found == FROM_OTHER else begin) + column
                if weighted:
                    bits[i] = part
                    prefetch(targets, 2 * entry[i])
                else:
                    prefetch(targets, entry[i])
                if outward and found == _FREE and unit(more[i]) * bias.away >= 1.0:
                    found = INNER
                if restart > 0 and refused[i] == 0 and half_draw(mix(keys[i]), step[i] - 1) < uint64(restart):
                    found = _RESTART
                kind[i] = found
            for i in range(lanes):  # they are read
                found = kind[i]
                if weighted and found == FROM_OTHER:
                    x = int64(targets[2 * entry[i]] & IDS)
                elif weighted:
                    x = chosen(targets, entry[i], bits[i])
                else:
                    x = int64(targets[entry[i]])
                if extended:
                    loose[i] = x >> LOOSE
                    x &= int64(IDS)
                    prefetch(levels, 2 * x)
                if found == BACK:
                    x = before[i]
                candidate[i] = x
                if found in (INNER, FROM_OTHER):
                    o = current[i] if found == FROM_OTHER else before[i]
                    bucket[i] = bucket_of(x, o, rows[o], rows[o + 1] - rows[o])
                    prefetch(table, stride * bucket[i])
            for i in range(lanes):  # they are judged
                found, x, c, w = kind[i], candidate[i], current[i], before[i]
                if found == END:
                    lengths[row[i]] = step[i]
                    step[i] = 0
                    continue
                good = True
                if found == _RESTART:
                    x = int64(out[row[i], 0])
                    c = vertices
                elif x == w and found != BACK:
                    good = (outward == 1 or found == _FREE) and unit(more[i]) * bias.away < bias.back
                elif found in (INNER, FROM_OTHER):
                    o = c if found == FROM_OTHER else w
                    slot = find(table, stride, bucket[i], x, o, rows[o], rows[o + 1] - rows[o])
                    good = (slot >= 0) != (outward == 1)
                    share, weight = unit(more[i]), relative[max(slot, 0)]
                    if weighted and good and found == FROM_OTHER:
                        through = weights[entry[i]] if extended else float32(0.0)
                        good = takes_common(weight, through, x, c, share, heaviest[c], levels, bias, extended)
                    elif extended and found == INNER and w < vertices:
                        there, apart = slot >= 0, loose[i] != 0
                        good = takes_looked_up(there, weight, x, apart, share, levels, bias, outward, extended)
                if not good:
                    refused[i] += 1
                    if refused[i] >= bound and refused[i] >= rows[c + 1] - rows[c]:
                        state[i] += uint64(GOLDEN) + uint64(GOLDEN)
                        x = _exact(tables, bias, c, w, mix(state[i]), weighted, extended)
                        good = True
                if good:
                    refused[i] = 0
                    out[row[i], step[i]] = x
                    step[i] += 1
                    before[i], current[i] = c, x
                    prefetch(rows, x)
                    if weighted and not outward:
                        prefetch(heaviest, x)
                    if step[i] == length:
                        lengths[row[i]] = length
                        step[i] = 0

    return walk
