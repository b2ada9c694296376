"""Bytes of a graph's file in messages."""

import re

from any2vec.errors import counted

__all__ = ["DECIMAL_COMMA", "HEADER", "only_comments", "quoted", "skipped_comments"]

DECIMAL_COMMA = re.compile(rb"[^\w,;|]*[\d.,' ]*,\d+(\.\d+)?([eE][+-]?\d+)?[^\w,;|]*")
"""A number as it is written with a decimal comma, or with commas between thousands, also with signs such as % or $."""

HEADER = "if it is a header, `header=True` skips it"

_SHOWN = 40


def quoted(text: bytes) -> str:
    """Quote bytes of a file on one line, shortened."""
    shown = repr(text.strip()[: 4 * _SHOWN].decode(errors="replace"))[1:-1]
    return f"'{shown}'" if len(shown) <= _SHOWN else f"'{shown[:_SHOWN]}...'"


def only_comments(count: int, comments: str) -> str:
    """Say for an error that all lines of a file are comments, if there are such."""
    if not count:
        return ""
    begin = f"{counted(count, 'line')} {'begins' if count == 1 else 'begin'} with {' or '.join(comments)}"
    return f"{begin}, as comments do (`comments` '' reads them); "


def skipped_comments(name: str, count: int, what: str, where: str, comments: str) -> list[str]:
    """Say for a warning that lines after the first `what` were skipped, if there are such."""
    if not count:
        return []
    begin, were = ("begins", "was") if count == 1 else ("begin", "were")
    lines = f"{counted(count, 'line')} after the first{what} {begin}"
    return [f"{name}: {lines} with {' or '.join(comments)}{where}, and {were} skipped as comments"]
