"""How long a host waits for the others, and the error when they do not come."""

import math
import os
from typing import Self

from any2vec.errors import Any2VecError, shown

__all__ = ["LostHostError", "time_limit"]

_VARIABLE = "ANY2VEC_TIMEOUT"


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


def time_limit() -> float:
    """Return how many seconds a host waits for others in a call: ``$ANY2VEC_TIMEOUT``, or half an hour.

    Raises
    ------
    Any2VecError
        If the variable is not a positive number.
    """
    text = os.environ.get(_VARIABLE, "1800")
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0 < seconds < math.inf:
        raise Any2VecError(f"{_VARIABLE} is {shown(text)} in the environment; it must be a positive number of seconds")
    return seconds
