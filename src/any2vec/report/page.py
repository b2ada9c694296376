"""The page of a run: its report in one file of HTML, with figures, that needs no network."""

import re
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any

from any2vec.errors import counted
from any2vec.io.outputs import check_writable, replacing_file
from any2vec.io.replaceable import Kind, start_of
from any2vec.io.shown import size, table
from any2vec.plot.figure import rendered
from any2vec.report.figures import figure_of, panels
from any2vec.report.report import Report, decimals
from any2vec.report.slowest import slowest_lines, transfer

__all__ = ["PAGE", "facts", "write_page"]

_MARK = b'<meta name="generator" content="any2vec report">'
_HEAD = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
{mark}
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
body {{ font: 16px/1.5 system-ui, sans-serif; margin: 0 auto; max-width: 1200px; padding: 1rem; color: #222; }}
h1 {{ font-size: 1.5rem; overflow-wrap: anywhere; }}
h2 {{ font-size: 1.1rem; margin: 0; }}
p {{ margin: 0.2rem 0 0.6rem; color: #555; font-size: 0.9rem; }}
table {{ border-collapse: collapse; font-size: 0.9rem; }}
td {{ padding: 0.15rem 1rem 0.15rem 0; vertical-align: top; overflow-wrap: anywhere; }}
td:first-child {{ color: #555; white-space: nowrap; }}
summary {{ cursor: pointer; margin-top: 1rem; }}
main {{ display: grid; gap: 2rem 3rem; margin-top: 1.5rem; }}
main {{ grid-template-columns: repeat(auto-fit, minmax(min(100%, 26rem), 1fr)); }}
svg {{ width: 100%; height: auto; }}
</style>
</head>
<body>
<h1>{title}</h1>
"""


def write_page(report: Report, path: Path, title: str, *, force: bool = False) -> None:
    """Write a report as a page; an earlier page is replaced, and with `force` also what is none."""
    check_writable(path, PAGE, force=force)
    text = "".join(_parts(report, title))
    with replacing_file(path) as file:
        file.write(text.encode())


def _parts(report: Report, title: str) -> Iterator[str]:
    yield _HEAD.format(mark=_MARK.decode(), title=escape(title))
    yield table(facts(report))
    yield "<details><summary>Options</summary>" + table((name, _shown(value)) for name, value in report.options.items())
    yield "</details>\n<main>\n"
    for number, panel in enumerate(panels(report)):
        title, note = escape(panel.title), escape(panel.note)
        yield f"<section><h2>{title}</h2><p>{note}</p>{_svg(figure_of(panel), number)}</section>\n"
    yield "</main>\n</body>\n</html>\n"


def facts(report: Report) -> Iterator[tuple[str, str]]:
    """Yield names and texts of a run's main figures."""
    yield "words", f"{report.words:,}, {report.kept_words:,} of them in the vocabulary"
    yield "vocabulary", f"{report.vocabulary:,}"
    if report.threads:  # else training goes on
        each, rounds = counted(report.threads, "thread"), counted(report.round_count, "round")
        yield "hosts", f"{report.hosts:,} of {each}, {rounds} per epoch" if report.hosts > 1 else f"one, of {each}"
    if report.scheme:
        yield "scheme", report.scheme
    yield "speed", f"{report.words_per_second:,.0f} words/s"
    yield (
        "loss",
        f"{decimals(report.loss[-1])} in epoch {len(report.loss):,}, the last" if report.loss else "no epoch has ended",
    )
    if report.checks:
        yield (
            "checks",
            ", ".join(f"{name} {value:,.4g}" for name, value in report.checks[-1].items() if name != "epoch"),
        )
    yield "seconds", ", ".join(f"{name} {value:,.1f}" for name, value in report.seconds.items())
    yield "peak memory", size(report.peak_memory) if report.peak_memory else "unknown"
    yield from _parts_of(report)
    sent = sum(map(sum, report.rounds.bytes.values()))
    if sent:
        yield "sent", f"{size(sent)} by all hosts, in {len(report.rounds):,} rounds"
    if any(report.rounds.waited):
        sending, waited, hidden = map(sum, (transfer(report), report.rounds.waited, report.rounds.hidden))
        what = f"transfer {sending:,.1f} s, waiting for slower hosts {waited:,.1f} s"
        yield "communication", f"each host: {what}; {hidden:,.1f} s more were hidden behind other work"
    for line in slowest_lines(report):
        yield "slowest host", line
    if report.interrupted:
        yield "state", "stopped early"
    if report.machine:
        yield "machine", report.machine
        yield "versions", ", ".join(f"{name} {one}" for name, one in report.versions.items())


def _parts_of(report: Report) -> Iterator[tuple[str, str]]:
    """Yield what memory is for, and time within training."""
    if report.memory:
        yield "memory by part", ", ".join(f"{name} {size(held)}" for name, held in report.memory.items())
    if report.read_bytes:
        yield "sent to read", size(report.read_bytes)
    if report.walk_bytes:
        yield "sent to walk", size(report.walk_bytes)
    if report.walking:
        yield "walks in training", f"{report.walking:,.1f} s of the processor"


def _shown(value: Any) -> str:
    return "" if value is None else str(value)


def _svg(figure: Any, number: int) -> str:
    """Return a figure as SVG to put into a page, with names of its own."""
    text = rendered(figure, "svg", "any2vec report").decode()
    text = text[text.index("<svg") :]
    text = re.sub(r' (?:width|height)="[\d.]+pt"', "", text, count=2)
    return re.sub(r'(id="|url\(#|xlink:href="#)', rf"\g<1>p{number}-", text)


PAGE = Kind("the page of a run", lambda path: _MARK in start_of(path, 1000)[0])
