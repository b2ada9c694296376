"""`Steps`: how walks on a graph in shares are stepped, of the first order or of the second."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from any2vec.walks.row_tables import Entries, row_tables
from any2vec.walks.second_order import REFUSALS
from any2vec.walks.shares.first_order import FirstLanes, answer_first, ask_first
from any2vec.walks.shares.owners import Answer
from any2vec.walks.shares.second_answers import ANSWER, QUESTION, answer_second
from any2vec.walks.shares.second_order import SecondLanes, ask_second
from any2vec.walks.typed_rows import Paths, TypedRows

__all__ = ["Steps", "first_steps", "second_steps"]

_NO_PATHS = Paths(np.zeros(0, np.int32), *(np.zeros(0, np.int64) for _ in range(4)))


class Steps(NamedTuple):
    """What asks and what answers.

    Attributes
    ----------
    ask : callable
        ``ask(answers, places, lanes, live, upcoming, first, last, keys, per_pass, left, right, starts, ..., out,
        lengths, questions)``, a kernel: hears answers, and asks the next questions.
    given : tuple
        What it takes besides, between `starts` and `out`.
    lanes : type
        The walks that it steps.
    words : int
        Of a question.
    answer : callable
        Answers questions about this host's vertices.
    answer_words : int
        Of an answer.
    nbytes : int
        Bytes of what answers look up.
    """

    ask: Callable[..., tuple[int, int]]
    given: tuple[Any, ...]
    lanes: type[FirstLanes] | type[SecondLanes]
    words: int
    answer: Answer
    answer_words: int
    nbytes: int


def first_steps(entries: Entries, typed: tuple[TypedRows, Paths] | None, restart: np.uint64) -> Steps:
    """Step walks of the first order, along metapaths if they are `typed`."""
    weighted, slots, paths = int(entries.weights is not None), 1, _NO_PATHS
    if typed:
        (rows, targets, slots, _), paths = typed
    else:
        rows, targets, *_ = row_tables(entries, second=False, extended=False, gamma=0.0)
    reply = answer_first(weighted)

    def answer(questions: NDArray[np.uint32], answers: NDArray[np.uint32]) -> None:
        reply(rows, targets, slots, questions, answers)

    words = 2 + weighted + int(typed is not None)
    return Steps(ask_first, (paths, restart), FirstLanes, words, answer, 1, rows.nbytes + targets.nbytes)


def second_steps(
    entries: Entries,
    p: float,
    q: float,
    restart: np.uint64,
    *,
    directed: bool,
    gamma: float | None,
    gathered: Callable[[NDArray[np.float32]], NDArray[np.float32]],
) -> Steps:
    """Step node2vec's walks, or with a `gamma` node2vec+'s; `gathered` joins what each host has of its vertices."""
    weighted, extended = entries.weights is not None, gamma is not None and entries.weights is not None and q != 1
    tables = row_tables(entries, second=True, extended=extended, gamma=gamma or 0.0)
    rows, targets, heaviest, table, own = tables
    levels = gathered(own[:-2]) if extended else own
    looked_up = rows, targets, heaviest, table, table.view(np.float32), own
    reply = answer_second(int(weighted))

    def answer(questions: NDArray[np.uint32], answers: NDArray[np.uint32]) -> None:
        reply(*looked_up, directed, p, q, questions, answers, answers.view(np.float32))

    def ask(answers: NDArray[np.uint32], *rest: Any) -> tuple[int, int]:
        return ask_second(answers, answers.view(np.float32), *rest)

    nbytes = sum(array.nbytes for array in tables) + levels.nbytes
    both = not extended and (not weighted if q > 1 else q < 1 and not directed)  # looks and draws in one question
    given = weighted, levels, p, q, REFUSALS, restart
    return Steps(ask, given, SecondLanes, QUESTION + int(both), answer, ANSWER, nbytes)
