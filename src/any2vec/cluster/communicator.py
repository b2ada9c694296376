"""The protocol that hosts communicate by, and collective operations built on it.

All hosts make the same calls in the same order (single program, multiple data). Buffers are NumPy arrays with rows
along the first axis; nothing is pickled. The protocol is what MPI and torch.distributed both have, so that an engine
is one file with a class that has these methods, and a line in `any2vec.cluster.engines`.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from any2vec.cluster.lost import LostHostError, checked_counts
from any2vec.errors import FILE_ERRORS, Any2VecError, file_error

__all__ = [
    "Communicator",
    "Request",
    "SharedError",
    "allgather_bytes",
    "allreduce",
    "exchange",
    "first_other",
    "from_host",
    "shared_errors",
    "together",
]


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
    """A host's handle to its group, like an MPI communicator.

    Attributes
    ----------
    rank : int
        This host's number, from 0.
    size : int
        H, the number of hosts.
    """

    @property
    def rank(self) -> int:
        """Number of this host, from 0."""

    @property
    def size(self) -> int:
        """H, the number of hosts."""

    def barrier(self) -> None:
        """Wait until all hosts have called this."""

    def allgather(self, values: NDArray[Any]) -> NDArray[Any]:
        """Gather the arrays of all hosts on every host.

        Parameters
        ----------
        values : array
            Of the same shape and dtype on all hosts.

        Returns
        -------
        array, shape (H, ...)
            In host order; a new array.
        """

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
def together(communicator: Communicator) -> Iterator[None]:
    """Raise a SharedError on all hosts if the block raises an Any2VecError on one: the first such host's.

    The block must make no collective call after failing. An error that hosts are lost is raised at once: they cannot be
    asked.
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
        problem = b"%d" % kind + str(error).encode("utf-8", "surrogateescape")
    problems = allgather_bytes(communicator, problem)
    first = next((text for text in problems if text), None)
    if first is not None:
        raise _KINDS[int(first[:1])](first[1:].decode("utf-8", "surrogateescape")) from cause


@contextmanager
def shared_errors(communicator: Communicator) -> Iterator[None]:
    """Do what `together` does, with the failing host's number before its message; one host's error stays as it is."""
    if communicator.size == 1:
        yield
        return
    with together(communicator):
        try:
            yield
        except LostHostError:
            raise
        except Any2VecError as error:
            raise file_error(f"host {communicator.rank}: {error}", error) from None
