"""Skip-gram with negative sampling (Mikolov et al. 2013): context words are sources, the centre and negatives targets.

A sample is an edge from a context word (its `e`) to the centre (its `t`, label 1) or to a negative (label 0). The loss
is logistic (GraphAny2Vec, section 2.2). Negatives are drawn per window or per pair (`negatives_per`). Per window, all
context words of a centre share a set, which is applied as a small matrix product (Ji et al., "Parallelizing word2vec in
shared and distributed memory", 2016). Per pair, they are drawn in word2vec's own order.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numba import int64, njit
from numpy.typing import NDArray

from any2vec.operators.base import Operator, OperatorOptions
from any2vec.options import option
from any2vec.samples.draws import below, draw
from any2vec.samples.targets import alias_table, negative, probabilities


@dataclass(kw_only=True, unsafe_hash=True)
class NegativeSampling:
    """Options of negative sampling."""

    negative: int | None = option(
        None, "negative samples per positive one", low=0, high=1000, unset="5; none if hierarchical"
    )
    negatives_per: str | None = option(
        None,
        "draw negatives per window (fast), or per pair, as word2vec does: more accurate with subwords only",
        choices=("window", "pair"),
        unset="window; pair with subwords or features",
        only="`model` skipgram with `loss` negative alone",
    )
    negatives_by_kind: bool = option(
        False,
        "draw negatives of the target's kind only, as metapath2vec++ does",
        panel="",
        only="`model` skipgram or cbow with `loss` negative, without `features` or `subwords`",
    )
    ns_exponent: float | None = option(
        None,
        "negatives are drawn by counts to this power; 0 draws all alike, below 0 rare ones more often",
        low=-10,
        high=10,
        usual="0.75",
        unset="0.75; 0.5 with subwords, as in fastText",
        only="`loss` negative alone",
    )


@njit(inline="always")
def list_context(window: Any, group: int, sizes: Any, sources: Any) -> tuple[int, int]:
    """List all context words of a window."""
    n = 0
    for context in range(window.begin, window.end):
        if context != window.centre:
            sources[n] = window.words[context]
            n += 1
    return n, 0


@njit(inline="always")
def list_one(window: Any, group: int, sizes: Any, sources: Any) -> tuple[int, int]:
    """List the context word number `group`, whose negatives are drawn by its distance from the centre."""
    context = window.begin + group
    context += int64(context >= window.centre)
    sources[0] = window.words[context]
    return 1, (context - window.centre + sizes[0]) * (sizes[1] - 1)


@njit(inline="always")
def draw_targets(window: Any, first: int, table: Any, sizes: Any, targets: Any, labels: Any) -> int:
    """List the centre, and negatives from the window's draws number `first` + 1 on; count those that are the centre."""
    clashes = 0
    targets[0] = window.words[window.centre]
    for k in range(1, sizes[1]):
        bits = draw(window.key, first + k)
        targets[k] = int64(table[below(bits, table.size)]) if sizes[2] else negative(bits, table)
        clashes += int64(targets[k] == targets[0])
    return clashes


@cache
def edges_of(list_sources: Callable[..., Any], list_targets: Callable[..., Any]) -> Callable[..., Any]:
    """Make `Operator.edges` of what lists a group's sources, and what lists its targets.

    ``list_sources(window, group, sizes, sources)`` returns their number, and how many of the window's draws precede
    those of the targets. ``list_targets(window, first, tables, sizes, targets, labels)`` returns how many are skipped.
    """

    @njit(inline="always")
    def edges(window: Any, group: int, tables: Any, sizes: Any, sources: Any, targets: Any, labels: Any) -> Any:
        n, first = list_sources(window, group, sizes, sources)
        return n, list_targets(window, first, tables, sizes, targets, labels)

    return edges


class SkipGram(Operator):
    """Skip-gram with negative sampling, negatives drawn per window or per pair.

    It brings the samples. Scores, steps and updates are those of every `Operator`, unless it says otherwise.
    """

    edges: Callable[..., Any] = staticmethod(edges_of(list_context, draw_targets))

    def __init__(self, options: OperatorOptions) -> None:
        super().__init__(options)
        if self.group_per_context:
            self.edges = edges_of(list_one, draw_targets)

    @property
    def targets(self) -> int:
        """The centre and K negatives."""
        return self.options.negatives + 1

    def samples_per_pair(self, counts: NDArray[np.int64]) -> dict[str, float]:
        """Count samples: a pair moves its source's row for the centre and each negative, its centre's once."""
        return {"e": self.targets, "t": 1}

    def updates(self, counts: NDArray[np.int64], contexts: float) -> NDArray[np.float64]:
        """Estimate updates: a window updates the rows of its context once, and its targets, or each pair its own."""
        e, centres = super().updates(counts, contexts)
        t = centres + self.options.negatives * centres.sum() * probabilities(counts, self.exponent)
        return np.stack([e, t * contexts if self.group_per_context else t])

    @property
    def per_pair(self) -> bool:
        """Whether negatives are drawn per pair."""
        return (self.options.negatives_per or self.negatives_per) == "pair"

    @property
    def group_per_context(self) -> bool:
        """Whether negatives are drawn per pair."""
        return self.per_pair

    def draws(self, contexts: float) -> float:
        """Count K negatives, for the window or for each pair."""
        return self.options.negatives * (contexts if self.per_pair else 1.0)

    @property
    def sizes(self) -> tuple[int, ...]:
        """The window, targets, and whether the table is a pool of negatives."""
        return (*super().sizes, int(self.options.pools))

    @property
    def draws_negatives(self) -> bool:
        """Whether it draws from the table of negatives, in whose place a pool may be."""
        return type(self).tables is SkipGram.tables

    def tables(self, counts: NDArray[np.int64]) -> Any:
        """Build the alias table of the negatives' distribution."""
        return alias_table(probabilities(counts, self.exponent))
