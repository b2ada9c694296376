"""The log of a run while it runs: lines of JSON, each the figures of an event."""

import errno
import json
import os
import secrets
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from any2vec.errors import Any2VecError
from any2vec.io.outputs import check_writable
from any2vec.io.replaceable import Kind
from any2vec.report.report import plain, without_nan

__all__ = ["OnRound", "RunLog", "check_log"]

OnRound = Callable[[dict[str, Any]], None]
"""Called after each round with its figures: by the names of `report.rounds.Rounds`, `round`, its number, from 1, and
`sample`, the threshold of subsampling: 0 where training began again without it, so that rounds before do not count.
"""

_SECONDS_BETWEEN_LINES = 10.0


class RunLog:
    """Keeps figures while a run goes on: in a file, and by a function of the user's.

    Parameters
    ----------
    path : Path, optional
        The file, to which lines are added.
    on_round : function, optional
        Called after each round.
    say : function
        Says that the file cannot be written any more.
    """

    def __init__(self, path: Path | None, on_round: OnRound | None, say: Callable[[str], None]) -> None:
        self._path, self._on_round, self._say = path, on_round, say
        self._last, self._id = time.monotonic(), secrets.token_hex(8)

    def __call__(self, event: str, figures: dict[str, Any]) -> None:
        """Keep the figures of an event; of progress, every ten seconds, as a round may take hours."""
        now = time.monotonic()
        if event != "progress" or now - self._last >= _SECONDS_BETWEEN_LINES:
            self._last = now
            self._write(event, figures)
        if event == "round" and self._on_round:
            self._on_round(figures)

    def _write(self, event: str, figures: dict[str, Any]) -> None:
        """Add a line; if that fails, training goes on."""
        if self._path is None:
            return
        line = {"event": event, "time": time.time(), **without_nan(figures), "run_id": self._id}
        text = json.dumps(line, default=plain, allow_nan=False).encode() + b"\n"
        try:
            with open(self._path, "ab", buffering=0, opener=_without_waiting) as file:
                if file.write(text) != len(text):  # at once, as other runs may write to it
                    raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
        except OSError as error:
            self._say(f"{self._path}: {os.strerror(error.errno or 0)}: the log ends here; training goes on")
            self._path = None


def _without_waiting(path: str, flags: int) -> int:
    """Open a file; of a FIFO that nobody reads, this fails at once."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0), 0o666)


def check_log(path: Path) -> None:
    """Raise now if lines could not be added to a log, or it holds something else."""
    try:
        check_writable(path, LOG)
    except Any2VecError as error:
        what, holds_else, _ = str(error).partition("; give another name")
        raise Any2VecError(f"{what}; give a new name" if holds_else else what) from None


def _holds_log(path: Path) -> bool:
    with path.open("rb") as file:
        line = file.readline(1 << 20)
    try:
        first = json.loads(line)
    except (RecursionError, ValueError):
        return False
    return isinstance(first, dict) and first.get("event") == "start" and "any2vec" in str(first.get("versions"))


LOG = Kind("the log of a run", _holds_log)
