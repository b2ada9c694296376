"""Checkers evaluate the vectors after each epoch of training (Distributed TensorFlow's checker thread)."""

import os
from abc import ABC, abstractmethod
from pathlib import Path

from any2vec.evaluate.analogies import RESTRICT, evaluate_analogies
from any2vec.evaluate.similarity import evaluate_similarity
from any2vec.options import whole_number
from any2vec.vectors.questions import Pairs, Questions, as_pairs, as_questions, require_scipy
from any2vec.vectors.vectors import Vectors

__all__ = ["AnalogyChecker", "Checker", "SimilarityChecker"]


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
