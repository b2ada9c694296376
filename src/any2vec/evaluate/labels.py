"""How well labels of lines are predicted: precision and recall, by label, and which labels are taken for others."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from any2vec.classify.model import LabelModel
from any2vec.corpus.scan import input_files
from any2vec.errors import Any2VecError, shown
from any2vec.io.inputs import BOM, naming, open_stream
from any2vec.io.shown import table
from any2vec.io.tables import Labels
from any2vec.report.page import Panel, write_panels

_LINES = 1 << 14  # predicted at a time
_DRAWN = 40  # labels


@dataclass(frozen=True)
class LabelsResult:
    """How well labels were predicted.

    Attributes
    ----------
    labels : tuple of str
        Labels of the model and of the text, the most frequent of the text first.
    wanted, given, right : int64 array, shape (L,)
        How often each label is a line's, was predicted, and both.
    lines, without : int
        Lines with labels; and those without, which do not count.
    unknown : int
        Labels of lines that the model does not have, each time they occur.
    confusion : dict from (str, str) to int
        Lines with one label, by that and the first that was predicted, most frequent pairs first.
    """

    labels: tuple[str, ...]
    wanted: NDArray[np.int64]
    given: NDArray[np.int64]
    right: NDArray[np.int64]
    lines: int
    without: int
    unknown: int
    confusion: dict[tuple[str, str], int]

    @property
    def precision(self) -> float:
        """Share of the predicted labels that are right, as `fasttext test` has it."""
        return float(self.right.sum() / max(self.given.sum(), 1))

    @property
    def recall(self) -> float:
        """Share of the lines' labels that were predicted."""
        return float(self.right.sum() / max(self.wanted.sum(), 1))

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall."""
        return float(2 * self.right.sum() / max(self.wanted.sum() + self.given.sum(), 1))

    def by_label(self) -> list[dict[str, Any]]:
        """Return figures of each label: precision, recall, F1, and how often lines have it."""
        precision, recall = self.right / np.maximum(self.given, 1), self.right / np.maximum(self.wanted, 1)
        f1 = 2 * self.right / np.maximum(self.wanted + self.given, 1)
        rows = zip(self.labels, precision.tolist(), recall.tolist(), f1.tolist(), self.wanted.tolist(), strict=True)
        return [dict(zip(("label", "precision", "recall", "f1", "lines"), row, strict=True)) for row in rows]

    def as_dict(self) -> dict[str, Any]:
        """Return all figures for JSON."""
        confused = [{"label": a, "predicted": b, "lines": n} for (a, b), n in self.confusion.items()]
        figures = {"precision": self.precision, "recall": self.recall, "f1": self.f1}
        return figures | {"lines": self.lines, "by_label": self.by_label(), "confusion": confused}


def evaluate_labels(
    model: LabelModel,
    lines: Iterable[str],
    k: int = 1,
    threshold: float = 0.0,
    *,
    threads: int | None = None,
) -> LabelsResult:
    """Predict the labels of lines that have them, and compare.

    Parameters
    ----------
    model : LabelModel
        What predicts.
    lines : iterable of str
        Lines with their labels among their words, each with the model's prefix. Those without do not count. If the
        prefix is not known, as of files of fastText with another one than ``__label__``, words that are labels of the
        model are labels.
    k : int
        Labels predicted for a line; -1 for all of at least the `threshold`.
    threshold : float
        The least probability of a label.
    threads : int, optional
        As many as there are cores by default.

    Returns
    -------
    LabelsResult
        Precision, recall and F1, also by label, and confusions.

    Raises
    ------
    Any2VecError
        If no line has a label.
    """
    prefix, known = model.settings.prefix, frozenset(model.labels)
    wanted, given, right = Counter[str](), Counter[str](), Counter[str]()
    confusion = Counter[tuple[str, str]]()
    found, without, left = 0, 0, iter(lines)
    while some := list(islice(left, _LINES)):
        if prefix:
            true = [[word.removeprefix(prefix) for word in line.split() if word.startswith(prefix)] for line in some]
        else:
            true = [[word for word in line.split() if word in known] for line in some]
            some = [" ".join(word for word in line.split() if word not in known) for line in some]
        has = [i for i, labels in enumerate(true) if labels]
        without += len(some) - len(has)
        found += len(has)
        predicted, _ = model.predict([some[i] for i in has], k, threshold, threads=threads)
        for i, row in zip(has, predicted, strict=True):
            theirs = set(true[i])
            ours = [label for label in row if label is not None]
            for label in theirs:
                wanted[label] += 1
            for label in ours:
                given[label] += 1
                right[label] += label in theirs
            if len(theirs) == 1 and ours:
                confusion[next(iter(theirs)), ours[0]] += 1
    if not found:
        what = f"a word that begins with {shown(prefix)}" if prefix else "one of the model"
        example = f"such as {shown(prefix + model.labels[0])}"
        raise Any2VecError(f"no line has a label, {what}, {example}; of a table, give `column` and `label_column`")
    names = sorted(dict.fromkeys([*model.labels, *wanted]), key=lambda name: -wanted[name])
    every = wanted, given, right
    in_text, of_model, both = (np.array([counts[name] for name in names], np.int64) for counts in every)
    unknown = sum(wanted[name] for name in {*wanted} - {*model.labels})
    confused = dict(confusion.most_common())
    return LabelsResult(tuple(names), in_text, of_model, both, found, without, unknown, confused)


def lines_of(texts: list[str], column: str | None, labels: Labels | None) -> Iterator[str]:
    """Yield the lines of text files, or the rows of tables."""
    for file in input_files(texts, column, labels=labels) or ():
        with open_stream(file) as (stream, _), naming(file):
            lines = chain([stream.readline().removeprefix(BOM)], stream)
            yield from (line.decode("utf-8", "replace") for line in lines)


def write_labels_page(result: LabelsResult, path: Path, title: str, *, force: bool = False) -> None:
    """Write a page: figures of each label, and a picture of which labels are taken for which."""
    rows = [(row["label"], _figures(row["precision"], row["recall"], row["f1"])) for row in result.by_label()]
    whole = ("all labels", _figures(result.precision, result.recall, result.f1))
    shown = table([whole]) + table(rows, "Labels")
    note = f"Rows are the lines' labels, columns those predicted: the {_DRAWN} most frequent, as shares of a row."
    drawn = [Panel("Labels taken for others", note, lambda axes: _draw_confusion(axes, result))]
    write_panels(path, title, shown, {"lines": result.lines}, drawn, force=force)


def _figures(precision: float, recall: float, f1: float) -> str:
    return f"precision {precision:.1%}, recall {recall:.1%}, F1 {f1:.1%}"


def _draw_confusion(axes: Any, result: LabelsResult) -> None:
    names = result.labels[:_DRAWN]
    shares = np.array([[result.confusion.get((one, other), 0) for other in names] for one in names], float)
    shares /= np.maximum(shares.sum(axis=1, keepdims=True), 1)
    axes.imshow(shares, cmap="Blues", vmin=0, vmax=1, aspect="auto")
    places = range(len(names))
    axes.set_xticks(places, names, rotation=90, fontsize=6)
    axes.set_yticks(places, names, fontsize=6)
