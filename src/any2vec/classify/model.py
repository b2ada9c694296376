"""A classifier that is trained: the rows of words, n-grams and labels, and how a line is read; and its folder.

A folder has a format like that of vectors; loaded, it is memory-mapped, so that processes share the rows.

- `vectors.safetensors`: the tensors "e", "t" and, unless all buckets have rows, "ids".
- `vocabulary.json`: words and counts.
- `classifier.json`: labels, their counts, settings, and digests of some rows.
- `model.json`, if an estimator was saved: its parameters and report.

The files of JSON have the same `id`. So files of two saves do not mix.
"""

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from any2vec.classify.predict import Predictor
from any2vec.classify.quantized import Quantized
from any2vec.classify.texts import answers_of, checked, explain, predict_file, text_of
from any2vec.cluster.local import alone
from any2vec.corpus.lines import PREFIX
from any2vec.errors import Any2VecError, shown
from any2vec.io.inputs import Source
from any2vec.io.memory import check_finite, zeros
from any2vec.io.outputs import Kind, check_writable, json_of, replacing
from any2vec.io.safetensors_file import map_open, write_tensors
from any2vec.io.temporary import FolderReader, read_folder
from any2vec.options import as_path, typed
from any2vec.samples.targets import huffman_paths
from any2vec.vectors.files.native import MODEL, TENSORS, WORDS, ids_to_tensor, read_json, read_vocabulary, tensor_to_ids
from any2vec.vectors.index import digest, digest_of_rows

LOSSES = ("softmax", "hierarchical", "negative", "ova")
"""What a classifier is trained with: softmax over all labels or on a Huffman tree; each label by itself, against some
others or all (one-vs-all)."""

_MOST = 1 << 16  # words, or characters, of an n-gram
META, _VERSION = "classifier.json", 1


def _holds_folder(path: Path) -> bool:
    content = json_of(path / META)
    return isinstance(content, dict) and "labels" in content


KIND = Kind("a classifier", _holds_folder, files=(META, WORDS, TENSORS, MODEL))


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

    def best(self, texts: Iterable[Any], *, threads: int | None = None) -> NDArray[np.int32]:
        """Return the place in `labels` of the most probable label of each text, or of the most frequent if none is."""
        return np.maximum(answers_of(self, texts, 1, 0.0, threads).labels[:, 0], 0)

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
            and "words" (how many of the words are known) for each text, with the columns of a table. A name that ends
            in .parquet, .csv or .tsv is for a table only. It gets the table's columns, "label" and "probability", or,
            if it has one of these, "predicted_label" and so on. If k is not 1, these are lists in Parquet, and
            separated by spaces in CSV. Any other has labels, with the prefix, and probabilities, as fastText writes.
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
        if not isinstance(self.e, np.ndarray) or not isinstance(self.e.base, np.memmap):
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
        path = as_path(path)
        if not isinstance(self.e, np.ndarray) or not isinstance(self.t, np.ndarray):
            quantized = "rows of the classifier are quantized; give a name that ends in .ftz"
            raise Any2VecError(f"{path}: not saved: {quantized}")
        check_writable(path, KIND, folder=True, force=force)
        tensors = {"e": self.e, "t": self.t}
        if 0 < len(self.ids) < self.settings.buckets:
            tensors["ids"] = ids_to_tensor(self.ids)
        meta = {
            "format": _VERSION,
            "settings": asdict(self.settings),
            "words": len(self.words),
            "labels": list(self.labels),
            "label_counts": self.label_counts.tolist(),
            "rows": {name: digest_of_rows(matrix) for name, matrix in tensors.items()},
        }
        vocabulary = {"words": list(self.words), "counts": self.counts.tolist()}
        id_ = {"id": digest([json.dumps([meta, vocabulary]).encode()])}
        with replacing(path, folder=True) as folder:
            write_tensors(folder / TENSORS, tensors, {name: len(rows) for name, rows in tensors.items()}, alone(), path)
            (folder / WORDS).write_text(json.dumps(id_ | vocabulary), "ascii")
            if about is not None:
                (folder / MODEL).write_text(json.dumps(id_ | dict(about), indent=1) + "\n", "ascii")
            (folder / META).write_text(json.dumps(id_ | meta) + "\n", "ascii")

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Load a folder that `save` has written; raise an Any2VecError if it does not exist, or is damaged."""
        return cls.load_about(path)[0]

    @classmethod
    def load_about(cls, path: str | os.PathLike[str]) -> tuple[Self, dict[str, Any] | None]:
        """Load a folder, and what was saved `about` an estimator, unchecked; None if nothing was."""
        fields, about = read_folder(as_path(path), _load)
        return cls(**fields), about


def _load(folder: FolderReader) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """Return the fields of a LabelModel, and what was said about an estimator; of the rows only some are looked at."""
    path = folder.path
    for name in (META, WORDS, TENSORS):
        if not folder.has(name):
            raise Any2VecError(f"{path}: not a folder of a classifier: {name} is missing")
    meta = read_json(folder, META)
    if meta.get("format") != _VERSION:
        raise Any2VecError(f"{path / META}: has format {shown(meta.get('format'))}; this any2vec reads {_VERSION}")
    try:
        settings = typed(meta.get("settings"), LineSettings, "settings")
        labels, counts = typed(meta.get("labels"), list[str], "labels"), typed(meta.get("label_counts"), list[int])
        number, rows = typed(meta.get("words"), int, "words"), typed(meta.get("rows"), dict[str, str], "rows")
        settings.check()
        _check(labels, counts)
        label_counts = np.array(counts, np.int64)
        if settings.loss == "hierarchical" and len(labels) > 1:
            huffman_paths(label_counts)
    except (ValueError, Any2VecError) as error:
        raise Any2VecError(f"{path / META}: damaged: {error}") from None
    words, word_counts, id_ = read_vocabulary(folder, number)
    with folder.open(TENSORS) as file:
        tensors = map_open(path / TENSORS, file)
    about = read_json(folder, MODEL) if folder.has(MODEL) else None
    ids_of = {id_, meta.get("id"), meta.get("id") if about is None else about.get("id")}
    if len(ids_of) > 1 or rows != {name: digest_of_rows(matrix) for name, matrix in tensors.items()}:
        raise Any2VecError(f"{path}: its files are not of one save; copy all of one, or save again")
    where = path / TENSORS
    e, t = (tensors.get(name, np.zeros((0, 0), np.float32)) for name in ("e", "t"))
    ids = tensor_to_ids(tensors["ids"], "ids", where) if "ids" in tensors else np.arange(max(0, len(e) - number))
    if len(ids) != len(e) - number or ("ids" not in tensors and len(ids) not in (0, settings.buckets)):
        raise Any2VecError(f"{where}: damaged: {len(e):,} rows of e are not {number:,} of words and those of n-grams")
    if len(ids) and ((np.diff(ids) <= 0).any() or ids[-1] >= settings.buckets):
        raise Any2VecError(f"{where}: damaged: buckets do not rise, or are not below {settings.buckets:,}")
    if t.shape != (len(labels), e.shape[1]):
        raise Any2VecError(f"{where}: damaged: t has shape {t.shape}, not {(len(labels), e.shape[1])}")
    check_finite(labels, t, f"{where}: tensor 't': ")
    fields = {"words": words, "counts": word_counts, "labels": labels, "label_counts": label_counts}
    return fields | {"settings": settings, "ids": ids, "e": e, "t": t}, about


def _check(labels: list[str], counts: list[int]) -> None:
    """Raise a ValueError if there are no labels, or these, or their counts, make no sense."""
    if not 0 < len(set(labels)) == len(labels) == len(counts):
        raise ValueError(f"{len(labels):,} labels, of which {len(set(labels)):,} differ, have {len(counts):,} counts")
    if sorted(counts, reverse=True) != counts or not 0 <= counts[-1] <= counts[0] < 1 << 62:
        raise ValueError("counts of labels are not in falling order, or no counts")
