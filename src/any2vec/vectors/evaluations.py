"""Evaluation of vectors under gensim's names; what it does is in `any2vec.evaluate`, imported when it is called."""

import os
from collections.abc import Sequence
from typing import Any

from any2vec.vectors.neighbours import Neighbours

__all__ = ["Evaluations"]


class Evaluations(Neighbours):
    """`evaluate_word_analogies` and `evaluate_word_pairs`, as gensim's KeyedVectors have them."""

    def evaluate_word_analogies(
        self,
        analogies: str | os.PathLike[str] | Sequence[Any],
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
        from any2vec.evaluate.gensim_scores import word_analogies

        return word_analogies(self, analogies, restrict_vocab, case_insensitive, dummy4unknown)

    def evaluate_word_pairs(
        self,
        pairs: str | os.PathLike[str] | Sequence[tuple[str, str, float]],
        delimiter: str | None = None,
        encoding: str = "utf8",
        restrict_vocab: int | None = 300_000,
        case_insensitive: bool = True,
        dummy4unknown: bool = False,
    ) -> tuple[Any, Any, float]:
        r"""Correlate the cosines of pairs of words with human scores; needs SciPy.

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
        from any2vec.evaluate.gensim_scores import word_pairs

        read = {"delimiter": delimiter, "encoding": encoding}
        return word_pairs(self, pairs, read, restrict_vocab, case_insensitive, dummy4unknown)
