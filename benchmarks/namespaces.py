"""Hosts on one machine with a network between them: network namespaces on a bridge, their links limited by tc.

Needs Linux, root, and iproute2's `ip` and `tc`. The machine's own network is not touched: the bridge has a namespace of
its own, and all goes with the namespaces.
"""

import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import typer
from delay_line import delay_line

__all__ = ["DEVICE", "address", "bytes_sent", "check", "network", "run"]

DEVICE = "e0"
"""The network device of each host."""

_BURST, _QUEUE = "128kb", "500ms"  # what a link passes at once, and how long packets may wait for it
_JUMBO = "9000"  # bytes of a packet, where each goes through this process
_PORT = "29500"
_PATIENCE = 10.0  # seconds to end
_ENTER = """#!/bin/sh
while [ "${1#-}" != "$1" ]; do shift; done  # options of ssh
name=$1
shift
exec ip netns exec "$name" sh -c "$*"
"""


def check() -> None:
    """Refuse what cannot work, in a line."""
    missing = [name for name in ("ip", "tc") if shutil.which(name) is None]
    if missing or not sys.platform.startswith("linux"):
        raise typer.BadParameter(f"no {' and no '.join(missing or ['Linux'])}: network namespaces need iproute2")
    if os.geteuid():
        raise typer.BadParameter("network namespaces need root: start this with sudo")


def address(host: int) -> str:
    """Return the address of a host."""
    return f"10.9.{host // 250}.{host % 250 + 1}"


@contextmanager
def network(hosts: int, bandwidth: float, latency: float = 0.0) -> Iterator[list[str]]:
    """Make namespaces that are hosts, and remove them at the end.

    Parameters
    ----------
    hosts : int
        How many.
    bandwidth : float
        Bytes per second of each link, in each direction.
    latency : float
        Seconds that a packet is on its way to another host; its answer takes as long.

    Yields
    ------
    list of str
        The names of the namespaces.
    """
    names = [f"any2vec-{os.getpid()}-{number}" for number in range(hosts)]
    limit = ("tbf", "rate", f"{8 * bandwidth:.0f}bit", "burst", _BURST, "latency", _QUEUE)
    with ExitStack() as stack:
        for name in names:
            stack.enter_context(_namespace(name))
        if latency:
            addresses = [socket.inet_aton(address(host)) for host in range(hosts)]
            stack.enter_context(delay_line(names, DEVICE, addresses, bandwidth, latency))
        else:
            _connect(names, stack.enter_context(_namespace(f"any2vec-{os.getpid()}-switch")), limit)
        for host, name in enumerate(names):
            _do("ip", "-n", name, "addr", "add", f"{address(host)}/16", "dev", DEVICE)
            _do("ip", "-n", name, "link", "set", DEVICE, "up", *(("mtu", _JUMBO) if latency else ()))
            _do("tc", "-n", name, "qdisc", "add", "dev", DEVICE, "root", *limit)
        yield names


@contextmanager
def _namespace(name: str) -> Iterator[str]:
    _do("ip", "netns", "add", name)
    try:
        _do("ip", "-n", name, "link", "set", "lo", "up")
        yield name
    finally:
        _do("ip", "netns", "delete", name)


def _connect(names: Sequence[str], switch: str, limit: Sequence[str]) -> None:
    """Give each host a device that a bridge in the namespace `switch` connects with the others."""
    _do("ip", "-n", switch, "link", "add", "bridge", "type", "bridge")
    _do("ip", "-n", switch, "link", "set", "bridge", "up")
    for host, name in enumerate(names):
        port = f"p{host}"
        _do("ip", "-n", switch, "link", "add", port, "type", "veth", "peer", "name", DEVICE, "netns", name)
        _do("ip", "-n", switch, "link", "set", port, "master", "bridge", "up")
        _do("tc", "-n", switch, "qdisc", "add", "dev", port, "root", *limit)


def run(names: Sequence[str], command: Sequence[str], environment: dict[str, str], engine: str = "gloo") -> list[str]:
    """Run a command on all hosts at once; if one fails, end the others.

    Parameters
    ----------
    names : sequence of str
        The namespaces.
    command : sequence of str
        Program and arguments.
    environment : dict from str to str
        What the program finds besides this one's.
    engine : {"gloo", "mpi"}
        How it is started: with the variables of torchrun, or by MPICH's mpiexec.

    Returns
    -------
    list of str
        What each host printed; of MPI, what all printed.
    """
    known = os.environ | environment | {"OMP_NUM_THREADS": "1"}
    if engine == "mpi":
        with TemporaryDirectory() as folder:
            return _wait([_mpiexec(names, command, known, Path(folder, "enter"))])
    known |= {"WORLD_SIZE": str(len(names)), "MASTER_ADDR": address(0), "MASTER_PORT": _PORT}
    known |= {"GLOO_SOCKET_IFNAME": DEVICE, "TORCH_CPP_LOG_LEVEL": "FATAL"}
    return _wait([(_in(name, command), known | {"RANK": str(host)}) for host, name in enumerate(names)])


def _in(name: str, command: Sequence[str]) -> list[str]:
    return ["ip", "netns", "exec", name, *command]


def _mpiexec(
    names: Sequence[str], command: Sequence[str], environment: dict[str, str], enter: Path
) -> tuple[list[str], dict[str, str]]:
    """Return how MPICH starts a rank in each namespace: by a program in the place of ssh. None shares memory."""
    enter.write_text(_ENTER)
    enter.chmod(0o700)
    own = Path(sys.executable).with_name("mpiexec")
    launch = ["-launcher", "ssh", "-launcher-exec", str(enter), "-iface", DEVICE, "-hosts", ",".join(names)]
    mpiexec = [str(own) if own.exists() else "mpiexec", "-genvall", *launch, "-n", str(len(names)), "-ppn", "1"]
    apart = {"MPIR_CVAR_NOLOCAL": "1", "UCX_TLS": "tcp", "UCX_NET_DEVICES": DEVICE}
    apart |= {"FI_PROVIDER": "tcp", "FI_TCP_IFACE": DEVICE}
    return _in(names[0], [*mpiexec, *command]), environment | apart


def _wait(commands: Sequence[tuple[list[str], dict[str, str]]]) -> list[str]:
    """Run processes, and return what each printed; whatever happens, none is left."""
    started: list[subprocess.Popen[str]] = []
    try:
        for command, environment in commands:
            started.append(subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True))
        said = [process.communicate()[0] for process in started]
        if any(process.returncode for process in started):
            raise SystemExit(f"hosts ended with status {[process.returncode for process in started]}")
        return said
    finally:
        for process in started:
            if process.poll() is None:
                process.terminate()  # mpiexec ends its ranks
                with suppress(subprocess.TimeoutExpired):
                    process.wait(_PATIENCE)
                process.kill()
                process.wait()


def bytes_sent(name: str) -> int:
    """Return the bytes that a host has sent over its device so far, headers included."""
    path = Path("/sys/class/net", DEVICE, "statistics", "tx_bytes")
    return int(_do("ip", "netns", "exec", name, "cat", str(path)))


def _do(*command: str) -> str:
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    if ran.returncode:
        raise typer.BadParameter(f"`{' '.join(command)}` failed: {' '.join(ran.stderr.split())}")
    return ran.stdout
