"""PullModel: a host has its masters and proxies of the rows that its round touches (GraphAny2Vec, 3.2 and 3.4).

Inspection lists the vertices of the next round while this one computes or sends. Each master
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
from any2vec.sync.channel import RowsByHost, send_ids
from any2vec.sync.combiners import Combiner, Round, Touched
from any2vec.sync.masters import Changes, Combined
from any2vec.sync.scheme import HostContext, Scheme
from any2vec.sync.wire import Wire, check_room

_POLL = 0.002  # seconds between two tests of pending requests while threads inspect
_NONE = np.empty(0, np.int32)


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
