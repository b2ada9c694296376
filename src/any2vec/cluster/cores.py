"""How many processor cores a process may use, and what hosts of one machine share."""

import json
import os
import platform
from collections import Counter
from fractions import Fraction
from pathlib import Path

from any2vec.cluster.communicator import Communicator, allgather_bytes

__all__ = ["core_ids", "host_cores", "hosts_here", "usable_cores"]

_BOOT = Path("/proc/sys/kernel/random/boot_id")  # containers of one machine may have other names

_GROUPS = Path("/proc/self/cgroup")


def usable_cores() -> int:
    """Count the processor cores that this process may run on."""
    return len(core_ids())


def host_cores(communicator: Communicator) -> int:
    """Return this host's share of its machine's cores, 1 or more; collective. A core of k hosts counts 1/k."""
    machine, mine = _machine(), core_ids()
    answers = map(json.loads, allgather_bytes(communicator, json.dumps((machine, mine)).encode()))
    hosts = Counter(core for where, cores in answers if where == machine for core in cores)
    return max(1, int(sum(Fraction(1, hosts[core]) for core in mine)))


def hosts_here(communicator: Communicator) -> tuple[int, int]:
    """Count the hosts on this one's machine, and those of them in its control groups; collective."""
    groups = _GROUPS.read_text(encoding="ascii") if _GROUPS.exists() else ""
    mine = [_machine(), groups]
    answers = [json.loads(text) for text in allgather_bytes(communicator, json.dumps(mine).encode())]
    return sum(answer[0] == mine[0] for answer in answers), sum(answer == mine for answer in answers)


def _machine() -> str:
    return _BOOT.read_text(encoding="ascii") if _BOOT.exists() else platform.node()


def core_ids() -> list[int]:
    """List the processor cores that this process may run on, by the system's numbers."""
    try:
        return sorted(os.sched_getaffinity(0))
    except AttributeError:  # macOS, Windows
        return list(range(os.cpu_count() or 1))
