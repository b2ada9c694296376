"""Hosts of a cluster are started separately: check that they were given the same options."""

import json
import re
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from any2vec.cluster.communicator import Communicator, SharedError, allgather_bytes
from any2vec.version import __version__

__all__ = ["check_agreement"]

_ADDRESS = re.compile(" at 0x[0-9a-f]+")  # of an object, which is another one on each host
_OF_A_HOST = {"threads", "verbose", "log", "on_round"}
_OWN = {"cache", "start", "pretrained", "frozen", "vocabulary", "kinds"}
"""What is compared elsewhere, and may have other names on other hosts: here, only whether it is given."""


def check_agreement(model: Any, communicator: Communicator, more: Mapping[str, object]) -> None:
    """Compare the parameters of an estimator, and `more` options, before a call depends on one; all hosts call this.

    Raises
    ------
    SharedError
        On all hosts, naming the first option that differs.
    """
    named = {f.name: getattr(model, f.name) for f in fields(model)} | {"checks after each epoch": bool(model.callbacks)}
    mine = {"the estimator": type(model).__name__, "the version of any2vec": __version__}
    for name, value in (named | dict(more)).items():
        if name in _OWN:
            mine[name] = "not given" if value is None else "given"
        elif name not in _OF_A_HOST and name != "callbacks":
            mine[name] = _ADDRESS.sub("", repr(str(value) if isinstance(value, Path) else value))
    given = [json.loads(text) for text in allgather_bytes(communicator, json.dumps(mine).encode())]
    for host, theirs in enumerate(given):
        for name in {**given[0], **theirs}:
            if theirs.get(name) != given[0].get(name):
                values = f"{given[0].get(name)} on host 0, {theirs.get(name)} on host {host}"
                raise SharedError(f"the hosts were given different options: `{name}` is {values}")
