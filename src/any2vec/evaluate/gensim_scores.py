"""What gensim's `evaluate_word_analogies` and `evaluate_word_pairs` return; the methods of Vectors call this.

Three things differ from `evaluate_analogies` and `evaluate_similarity`. Other spellings of a question's words are no
answers, an answer's cosine may be negative, and case may count.
"""

from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from any2vec.errors import Any2VecError, counted
from any2vec.evaluate.analogies import answer
from any2vec.evaluate.questions import Questions, as_questions
from any2vec.evaluate.similarity import Pairs, as_pairs, correlations
from any2vec.evaluate.word_sets import fold
from any2vec.vectors.arguments import whole_number
from any2vec.vectors.neighbours import Neighbours

__all__ = ["word_analogies", "word_pairs"]


def word_analogies(
    vectors: Neighbours, questions: Questions, restrict: int | None, fold_case: bool, wrong_if_unknown: bool
) -> tuple[float, list[dict[str, Any]]]:
    """Answer questions; `Vectors.evaluate_word_analogies` documents arguments and results."""
    keys, ids = _keys(vectors, restrict, fold_case)
    sections = [
        (section.name, [tuple(_key(word, fold_case) for word in question) for question in section.questions])
        for section in as_questions(questions)
    ]
    asked = [q for _, asked_here in sections for q in asked_here if all(word in ids for word in q)]
    numbers = np.array([[ids[word] for word in q] for q in asked], np.int64).reshape(-1, 4)
    answers, _ = answer(vectors, len(keys), numbers, _with_other_spellings(keys, numbers[:, :3]))
    right = iter(i >= 0 and keys[i] == q[3] for i, q in zip(answers, asked, strict=True))
    found: list[dict[str, Any]] = []
    for name, asked_here in sections:
        correct, incorrect = [], []
        for q in asked_here:
            known = all(word in ids for word in q)
            if known and next(right):
                correct.append(q)
            elif known or wrong_if_unknown:
                incorrect.append(q)
        found.append({"section": name, "correct": correct, "incorrect": incorrect})
    total = {kind: list(chain.from_iterable(section[kind] for section in found)) for kind in ("correct", "incorrect")}
    number = len(total["correct"]) + len(total["incorrect"])
    return len(total["correct"]) / max(1, number), [*found, {"section": "Total accuracy", **total}]


def word_pairs(
    vectors: Neighbours,
    pairs: Pairs,
    read: dict[str, Any],
    restrict: int | None,
    fold_case: bool,
    zero_if_unknown: bool,
) -> tuple[Any, Any, float]:
    """Correlate cosines with scores; `Vectors.evaluate_word_pairs` documents arguments and results."""
    _, ids = _keys(vectors, restrict, fold_case)
    listed = as_pairs(pairs, **read)
    scores, cosines, unknown = [], [], 0
    for a, b, score in listed:
        one, other = (ids.get(_key(word, fold_case)) for word in (a, b))
        if one is not None and other is not None:
            cosines.append(vectors.similarity(vectors.words[one], vectors.words[other]))
        else:
            unknown += 1
            if not zero_if_unknown:
                continue
            cosines.append(0.0)
        scores.append(score)
    found = correlations(np.array(scores), np.array(cosines))
    if found is None:
        many = f"{counted(len(scores), 'pair')} of known words"
        raise Any2VecError(f"no correlation: there are {many}, or all scores or all cosines are equal")
    return *found, 100 * unknown / len(listed)


def _keys(vectors: Neighbours, restrict: int | None, fold_case: bool) -> tuple[list[str], dict[str, int]]:
    """Return the words that are used, as questions spell them, and the id that each spelling means: the first."""
    last = None if restrict is None else whole_number("restrict_vocab", restrict, 1)
    keys = [_key(word, fold_case) for word in vectors.words[:last]]
    return keys, {key: i for i, key in reversed(list(enumerate(keys)))}


def _key(word: str, fold_case: bool) -> str:
    return fold(word) if fold_case else word


def _with_other_spellings(keys: Sequence[str], asked: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the ids of all words spelt as those of a row, shape (Q, k); -1 where there are fewer than k."""
    spellings: dict[str, list[int]] = {}
    for i, key in enumerate(keys):
        spellings.setdefault(key, []).append(i)
    used, rows = np.unique(asked, return_inverse=True)
    same = np.full((len(used), max((len(spellings[keys[i]]) for i in used), default=1)), -1, np.int64)
    for row, i in zip(same, used, strict=True):
        row[: len(spellings[keys[i]])] = spellings[keys[i]]
    return same[rows].reshape(len(asked), asked.shape[1] * same.shape[1])
