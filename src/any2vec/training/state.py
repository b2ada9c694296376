"""The state of training at the end of a round: what a checkpoint has to hold."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from any2vec.operators.labels import Labels

__all__ = ["MeterState", "TrainingState"]


class MeterState(NamedTuple):
    """What was measured so far.

    Attributes
    ----------
    words : int
        Positions done, in all epochs.
    seconds : float
        Time spent.
    losses : tuple of float
        Mean loss of each epoch that has ended.
    samples, loss : float
        Samples of the current epoch, and the sum of their losses.
    """

    words: int
    seconds: float
    losses: tuple[float, ...]
    samples: float
    loss: float


@dataclass(frozen=True, eq=False)
class TrainingState:
    """One host's state at the end of a round; all else follows from options and corpus.

    Parallel hosts have the same values but for `masters`; those of hosts 0, 1, ... are consecutive ranges of vertices.

    Attributes
    ----------
    hosts, rounds : int
        H and S of the run that the state is of.
    epoch, rounds_done : int
        The epoch, from 0, and its rounds that are done.
    begun : int64 array, shape (k, 2), or None
        Positions of W, from and to, that these hosts had to do in the epoch; None for all.
    left : int64 array, shape (k, 2)
        Those of them that are left: what another number of hosts needs to go on.
    kappa : float
        Curvature measured last (`sync.combiners.Round`).
    meter : MeterState
        What was measured so far.
    masters : Labels
        This host's masters: views, which the next round changes; or as they were read.
    missing : float32 array, shape (D, D)
        Of them (`sync.gauge.Gauge`): likewise a view.
    version : int or None
        Of the checkpoint that the state was read from.
    sample : float or None
        What training set `sample` to, where that of the options leaves nothing; None: as in the options.
    """

    hosts: int
    rounds: int
    epoch: int
    rounds_done: int
    begun: NDArray[np.int64] | None
    left: NDArray[np.int64]
    kappa: float
    meter: MeterState
    masters: Labels
    missing: NDArray[np.float32]
    version: int | None = None
    sample: float | None = None

    def matches(self, hosts: int, rounds: int) -> bool:
        """Whether a run with H `hosts` and S `rounds` continues the same rounds, and so to the same bits."""
        return (self.hosts, self.rounds) == (hosts, rounds)
