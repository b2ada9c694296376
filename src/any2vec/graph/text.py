"""Bytes of a graph's file in messages."""

import re

__all__ = ["DECIMAL_COMMA", "quoted"]

DECIMAL_COMMA = re.compile(rb"[+-]?[\d.' ]*\d,\d+(,\d+)*")
"""A number as it is written with a decimal comma, or with commas between thousands."""

_SHOWN = 40


def quoted(text: bytes) -> str:
    """Quote bytes of a file on one line, shortened."""
    shown = repr(text.strip()[: 4 * _SHOWN].decode(errors="replace"))[1:-1]
    return f"'{shown}'" if len(shown) <= _SHOWN else f"'{shown[:_SHOWN]}...'"
