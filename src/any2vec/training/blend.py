"""Blend the matrices that a run went on from with those it ended with, as one run on all texts would have them.

Training on a new text alone forgets the earlier ones: rows that are updated often come to lie where the new text wants
them, as if there had been no other. On the quadratic model of the loss (`operators.merging`), n updates take a row x
the part g(n) = 1 - exp(-alpha c n) of the way to the optimum of their text, along an eigenvector of the curvature. The
earlier run came from near 0, by its n' updates, to x' = g(n') a. This run went by d = g(n) (b - x') from there. One run
on all texts, of N = n + n' updates, would come from 0 to::

    g(N) (n' a + n b) / N  =  ((1 - s) g(N) / g(n') + s g(N)) x'  +  s g(N) / g(n) d        s = n / N

So small changes are kept. Large changes are scaled to the share s that the new text has in what is known of the row.
Where either text alone had too few updates to reach the optimum, both together come nearer to it. A further run can go
on likewise. The earlier run's epochs and learning rate are taken to be this one's. The common part of all rows of e has
no optimum: only d is scaled there.
"""

from functools import partial
from typing import Any

import numpy as np
from numba import float32
from numpy.typing import NDArray

from any2vec.llvm.compiled import njit
from any2vec.operators.matrices import Matrices
from any2vec.operators.merging import LEAST, share_gone
from any2vec.sync.channel import Channel
from any2vec.sync.combiners import CombinerContext, Touched
from any2vec.sync.combiners.quadratic import QuadraticModel
from any2vec.training.host import Host
from any2vec.training.options import Options
from any2vec.training.row_host import RowHost
from any2vec.training.state import Rows, Start

_ROWS = 1 << 15  # rows at a time


class Blend:
    """Blends a host's masters with the rows that a run began with."""

    def __init__(self, start: Start, host: RowHost, options: Options) -> None:
        self._start, self._host, self._counts = start, host, host.counts
        self._decay, self._epochs = options.decay, options.epochs
        self._updates: dict[str, NDArray[np.int64]] = {}

    @classmethod
    def of(cls, start: Start | None, host: Host, options: Options) -> "Blend | None":
        """Return what blends a run that goes on; None if it does not, or is not to be blended."""
        if start is None or start.e is None or not options.blend:
            return None
        assert isinstance(host, RowHost)  # the other refuses
        return cls(start, host, options)

    def apply(self, masters: Matrices, done: float, kappa: float) -> None:
        """Blend in place, after a share `done` of the run; all hosts call this.

        `kappa` is the mean curvature of the loss; if that is 0, changes are scaled by their shares alone.
        """
        scheme, kappa = self._host.scheme, self._host.combiner.kappa_of(kappa)
        self._updates = self._updates or self._host.updates()
        channel = Channel(scheme.context.communicator)  # not that of the rounds, which counts their bytes
        context = CombinerContext(masters, self._host.operator.samples_per_pair(self._counts), channel)
        model = QuadraticModel(context, mean_apart=True) if kappa else None
        if model:
            here = {}
            for which, matrix in (("e", masters.e), ("t", masters.t)):
                rows = np.flatnonzero(self._updates[which])
                met = np.minimum(self._updates[which][rows], np.iinfo(np.int32).max).astype(np.int32)
                here[which] = Touched(matrix, rows, met)
            model.measure(self._decay.mean(done) * done * self._epochs, kappa, here)
        start, mine = self._start, slice(masters.first, masters.first + masters.vertices)
        assert start.e
        assert start.t
        counts = self._counts
        shares = start.shares(counts)
        if len(start.frozen):
            shares[start.frozen == 1] = 0
        self._blend("e", masters.e, start.e, start.places[mine], shares[mine], model)
        carried, shares = start.carried(self._host.operator, counts), np.full(masters.vertices, start.share(counts))
        self._blend("t", masters.t, start.t, carried[mine], shares, model)

    def _blend(
        self,
        which: str,
        matrix: NDArray[np.float32],
        rows: Rows,
        places: NDArray[np.int32],
        shares: NDArray[np.float64],
        model: QuadraticModel | None,
    ) -> None:
        scheme, workers = self._host.scheme, self._host.workers
        most = int(scheme.partition.sizes.max())  # hosts ask each other: as many blocks on all
        for begin in range(0, most, _ROWS):
            block = slice(begin, begin + _ROWS)
            before = np.zeros((len(places[block]), matrix.shape[1]), np.float32)
            rows.put(places[block], before, scheme.context.communicator)
            old = np.flatnonzero((places[block] >= 0) & (shares[block] < 1))
            share = shares[block][old]
            moved = matrix[begin + old] - before[old]
            updates = self._updates[which][block][old]
            if model is None:
                moved *= share[:, None].astype(np.float32)
            else:
                given = share.astype(np.float32), updates, model.vectors[which], model.rates[which], model.shared[which]
                blend = partial(_blend_rows, before[old], moved, *given)
                workers.join(workers.spread(blend, len(old), 64))
            matrix[begin + old] = before[old] + moved


@njit(nogil=True, fastmath=True, error_model="numpy", cache=True)
def _blend_rows(
    before: Any, changes: Any, shares: Any, updates: Any, vectors: Any, rates: Any, shared: Any, low: int, high: int
) -> None:
    one = float32(1.0)
    for i in range(low, high):
        share = shares[i]
        if share <= 0:
            changes[i] = 0
            continue
        total = float32(updates[i]) / share
        last = rates.size - 1
        for c in range(last, -1, -1):
            apart = shared > 0 and c == last
            steps = shared if apart else rates[c] * total
            if steps < float32(LEAST) and not apart:
                break
            gone = share_gone(steps)
            moved = share * gone / share_gone(share * steps) - one
            kept = float32(0.0)
            if not apart:
                kept = (one - share) * gone / share_gone((one - share) * steps) + share * gone - one
            along = float32(0.0)
            for d in range(vectors.shape[1]):
                along += (moved * changes[i, d] + kept * before[i, d]) * vectors[c, d]
            for d in range(vectors.shape[1]):
                changes[i, d] += along * vectors[c, d]
