"""Statistics per round: words, loss, seconds by phase, bytes, rows, orthogonality of the hosts' changes."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import product
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

PHASES = ("inspection", "computation", "combining", "communication")
"""Phases of a round; communication is what the others do not hide, including the wait for slower hosts (`waited`)."""

BY_HOST = ("computing", "waited", "last computing", "awaited computing", "last receiving", "awaited receiving")
"""Figures of each host."""

KEYS = tuple(product(("inspect", "reduce", "broadcast"), ("e", "t", "both"), ("ids", "updates", "values", "moments")))
"""What is counted of bytes, as (phase, matrix, kind); ids that stand for both matrices have the matrix ``both``."""

MOST = 1024
"""Entries of a list of `Rounds`, at most; even."""


class Done(NamedTuple):
    """What all hosts did in a round, and how far they are after it."""

    epochs: float  # done so far
    elapsed: float  # seconds of training so far
    words: float  # of the vocabulary, in the round
    samples: float
    loss: float  # sum over the samples


class Clocked(NamedTuple):
    """Seconds of a round on one of several real hosts; simulated ones, which take turns, have no such figures."""

    computing: float = 0.0  # from the beginning of a round until all of it was computed here
    computed: float = 0.0  # in a call in which a few bytes travel, when hosts have computed
    received: float = 0.0  # in another, when they had received the rows for this round, at the end of the one before
    hidden: float = 0.0  # while rows were on their way and this host did something else


class _Combined(Protocol):
    """What `sync.masters.Combined` says of a round."""

    rows: int
    orthogonal: int
    orthogonality: float
    largest: float


def pack_round_stats(
    seconds: list[float], touched: dict[str, int], combined: _Combined, sent: NDArray[np.float64], clocked: Clocked
) -> NDArray[Any]:
    """Pack this host's round statistics; `Rounds.add` takes one row per host."""
    orthogonality = [combined.rows, combined.orthogonal, combined.orthogonality]
    return np.concatenate([seconds, [touched["e"], touched["t"]], orthogonality, [combined.largest], sent, clocked])


def _weighted(entry: float, value: float, weight: float) -> float:
    """Mean of an entry and a value, which has some of the weight."""
    if math.isnan(entry) or math.isnan(value):  # rounds that nothing is known of
        return entry if math.isnan(value) else value
    return entry + (value - entry) * weight


_MERGES: dict[str, Callable[[float, float, int], float]] = {  # an entry of so many rounds, with one more
    **dict.fromkeys(("epochs", "elapsed", "largest"), lambda entry, value, _: max(entry, value)),
    **dict.fromkeys(
        ("words", "samples", "seconds", "slowest", "bytes", "waited", "hidden"), lambda entry, value, _: entry + value
    ),
    **dict.fromkeys(
        ("touched", "orthogonality", "orthogonal"),
        lambda entry, value, rounds: _weighted(entry, value, 1 / (rounds + 1)),
    ),
}
"""By the names of the lists of `Rounds`; the loss is a mean over samples."""


def lists_of(given: Any) -> list[Any]:
    """Return a list, or those in a dict."""
    return list(given.values()) if isinstance(given, dict) else [given]


@dataclass
class Rounds:
    """Statistics of all rounds, in order.

    An entry of a list is of one round. With more than `MOST` rounds, an entry is of several rounds in a row: all of the
    same number, but the last one may be of fewer.

    Attributes
    ----------
    count : int
        Rounds.
    each : int
        Rounds of an entry, a power of two.
    epochs : list of float
        Epochs done at the end of an entry.
    elapsed : list of float
        Seconds of training at its end.
    words : list of int
        Words of the vocabulary that all hosts trained on, those that subsampling leaves out included.
    samples : list of int
        Samples of all hosts.
    loss : list of float
        Mean loss over the samples; not a number if there were none.
    seconds : dict from str to list of float
        By phase (`PHASES`), mean over the hosts. Of simulated hosts, which share cores, CPU seconds.
    slowest : dict from str to list of float
        Likewise, of the host that took longest.
    bytes : dict from str to list of int
        By "phase matrix kind" (`KEYS`), sent by all hosts.
    touched : dict from str to list of float
        By matrix, rows that a host touched in a round, mean over the hosts.
    orthogonality : list of float
        Mean of the paper's Eq. 9 over rows that two or more hosts changed; one of 256 is measured. It is 1 if the
        changes were orthogonal, and 1/k if all k were equal. It is not a number if there were no such rows.
    orthogonal : list of float
        Share of these rows whose Eq. 9 is `sync.masters.ORTHOGONAL` or more (GraphAny2Vec, Fig. 8), or not a number.
    largest : list of float
        With columns, the largest change of a number by a mini-batch. One in 16 mini-batches is measured, on the 16
        hottest rows of both matrices. When it grows, values will explode.
    waited : list of float
        Seconds of communication in which a host waited for those that still computed, or still received the rows of the
        round, mean over the hosts; the rest of communication is transfer. 0 of simulated hosts.
    hidden : list of float
        Seconds, besides communication, in which rows were on their way while a host did something else, mean over the
        hosts. 0 of simulated hosts.
    by_host : dict from str to list of float
        By figure (`BY_HOST`) and host, sums over all rounds; empty of one host and of simulated ones. "computing" and
        "waited" are seconds, "last computing" is the number of rounds that it was the last to compute, and "awaited
        computing" the seconds that the others waited for it then, in the mean; likewise "receiving" rows of a round.
    """

    count: int = 0
    each: int = 1
    epochs: list[float] = field(default_factory=list)
    elapsed: list[float] = field(default_factory=list)
    words: list[int] = field(default_factory=list)
    samples: list[int] = field(default_factory=list)
    loss: list[float] = field(default_factory=list)
    seconds: dict[str, list[float]] = field(default_factory=lambda: {phase: [] for phase in PHASES})
    slowest: dict[str, list[float]] = field(default_factory=lambda: {phase: [] for phase in PHASES})
    bytes: dict[str, list[int]] = field(default_factory=lambda: {" ".join(key): [] for key in KEYS})
    touched: dict[str, list[float]] = field(default_factory=lambda: {"e": [], "t": []})
    orthogonality: list[float] = field(default_factory=list)
    orthogonal: list[float] = field(default_factory=list)
    largest: list[float] = field(default_factory=list)
    waited: list[float] = field(default_factory=list)
    hidden: list[float] = field(default_factory=list)
    by_host: dict[str, list[float]] = field(default_factory=dict)

    def __len__(self) -> int:
        return self.count

    def add(self, hosts: NDArray[np.float64], done: Done) -> None:
        """Add a round: what all hosts packed, shape (H, n), and did."""
        if self.count == MOST * self.each:
            self._halve()
        figures, before = figures_of(hosts, done), self.count % self.each
        for name, merge in _MERGES.items():
            for values, value in zip(lists_of(getattr(self, name)), lists_of(figures[name]), strict=True):
                values.append(merge(values.pop(), value, before) if before else value)
        weight = figures["samples"] / max(self.samples[-1], 1)
        self.loss.append(_weighted(self.loss.pop(), figures["loss"], weight) if before else figures["loss"])
        self.add_by_host(figures["by_host"])
        self.count += 1

    def add_by_host(self, figures: dict[str, list[float]]) -> None:
        """Add a round's `by_host`; raise ValueError if it is of another number of hosts."""
        for name, values in figures.items():
            before = self.by_host.get(name, [0.0] * len(values))
            if len(before) != len(values):
                raise ValueError("its rounds have figures of other hosts")
            self.by_host[name] = [one + other for one, other in zip(before, values, strict=True)]

    def mean(self, values: list[float]) -> float:
        """Mean over all rounds of a list whose entries are means; not a number if none of them is known."""
        last = self.count - self.each * (len(values) - 1)  # rounds of the last entry
        rounds = [self.each] * (len(values) - 1) + [last]
        known = [(value, n) for value, n in zip(values, rounds, strict=True) if not math.isnan(value)]
        return sum(value * n for value, n in known) / sum(n for _, n in known) if known else math.nan

    def _halve(self) -> None:
        """Merge entries in pairs: the memory of a run does not grow with its rounds."""
        self.each *= 2
        shares = [two / max(one + two, 1) for one, two in zip(self.samples[::2], self.samples[1::2], strict=True)]
        pairs = zip(self.loss[::2], self.loss[1::2], shares, strict=True)
        self.loss[:] = [_weighted(one, other, share) for one, other, share in pairs]
        for name, merge in _MERGES.items():
            for values in lists_of(getattr(self, name)):
                values[:] = [merge(one, other, 1) for one, other in zip(values[::2], values[1::2], strict=True)]


def _by_host(
    computing: NDArray[np.float64], waited: NDArray[np.float64], *calls: NDArray[np.float64]
) -> dict[str, list[float]]:
    """Return a round's `Rounds.by_host`; of `calls` are the seconds in them, in which the last host needs least."""
    found = [computing, waited]
    for seconds in calls:
        last = np.zeros(len(seconds))
        last[seconds.argmin()] = seconds.any()  # a run's first round receives nothing
        found += [last, last * (seconds - seconds.min()).sum() / (len(seconds) - 1)]
    return {name: values.tolist() for name, values in zip(BY_HOST, found, strict=True)}


def figures_of(hosts: NDArray[np.float64], done: Done) -> dict[str, Any]:
    """Return one round, what `Rounds.add` takes, by the names of the lists: numbers, or dicts of them."""
    columns, samples = iter(hosts.T), int(done.samples)
    phases = {phase: next(columns) for phase in PHASES}
    touched = {which: float(next(columns).mean()) for which in ("e", "t")}
    measured, orthogonal, orthogonality = (float(next(columns).sum()) for _ in range(3))
    largest = float(next(columns).max())
    sent = {" ".join(key): int(next(columns).sum()) for key in KEYS}
    computing, computed, received, hidden = columns
    waited = computed - computed.min() + received - received.min()  # the last needs the time of the message itself
    return {
        "epochs": done.epochs,
        "elapsed": done.elapsed,
        "words": int(done.words),
        "samples": samples,
        "loss": done.loss / samples if samples else math.nan,
        "seconds": {phase: float(column.mean()) for phase, column in phases.items()},
        "slowest": {phase: float(column.max()) for phase, column in phases.items()},
        "bytes": sent,
        "touched": touched,
        "orthogonality": orthogonality / measured if measured else math.nan,
        "orthogonal": orthogonal / measured if measured else math.nan,
        "largest": largest,
        "waited": float(waited.mean()),
        "hidden": float(hidden.mean()),
        "by_host": _by_host(computing, waited, computed, received) if computing.any() else {},
    }
