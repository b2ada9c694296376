"""How many processor cores a process, or a host among others on its machine, may use."""

import json
import os
import platform
from collections import Counter
from fractions import Fraction
from pathlib import Path

from any2vec.cluster.communicator import Communicator, allgather_bytes

__all__ = ["host_cores", "usable_cores"]

_BOOT = Path("/proc/sys/kernel/random/boot_id")  # containers of one machine may have other names


def usable_cores() -> int:
    """Count the processor cores that this process may run on."""
    return len(_cores())


def host_cores(communicator: Communicator) -> int:
    """Give this host's share of its machine's cores, where launchers put several hosts on one; all hosts must ask.

    Parameters
    ----------
    communicator : Communicator
        This host's.

    Returns
    -------
    int
        1 or more. A core that k hosts may run on counts as one k-th.
    """
    machine, mine = _machine(), _cores()
    told = map(json.loads, allgather_bytes(communicator, json.dumps((machine, mine)).encode()))
    hosts = Counter(core for where, cores in told if where == machine for core in cores)
    return max(1, int(sum(Fraction(1, hosts[core]) for core in mine)))


def _machine() -> str:
    return _BOOT.read_text(encoding="ascii") if _BOOT.exists() else platform.node()


def _cores() -> list[int]:
    try:
        return sorted(os.sched_getaffinity(0))
    except AttributeError:  # macOS, Windows
        return list(range(os.cpu_count() or 1))
