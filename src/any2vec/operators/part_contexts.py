"""CBOW of words with parts: a context is one source, the mean of the rows of all its words.

Neighbouring windows share nearly all words of their contexts, and all rows of a word get the same change. So a word's
rows are summed up once: when the first window of a chunk reaches the word. The sum learns with each window, as the rows
would. Its change is added to the rows once: when the last window leaves the word. In between, rows that two words share
do not see each other's change. It is late by 2 * window words at most.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numba import float32, int64, njit
from numpy.typing import NDArray

from any2vec.operators.base import OperatorOptions
from any2vec.operators.cbow import CBOW, join, join_changed, learning, spread
from any2vec.operators.parts import READS, WithParts, list_rows
from any2vec.operators.skipgram import draw_targets
from any2vec.operators.targets import HierarchicalCBOW, path_of_centre
from any2vec.operators.tiles import ROW_ALIGNMENT
from any2vec.samples.windows import kept_counts

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
def _apply(steps: Callable[..., Any], context: str, varying: bool, window: int) -> Callable[..., None]:
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
        self.apply = _apply(self.steps, options.context, self.varying, options.window)

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

    reads: tuple[str, ...] = (*CBOW.reads, *READS)
    edges = staticmethod(_edges(draw_targets))


class HierarchicalPartCBOW(_FromContext, HierarchicalCBOW):
    """CBOW with hierarchical softmax, of words with parts."""

    reads: tuple[str, ...] = (*HierarchicalCBOW.reads, *READS)
    edges = staticmethod(_edges(path_of_centre))
