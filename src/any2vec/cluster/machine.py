"""Where a host runs: what launchers say in the environment, addresses to listen at, cores, limits of control groups."""

import errno
import json
import os
import platform
import secrets
import socket
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from fractions import Fraction
from ipaddress import ip_address
from pathlib import Path

from any2vec.cluster.communicator import Communicator, allgather_bytes
from any2vec.errors import Any2VecError, shown

MEET = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
_UNMET = ("HOROVOD_SIZE", "MPIRUN_NPROCS", "LOCAL_WORLD_SIZE")
"""Where launchers store a number of processes that say no more: horovodrun, MVAPICH 1, torchrun."""


def told(name: str) -> str:
    """Return what a variable says; nothing if it is not set."""
    return os.environ.get(name, "").strip()


def told_size(name: str) -> int | None:
    """Return the number that a variable holds; None if it holds none."""
    text = told(name)
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else None


def told_number(name: str, low: int, high: int | None = None, why: str = "") -> int:
    """Return a variable that must be a whole number from `low` to `high`; `why` says where the range comes from."""
    found = told_size(name)
    if found is None or found < low or (high is not None and found > high):
        value = f"{shown(told(name))}" if name in os.environ else "not set"
        wanted = f"{low} or more" if high is None else f"from {low} to {high:,}" if low < high else str(low)
        raise Any2VecError(f"{name} is {value} in the environment; it must be a number, {wanted}{why}")
    return found


def check_launcher() -> None:
    """Raise an Any2VecError if the environment says that this process is one of several, but not how they meet.

    Each would train by itself, and write the same file.
    """
    size = told_size("WORLD_SIZE")
    if size == 1:
        return
    given, lacking = ([name for name in MEET if bool(told(name)) is there] for there in (True, False))
    ranked = told_size("RANK") is not None or {"RANK", "WORLD_SIZE"} <= {*given}
    counted = (size or 0) > 1 and not told("SLURM_JOB_ID")  # scripts of Slurm set it for the steps that follow
    if lacking and (ranked or counted):
        named = [name for name in given if name in ("RANK", "WORLD_SIZE")]
        raise Any2VecError(
            f"{' and '.join(named)} {'is' if len(named) == 1 else 'are'} set in the environment, but not "
            f"{' and '.join(lacking)}: set all four of {', '.join(MEET)}, or WORLD_SIZE=1 to train alone"
        )
    for name in _UNMET:
        if (told_size(name) or 0) > 1:
            raise Any2VecError(
                f"{name} is {told(name)} in the environment: several processes were started, but nothing says where "
                "they meet; start them with torchrun, mpiexec or srun, or set WORLD_SIZE=1 to train alone"
            )


_INTERFACE = "GLOO_SOCKET_IFNAME"
_QUEUE = 2048  # hosts that connect at once


def check_interface() -> None:
    """Refuse network interfaces that the user names and this machine has not: gloo would not say so."""
    known = [name for _, name in socket.if_nameindex()]
    for name in filter(None, told(_INTERFACE).split(",")):
        if name not in known:
            raise Any2VecError(f"{_INTERFACE} is {name!r} in the environment; this machine has {', '.join(known)}")


def _is_loopback(address: str) -> bool:
    """Return whether only processes of this machine reach an address; Kubernetes calls the first host so, falsely."""
    if told("KUBERNETES_SERVICE_HOST"):
        return False
    try:
        return address == "localhost" or ip_address(address).is_loopback
    except ValueError:
        return False


def listen_at(address: str, port: int) -> socket.socket | None:
    """Listen at an address only; None if it is no number, or not of this machine: then torch does, at all of them."""
    if address == "localhost" and _is_loopback(address):
        address = "127.0.0.1"
    try:
        kind = socket.AF_INET6 if ip_address(address).version == 6 else socket.AF_INET
    except ValueError:
        return None
    if told("KUBERNETES_SERVICE_HOST") and ip_address(address).is_loopback:
        return None
    found = socket.socket(kind)
    try:
        if os.name == "posix":
            found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind((address, port))
        found.listen(_QUEUE)
    except OSError as error:
        found.close()
        if error.errno == errno.EADDRNOTAVAIL:
            return None
        raise
    return found


def listen_anywhere() -> socket.socket:
    """Listen at all addresses of this machine, at a port that the system chooses."""
    if socket.has_dualstack_ipv6():
        return socket.create_server(("", 0), family=socket.AF_INET6, backlog=_QUEUE, dualstack_ipv6=True)
    return socket.create_server(("", 0), backlog=_QUEUE)


@contextmanager
def among(address: str) -> Iterator[None]:
    """Let gloo listen on the loopback interface in the block, if all hosts are here, unless the user says where."""
    here = _is_loopback(address) or told("LOCAL_WORLD_SIZE") == told("WORLD_SIZE") != ""  # or torchrun says so
    name = next((name for _, name in socket.if_nameindex() if name.startswith("lo")), "")
    if not here or not name or told(_INTERFACE):
        yield
        return
    os.environ[_INTERFACE] = name
    try:
        yield
    finally:
        del os.environ[_INTERFACE]


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
