"""What engines share: an `ialltoallv` whose arguments are checked in one place."""

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from any2vec.cluster.communicator import Request

__all__ = ["CheckedTransfers", "Transfer"]


class Transfer(NamedTuple):
    """One host's part in an `ialltoallv`, checked; counts and starts are new int64 arrays of shape (H,)."""

    send: NDArray[Any]
    send_counts: NDArray[np.int64]
    send_starts: NDArray[np.int64]
    receive: NDArray[Any]
    counts: NDArray[np.int64]
    starts: NDArray[np.int64]

    def keep(self, host: int) -> None:
        """Copy the rows that a host sends to itself, and leave none of them to send."""
        first, n, start, came = (int(of[host]) for of in (self.send_starts, self.send_counts, self.starts, self.counts))
        if n != came:
            raise ValueError(f"host {host} sends {n} rows to host {host}, which expects {came}")
        self.receive[start : start + n] = self.send[first : first + n]
        self.send_counts[host] = self.counts[host] = 0


class CheckedTransfers(ABC):
    """Base class of engines: `ialltoallv` of a `Communicator`, made of `_begin`.

    An engine whose `_begin` returns before all is done has its own `test` and `wait`.
    """

    rank: int
    size: int

    def ialltoallv(
        self,
        send: NDArray[Any],
        send_counts: NDArray[np.int64],
        receive: NDArray[Any],
        counts: NDArray[np.int64],
        starts: NDArray[np.int64] | None = None,
    ) -> Request:
        """Begin to send rows to each host and to receive rows from each; see `Communicator`."""
        if send.dtype != receive.dtype or send.shape[1:] != receive.shape[1:]:
            raise ValueError(
                f"rows of {send.dtype} {send.shape[1:]} cannot be received as {receive.dtype} {receive.shape[1:]}"
            )
        outgoing = _checked(send, send_counts, starts, self.size)
        begun = self._begin(Transfer(send, *outgoing, receive, *_checked(receive, counts, None, self.size)))
        return _Pending(self, begun)

    @abstractmethod
    def _begin(self, transfer: Transfer) -> Any:
        """Begin to send and receive; return what `test` and `wait` take."""

    def test(self, begun: Any) -> bool:
        """Let what was begun progress, without waiting; return whether it is done."""
        return True

    def wait(self, begun: Any) -> None:  # noqa: B027
        """Wait until what was begun is done, without burning a core."""


class _Pending(NamedTuple):
    """An `ialltoallv` in progress."""

    engine: CheckedTransfers
    begun: Any

    def test(self) -> bool:
        return self.engine.test(self.begun)

    def wait(self) -> None:
        self.engine.wait(self.begun)


def _checked(
    rows: NDArray[Any], counts: NDArray[np.int64], starts: NDArray[np.int64] | None, hosts: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    if not rows.flags.c_contiguous:
        raise ValueError("rows must be C-contiguous")
    counts = np.array(counts, np.int64)
    starts = np.cumsum(counts) - counts if starts is None else np.array(starts, np.int64)
    if counts.shape != (hosts,) or starts.shape != (hosts,):
        raise ValueError(f"counts and starts must have {hosts} elements, one per host")
    if min(counts.min(), starts.min()) < 0 or (starts + counts).max() > len(rows):
        raise ValueError(f"{counts} rows from {starts} are not in {len(rows)} rows")
    return counts, starts
