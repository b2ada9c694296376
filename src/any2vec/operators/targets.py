"""Operators with other targets: inner vertices of a Huffman tree, or negatives of the target's kind.

**Hierarchical softmax** (Morin and Bengio 2005; Mikolov et al. 2013), for skip-gram and CBOW: a word's probability is
the product over the turns on its path in a Huffman tree. The targets of a window are the inner vertices on the path of
its centre, with label 1 if the path goes on to the first child. Row i of `t` is inner vertex i, not vertex i; the last
row is not used. As in word2vec.c, a score of 6 or more, or -6 or less, makes no step. So one word with an unusual turn
does not undo the learning of the others. (With negative sampling such a score makes a step, there and here.)

**Negatives of the target's kind** (Dong et al., "metapath2vec", KDD 2017, section 3.3: metapath2vec++): a vertex of
another kind than the target is no negative. The loss is that of a softmax over the vertices of one kind.
"""

import math
from itertools import pairwise
from typing import Any, NamedTuple, Self

import numpy as np
from numba import float32, int64, njit
from numpy.typing import NDArray

from any2vec.corpus import Corpus
from any2vec.corpus.corpus import NO_KIND
from any2vec.errors import Any2VecError
from any2vec.operators.base import Operator, OperatorOptions
from any2vec.operators.cbow import CBOW
from any2vec.operators.skipgram import SkipGram, edges_of, list_context, list_one
from any2vec.operators.tiles import label_one_loss, logistic_curvature, logistic_steps
from any2vec.samples.draws import draw
from any2vec.samples.targets import LONGEST, alias_table, huffman_paths, negative, probabilities, same_splits
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
def path_of_centre(window: Any, first: int, tables: Any, sizes: Any, targets: Any, labels: Any) -> int:
    """List the path of the centre; return how many vertices it has less than the longest."""
    return sizes[1] - list_path(window.words[window.centre], tables, targets, labels)


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
    edges = staticmethod(edges_of(list_context, path_of_centre))
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


class KindTables(NamedTuple):
    """What `edges` draws from where negatives have the target's kind."""

    kinds: NDArray[np.uint8]  # (V,): The kind of each vertex
    bounds: NDArray[np.int64]  # (257,): Kind k has entries ``bounds[k]`` to ``bounds[k + 1] - 1`` of the others
    members: NDArray[np.int32]  # (V,): The vertices of each kind
    tables: NDArray[np.uint64]  # (V,): The alias table of each kind (`samples.targets.alias_table`)


@njit(inline="always")
def _draw_of_kind(window: Any, first: int, tables: Any, sizes: Any, targets: Any, labels: Any) -> int:
    """List the centre, and negatives of its kind, as `skipgram.draw_targets` does; count those that are the centre."""
    clashes = 0
    centre = window.words[window.centre]
    kind = int64(tables.kinds[centre])
    low, high = tables.bounds[kind], tables.bounds[kind + 1]
    table = tables.tables[low:high]
    targets[0] = centre
    for k in range(1, sizes[1]):
        targets[k] = int64(tables.members[low + negative(draw(window.key, first + k), table)])
        clashes += int64(targets[k] == centre)
    return clashes


class _ByKind(SkipGram):
    """What both have in common: the kinds, and a table for each."""

    kinds: NDArray[np.uint8]
    draws_negatives = False  # from pools

    def __init__(self, options: OperatorOptions) -> None:
        super().__init__(options)
        self.edges = edges_of(list_one if self.group_per_context else list_context, _draw_of_kind)

    def on(self, corpus: Corpus) -> Self:
        """Take the kinds of the vertices."""
        if corpus.kinds is None:
            raise Any2VecError("`negatives_by_kind` is True, but the corpus has no kinds of vertices")
        self.kinds = corpus.kinds
        return super().on(corpus)

    def updates(self, counts: NDArray[np.int64], contexts: float) -> NDArray[np.float64]:
        """Estimate updates: a window updates the rows of its context, and targets of one kind."""
        e, t = Operator.updates(self, counts, contexts)
        t = t + self.options.negatives * np.bincount(self.kinds, t)[self.kinds] * self._shares(counts)
        return np.stack([e, t * contexts if self.group_per_context else t])

    def tables(self, counts: NDArray[np.int64]) -> Any:
        """Build an alias table of the negatives' distribution for each kind."""
        members = np.argsort(self.kinds, kind="stable").astype(np.int32)
        bounds = np.append(0, np.cumsum(np.bincount(self.kinds, minlength=NO_KIND + 1)))
        tables, shares = np.zeros(len(members), np.uint64), self._shares(counts)
        for low, high in pairwise(bounds.tolist()):
            if (share := shares[members[low:high]]).any():
                tables[low:high] = alias_table(share)
        return KindTables(self.kinds, bounds, members, tables)

    def _shares(self, counts: NDArray[np.int64]) -> NDArray[np.float64]:
        """Compute each vertex's probability of being drawn, by its kind; 0 in kinds of which none occurred."""
        shares = np.zeros(len(counts))
        for kind in np.unique(self.kinds):
            if counts[of_kind := self.kinds == kind].any():
                shares[of_kind] = probabilities(counts[of_kind], self.exponent)
        return shares


class KindSkipGram(_ByKind):
    """Skip-gram with negatives of the target's kind."""

    reads: tuple[str, ...] = (*SkipGram.reads, "negatives_by_kind")


class KindCBOW(CBOW, _ByKind):
    """CBOW with negatives of the target's kind."""

    reads: tuple[str, ...] = (*CBOW.reads, "negatives_by_kind")


BY_KIND: dict[type[Operator], type[Operator]] = {SkipGram: KindSkipGram, CBOW: KindCBOW}
"""The operator that takes an operator's place if negatives have the target's kind."""
