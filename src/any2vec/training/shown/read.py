"""Read the report of a run, or make it of the log of a run that may still go on."""

import json
from pathlib import Path
from typing import Any

from any2vec.errors import Any2VecError
from any2vec.io.outputs import refusals
from any2vec.io.typed import typed
from any2vec.training.shown.report import Report

__all__ = ["read_report"]


def read_report(path: Path) -> Report:
    """Read what `--report` or `--log` wrote.

    Parameters
    ----------
    path : Path
        A report, or a log, of which the last run is taken, as far as it is.

    Returns
    -------
    Report
        The figures.

    Raises
    ------
    Any2VecError
        If there is no such file, or it holds something else, or is damaged.
    """
    with refusals(path, what="cannot be read"):
        text = path.read_bytes()
    try:
        events = [json.loads(line) for line in _whole_lines(text)] if text.startswith(b'{"event": ') else []
        return _of_log(events) if events else typed(_checked(json.loads(text)), Report)
    except (ValueError, KeyError, TypeError) as error:
        why = "it is not JSON" if isinstance(error, json.JSONDecodeError | UnicodeError) else error
        raise Any2VecError(f"{path}: holds no report of a run: {why}; `report` and `log` write one") from None


def _checked(found: Any) -> dict[str, Any]:
    if not isinstance(found, dict) or not found.keys() >= {"options", "rounds", "vocabulary"}:
        raise ValueError("it has other names")
    return found


def _whole_lines(text: bytes) -> list[bytes]:
    """Return lines that are written to their end: the last may not be yet."""
    return text[: text.rindex(b"\n")].split(b"\n") if b"\n" in text else []


def _of_log(events: list[dict[str, Any]]) -> Report:
    """Put together what the events of the last run say."""
    last = max(number for number, event in enumerate(events) if event["event"] == "start")
    report: Report = typed(_checked(events[last]), Report)
    for event in events[last + 1 :]:
        if event["event"] == "round":
            for name, value in event.items():
                _add(getattr(report.rounds, name, None), value)
            report.rounds.count += 1
            report.seconds["train"] = event["elapsed"]
        elif event["event"] == "epoch":
            figures = {name: value for name, value in event.items() if name not in ("event", "time", "loss")}
            report.loss.append(typed(event["loss"], float))
            report.checks += [figures] if len(figures) > 1 else []
        elif event["event"] == "progress":
            report.words_per_second = event["speed"]
        elif event["event"] == "end":
            vars(report).update(
                vars(typed({**events[last], **event, "rounds": {}}, Report)) | {"rounds": report.rounds}
            )
    return report


def _add(lists: Any, value: Any) -> None:
    """Add a figure to a list, or to each in a dict."""
    if isinstance(lists, list):
        lists.append(typed(value, type(value) if isinstance(value, int) else float))
    elif isinstance(lists, dict):
        for name, one in value.items():
            _add(lists[name], one)
