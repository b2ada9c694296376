"""Hierarchical softmax (Morin and Bengio 2005; Mikolov et al. 2013), for skip-gram and CBOW.

A word's probability is the product over the turns on its path in a Huffman tree. The targets of a window are the inner
vertices on the path of its centre, with label 1 if the path goes on to the first child. Row i of `t` is inner vertex i,
not vertex i; the last row is not used. As in word2vec.c, a score of 6 or more, or -6 or less, makes no step. So one
word with an unusual turn does not undo the learning of the others. (With negative sampling such a score makes a step,
there and here.)
"""

import math
from typing import Any

import numpy as np
from numba import float32, njit
from numpy.typing import NDArray

from any2vec.errors import Any2VecError
from any2vec.operators.base import Operator, OperatorOptions
from any2vec.operators.cbow import CBOW
from any2vec.operators.skipgram import SkipGram, list_context
from any2vec.operators.tiles import label_one_loss, logistic_curvature, logistic_steps
from any2vec.samples.targets import LONGEST, huffman_paths, same_splits
from any2vec.samples.windows import kept_counts

_SATURATED = 1 / (1 + math.exp(6))  # the prediction for a score of -6


@njit(inline="always")
def list_path(word: int, tables: Any, targets: Any, labels: Any) -> int:
    """List the inner vertices on the path of a word, and their labels; return their number."""
    first = tables.starts[word]
    length = tables.starts[word + 1] - first
    for k in range(length):
        step = tables.steps[first + k]
        targets[k] = step >> 1
        labels[k] = 1 - (step & 1)
    return length


@njit(inline="always")
def edges(window: Any, group: int, tables: Any, sizes: Any, sources: Any, targets: Any, labels: Any) -> Any:
    """List all context words, and the path of the centre."""
    length = list_path(window.words[window.centre], tables, targets, labels)
    return list_context(window, sources), sizes[1] - length


@njit(inline="always")
def steps(scores: Any, labels: Any, sources: int, targets: int, alpha: float, measured: bool, width: int) -> Any:
    """Turn scores into steps of the logistic loss, each target with its label (`Operator.steps`)."""
    loss = 0.0
    for k in range(targets):
        if labels[k]:
            loss += label_one_loss(scores, k * sources, (k + 1) * sources)
    loss += logistic_steps(scores, sources * targets, alpha, width)
    least, most = alpha * float32(_SATURATED), alpha * float32(1 - _SATURATED)
    for k in range(targets):
        step = alpha * float32(labels[k])
        for i in range(k * sources, (k + 1) * sources):
            inside = least < -scores[i] < most
            scores[i] = scores[i] + step if inside else float32(0.0)
    return loss, logistic_curvature(scores, sources * targets, alpha) if measured else 0.0


class _Hierarchical(SkipGram):
    """What both have in place of negative sampling."""

    loss = "hierarchical"
    varying = True
    reads: tuple[str, ...] = ()
    edges = staticmethod(edges)
    steps = staticmethod(steps)

    @classmethod
    def check(cls, options: OperatorOptions) -> None:
        """Refuse negatives, too."""
        super().check(options)
        if options.negative:
            raise Any2VecError(
                f"`loss` is 'hierarchical', and `negative` {options.negative}; hierarchical softmax has no negatives: "
                "leave out one"
            )

    @property
    def targets(self) -> int:
        """The longest path."""
        return LONGEST

    @property
    def group_per_context(self) -> bool:
        """A window is one group."""
        return False

    def samples_per_pair(self, counts: NDArray[np.int64]) -> dict[str, float]:
        """Count samples: a pair moves the row of its source for each inner vertex on the path of its centre."""
        lengths = huffman_paths(counts).lengths
        return {"e": float(np.average(lengths, weights=kept_counts(counts, self.options.sample))), "t": 1.0}

    def updates(self, counts: NDArray[np.int64], contexts: float) -> NDArray[np.float64]:
        """Estimate updates: a window updates the inner vertices on the path of its centre."""
        e, centres = Operator.updates(self, counts, contexts)
        paths = huffman_paths(counts)
        return np.stack([e, np.bincount(paths.steps >> 1, np.repeat(centres, paths.lengths), len(counts))])

    def carried(
        self, before: NDArray[np.int64], after: NDArray[np.int64], places: NDArray[np.int32]
    ) -> NDArray[np.int32]:
        """Find inner vertices that the earlier tree had, too; other ones begin at zero."""
        return same_splits(before, after, places)

    def tables(self, counts: NDArray[np.int64]) -> Any:
        """Build the paths."""
        return huffman_paths(counts)


class HierarchicalSkipGram(_Hierarchical):
    """Skip-gram with hierarchical softmax."""


class HierarchicalCBOW(CBOW, _Hierarchical):
    """CBOW with hierarchical softmax."""

    reads: tuple[str, ...] = ("context",)
    alpha = 0.025  # at word2vec.c's 0.05 analogies are worse (benchmarks/log/words.md)
