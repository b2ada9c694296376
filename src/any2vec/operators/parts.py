"""Words with parts: the vector of a source is the mean of its own row of e and those of its parts.

Parts are the n-grams of fastText (Bojanowski et al. 2017, "Enriching word vectors with subword information", section
3.2), or features of items. As in fastText, each row gets the whole gradient of the mean. Skip-gram takes the centre as
the source here: its rows are joined once for the window, and the context words are the targets, one after the other,
each with its negatives or its path. The pairs are those of windows around context words. CBOW is in `part_contexts`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numba import float32, int64, njit
from numpy.typing import NDArray

from any2vec.corpus import Vocabulary
from any2vec.corpus.parts import Features, WordRows
from any2vec.llvm.intrinsics import prefetch_row
from any2vec.operators.base import OperatorOptions, add_curvature
from any2vec.operators.cbow import join, learn, spread
from any2vec.operators.skipgram import SkipGram
from any2vec.operators.targets import HierarchicalSkipGram, list_path
from any2vec.operators.tiles import PADDING, dots
from any2vec.options import option
from any2vec.samples.draws import draw
from any2vec.samples.targets import LONGEST, negative

READS = ("subwords", "buckets", "features")
"""Options of words with parts."""

_FIRST = 2  # added to the label of the first target of a context word


@dataclass(kw_only=True, unsafe_hash=True)
class PartOptions:
    """Options of words with parts."""

    subwords: "str | tuple[int, int] | None" = option(
        None,
        "also train the n-grams of words, as fastText does: their least and greatest length in characters, such as "
        "3-6. Words that are not in the text have vectors, too",
        unset="whole words only",
        only="skip-gram and CBOW, of words or vertices",
        hashed=False,
    )
    buckets: int = option(
        2_000_000,
        "with subwords: how many hash values n-grams have; n-grams of one value share a row",
        low=1,
        high=2**31 - 1,
        only="`subwords`",
    )
    features: "Mapping[str, Sequence[str]] | Features | str | Path | None" = option(
        None,
        "also train features of tokens, such as brands: a file whose lines are a token, a tab, and the token's "
        "features, separated by spaces. New tokens with known features have vectors, too",
        unset="none",
        only="skip-gram and CBOW, of words or vertices",
        hashed=False,
    )


class PartTables(NamedTuple):
    """What `edges` reads where words have parts."""

    bounds: NDArray[np.int64]  # as of `corpus.parts.WordRows`
    rows: NDArray[np.int32]
    targets: Any  # what targets are drawn from


@njit(inline="always")
def list_rows(word: int, tables: Any, sources: Any, n: int) -> int:
    """List the rows of a word behind n others; return how many there are then."""
    for k in range(tables.bounds[word], tables.bounds[word + 1]):
        sources[n] = tables.rows[k]
        n += 1
    return n


@njit(inline="always")
def _skipgram_edges(window: Any, group: int, tables: Any, sizes: Any, sources: Any, targets: Any, labels: Any) -> Any:
    """List the rows of the centre; each context word, with negatives that are others."""
    reach, negatives, per_pair = sizes[0], sizes[2], sizes[3]
    k = 0
    for context in range(window.begin, window.end):
        if context != window.centre:
            word = window.words[context]
            targets[k], labels[k] = word, _FIRST + 1
            k += 1
            first = (context - window.centre + reach) * negatives if per_pair else 0
            for j in range(1, negatives + 1):
                targets[k], labels[k] = negative(draw(window.key, first + j), tables.targets), 0
                k += int64(targets[k] != word)
    return list_rows(window.words[window.centre], tables, sources, 0), sizes[1] - k


@njit(inline="always")
def _hierarchical_edges(
    window: Any, group: int, tables: Any, sizes: Any, sources: Any, targets: Any, labels: Any
) -> Any:
    """List the rows of the centre, and the path of each context word."""
    k = 0
    for context in range(window.begin, window.end):
        if context != window.centre:
            length = list_path(window.words[context], tables.targets, targets[k:], labels[k:])
            labels[k] += _FIRST
            k += length
    return list_rows(window.words[window.centre], tables, sources, 0), sizes[1] - k


@cache
def _apply(steps: Callable[..., Any]) -> Callable[..., None]:
    """Make `Operator.apply`: join the rows; score, step and learn by each context word; spread the change.

    If rows get the whole gradient, their mean moves by it: so the joined row learns as if it were joined anew.
    """

    @njit(inline="always")
    def apply(e: Any, t: Any, group: Any, scratch: Any, stats: Any, targets: int, dim: int, width: int) -> None:
        x, y, labels, n, skipped, alpha, measured = group
        if n:
            change, total, scores = scratch[dim:], scratch[2 * dim :], scratch[3 * dim :]
            join(e, x, n, float32(1.0) / float32(n), scratch, dim, width)
            for d in range(dim):
                total[d] = float32(0.0)
            count = int64(targets - skipped)
            begin = end = int64(0)
            while begin < count:
                end = begin + 1
                while end < count and labels[end] < _FIRST:
                    end += 1
                labels[begin] -= _FIRST
                size = end - begin
                for k in range(end, min(end + size, count)):  # those of the next word, about
                    prefetch_row(t, y[k], dim)
                dots(scratch, 0, t, y[begin:], scores, 1, size, dim, width)
                loss, curvature = steps(scores, labels[begin:], 1, size, alpha, measured, width)
                learn(scratch, t, y[begin:], scores, size, change, dim, width)
                for d in range(dim):
                    scratch[d] += change[d]
                    total[d] += change[d]
                stats.loss[0] += loss
                if measured:
                    add_curvature(stats, curvature, scores, size, alpha)
                begin = end
            spread(e, x, n, float32(1.0), total, dim, width)
            stats.samples[0] += count

    return apply


class WithParts(SkipGram):
    """What all have in common: where rows of e are, and how many."""

    several = True
    ns_exponent = 0.5  # fastText's
    by_columns = False  # rows are joined whole

    def divide(self, vocabulary: Vocabulary) -> WordRows | None:
        """Find the n-grams or features of all words."""
        parts = self.options.parts
        return None if parts is None else WordRows.of(vocabulary.counts, *parts.lists(vocabulary.words))

    def tables(self, counts: NDArray[np.int64]) -> Any:
        """Build what targets are drawn from, behind the rows of words."""
        assert self.rows is not None
        return PartTables(self.rows.bounds, self.rows.rows, super().tables(counts))

    def updates(self, counts: NDArray[np.int64], contexts: float) -> NDArray[np.float64]:
        """Estimate updates of V + P rows; t has V."""
        assert self.rows is not None
        found = np.zeros((2, self.rows.number))
        e, found[1, : len(counts)] = super().updates(counts, contexts)
        found[0] = self.rows.spread(e)
        return found


class _FromCentre(WithParts):
    """Skip-gram from the centre to its context words."""

    joined = varying = from_centre = True

    def __init__(self, options: OperatorOptions) -> None:
        super().__init__(options)
        self.apply = _apply(self.steps)

    @property
    def sources(self) -> int:
        """The rows of a word."""
        return 0 if self.rows is None else self.rows.most

    @property
    def group_per_context(self) -> bool:
        """A window is one group."""
        return False

    def scratch(self, dim: int) -> int:
        """Floats of the joined row, its change by a context word and by all, and the scores."""
        return 3 * dim + self.targets // (2 * self.options.window) + PADDING

    def samples_per_pair(self, counts: NDArray[np.int64]) -> dict[str, float]:
        """Count samples: an update of e is by all pairs of a window, whose reach is half the largest in the mean."""
        samples = super().samples_per_pair(counts)
        return samples | {"e": samples["e"] * (self.options.window + 1)}

    def updates(self, counts: NDArray[np.int64], contexts: float) -> NDArray[np.float64]:
        """Estimate updates: a window updates the rows of its centre once, and each pair its targets."""
        found = super().updates(counts, 1.0)
        found[1] *= contexts
        return found


class PartSkipGram(_FromCentre):
    """Skip-gram with negative sampling, of words with parts."""

    negatives_per = "pair"
    reads: tuple[str, ...] = (*SkipGram.reads, *READS)
    edges = staticmethod(_skipgram_edges)

    @property
    def targets(self) -> int:
        """Each context word, and its K negatives."""
        return 2 * self.options.window * (self.options.negatives + 1)

    @property
    def sizes(self) -> tuple[int, ...]:
        """The window, targets, K, and whether each pair has negatives of its own."""
        options = self.options
        return options.window, self.targets, options.negatives, int(self.per_pair)


class HierarchicalPartSkipGram(_FromCentre, HierarchicalSkipGram):
    """Skip-gram with hierarchical softmax, of words with parts."""

    reads: tuple[str, ...] = READS
    edges = staticmethod(_hierarchical_edges)

    @property
    def targets(self) -> int:
        """The longest path of each context word."""
        return 2 * self.options.window * LONGEST

    @property
    def sizes(self) -> tuple[int, ...]:
        """The window, targets."""
        return self.options.window, self.targets
