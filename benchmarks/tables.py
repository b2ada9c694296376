"""Tables, targets and files of figures."""

import json
import statistics
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from machine import description
from rich.console import Console
from rich.table import Table

__all__ = ["Results", "out", "ratio", "speed_table", "speeds", "table", "verdict", "write"]

Results = dict[str, list[dict[str, Any]]]
"""Figures of each contender's runs, one dict per round."""

out = Console(width=None if sys.stdout.isatty() else 140, highlight=False)
"""Standard output."""


def speeds(results: list[dict[str, Any]]) -> list[float]:
    """Return the words per second of each run."""
    return [result["words_per_second"] for result in results]


def ratio(results: Results, a: str, b: str) -> float | None:
    """Return the median over the rounds of a's speed divided by b's; None if either was not run."""
    if a not in results or b not in results:
        return None
    return statistics.median(x / y for x, y in zip(speeds(results[a]), speeds(results[b]), strict=True))


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.2f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def table(title: str, heads: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Print a table, its first column left-aligned."""
    shown = Table(title=title, title_justify="left")
    for k, head in enumerate(heads):
        shown.add_column(head, justify="right" if k else "left")
    for row in rows:
        shown.add_row(*map(_cell, row))
    out.print(shown)


def speed_table(title: str, results: Results, ratios: Sequence[tuple[str, dict[str, str]]]) -> None:
    """Print speeds and, per head, the ratio to the contender that the dict names."""
    rows = []
    for name, found in results.items():
        found_speeds = speeds(found)
        shown = [ratio(results, name, others[name]) if name in others else None for _, others in ratios]
        rows.append((name, statistics.median(found_speeds), min(found_speeds), max(found_speeds), *shown))
    table(title, ("words/s", "median", "min", "max", *(head for head, _ in ratios)), rows)


def verdict(what: str, value: float | None, bound: float, unit: str = "", least: bool = True) -> None:
    """Print whether a figure reaches its target; nothing if it was not measured."""
    if value is not None:
        good = value >= bound if least else value <= bound
        sign, state = ("≥" if least else "≤"), ("yes" if good else "NO")
        out.print(f"{state:3}  {what}: {value:,.2f}{unit}, must be {sign} {bound:,.2f}{unit}", soft_wrap=True)


def write(path: Path | None, part: str, settings: Any, results: Any) -> None:
    """Append figures to a file, with the settings (a dataclass) and the machine; nothing without a file."""
    if path is None:
        return
    known = {k: v for k, v in asdict(settings).items() if k not in ("corpus", "cache")}
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps({"part": part, **description(), "settings": known, "results": results}) + "\n")
