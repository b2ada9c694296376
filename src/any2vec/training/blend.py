"""Blend the labels that a run went on from with those it ended with, as one run on all texts would have them.

Training on a new text alone forgets the earlier ones: rows that are updated often come to lie where the new text wants
them, as if there had been no other. Had the earlier texts been part of this run, they would have held their rows where
these were, at their optimum. That is what hosts with other parts of a corpus do to each other, so the same formula
holds (`sync.combiners.curvature`): in the eigenvectors of the curvature C, a change that this run made by n updates is
scaled by ``share (1 - exp(-alpha c N)) / (1 - exp(-alpha c n))``, where N = n / share is the number of updates by all
texts. Small changes are kept, large ones scaled to the share that the new text has in what is known of the row.
"""

import numpy as np
from numpy.typing import NDArray

from any2vec.operators.labels import Labels
from any2vec.sync.channel import Channel
from any2vec.sync.combiners import CombinerContext, Round, Touched
from any2vec.sync.combiners.curvature import Curvature
from any2vec.training.host import Host
from any2vec.training.start import Rows, Start

__all__ = ["Blend"]

_ROWS = 1 << 15  # rows at a time


class Blend:
    """Blends a host's masters with the rows that a run began with.

    Parameters
    ----------
    start : Start
        What the run went on from.
    host : Host
        The host.
    counts : int64 array, shape (V,)
        Counts of all vertices in all texts.
    alpha : float
        The run's initial learning rate.
    epochs : int
        Its epochs.
    """

    def __init__(self, start: Start, host: Host, counts: NDArray[np.int64], alpha: float, epochs: int) -> None:
        self._start, self._host, self._counts = start, host, counts
        self._alpha, self._epochs = alpha, epochs
        self._updates: dict[str, NDArray[np.int64]] = {}

    def apply(self, masters: Labels, done: float, kappa: float) -> None:
        """Blend in place, after a share `done` of the run; all hosts call this.

        `kappa` is the mean curvature of the loss; if that is 0, changes are scaled by their shares alone.
        """
        scheme, chosen = self._host.scheme, self._host.combiner
        if isinstance(chosen, Curvature) and chosen.kappa is not None:
            kappa = chosen.kappa
        self._updates = self._updates or self._host.updates()
        channel = Channel(scheme.context.communicator)  # not that of the rounds, which counts their bytes
        combiner = Curvature().bind(
            CombinerContext(masters, self._host.operator.samples_per_pair(self._counts), channel)
        )
        if kappa:
            here = {}
            for label, matrix in (("e", masters.e), ("t", masters.t)):
                rows = np.flatnonzero(self._updates[label])
                met = np.minimum(self._updates[label][rows], np.iinfo(np.int32).max).astype(np.int32)
                here[label] = Touched(matrix, rows, met)
            combiner.begin(Round(0, self._alpha * (1 - done / 2) * done * self._epochs, kappa), here)
        start, mine = self._start, slice(masters.first, masters.first + masters.vertices)
        assert start.e
        assert start.t
        counts, scaled = self._counts, combiner if kappa else None
        self._blend("e", masters.e, start.e, start.places[mine], start.shares(counts)[mine], scaled)
        carried, shares = start.carried(self._host.operator, counts), np.full(masters.vertices, start.share(counts))
        self._blend("t", masters.t, start.t, carried[mine], shares, scaled)

    def _blend(
        self,
        label: str,
        matrix: NDArray[np.float32],
        rows: Rows,
        places: NDArray[np.int32],
        shares: NDArray[np.float64],
        combiner: Curvature | None,
    ) -> None:
        scheme, workers = self._host.scheme, self._host.workers
        most = int(np.diff(scheme.partition.bounds).max())  # hosts ask each other: as many blocks on all
        for begin in range(0, most, _ROWS):
            block = slice(begin, begin + _ROWS)
            before = np.zeros((len(places[block]), matrix.shape[1]), np.float32)
            rows.put(places[block], before, scheme.context.communicator)
            old = np.flatnonzero((places[block] >= 0) & (shares[block] < 1))
            share = shares[block][old]
            moved = matrix[begin + old] - before[old]
            updates = (self._updates[label][block][old] / np.maximum(share, 1e-9)).astype(np.int64)
            if combiner is None:
                moved *= share[:, None].astype(np.float32)
            else:
                workers.join(workers.spread(combiner.scaling(label, moved, share, updates), len(old), 64))
            matrix[begin + old] = before[old] + moved
