"""Quantities with units, as a user types them: 10Gbit, 50us, 64G, 2.5EUR; and the machines of a plan."""

import math
import re
from dataclasses import dataclass
from typing import Any, NamedTuple

from any2vec.errors import Any2VecError, shown

_NUMBER = r"([0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]{1,2})?)"
_PREFIXES = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}
_SECONDS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0}
MOST_HOSTS = 4096


class _Price(NamedTuple):
    """What a host costs in an hour, and the currency, if one was given."""

    an_hour: float
    currency: str = ""


def rate(text: str, name: str = "network") -> float:
    """Return the bytes per second of 10Gbit, 200Mbit/s, 25Gbps or 1.25GB/s: b is for bits, B for bytes."""
    usual = "such as 10Gbit (bits) or 1.25GB/s (bytes)"
    value, prefix, unit = _parsed(rf"{_NUMBER} ?([kKmMgGtT]?)(bit|b|B)(?:/s|ps)?", text, name, "a network", usual)
    if not value:
        raise Any2VecError(f"`{name}` is {shown(text)}: nothing could be sent; give what a host can send, {usual}")
    return value * 1000.0 ** _PREFIXES[prefix.lower()] / (1 if unit == "B" else 8)


def duration(text: str, name: str = "latency") -> float:
    """Return the seconds of 50us, 0.1ms or 0s."""
    value, unit = _parsed(rf"{_NUMBER} ?(ns|us|µs|ms|s)", text, name, "a time", "such as 50us or 10ms")
    return value * _SECONDS[unit]


def memory(text: str, name: str = "memory") -> float:
    """Return the bytes of 64G, 64GB or 512MiB: memory comes in powers of 1024."""
    usual = "such as 64G or 512M"
    value, prefix = _parsed(rf"{_NUMBER} ?([kKMGT])(?:i?B)?", text, name, "an amount of memory", usual)
    if not value:
        raise Any2VecError(f"`{name}` is {shown(text)}: nothing fits; give what a host has, {usual}")
    return value * 1024.0 ** _PREFIXES[prefix.lower()]


def price(text: str, name: str = "price") -> _Price:
    """Return the price of 2.5/h, 2.5EUR/h or $2.5/h."""
    pattern = rf"([$€£]|[A-Z]{{3}})? ?{_NUMBER} ?([$€£]|[A-Z]{{3}})?/h"
    found = re.fullmatch(pattern, text.strip())
    if found is None or (found[1] and found[3]) or not math.isfinite(float(found[2])):
        raise Any2VecError(f"`{name}` is {shown(text)}; it must be a price of a host in an hour, such as 2.5/h")
    return _Price(float(found[2]), found[1] or found[3] or "")


def number(text: str, name: str, low: float = 1) -> float:
    """Return a number such as 3.6e9 or 2760000."""
    (value,) = _parsed(_NUMBER, text, name, "a number", "such as 3.6e9")
    if value < low:
        raise Any2VecError(f"`{name}` is {shown(text)}; it must be {low:,} or more")
    return value


def numbers_of_hosts(text: str, name: str = "hosts") -> tuple[int, ...]:
    """Return the numbers of 1,2,4,8, in rising order."""
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isascii() and part.isdigit() and 1 <= int(part) <= MOST_HOSTS for part in parts):
        raise Any2VecError(f"`{name}` is {shown(text)}; it must be numbers from 1 to {MOST_HOSTS:,}, such as 1,8,32")
    return tuple(sorted({int(part) for part in parts}))


def unit_of(seconds: float) -> tuple[float, str]:
    """Return the unit in which a time is shown, in seconds, and its name."""
    return (3600.0, "h") if seconds >= 6000 else (60.0, "min") if seconds >= 100 else (1.0, "s")


def time_text(seconds: float) -> str:
    """Write a time with a unit."""
    unit, name = unit_of(seconds)
    value = seconds / unit
    return f"{value:,.0f} {name}" if value >= 100 else f"{value:.1f} {name}" if value >= 0.05 or not value else "0.0 s"


def _parsed(pattern: str, text: str, name: str, what: str, usual: str) -> Any:
    """Return the parts of a text: its number, then the others."""
    found = re.fullmatch(pattern, text.strip())
    if found is None or not math.isfinite(float(found[1])):
        bare = re.fullmatch(_NUMBER, text.strip())
        raise Any2VecError(f"`{name}` is {shown(text)}{', without a unit' if bare else ''}; it must be {what}, {usual}")
    return float(found[1]), *found.groups()[1:]


PROGRAM = 160 << 20
"""Bytes that the program takes (benchmarks/README.md)."""

_PAYLOAD = 1448 / 1538  # of a frame of Ethernet; the rest is headers of TCP, IP and Ethernet, and the gap


@dataclass(frozen=True)
class Cluster:
    """Machines to rent, all alike."""

    hosts: tuple[int, ...]  # the numbers of hosts to compare
    cores: int  # cores of a host, with a thread each
    bandwidth: float  # bytes per second that a host can send, and receive at the same time
    latency: float  # seconds that a message takes to another host, however short it is
    memory: float = math.inf  # bytes of a host; infinity for no limit
    price: float | None = None  # of a host, by the hour


def seconds_of(sent: float, cluster: Cluster) -> float:
    """Return how long a link takes for so many bytes: a frame of Ethernet has 1,538, of which 1,448 are a message's."""
    return sent / (_PAYLOAD * cluster.bandwidth)
