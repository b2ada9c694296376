"""A channel to the other hosts that counts bytes by phase, matrix and kind, and times (ARCHITECTURE, invariant 6)."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from any2vec.cluster.communicator import Communicator, Request
from any2vec.cluster.local import clock_of
from any2vec.report.rounds import KEYS
from any2vec.sync.partition import Partition

__all__ = ["Channel"]


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
