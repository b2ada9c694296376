"""At which of this machine's addresses hosts listen: no more than they need.

torch listens at all of them. An address that is given as a number is this machine's own, or the first host's as others
reach it; a name may mean another address here than it does elsewhere.
"""

import errno
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from ipaddress import ip_address

from any2vec.cluster.environment import told
from any2vec.errors import Any2VecError

__all__ = ["among", "check_interface", "is_loopback", "listen_anywhere", "listen_at"]

_INTERFACE = "GLOO_SOCKET_IFNAME"
_QUEUE = 2048  # hosts that connect at once


def check_interface() -> None:
    """Refuse network interfaces that the user names and this machine has not: gloo would not say so."""
    known = [name for _, name in socket.if_nameindex()]
    for name in filter(None, told(_INTERFACE).split(",")):
        if name not in known:
            raise Any2VecError(f"{_INTERFACE} is {name!r} in the environment; this machine has {', '.join(known)}")


def is_loopback(address: str) -> bool:
    """Return whether only processes of this machine reach an address; Kubernetes calls the first host so, falsely."""
    if told("KUBERNETES_SERVICE_HOST"):
        return False
    try:
        return address == "localhost" or ip_address(address).is_loopback
    except ValueError:
        return False


def listen_at(address: str, port: int) -> socket.socket | None:
    """Listen at an address only; None if it is no number, or not of this machine: then torch does, at all of them."""
    if address == "localhost" and is_loopback(address):
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
    here = is_loopback(address) or told("LOCAL_WORLD_SIZE") == told("WORLD_SIZE") != ""  # or torchrun says so
    name = next((name for _, name in socket.if_nameindex() if name.startswith("lo")), "")
    if not here or not name or told(_INTERFACE):
        yield
        return
    os.environ[_INTERFACE] = name
    try:
        yield
    finally:
        del os.environ[_INTERFACE]
