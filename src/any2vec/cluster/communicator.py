"""The protocol that hosts communicate by, and collective operations built on it.

All hosts make the same calls in the same order (single program, multiple data). Buffers are NumPy arrays with rows
along the first axis; nothing is pickled. The protocol is what MPI and torch.distributed both have, so that an engine
is one file with a class that has these methods, and a line in `any2vec.cluster`.
"""

import math
import os
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from any2vec.errors import FILE_ERRORS, Any2VecError, shown

_VARIABLE = "ANY2VEC_TIMEOUT"
_SHORTEST, _LONGEST = 1e-3, 2_000_000.0  # gloo counts milliseconds, in 31 bits
_MOST = 1 << 48  # rows


class LostHostError(Any2VecError):
    """Other hosts ended, or did not join in a collective call within the time limit; they cannot be asked why."""

    @classmethod
    def late(cls, hosts: list[int], seconds: float) -> Self:
        """Make the error for hosts, if it is known which, that have not joined in for so many seconds."""
        who = ", ".join(map(str, hosts[:8])) + (" and others" if len(hosts) > 8 else "")
        whose = f"hosts {who} have" if len(hosts) > 1 else f"host {who} has" if hosts else "a host has"
        return cls(
            f"{whose} not joined in for {seconds:,.0f} seconds: stopped, cut off, or very slow ({_VARIABLE} in the "
            "environment sets the limit)"
        )


class DamagedError(LostHostError):
    """Another host sent numbers that cannot be; to use them would damage this one's memory."""

    @classmethod
    def of(cls, host: int, what: str) -> Self:
        """Make the error for what a host sent."""
        return cls(f"host {host} sent {what}: it runs another version of any2vec, or messages are damaged on their way")


def checked_counts(counts: NDArray[Any], what: str = "a number of rows") -> NDArray[Any]:
    """Return the counts that each host sent, the first axis, if they can be; raise a DamagedError if not."""
    wrong = (counts < 0) | (counts > _MOST)
    if wrong.any():
        host = int(np.argwhere(wrong)[0][0])
        raise DamagedError.of(host, f"{counts[wrong][0]} as {what}")
    return counts


def time_limit() -> float:
    """Return how many seconds a host waits for others in a call: ``$ANY2VEC_TIMEOUT``, or half an hour."""
    text = os.environ.get(_VARIABLE, "1800")
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not _SHORTEST <= seconds <= _LONGEST:
        raise Any2VecError(
            f"{_VARIABLE} is {shown(text)} in the environment; it must be a positive number of seconds, "
            f"from {_SHORTEST} to {_LONGEST:,.0f}"
        )
    return seconds


_GATHERED = 1 << 24
"""Bytes of all hosts that `allreduce` holds at a time."""


class SharedError(Any2VecError):
    """An error raised on all hosts, so that one of them may print it and none waits for another."""


_KINDS: tuple[type[SharedError], ...] = (
    SharedError,
    *(type(f"Shared{kind.__name__}", (SharedError, kind), {}) for kind in FILE_ERRORS),
)
"""A shared error is also what it is on one host, such as a FileNotFoundError."""


class Request(Protocol):
    """A collective call in progress; its buffers must not be touched until it is done."""

    def test(self) -> bool:
        """Let the call progress, without waiting; return whether it is done."""

    def wait(self) -> None:
        """Wait until it is done, without burning a core."""


class Communicator(Protocol):
    """A host's handle to its group, like an MPI communicator."""

    @property
    def rank(self) -> int:
        """Number of this host, from 0."""

    @property
    def size(self) -> int:
        """H, the number of hosts."""

    def barrier(self) -> None:
        """Wait until all hosts have called this."""

    def allgather(self, values: NDArray[Any]) -> NDArray[Any]:
        """Gather the arrays of all hosts, of one shape and dtype, on every host: a new array, in host order."""

    def ialltoallv(
        self,
        send: NDArray[Any],
        send_counts: NDArray[np.int64],
        receive: NDArray[Any],
        counts: NDArray[np.int64],
        starts: NDArray[np.int64] | None = None,
    ) -> Request:
        """Begin to send rows to each host and to receive rows from each; several such calls may be in progress.

        Parameters
        ----------
        send : array, shape (n, ...), C-contiguous
            The rows for host 0, then those for host 1, and so on.
        send_counts : int64 array, shape (H,)
            Number of rows for each host; their sum is at most n.
        receive : array, shape (m, ...), C-contiguous
            Filled with the rows from host 0, then those from host 1, and so on; its rows have the dtype and shape of
            those in `send`.
        counts : int64 array, shape (H,)
            Number of rows from each host; their sum is at most m.
        starts : int64 array, shape (H,), optional
            Where in `send` the rows for each host begin, if not one after the other. Ranges may overlap, to send
            the same rows to several hosts.
        """


def allreduce(communicator: Communicator, values: NDArray[Any]) -> NDArray[Any]:
    """Sum arrays over the hosts, in host order: the bits are the same on all hosts and engines.

    A long array is summed piece by piece, so that the hosts' pieces take little memory.
    """
    values = np.asarray(values)
    flat = values.reshape(-1)
    total = np.empty_like(flat)
    step = max(1, _GATHERED // (communicator.size * max(flat.itemsize, 1)))
    for low in range(0, max(len(flat), 1), step):
        parts = communicator.allgather(flat[low : low + step])
        piece = total[low : low + step]
        piece[:] = parts[0]
        for part in parts[1:]:
            piece += part
    return total.reshape(values.shape)


def exchange(
    communicator: Communicator, send: NDArray[Any], send_counts: NDArray[np.int64]
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Do an `ialltoallv` where the numbers of rows to receive are unknown; return the rows and those numbers."""
    ones = np.ones(communicator.size, np.int64)
    counts = np.empty(communicator.size, np.int64)
    communicator.ialltoallv(np.ascontiguousarray(send_counts, np.int64), ones, counts, ones).wait()
    rows = np.empty((int(checked_counts(counts).sum()), *send.shape[1:]), send.dtype)
    communicator.ialltoallv(send, send_counts, rows, counts).wait()
    return rows, counts


def from_host(communicator: Communicator, host: int, rows: NDArray[Any]) -> NDArray[Any]:
    """Send the rows of one host to all; return them. The others give any of the same dtype and shape of a row."""
    mine = communicator.rank == host

    def sent(given: NDArray[Any], count: int) -> NDArray[Any]:
        came, nothing = np.zeros(communicator.size, np.int64), np.zeros(communicator.size, np.int64)
        came[host] = count
        received = np.empty((count, *given.shape[1:]), given.dtype)
        communicator.ialltoallv(given, nothing + count if mine else nothing, received, came, nothing).wait()
        return received

    return sent(np.ascontiguousarray(rows), int(checked_counts(sent(np.array([len(rows)], np.int64), 1))[0]))


def allgather_bytes(communicator: Communicator, data: bytes) -> list[bytes]:
    """Gather bytes, of any length, of all hosts on every host."""
    lengths = checked_counts(communicator.allgather(np.array([len(data)], np.int64))[:, 0], "a length")
    padded = np.zeros(int(lengths.max()), np.uint8)
    padded[: len(data)] = np.frombuffer(data, np.uint8)
    parts = communicator.allgather(padded)
    return [part[:length].tobytes() for part, length in zip(parts, lengths.tolist(), strict=True)]


def first_other(communicator: Communicator, digest: bytes) -> int | None:
    """Return the first host whose digest (of the same length on all hosts) differs from host 0's, or None."""
    digests = communicator.allgather(np.frombuffer(digest, np.uint8))
    others = np.flatnonzero((digests != digests[0]).any(axis=1))
    return int(others[0]) if len(others) else None


@contextmanager
def together(communicator: Communicator, prefix: str = "") -> Iterator[None]:
    """Raise a SharedError on all hosts if the block raises an Any2VecError on one: the first such host's.

    The block must make no collective call after failing. An error that hosts are lost is raised at once: they cannot be
    asked. The message begins with the failing host's `prefix`.
    """
    problem = b""
    cause: Any2VecError | None = None
    try:
        yield
    except LostHostError:
        raise
    except Any2VecError as error:
        kind = next((i for i, one in enumerate(FILE_ERRORS, 1) if isinstance(error, one)), 0)
        if kind and communicator.size == 1:
            raise
        cause = None if kind else error  # a missing file needs no explanation
        problem = b"%d" % kind + f"{prefix}{error}".encode("utf-8", "surrogateescape")
    problems = allgather_bytes(communicator, problem)
    first = next((text for text in problems if text), None)
    if first is not None:
        raise _KINDS[int(first[:1])](first[1:].decode("utf-8", "surrogateescape")) from cause


def shared_errors(communicator: Communicator) -> AbstractContextManager[None]:
    """Do what `together` does, with the failing host's number before its message; one host's error stays as it is."""
    return together(communicator, f"host {communicator.rank}: ") if communicator.size > 1 else nullcontext()


class Counted:
    """A communicator, by another one; `sent` are the bytes that this host has sent to others by it."""

    def __init__(self, communicator: Communicator) -> None:
        self._communicator = communicator
        self.rank, self.size = communicator.rank, communicator.size
        self.sent = 0

    def barrier(self) -> None:
        """Wait until all hosts have called this."""
        self._communicator.barrier()

    def allgather(self, values: NDArray[Any]) -> NDArray[Any]:
        """Gather the arrays of all hosts on every host."""
        self.sent += values.nbytes * (self.size - 1)
        return self._communicator.allgather(values)

    def ialltoallv(
        self,
        send: NDArray[Any],
        send_counts: NDArray[np.int64],
        receive: NDArray[Any],
        counts: NDArray[np.int64],
        starts: NDArray[np.int64] | None = None,
    ) -> Request:
        """Begin to send rows to each host and to receive rows from each."""
        row = send.itemsize * int(np.prod(send.shape[1:]))
        self.sent += row * int(send_counts.sum() - send_counts[self.rank])
        return self._communicator.ialltoallv(send, send_counts, receive, counts, starts)


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
