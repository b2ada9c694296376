"""A network with latency between namespaces: packets wait in this process, as not all kernels have tc-netem."""

import ctypes
import fcntl
import os
import select
import struct
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import Event, Thread

__all__ = ["delay_line"]

_TUNSETIFF, _IFF_TUN, _IFF_NO_PI = 0x400454CA, 0x0001, 0x1000
_MOST = 65536  # bytes of a packet
_DESTINATION = slice(16, 20)  # in an IPv4 header
_POLL = 0.05


@contextmanager
def delay_line(
    names: Sequence[str], device: str, addresses: Sequence[bytes], bandwidth: float, latency: float
) -> Iterator[None]:
    """Give each namespace a TUN device, whose packets come to the others later.

    Parameters
    ----------
    names : sequence of str
        The namespaces.
    device : str
        What the devices are called.
    addresses : sequence of bytes
        IPv4 addresses, of four bytes each.
    bandwidth : float
        Bytes per second that a namespace receives. What it sends is not limited here.
    latency : float
        Seconds that a packet waits.
    """
    with ExitStack() as stack:
        files = [stack.enter_context(open(_tun(name, device), "r+b", buffering=0)) for name in names]
        stop = Event()
        thread = Thread(target=_forward, args=([file.fileno() for file in files], addresses, bandwidth, latency, stop))
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()


def _tun(name: str, device: str) -> int:
    """Open a new TUN device in a namespace."""
    found: list[int] = []

    def make() -> None:  # in a thread, which alone enters the namespace
        library = ctypes.CDLL(None, use_errno=True)
        with Path("/run/netns", name).open() as namespace:
            if library.setns(namespace.fileno(), 0):
                raise OSError(ctypes.get_errno(), f"cannot enter the network namespace {name}")
        found.append(os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC))
        fcntl.ioctl(found[0], _TUNSETIFF, struct.pack("16sH22x", device.encode(), _IFF_TUN | _IFF_NO_PI))

    thread = Thread(target=make)
    thread.start()
    thread.join()
    return found[0]


def _forward(devices: list[int], addresses: Sequence[bytes], bandwidth: float, latency: float, stop: Event) -> None:
    hosts = {address: host for host, address in enumerate(addresses)}
    waiting: list[deque[tuple[float, bytes]]] = [deque() for _ in devices]
    free = [0.0] * len(devices)  # when all that is on its way to a host has come
    while not stop.is_set():
        first = min((queue[0][0] for queue in waiting if queue), default=time.monotonic() + _POLL)
        for device in select.select(devices, [], [], max(first - time.monotonic(), 0.0))[0]:
            packet = os.read(device, _MOST)
            to = hosts.get(packet[_DESTINATION])
            if to is not None:
                free[to] = max(free[to], time.monotonic() + latency) + len(packet) / bandwidth
                waiting[to].append((free[to], packet))
        now = time.monotonic()
        for device, queue in zip(devices, waiting, strict=True):
            while queue and queue[0][0] <= now:
                os.write(device, queue.popleft()[1])
