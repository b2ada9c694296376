"""What a host answers of its vertices to node2vec's walks on a graph in shares; `second_order` asks."""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numba import float32, int64, uint32, uint64

from any2vec.llvm.compiled import njit
from any2vec.llvm.intrinsics import prefetch
from any2vec.walks.second_order import BACK, END, FROM_OTHER, IDS, draw_candidate, weight_back
from any2vec.walks.tables import BUCKET, LOOSE, WEIGHTED_BUCKET, bucket_of, chosen, find

__all__ = ["ANSWER", "QUESTION", "answer_second"]

QUESTION = 5
"""Words of a question: the vertex; w, a candidate, or the number of a neighbour; a kind, or the degree of w; bits.

A sixth is what to look for before the draw, where looks and draws may be one question.
"""

ANSWER = 3
"""Words of an answer: a vertex or a weight; the degree of c, a weight, or the heaviest of its row; marks."""

NONE = 0xFFFFFFFF  # no vertex before: -1 as a word
LOOK, ENTRY = 0xFFFFFFFF, 0xFFFFFFFE  # kinds of questions, besides a draw: is x a neighbour; which is neighbour i
MARKED_LOOSE, FOUND = 16, 32  # marks of answers, besides the kind of the candidate

_GROUP = 64


@cache
def answer_second(weighted: int) -> Callable[..., None]:  # noqa: C901, PLR0915
    """Return the kernel that answers about this host's vertices."""
    stride = WEIGHTED_BUCKET if weighted else BUCKET

    @njit(nogil=True, cache=True, error_model="numpy")
    def answer(tables: Any, bias: Any, questions: Any, answers: Any) -> None:  # noqa: C901, PLR0912, PLR0915
        rows, targets, heaviest, table, levels = tables
        relative, numbers = table.view(np.float32), answers.view(np.float32)
        extended, both = levels.size > 0, questions.shape[1] > QUESTION
        bucket = np.empty(_GROUP, np.int64)
        sought = np.empty(_GROUP, np.int64)  # bucket of what is to be looked for before a draw
        entry = np.empty(_GROUP, np.int64)
        fraction = np.empty(_GROUP, np.uint64)
        for start in range(0, questions.shape[0], _GROUP):
            group = min(_GROUP, questions.shape[0] - start)
            for i in range(group):
                prefetch(rows, int64(questions[start + i, 0]))
            for i in range(group):  # what is to be looked for
                c, x, kind = int64(questions[start + i, 0]), int64(questions[start + i, 1]), questions[start + i, 2]
                begin = rows[c]
                degree = rows[c + 1] - begin
                if kind == uint32(ENTRY):
                    entry[i] = begin + x
                    if weighted:
                        prefetch(targets, 2 * entry[i])
                    else:
                        prefetch(targets, entry[i])
                elif kind == uint32(LOOK) or (bias.looking and x != NONE):
                    bucket[i] = bucket_of(x, c, begin, degree)
                    prefetch(table, stride * bucket[i])
                    if weighted:
                        prefetch(heaviest, c)
                if both and kind < uint32(ENTRY) and questions[start + i, 5] != uint32(NONE):
                    sought[i] = bucket_of(int64(questions[start + i, 5]), c, begin, degree)
                    prefetch(table, stride * sought[i])
            for i in range(group):  # candidates are placed
                c, w, kind = int64(questions[start + i, 0]), int64(questions[start + i, 1]), questions[start + i, 2]
                if kind == uint32(LOOK) or kind == uint32(ENTRY):
                    continue
                begin = rows[c]
                degree = rows[c + 1] - begin
                answers[start + i, 1] = degree
                seen = 0
                if both and questions[start + i, 5] != uint32(NONE):
                    x = int64(questions[start + i, 5])
                    seen = FOUND if find(table, stride, sought[i], x, c, begin, degree) >= 0 else 0
                if degree == 0:
                    answers[start + i, 2] = END
                    entry[i] = -1
                    continue
                way_back = 0.0 if w == NONE else 1.0
                if bias.looking and w != NONE:
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
                if kind == uint32(LOOK):
                    slot = find(table, stride, bucket[i], x, c, begin, degree)
                    numbers[start + i, 0] = float32(-1.0) if slot < 0 else relative[slot] if weighted else float32(1.0)
                    numbers[start + i, 1] = heaviest[c] if weighted else float32(1.0)
                    continue
                e = entry[i]
                if e < 0:
                    continue
                if kind == uint32(ENTRY):
                    x = int64(targets[2 * e] & uint64(0xFFFFFFFF)) if weighted else int64(targets[e])
                    answers[start + i, 2] = 0
                else:
                    x = chosen(targets, e, fraction[i]) if weighted else int64(targets[e])
                if extended:
                    answers[start + i, 2] |= uint32(MARKED_LOOSE) if x >> LOOSE else uint32(0)
                    x &= int64(IDS)
                answers[start + i, 0] = x
                if kind == uint32(ENTRY):
                    slot = find(table, stride, bucket_of(x, c, begin, degree), x, c, begin, degree) if weighted else 0
                    numbers[start + i, 1] = relative[slot] if weighted else float32(1.0)

    return answer
