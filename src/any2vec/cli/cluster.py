"""How a command ends on an error, alone or as one of several hosts."""

import sys
import time
from typing import NoReturn

from rich.console import Console

from any2vec.cli.signals import terminate_at_once
from any2vec.cluster import engines
from any2vec.cluster.communicator import SharedError
from any2vec.errors import Any2VecError

__all__ = ["fail"]

_PATIENCE = 2.0  # seconds for another host to print the same error


def fail(error: Any2VecError) -> NoReturn:
    """Print a user's mistake on one line, once for all hosts, and end them with status 1."""
    terminate_at_once()
    try:
        rank = engines.connect().rank if engines.detected() else None
    except Any2VecError:  # that is the error
        rank = None
    if isinstance(error, SharedError) or rank is None:
        if not rank:
            _print(str(error))
        sys.exit(1)
    if rank:  # if it is an error of all hosts, host 0 prints it
        time.sleep(_PATIENCE)
    _print(f"host {rank}: {error}")
    engines.abort()
    sys.exit(1)


def _print(text: str) -> None:
    console = Console(stderr=True)
    console.print(f"any2vec: {text}", style="red", markup=False, highlight=False, soft_wrap=True)
