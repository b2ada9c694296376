"""Statistics per round: seconds by phase, bytes, rows, orthogonality of the hosts' changes."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from any2vec.sync.channel import KEYS
from any2vec.sync.masters import Combined

__all__ = ["PHASES", "Rounds", "pack_round_stats"]

PHASES = ("inspection", "computation", "combining", "communication")
"""Phases of a round; communication is what the others do not hide, including the wait for slower hosts."""

_ORTHOGONALITY = ("measured", "orthogonal", "orthogonality")


def pack_round_stats(
    seconds: list[float], touched: dict[str, int], combined: Combined, sent: NDArray[np.float64]
) -> NDArray[Any]:
    """Pack this host's round statistics; `Rounds.add` takes one row per host."""
    orthogonality = [combined.rows, combined.orthogonal, combined.orthogonality]
    return np.concatenate([seconds, [touched["e"], touched["t"]], orthogonality, [combined.largest], sent])


@dataclass
class Rounds:
    """Statistics of all rounds, in order.

    Attributes
    ----------
    seconds : dict from str to list of float
        By phase (`PHASES`), mean over the hosts. Of simulated hosts, which share cores, CPU seconds.
    slowest : dict from str to list of float
        Likewise, of the host that took longest.
    bytes : dict from str to list of int
        By "phase label kind" (`sync.channel.KEYS`), sent by all hosts.
    touched : dict from str to list of float
        By label, rows that a host touched, mean over the hosts.
    orthogonality : list of float
        Mean of the paper's Eq. 9 over rows that two or more hosts changed (one of 256 is measured): 1 if the changes
        were orthogonal, 1/k if all k were equal; 0 if there were no such rows.
    orthogonal : list of float
        Share of these rows that were orthogonal (GraphAny2Vec, Fig. 8): `sync.masters.ORTHOGONAL` or more.
    largest : list of float
        With columns, the largest change of a number in a mini-batch, of one in 16 mini-batches and the 16 hottest rows
        of both labels: when it grows, values will explode.
    """

    seconds: dict[str, list[float]] = field(default_factory=lambda: {phase: [] for phase in PHASES})
    slowest: dict[str, list[float]] = field(default_factory=lambda: {phase: [] for phase in PHASES})
    bytes: dict[str, list[int]] = field(default_factory=lambda: {" ".join(key): [] for key in KEYS})
    touched: dict[str, list[float]] = field(default_factory=lambda: {"e": [], "t": []})
    orthogonality: list[float] = field(default_factory=list)
    orthogonal: list[float] = field(default_factory=list)
    largest: list[float] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.orthogonal)

    def add(self, hosts: NDArray[np.float64]) -> None:
        """Add a round: what all hosts packed, shape (H, n)."""
        columns = iter(hosts.T)
        for phase in PHASES:
            column = next(columns)
            self.seconds[phase].append(float(column.mean()))
            self.slowest[phase].append(float(column.max()))
        for label in self.touched:
            self.touched[label].append(float(next(columns).mean()))
        measured, orthogonal, orthogonality = (float(next(columns).sum()) for _ in _ORTHOGONALITY)
        self.orthogonality.append(orthogonality / measured if measured else 0.0)
        self.orthogonal.append(orthogonal / measured if measured else 0.0)
        self.largest.append(float(next(columns).max()))
        for sent in self.bytes.values():
            sent.append(int(next(columns).sum()))
