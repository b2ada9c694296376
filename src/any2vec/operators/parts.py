"""Words with parts: the vector of a source is the mean of its own row of e and those of its parts.

Parts are the n-grams of fastText (Bojanowski et al. 2017, "Enriching word vectors with subword information", section
3.2), or features of items. As in fastText, each row gets the whole gradient of the mean. Skip-gram takes the centre as
the source here: its rows are joined once for the window, and the context words are the targets, one after the other,
each with its negatives or its path. The pairs are those of windows around context words.

With CBOW, a context is one source, the mean of the rows of all its words. Neighbouring windows share nearly all words
of their contexts, and all rows of a word get the same change. So a word's rows are summed up once: when the first
window of a chunk reaches the word. The sum learns with each window, as the rows would. Its change is added to the rows
once: when the last window leaves the word. In between, rows that two words share do not see each other's change. It is
late by 2 * window words at most.
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
from any2vec.operators.cbow import CBOW, join, join_changed, learn, learning, spread
from any2vec.operators.skipgram import SkipGram, draw_targets
from any2vec.operators.targets import HierarchicalCBOW, HierarchicalSkipGram, list_path, path_of_centre
from any2vec.operators.tiles import PADDING, ROW_ALIGNMENT, dots
from any2vec.options import option
from any2vec.samples.draws import draw
from any2vec.samples.targets import LONGEST, negative
from any2vec.samples.windows import kept_counts

_READS = ("subwords", "buckets", "features")
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
    reads: tuple[str, ...] = (*SkipGram.reads, *_READS)
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

    reads: tuple[str, ...] = _READS
    edges = staticmethod(_hierarchical_edges)

    @property
    def targets(self) -> int:
        """The longest path of each context word."""
        return 2 * self.options.window * LONGEST

    @property
    def sizes(self) -> tuple[int, ...]:
        """The window, targets."""
        return self.options.window, self.targets


_NUMBERS = 6  # of a window that `apply` needs


@njit(inline="always")
def _list_changing(window: Any, reach: int, tables: Any, sources: Any) -> int:
    """List the rows of words that come into reach, then of those that leave it; return their number.

    The first half of `sources` ends with the rows that each word that comes has, and the window, for `apply`.
    """
    half = sources.size // 2
    sizes, numbers = sources[half - _NUMBERS - 2 * reach - 1 :], sources[half - _NUMBERS :]
    n = 0
    for word in range(window.fresh, window.end):
        begin, uses = n, window.uses[word]
        if uses:
            n = list_rows(window.words[word], tables, sources, n)
        for k in range(begin, n):
            sources[half + k] = uses
        sizes[word - window.fresh] = n - begin
    came = n
    for word in range(window.first, window.kept):
        if window.uses[word]:
            n = list_rows(window.words[word], tables, sources, n)
    for k in range(came, n):
        sources[half + k] = 0  # they were counted when they came
    numbers[0], numbers[1], numbers[2] = window.begin, window.centre, window.end
    numbers[3], numbers[4], numbers[5] = window.first, window.fresh, window.kept
    return n


@cache
def _edges(list_targets: Callable[..., Any]) -> Callable[..., Any]:
    """Make `Operator.edges`: list the rows of words that come and leave, and the targets of the centre."""

    @njit(inline="always")
    def edges(window: Any, group: int, tables: Any, sizes: Any, sources: Any, targets: Any, labels: Any) -> Any:
        n = _list_changing(window, sizes[0], tables, sources)
        return n, list_targets(window, 0, tables.targets, sizes, targets, labels)

    return edges


def _slots(window: int) -> int:
    """Words that are kept at once: more than are in reach, a power of two."""
    return max(ROW_ALIGNMENT, 1 << (2 * window).bit_length())


@cache
def _apply_contexts(steps: Callable[..., Any], context: str, varying: bool, window: int) -> Callable[..., None]:
    """Make `Operator.apply`: sum up the words that come, join the context, learn, and spread the changes of words."""
    mean, corrected = context != "sum", context == "corrected"
    learned, slots = learning(steps, varying), _slots(window)

    @njit(inline="always")
    def apply(e: Any, t: Any, group: Any, scratch: Any, stats: Any, targets: int, dim: int, width: int) -> None:
        x, half = group[0], group[0].size // 2
        numbers = x[half - _NUMBERS :]
        begin, centre, end = numbers[0], numbers[1], numbers[2]
        first, fresh, kept = numbers[3], numbers[4], numbers[5]
        if end > begin:
            # of a word: the sum of its rows, the change of each, and how many it has
            changes, sizes = scratch[slots * dim :], scratch[2 * slots * dim :]
            weights, h = sizes[slots:], sizes[2 * slots :]
            change, scores = h[dim:], h[2 * dim :]
            places = x[half - _NUMBERS - 2 * window - 1 :]  # first the rows that words have
            at = int64(0)
            for word in range(fresh, end):
                n, slot = places[word - fresh], word & (slots - 1)
                join(e, x[at:], n, float32(1.0), scratch[slot * dim :], dim, width)
                for d in range(slot * dim, (slot + 1) * dim):
                    changes[d] = float32(0.0)
                sizes[slot] = float32(n)
                at += n
            m, rows = int64(0), float32(0.0)
            for word in range(begin, end):
                if word != centre:
                    slot = word & (slots - 1)
                    places[m], weights[m] = slot * dim, sizes[slot]
                    rows += sizes[slot]
                    m += 1
            share = float32(1.0) / rows
            join_changed(scratch, changes, places, weights, m, share if mean else float32(1.0), h, dim, width)
            learned(h, change, scores, t, group, stats, targets, dim, width)
            spread(changes, places, m, share if corrected else float32(1.0), change, dim, width)
            for word in range(first, kept):
                slot = word & (slots - 1)
                n = int64(sizes[slot])
                spread(e, x[at:], n, float32(1.0), changes[slot * dim :], dim, width)
                at += n

    return apply


class _FromContext(WithParts):
    """CBOW from the rows of all context words."""

    chunked = True  # slices cut no chunk, so it does not show where words come and leave

    def __init__(self, options: OperatorOptions) -> None:
        super().__init__(options)
        self.apply = _apply_contexts(self.steps, options.context, self.varying, options.window)

    @property
    def sources(self) -> int:
        """Twice the rows of all words in reach, which may come and leave at once, and how many windows use each."""
        within = 2 * self.options.window + 1
        return 0 if self.rows is None else 2 * (2 * within * self.rows.most + within + _NUMBERS)

    def scratch(self, dim: int) -> int:
        """Floats of the words' sums, changes and sizes, of the joined row, its change and the scores."""
        return 2 * _slots(self.options.window) * (dim + 1) + super().scratch(dim)

    def independent(self, contexts: float) -> float:
        """Count words: the parts of a word move alike."""
        return max(contexts, 1.0)

    def shares(self, counts: NDArray[np.int64], contexts: float) -> NDArray[np.float64] | None:
        """Weigh a row by what it is of a context, unless its gradient is divided, too, or the context a sum."""
        if self.rows is None or self.options.context != "mean":
            return None
        return self.rows.shares(kept_counts(counts, self.options.sample), contexts)


class PartCBOW(_FromContext, CBOW):
    """CBOW with negative sampling, of words with parts."""

    reads: tuple[str, ...] = (*CBOW.reads, *_READS)
    edges = staticmethod(_edges(draw_targets))


class HierarchicalPartCBOW(_FromContext, HierarchicalCBOW):
    """CBOW with hierarchical softmax, of words with parts."""

    reads: tuple[str, ...] = (*HierarchicalCBOW.reads, *_READS)
    edges = staticmethod(_edges(path_of_centre))
