"""Labels of lines (Joulin et al. 2017, "Bag of tricks for efficient text classification", as fastText does it).

The source of a line is the mean of its rows of e: of words, n-grams and the end of the line. Its targets are rows of t,
of labels. Of several labels of a line one is drawn in each epoch; one-vs-all takes all of them. Each row of the line
gets its share of the gradient of the mean.
"""

import math
from collections.abc import Callable
from functools import cache, cached_property
from typing import Any, NamedTuple, Self, cast

import numpy as np
from numba import float32, float64, int64, njit
from numpy.typing import NDArray

from any2vec.corpus import Corpus
from any2vec.corpus.lines import LineRows, list_grams
from any2vec.operators.base import Operator, OperatorOptions
from any2vec.operators.cbow import joining
from any2vec.operators.parts import list_rows
from any2vec.operators.targets import list_path
from any2vec.operators.tiles import PADDING, label_one_loss, logistic, logistic_curvature, logistic_steps
from any2vec.samples.draws import below, draw
from any2vec.samples.targets import alias_table, huffman_paths, negative, probabilities

_LABEL, _NEGATIVES = 1, 2  # draws of a line: its label; negatives from here on


class LineTables(NamedTuple):
    """What `edges` reads of lines."""

    bounds: NDArray[np.int64]  # as of `corpus.lines.LineRows`
    rows: NDArray[np.int32]
    hashes: NDArray[np.int32]
    labels: NDArray[np.int32]
    grams: NDArray[np.int32]
    end: int
    classes: int  # L
    weights: NDArray[np.float32]  # (L,), or empty
    targets: Any  # what targets are drawn from


@njit(inline="always")
def _list_line(window: Any, tables: Any, sizes: Any, sources: Any) -> tuple[int, int]:
    """List the rows of a line; return their number, and that of its labels."""
    n = found = int64(0)
    for at in range(window.begin, window.end):
        word = window.words[at]
        if tables.labels[word] >= 0:
            found += 1
            continue
        n = list_rows(word, tables, sources, n)
    sources[n] = tables.end
    n += 1
    first = n
    if sizes[2] > 1:
        words, begin, end, buckets = window.words, window.begin, window.end, tables.grams.size
        n = list_grams(words, begin, end, tables.labels, tables.hashes, sizes[2], buckets, sources, n)
    listed, n = n, first
    for k in range(first, listed):
        row = tables.grams[sources[k]]
        if row >= 0:  # else it has none: only some rows are trained
            sources[n] = row
            n += 1
    return n, found


@njit(inline="always")
def _label(window: Any, tables: Any, found: int) -> int:
    """Draw one of the labels of a line."""
    left, label = int64(below(draw(window.key, _LABEL), found)), int64(0)
    for at in range(window.begin, window.end):
        if tables.labels[window.words[at]] >= 0:
            if left == 0:
                label = int64(tables.labels[window.words[at]])
            left -= 1
    return label


@njit(inline="always")
def _weight(window: Any, tables: Any) -> Any:
    """Return the mean weight of a line's labels."""
    total, found = float32(0), float32(0)
    for at in range(window.begin, window.end):
        label = tables.labels[window.words[at]]
        if label >= 0:
            total += tables.weights[label]
            found += float32(1)
    return total / max(found, float32(1))


@cache
def _edges_of(list_targets: Callable[..., Any]) -> Callable[..., Any]:
    """Make `Operator.edges` of what lists the targets of a line, and returns how many of the most are not there."""

    @njit(inline="always")
    def edges(window: Any, group: int, tables: Any, sizes: Any, sources: Any, targets: Any, labels: Any) -> Any:
        n, found = _list_line(window, tables, sizes, sources)
        targets[0], skipped = 0, sizes[1] - 1
        if found == 0:  # nothing to learn
            n = 0
        else:
            skipped = list_targets(window, tables, sizes, targets, labels, found)
        return n, skipped

    return edges


@njit(inline="always")
def _all_and_one(window: Any, tables: Any, sizes: Any, targets: Any, labels: Any, found: int) -> int:
    """List all labels; one of the line's has label 1."""
    for k in range(tables.classes):
        targets[k], labels[k] = k, 0
    labels[_label(window, tables, found)] = 1
    return sizes[1] - tables.classes


@njit(inline="always")
def _all(window: Any, tables: Any, sizes: Any, targets: Any, labels: Any, found: int) -> int:
    """List all labels; the line's have label 1."""
    for k in range(tables.classes):
        targets[k], labels[k] = k, 0
    for at in range(window.begin, window.end):
        if tables.labels[window.words[at]] >= 0:
            labels[tables.labels[window.words[at]]] = 1
    return sizes[1] - tables.classes


@njit(inline="always")
def _some(window: Any, tables: Any, sizes: Any, targets: Any, labels: Any, found: int) -> int:
    """List a label of the line, and negatives that are others."""
    targets[0] = _label(window, tables, found)
    k = 1
    for j in range(sizes[1] - 1):
        targets[k] = negative(draw(window.key, _NEGATIVES + j), tables.targets)
        k += int64(targets[k] != targets[0])
    return sizes[1] - k


@njit(inline="always")
def _path(window: Any, tables: Any, sizes: Any, targets: Any, labels: Any, found: int) -> int:
    """List the path of a label of the line."""
    return sizes[1] - list_path(_label(window, tables, found), tables.targets, targets, labels)


@njit(inline="always")
def _softmax_steps(
    scores: Any, labels: Any, sources: int, targets: int, alpha: float, measured: bool, width: int
) -> tuple[float, float]:
    """Turn scores into steps of the softmax over all targets (`Operator.steps`)."""
    most = scores[0]
    for k in range(1, targets):
        most = max(most, scores[k])
    total, loss, curvature = float32(0.0), float32(0.0), 0.0
    for k in range(targets):
        if labels[k]:
            loss = most - scores[k]
        scores[k] = np.exp(scores[k] - most)
        total += scores[k]
    share = float32(1.0) / total
    for k in range(targets):
        p = scores[k] * share
        gradient = float32(labels[k]) - p
        scores[k] = alpha * gradient
        if measured:
            curvature += float64(p) * (1.0 - p) * float64(gradient) ** 2  # of 32 bits, it could be 0
    return targets * (loss + np.log(total)), curvature  # all targets together are one sample


@njit(inline="always")
def _binary_steps(
    scores: Any, labels: Any, sources: int, targets: int, alpha: float, measured: bool, width: int
) -> tuple[float, float]:
    """Turn scores into steps of the logistic loss, each target with its label (`Operator.steps`)."""
    loss = 0.0
    for k in range(targets):
        if labels[k]:
            loss += label_one_loss(scores, k, k + 1)
    loss += logistic_steps(scores, targets, alpha, width)
    for k in range(targets):
        scores[k] += alpha * float32(labels[k])
    return loss, logistic_curvature(scores, targets, alpha) if measured else 0.0


class _Labels(Operator):
    """What all have in common: the rows of a line."""

    joined = varying = several = lines = True
    alpha = 0.5  # rows get a share of the gradient; fastText's 0.1 learns little of long lines in five epochs
    scale = 2.0  # fastText's initial rows
    by_columns = False
    reads: tuple[str, ...] = ("subwords", "buckets")

    def __init__(self, options: OperatorOptions) -> None:
        super().__init__(options)
        self.apply = joining(self.steps, "corrected", self.varying, keeps=True)

    def on(self, corpus: Corpus) -> Self:
        """Take the lines of a corpus, and whether they have weights."""
        found = super().on(corpus)
        found.weigh = _weight if len(found.of_lines.weights) else None
        return found

    @property
    def of_lines(self) -> LineRows:
        """The rows and labels of the text."""
        return cast("LineRows", self.rows)

    @property
    def count(self) -> int:
        """L, the number of labels."""
        return 0 if self.rows is None else len(self.of_lines.label_counts)

    @property
    def sources(self) -> int:
        """The rows of the longest line."""
        return 0 if self.rows is None else self.of_lines.longest

    @property
    def targets(self) -> int:
        """All labels, up to the next power of 1,024: a kernel is good for many texts."""
        return 1 << 10 * -(-max(self.count - 1, 1).bit_length() // 10)

    @property
    def sizes(self) -> tuple[int, ...]:
        """The window, targets, and the words of the longest n-gram."""
        return (*super().sizes, 1 if self.rows is None else self.of_lines.word_ngrams)

    def scratch(self, dim: int) -> int:
        """Floats of the joined row, its change, and the scores."""
        return 2 * dim + self.targets + PADDING

    def shares(self, counts: NDArray[np.int64], contexts: float) -> NDArray[np.float64] | None:
        """Rows get the gradient of the mean: each counts as it is."""
        return None

    def samples_per_pair(self, counts: NDArray[np.int64]) -> dict[str, float]:
        """Count samples: a row of a line moves by its share; of the labels, about two have steps worth the name."""
        rows = float(self.of_lines.uses.sum()) / max(self.of_lines.lines, 1)
        return {"e": 2 / rows, "t": 1.0}

    def updates(self, counts: NDArray[np.int64], contexts: float) -> NDArray[np.float64]:
        """Estimate updates: each line updates its rows, and its targets."""
        found = np.zeros((2, self.of_lines.number))
        found[0] = self.of_lines.spread(counts.astype(float))
        found[1, : self.count] = self._of_targets()
        return found

    def _of_targets(self) -> NDArray[np.float64]:
        return np.full(self.count, float(self.of_lines.lines))

    def tables(self, counts: NDArray[np.int64]) -> Any:
        """Gather what lines are made of."""
        rows = self.of_lines
        kept = rows.bounds, rows.rows, rows.hashes, rows.labels, rows.grams
        return LineTables(*kept, rows.end, self.count, rows.weights, self._drawn_from())

    def _drawn_from(self) -> Any:
        return 0


class SoftmaxLabels(_Labels):
    """Softmax over all labels."""

    loss = "softmax"
    edges = staticmethod(_edges_of(_all_and_one))
    steps = staticmethod(_softmax_steps)

    @property
    def first_loss(self) -> float:
        """Mean loss of a line before training."""
        return math.log(max(self.count, 2))


class EachLabel(_Labels):
    """One-vs-all: each label by itself."""

    loss = "ova"
    edges = staticmethod(_edges_of(_all))
    steps = staticmethod(_binary_steps)

    def samples_per_pair(self, counts: NDArray[np.int64]) -> dict[str, float]:
        """Count samples: many labels have steps; kappa times their number is the sum of p (1 - p) over the labels.

        That is for p as when training begins: how frequent each label is. For two alike it is 2, as of the softmax.
        """
        p = np.minimum(self.of_lines.label_counts / max(self.of_lines.lines, 1), 1.0)
        each, samples = p * (1 - p), super().samples_per_pair(counts)
        number = each.sum() ** 2 / max((each**2).sum(), 1e-30)
        return samples | {"e": samples["e"] / 2 * float(number)}


class NegativeLabels(_Labels):
    """A label against K others, drawn by the square roots of counts."""

    loss = "negative"
    ns_exponent = 0.5  # fastText's
    reads: tuple[str, ...] = (*_Labels.reads, "negative", "ns_exponent")
    edges = staticmethod(_edges_of(_some))
    steps = staticmethod(logistic)

    @property
    def targets(self) -> int:
        """The label and K negatives."""
        return self.options.negatives + 1

    def _of_targets(self) -> NDArray[np.float64]:
        counts = self.of_lines.label_counts
        drawn = self.options.negatives * counts.sum() * probabilities(counts, self.exponent)
        return counts + cast("NDArray[np.float64]", drawn)

    def _drawn_from(self) -> Any:
        return alias_table(probabilities(self.of_lines.label_counts, self.exponent))


class HierarchicalLabels(_Labels):
    """Softmax on the Huffman tree of labels."""

    loss = "hierarchical"
    edges = staticmethod(_edges_of(_path))
    steps = staticmethod(_binary_steps)

    @property
    def targets(self) -> int:
        """The longest path."""
        return 2 if self.rows is None else int(self._paths.lengths.max())

    @cached_property
    def _paths(self) -> Any:
        return huffman_paths(self.of_lines.label_counts)

    def _of_targets(self) -> NDArray[np.float64]:
        paths, counts = self._paths, self.of_lines.label_counts
        return np.bincount(paths.steps >> 1, np.repeat(counts, paths.lengths), len(counts)).astype(np.float64)

    def _drawn_from(self) -> Any:
        return self._paths


LABEL_OPERATORS: dict[str, type[Operator]] = {
    one.loss: one for one in (SoftmaxLabels, HierarchicalLabels, NegativeLabels, EachLabel)
}
"""The operators of labels by their losses."""
