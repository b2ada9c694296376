"""CBOW (Mikolov et al. 2013, "Efficient estimation of word representations in vector space"): a context is one source.

The mean, or the sum, of the context's rows of e predicts the centre. word2vec.c adds the whole gradient of the mean to
each row of the context. The gradient of the loss is this gradient divided by their number: see Irsoy, Benton and
Stratos 2021, "Corrected CBOW performs as well as skip-gram", arXiv 2012.15332.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numba import float32, int64, njit
from numpy.typing import NDArray

from any2vec.operators.arguments import add_curvature
from any2vec.operators.base import OperatorOptions
from any2vec.operators.context import join, learn, spread
from any2vec.operators.logistic import NOTHING, PADDING, put_repeats
from any2vec.operators.skipgram import SkipGram
from any2vec.operators.tiles import dots
from any2vec.options import option

__all__ = ["CBOW", "ContextOptions", "learning"]


@dataclass(kw_only=True, unsafe_hash=True)
class ContextOptions:
    """Options of CBOW."""

    context: str = option(
        "mean",
        "for cbow, how context words are combined: mean, as in word2vec.c; corrected, the mean with its gradient "
        "divided by their number; sum",
        choices=("mean", "corrected", "sum"),
        only="`model` cbow alone",
    )


class CBOW(SkipGram):
    """CBOW with negative sampling."""

    joined = True
    alpha = 0.05
    reads: tuple[str, ...] = ("negative", "ns_exponent", "context")

    def __init__(self, options: OperatorOptions) -> None:
        super().__init__(options)
        self.apply = _apply(self.steps, options.context, self.varying)

    def samples_per_pair(self, counts: NDArray[np.int64]) -> dict[str, float]:
        """Count samples as if all rows of a context moved alike: what they share is what hosts learn over again.

        A mean then moves as each of its n rows does, a corrected one 1/n as far; a sum, n times a row, n times as far.
        """
        sizes = 2.0 * np.arange(self.options.narrowest, self.options.window + 1)  # words of a context
        power = {"mean": {"e": 0, "t": 0}, "corrected": {"e": -1, "t": 0}, "sum": {"e": 1, "t": 2}}[
            self.options.context
        ]
        samples = super().samples_per_pair(counts)
        return {which: samples[which] * float((sizes ** power[which]).mean()) for which in samples}

    @property
    def by_columns(self) -> bool:
        """Whether its parts are those of this class: `columns` joins, scores and spreads as `_apply` does."""
        return self.score is dots and type(self).apply is None

    def scratch(self, dim: int) -> int:
        """Floats of the joined row, its change, and the scores."""
        return 2 * dim + self.targets + PADDING


@cache
def learning(steps: Callable[..., Any], varying: bool) -> Callable[..., None]:
    """Make ``learned(h, change, scores, t, group, stats, targets, dim, width)``: score, step, learn."""

    @njit(inline="always")
    def learned(
        h: Any, change: Any, scores: Any, t: Any, group: Any, stats: Any, targets: int, dim: int, width: int
    ) -> None:
        _x, y, labels, _n, skipped, alpha, measured = group
        count = int64(targets - skipped)
        if varying:
            dots(h, 0, t, y, scores, 1, count, dim, width)
            loss, curvature = steps(scores, labels, 1, count, alpha, measured, width)
            learn(h, t, y, scores, count, change, dim, width)
        else:
            dots(h, 0, t, y, scores, 1, targets, dim, width)
            if skipped:
                put_repeats(scores, y, 1, targets, NOTHING)
            loss, curvature = steps(scores, labels, 1, targets, alpha, measured, width)
            if skipped:
                put_repeats(scores, y, 1, targets, 0.0)
            learn(h, t, y, scores, targets, change, dim, width)
        stats.loss[0] += loss
        stats.samples[0] += count
        if measured:
            add_curvature(stats, curvature, scores, count if varying else targets, alpha)

    return learned


@cache
def _apply(steps: Callable[..., Any], context: str, varying: bool) -> Callable[..., None]:
    """Make `Operator.apply`: join the context, score, step, learn, spread the change."""
    mean, corrected = context != "sum", context == "corrected"
    learned = learning(steps, varying)

    @njit(inline="always")
    def apply(e: Any, t: Any, group: Any, scratch: Any, stats: Any, targets: int, dim: int, width: int) -> None:
        x, n = group[0], group[3]
        if n:
            change, scores = scratch[dim:], scratch[2 * dim :]
            share = float32(1.0) / float32(n)
            join(e, x, n, share if mean else float32(1.0), scratch, dim, width)
            learned(scratch, change, scores, t, group, stats, targets, dim, width)
            spread(e, x, n, share if corrected else float32(1.0), change, dim, width)

    return apply
