"""The machines that a plan is for."""

import math
from dataclasses import dataclass

__all__ = ["Cluster"]


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
