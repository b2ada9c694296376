"""Whether a command runs alone or as a host of a cluster, and how a cluster ends on an error."""

import sys
import time
from typing import NoReturn

from rich.console import Console

from any2vec.cli.signals import terminate_at_once
from any2vec.cluster import mpi
from any2vec.cluster.communicator import Communicator, SharedError
from any2vec.cluster.local import alone
from any2vec.errors import Any2VecError

__all__ = ["fail", "here"]

_PATIENCE = 2.0  # seconds in which the others get to tell the same error


def here() -> Communicator:
    """Give the communicator of this process: the world that mpiexec started, or one host."""
    return mpi.world() if mpi.launched() else alone()


def fail(error: Any2VecError) -> NoReturn:
    """Tell a user's mistake on one line, once, and end all hosts with status 1."""
    terminate_at_once()
    console = Console(stderr=True)
    if not mpi.launched():
        _tell(console, str(error))
        sys.exit(1)
    try:
        communicator = mpi.world()
    except Any2VecError:  # that is the error
        _tell(console, str(error))
        sys.exit(1)
    if isinstance(error, SharedError):
        if communicator.rank == 0:
            _tell(console, str(error))
        sys.exit(1)
    if communicator.rank:  # it may be an error of all hosts; then host 0 tells it
        time.sleep(_PATIENCE)
    _tell(console, f"host {communicator.rank}: {error}")
    mpi.end_all()
    sys.exit(1)


def _tell(console: Console, text: str) -> None:
    console.print(f"any2vec: {text}", style="red", markup=False, highlight=False, soft_wrap=True)
