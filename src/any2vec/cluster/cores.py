"""How many processor cores a process may use, and its share of them where hosts share a machine."""

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
    """Return this host's share of its machine's cores, 1 or more; collective. A core of k hosts counts 1/k."""
    machine, mine = _machine(), _cores()
    answers = map(json.loads, allgather_bytes(communicator, json.dumps((machine, mine)).encode()))
    hosts = Counter(core for where, cores in answers if where == machine for core in cores)
    return max(1, int(sum(Fraction(1, hosts[core]) for core in mine)))


def _machine() -> str:
    return _BOOT.read_text(encoding="ascii") if _BOOT.exists() else platform.node()


def _cores() -> list[int]:
    try:
        return sorted(os.sched_getaffinity(0))
    except AttributeError:  # macOS, Windows
        return list(range(os.cpu_count() or 1))
