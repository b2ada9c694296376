"""What each round took: seconds by phase, bytes, rows, and how orthogonal the hosts' changes were."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from any2vec.sync.channel import KEYS
from any2vec.sync.masters import Combined

__all__ = ["PHASES", "Rounds", "told"]

PHASES = ("inspection", "computation", "combining", "communication")
"""Where a host's time goes; communication is what the others do not hide, waiting for slower hosts included."""

_FOUND = ("measured", "orthogonal", "orthogonality")


def told(seconds: list[float], touched: dict[str, int], combined: Combined, sent: NDArray[np.float64]) -> NDArray[Any]:
    """Put what a host has to tell of a round into one array: `Rounds.add` takes those of all."""
    found = [combined.rows, combined.orthogonal, combined.orthogonality]
    return np.concatenate([seconds, [touched["e"], touched["t"]], found, sent])


@dataclass
class Rounds:
    """Figures of all rounds, in order.

    Attributes
    ----------
    seconds : dict from str to list of float
        By phase (`PHASES`), the mean over the hosts. Simulated hosts share cores, and wait for each other: theirs are
        seconds of work.
    slowest : dict from str to list of float
        The same of the host that took longest.
    bytes : dict from str to list of int
        By "phase label kind" (`sync.wire.KEYS`), sent by all hosts.
    touched : dict from str to list of float
        By label, rows that a host touched, the mean over the hosts.
    orthogonality : list of float
        Mean over the rows that two hosts or more changed (one of 256 is measured) of the paper's Eq. 9: 1 if the
        changes were orthogonal, 1/k if all k were the same; 0 if there were none.
    orthogonal : list of float
        Share of these rows that were orthogonal (GraphAny2Vec, Fig. 8): `sync.masters.ORTHOGONAL` or more.
    """

    seconds: dict[str, list[float]] = field(default_factory=lambda: {phase: [] for phase in PHASES})
    slowest: dict[str, list[float]] = field(default_factory=lambda: {phase: [] for phase in PHASES})
    bytes: dict[str, list[int]] = field(default_factory=lambda: {" ".join(key): [] for key in KEYS})
    touched: dict[str, list[float]] = field(default_factory=lambda: {"e": [], "t": []})
    orthogonality: list[float] = field(default_factory=list)
    orthogonal: list[float] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.orthogonal)

    def add(self, hosts: NDArray[np.float64]) -> None:
        """Add a round: what all hosts `told`, shape (H, n)."""
        columns = iter(hosts.T)
        for phase in PHASES:
            column = next(columns)
            self.seconds[phase].append(float(column.mean()))
            self.slowest[phase].append(float(column.max()))
        for label in self.touched:
            self.touched[label].append(float(next(columns).mean()))
        measured, orthogonal, orthogonality = (float(next(columns).sum()) for _ in _FOUND)
        self.orthogonality.append(orthogonality / measured if measured else 0.0)
        self.orthogonal.append(orthogonal / measured if measured else 0.0)
        for sent in self.bytes.values():
            sent.append(int(next(columns).sum()))
