"""Hosts of a cluster are started separately: check that they were given the same options."""

import json
from dataclasses import fields

from any2vec.cluster.communicator import Communicator, SharedError, allgather_bytes
from any2vec.training.options import Options
from any2vec.version import __version__

__all__ = ["check_agreement"]


def check_agreement(options: Options, communicator: Communicator, checks: bool) -> None:
    """Compare options that change the outcome, and whether hosts run checks after each epoch.

    Raises
    ------
    SharedError
        On all hosts, naming the first option that differs.
    """
    mine = {f.name: repr(getattr(options, f.name)) for f in fields(Options) if f.name != "threads"}
    mine["the version of any2vec"] = __version__
    mine["checks after each epoch"] = str(checks)
    given = [json.loads(text) for text in allgather_bytes(communicator, json.dumps(mine).encode())]
    for host, theirs in enumerate(given):
        for name in given[0].keys() | theirs.keys():
            if theirs.get(name) != given[0].get(name):
                values = f"{given[0].get(name)} on host 0, {theirs.get(name)} on host {host}"
                raise SharedError(f"the hosts were given different options: `{name}` is {values}")
