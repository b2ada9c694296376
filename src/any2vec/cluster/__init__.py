"""Communication between hosts: one protocol, and engines by name; a new one is a file of this package and a line.

What happens when a host dies (it is killed, or its machine or network fails), from the first sign to the next run:

1. The other hosts wait for it in a collective call. Over gloo the connection ends, and the call fails at once
   (`gloo._lost`). With MPI the launcher ends all ranks. A host that hangs, or that nobody sees end, is waited for no
   longer than `communicator.time_limit` ($ANY2VEC_TIMEOUT, half an hour); ranks of MPI then ask each other who is
   there (`mpi._RollCall`). A host that does not come to the first meeting: `gloo._beside`, `mpi._watched`.
2. The call raises a `communicator.LostHostError`. `together`, which raises an error of one host on all, lets it pass:
   no further call can be made. (An error on a host that lives is no death: `together`. Nor is Ctrl-C:
   `training.ending`.)
3. `training.trainer._trained` lets this host's threads return, and adds to the message where the last checkpoint is.
   What was trained since then is lost.
4. The command line prints the message, and ends all hosts that live (`cli.help.fail`, `abort`).
5. A run goes on from the newest version of which all shards are whole, on as many hosts or others
   (`training.checkpoints.resume`). torchrun, Slurm or Kubernetes may start the same command again: with `--checkpoint`
   and `--resume` of one folder, a run that had no checkpoint yet begins anew. What the dead host left half written is
   removed (`training.checkpoints.checkpoint_files`).

A host that is simulated cannot die alone: its error ends the others at their next call (`local.Rendezvous.release`).
"""

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
