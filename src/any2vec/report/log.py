"""The log of a run while it runs: lines of JSON, each the figures of an event."""

import errno
import json
import math
import os
import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from any2vec.errors import Any2VecError, shown
from any2vec.io.inputs import open_regular
from any2vec.io.outputs import Kind, check_writable, refusals
from any2vec.options import typed
from any2vec.report import Report, plain, without_nan
from any2vec.report.rounds import BY_HOST, PHASES, Rounds, lists_of

OnRound = Callable[[dict[str, Any]], None]
"""Called after each round with its figures: by the names of `report.rounds.Rounds`, `round`, its number, from 1, and
`sample`, the threshold of subsampling: 0 where training began again without it, so that rounds before do not count.
"""

_SECONDS_BETWEEN_LINES = 10.0
_TORN = b'{"event": "start", "time": '
"""How the first line of a log begins, also if the rest is lost."""


class RunLog:
    """Keeps figures while a run goes on: adds lines to a file, calls the user's function, says what cannot be kept."""

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
        if event == "start" and _is_torn(self._path):
            text = b"\n" + text

        def at_once(path: str, flags: int) -> int:  # of a FIFO that nobody reads, this fails
            return os.open(path, flags | getattr(os, "O_NONBLOCK", 0), 0o666)

        try:
            with open(self._path, "ab", buffering=0, opener=at_once) as file:
                if file.write(text) != len(text):  # at once, as other runs may write to it
                    raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
        except OSError as error:
            self._say(f"{self._path}: {os.strerror(error.errno or 0)}: the log ends here; training goes on")
            self._path = None


def check_log(path: Path) -> None:
    """Raise now if lines could not be added to a log, or it holds something else."""
    try:
        check_writable(path, _LOG)
    except Any2VecError as error:
        what, holds_else, _ = str(error).partition("; give another name")
        raise Any2VecError(f"{what}; give a new name" if holds_else else what) from None


def _holds_log(path: Path) -> bool:
    with path.open("rb") as file:
        line = file.readline(1 << 20)
    with suppress(RecursionError, ValueError):
        first = json.loads(line)
        return isinstance(first, dict) and first.get("event") == "start" and "any2vec" in str(first.get("versions"))
    return line.startswith(_TORN)


def _is_torn(path: Path) -> bool:
    """Return whether a power cut or a full disk has cut the last line of a log."""
    with suppress(OSError), open_regular(path) as file:
        file.seek(-1, os.SEEK_END)  # an error if it is empty
        return file.read() != b"\n"
    return False


_LOG = Kind("the log of a run", _holds_log)


_MOST = 2**63 - 1
"""Of what is counted."""
_MOST_EPOCHS = 1_000_000
"""Of the option."""


def read_report(path: Path) -> Report:
    """Read what `--report` or `--log` wrote; of a log the last run, as far as it is."""
    with refusals(path, what="cannot be read"):
        text = path.read_bytes()
    try:
        is_log = text.startswith(b'{"event": ')
        report = _of_log(_events(text)) if is_log else _of_figures(json.loads(text))
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        known = isinstance(error, ValueError) and not isinstance(error, json.JSONDecodeError | UnicodeError)
        why = error if known else "it is damaged" if is_log else "it is not JSON, or damaged"
        raise Any2VecError(f"{path}: holds no report of a run: {why}; --report and --log write one") from None
    return report


def as_report(report: Any) -> Report:
    """Return what a user gives as a report: an estimator's `report_`, its dict, or a path as of `read_report`."""
    if isinstance(report, Report):
        return report
    if isinstance(report, Path):
        return read_report(report)
    wanted = "it must be an estimator's `report_`, or the file of a report or of a log"
    try:
        return _of_figures(report)
    except ValueError as error:
        raise Any2VecError(f"`report` is {shown(report)}: {error}; {wanted}") from None


def _typed(found: Any) -> Report:
    if not isinstance(found, dict) or not found.keys() >= {"options", "rounds", "vocabulary"}:
        raise ValueError("it has other names")
    return typed(found, Report)


def _of_figures(found: Any) -> Report:
    """Return a report; raise a ValueError if rounds lack figures, checks their epochs, or numbers are no figures."""
    report = _typed(found)
    rounds = report.rounds
    found = {name: lists_of(value) for name, value in vars(rounds).items() if name not in ("count", "each", "by_host")}
    since = [name for name in ("largest", "waited", "hidden") if found[name] == [[]]]  # earlier versions had none
    if {len(values) for name in found.keys() - since for values in found[name]} != {len(rounds.epochs)}:
        raise ValueError("its rounds have lists of several lengths")
    if not rounds.seconds.keys() & rounds.slowest.keys() >= set(PHASES):
        raise ValueError("its rounds lack a phase")
    of = {len(rounds.by_host.get(name, [])) for name in BY_HOST}
    if rounds.by_host and of != {report.hosts}:
        raise ValueError("its rounds have figures of other hosts")
    if not all("epoch" in check for check in report.checks):
        raise ValueError("a check has no epoch")
    if any(abs(number) > _MOST for number in _numbers(vars(report) | {"rounds": vars(rounds), "options": None})):
        raise ValueError("a number is too large")
    return report


def _numbers(value: Any) -> Iterator[float]:
    if isinstance(value, dict | list):
        for one in value.values() if isinstance(value, dict) else value:
            yield from _numbers(one)
    elif isinstance(value, int | float):
        yield value


def _events(text: bytes) -> list[dict[str, Any]]:
    """Return the events of lines that are whole: the last may not be yet, and a full disk cuts others."""
    found = []
    for line in text.split(b"\n"):
        with suppress(ValueError):
            found.append(json.loads(line))
    return found


def _of_log(events: list[dict[str, Any]]) -> Report:
    """Put together what the events of the last run say."""
    starts = [number for number, event in enumerate(events) if event["event"] == "start"]
    if not starts:
        raise ValueError("it does not have the start of a run")
    last = starts[-1]
    report = _typed(events[last])
    of_it = [event for event in events[last + 1 :] if event.get("run_id") == events[last].get("run_id")]
    for event in of_it:  # earlier versions wrote no ids
        if event["event"] == "round":
            report.rounds.add_by_host(event.pop("by_host", {}))
            for name, value in event.items():
                _add(getattr(report.rounds, name, None), value)
            report.rounds.count += 1
            report.seconds["train"] = event["elapsed"]
        elif event["event"] == "epoch":
            own = "event", "time", "loss", "held_out", "run_id"
            figures = {name: value for name, value in event.items() if name not in own}
            if event["epoch"] > min(report.options["epochs"], _MOST_EPOCHS):
                raise ValueError("it has more epochs than its options, or than there can be")
            report.loss += [math.nan] * (event["epoch"] - 1 - len(report.loss))  # those before a run was resumed
            report.loss.append(event["loss"])
            report.held_out += [event["held_out"]] if "held_out" in event else []
            report.checks += [figures] if len(figures) > 1 else []
        elif event["event"] == "again":  # without subsampling
            report.rounds = Rounds()
        elif event["event"] == "progress":
            report.words_per_second = event["speed"]
        elif event["event"] == "end":
            vars(report).update(
                vars(typed({**events[last], **event, "rounds": {}}, Report)) | {"rounds": report.rounds}
            )
    return _of_figures(vars(report) | {"rounds": vars(report.rounds)})


def _add(lists: Any, value: Any) -> None:
    """Add a figure to a list, or to each in a dict."""
    if isinstance(lists, list):
        lists.append(value)
    elif isinstance(lists, dict):
        for name, one in value.items():
            _add(lists[name], one)
