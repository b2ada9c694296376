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

Weights are relative to the mean of their row. node2vec+ (`noise`) has other factors, also from 1/q to 1: with them a
candidate that was looked up is accepted with their share of what it was drawn for.

Many walks are stepped together to hide the latency of memory: a candidate is placed, then read, then judged. A walk
that ends makes way for another.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numba import int64, uint64

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
    start_drawn,
    unit,
    vertex_at,
)

__all__ = ["REFUSALS", "second_order"]

_LANES = 64
_GOLDEN = 0x9E3779B97F4A7C15  # what draw adds for each number
REFUSALS = 1024  # of one step: then enumerating costs less than further tries
_IDS = uint64((1 << LOOSE) - 1)
# Kinds of candidates: any neighbour, one to look up in the row of w or (from the row of w) in that of c, w, the walk's
# start, and none
_FREE, _CHECKED, _FROM_OTHER, _BACK, _RESTART, _END = range(6)


def _exact(weighted: int, extended: int) -> Callable[..., int]:
    """Return the kernel that draws a step from its exact distribution, in time linear in the degree of c."""
    stride = WEIGHTED_BUCKET if weighted else BUCKET
    ids = _IDS if extended else uint64(0xFFFFFFFF)

    @njit(nogil=True, cache=True, error_model="numpy")
    def exact(
        rows: Any,
        targets: Any,
        table: Any,
        relative: Any,
        levels: Any,
        c: int,
        w: int,
        back: float,
        away: float,
        bits: int,
    ) -> int:
        begin, other = rows[c], rows[w]
        degree, others = rows[c + 1] - begin, rows[w + 1] - other
        wanted, total = np.inf, 0.0
        x = int64(0)
        for _ in range(2):  # add up, then stop where the draw lies
            total = 0.0
            for entry in range(begin, begin + degree):
                x = int64(targets[2 * entry] & ids) if weighted else int64(targets[entry])
                factor = away
                if x == w:
                    factor = back
                elif extended and others > 0:
                    slot = find(table, stride, bucket_of(x, w, other, others), x, w, other, others)
                    loose = targets[2 * entry] & uint64(1 << LOOSE) != uint64(0)
                    factor = in_out(relative[slot] if slot >= 0 else np.float32(0.0), levels[2 * x + 1], loose, away)
                elif find(table, stride, bucket_of(x, w, other, others), x, w, other, others) >= 0:
                    factor = 1.0
                if weighted:
                    factor *= relative[find(table, stride, bucket_of(x, c, begin, degree), x, c, begin, degree)]
                total += factor
                if total > wanted:
                    return x
            wanted = unit(bits) * total
        return x

    return exact


# Global: compiled functions that a closure holds are new to Numba's cache in each process.
_exact_plain, _exact_weighted, _exact_extended = _exact(0, 0), _exact(1, 0), _exact(1, 1)


# A kernel is one function, long as it is.
@cache
def second_order(  # noqa: C901, PLR0915
    weighted: int, outward: int, extended: int = 0, drawn: int = 0, bound: int = REFUSALS
) -> Callable[..., None]:
    """Return the kernel for graphs with weights or without (1 or 0), for q < 1 or not, and for node2vec+ or not.

    With node2vec+ (only with weights) `relative` has the weights themselves, and neighbours in `targets` their mark. If
    `drawn`, walks start at vertices that are drawn from `starts`. A step is drawn exactly once it was refused `bound`
    times, and as often as c has neighbours. The kernel writes walks `first` to ``last - 1`` of the pass with that key
    to the rows of `out`.
    """
    stride = WEIGHTED_BUCKET if weighted else BUCKET
    ids = _IDS if extended else uint64(0xFFFFFFFF)

    @njit(nogil=True, cache=True, error_model="numpy")
    def walk(  # noqa: C901, PLR0912, PLR0915
        rows: Any,
        targets: Any,
        heaviest: Any,
        table: Any,
        relative: Any,
        weights: Any,
        levels: Any,
        starts: Any,
        directed: bool,
        p: float,
        q: float,
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
        back, away = 1.0 / p, 1.0 / q
        excess = max(0.0, back - away)  # of the way back, over what every neighbour has
        common = 1.0 - away  # the same of a common neighbour
        per_common = 1.0 / common if common > 0.0 else 0.0
        looking = excess > 0.0 and (weighted == 1 or directed)  # else the edge back weighs as much as any
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
        owner = np.empty(_LANES, np.int64)  # whose row the candidate is looked for in
        bucket = np.empty(_LANES, np.int64)
        loose = np.empty(_LANES, np.int64)  # whether the edge to the candidate is, for node2vec+
        upcoming = first
        lanes = _LANES
        while True:
            for i in range(lanes - 1, -1, -1):
                if step[i] == 0 and upcoming < last:
                    if drawn:
                        v = start_drawn(upcoming, order, starts)
                        keys[i] = state[i] = draw(key, upcoming)
                    else:
                        v = vertex_at(upcoming, vertices, left, right, order)
                        keys[i] = state[i] = draw(key, v)
                    current[i], before[i] = v, vertices
                    row[i] = upcoming - first
                    out[row[i], 0] = v
                    step[i], refused[i] = 1, 0
                    upcoming += 1
                if step[i] == 0 and upcoming == last:  # the last lane takes its place
                    lanes -= 1
                    current[i], before[i], row[i], step[i] = current[lanes], before[lanes], row[lanes], step[lanes]
                    refused[i], keys[i], state[i] = refused[lanes], keys[lanes], state[lanes]
                    way_back[i] = way_back[lanes]
            if lanes == 0:
                break
            if looking:
                for i in range(lanes):
                    if refused[i] == 0:
                        c = current[i]
                        bucket[i] = bucket_of(before[i], c, rows[c], rows[c + 1] - rows[c])
                        prefetch(table, stride * bucket[i])
            for i in range(lanes):
                bits[i] = mix(state[i] + uint64(_GOLDEN))
                state[i] += uint64(_GOLDEN) + uint64(_GOLDEN)
                more[i] = mix(state[i])
            for i in range(lanes):
                c, w = current[i], before[i]
                begin, other = rows[c], rows[w]
                degree, others = rows[c + 1] - begin, rows[w + 1] - other
                if degree == 0:
                    kind[i], entry[i] = _END, 0
                    continue
                if refused[i] == 0 and looking:
                    slot = find(table, stride, bucket[i], w, c, begin, degree)
                    way_back[i] = 0.0 if slot < 0 else float(relative[slot]) if weighted else 1.0
                    if extended:
                        way_back[i] /= levels[2 * c]
                elif refused[i] == 0:
                    way_back[i] = 1.0 if w < vertices else 0.0
                most = float(heaviest[c]) if weighted and not outward else 1.0
                smaller = others * most < degree
                free = away * degree
                shared = 0.0 if outward else common * min(float(degree), others * most)
                returning = excess * way_back[i]
                y = unit(bits[i]) * (free + shared + returning)
                backwards = y >= free + shared and returning > 0.0
                inner = y >= free and shared > 0.0
                scale = q
                if inner:
                    y -= free
                    scale = per_common
                from_other = inner and smaller
                if weighted and from_other:
                    scale /= most
                limit = others if from_other else degree
                at = y * scale
                column = min(int64(at), limit - 1)
                e = (other if from_other else begin) + column
                if weighted:
                    bits[i] = uint64(0) if from_other else uint64((at - column) * 4294967296.0)
                    prefetch(targets, 2 * e)
                else:
                    prefetch(targets, e)
                entry[i] = e
                if outward:
                    found = _CHECKED if unit(more[i]) * away >= 1.0 else _FREE
                    owner[i] = w
                else:
                    found = _CHECKED if inner else _FREE
                    owner[i] = w
                    if from_other:
                        found = _FROM_OTHER
                        owner[i] = c
                if backwards:
                    found = _BACK
                if restart > 0 and refused[i] == 0 and half_draw(mix(keys[i]), step[i] - 1) < uint64(restart):
                    found = _RESTART
                kind[i] = found
            for i in range(lanes):
                found, o = kind[i], owner[i]
                if weighted and found == _FROM_OTHER:
                    x = int64(targets[2 * entry[i]] & ids)
                elif weighted:
                    x = chosen(targets, entry[i], bits[i])
                else:
                    x = int64(targets[entry[i]])
                if extended:
                    loose[i] = x >> LOOSE
                    x &= int64(_IDS)
                    prefetch(levels, 2 * x)
                if found == _BACK:
                    x = before[i]
                candidate[i] = x
                if found in (_CHECKED, _FROM_OTHER):
                    bucket[i] = bucket_of(x, o, rows[o], rows[o + 1] - rows[o])
                    prefetch(table, stride * bucket[i])
            for i in range(lanes):
                found, x, c, w = kind[i], candidate[i], current[i], before[i]
                if found == _END:
                    lengths[row[i]] = step[i]
                    step[i] = 0
                    continue
                if found == _RESTART:
                    x = int64(out[row[i], 0])
                    c = vertices
                    good = True
                elif x == w and found != _BACK:
                    good = (outward == 1 or found == _FREE) and unit(more[i]) * away < back
                elif found in (_CHECKED, _FROM_OTHER):
                    o = owner[i]
                    slot = find(table, stride, bucket[i], x, o, rows[o], rows[o + 1] - rows[o])
                    good = (slot >= 0) != (outward == 1)
                    if extended and found == _FROM_OTHER and good:
                        weight = relative[slot]
                        factor = in_out(weights[entry[i]], levels[2 * x + 1], weight < levels[2 * c + 1], away)
                        good = unit(more[i]) * heaviest[c] * common < weight / levels[2 * c] * (factor - away)
                    elif extended and w < vertices:
                        other = relative[slot] if slot >= 0 else np.float32(0.0)
                        factor = in_out(other, levels[2 * x + 1], loose[i] != 0, away)
                        good = unit(more[i]) * (away if outward else common) < (factor if outward else factor - away)
                    elif weighted and good and found == _FROM_OTHER:
                        good = unit(more[i]) * heaviest[c] < relative[slot]
                else:
                    good = True
                if not good:
                    refused[i] += 1
                    if refused[i] >= bound and refused[i] >= rows[c + 1] - rows[c]:
                        state[i] += uint64(_GOLDEN) + uint64(_GOLDEN)
                        if extended:
                            x = _exact_extended(rows, targets, table, relative, levels, c, w, back, away, mix(state[i]))
                        elif weighted:
                            x = _exact_weighted(rows, targets, table, relative, levels, c, w, back, away, mix(state[i]))
                        else:
                            x = _exact_plain(rows, targets, table, relative, levels, c, w, back, away, mix(state[i]))
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
