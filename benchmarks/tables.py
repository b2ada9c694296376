"""What the benchmarks show and write down."""

import json
import os
import platform
import statistics
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

from peers import Settings, cores
from rich.console import Console
from rich.table import Table

import any2vec

__all__ = ["Results", "out", "ratio", "speed_table", "speeds", "table", "verdict", "write"]

Results = dict[str, list[dict[str, Any]]]
"""What each contender's runs gave, a dict a round."""

out = Console(width=None if sys.stdout.isatty() else 140, highlight=False)
"""Standard output."""


def speeds(results: list[dict[str, Any]]) -> list[float]:
    """Words per second of each run."""
    return [result["words_per_second"] for result in results]


def ratio(results: Results, a: str, b: str) -> float | None:
    """Median over the rounds of a's speed in b's; None if one of them was not run."""
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
    """Show a table, its first column to the left."""
    shown = Table(title=title, title_justify="left")
    for k, head in enumerate(heads):
        shown.add_column(head, justify="right" if k else "left")
    for row in rows:
        shown.add_row(*map(_cell, row))
    out.print(shown)


def speed_table(title: str, results: Results, ratios: Sequence[tuple[str, dict[str, str]]]) -> None:
    """Show speeds and, for each head, the ratio to the contender that the dict names."""
    rows = []
    for name, found in results.items():
        found_speeds = speeds(found)
        shown = [ratio(results, name, others[name]) if name in others else None for _, others in ratios]
        rows.append((name, statistics.median(found_speeds), min(found_speeds), max(found_speeds), *shown))
    table(title, ("words/s", "median", "min", "max", *(head for head, _ in ratios)), rows)


def verdict(what: str, value: float | None, bound: float, unit: str = "", least: bool = True) -> None:
    """Say whether a figure reaches what is asked of it; nothing if it was not measured."""
    if value is not None:
        good = value >= bound if least else value <= bound
        sign, state = ("≥" if least else "≤"), ("yes" if good else "NO")
        out.print(f"{state:3}  {what}: {value:,.2f}{unit}, must be {sign} {bound:,.2f}{unit}", soft_wrap=True)


def write(path: Path | None, part: str, settings: Settings, results: Any) -> None:
    """Append the figures of a part, and what they were measured on, to a file; nothing without one."""
    if path is None:
        return
    names = ("gensim", "numpy", "numba", "llvmlite")
    cpuinfo = Path("/proc/cpuinfo")
    model = [line for line in cpuinfo.read_text().splitlines() if "model name" in line] if cpuinfo.exists() else []
    known = {"python": platform.python_version(), "any2vec": any2vec.__version__}
    about = {
        "part": part,
        "date": time.strftime("%Y-%m-%d %H:%M:%S"),
        "machine": platform.platform(),
        "processor": model[0].partition(":")[2].strip() if model else platform.processor(),
        "cores": len(cores()) or os.cpu_count(),
        "versions": known | {name: version(name) for name in names},
        "settings": {k: v for k, v in asdict(settings).items() if k not in ("corpus", "cache")},
    }
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(about | {"results": results}) + "\n")
