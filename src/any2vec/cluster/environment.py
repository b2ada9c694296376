"""What launchers say in the environment: numbers of hosts, and the addresses where hosts listen."""

import errno
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from ipaddress import ip_address

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
