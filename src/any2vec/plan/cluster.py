"""The machines that a plan is for."""

import math
from dataclasses import dataclass

__all__ = ["PROGRAM", "Cluster", "seconds_of"]

PROGRAM = 160 << 20
"""Bytes that the program takes (benchmarks/README.md)."""

_PAYLOAD = 1448 / 1538  # of a frame of Ethernet; the rest is headers of TCP, IP and Ethernet, and the gap


@dataclass(frozen=True)
class Cluster:
    """Machines to rent, all alike.

    Attributes
    ----------
    hosts : tuple of int
        The numbers of hosts to compare.
    cores : int
        Cores of a host, with a thread each.
    bandwidth : float
        Bytes per second that a host can send, and receive at the same time.
    latency : float
        Seconds that a message takes to another host, however short it is.
    memory : float
        Bytes of a host; infinity for no limit.
    price : float, optional
        Of a host, by the hour.
    """

    hosts: tuple[int, ...]
    cores: int
    bandwidth: float
    latency: float
    memory: float = math.inf
    price: float | None = None


def seconds_of(sent: float, cluster: Cluster) -> float:
    """Return how long a link takes for so many bytes: a frame of Ethernet has 1,538, of which 1,448 are a message's."""
    return sent / (_PAYLOAD * cluster.bandwidth)
