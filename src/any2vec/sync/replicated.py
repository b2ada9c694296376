"""RepModel: every host has a proxy of every vertex (GraphAny2Vec, sections 3.2 and 3.4)."""

from abc import abstractmethod

import numpy as np
from numpy.typing import NDArray

from any2vec.cluster.communicator import Request
from any2vec.operators.base import RowTable
from any2vec.operators.matrices import Matrices, new_matrices
from any2vec.samples.windows import Slice
from any2vec.sync.channel import RowsByHost, broadcast_ids, send_ids
from any2vec.sync.combiners import Combiner, Round, Touched
from any2vec.sync.masters import Changes, Combined
from any2vec.sync.rebalancing import Rebalancing
from any2vec.sync.scheme import HostContext, Scheme
from any2vec.sync.wire import wire_of

NEARLY = 0.9
"""Share of the rows from which all are sent."""


class Replicated(Scheme):
    """What both kinds of RepModel share; on one host there is nothing to synchronize."""

    def __init__(self, context: HostContext) -> None:
        super().__init__(context)
        vertices, dim = context.vertices, context.dim
        self.matrices = new_matrices(0, vertices, dim, copies=context.copies, seed=context.seed, scale=context.scale)
        self.live = vertices
        low, high = self.partition.range(context.communicator.rank)
        self.masters = self.matrices.range(low, high)
        self.addressing, self.rows = "direct", RowTable()
        if context.communicator.size > 1:  # masters are apart from this host's own proxies
            self.masters = self.masters.copy()
            self.addressing = "counted"
            self.rows = RowTable(np.zeros(vertices, np.int32), np.zeros(vertices, np.int32))

    @classmethod
    def memory(cls, vertices: int, dim: int, hosts: int, wire: str | None = None, own: int | None = None) -> int:
        """Bytes that a host needs: for proxies of all vertices; of several, for masters and what proxies began as."""
        proxies = super().memory(vertices, dim, 1)
        if hosts == 1:
            return proxies
        return proxies + super().memory(vertices, dim, hosts, wire, own) + 2 * vertices * wire_of(wire).kept_bytes(dim)

    def begin(self, slice_: Slice) -> None:
        """Get what a host's proxies begin with."""
        if self.context.communicator.size > 1:
            for which in "et":
                self.wire.hold(which, self._rows(which)[0])

    def visit(self, slice_: Slice | None) -> None:
        """Forget the updates that kernels counted while they changed nothing."""
        self.rows.e[:] = 0
        self.rows.t[:] = 0

    def restore(self, masters: Matrices) -> None:
        """Take over masters of an earlier run, and send them to all mirrors."""
        super().restore(masters)
        if self.context.communicator.size > 1:
            for which in "et":
                self._broadcast_all(which)

    def synchronize(self, round_: Round, combiner: Combiner) -> Combined:
        """Reduce, combine and broadcast."""
        if self.context.communicator.size == 1:
            lacks = self.context.rebalances and self.lacks  # by merging what threads changed
            combined = Combined(rebalancing=self.balance.end(round_.number) if lacks else None)
            self.rebalance(combined, self.matrices)
            return combined
        changes: dict[str, Changes] = {}
        here: dict[str, Touched] = {}
        requests: list[Request] = []
        for which, mine, counts in (("e", self.matrices.e, self.rows.e), ("t", self.matrices.t, self.rows.t)):
            touched = np.flatnonzero(counts).astype(np.int32)
            self.touched[which] = len(touched)
            here[which] = Touched(mine, touched, counts[touched])
            changes[which], begun = self._reduce(which, touched, counts)
            requests += begun
        self.prepare(here, round_, combiner)
        self.channel.wait(requests)
        self.rows.e[:] = 0
        self.rows.t[:] = 0
        combined = self.combine(changes, round_, combiner)
        self.rebalance(combined, self.masters)
        for which, changed in changes.items():
            self._broadcast(which, changed, combined.rebalancing)
        return combined

    def _rows(self, which: str) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return this host's proxies of a matrix, and its masters."""
        v = self.context.vertices
        return (self.matrices.e[:v], self.masters.e) if which == "e" else (self.matrices.t[:v], self.masters.t)

    def _reduce(
        self, which: str, touched: NDArray[np.int32], updates: NDArray[np.int32]
    ) -> tuple[Changes, list[Request]]:
        """Begin to send what changed here to the masters; where all rows are sent, all come back (`Wire.changed`)."""
        ids, (rows, counts) = self._exchange_ids(which, touched)
        sent, (mine, _) = self.partition.counts(ids), self._rows(which)
        send = self.wire.changed(which, mine, None if len(ids) == len(mine) else ids)
        values = self.wire.rows(f"receive {which}", len(rows))
        received = np.empty(len(rows), np.int32)
        return Changes.of(rows, counts, values, received), [
            self.channel.begin(("reduce", which, "values"), send, sent, values, counts),
            self.channel.begin(("reduce", which, "updates"), updates[ids], sent, received, counts),
        ]

    def _broadcast_all(self, which: str) -> None:
        """Send all masters to all hosts."""
        mine, masters = self._rows(which)
        counts, what = self.partition.sizes, ("broadcast", which, "values")
        self.channel.allgather(what, self.wire.whole("broadcast", masters), counts, self.wire.pulled(which, mine))
        self.wire.unpack(which, mine)

    @abstractmethod
    def _exchange_ids(self, which: str, touched: NDArray[np.int32]) -> tuple[NDArray[np.int32], RowsByHost]:
        """Return the vertices this host sends, and the rows of masters here that it receives."""

    @abstractmethod
    def _broadcast(self, which: str, changes: Changes, rebalancing: Rebalancing | None) -> None:
        """Send masters, which have been rebalanced, to the mirrors."""


class RepModelNaive(Replicated):
    """All rows are sent, both ways."""

    def _exchange_ids(self, which: str, touched: NDArray[np.int32]) -> tuple[NDArray[np.int32], RowsByHost]:
        hosts, own = self.partition.hosts, self.masters.vertices
        rows = np.tile(np.arange(own, dtype=np.int32), hosts)
        return np.arange(self.context.vertices, dtype=np.int32), RowsByHost(rows, np.full(hosts, own, np.int64))

    def _broadcast(self, which: str, changes: Changes, rebalancing: Rebalancing | None) -> None:
        self._broadcast_all(which)


class RepModelOpt(Replicated):
    """Only rows that a host touched are sent, and those that any host touched are sent back to all.

    Where these are nearly all, all are sent, which spares copying them before and after.
    """

    def _exchange_ids(self, which: str, touched: NDArray[np.int32]) -> tuple[NDArray[np.int32], RowsByHost]:
        touched = _nearly_all(touched, self.context.vertices)
        return touched, send_ids(touched, self.partition, self.channel, "reduce", which)

    def _broadcast(self, which: str, changes: Changes, rebalancing: Rebalancing | None) -> None:
        if rebalancing and not self.wire.exact:  # mirrors have only rounded rows
            self._broadcast_all(which)
            return
        mine, masters = self._rows(which)
        present = np.zeros(self.masters.vertices, np.bool_)
        present[changes.rows] = True
        rows = _nearly_all(np.flatnonzero(present).astype(np.int32), self.masters.vertices)
        ids, counts = broadcast_ids(rows, self.partition, self.channel, "broadcast", which)
        every, whole = len(rows) == len(masters), len(ids) == len(mine)
        send = self.wire.whole("broadcast", masters) if every else self.wire.gather("broadcast", masters, rows)
        values = self.wire.pulled(which, mine) if whole else self.wire.rows("received", len(ids))
        self.channel.allgather(("broadcast", which, "values"), send, counts, values)
        if whole:
            self.wire.unpack(which, mine)
            return
        self.wire.put(which, mine, ids, values)
        if rebalancing:  # what was not sent
            left = np.ones(len(mine), np.bool_)
            left[ids] = False
            others = np.flatnonzero(left).astype(np.int32)
            rebalanced = self.wire.gather("received", mine, others)
            self.combining += rebalancing.apply({which: rebalanced}, self.context.workers)
            self.wire.put(which, mine, others, rebalanced)


def _nearly_all(rows: NDArray[np.int32], n: int) -> NDArray[np.int32]:
    """Return all n rows, if nearly all are named."""
    return np.arange(n, dtype=np.int32) if len(rows) > NEARLY * n else rows
