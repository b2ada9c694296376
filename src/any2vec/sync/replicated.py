"""RepModel: every host has a proxy of every vertex (GraphAny2Vec, sections 3.2 and 3.4)."""

from abc import abstractmethod

import numpy as np
from numpy.typing import NDArray

from any2vec.cluster.communicator import Request
from any2vec.operators.labels import Labels, new_labels, zeros
from any2vec.operators.skipgram import Rows, no_rows
from any2vec.sync.combiners import Combiner, Round, Touched
from any2vec.sync.ids import send_ids, tell_ids
from any2vec.sync.masters import Changes, Combined
from any2vec.sync.scheme import HostContext, Scheme

__all__ = ["RepModelNaive", "RepModelOpt"]

Told = tuple[NDArray[np.int32], NDArray[np.int64]]


class Replicated(Scheme):
    """What both kinds of RepModel do; on one host, all there is to do is nothing.

    Parameters
    ----------
    site : HostContext
        This host.
    """

    def __init__(self, site: HostContext) -> None:
        super().__init__(site)
        self.labels = new_labels(0, site.vertices, site.dim, mirrors=site.mirrors, seed=site.seed)
        self.live = site.vertices
        low, high = self.partition.range(site.communicator.rank)
        self.masters = self.labels.range(low, high)
        self.kind, self.rows = "whole", no_rows()
        if site.communicator.size > 1:  # mirrors are to be told from masters
            e, t = (zeros(high - low, site.dim) for _ in range(2))
            e[:], t[:] = self.masters.e, self.masters.t
            self.masters = Labels(e, t, low, high - low, site.dim)
            self.kind = "counted"
            self.rows = Rows(np.zeros(site.vertices, np.int32), np.zeros(site.vertices, np.int32))

    def synchronize(self, round_: Round, combiner: Combiner) -> Combined:
        """Reduce, combine and broadcast."""
        if self.site.communicator.size == 1:
            return Combined()
        changes: dict[str, Changes] = {}
        here: dict[str, Touched] = {}
        requests: list[Request] = []
        for label, mine, counts in (("e", self.labels.e, self.rows.e), ("t", self.labels.t, self.rows.t)):
            touched = np.flatnonzero(counts).astype(np.int32)
            self.touched[label] = len(touched)
            here[label] = Touched(mine, touched, counts[touched])
            changes[label], begun = self._reduce(label, mine[: self.site.vertices], touched, counts)
            requests += begun
        self.wire.wait(requests)
        self.rows.e[:] = 0
        self.rows.t[:] = 0
        combined = self.combine(changes, here, round_, combiner)
        for label, mine, masters in (
            ("e", self.labels.e, self.masters.e),
            ("t", self.labels.t, self.masters.t),
        ):
            self._broadcast(label, mine[: self.site.vertices], masters, changes[label])
        return combined

    def _reduce(
        self, label: str, mine: NDArray[np.float32], touched: NDArray[np.int32], updates: NDArray[np.int32]
    ) -> tuple[Changes, list[Request]]:
        """Begin to send what changed here to the masters."""
        ids, rows, came = self._told(label, touched)
        sent = self.partition.counts(ids)
        send = mine if len(ids) == len(mine) else self.gather(f"send {label}", mine, ids)
        values = self.buffers.rows(f"receive {label}", len(rows))
        told = np.empty(len(rows), np.int32)
        return Changes(rows, values, told, came), [
            self.wire.begin(("reduce", label, "values"), send, sent, values, came),
            self.wire.begin(("reduce", label, "updates"), updates[ids], sent, told, came),
        ]

    @abstractmethod
    def _told(self, label: str, touched: NDArray[np.int32]) -> tuple[NDArray[np.int32], *Told]:
        """Give the vertices to send; the rows of masters that come, and how many from each host."""

    @abstractmethod
    def _broadcast(self, label: str, mine: NDArray[np.float32], masters: NDArray[np.float32], changes: Changes) -> None:
        """Send masters to the mirrors."""


class RepModelNaive(Replicated):
    """All rows travel, both ways."""

    def _told(self, label: str, touched: NDArray[np.int32]) -> tuple[NDArray[np.int32], *Told]:
        hosts, own = self.partition.hosts, self.masters.vertices
        rows = np.tile(np.arange(own, dtype=np.int32), hosts)
        return np.arange(self.site.vertices, dtype=np.int32), rows, np.full(hosts, own, np.int64)

    def _broadcast(self, label: str, mine: NDArray[np.float32], masters: NDArray[np.float32], changes: Changes) -> None:
        sent = np.full(self.partition.hosts, self.masters.vertices, np.int64)
        came = np.diff(self.partition.bounds)
        starts = np.zeros_like(sent)
        self.wire.wait([self.wire.begin(("broadcast", label, "values"), masters, sent, mine, came, starts)])


class RepModelOpt(Replicated):
    """Only rows that a host touched travel, and back to all hosts those that any host touched."""

    def _told(self, label: str, touched: NDArray[np.int32]) -> tuple[NDArray[np.int32], *Told]:
        rows, counts = send_ids(touched, self.partition, self.wire, "reduce", label)
        return touched, rows, counts

    def _broadcast(self, label: str, mine: NDArray[np.float32], masters: NDArray[np.float32], changes: Changes) -> None:
        present = np.zeros(self.masters.vertices, np.bool_)
        present[changes.rows] = True
        rows = np.flatnonzero(present).astype(np.int32)
        ids, came = tell_ids(rows, self.partition, self.wire, "broadcast", label)
        send = self.gather("broadcast", masters, rows)
        values = self.buffers.rows("told", len(ids))
        sent = np.full(self.partition.hosts, len(rows), np.int64)
        request = self.wire.begin(("broadcast", label, "values"), send, sent, values, came, np.zeros_like(sent))
        self.wire.wait([request])
        workers = self.site.workers

        def put(low: int, high: int) -> None:
            mine[ids[low:high]] = values[low:high]

        workers.join(workers.spread(put, len(ids), 4096))
