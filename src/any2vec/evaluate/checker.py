"""Checkers judge the vectors after each epoch of training (Distributed TensorFlow's checker thread)."""

import os
from collections.abc import Sequence
from pathlib import Path

from any2vec.evaluate.analogies import RESTRICT, evaluate_analogies
from any2vec.evaluate.questions import QuestionSection, read_questions
from any2vec.evaluate.similarity import Pair, evaluate_similarity, read_pairs, require_scipy
from any2vec.vectors.vectors import Vectors

__all__ = ["AnalogyChecker", "SimilarityChecker"]


class AnalogyChecker:
    """Answers analogies after an epoch.

    Parameters
    ----------
    questions : path or sequence of QuestionSection
        A file such as questions-words.txt, read now.
    restrict : int, optional
        How many words, the most frequent ones, are known; None for all.
    every : int
        Check after every so many epochs.

    Raises
    ------
    Any2VecError
        If the file cannot be read.
    """

    def __init__(
        self,
        questions: str | os.PathLike[str] | Sequence[QuestionSection],
        restrict: int | None = RESTRICT,
        every: int = 1,
    ) -> None:
        if isinstance(questions, str | os.PathLike):
            questions = read_questions(questions)
        self.questions = questions
        self.restrict = restrict
        self.every = every
        self.history: list[tuple[int, dict[str, float]]] = []
        """Epochs and their figures."""

    def __call__(self, epoch: int, vectors: Vectors) -> dict[str, float]:
        """Answer the questions.

        Parameters
        ----------
        epoch : int
            The epoch that was finished, counted from 1.
        vectors : Vectors
            As they are now.

        Returns
        -------
        dict of float
            "analogies" (of all questions), "semantic", "syntactic" and "macro" accuracy in percent, NaN where
            nothing could be asked; empty if it is not this epoch's turn.
        """
        if epoch % self.every:
            return {}
        result = evaluate_analogies(vectors, self.questions, self.restrict)
        scores = {"analogies": result.total, "semantic": result.semantic, "syntactic": result.syntactic}
        figures = {name: score.accuracy for name, score in scores.items()} | {"macro": result.macro}
        self.history.append((epoch, figures))
        return figures


class SimilarityChecker:
    """Correlates cosines with people's judgement after an epoch.

    Parameters
    ----------
    pairs : path or sequence of (str, str, float)
        A file such as WordSim-353, read now.
    name : str, optional
        Figures are called by it; by default the name of the file without ending, else "pairs".
    every : int
        Check after every so many epochs.

    Raises
    ------
    Any2VecError
        If the file cannot be read, or scipy is not installed.
    """

    def __init__(self, pairs: str | os.PathLike[str] | Sequence[Pair], name: str | None = None, every: int = 1) -> None:
        require_scipy()
        if isinstance(pairs, str | os.PathLike):
            name = name or Path(pairs).stem
            pairs = read_pairs(pairs)
        self.pairs = pairs
        self.name = name or "pairs"
        self.every = every
        self.history: list[tuple[int, dict[str, float]]] = []
        """Epochs and their figures."""

    def __call__(self, epoch: int, vectors: Vectors) -> dict[str, float]:
        """Correlate.

        Parameters
        ----------
        epoch : int
            The epoch that was finished, counted from 1.
        vectors : Vectors
            As they are now.

        Returns
        -------
        dict of float
            "NAME spearman" and "NAME pearson", NaN where they do not exist; empty if it is not this epoch's
            turn.
        """
        if epoch % self.every:
            return {}
        result = evaluate_similarity(vectors, self.pairs)
        figures = {f"{self.name} spearman": result.spearman, f"{self.name} pearson": result.pearson}
        self.history.append((epoch, figures))
        return figures
