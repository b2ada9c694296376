"""The hosts that read a corpus together; one that reads alone is a team too."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

import numpy as np
from numpy.typing import NDArray

from any2vec.cluster.communicator import Communicator, allreduce, together
from any2vec.cluster.local import computing
from any2vec.errors import Any2VecError

__all__ = ["Team"]


class Team:
    """One host, and the others if there are others.

    Parameters
    ----------
    communicator : Communicator or None
        None: it is alone.

    Attributes
    ----------
    communicator : Communicator or None
        None also where there is one host only.
    """

    def __init__(self, communicator: Communicator | None) -> None:
        self.communicator = None if communicator is None or communicator.size == 1 else communicator

    @contextmanager
    def together(self) -> Iterator[None]:
        """Let a block fail on all hosts, with the message of the first that fails; it makes no collective call."""
        if self.communicator is None:
            yield
            return
        with together(self.communicator):
            try:
                yield
            except Any2VecError as error:
                raise Any2VecError(f"host {self.communicator.rank}: {error}") from error

    def working(self) -> AbstractContextManager[None]:
        """Hold a core while a block computes."""
        return nullcontext() if self.communicator is None else computing(self.communicator)

    def sum(self, values: NDArray[np.int64]) -> NDArray[np.int64]:
        """Add up numbers of all hosts."""
        return values if self.communicator is None else allreduce(self.communicator, values)

    def all_equal(self, number: int) -> bool:
        """Whether all hosts have the same number."""
        return self.communicator is None or len(np.unique(self.communicator.allgather(np.array([number])))) == 1
