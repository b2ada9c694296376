"""PullModel: a host has its masters and proxies of the rows that its round touches (GraphAny2Vec, 3.2 and 3.4).

Inspection lists the vertices of the next round while this one computes or sends. Each master
receives the list of rows once per round, so that broadcast and reduce carry values only (section 5.1). Proxies lie in
the order of the ids, which is that of the hosts with the masters. Rows are received into place and sent from it.
"""

from abc import abstractmethod
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from any2vec.cluster.communicator import Request
from any2vec.operators.arguments import RowTable
from any2vec.operators.inspection import Slice
from any2vec.operators.labels import Labels, new_labels, zeros
from any2vec.sync.combiners import Combiner, Round, Touched
from any2vec.sync.ids import RowsByHost, send_ids
from any2vec.sync.masters import Changes, Combined
from any2vec.sync.scheme import HostContext, Scheme

__all__ = ["PullModelBase", "PullModelOpt"]

_POLL = 0.002  # seconds between two tests of pending requests while threads inspect
_NONE = np.empty(0, np.int32)


@dataclass(eq=False)
class Proxies:
    """The rows of one label that a round touches here, and those of masters here that it touches on other hosts.

    Attributes
    ----------
    ids : int32 array, shape (n,)
        Vertices with a proxy here, in rising order: row i is that of ``ids[i]``.
    sent : int64 array, shape (H,)
        How many of them have their masters on each host.
    updates : int32 array, shape (n,)
        Updates that the round will make to each.
    touched : RowsByHost
        Rows of masters here that each host touches.
    touched_updates : int32 array, shape (m,)
        Updates that they will make.
    """

    ids: NDArray[np.int32]
    sent: NDArray[np.int64]
    updates: NDArray[np.int32]
    touched: RowsByHost
    touched_updates: NDArray[np.int32] = field(default_factory=lambda: _NONE)


class Pulled(Scheme):
    """What both kinds of PullModel share."""

    addressing = "mapped"
    inspects = True
    rounds_rows = True

    def __init__(self, context: HostContext) -> None:
        super().__init__(context)
        low, high = self.partition.range(context.communicator.rank)
        self.masters = new_labels(low, high, context.dim, seed=context.seed)
        self.rows = RowTable(np.zeros(context.vertices, np.int32), np.zeros(context.vertices, np.int32))
        self.labels = self._allocate(0)
        self.live = 0
        self._inspecting: list[Future[float]] = []
        self._now: dict[str, Proxies] = {}

    def begin(self, slice_: Slice) -> None:
        """Inspect the first round, and pull what it needs."""
        self.prefetch(slice_)
        self._pull(self._learn([]))

    def prefetch(self, slice_: Slice | None) -> None:
        """Queue inspection of the next round."""
        self._inspecting = self.context.inspector.begin(slice_, self.context.workers) if slice_ else []

    def synchronize(self, round_: Round, combiner: Combiner) -> Combined:
        """Reduce, and inspect the next round meanwhile; combine; pull what the next round needs."""
        requests: list[Request] = []
        changes, here = {}, {}
        for label, mine in (("e", self.labels.e), ("t", self.labels.t)):
            now = self._now[label]
            rows, counts = now.touched
            values = self.wire.rows(f"receive {label}", len(rows))
            requests += self._send("reduce", label, now, self.wire.changed(label, mine[: len(now.ids)]), values)
            changes[label] = Changes(rows, values, now.touched_updates, counts)
            touched = np.flatnonzero(now.updates).astype(np.int32)
            self.touched[label] = len(touched)
            here[label] = Touched(mine, touched, now.updates[touched])
        ahead = self._learn(requests) if self._inspecting else {}
        self.channel.wait(requests)
        combined = self.combine(changes, here, round_, combiner)
        self.turn(combined, self.masters)
        if ahead:
            self._pull(ahead)
        return combined

    @abstractmethod
    def _proxies(self, sources: NDArray[np.int32], destinations: NDArray[np.int32]) -> dict[str, Proxies]:
        """Choose the rows to hold, from the updates that inspection counted, and name them to their masters."""

    def _learn(self, requests: list[Request]) -> dict[str, Proxies]:
        """Finish the inspection and send the masters what it found, while `requests` are pending."""

        def look() -> None:
            with self.channel.timed():
                for request in requests:
                    request.test()

        self.inspecting += sum(self.context.workers.join(self._inspecting, look if requests else None, _POLL))
        ahead = self._proxies(*self.context.inspector.counts())
        for label, proxies in ahead.items():
            rows, counts = proxies.touched
            proxies.touched_updates = np.empty(len(rows), np.int32)
            what = ("inspect", label, "updates")
            self.channel.wait(
                [self.channel.begin(what, proxies.updates, proxies.sent, proxies.touched_updates, counts)]
            )
        return ahead

    def _pull(self, ahead: dict[str, Proxies]) -> None:
        """Broadcast: receive the rows of the next round from their masters."""
        self._now = ahead
        wanted = max(len(proxies.ids) for proxies in ahead.values())
        if wanted > self.labels.vertices:
            del self.labels
            self.labels = self._allocate(wanted + wanted // 4)
        self.live = min(len(proxies.ids) for proxies in ahead.values())
        requests: list[Request] = []
        for label, mine, masters, places in (
            ("e", self.labels.e, self.masters.e, self.rows.e),
            ("t", self.labels.t, self.masters.t, self.rows.t),
        ):
            proxies = ahead[label]
            send = self.wire.gather(f"pull {label}", masters, proxies.touched.rows)
            requests += self._send("broadcast", label, proxies, send, self.wire.pulled(label, mine[: len(proxies.ids)]))
            places[proxies.ids] = np.arange(len(proxies.ids), dtype=np.int32)
        self.channel.wait(requests)
        for label, mine in (("e", self.labels.e), ("t", self.labels.t)):
            self.wire.unpack(label, mine[: len(ahead[label].ids)])

    def _send(self, phase: str, label: str, now: Proxies, send: NDArray[Any], receive: NDArray[Any]) -> list[Request]:
        """Begin to reduce rows of mirrors, or to broadcast those of masters; the others know which they are."""
        sent, came = (now.sent, now.touched.counts) if phase == "reduce" else (now.touched.counts, now.sent)
        return [self.channel.begin((phase, label, "values"), send, sent, receive, came)]

    def _allocate(self, rows: int) -> Labels:
        rows = min(rows, self.context.vertices)
        e, t = (zeros(rows + self.context.copies, self.context.dim) for _ in range(2))
        return Labels(e, t, 0, rows, self.context.dim)


class PullModelBase(Pulled):
    """A vertex is one: both its labels are sent if either is touched."""

    def _proxies(self, sources: NDArray[np.int32], destinations: NDArray[np.int32]) -> dict[str, Proxies]:
        ids = np.flatnonzero(sources | destinations).astype(np.int32)
        sent = self.partition.counts(ids)
        touched = send_ids(ids, self.partition, self.channel, "inspect", "both")
        labels = (("e", sources), ("t", destinations))
        return {label: Proxies(ids, sent, updates[ids], touched) for label, updates in labels}


class PullModelOpt(Pulled):
    """A source has a row of e only, a destination one of t only."""

    def _proxies(self, sources: NDArray[np.int32], destinations: NDArray[np.int32]) -> dict[str, Proxies]:
        proxies = {}
        for label, updates in (("e", sources), ("t", destinations)):
            ids = np.flatnonzero(updates).astype(np.int32)
            touched = send_ids(ids, self.partition, self.channel, "inspect", label)
            proxies[label] = Proxies(ids, self.partition.counts(ids), updates[ids], touched)
        return proxies
