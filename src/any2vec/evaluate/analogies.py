"""Accuracy on analogies, counted as word2vec's compute-accuracy does."""

import math
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from any2vec.evaluate.folding import fold, folded_ids
from any2vec.evaluate.questions import QuestionSection, read_questions
from any2vec.vectors.search import nearest
from any2vec.vectors.vectors import Vectors

__all__ = ["RESTRICT", "AnalogyResult", "AnalogyScore", "evaluate_analogies"]

RESTRICT = 30_000  # compute-accuracy's usual argument, and the papers'
BATCH = 4_096  # questions whose vectors are made together


@dataclass(frozen=True)
class AnalogyScore:
    """How many questions were answered rightly.

    Attributes
    ----------
    name : str
        Of the section, or "semantic", "syntactic", "total".
    right, asked, skipped : int
        Questions answered rightly; asked; not asked because one of their words has no vector.
    """

    name: str
    right: int
    asked: int
    skipped: int

    @property
    def accuracy(self) -> float:
        """Right answers among the questions asked, in percent; NaN if none was asked."""
        return 100 * self.right / self.asked if self.asked else math.nan


@dataclass(frozen=True)
class AnalogyResult:
    """Scores of all sections.

    Attributes
    ----------
    sections : tuple of AnalogyScore
        In the order of the file.
    """

    sections: tuple[AnalogyScore, ...]

    @property
    def semantic(self) -> AnalogyScore:
        """The questions of sections whose name does not begin with "gram"."""
        return _sum("semantic", (s for s in self.sections if not s.name.startswith("gram")))

    @property
    def syntactic(self) -> AnalogyScore:
        """The questions of sections whose name begins with "gram"."""
        return _sum("syntactic", (s for s in self.sections if s.name.startswith("gram")))

    @property
    def total(self) -> AnalogyScore:
        """All questions."""
        return _sum("total", self.sections)

    @property
    def macro(self) -> float:
        """Mean of the sections' accuracies, in percent, over those that were asked; NaN if none was."""
        asked = [section.accuracy for section in self.sections if section.asked]
        return sum(asked) / len(asked) if asked else math.nan

    @property
    def coverage(self) -> float:
        """Questions that were asked, in percent."""
        total = self.total
        return 100 * total.asked / max(1, total.asked + total.skipped)

    def as_dict(self) -> dict[str, Any]:
        """Give all figures as JSON can hold them.

        Returns
        -------
        dict
            Accuracies in percent; None for those of nothing.
        """
        parts = {score.name: _as_dict(score) for score in (self.semantic, self.syntactic, self.total)}
        figures = {"macro": _or_none(self.macro), "coverage": self.coverage}
        return {**parts, **figures, "sections": [{"name": s.name, **_as_dict(s)} for s in self.sections]}


def evaluate_analogies(
    vectors: Vectors,
    questions: str | os.PathLike[str] | Sequence[QuestionSection],
    restrict: int | None = RESTRICT,
) -> AnalogyResult:
    """Ask "a is to b as c is to ?" and count the right answers.

    As word2vec's compute-accuracy: the answer is the word nearest to b - a + c, all of unit length (3CosAdd),
    among the `restrict` most frequent words but a, b and c. Upper and lower case are the same; of words that
    differ in it, questions mean the most frequent, and any is a right answer. Questions with a word that is
    not among these are skipped.

    Parameters
    ----------
    vectors : Vectors
        Words in the order of falling counts.
    questions : path or sequence of QuestionSection
        A file such as questions-words.txt, or what `read_questions` gives.
    restrict : int, optional
        How many words, the most frequent ones, are known; None for all.

    Returns
    -------
    AnalogyResult
        Right, asked and skipped in each section and together.

    Raises
    ------
    Any2VecError
        If the file cannot be read, or a vector is not finite.
    """
    if isinstance(questions, str | os.PathLike):
        questions = read_questions(questions)
    words = vectors.words[:restrict]
    ids = folded_ids(words)
    counted: list[tuple[int, int, int]] = []  # section, and where its questions are among those asked
    asked: list[list[int]] = []
    for section in questions:
        start = len(asked)
        known = ([ids.get(fold(word), -1) for word in question] for question in section.questions)
        asked.extend(question for question in known if min(question) >= 0)
        counted.append((start, len(asked), len(section.questions)))
    right = _answer(vectors, words, asked)
    return AnalogyResult(
        tuple(
            AnalogyScore(section.name, sum(right[start:end]), end - start, number - (end - start))
            for section, (start, end, number) in zip(questions, counted, strict=True)
        )
    )


def _answer(vectors: Vectors, words: Sequence[str], asked: list[list[int]]) -> list[bool]:
    """Tell of each question, four ids, whether it is answered rightly."""
    matrix, norms = vectors.matrix[: len(words)], vectors.norms[: len(words)]
    lengths = np.where(norms > 0, norms, np.float32(1))[:, None]
    right: list[bool] = []
    for start in range(0, len(asked), BATCH):
        question = np.array(asked[start : start + BATCH], np.int64)
        a, b, c = (matrix[ids] / lengths[ids] for ids in question[:, :3].T)
        answers, cosines = nearest(matrix, norms, b - a + c, 1, excluded=question[:, :3])
        right += [
            bool(cosine > 0) and fold(words[answer]) == fold(words[wanted])  # compute-accuracy starts from 0
            for answer, cosine, wanted in zip(answers[:, 0], cosines[:, 0], question[:, 3], strict=True)
        ]
    return right


def _sum(name: str, scores: Iterable[AnalogyScore]) -> AnalogyScore:
    parts = list(scores)
    return AnalogyScore(name, sum(s.right for s in parts), sum(s.asked for s in parts), sum(s.skipped for s in parts))


def _as_dict(score: AnalogyScore) -> dict[str, Any]:
    numbers = {"right": score.right, "asked": score.asked, "skipped": score.skipped}
    return {"accuracy": _or_none(score.accuracy), **numbers}


def _or_none(value: float) -> float | None:
    return None if math.isnan(value) else value
