"""A channel to the other hosts that counts bytes by phase, matrix and kind, and times (ARCHITECTURE, invariant 6)."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from any2vec.cluster.communicator import Communicator, DamagedError, Request, checked_counts, exchange
from any2vec.cluster.local import clock_of
from any2vec.report.rounds import KEYS

MOST = 2
"""Times its even share of the vertices that a host has, at most."""


@dataclass(frozen=True, eq=False)
class Partition:
    """The masters of V vertices, partitioned among H hosts."""

    bounds: NDArray[np.int64]  # (H + 1,): Host h has the masters of vertices ``bounds[h]`` .. ``bounds[h + 1] - 1``

    @classmethod
    def even(cls, vertices: int, hosts: int) -> Self:
        """Give each host as many vertices."""
        return cls(np.arange(hosts + 1, dtype=np.int64) * vertices // hosts)

    @classmethod
    def by_use(cls, use: NDArray[np.float64], hosts: int, many: NDArray[Any] | None = None) -> Self:
        """Give each host vertices of as much use in all, but no more than twice as many as the others in the mean.

        `use`, shape (V,), is how often hosts touch each vertex: it falls, more or less. If an item of it is of several
        vertices, `many` has how many. All hosts wait for the one that sends and receives most. With equal ranges that
        is the first, as the vertices of small ids are the most frequent.
        """
        ends = np.arange(len(use) + 1.0) if many is None else np.append(0.0, np.cumsum(many))
        done = np.append(0.0, np.cumsum(use if many is None else use * many))
        bounds = np.zeros(hosts + 1, np.int64)
        bounds[hosts] = end = round(ends[-1])
        most = -(-MOST * end // hosts)
        for host in range(hosts - 1, 0, -1):  # the last have the rarest
            left = float(np.interp(end, ends, done))
            begin = round(float(np.interp(left * host / (host + 1), done, ends)))
            bounds[host] = end = min(max(begin, end - most), end, host * most)
        return cls(bounds)

    @property
    def vertices(self) -> int:
        """V."""
        return int(self.bounds[-1])

    @property
    def hosts(self) -> int:
        """H."""
        return len(self.bounds) - 1

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Vertices of each host; shape (H,)."""
        return np.diff(self.bounds)

    def range(self, host: int) -> tuple[int, int]:
        """Return the first vertex of a host, and the one after its last."""
        return int(self.bounds[host]), int(self.bounds[host + 1])

    def counts(self, ids: NDArray[np.int32]) -> NDArray[np.int64]:
        """Count, per host, the masters of some vertices in rising order; shape (H,)."""
        return np.diff(np.searchsorted(ids, self.bounds))


class Channel:
    """Sends over a communicator, counting and timing.

    Attributes
    ----------
    seconds : float
        Time that this host spent in calls, by `clock_of` its communicator.
    hidden : float
        Time that it spent elsewhere while rows were on their way.
    """

    def __init__(self, communicator: Communicator) -> None:
        self.communicator = communicator
        self.seconds = self.hidden = 0.0
        self._pending: list[Request] = []
        self._clock, self._left = clock_of(communicator), 0.0
        self._bytes = np.zeros(len(KEYS))

    def begin(
        self,
        what: tuple[str, str, str],
        send: NDArray[Any],
        send_counts: NDArray[np.int64],
        receive: NDArray[Any],
        counts: NDArray[np.int64],
        starts: NDArray[np.int64] | None = None,
    ) -> Request:
        """Begin an `ialltoallv`; `what` is one of `KEYS`."""
        self.count(what, send_counts, send.nbytes // max(1, len(send)))
        with self.timed():
            request = self.communicator.ialltoallv(send, send_counts, receive, counts, starts)
        self._pending.append(request)
        return request

    def wait(self, requests: list[Request]) -> None:
        """Wait for requests."""
        with self.timed():
            for request in requests:
                request.wait()
        done = set(map(id, requests))
        self._pending = [request for request in self._pending if id(request) not in done]

    def progress(self) -> None:
        """Let what is on its way progress, without waiting."""
        with self.timed():
            self._pending = [request for request in self._pending if not request.test()]

    def reduce(self, what: tuple[str, str, str], values: NDArray[Any]) -> NDArray[np.float64] | None:
        """Sum arrays of all hosts, in host order, on the first; None elsewhere. Each sums some rows: none gets all."""
        size, rank = self.communicator.size, self.communicator.rank
        rows = np.ascontiguousarray(values).reshape(-1, values.shape[-1])
        counts = Partition.even(len(rows), size).sizes
        own = int(counts[rank])
        parts = np.empty((size * own, rows.shape[1]), rows.dtype)
        self.wait([self.begin(what, rows, counts, parts, np.full(size, own))])
        total = parts[:own].astype(np.float64)
        with np.errstate(all="ignore"):  # the trainer says what is not finite
            for first in range(own, len(parts), max(own, 1)):
                total += parts[first : first + own]
        here = rank == 0
        out, sent, came = np.empty((len(rows) * here, rows.shape[1])), np.zeros(size, np.int64), counts * here
        sent[0] = own
        self.wait([self.begin(what, total, sent, out, came)])
        return out.reshape(values.shape) if here else None

    def distribute(self, what: tuple[str, str, str], values: NDArray[Any]) -> NDArray[Any]:
        """Return the first host's array on all: it sends each some rows, and that one sends them on."""
        size, here = self.communicator.size, self.communicator.rank == 0
        rows = np.ascontiguousarray(values).reshape(-1, values.shape[-1])
        counts, came = Partition.even(len(rows), size).sizes, np.zeros(size, np.int64)
        came[0] = counts[self.communicator.rank]
        own, out = np.empty((int(came[0]), rows.shape[1]), rows.dtype), np.empty_like(rows)
        self.wait([self.begin(what, rows, counts * here, own, came)])
        self.allgather(what, own, counts, out)
        return out.reshape(values.shape)

    def allgather(
        self, what: tuple[str, str, str], values: NDArray[Any], counts: NDArray[np.int64], out: NDArray[Any]
    ) -> None:
        """Fill `out` with the rows of all hosts, `counts` of each, in host order."""
        sent, starts = np.full(len(counts), len(values)), np.zeros(len(counts), np.int64)
        self.wait([self.begin(what, values, sent, out, counts, starts)])

    def any(self, mine: bool) -> bool:
        """Return whether any host says so."""
        with self.timed():
            return bool(self.communicator.allgather(np.array([mine])).any())

    def count(self, what: tuple[str, str, str], send_counts: NDArray[np.int64], size: int) -> None:
        """Count items of `size` bytes sent to each host; what stays on this one is free."""
        sent = int(send_counts.sum()) - int(send_counts[self.communicator.rank])
        self._bytes[KEYS.index(what)] += sent * size

    @contextmanager
    def timed(self) -> Iterator[None]:
        """Add the time that a block takes."""
        began = self._clock()
        if self._pending:
            self.hidden += began - self._left
        yield
        self._left = self._clock()
        self.seconds += self._left - began

    def take(self) -> NDArray[np.float64]:
        """Return the bytes since the last call, in the order of `KEYS`."""
        taken = self._bytes.copy()
        self._bytes[:] = 0
        return taken


_LISTED = np.dtype("<u4")  # of an id in a list


class RowsByHost(NamedTuple):
    """Rows that each host named: those of host 0, rising, then those of host 1, ...; `counts`, shape (H,), of each."""

    rows: NDArray[np.int32]
    counts: NDArray[np.int64]


def send_ids(ids: NDArray[np.int32], partition: Partition, channel: Channel, phase: str, which: str) -> RowsByHost:
    """Send the ids of some vertices, in rising order, to their masters; return the masters here that hosts named."""
    message, lengths = _encode(ids, partition.bounds)
    channel.count((phase, which, "ids"), lengths, 1)
    with channel.timed():
        received, counts = exchange(channel.communicator, message, lengths)
    low, high = partition.range(channel.communicator.rank)
    sizes, starts = np.full(partition.hosts, high - low), np.zeros(partition.hosts, np.int64)
    return _decode(received, counts, sizes, starts)


def broadcast_ids(
    rows: NDArray[np.int32], partition: Partition, channel: Channel, phase: str, which: str
) -> RowsByHost:
    """Name some masters here, in rising order, to every host; return the vertices that all hosts named."""
    low, high = partition.range(channel.communicator.rank)
    message, lengths = _encode(rows, np.array([0, high - low]))
    with channel.timed():
        counts = checked_counts(channel.communicator.allgather(lengths)[:, 0])
    received = np.empty(int(counts.sum()), np.uint8)
    channel.allgather((phase, which, "ids"), message, counts, received)
    return _decode(received, counts, partition.sizes, partition.bounds[:-1])


def _encode(ids: NDArray[np.int32], bounds: NDArray[np.int64]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Encode the ids of each range, as a list if that is shorter than a bit per vertex; return the lengths too."""
    parts, cuts = [], np.searchsorted(ids, bounds)
    for (low, high), (first, last) in zip(pairwise(bounds.tolist()), pairwise(cuts.tolist()), strict=True):
        rows = ids[first:last] - np.int64(low)
        if _LISTED.itemsize * len(rows) < _bits(high - low):
            parts.append(rows.astype(_LISTED).view(np.uint8))
        else:
            present = np.zeros(high - low, np.bool_)
            present[rows] = True
            parts.append(np.packbits(present, bitorder="little"))
    return np.concatenate(parts), np.array([len(part) for part in parts], np.int64)


def _decode(
    data: NDArray[np.uint8], lengths: NDArray[np.int64], sizes: NDArray[np.int64], starts: NDArray[np.int64]
) -> RowsByHost:
    """Decode what hosts encoded, each of a range; raise a DamagedError if one names rows that cannot be."""
    messages, found = np.split(data, np.cumsum(lengths)[:-1]), []
    for host, (part, size, start) in enumerate(zip(messages, sizes.tolist(), starts.tolist(), strict=True)):
        if listed := len(part) < _bits(size):
            rows = part[: len(part) - len(part) % _LISTED.itemsize].view(_LISTED).astype(np.int64)
        else:
            rows = np.flatnonzero(np.unpackbits(part, bitorder="little"))
        whole = len(part) % _LISTED.itemsize == 0 if listed else len(part) == _bits(size)
        if not whole or rows.max(initial=-1) >= size or (np.diff(rows) <= 0).any():
            raise DamagedError.of(host, "ids of rows that do not exist")
        found.append((rows + start).astype(np.int32))
    return RowsByHost(np.concatenate(found), np.array([len(rows) for rows in found]))


def _bits(size: int) -> int:
    """Return the bytes of a bit for each of so many vertices."""
    return (size + 7) // 8
