"""What a user can choose about training, checked before anything is read."""

import math
from dataclasses import dataclass
from numbers import Real
from typing import Any

from any2vec.errors import Any2VecError
from any2vec.operators.skipgram import SCHEDULES
from any2vec.sync.combiners import Combiner, combiner_of
from any2vec.sync.schemes import check_scheme

__all__ = ["MOST_THREADS", "Options"]

MOST_THREADS = 1024
"""Threads of a host."""


@dataclass(frozen=True)
class Options:
    """Options of training; word2vec's, under gensim's names.

    Attributes
    ----------
    dim : int
        D, the length of a vector.
    window : int
        Most words between a word and its context, on each side; each centre draws 1 to `window`.
    negative : int
        Negative samples for each positive one.
    sample : float
        Share of the corpus above which a word is thinned out; 0 for no subsampling.
    alpha : float
        Learning rate at the start; it falls linearly with the words done, to 1e-4 of this.
    epochs : int
        Passes over the corpus.
    threads : int or None
        Threads; None for all cores, or a host's share of its machine's. With one, the same seed gives the same bits.
    seed : int
        Seed of all draws.
    schedule : {"window", "exact"}
        Order of the samples (`operators.skipgram`).
    hosts : int
        Hosts to simulate; 1 on a cluster, which says itself how many it has.
    scheme : str
        How hosts synchronize (`sync.schemes`); one host does not.
    combine : str or class
        How what hosts changed is combined: a name (`sync.combiners`), or a combiner of one's own.
    rounds : int or None
        S, synchronizations in an epoch; None for the papers' rule. The first epoch has a few more.
    kappa : float or None
        The combiner ``curvature``'s; None to measure it.

    Raises
    ------
    Any2VecError
        If a value is out of range; the message names it and the range.
    """

    dim: int = 100
    window: int = 5
    negative: int = 5
    sample: float = 1e-3
    alpha: float = 0.025
    epochs: int = 5
    threads: int | None = None
    seed: int = 1
    schedule: str = "window"
    hosts: int = 1
    scheme: str = "pull-opt"
    combine: "str | type[Combiner]" = "curvature"
    rounds: int | None = None
    kappa: float | None = None

    def __post_init__(self) -> None:
        for name, low, high in (
            ("dim", 1, 65_536),
            ("window", 1, 1000),
            ("negative", 1, 1000),
            ("epochs", 1, 1_000_000),
            ("threads", 1, MOST_THREADS),
            ("hosts", 1, 4096),
            ("rounds", 1, 1_000_000),
        ):
            value = getattr(self, name)
            if name in ("threads", "rounds") and value is None:
                continue
            if not _is_integer(value) or not low <= value <= high:
                raise Any2VecError(f"`{name}` is {value!r}; it must be a whole number from {low} to {high}")
        if not _is_integer(self.seed):
            raise Any2VecError(f"`seed` is {self.seed!r}; it must be a whole number")
        if not _is_number(self.alpha) or not 0 < self.alpha <= 1:
            raise Any2VecError(f"`alpha` is {self.alpha!r}; it must be above 0 and at most 1 (0.025 is usual)")
        if not _is_number(self.sample) or not 0 <= self.sample < 1:
            raise Any2VecError(f"`sample` is {self.sample!r}; it must be from 0 (none) to below 1 (1e-3 is usual)")
        if self.schedule not in SCHEDULES:
            raise Any2VecError(f"`schedule` is {self.schedule!r}; known are {', '.join(SCHEDULES)}")
        check_scheme(self.scheme)
        combiner_of(self.combine)
        if self.kappa is not None and not (_is_number(self.kappa) and 0 < self.kappa <= 100):
            raise Any2VecError(f"`kappa` is {self.kappa!r}; it must be above 0 and at most 100, or left out: measured")
        if self.kappa is not None and isinstance(self.combine, str) and self.combine != "curvature":
            raise Any2VecError(f"`kappa` is for the combiner 'curvature'; {self.combine!r} has none: leave it out")


def _is_integer(value: Any) -> bool:
    return hasattr(value, "__index__") and not isinstance(value, bool)


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)
