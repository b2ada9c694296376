"""The machine of a host: how many cores a process may use, and the limits of its control groups."""

import json
import os
import platform
import secrets
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from fractions import Fraction
from pathlib import Path

from any2vec.cluster.communicator import Communicator, allgather_bytes
from any2vec.errors import Any2VecError

_GROUPS, _ROOT = Path("/proc/self/cgroup"), Path("/sys/fs/cgroup")


def core_quotas() -> dict[str, Fraction]:
    """Return how many cores each limited group may keep busy, by a name that all processes in it have for it."""
    found = {}
    for folder, second in control_groups("cpu"):
        with suppress(OSError, ValueError, ZeroDivisionError):  # a group without a limit says "max", or -1
            names = ("cpu.max",) if second else ("cpu.cfs_quota_us", "cpu.cfs_period_us")
            quota, period = " ".join(_read(folder / name) for name in names).split()
            if (cores := Fraction(int(quota), int(period))) > 0:
                place = folder.stat()  # in containers all are called "/"
                found[f"{place.st_dev}:{place.st_ino}"] = cores
    return found


def _threads_left() -> int:
    """Return how many more threads and processes the groups allow; a large number if they do not limit that."""
    left = 1 << 30
    for folder, _ in control_groups("pids"):
        with suppress(OSError, ValueError):
            left = min(left, int(_read(folder / "pids.max")) - int(_read(folder / "pids.current")))
    return max(left, 0)


def control_groups(controller: str) -> Iterator[tuple[Path, bool]]:
    """Yield the folders of this process's group and of those around it, and whether they are of version 2."""
    try:
        lines = _read(_GROUPS).splitlines()
    except OSError:
        return
    for line in lines:
        _, kinds, path = line.split(":", 2)
        if kinds and controller not in kinds.split(","):
            continue
        roots = [_ROOT / kinds, _ROOT / controller] if kinds else [_ROOT, _ROOT / "unified"]
        root = next((root for root in roots if root.is_dir()), None)
        if root is None:
            continue
        folder = root / path.lstrip("/")
        if ".." in folder.parts or not folder.is_dir():  # a container sees its own group as the root
            folder = root
        while True:
            yield folder, not kinds
            if folder == root:
                break
            folder = folder.parent


def _read(path: Path) -> str:
    return path.read_text("ascii", errors="replace").strip()


_BOOT = Path("/proc/sys/kernel/random/boot_id")  # containers of one machine may have other names

_PROCESS = secrets.token_hex(8)  # two containers may give a process the same number


def usable_cores() -> int:
    """Count the processor cores that this process may use, 1 or more: by affinity, and by quotas of control groups.

    Part of a core does not count: a thread that waits for its share keeps the others waiting. No more than half of the
    threads that the groups still allow.
    """
    limits: list[int | Fraction] = [_threads_left() // 2, *core_quotas().values()]
    return max(1, int(min(len(core_ids()), *limits)))


def host_cores(communicator: Communicator) -> int:
    """Return this host's share of its machine's cores, 1 or more; collective. A core of k hosts counts 1/k.

    So does a quota of a control group that they are all in.
    """
    quotas = {group: [cores.numerator, cores.denominator] for group, cores in core_quotas().items()}
    machine, mine = _machine(), core_ids()
    own = json.dumps((machine, mine, quotas)).encode()
    answers = [answer for answer in map(json.loads, allgather_bytes(communicator, own)) if answer[0] == machine]
    hosts = Counter(core for _, cores, _ in answers for core in cores)
    sharing = Counter(group for *_, groups in answers for group in groups)
    shares = [sum(Fraction(1, hosts[core]) for core in mine)]
    shares += [Fraction(*quota) / sharing[group] for group, quota in quotas.items()]
    return max(1, int(min(*shares, _threads_left() // (2 * len(answers)))))


def refused_thread(number: int, wanted: int, option: str) -> Any2VecError:
    """Make the error for a thread that the system does not start, of as many as an `option` asks for."""
    return Any2VecError(
        f"the system starts no more than {number:,} of {wanted:,} threads (ulimit -u, or the limit of a container): "
        f"give a smaller `{option}`"
    )


def hosts_here(communicator: Communicator) -> tuple[int, int, int]:
    """Count the hosts on this one's machine, those of them in its control groups, and in its process; collective."""
    groups = _GROUPS.read_text(encoding="ascii") if _GROUPS.exists() else ""
    mine = [_machine(), groups, f"{os.getpid()} {_PROCESS}"]
    answers = [json.loads(text) for text in allgather_bytes(communicator, json.dumps(mine).encode())]
    machine, group, process = (sum(answer[:n] == mine[:n] for answer in answers) for n in (1, 2, 3))
    return machine, group, process


def _machine() -> str:
    return _BOOT.read_text(encoding="ascii") if _BOOT.exists() else platform.node()


def core_ids() -> list[int]:
    """List the processor cores that this process may run on, by the system's numbers."""
    try:
        return sorted(os.sched_getaffinity(0))
    except AttributeError:  # macOS, Windows
        return list(range(os.cpu_count() or 1))
