"""Communication between hosts: one protocol, and engines by name; a new one is a file of this package and a line."""

from collections.abc import Callable
from dataclasses import dataclass

from any2vec.cluster import gloo, mpi, slurm
from any2vec.cluster.communicator import Communicator, Request
from any2vec.cluster.local import alone, simulate
from any2vec.cluster.machine import check_launcher
from any2vec.errors import Any2VecError

__all__ = [
    "ENGINES",
    "Communicator",
    "Engine",
    "Request",
    "abort",
    "alone",
    "connect",
    "detected",
    "mpi",
    "simulate",
]


@dataclass(frozen=True)
class Engine:
    """A way to connect processes."""

    detect: Callable[[], bool]
    """Whether this engine's launcher started this process, as one of several hosts."""
    connect: Callable[[], Communicator]
    """Returns the communicator of all hosts, the same one each time."""
    abort: Callable[[], None] = lambda: None
    """Ends all hosts at once with status 1, for errors that the others do not know of, and would wait."""


ENGINES: dict[str, Engine] = {
    "gloo": Engine(gloo.launched, gloo.world),
    "slurm": Engine(slurm.launched, slurm.world, mpi.end_all),
    "mpi": Engine(mpi.launched, mpi.world, mpi.end_all),
}
"""Engines by name; the first whose launcher is detected is used."""


def detected() -> Engine | None:
    """Return the engine whose launcher started this process, or None."""
    return next((engine for engine in ENGINES.values() if engine.detect()), None)


def connect(name: str | None = None) -> Communicator:
    """Connect this process to the other hosts.

    Parameters
    ----------
    name : str, optional
        One of `ENGINES`. By default, the one whose launcher started this process; if none did, this is the only host.

    Returns
    -------
    Communicator
        To be passed to an estimator's `fit`.

    Raises
    ------
    Any2VecError
        If no engine has this name, the engine cannot connect, or a launcher started this process as one of several that
        have no way to meet.
    """
    if name is None:
        if engine := detected():
            return engine.connect()
        slurm.check_environment()
        check_launcher()
        return alone()
    if name not in ENGINES:
        raise Any2VecError(f"engine {name!r} is unknown; known are {', '.join(ENGINES)}")
    return ENGINES[name].connect()


def abort() -> None:
    """End all hosts of this process's cluster, if it is in one, at once with status 1."""
    if engine := detected():
        engine.abort()
