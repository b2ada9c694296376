"""node2vec's walks on a graph in shares: the steps of `second_order`, by questions to the hosts that have the vertices.

A candidate is drawn where the walk's vertex c is. Whether it is a neighbour of the vertex before, w, is looked up where
w is. If it is drawn from the row of w, whether it is a neighbour of c is looked up where c is. A step that is drawn
exactly asks for one neighbour of c after the other.

A look and the draw after it are one question where one host can do both. One such host is that of c, if the candidate
is refused. Where edges have no direction, another is that of the candidate, if it is accepted: it can tell whether w is
its neighbour. (KnightKing, Yang et al., SOSP 2019, sends such questions to w.)
"""

from typing import Any, NamedTuple

import numpy as np
from numba import float32, int64, uint32, uint64
from numpy.typing import NDArray

from any2vec.llvm.compiled import njit
from any2vec.samples.draws import mix
from any2vec.walks.shares.second_answers import (
    BACK,
    END,
    ENTRY,
    FOUND,
    FROM_OTHER,
    INNER,
    LOOK,
    MARKED_LOOSE,
    NONE,
    QUESTION,
)
from any2vec.walks.tables import half_draw, in_out, start_of, unit

__all__ = ["SecondLanes", "ask_second"]

_GOLDEN = 0x9E3779B97F4A7C15
# What a lane waits for: a candidate, that of the row of w, looks in the rows of w and of c; in an exact draw, the next
# neighbour, and the look; looks in the rows of the candidate and of c, each with the draw after it
_DRAWN, _OTHER, _LOOK_W, _LOOK_C, _EXACT, _EXACT_LOOK, _ONWARD, _AGAIN = range(8)


class SecondLanes(NamedTuple):
    """Walks under way, one in each lane; names as in `second_order`.

    Attributes
    ----------
    whole : int32 array, shape (lanes, 12)
        Vertices, numbers and states, by the columns below.
    bits : uint64 array, shape (lanes, 3)
        Key and state of the walk's draws, and the bits that judge a candidate.
    sums : float64 array, shape (lanes, 2)
        Of an exact draw: where the draw lies, and the sum so far.
    """

    whole: NDArray[np.int32]
    bits: NDArray[np.uint64]
    sums: NDArray[np.float64]

    @classmethod
    def empty(cls, lanes: int) -> "SecondLanes":
        """Return lanes without walks."""
        return cls(np.zeros((lanes, 12), np.int32), np.zeros((lanes, 3), np.uint64), np.zeros((lanes, 2)))


_ROW, _STEP, _C, _W, _DEGREE, _OTHERS, _REFUSED, _WAITS, _X, _CANDIDATE, _AT, _BITS = range(12)
_KEY, _STATE, _MORE = range(3)


@njit(nogil=True, cache=True, error_model="numpy")
def ask_second(  # noqa: C901, PLR0912, PLR0915
    answers: Any,
    numbers: Any,
    places: Any,
    lanes: Any,
    live: int,
    upcoming: int,
    first: int,
    last: int,
    keys: Any,
    vertices: int,
    left: int,
    right: int,
    starts: Any,
    weighted: bool,
    levels: Any,
    p: float,
    q: float,
    bound: int,
    restart: int,
    out: Any,
    lengths: Any,
    questions: Any,
) -> tuple[int, int]:
    """Hear answers and ask the next questions; return how many there are, and the next `upcoming`.

    The walks are `first` to ``last - 1``, which are counted over all passes, of which those from `upcoming` on are not
    begun. They start at vertices that are drawn from `starts`, or if that is empty at each. Only node2vec+ has
    `levels`, of all vertices. `numbers` is a view of `answers`.
    """
    outward, extended, both = q < 1.0, levels.size > 0, questions.shape[1] > QUESTION
    length = out.shape[1]
    back, away = 1.0 / p, 1.0 / q
    common = 1.0 - away
    whole, bits, sums = lanes.whole, lanes.bits, lanes.sums
    i = 0
    n = live
    while i < n:
        step = whole[i, _STEP]
        c, w, place = int64(whole[i, _C]), int64(whole[i, _W]), int64(places[i])
        waits = whole[i, _WAITS]
        x = int64(whole[i, _X])
        before = c  # of the next step
        accepted = refused = False
        asks = -1  # what the lane waits for next
        if step > 0 and waits >= _ONWARD:
            found = int64(answers[place, 2]) & FOUND != 0
            if waits == _ONWARD and found:
                refused = True
            elif waits == _ONWARD:
                whole[i, _REFUSED] = 0
                out[whole[i, _ROW], step] = x
                step += 1
                whole[i, _OTHERS], whole[i, _W], whole[i, _C] = whole[i, _DEGREE], c, x
                w = c
                before = c = x
                waits = _DRAWN
            elif found:
                accepted = True
            elif whole[i, _REFUSED] + 1 >= bound and whole[i, _REFUSED] + 1 >= whole[i, _DEGREE]:
                refused = True
            else:
                whole[i, _REFUSED] += 1
                waits = _DRAWN
            if waits == _DRAWN:
                bits[i, _STATE] += uint64(_GOLDEN) + uint64(_GOLDEN)
                bits[i, _MORE] = mix(bits[i, _STATE])
        if step > 0 and waits == _DRAWN:
            marks = int64(answers[place, 2])
            x = int64(answers[place, 0])
            whole[i, _DEGREE] = answers[place, 1]
            whole[i, _CANDIDATE] = marks
            more = unit(bits[i, _MORE])
            if marks & END:
                lengths[whole[i, _ROW]] = step
                step = 0
            elif restart > 0 and whole[i, _REFUSED] == 0 and half_draw(mix(bits[i, _KEY]), step - 1) < uint64(restart):
                x = int64(out[whole[i, _ROW], 0])
                before = int64(-1)
                accepted = True
            elif marks & BACK:
                x = w
                accepted = True
            elif marks & FROM_OTHER:
                asks = _OTHER
            else:
                checked = more * away >= 1.0 if outward else marks & INNER != 0
                if x == w:
                    accepted = (outward or not checked) and more * away < back
                    refused = not accepted
                elif not checked:
                    accepted = True
                elif w >= 0:
                    asks = _ONWARD if both and outward and step + 1 < length else _LOOK_W
                else:  # nothing is a neighbour of nothing
                    accepted = outward
                    refused = not accepted
        elif step > 0 and waits == _OTHER:
            x = int64(answers[place, 0])
            if extended:
                whole[i, _AT] = answers[place, 1]  # the weight of the edge, as bits
            if x == w:
                refused = True
            else:
                asks = _AGAIN if both else _LOOK_C
        elif step > 0 and waits == _LOOK_W:
            other = numbers[place, 0]
            found = other >= float32(0.0)
            accepted = found != outward
            if extended:
                loose = whole[i, _CANDIDATE] & MARKED_LOOSE != 0
                factor = in_out(other if found else float32(0.0), levels[2 * x + 1], loose, away)
                judge = unit(bits[i, _MORE])
                accepted = judge * (away if outward else common) < (factor if outward else factor - away)
            refused = not accepted
        elif step > 0 and waits == _LOOK_C:
            weight = numbers[place, 0]
            accepted = weight >= float32(0.0)
            if accepted and extended:
                numbers[place, 2] = weight
                answers[place, 0] = whole[i, _AT]  # as a number again
                other = numbers[place, 0]
                factor = in_out(other, levels[2 * x + 1], weight < levels[2 * c + 1], away)
                judge = unit(bits[i, _MORE]) * numbers[place, 1] * common
                accepted = judge < weight / levels[2 * c] * (factor - away)
            elif accepted and weighted:
                accepted = unit(bits[i, _MORE]) * numbers[place, 1] < weight
            refused = not accepted
        elif step > 0 and waits < _ONWARD:  # an exact draw
            counts = True
            if waits == _EXACT:
                x = int64(answers[place, 0])
                whole[i, _X] = x
                whole[i, _CANDIDATE] = answers[place, 2]
                whole[i, _BITS] = answers[place, 1]  # of the weight
                counts = w in (x, -1)
                factor = back if x == w else away
            else:
                other = numbers[place, 0]
                found = other >= float32(0.0)
                factor = 1.0 if found else away
                if extended:
                    loose = whole[i, _CANDIDATE] & MARKED_LOOSE != 0
                    factor = in_out(other if found else float32(0.0), levels[2 * x + 1], loose, away)
            if counts:
                if weighted:
                    answers[place, 0] = whole[i, _BITS]
                    factor *= numbers[place, 0]
                sums[i, 1] += factor
                if sums[i, 1] > sums[i, 0]:
                    accepted = True
                else:
                    whole[i, _AT] += 1
                    if whole[i, _AT] < whole[i, _DEGREE]:
                        asks = _EXACT
                    elif sums[i, 0] == np.inf:  # once more, up to where the draw lies
                        sums[i, 0] = unit(mix(bits[i, _STATE])) * sums[i, 1]
                        sums[i, 1] = 0.0
                        whole[i, _AT] = 0
                        asks = _EXACT
                    else:
                        accepted = True
            else:
                asks = _EXACT_LOOK
        if refused:
            whole[i, _REFUSED] += 1
            if whole[i, _REFUSED] >= bound and whole[i, _REFUSED] >= whole[i, _DEGREE]:
                bits[i, _STATE] += uint64(_GOLDEN) + uint64(_GOLDEN)
                whole[i, _AT] = 0
                sums[i, 0], sums[i, 1] = np.inf, 0.0
                asks = _EXACT
            else:
                asks = _DRAWN
        if accepted:
            whole[i, _REFUSED] = 0
            out[whole[i, _ROW], step] = x
            step += 1
            whole[i, _OTHERS] = whole[i, _DEGREE] if before >= 0 else 0
            whole[i, _W] = w = before
            whole[i, _C] = c = x
            asks = _DRAWN
            if step == length:
                lengths[whole[i, _ROW]] = length
                step = 0
        while step == 0 and upcoming < last:
            c, key = start_of(upcoming, keys, vertices, left, right, starts)
            bits[i, _KEY] = bits[i, _STATE] = key
            w = int64(-1)
            whole[i, _ROW] = upcoming - first
            whole[i, _C], whole[i, _W], whole[i, _OTHERS], whole[i, _REFUSED] = c, w, 0, 0
            out[whole[i, _ROW], 0] = c
            lengths[whole[i, _ROW]] = 1
            upcoming += 1
            step = int64(length > 1)
            asks = _DRAWN
        if step == 0:  # the last lane takes its place
            n -= 1
            if i < n:
                places[i] = places[n]
                for k in range(whole.shape[1]):
                    whole[i, k] = whole[n, k]
                for k in range(bits.shape[1]):
                    bits[i, k] = bits[n, k]
                sums[i, 0], sums[i, 1] = sums[n, 0], sums[n, 1]
            continue
        whole[i, _STEP] = step
        whole[i, _X] = x
        whole[i, _WAITS] = asks
        if asks == _DRAWN or asks >= _ONWARD:
            lottery = mix(bits[i, _STATE] + uint64(_GOLDEN))
            questions[i, 0], questions[i, 1], questions[i, 2] = c, w, whole[i, _OTHERS]
            questions[i, 3], questions[i, 4] = lottery >> uint64(32), lottery & uint64(0xFFFFFFFF)
            if both:
                questions[i, 5] = uint32(NONE)
            if asks == _DRAWN:
                bits[i, _STATE] += uint64(_GOLDEN) + uint64(_GOLDEN)
                bits[i, _MORE] = mix(bits[i, _STATE])
            elif asks == _AGAIN:
                questions[i, 5] = x
            else:
                questions[i, 0], questions[i, 1], questions[i, 2] = x, c, whole[i, _DEGREE]
                questions[i, 5] = w
        elif asks == _OTHER:  # the answer was the number of a neighbour
            questions[i, 0], questions[i, 1], questions[i, 2] = w, x, uint32(ENTRY)
        elif asks == _EXACT:
            questions[i, 0], questions[i, 1], questions[i, 2] = c, whole[i, _AT], uint32(ENTRY)
        else:
            questions[i, 0], questions[i, 1], questions[i, 2] = c if asks == _LOOK_C else w, x, uint32(LOOK)
        i += 1
    return n, upcoming
