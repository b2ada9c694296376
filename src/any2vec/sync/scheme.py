"""What a communication scheme is: how mirrors get and send the labels that a host's rounds touch."""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from any2vec.cluster.communicator import Communicator
from any2vec.cluster.workers import Workers
from any2vec.operators.labels import Labels
from any2vec.operators.skipgram import Rows
from any2vec.samples.inspection import Inspector, Slice
from any2vec.sync.buffers import Buffers
from any2vec.sync.channel import Channel
from any2vec.sync.combiners import Combiner, Round, Touched
from any2vec.sync.masters import Changes, Combined, merge
from any2vec.sync.partition import Partition

__all__ = ["HostContext", "Scheme"]


@dataclass(frozen=True, eq=False)
class HostContext:
    """A host, as its scheme sees it.

    Attributes
    ----------
    communicator : Communicator
        The hosts.
    workers : Workers
        This host's threads.
    inspector : Inspector
        Tells which labels its slices touch.
    vertices, dim : int
        V and D.
    mirrors : int
        Rows that the threads' own mirrors need behind the labels.
    seed : int
        The user's seed.
    """

    communicator: Communicator
    workers: Workers
    inspector: Inspector
    vertices: int
    dim: int
    mirrors: int
    seed: int


class Scheme(ABC):
    """How hosts synchronize; adding one is one new file and one line in `schemes`.

    Parameters
    ----------
    site : HostContext
        This host.

    Attributes
    ----------
    kind : {"whole", "counted", "mapped"}
        Which kernel its labels need (`operators.skipgram`).
    labels : Labels
        What the operator works on; may change from round to round.
    live : int
        Rows, from the first, that both labels have in this round.
    rows : Rows
        What the kernel knows of rows.
    masters : Labels
        This host's masters.
    wire : Channel
        What was sent, and how long it took.
    touched : dict from str to int
        Rows of each label that this host touched in the last round.
    inspecting, combining : float
        Seconds that its threads spent so far.
    """

    kind: str
    labels: Labels
    live: int
    rows: Rows
    masters: Labels

    def __init__(self, site: HostContext) -> None:
        self.site = site
        self.partition = Partition(site.vertices, site.communicator.size)
        self.wire = Channel(site.communicator)
        self.buffers = Buffers(site.dim)
        self.touched = {"e": 0, "t": 0}
        self.inspecting = self.combining = 0.0

    def begin(self, slice_: Slice) -> None:  # noqa: B027
        """Get ready for the first round, which takes `slice_`."""

    def prefetch(self, slice_: Slice | None) -> None:  # noqa: B027
        """Begin to inspect the next round, None if there is none, after what the threads do now."""

    @abstractmethod
    def synchronize(self, round_: Round, combiner: Combiner) -> Combined:
        """Reduce, combine and broadcast: afterwards `masters` are new, and `labels` ready for the next round."""

    def combine(
        self, changes: dict[str, Changes], here: dict[str, Touched], round_: Round, combiner: Combiner
    ) -> Combined:
        """Merge what hosts changed into the masters; `here` is what this one touched."""
        before = combiner.seconds
        combiner.begin(round_, here)
        self.combining += (combiner.seconds - before) * self.site.workers.threads  # they wait for it
        combined = merge(self.masters, changes, combiner, self.site.workers)
        self.combining += combined.seconds
        return combined

    def gather(self, name: str, matrix: NDArray[np.float32], rows: NDArray[np.int32]) -> NDArray[np.float32]:
        """Copy some rows of a matrix, one after the other, into the buffer `name`."""
        out = self.buffers.rows(name, len(rows))
        workers = self.site.workers

        def copy(low: int, high: int) -> None:
            np.take(matrix, rows[low:high], axis=0, out=out[low:high], mode="clip")  # that mode needs no second copy

        workers.join(workers.spread(copy, len(rows), 4096))
        return out
