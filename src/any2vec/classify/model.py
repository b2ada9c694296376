"""A classifier that is trained: the rows of words, n-grams and labels, and how a line is read."""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from any2vec.classify.predict import Predictor
from any2vec.classify.quantized import Quantized
from any2vec.classify.saved import load_folder, save_folder
from any2vec.classify.texts import answers_of, checked, explain, predict_file, text_of
from any2vec.corpus.lines import PREFIX
from any2vec.errors import Any2VecError, shown
from any2vec.io.inputs import Source
from any2vec.io.memory import zeros
from any2vec.options import as_path

LOSSES = ("softmax", "hierarchical", "negative", "ova")
"""What a classifier is trained with: softmax over all labels or on a Huffman tree; each label by itself, against some
others or all (one-vs-all)."""

_MOST = 1 << 16  # words, or characters, of an n-gram


@dataclass(frozen=True)
class LineSettings:
    """How a line becomes rows of e, and what scores mean.

    Attributes
    ----------
    word_ngrams : int
        Words of the longest n-gram of words.
    buckets : int
        Hash values of n-grams, of words and of characters; 0 if there are none.
    least, most : int
        Characters of n-grams of characters; 0 if there are none.
    prefix : str
        What labels begin with in a text.
    loss : str
        One of `LOSSES`: softmax and hierarchical give probabilities that sum up to 1, the others one for each label.
    lowercase, tokenize : bool
        What is done with a text before.
    counts_unknown : bool
        Whether n-grams without a row are rows of zeros; else they are left out, as in pruned models of fastText.
    """

    word_ngrams: int = 1
    buckets: int = 0
    least: int = 0
    most: int = 0
    prefix: str = PREFIX
    loss: str = LOSSES[0]
    lowercase: bool = False
    tokenize: bool = False
    counts_unknown: bool = True

    def check(self) -> None:
        """Raise an error if settings, of a file perhaps, make no sense."""
        grams = self.word_ngrams > 1 or self.most > 0
        wrong = {
            f"the loss is {shown(self.loss)}": self.loss not in LOSSES,
            f"n-grams have {self.word_ngrams} words": not 1 <= self.word_ngrams <= _MOST,
            f"n-grams have {self.least} to {self.most} characters": not 0 <= self.least <= self.most <= _MOST
            or (self.least == 0 and self.most > 0),
            f"there are {self.buckets} buckets": not int(grams) <= self.buckets < 1 << 31,
        }
        for what in (what for what, found in wrong.items() if found):
            raise Any2VecError(f"settings of lines: {what}")


@dataclass(frozen=True, eq=False)
class LabelModel:
    """A classifier of lines.

    Attributes
    ----------
    words : sequence of str
        The W words that have rows of their own, most frequent first; the end of a line, ``</s>``, is one of them.
    counts : int64 array, shape (W,)
        Their counts.
    labels : sequence of str
        The L labels, most frequent first, without the prefix.
    label_counts : int64 array, shape (L,)
        Their counts.
    settings : LineSettings
        How lines are read.
    ids : int64 array, shape (P,)
        Rising buckets of the n-grams that have rows.
    e : float32 array or Quantized, shape (W + P, D)
        Rows of the words, then of the n-grams in the order of `ids`.
    t : float32 array or Quantized, shape (L, D)
        Rows of labels; with the loss hierarchical, of inner vertices of the Huffman tree of labels, as
        `samples.targets.huffman_paths` numbers them.
    """

    words: Sequence[str]
    counts: NDArray[np.int64]
    labels: Sequence[str]
    label_counts: NDArray[np.int64]
    settings: LineSettings
    ids: NDArray[np.int64]
    e: NDArray[np.float32] | Quantized
    t: NDArray[np.float32] | Quantized

    @cached_property
    def predictor(self) -> Predictor:
        """What predicts; made when it is first used."""
        return Predictor(self)

    @cached_property
    def averager(self) -> Predictor:
        """What finds means of rows; made when it is first used."""
        return Predictor(self, means=True)

    def predict(
        self, texts: Any, k: int = 1, threshold: float = 0.0, *, threads: int | None = None
    ) -> tuple[Any, NDArray[np.float32]]:
        """Predict the k most probable labels of texts.

        Labels of a text are in the order of their probabilities; of equal ones, the more frequent label comes first.
        A text of unknown words has those of the end of a line, and of the n-grams that are known: see `known`.

        Parameters
        ----------
        texts : str, or an iterable of str or lists of str
            One text; or several, of strings or lists of tokens. Line ends in them are spaces.
        k : int
            How many labels; -1 for all.
        threshold : float
            The least probability of a label.
        threads : int, optional
            As many as there are cores by default.

        Returns
        -------
        labels : list of str; of several texts, an array of str or None, shape (n, k)
            None where fewer labels have the `threshold`.
        probabilities : float32 array, shape (k,); of several texts (n, k)
            0 where there is no label.

        Raises
        ------
        Any2VecError
            If `k` or `threshold` make no sense, or an item of `texts` is no text.
        """
        k, threshold = checked(k, threshold, len(self.labels))
        if isinstance(texts, str):
            found = self.predictor.answers(*text_of([texts], self.settings), k, threshold)
            number = int(np.count_nonzero(found.labels >= 0))
            return [self.labels[label] for label in found.labels[0, :number].tolist()], found.probabilities[0, :number]
        found = answers_of(self, texts, k, threshold, threads)
        return np.array([*self.labels, None], object)[found.labels], found.probabilities

    def scores(self, texts: Iterable[Any], *, threads: int | None = None) -> NDArray[np.float32]:
        """Return the probabilities of all labels; shape (n, L). Texts and errors are those of `predict`."""
        return answers_of(self, texts, 0, 0.0, threads).probabilities

    def means(self, texts: Iterable[Any], *, threads: int | None = None) -> NDArray[np.float32]:
        """Return the mean of the rows of each text, by which labels are predicted; shape (n, D)."""
        return answers_of(self, texts, 0, 0.0, threads, means=True).probabilities

    def known(self, texts: Iterable[Any], *, threads: int | None = None) -> NDArray[np.int32]:
        """Return how many words of each text have a row, and how many it has; shape (n, 2)."""
        return answers_of(self, texts, 1, 0.0, threads).known

    def predict_file(
        self,
        source: Source,
        output: str | os.PathLike[str],
        k: int = 1,
        threshold: float = 0.0,
        *,
        column: str | None = None,
        threads: int | None = None,
        force: bool = False,
    ) -> int:
        """Predict for the lines of files, or the rows of a table; return how many.

        Texts are read and answers written piece by piece, in order.

        Parameters
        ----------
        source : str, path or list of these
            Files of lines, plain or compressed, ``-`` for standard input; or, with a `column`, one Parquet or CSV file.
        output : str or path
            ``-`` for standard output. A name that ends in .jsonl has an object with "labels", "probabilities", "known"
            and "words" (how many of the words are known) for each text. A name that ends in .parquet or .csv is for a
            table only. It gets the table's columns, "label" and "probability". If k is not 1, these are lists in
            Parquet, and separated by spaces in CSV. Any other has labels, with the prefix, and probabilities, as
            fastText writes.
        k, threshold, threads
            Those of `predict`.
        column : str, optional
            Of a table, what holds the texts.
        force : bool
            Replace a file that holds something else, too.

        Raises
        ------
        Any2VecError
            If a file cannot be read or written, or is no table with this column.
        """
        k, threshold = checked(k, threshold, len(self.labels))
        return predict_file(self, source, output, k, threshold, column, threads, force)

    def explain(self, text: str, label: str) -> list[tuple[str, float]]:
        """Say what speaks for a label: words and n-grams of words, and what each adds to the label's score.

        The score is the dot product of the mean of rows and the label's row of t. What words add includes their n-grams
        of characters.

        Parameters
        ----------
        text : str
            A line.
        label : str
            A label of the model.

        Returns
        -------
        list of (str, float)
            The most important first; ``</s>`` is the end of the line. Unknown ones are left out.

        Raises
        ------
        Any2VecError
            If there is no such label, or the loss is hierarchical: there labels have no rows.
        """
        return explain(self, text, label)

    def in_memory(self) -> Self:
        """Return the model with a copy of rows that a file has: in huge pages, many of them are found faster."""
        if not isinstance(self.e, np.ndarray):
            return self
        e = zeros(self.e.shape, np.float32)
        e[:] = self.e
        return replace(self, e=e)

    def save(
        self, path: str | os.PathLike[str], *, force: bool = False, about: Mapping[str, Any] | None = None
    ) -> None:
        """Save the model as a folder that `load` maps into memory: many processes share it.

        Parameters
        ----------
        path : str or path
            The folder; an earlier one is replaced once the new one is complete.
        force : bool
            Replace a folder whose files are damaged, too.
        about : mapping, optional
            What an estimator has to know, as JSON can hold it.

        Raises
        ------
        Any2VecError
            If rows are quantized, the folder cannot be written, or holds other files.
        """
        save_folder(self, as_path(path), force, about)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Load a folder that `save` has written; raise an Any2VecError if it does not exist, or is damaged."""
        return cls.load_about(path)[0]

    @classmethod
    def load_about(cls, path: str | os.PathLike[str]) -> tuple[Self, dict[str, Any] | None]:
        """Load a folder, and what was saved `about` an estimator, unchecked; None if nothing was."""
        fields, about = load_folder(as_path(path), LineSettings)
        return cls(**fields), about
