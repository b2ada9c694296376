"""Evaluation of vectors under gensim's names.

Three things differ from `evaluate_analogies` and `evaluate_similarity`. Other spellings of a question's words are no
answers, an answer's cosine may be negative, and case may count.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from any2vec.errors import Any2VecError, counted
from any2vec.options import whole_number
from any2vec.vectors.neighbours import Neighbours
from any2vec.vectors.questions import Pairs, Questions, as_pairs, as_questions, correlations, fold, meant_word
from any2vec.vectors.search import answer


def evaluate_word_analogies(
    vectors: Neighbours,
    analogies: Questions,
    restrict_vocab: int | None = 300_000,
    case_insensitive: bool = True,
    dummy4unknown: bool = False,
) -> tuple[float, list[dict[str, Any]]]:
    """Ask "a is to b as c is to ?" of a file of questions.

    Parameters
    ----------
    analogies : path or sequence of QuestionSection
        A file such as questions-words.txt. Unlike in gensim, a line that is no question is an error.
    restrict_vocab : int, optional
        Use only this many words, the most frequent ones; None for all.
    case_insensitive : bool
        Take words in upper case; of those that differ only in case, the most frequent is meant.
    dummy4unknown : bool
        Count questions with an unknown word as answered wrongly; by default they are left out.

    Returns
    -------
    float
        Share of the questions asked that were answered correctly; 0 if none was asked.
    list of dict
        A dict for each section, and one for all, "Total accuracy". "section" is the name; "correct" and "incorrect"
        are the questions, as tuples of four words.

    Raises
    ------
    Any2VecError
        If the file cannot be read, a vector is not finite, or an argument is invalid.
    """
    keys, ids = _keys(vectors, restrict_vocab, case_insensitive)
    sections = [
        (section.name, [tuple(map(fold if case_insensitive else str, question)) for question in section.questions])
        for section in as_questions(analogies)
    ]
    asked = [q for _, asked_here in sections for q in asked_here if all(word in ids for word in q)]
    numbers = np.array([[ids[word] for word in q] for q in asked], np.int64).reshape(-1, 4)
    matrix, norms = vectors.matrix[: len(keys)], vectors.norms[: len(keys)]
    answers, _ = answer(matrix, norms, numbers, _with_other_spellings(keys, numbers[:, :3]))
    right = iter(i >= 0 and keys[i] == q[3] for i, q in zip(answers, asked, strict=True))
    found: list[dict[str, Any]] = []
    for name, asked_here in sections:
        correct, incorrect = [], []
        for q in asked_here:
            known = all(word in ids for word in q)
            if known and next(right):
                correct.append(q)
            elif known or dummy4unknown:
                incorrect.append(q)
        found.append({"section": name, "correct": correct, "incorrect": incorrect})
    total = {kind: [q for section in found for q in section[kind]] for kind in ("correct", "incorrect")}
    number = len(total["correct"]) + len(total["incorrect"])
    return len(total["correct"]) / max(1, number), [*found, {"section": "Total accuracy", **total}]


def evaluate_word_pairs(
    vectors: Neighbours,
    pairs: Pairs,
    delimiter: str | None = None,
    encoding: str = "utf8",
    restrict_vocab: int | None = 300_000,
    case_insensitive: bool = True,
    dummy4unknown: bool = False,
) -> tuple[Any, Any, float]:
    r"""Correlate the cosines of pairs of words with human scores; needs SciPy.

    Unlike in gensim, words that have a vector from their parts alone are known.

    Parameters
    ----------
    pairs : path or sequence of (str, str, float)
        A file such as WordSim-353. Unlike in gensim, a line that is no pair is an error.
    delimiter : str, optional
        What separates columns; by default tabs, commas or whitespace are found (gensim: "\t").
    encoding : str
        Of the file.
    restrict_vocab, case_insensitive
        As for `evaluate_word_analogies`.
    dummy4unknown : bool
        Take 0 for the cosine of pairs with an unknown word; by default they are left out.

    Returns
    -------
    pearson, spearman
        SciPy's results, pairs of a correlation and its p-value.
    float
        Pairs with an unknown word, in percent.

    Raises
    ------
    Any2VecError
        If the file cannot be read, an argument is invalid, SciPy is not installed, or there is no correlation:
        fewer than two pairs, or equal scores or cosines.
    """
    _, ids = _keys(vectors, restrict_vocab, case_insensitive)
    listed = as_pairs(pairs, delimiter, encoding)
    scores, cosines, unknown = [], [], 0
    for a, b, score in listed:
        one, other = (meant_word(word, vectors, ids, case_insensitive) for word in (a, b))
        if one is not None and other is not None:
            cosines.append(vectors.similarity(one, other))
        else:
            unknown += 1
            if not dummy4unknown:
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
    keys = [*map(fold if fold_case else str, vectors.words[:last])]
    return keys, {key: i for i, key in reversed(list(enumerate(keys)))}


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
