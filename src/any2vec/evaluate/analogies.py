"""Analogies, counted as in word2vec's compute-accuracy, and similarity of words; both also after each epoch."""

import math
import os
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from any2vec.options import whole_number
from any2vec.vectors import Vectors
from any2vec.vectors.lookup import check_vectors
from any2vec.vectors.questions import (
    Pairs,
    Questions,
    as_pairs,
    as_questions,
    ask,
    correlations,
    cosines_of_pairs,
    require_scipy,
)

RESTRICT = 30_000  # compute-accuracy's usual argument, and the papers'


@dataclass(frozen=True)
class AnalogyScore:
    """How many questions of a section, or of "semantic", "syntactic" or "total", were answered correctly.

    Attributes
    ----------
    name : str
    right, asked, skipped : int
        Questions answered correctly; asked; skipped because one of their words has no vector.
    """

    name: str
    right: int
    asked: int
    skipped: int

    @property
    def accuracy(self) -> float:
        """Correct answers among the questions asked, in percent; NaN if none was asked."""
        return 100 * self.right / self.asked if self.asked else math.nan


@dataclass(frozen=True)
class AnalogyResult:
    """Scores of all sections, in the order of the file."""

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
        """Mean accuracy of the sections that were asked, in percent; NaN if none was."""
        asked = [section.accuracy for section in self.sections if section.asked]
        return sum(asked) / len(asked) if asked else math.nan

    @property
    def coverage(self) -> float:
        """Fraction of the questions that were asked, in percent."""
        total = self.total
        return 100 * total.asked / max(1, total.asked + total.skipped)

    def as_dict(self) -> dict[str, Any]:
        """Return all figures for JSON: accuracies in percent, None where nothing was asked."""
        parts = {score.name: _as_dict(score) for score in (self.semantic, self.syntactic, self.total)}
        figures = {"macro": _or_none(self.macro), "coverage": self.coverage}
        return {**parts, **figures, "sections": [{"name": s.name, **_as_dict(s)} for s in self.sections]}


def evaluate_analogies(
    vectors: Vectors,
    questions: Questions,
    restrict: int | None = RESTRICT,
) -> AnalogyResult:
    """Ask "a is to b as c is to ?" and count the correct answers.

    As in word2vec's compute-accuracy, the answer is the word nearest to b - a + c, all of unit length (3CosAdd),
    among the `restrict` most frequent words except a, b and c. Case is ignored: of words that differ only in case,
    questions mean the most frequent, and any is a correct answer. Questions with a word not among these are skipped.

    Parameters
    ----------
    vectors : Vectors
        Words by descending count.
    questions : path or sequence of QuestionSection
        A file such as questions-words.txt, or what `read_questions` returns.
    restrict : int, optional
        Use only this many words, the most frequent ones; None for all.

    Returns
    -------
    AnalogyResult
        Correct, asked and skipped questions of each section and in total.

    Raises
    ------
    Any2VecError
        If the file cannot be read, a vector is not finite, or an argument is invalid.
    """
    check_vectors(vectors)
    if restrict is not None:
        restrict = whole_number("restrict", restrict, 1)
    questions = as_questions(questions)
    return AnalogyResult(
        tuple(
            AnalogyScore(section.name, found.count(True), len(found) - found.count(None), found.count(None))
            for section, found in zip(questions, ask(vectors, questions, restrict), strict=True)
        )
    )


def _sum(name: str, scores: Iterable[AnalogyScore]) -> AnalogyScore:
    parts = list(scores)
    return AnalogyScore(name, sum(s.right for s in parts), sum(s.asked for s in parts), sum(s.skipped for s in parts))


def _as_dict(score: AnalogyScore) -> dict[str, Any]:
    numbers = {"right": score.right, "asked": score.asked, "skipped": score.skipped}
    return {"accuracy": _or_none(score.accuracy), **numbers}


def _or_none(value: float) -> float | None:
    return None if math.isnan(value) else value


@dataclass(frozen=True)
class SimilarityResult:
    """How well cosines agree with human judgements.

    Attributes
    ----------
    spearman, pearson : float
        Correlations over the pairs used, -1 to 1; NaN for fewer than two, or if all scores or cosines are equal.
    used, skipped : int
        Pairs whose words both have vectors, and the other pairs.
    """

    spearman: float
    pearson: float
    used: int
    skipped: int

    def as_dict(self) -> dict[str, float | int | None]:
        """Return all figures for JSON; None for an undefined correlation."""
        correlations = {"spearman": self.spearman, "pearson": self.pearson}
        known = {name: None if math.isnan(value) else value for name, value in correlations.items()}
        return {**known, "used": self.used, "skipped": self.skipped}


def evaluate_similarity(vectors: Vectors, pairs: Pairs) -> SimilarityResult:
    """Correlate the cosines of pairs of words with human scores.

    Case is ignored: of words that differ only in case, the most frequent is meant. Pairs with an unknown word are
    skipped, unless it has a vector from its parts.

    Parameters
    ----------
    vectors : Vectors
        Words by descending count.
    pairs : path or sequence of (str, str, float)
        A file for `read_pairs`, or what it returns.

    Returns
    -------
    SimilarityResult
        Spearman's and Pearson's correlations, and over how many pairs.

    Raises
    ------
    Any2VecError
        If the file cannot be read, a vector is not finite, an argument is invalid, or SciPy is not installed.
    """
    check_vectors(vectors)
    pairs = as_pairs(pairs)
    cosines = cosines_of_pairs(vectors, pairs)
    used = [(score, cosine) for (_, _, score), cosine in zip(pairs, cosines, strict=True) if cosine is not None]
    found = correlations(used)
    pearson, spearman = (math.nan, math.nan) if found is None else (float(result.statistic) for result in found)
    return SimilarityResult(spearman, pearson, len(used), len(pairs) - len(used))


class Checker(ABC):
    """Evaluates vectors of words every `every` epochs."""

    def __init__(self, every: int) -> None:
        self.every = whole_number("every", every, 1)
        self.history: list[tuple[int, dict[str, float]]] = []
        """Epochs and their figures."""

    def __call__(self, epoch: int, vectors: Vectors) -> dict[str, float]:
        """Evaluate the vectors after an epoch, counted from 1; return no figures for one that is not evaluated."""
        if epoch % self.every:
            return {}
        figures = self._figures(vectors)
        self.history.append((epoch, figures))
        return figures

    @abstractmethod
    def _figures(self, vectors: Vectors) -> dict[str, float]: ...


class AnalogyChecker(Checker):
    """Answers analogy questions after an epoch.

    Its figures are "analogies" (of all questions), "semantic", "syntactic" and "macro" accuracy in percent, NaN where
    nothing could be asked.

    Parameters
    ----------
    questions : path or sequence of QuestionSection
        A file such as questions-words.txt, read now.
    restrict : int, optional
        Use only this many words, the most frequent ones; None for all.
    every : int
        Evaluate every `every` epochs.

    Raises
    ------
    Any2VecError
        If the file cannot be read or an argument is invalid.
    """

    def __init__(self, questions: Questions, restrict: int | None = RESTRICT, every: int = 1) -> None:
        self.questions = as_questions(questions)
        self.restrict = None if restrict is None else whole_number("restrict", restrict, 1)
        super().__init__(every)

    def _figures(self, vectors: Vectors) -> dict[str, float]:
        result = evaluate_analogies(vectors, self.questions, self.restrict)
        scores = {"analogies": result.total, "semantic": result.semantic, "syntactic": result.syntactic}
        return {name: score.accuracy for name, score in scores.items()} | {"macro": result.macro}


class SimilarityChecker(Checker):
    """Correlates cosines with human judgements after an epoch.

    Its figures are "NAME spearman" and "NAME pearson", NaN where undefined.

    Parameters
    ----------
    pairs : path or sequence of (str, str, float)
        A file such as WordSim-353, read now.
    name : str, optional
        Prefix of the figures' names; by default the name of the file without ending, else "pairs".
    every : int
        Evaluate every `every` epochs.

    Raises
    ------
    Any2VecError
        If the file cannot be read, an argument is invalid, or SciPy is not installed.
    """

    def __init__(self, pairs: Pairs, name: str | None = None, every: int = 1) -> None:
        require_scipy()
        if isinstance(pairs, str | os.PathLike):
            name = name or Path(pairs).stem
        self.pairs = as_pairs(pairs)
        self.name = name or "pairs"
        super().__init__(every)

    def _figures(self, vectors: Vectors) -> dict[str, float]:
        result = evaluate_similarity(vectors, self.pairs)
        return {f"{self.name} spearman": result.spearman, f"{self.name} pearson": result.pearson}
