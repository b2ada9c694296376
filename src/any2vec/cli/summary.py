"""The end of a run: rounds, speed, where the vectors are, neighbours of a few words, and what to do next."""

import io
from collections.abc import Iterator
from pathlib import Path
from shlex import quote

import numpy as np
from rich.table import Table

from any2vec.corpus import Vocabulary
from any2vec.errors import counted
from any2vec.io.shown import Console
from any2vec.models import Estimator
from any2vec.report.report import Report, decimals
from any2vec.report.rounds import PHASES
from any2vec.report.slowest import slowest_lines
from any2vec.training.shown.progress import Display, Quiet
from any2vec.vectors.vectors import Vectors

__all__ = ["say_summary"]

_SHOWN, _NEIGHBOURS = 3, 5  # words, and neighbours of each
_COMPARED = 50_000  # most frequent words that neighbours are looked for in: some milliseconds
_FEWEST = 20  # words that have neighbours worth a look
_MOST_FREQUENT = 1 / 2000  # share of a text; words above it, such as "the", are next to everything
_SHORTEST = 4  # characters of a word that says something


def say_summary(
    display: Display, model: Estimator, output: Path, what: str, *, of: str = "", verbose: bool = False
) -> None:
    """Say how a run was; `what` it wrote to the output, vectors or classes, and `of` what, if not of all words."""
    if not isinstance(display, Quiet):  # neighbours take some milliseconds
        for line in _summary(model, output, what, of, verbose):
            display.say(line)


def _summary(model: Estimator, output: Path, what: str, of: str, verbose: bool) -> Iterator[str]:
    report = model.report_
    if report.hosts > 1 and len(report.rounds):
        yield _rounds_table(report) if verbose else _rounds_in_short(report)
        yield from slowest_lines(report)
    seconds = "".join(f"{name} {value:.1f} s, " for name, value in report.seconds.items() if value >= 0.05)
    yield (
        f"{report.words_per_second:,.0f} words/s on {_machinery(report)}; {seconds}"
        f"peak memory {report.peak_memory / 2**20:,.0f} MiB"
    )
    state = "stopped early; the partly trained" if report.interrupted else "the"
    going_on = f"; go on with --resume {model.checkpoint}" if report.interrupted and report.kept else ""
    yield f"{state} {what} of {of or f'{report.vocabulary:,} {model.kind}'} are in {output}{going_on}"
    if what == "vectors" and not of and report.vocabulary == len(model.vectors_) >= _FEWEST:  # all are on this host
        yield from _neighbours(model.vectors_, model.kind, output)


def _neighbours(vectors: Vectors, kind: str, output: Path) -> Iterator[str]:
    """Yield a line for each of a few words, and the command that shows more."""
    first = min(len(vectors), _COMPARED)
    frequent = Vectors(Vocabulary(vectors.vocabulary.words[:first], vectors.counts[:first]), vectors.matrix[:first])
    words = _telling(vectors, kind)
    width = max(map(len, words))
    for word in words:
        near = ", ".join(other for other, _ in frequent.most_similar(word, topn=_NEIGHBOURS))
        yield f"  {word:{width}}  {near}"
    yield f"next: any2vec similar {quote(str(output))} {quote(words[0])}"


def _telling(vectors: Vectors, kind: str) -> list[str]:
    """Return a few frequent words whose neighbours say something, or the vertices that occur most often."""
    words = vectors.vocabulary.words[:_COMPARED]
    if kind != "words":
        return list(words[:_SHOWN])
    rare = vectors.counts[:_COMPARED] <= _MOST_FREQUENT * vectors.counts.sum()
    long = [word.isalpha() and len(word) >= _SHORTEST for word in words]
    for telling in (rare & long, long):
        chosen = [words[i] for i in np.flatnonzero(telling)[:_SHOWN]]
        if len(chosen) == _SHOWN:
            return chosen
    return list(words[:_SHOWN])


def _machinery(report: Report) -> str:
    threads = counted(report.threads, "thread")
    if report.hosts == 1:
        return threads
    return f"{report.hosts} hosts of {threads}, {counted(report.round_count, 'round')} per epoch"


def _rounds_in_short(report: Report) -> str:
    """Describe rounds in two lines: seconds by phase, and what was sent."""
    rounds, n = report.rounds, len(report.rounds)
    phases = ", ".join(f"{phase} {sum(rounds.seconds[phase]):.1f} s" for phase in PHASES if any(rounds.slowest[phase]))
    if waited := sum(rounds.waited):
        phases += f" ({waited:.1f} s of it waiting for slower hosts)"
    sent = sum(map(sum, rounds.bytes.values())) / 1e6
    return (
        f"{report.hosts} hosts, {counted(n, 'round')}; each host: {phases}\n"
        f"sent by all hosts: {sent:,.1f} MB, {sent / n:.3f} MB per round (--verbose shows more)"
    )


def _rounds_table(report: Report) -> str:
    """Lay out seconds, bytes, and rows and orthogonality or updates: mean per round and sum over all."""
    rounds = report.rounds
    n = len(rounds)
    first, last = ("first round", "last round") if rounds.each == 1 else (f"first {rounds.each} rounds", "last rounds")
    table = Table(title=f"{report.hosts} hosts, {counted(n, 'round')}", title_justify="left", title_style="", box=None)
    for name, justify in (("", "left"), ("per round", "right"), ("all rounds", "right"), ("slowest host", "right")):
        table.add_column(name, justify=justify)  # type: ignore[arg-type]
    for phase in PHASES:
        seconds, slowest = sum(rounds.seconds[phase]), sum(rounds.slowest[phase])
        if not any(rounds.slowest[phase]):  # columns inspect and combine nothing
            continue
        table.add_row(f"{phase}, s", f"{seconds / n:.4f}", f"{seconds:.2f}", f"{slowest:.2f}")
    if any(rounds.waited):
        for name, values in (("waiting for slower hosts", rounds.waited), ("hidden behind other work", rounds.hidden)):
            table.add_row(f"{name}, s", f"{sum(values) / n:.4f}", f"{sum(values):.2f}", "")
    everything = sum(map(sum, rounds.bytes.values()))
    for phase in ("inspect", "reduce", "broadcast"):  # the report has them by label and kind
        total = sum(sum(sent) for key, sent in rounds.bytes.items() if key.startswith(phase))
        if total:
            table.add_row(f"sent in {phase}, MB", f"{total / n / 1e6:.3f}", f"{total / 1e6:,.1f}", "")
    table.add_row("sent by all hosts, MB", f"{everything / n / 1e6:.3f}", f"{everything / 1e6:,.1f}", "")
    if any(rounds.largest):  # columns: no rows travel
        table.add_row(f"largest change of a number, {first}", f"{rounds.largest[0]:.4f}", "", "")
        table.add_row("largest change, of all rounds", f"{max(rounds.largest):.4f}", "", "")
    else:
        for label, rows in rounds.touched.items():
            table.add_row(f"rows of {label} touched by a host", f"{rounds.mean(rows):,.0f}", "", "")
        table.add_row(f"orthogonality of the hosts' changes, {first}", decimals(rounds.orthogonality[0], 3), "", "")
        table.add_row(f"orthogonality, {last}", decimals(rounds.orthogonality[-1], 3), "", "")
        orthogonal = decimals(100 * rounds.mean(rounds.orthogonal), 1)
        table.add_row("rows changed orthogonally", orthogonal if orthogonal == "-" else f"{orthogonal} %", "", "")
    text = io.StringIO()
    Console(file=text, width=100, color_system=None).print(table)
    return "\n".join(line.rstrip() for line in text.getvalue().splitlines())
