"""How hosts talk: a small protocol of collective calls, and what is made of it.

All hosts make the same calls in the same order (single program, multiple data). Buffers are NumPy arrays, rows along
the first axis; nothing is pickled. Adding an engine is one new file with a class that has these methods.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from any2vec.errors import Any2VecError

__all__ = [
    "Communicator",
    "Request",
    "SharedError",
    "allgather_bytes",
    "allreduce",
    "broadcast",
    "exchange",
    "first_other",
    "gather",
    "shared_errors",
    "together",
]


class SharedError(Any2VecError):
    """An error that all hosts raise, so that one of them may tell it and none waits for another."""


class Request(Protocol):
    """A collective call under way; its buffers must be left alone until it is done."""

    def test(self) -> bool:
        """Let the call make progress and tell, without waiting, whether it is done."""

    def wait(self) -> None:
        """Wait until it is done, without burning a core."""


class Communicator(Protocol):
    """One host's end of the line.

    Attributes
    ----------
    rank : int
        This host, from 0.
    size : int
        H, the number of hosts.
    """

    @property
    def rank(self) -> int:
        """Which host this is, from 0."""

    @property
    def size(self) -> int:
        """H, the number of hosts."""

    @property
    def simulated(self) -> bool:
        """Whether the hosts share one process: then each has one thread."""

    def barrier(self) -> None:
        """Wait until every host has come here."""

    def allgather(self, values: NDArray[Any]) -> NDArray[Any]:
        """Give every host the arrays of all hosts.

        Parameters
        ----------
        values : array
            Of the same shape and dtype on all hosts.

        Returns
        -------
        array, shape (H, ...)
            In host order, a new one.
        """

    def alltoallv(
        self,
        send: NDArray[Any],
        send_counts: NDArray[np.int64],
        receive: NDArray[Any],
        counts: NDArray[np.int64],
        starts: NDArray[np.int64] | None = None,
    ) -> None:
        """Send some rows to each host, and receive some from each.

        Parameters
        ----------
        send : array, shape (n, ...), C-contiguous
            The rows for host 0, then those for host 1, and so on.
        send_counts : int64 array, shape (H,)
            How many rows go to each host; they sum to at most n.
        receive : array, shape (m, ...), C-contiguous
            Gets the rows from host 0, then those from host 1, and so on; same dtype and shape of a row.
        counts : int64 array, shape (H,)
            How many rows come from each host; they sum to at most m.
        starts : int64 array, shape (H,), optional
            Where in `send` the rows for each host begin, if not one after the other; they may overlap, so that
            the same rows go to all.
        """

    def ialltoallv(
        self,
        send: NDArray[Any],
        send_counts: NDArray[np.int64],
        receive: NDArray[Any],
        counts: NDArray[np.int64],
        starts: NDArray[np.int64] | None = None,
    ) -> Request:
        """Begin what `alltoallv` does, and return at once."""

    @property
    def clock(self) -> Callable[[], float]:
        """Clock, in seconds, to time collective calls with: time that passes, or the thread's own if simulated."""

    def working(self) -> AbstractContextManager[None]:
        """Hold a core while a block computes; no collective call may be made in the block.

        Simulated hosts share the cores of one machine, so that only some of them run at a time. The thread that runs
        a host's program has one, but for the time of its collective calls; others of its threads may hold one each.
        """

    def resting(self) -> AbstractContextManager[None]:
        """Let others have the core of a host's program while a block waits for something but collective calls."""


def allreduce(communicator: Communicator, values: NDArray[Any]) -> NDArray[Any]:
    """Sum arrays over the hosts, in host order: so the bits are the same on all hosts and engines.

    Parameters
    ----------
    communicator : Communicator
        This host's.
    values : array
        Of the same shape and dtype on all hosts.

    Returns
    -------
    array
        The sum, of the same shape and dtype.
    """
    parts = communicator.allgather(values)
    total = parts[0].copy()
    for part in parts[1:]:
        total += part
    return total


def exchange(
    communicator: Communicator, send: NDArray[Any], send_counts: NDArray[np.int64]
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Do `Communicator.alltoallv` where it is not known how many rows will come.

    Parameters
    ----------
    communicator : Communicator
        This host's.
    send : array, shape (n, ...), C-contiguous
        The rows for host 0, then those for host 1, and so on.
    send_counts : int64 array, shape (H,)
        How many rows go to each host.

    Returns
    -------
    rows : array, shape (m, ...)
        What came, in host order.
    counts : int64 array, shape (H,)
        How many rows came from each host.
    """
    ones = np.ones(communicator.size, np.int64)
    counts = np.empty(communicator.size, np.int64)
    communicator.alltoallv(np.ascontiguousarray(send_counts, np.int64), ones, counts, ones)
    rows = np.empty((int(counts.sum()), *send.shape[1:]), send.dtype)
    communicator.alltoallv(send, send_counts, rows, counts)
    return rows, counts


def allgather_bytes(communicator: Communicator, data: bytes) -> list[bytes]:
    """Give every host the bytes of all hosts, of any length.

    Parameters
    ----------
    communicator : Communicator
        This host's.
    data : bytes
        What this host has to tell.

    Returns
    -------
    list of bytes
        In host order.
    """
    lengths = communicator.allgather(np.array([len(data)], np.int64))[:, 0]
    padded = np.zeros(int(lengths.max()), np.uint8)
    padded[: len(data)] = np.frombuffer(data, np.uint8)
    parts = communicator.allgather(padded)
    return [part[:length].tobytes() for part, length in zip(parts, lengths.tolist(), strict=True)]


def first_other(communicator: Communicator, digest: bytes) -> int | None:
    """Find the first host that has something else than host 0.

    Parameters
    ----------
    communicator : Communicator
        This host's.
    digest : bytes
        Of what this host has; of the same length on all hosts.

    Returns
    -------
    int or None
        Its rank, on all hosts; None if all have the same.
    """
    digests = communicator.allgather(np.frombuffer(digest, np.uint8))
    others = np.flatnonzero((digests != digests[0]).any(axis=1))
    return int(others[0]) if len(others) else None


@contextmanager
def together(communicator: Communicator) -> Iterator[None]:
    """Let a block fail on all hosts if it fails on one; the block must make no collective call after failing.

    Parameters
    ----------
    communicator : Communicator
        This host's.

    Raises
    ------
    SharedError
        On every host, with the message of the first host whose block raised an Any2VecError.
    """
    problem = b""
    error: Any2VecError | None = None
    try:
        yield
    except Any2VecError as raised:
        error, problem = raised, b"!" + str(raised).encode("utf-8", "surrogateescape")
    told = allgather_bytes(communicator, problem)
    first = next((text for text in told if text), None)
    if first is not None:
        raise SharedError(first[1:].decode("utf-8", "surrogateescape")) from error


def broadcast(communicator: Communicator, values: NDArray[Any], root: int) -> NDArray[Any]:
    """Give every host the array of one.

    Parameters
    ----------
    communicator : Communicator
        This host's.
    values : array, shape (n, ...)
        The array, on host `root`; of its shape and dtype on the others.
    root : int
        The host that has it.

    Returns
    -------
    array
        A new one.
    """
    send_counts = np.full(communicator.size, len(values) * (communicator.rank == root), np.int64)
    counts = np.zeros(communicator.size, np.int64)
    counts[root] = len(values)
    out = np.empty_like(values, order="C")
    communicator.alltoallv(np.ascontiguousarray(values), send_counts, out, counts, np.zeros_like(counts))
    return out


def gather(communicator: Communicator, values: NDArray[Any], root: int) -> NDArray[Any] | None:
    """Give one host the arrays of all.

    Parameters
    ----------
    communicator : Communicator
        This host's.
    values : array, shape (n, ...)
        Of the same shape and dtype on all hosts.
    root : int
        The host that gets them.

    Returns
    -------
    array, shape (H, n, ...), or None
        In host order, on host `root`; None on the others.
    """
    send_counts = np.zeros(communicator.size, np.int64)
    send_counts[root] = len(values)
    counts = np.full(communicator.size, len(values) * (communicator.rank == root), np.int64)
    out = np.empty((int(counts.sum()), *values.shape[1:]), values.dtype)
    communicator.alltoallv(np.ascontiguousarray(values), send_counts, out, counts)
    return out.reshape(communicator.size, *values.shape) if communicator.rank == root else None


@contextmanager
def shared_errors(communicator: Communicator) -> Iterator[None]:
    """Do what `together` does, with the failing host's number before its message; one host's error stays as it is."""
    if communicator.size == 1:
        yield
        return
    with together(communicator):
        try:
            yield
        except Any2VecError as error:
            raise Any2VecError(f"host {communicator.rank}: {error}") from error
