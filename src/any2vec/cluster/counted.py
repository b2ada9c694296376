"""`Counted`: a communicator that counts what its host sends."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from any2vec.cluster.communicator import Communicator, Request

__all__ = ["Counted"]


class Counted:
    """A communicator, by another one.

    Attributes
    ----------
    sent : int
        Bytes that this host has sent to others by it.
    """

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
