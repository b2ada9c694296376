"""PullModel: a host has its masters and the rows that its round touches (GraphAny2Vec, sections 3.2 and 3.4).

Inspection lists the vertices of the next round while this one computes or sends; their masters are told once, and
remember, so that broadcast and reduce carry values only (section 5.1). The rows lie in the order of the ids, so in the
order of the hosts that have the masters: they are received into their place, and sent from it.
"""

from abc import abstractmethod
from concurrent.futures import Future
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from any2vec.cluster.communicator import Request
from any2vec.cluster.local import is_simulated
from any2vec.operators.labels import Labels, new_labels, zeros
from any2vec.operators.skipgram import Rows
from any2vec.samples.inspection import Slice
from any2vec.sync.combiners import Combiner, Round, Touched
from any2vec.sync.ids import send_ids
from any2vec.sync.masters import Changes, Combined
from any2vec.sync.scheme import HostContext, Scheme

__all__ = ["PullModelBase", "PullModelOpt"]

_POLL = 0.002  # seconds between two looks at what is under way while threads inspect
_NONE = np.empty(0, np.int32)


@dataclass(eq=False)
class Proxies:
    """The rows of one label that a round touches here, and those that it touches elsewhere of masters here.

    Attributes
    ----------
    ids : int32 array, shape (n,)
        Vertices that have a row here, in rising order: row i is that of ``ids[i]``.
    sent : int64 array, shape (H,)
        How many of them have their masters on each host.
    updates : int32 array, shape (n,)
        Updates that the round will make to each.
    rows : int32 array, shape (m,)
        Places among the masters here of the rows that hosts touch, in host order.
    came : int64 array, shape (H,)
        How many each host touches.
    told : int32 array, shape (m,)
        Updates that they will make.
    """

    ids: NDArray[np.int32]
    sent: NDArray[np.int64]
    updates: NDArray[np.int32]
    rows: NDArray[np.int32] = field(default_factory=lambda: _NONE)
    came: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    told: NDArray[np.int32] = field(default_factory=lambda: _NONE)


class Pulled(Scheme):
    """What both kinds of PullModel do.

    Parameters
    ----------
    site : HostContext
        This host.
    """

    kind = "mapped"

    def __init__(self, site: HostContext) -> None:
        super().__init__(site)
        low, high = self.partition.range(site.communicator.rank)
        self.masters = new_labels(low, high, site.dim, seed=site.seed)
        self.rows = Rows(np.zeros(site.vertices, np.int32), np.zeros(site.vertices, np.int32))
        self.labels = self._room(0)
        self.live = 0
        self._inspecting: list[Future[float]] = []
        self._now: dict[str, Proxies] = {}

    def begin(self, slice_: Slice) -> None:
        """Inspect the first round, and pull what it needs."""
        self.prefetch(slice_)
        self._pull(self._learn([]))

    def prefetch(self, slice_: Slice | None) -> None:
        """Begin to inspect the next round."""
        self._inspecting = self.site.inspector.begin(slice_, self.site.workers) if slice_ else []

    def synchronize(self, round_: Round, combiner: Combiner) -> Combined:
        """Reduce, meanwhile inspect the next round and tell the masters; combine; pull what the next round needs."""
        requests, changes, here = [], {}, {}
        for label, mine in (("e", self.labels.e), ("t", self.labels.t)):
            now = self._now[label]
            values = self.buffers.rows(f"receive {label}", len(now.rows))
            send = mine[: len(now.ids)]
            requests.append(self.wire.begin(("reduce", label, "values"), send, now.sent, values, now.came))
            changes[label] = Changes(now.rows, values, now.told, now.came)
            touched = np.flatnonzero(now.updates).astype(np.int32)
            self.touched[label] = len(touched)
            here[label] = Touched(mine, touched, now.updates[touched])
        ahead = self._learn(requests) if self._inspecting else {}
        self.wire.wait(requests)
        combined = self.combine(changes, here, round_, combiner)
        if ahead:
            self._pull(ahead)
        return combined

    @abstractmethod
    def _proxies(self, sources: NDArray[np.int32], destinations: NDArray[np.int32]) -> dict[str, Proxies]:
        """Choose the rows to have, from the updates that inspection counted, and tell their masters."""

    def _learn(self, requests: list[Request]) -> dict[str, Proxies]:
        """Finish the inspection, and tell the masters what it found, while `requests` are under way."""

        def look() -> None:
            with self.wire.timed():
                for request in requests:
                    request.test()

        looks = requests and not is_simulated(self.site.communicator)  # those have but few cores to look with
        self.inspecting += sum(self.site.workers.join(self._inspecting, look if looks else None, _POLL))
        ahead = self._proxies(*self.site.inspector.counts())
        for label, proxies in ahead.items():
            proxies.told = np.empty(len(proxies.rows), np.int32)
            what = ("inspect", label, "updates")
            self.wire.wait([self.wire.begin(what, proxies.updates, proxies.sent, proxies.told, proxies.came)])
        return ahead

    def _pull(self, ahead: dict[str, Proxies]) -> None:
        """Broadcast: get the rows of the next round from their masters."""
        self._now = ahead
        wanted = max(len(proxies.ids) for proxies in ahead.values())
        if wanted > self.labels.vertices:
            del self.labels
            self.labels = self._room(wanted + wanted // 4)
        self.live = min(len(proxies.ids) for proxies in ahead.values())
        requests = []
        for label, mine, masters, rows in (
            ("e", self.labels.e, self.masters.e, self.rows.e),
            ("t", self.labels.t, self.masters.t, self.rows.t),
        ):
            proxies = ahead[label]
            send = self.gather(f"pull {label}", masters, proxies.rows)
            room = mine[: len(proxies.ids)]
            requests.append(self.wire.begin(("broadcast", label, "values"), send, proxies.came, room, proxies.sent))
            rows[proxies.ids] = np.arange(len(proxies.ids), dtype=np.int32)
        self.wire.wait(requests)

    def _room(self, rows: int) -> Labels:
        rows = min(rows, self.site.vertices)
        e, t = (zeros(rows + self.site.mirrors, self.site.dim) for _ in range(2))
        return Labels(e, t, 0, rows, self.site.dim)


class PullModelBase(Pulled):
    """A vertex is one: both its labels travel if either is touched."""

    def _proxies(self, sources: NDArray[np.int32], destinations: NDArray[np.int32]) -> dict[str, Proxies]:
        ids = np.flatnonzero(sources | destinations).astype(np.int32)
        sent = self.partition.counts(ids)
        rows, came = send_ids(ids, self.partition, self.wire, "inspect", "both")
        labels = (("e", sources), ("t", destinations))
        return {label: Proxies(ids, sent, updates[ids], rows, came) for label, updates in labels}


class PullModelOpt(Pulled):
    """A source has a row of e only, and a destination one of t."""

    def _proxies(self, sources: NDArray[np.int32], destinations: NDArray[np.int32]) -> dict[str, Proxies]:
        proxies = {}
        for label, updates in (("e", sources), ("t", destinations)):
            ids = np.flatnonzero(updates).astype(np.int32)
            rows, came = send_ids(ids, self.partition, self.wire, "inspect", label)
            proxies[label] = Proxies(ids, self.partition.counts(ids), updates[ids], rows, came)
        return proxies
