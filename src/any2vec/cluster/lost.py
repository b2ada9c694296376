"""How long a host waits for the others, and the error when they do not come."""

import math
import os
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from any2vec.errors import Any2VecError, shown

__all__ = ["DamagedError", "LostHostError", "checked_counts", "time_limit"]

_VARIABLE = "ANY2VEC_TIMEOUT"
_SHORTEST, _LONGEST = 1e-3, 2_000_000.0  # gloo counts milliseconds, in 31 bits
_MOST = 1 << 48  # rows


class LostHostError(Any2VecError):
    """Other hosts ended, or did not join in a collective call within the time limit; they cannot be asked why."""

    @classmethod
    def late(cls, hosts: list[int], seconds: float) -> Self:
        """Make the error for hosts, if it is known which, that have not joined in for so many seconds."""
        who = ", ".join(map(str, hosts[:8])) + (" and others" if len(hosts) > 8 else "")
        whose = f"hosts {who} have" if len(hosts) > 1 else f"host {who} has" if hosts else "a host has"
        return cls(
            f"{whose} not joined in for {seconds:,.0f} seconds: stopped, cut off, or very slow ({_VARIABLE} in the "
            "environment sets the limit)"
        )


class DamagedError(LostHostError):
    """Another host sent numbers that cannot be; to use them would damage this one's memory."""

    @classmethod
    def of(cls, host: int, what: str) -> Self:
        """Make the error for what a host sent."""
        return cls(f"host {host} sent {what}: it runs another version of any2vec, or messages are damaged on their way")


def checked_counts(counts: NDArray[Any], what: str = "a number of rows") -> NDArray[Any]:
    """Return the counts that each host sent, the first axis, if they can be; raise a DamagedError if not."""
    wrong = (counts < 0) | (counts > _MOST)
    if wrong.any():
        host = int(np.argwhere(wrong)[0][0])
        raise DamagedError.of(host, f"{counts[wrong][0]} as {what}")
    return counts


def time_limit() -> float:
    """Return how many seconds a host waits for others in a call: ``$ANY2VEC_TIMEOUT``, or half an hour."""
    text = os.environ.get(_VARIABLE, "1800")
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not _SHORTEST <= seconds <= _LONGEST:
        raise Any2VecError(
            f"{_VARIABLE} is {shown(text)} in the environment; it must be a positive number of seconds, "
            f"from {_SHORTEST} to {_LONGEST:,.0f}"
        )
    return seconds
