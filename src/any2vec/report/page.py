"""The page of a run: its report in one file of HTML, with figures, that needs no network."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from any2vec.errors import Any2VecError, counted, library
from any2vec.io.memory import size
from any2vec.io.outputs import Kind, check_writable, replacing_file, start_of
from any2vec.io.shown import PAGE_ENDINGS, is_page, table
from any2vec.plot.projection import colours
from any2vec.plot.word_map import rendered
from any2vec.report import Report, decimals, slowest_lines, transfer
from any2vec.report.rounds import KEYS, PHASES, Rounds

if TYPE_CHECKING:
    from matplotlib.figure import Figure


_FIRST, _SECOND = colours(2)
_WIDTH, _HEIGHT = 5.2, 3.0  # inches of a panel
_SHORTEST = 0.05  # seconds of a phase that is shown
_MARKED = 40  # points that get a marker, at most


@dataclass(frozen=True)
class Panel:
    """A figure of a run: its title, what it shows, and the function that draws it into axes."""

    title: str
    note: str
    draw: Callable[[Any], None]


def panels(report: Report) -> Iterator[Panel]:
    """Yield the figures for which a report has figures."""
    if np.isfinite(report.loss).any():
        yield Panel("Loss", "Mean over the samples of an epoch, and of the rounds.", lambda axes: _loss(axes, report))
    for names in _alike(report.checks):
        title = f"Check: {names[0]}" if len(names) == 1 else "Checks"
        yield Panel(title, "After each epoch.", partial(_checks, report=report, names=names))
    speeds = _speeds(report)
    if len(speeds[0]) > 1:
        yield Panel("Speed", "Words per second of all hosts, by round.", lambda axes: _speed(axes, *speeds))
    if max(report.seconds.values(), default=0) >= _SHORTEST:
        yield Panel("Time", "Where the time went.", lambda axes: _seconds(axes, report.seconds))
    if report.hosts > 1 and len(report.rounds) > 1:
        yield from _panels_of_hosts(report)


def _panels_of_hosts(report: Report) -> Iterator[Panel]:
    """Yield the figures of several hosts, by round."""
    rounds = report.rounds
    mean = {phase: rounds.seconds[phase] for phase in PHASES if any(rounds.slowest[phase])}
    if mean:
        note = "Mean over the hosts, in CPU seconds if they are simulated. Communication includes the wait for others."
        if any(rounds.waited):
            mean.pop("communication", None)
            mean |= {"transfer": transfer(report), "waiting": rounds.waited}
            note = "Mean over the hosts. Transfer and waiting for slower hosts are communication."
        yield Panel("Phases of rounds", note, lambda axes: _stack(axes, rounds, mean, "seconds"))
    sent, kinds = _megabytes(rounds, _step), _megabytes(rounds, lambda _, __, kind: kind)
    if sent:
        note = "Balance: sums of products of rows, which keep e and t alike."
        yield Panel("Sent by all hosts", note, lambda axes: _stack(axes, rounds, sent, "MB"))
    if len(kinds) > 1:
        note = "Updates are changes of rows, which are reduced; values are rows, which are broadcast."
        yield Panel("Sent, by kind", note, lambda axes: _stack(axes, rounds, kinds, "MB"))
    if np.isfinite(rounds.orthogonality).any():
        note = "Of one in 256 rows that several hosts changed, Eq. 9 of GraphAny2Vec (Gill et al., 2021): "
        note += "1 if the directions of the changes are orthogonal, 1/k if k hosts changed a row alike."
        yield Panel("Orthogonality of the hosts' changes", note, lambda axes: _orthogonality(axes, rounds))
    if any(map(any, rounds.touched.values())):
        touched = {f"rows of {name}": values for name, values in rounds.touched.items()}
        yield Panel("Rows touched by a host", "In a round.", lambda axes: _lines(axes, rounds, touched, "rows"))
    if any(rounds.largest):
        largest = {"change": rounds.largest}
        note = "Of a number in a mini-batch. When it grows, values will explode."
        yield Panel("Largest change", note, lambda axes: _lines(axes, rounds, largest, ""))


def draw(report: Report) -> "Figure":
    """Draw all panels into one figure of matplotlib."""
    return _draw(list(panels(report)), titled=True)


def figure_of(panel: Panel) -> "Figure":
    """Draw a panel alone, without its title."""
    return _draw([panel], titled=False)


def _draw(chosen: list[Panel], *, titled: bool) -> "Figure":
    """Draw panels, two beside each other; lines and texts that are no figures are pale."""
    columns = max(1, min(2, len(chosen)))
    lines = max(1, -(-len(chosen) // columns))
    size = _WIDTH * columns, _HEIGHT * lines
    figure: Figure = library("matplotlib.figure", "plot").Figure(size, layout="constrained")
    for place, panel in enumerate(chosen, 1):
        axes: Any = figure.add_subplot(lines, columns, place)
        if titled:
            axes.set_title(panel.title, fontsize=10)
        panel.draw(axes)
        axes.spines[["top", "right"]].set_visible(False)
        axes.spines[["left", "bottom"]].set_color("#aaaaaa")
        axes.tick_params(labelsize=8, color="#aaaaaa")
        for axis in (axes.xaxis, axes.yaxis):
            axis.label.set_size(8)
    return figure


def _loss(axes: Any, report: Report) -> None:
    rounds = report.rounds
    if len(rounds.loss) > len(report.loss):
        axes.plot(rounds.epochs, rounds.loss, color=_FIRST, alpha=0.35, linewidth=1, label="rounds")
    epochs = np.arange(1, len(report.loss) + 1)
    axes.plot(epochs, report.loss, **_line(len(epochs)), color=_FIRST, label="epochs")
    if report.held_out:
        first = len(report.loss) - len(report.held_out) + 1  # those before a run was resumed are not in a log
        epochs = np.arange(first, len(report.loss) + 1)
        axes.plot(epochs, report.held_out, **_line(len(epochs)), color=_SECOND, label="held out")
    _whole(axes, "epoch")
    if len(axes.lines) > 1:
        axes.legend(frameon=False, fontsize=8)


def _alike(checks: list[dict[str, float]]) -> list[list[str]]:
    """Put names of checks together whose figures can share an axis: shares, per cent, others alone."""
    largest: dict[str, float] = {}
    for check in checks:
        for name, value in check.items():
            largest[name] = max(largest.get(name, 0.0), abs(value))
    largest.pop("epoch", None)
    shares = [name for name, value in largest.items() if value <= 1]
    percent = [name for name, value in largest.items() if 1 < value <= 100]
    return [names for names in (shares, percent) if names] + [[name] for name, value in largest.items() if value > 100]


def _checks(axes: Any, report: Report, names: list[str]) -> None:
    for name, colour in zip(names, colours(len(names)), strict=True):
        found = [(check["epoch"], check[name]) for check in report.checks if name in check]
        axes.plot(*zip(*found, strict=True), **_line(len(found)), color=colour, label=name)
    _whole(axes, "epoch")
    if len(names) > 1:
        legend_below(axes)


def _speeds(report: Report) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the seconds at the end of each round, and raw words per second in it."""
    rounds = report.rounds
    elapsed, words = np.array([0.0, *rounds.elapsed]), np.array(rounds.words, float)
    if rounds.epochs and words[0] < 0.99 * rounds.epochs[0] * report.kept_words:  # resumed: what was before is unknown
        elapsed, words = elapsed[1:], words[1:]
    seconds = np.diff(elapsed)
    known = seconds > 0
    raw = report.words / max(report.kept_words, 1)
    return elapsed[1:][known], words[known] * raw / seconds[known]


def _speed(axes: Any, seconds: NDArray[np.float64], speeds: NDArray[np.float64]) -> None:
    units = {"hours": 3600, "minutes": 60, "seconds": 1}
    name = next((name for name, unit in units.items() if seconds[-1] >= 2 * unit), "seconds")
    axes.plot(seconds / units[name], speeds / 1e6, **_line(len(speeds)), color=_FIRST)
    axes.set_xlabel(f"{name} of training")
    axes.set_ylabel("million words/s")
    axes.set_ylim(0)


def _seconds(axes: Any, seconds: dict[str, float]) -> None:
    names = [name for name in reversed(seconds) if seconds[name] >= _SHORTEST]
    bars = axes.barh(names, [seconds[name] for name in names], color=_FIRST, height=min(0.6, 0.2 * len(names)))
    axes.set_ylim(-0.5, len(names) - 0.5)
    axes.bar_label(bars, fmt="{:,.1f} s", fontsize=8, padding=4)
    axes.margins(x=0.15)
    axes.set_xlabel("seconds")


def _stack(axes: Any, rounds: Rounds, parts: dict[str, list[float]], unit: str) -> None:
    numbers = np.arange(len(rounds.epochs) + 1) * rounds.each
    values = [[*one, one[-1]] for one in parts.values()]
    labels = [f"{name}: {_short(sum(one))} {'s' if unit == 'seconds' else unit}" for name, one in parts.items()]
    axes.stackplot(numbers, values, labels=labels, colors=colours(len(parts)), step="post", linewidth=0)
    axes.set_ylabel(f"{unit} per round" if rounds.each == 1 else f"{unit} per {rounds.each} rounds")
    _by_round(axes, rounds)
    legend_below(axes)


def _lines(axes: Any, rounds: Rounds, parts: dict[str, list[float]], unit: str) -> None:
    numbers = np.arange(len(rounds.epochs) + 1) * rounds.each
    for (name, one), colour in zip(parts.items(), colours(len(parts)), strict=True):
        axes.stairs(one, numbers, baseline=None, color=colour, label=name, linewidth=1.2)
    axes.set_ylabel(unit)
    axes.set_ylim(0)
    _by_round(axes, rounds)
    if len(parts) > 1:
        axes.legend(frameon=False, fontsize=8)


def _orthogonality(axes: Any, rounds: Rounds) -> None:
    for values, name, colour in (
        (rounds.orthogonality, "mean of rows", _FIRST),
        (rounds.orthogonal, "share of orthogonal rows", _SECOND),
    ):
        axes.plot(rounds.epochs, values, ".", markersize=3, color=colour, label=name)
    axes.set_ylim(0, 1.02)
    _whole(axes, "epoch")
    axes.legend(frameon=False, fontsize=8)


def _megabytes(rounds: Rounds, part: Callable[[str, str, str], str]) -> dict[str, list[float]]:
    """Sum up what was sent, by the part that a key of `Rounds.bytes` belongs to, for parts of which any was."""
    parts: dict[str, NDArray[np.float64]] = {}
    for key in KEYS:
        if any(values := rounds.bytes.get(" ".join(key), [])):
            name = part(*key)
            parts[name] = parts.get(name, 0.0) + np.array(values, float) / 1e6
    return {name: values.tolist() for name, values in parts.items()}


def _step(phase: str, matrix: str, kind: str) -> str:
    """Return what a key is part of; only with columns are values of both matrices sent: scores."""
    if phase == "inspect":
        return "inspection"
    if kind == "moments":
        return "balance"
    return f"{phase} {'scores' if matrix == 'both' else matrix}"


def _by_round(axes: Any, rounds: Rounds) -> None:
    axes.set_xlim(0, len(rounds.epochs) * rounds.each)
    _whole(axes, "round")


def _line(points: int) -> dict[str, Any]:
    return {"marker": "o" if points <= _MARKED else "", "markersize": 3, "linewidth": 1.5}


def legend_below(axes: Any) -> None:
    """Name the parts below the axes."""
    axes.legend(frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(0, -0.2), ncol=2, borderaxespad=0)


def _whole(axes: Any, name: str) -> None:
    """Name the horizontal axis; its ticks are whole numbers, even if there is only one."""
    from matplotlib.ticker import MaxNLocator

    axes.set_xlabel(name)
    if axes.get_xlim()[1] >= 1:  # else a part of the first epoch
        axes.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))


def _short(number: float) -> str:
    """Write a number with three digits at least: 1,480 and 0.601."""
    return f"{number:,.0f}" if number >= 1000 else f"{number:.3g}"


_MARK = b'<meta name="generator" content="any2vec report">'  # of page.html


def check_page(path: Path) -> None:
    """Refuse what is no name of a page."""
    if not is_page(path):
        raise Any2VecError(f"{path}: is no name of a page; it must end with {' or '.join(PAGE_ENDINGS)}")


def write_page(report: Report, path: Path, title: str, *, force: bool = False) -> None:
    """Write a report as a page; an earlier page is replaced, and with `force` also what is none."""
    write_panels(path, title, table(facts(report)), report.options, panels(report), force=force)


def write_panels(
    path: Path, title: str, shown: str, options: Mapping[str, Any], drawn: Iterable[Panel], *, force: bool = False
) -> None:
    """Write a page: a title, what is `shown` of it in HTML, options, and figures."""
    check_writable(path, PAGE, force=force)
    sections = (
        f"<section><h2>{escape(panel.title)}</h2><p>{escape(panel.note)}</p>{_svg(panel, number)}</section>\n"
        for number, panel in enumerate(drawn)
    )
    named = table((name, "" if value is None else str(value)) for name, value in options.items())
    template = Template((files("any2vec") / "report" / "page.html").read_text("utf-8"))
    parts = {"facts": shown, "options": named, "figures": "".join(sections)}
    with replacing_file(path) as file:
        file.write(template.substitute(parts, title=escape(title)).encode())


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
    if report.held_out:
        least = int(np.argmin(report.held_out))
        yield "loss held out", f"{decimals(report.held_out[-1])} in the end, least in epoch {least + 1:,}"
    if report.checks:
        yield (
            "checks",
            ", ".join(f"{name} {value:,.4g}" for name, value in report.checks[-1].items() if name != "epoch"),
        )
    yield "seconds", ", ".join(f"{name} {value:,.1f}" for name, value in report.seconds.items())
    yield "peak memory", size(report.peak_memory) if report.peak_memory else "unknown"
    others = {
        "memory by part": ", ".join(f"{name} {size(held)}" for name, held in report.memory.items()),
        "sent to read": size(report.read_bytes) if report.read_bytes else "",
        "sent to walk": size(report.walk_bytes) if report.walk_bytes else "",
        "walks in training": f"{report.walking:,.1f} s of the processor" if report.walking else "",
    }
    yield from ((name, text) for name, text in others.items() if text)
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


def _svg(panel: Panel, number: int) -> str:
    """Return a figure as SVG to put into a page, with names of its own."""
    text = rendered(figure_of(panel), "svg", "any2vec report").decode()
    text = text[text.index("<svg") :]
    text = re.sub(r' (?:width|height)="[\d.]+pt"', "", text, count=2)
    return re.sub(r'(id="|url\(#|xlink:href="#)', rf"\g<1>p{number}-", text)


PAGE = Kind("the page of a run", lambda path: _MARK in start_of(path, 1000)[0])
