"""The schemes of whole rows: RepModel, PullModel and a parameter server (GraphAny2Vec, sections 3.2 and 3.4).

In RepModel every host has a proxy of every vertex. In PullModel a host has its masters and proxies of the rows that its
round touches. Inspection lists the vertices of the next round while this one computes or sends. Each master
receives the list of rows once per round, so that broadcast and reduce carry values only (section 5.1). Proxies lie in
the order of the ids, which is that of the hosts with the masters. Rows are received into place and sent from it.
A parameter server is a PullModel, too.
"""

from abc import abstractmethod
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from any2vec.cluster.communicator import Request
from any2vec.operators.base import RowTable
from any2vec.operators.matrices import Matrices, new_matrices, zeros
from any2vec.samples.windows import Slice
from any2vec.sync.channel import RowsByHost, broadcast_ids, send_ids
from any2vec.sync.combiners import Combiner, Round, Touched
from any2vec.sync.masters import Changes, Combined, Rebalancing
from any2vec.sync.scheme import HostContext, Scheme
from any2vec.sync.wire import Wire, check_room, wire_of

NEARLY = 0.9
"""Share of the rows from which all are sent."""

_POLL = 0.002  # seconds between two tests of pending requests while threads inspect
_NONE = np.empty(0, np.int32)


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


@dataclass(eq=False)
class Proxies:
    """The rows of one matrix that a round touches here, and those of masters here that it touches on other hosts."""

    ids: NDArray[np.int32]  # (n,): Vertices with a proxy here, in rising order: row i is that of ``ids[i]``
    sent: NDArray[np.int64]  # (H,): How many of them have their masters on each host
    updates: NDArray[np.int32]  # (n,): Updates that the round will make to each
    touched: RowsByHost  # rows of masters here that each host touches
    touched_updates: NDArray[np.int32] = field(default_factory=lambda: _NONE)  # (m,): Updates that they will make


class Pulled(Scheme):
    """What both kinds of PullModel share."""

    addressing = "mapped"
    inspects = True

    def __init__(self, context: HostContext) -> None:
        super().__init__(context)
        low, high = self.partition.range(context.communicator.rank)
        self.masters = new_matrices(low, high, context.dim, seed=context.seed, scale=context.scale)
        self.rows = RowTable(np.zeros(context.vertices, np.int32), np.zeros(context.vertices, np.int32))
        self.matrices = self._allocate(0)
        self.live = 0
        self._inspecting: list[Future[float]] = []
        self._now: dict[str, Proxies] = {}

    def begin(self, slice_: Slice) -> None:
        """Inspect the first round, and pull what it needs."""
        self.prefetch(slice_)
        self._pull(self._learn())

    def visit(self, slice_: Slice | None) -> None:
        """Pull the rows that a slice reads."""
        if slice_:
            self.begin(slice_)

    def prefetch(self, slice_: Slice | None) -> None:
        """Queue inspection of the next round."""
        self._inspecting = self.context.inspector.begin(slice_, self.context.workers) if slice_ else []

    def synchronize(self, round_: Round, combiner: Combiner) -> Combined:
        """Reduce, and inspect the next round meanwhile; combine; pull what the next round needs."""
        requests: list[Request] = []
        changes, here = {}, {}
        for which, mine in (("e", self.matrices.e), ("t", self.matrices.t)):
            now = self._now[which]
            values = self.wire.rows(f"receive {which}", len(now.touched.rows))
            requests += self._send("reduce", which, now, self.wire.changed(which, mine[: len(now.ids)]), values)
            changes[which] = Changes.of(*now.touched, values, now.touched_updates)
            touched = np.flatnonzero(now.updates).astype(np.int32)
            self.touched[which] = len(touched)
            here[which] = Touched(mine, touched, now.updates[touched])
        ahead = self._learn() if self._inspecting else {}
        self.prepare(here, round_, combiner)
        self.channel.wait(requests)
        combined = self.combine(changes, round_, combiner)
        self.rebalance(combined, self.masters)
        if ahead:
            self._pull(ahead)
        return combined

    @abstractmethod
    def _proxies(self, sources: NDArray[np.int32], destinations: NDArray[np.int32]) -> dict[str, Proxies]:
        """Choose the rows to hold, from the updates that inspection counted, and name them to their masters."""

    def _named(self, *matrices: tuple[str, NDArray[np.int32], NDArray[Any]]) -> dict[str, Proxies]:
        """Name the rows held of each matrix to their masters; given are its name, updates, and which rows are held."""
        proxies = {}
        for which, updates, held in matrices:
            ids = np.flatnonzero(held).astype(np.int32)
            touched = send_ids(ids, self.partition, self.channel, "inspect", which)
            proxies[which] = Proxies(ids, self.partition.counts(ids), updates[ids], touched)
        return proxies

    def _learn(self) -> dict[str, Proxies]:
        """Finish the inspection and send the masters what it found, while changes are on their way."""
        self.inspecting += sum(self.context.workers.join(self._inspecting, self.channel.progress, _POLL))
        ahead = self._proxies(*self.context.inspector.counts())
        for which, proxies in ahead.items():
            rows, counts = proxies.touched
            proxies.touched_updates = np.empty(len(rows), np.int32)
            what = ("inspect", which, "updates")
            self.channel.wait(
                [self.channel.begin(what, proxies.updates, proxies.sent, proxies.touched_updates, counts)]
            )
        return ahead

    def _pull(self, ahead: dict[str, Proxies]) -> None:
        """Broadcast: receive the rows of the next round from their masters."""
        self._now = ahead
        wanted = max(len(proxies.ids) for proxies in ahead.values())
        if wanted > self.matrices.vertices:
            del self.matrices
            check_room(2 * wanted, Wire.row_bytes(self.context.dim))
            self.matrices = self._allocate(wanted + wanted // 4)
        self.live = min(len(proxies.ids) for proxies in ahead.values())
        requests: list[Request] = []
        for which, mine, masters, places in (
            ("e", self.matrices.e, self.masters.e, self.rows.e),
            ("t", self.matrices.t, self.masters.t, self.rows.t),
        ):
            proxies = ahead[which]
            send = self.wire.gather(f"pull {which}", masters, proxies.touched.rows)
            requests += self._send("broadcast", which, proxies, send, self.wire.pulled(which, mine[: len(proxies.ids)]))
            places[proxies.ids] = np.arange(len(proxies.ids), dtype=np.int32)
        self.channel.wait(requests)
        for which, mine in (("e", self.matrices.e), ("t", self.matrices.t)):
            self.wire.unpack(which, mine[: len(ahead[which].ids)])

    def _send(self, phase: str, which: str, now: Proxies, send: NDArray[Any], receive: NDArray[Any]) -> list[Request]:
        """Begin to reduce rows of mirrors, or to broadcast those of masters; the others know which they are."""
        sent, came = (now.sent, now.touched.counts) if phase == "reduce" else (now.touched.counts, now.sent)
        return [self.channel.begin((phase, which, "values"), send, sent, receive, came)]

    def _allocate(self, rows: int) -> Matrices:
        rows = min(rows, self.context.vertices)
        e, t = (zeros(rows + self.context.copies, self.context.dim) for _ in range(2))
        return Matrices(e, t, 0, rows, self.context.dim)


class PullModelBase(Pulled):
    """A vertex is one: both its matrices are sent if either is touched."""

    def _proxies(self, sources: NDArray[np.int32], destinations: NDArray[np.int32]) -> dict[str, Proxies]:
        ids = np.flatnonzero(sources | destinations).astype(np.int32)
        sent = self.partition.counts(ids)
        touched = send_ids(ids, self.partition, self.channel, "inspect", "both")
        matrices = (("e", sources), ("t", destinations))
        return {which: Proxies(ids, sent, updates[ids], touched) for which, updates in matrices}


class PullModelOpt(Pulled):
    """A source has a row of e only, a destination one of t only."""

    def _proxies(self, sources: NDArray[np.int32], destinations: NDArray[np.int32]) -> dict[str, Proxies]:
        return self._named(("e", sources, sources), ("t", destinations, destinations))


class Server(Pulled):
    """A parameter server as DMTK's Word2Vec has it (GraphAny2Vec, section 5.1 and A.1): the baseline of the papers.

    Every host is a worker, and the server of its masters. A block of words is a round. A worker draws a pool of
    negatives and gets rows: of e those of its words, of t those of its words and of the pool. The worker trains on
    them at a fixed learning rate, gets them again, as DMTK's program does, and sends the difference. Ids go along with
    rows. The server averages (`--combine average`), or combines in another way.
    """

    pools = True
    of_its_own = True

    def synchronize(self, round_: Round, combiner: Combiner) -> Combined:
        """Get the rows again; then send what changed, combine, and pull what the next block needs."""
        requests = []
        for which, masters in (("e", self.masters.e), ("t", self.masters.t)):
            now = self._now[which]
            again = self.wire.rows(f"again {which}", len(now.ids))
            requests += self._send(
                "broadcast", which, now, self.wire.gather(f"pull {which}", masters, now.touched.rows), again
            )
        self.channel.wait(requests)
        return super().synchronize(round_, combiner)

    def _proxies(self, sources: NDArray[np.int32], destinations: NDArray[np.int32]) -> dict[str, Proxies]:
        words = sources > 0
        outputs = words | (destinations > 0)
        outputs[self.context.inspector.draws.tables.astype(np.int64)] = True
        return self._named(("e", sources, words), ("t", destinations, outputs))

    def _send(self, phase: str, which: str, now: Proxies, send: NDArray[Any], receive: NDArray[Any]) -> list[Request]:
        """Send ids with the rows."""
        rows, counts = now.touched
        ids = [now.ids, rows + np.int32(self.masters.first)]
        n = [now.sent, counts]
        out = 0 if phase == "reduce" else 1
        known = np.empty_like(ids[1 - out])
        more = self.channel.begin((phase, which, "ids"), ids[out], n[out], known, n[1 - out])
        return [more, *super()._send(phase, which, now, send, receive)]
