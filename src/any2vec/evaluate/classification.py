"""Vertex classification from vectors: the protocol of DeepWalk's scoring.py."""

import math
import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from any2vec.cluster.machine import usable_cores
from any2vec.errors import Any2VecError, library, shown
from any2vec.graph.vertex_labels import VertexLabels, labelled, labels_of
from any2vec.io.memory import check_finite
from any2vec.options import fraction, whole_number
from any2vec.vectors import Vectors
from any2vec.vectors.lookup import check_vectors

RATIOS = tuple(percent / 100 for percent in range(10, 100, 10))
MEASURES = ("micro", "macro", "samples", "weighted", "accuracy")
_TASK_BYTES = 4 << 30  # bounds the copies of the rows of splits fitted at the same time

_Figures: TypeAlias = tuple[float, ...]


@dataclass(frozen=True)
class ClassificationResult:
    """How well labels can be predicted from vectors.

    Attributes
    ----------
    ratios : tuple of float
        Fractions of the vertices that were trained on.
    figures : dict of float64 arrays, shape (ratios, shuffles)
        In percent, by the names in `MEASURES`. F1: "micro" over all decisions; "macro" is its mean over the labels
        that occur in the test part or its predictions; "samples" its mean over vertices; "weighted" its mean over
        labels by their frequency. "accuracy" is the fraction of vertices whose labels are all correct.
    vertices, labels : int
        The numbers of vertices that took part and of their labels.
    skipped : int
        Vertices left out because they have labels but no vector.
    """

    ratios: tuple[float, ...]
    figures: dict[str, NDArray[np.float64]]
    vertices: int
    labels: int
    skipped: int

    @property
    def shuffles(self) -> int:
        """The number of random splits for each ratio."""
        return int(self.figures["micro"].shape[1])

    def mean(self, measure: str = "micro") -> NDArray[np.float64]:
        """Return the mean over the shuffles of one of `MEASURES`, shape (ratios,), in percent."""
        return self.figures[measure].mean(axis=1)

    def std(self, measure: str = "micro") -> NDArray[np.float64]:
        """Return the standard deviation over the shuffles, shape (ratios,), in points; NaN for a single shuffle."""
        if self.shuffles < 2:
            return np.full(len(self.ratios), math.nan)
        return self.figures[measure].std(axis=1, ddof=1)

    def as_dict(self) -> dict[str, Any]:
        """Return all figures for JSON: means and standard deviations in percent, None for that of a single shuffle."""
        by_ratio: list[dict[str, Any]] = [{"ratio": ratio} for ratio in self.ratios]
        for measure in MEASURES:
            for row, mean, std in zip(by_ratio, self.mean(measure), self.std(measure), strict=True):
                row[measure] = {"mean": float(mean), "std": None if math.isnan(std) else float(std)}
        numbers = {"vertices": self.vertices, "labels": self.labels, "skipped": self.skipped}
        return {**numbers, "shuffles": self.shuffles, "ratios": by_ratio}


def evaluate_nodes(
    vectors: Vectors,
    labels: str | os.PathLike[str] | VertexLabels | Mapping[Any, Any],
    ratios: Sequence[float] = RATIOS,
    shuffles: int = 10,
    *,
    seed: int = 1,
    threads: int | None = None,
    skip_unknown: bool = False,
) -> ClassificationResult:
    """Predict the labels of vertices from their vectors, as DeepWalk's scoring.py does.

    The labelled vertices are shuffled, and the first part trains a logistic regression for each label. Each vertex
    of the rest gets the k most probable labels, where k, the number of its true labels, is known. All ratios split
    the same shuffles. Vertices without labels take no part.

    Parameters
    ----------
    vectors : Vectors
        Words are the names of the vertices.
    labels : path, VertexLabels or dict
        A file for `read_labels`, what it returns, or the label of each vertex, or list of its labels.
    ratios : sequence of float
        Fractions of the vertices to train on, between 0 and 1.
    shuffles : int
        The number of random splits.
    seed : int
        Of the shuffles.
    threads : int, optional
        Threads; None for all cores.
    skip_unknown : bool
        Leave out labelled vertices that have no vector; otherwise they are an error.

    Returns
    -------
    ClassificationResult
        F1 and accuracy of each ratio and shuffle.

    Raises
    ------
    Any2VecError
        If a labelled vertex has no vector, or a vector is not finite. If there are too few vertices for a ratio, or all
        have the same labels. If an argument is invalid, or scikit-learn is not installed.
    """
    check_vectors(vectors)
    _check_options(ratios, shuffles, seed, threads)
    labels = labels_of(labels)
    names, matrix, skipped = _labelled(vectors, labels, skip_unknown)
    for ratio in ratios:
        if not 0 < int(ratio * len(names)) < len(names):
            few = f"too few to train on {100 * ratio:g} % of them and test the rest"
            raise Any2VecError(f"{labels.source}: {len(names):,} labelled vertices are {few}")
    check_finite(vectors.words, vectors.matrix)
    rows = np.ascontiguousarray(vectors[names], np.float64)
    random = np.random.default_rng(seed)
    orders = [random.permutation(len(names)) for _ in range(shuffles)]
    found = _score(rows, matrix, ratios, orders, threads or usable_cores())
    figures = {measure: np.array(found)[:, :, i] for i, measure in enumerate(MEASURES)}
    used = int(matrix.any(axis=0).sum())
    return ClassificationResult(tuple(float(r) for r in ratios), figures, len(names), used, skipped)


def _check_options(ratios: Sequence[float], shuffles: int, seed: int, threads: int | None) -> None:
    if not isinstance(ratios, Collection) or not len(ratios):
        raise Any2VecError(f"ratios: a list of numbers between 0 and 1 is expected, not {shown(ratios)}")
    for ratio in ratios:
        fraction("ratios", ratio, "0.3 trains on 30 % of the vertices")
    whole_number("shuffles", shuffles, 1)
    whole_number("seed", seed, 0)
    if threads is not None:
        whole_number("threads", threads, 1)


def _labelled(vectors: Vectors, labels: VertexLabels, skip_unknown: bool) -> tuple[list[str], NDArray[np.bool_], int]:
    """Select the vertices that have labels and vectors; count those that have only labels."""
    chosen, matrix, unknown = labelled(labels, vectors, "vertices", skip_unknown)
    if (used := int(matrix.any(axis=0).sum())) > len(chosen):
        what = f"{len(chosen):,} vertices have {used:,} labels: too many to learn"
        raise Any2VecError(
            f"{labels.source}: {what}; if line i lists the vertices of label i, its `format` is 'labels'"
        )
    if (matrix == matrix[0]).all():
        same = f"all {len(chosen):,} labelled vertices have the same labels"
        raise Any2VecError(f"{labels.source}: {same}: there is nothing to predict")
    return [labels.names[i] for i in chosen], matrix, unknown


def _score(
    rows: NDArray[np.float64],
    matrix: NDArray[np.bool_],
    ratios: Sequence[float],
    orders: list[NDArray[np.intp]],
    threads: int,
) -> list[list[_Figures]]:
    """Train on the first part of each order of the vertices, test on the rest; return figures by ratio and order."""
    library("sklearn.linear_model", "graphs", "scikit-learn")
    joblib = library("joblib", "graphs", "scikit-learn")

    def split(ratio: float, order: NDArray[np.intp]) -> _Figures:
        seen, tested = np.split(order, [int(ratio * len(order))])
        scores = _scores(rows[seen], matrix[seen], rows[tested])
        return _figures(matrix[tested], _top_labels(scores, matrix[tested].sum(axis=1)))

    number, dim = rows.shape
    beside = max(1, min(threads, len(ratios) * len(orders), _TASK_BYTES // (3 * 8 * number * (dim + 1))))
    tasks = [(ratio, order) for ratio in sorted(ratios, reverse=True) for order in orders]  # long ones first
    with threadpool_limits(max(1, threads // beside)):
        found = joblib.Parallel(beside, require="sharedmem")(joblib.delayed(split)(*task) for task in tasks)
    by_ratio = {ratio: found[i : i + len(orders)] for i, (ratio, _) in enumerate(tasks) if i % len(orders) == 0}
    return [by_ratio[ratio] for ratio in ratios]


def _scores(rows: NDArray[np.float64], wanted: NDArray[np.bool_], tested: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the log-odds of each label at other rows, shape (n, L): ordered as probabilities, without ties at 0 and 1.

    The regressions are those of scoring.py. A label that all rows have is certain, one that none has impossible.
    """
    from sklearn.linear_model import LogisticRegression

    scores = np.where(wanted.any(axis=0), np.inf, -np.inf)[None].repeat(len(tested), axis=0)
    for label in np.flatnonzero(wanted.any(axis=0) & ~wanted.all(axis=0)):
        fitted = LogisticRegression(solver="liblinear").fit(rows, wanted[:, label])
        scores[:, label] = fitted.decision_function(tested)
    return scores


def _top_labels(scores: NDArray[np.float64], numbers: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Mark the highest scores in each row, as many as its number; of equal scores the last wins."""
    given = np.zeros(scores.shape, np.bool_)
    order = np.argsort(scores, axis=1, kind="stable")
    np.put_along_axis(given, order, np.arange(scores.shape[1]) >= scores.shape[1] - numbers[:, None], axis=1)
    return given


def _figures(wanted: NDArray[np.bool_], given: NDArray[np.bool_]) -> _Figures:
    """Compute `MEASURES` over the labels that occur, as scoring.py's scikit-learn did."""
    from sklearn.metrics import accuracy_score, f1_score

    if wanted.shape[1] == 1:  # or scikit-learn would not see labels in them
        wanted, given = (np.pad(matrix, ((0, 0), (0, 1))) for matrix in (wanted, given))
    present = np.flatnonzero(wanted.any(axis=0) | given.any(axis=0))
    scores = [f1_score(wanted, given, labels=present, average=average, zero_division=0) for average in MEASURES[:-1]]
    return tuple(100 * float(score) for score in [*scores, accuracy_score(wanted, given)])
