"""Hosts of a cluster are started apart: whether they were given the same options."""

import json
from dataclasses import asdict

from any2vec.cluster.communicator import Communicator, SharedError, allgather_bytes
from any2vec.training.options import Options
from any2vec.version import __version__

__all__ = ["check_agreement"]


def check_agreement(options: Options, communicator: Communicator, checks: bool) -> None:
    """Compare what the hosts were told.

    Parameters
    ----------
    options : Options
        This host's.
    communicator : Communicator
        The hosts.
    checks : bool
        Whether this host takes part in checks after each epoch.

    Raises
    ------
    SharedError
        On all hosts, if an option that changes the outcome differs; the first that does is named.
    """
    mine = {name: repr(value) for name, value in asdict(options).items() if name != "threads"}
    mine["the version of any2vec"] = __version__
    mine["checks after each epoch"] = str(checks)
    told = [json.loads(text) for text in allgather_bytes(communicator, json.dumps(mine).encode())]
    for host, theirs in enumerate(told):
        for name in told[0].keys() | theirs.keys():
            if theirs.get(name) != told[0].get(name):
                values = f"{told[0].get(name)} on host 0, {theirs.get(name)} on host {host}"
                raise SharedError(f"the hosts were given different options: {name} is {values}")
