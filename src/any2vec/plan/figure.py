"""A plan as a figure of matplotlib: time by hosts and scheme, and where it goes."""

from pathlib import Path
from typing import TYPE_CHECKING

from any2vec.errors import Any2VecError, is_installed, missing_extra
from any2vec.io.outputs import check_writable, replacing_file
from any2vec.io.replaceable import Kind
from any2vec.plan.estimates import PHASES, Estimate
from any2vec.plan.planning import Plan
from any2vec.plan.quantities import unit_of
from any2vec.plot.colours import colours
from any2vec.plot.figure import is_rendered, rendered

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["ENDINGS", "check_figure", "draw", "save_figure"]

ENDINGS = (".png", ".svg")
"""Of names of figures."""

_MARK = "any2vec plan"
_FIGURE = Kind("the figure of a plan", lambda path: is_rendered(path, _MARK))


def check_figure(path: Path, *, force: bool = False) -> None:
    """Raise now if a figure could not be written later."""
    if path.suffix.lower() not in ENDINGS:
        raise Any2VecError(f"{path}: is no name of a figure; it must end with {' or '.join(ENDINGS)}")
    check_writable(path, _FIGURE, force=force)
    if not is_installed("matplotlib"):
        raise missing_extra("matplotlib", "plot")


def save_figure(plan: Plan, path: Path, *, force: bool = False) -> None:
    """Write the figure of a plan; an earlier one is replaced, by `force` also a file that holds something else."""
    check_figure(path, force=force)
    content = rendered(draw(plan), path.suffix.lower()[1:], _MARK)
    with replacing_file(path) as file:
        file.write(content)


def draw(plan: Plan) -> "Figure":
    """Draw the time of each scheme by the number of hosts, and the phases of the fastest that fits."""
    try:
        from matplotlib.figure import Figure
        from matplotlib.ticker import LogFormatter
    except ImportError:
        raise missing_extra("matplotlib", "plot") from None
    unit, name = unit_of(plan.best.total)
    figure = Figure((10.4, 4.0), layout="constrained")
    left, right = figure.subplots(1, 2)
    hosts = sorted({one.hosts for one in plan.estimates})
    places = {number: place for place, number in enumerate(hosts)}
    schemes = dict.fromkeys(one.scheme for one in plan.estimates)
    for number, scheme in enumerate(schemes):
        found = [one for one in plan.estimates if one.scheme == scheme]
        points = [places[one.hosts] for one in found], [one.total / unit for one in found]
        left.plot(*points, marker="o", markersize=4, color=colours(number + 1)[number], label=scheme)
        tight = [one for one in found if not one.fits]
        left.plot([places[one.hosts] for one in tight], [one.total / unit for one in tight], "kx", markersize=7)
    left.set_yscale("log")
    left.yaxis.set_major_formatter(LogFormatter())
    left.yaxis.set_minor_formatter(LogFormatter(minor_thresholds=(1.5, 0.5)))
    left.set_title("Time by scheme" + "; x: memory does not suffice" * any(not one.fits for one in plan.estimates))
    left.legend(frameon=False, fontsize=8)
    fastest = [best for number in hosts if (best := _fastest(plan, number))]
    below = [0.0] * len(fastest)
    phases = {phase: [one.seconds[phase] for one in fastest] for phase in PHASES}
    phases |= {"walks": [one.walking.seconds for one in fastest if one.walking]} if plan.speeds.walks else {}
    for (phase, taken), colour in zip(phases.items(), colours(len(phases)), strict=True):
        heights = [seconds / unit for seconds in taken]
        right.bar([places[one.hosts] for one in fastest], heights, 0.6, below, color=colour, label=phase)
        below = [a + b for a, b in zip(below, heights, strict=True)]
    for one, top in zip(fastest, below, strict=True):
        right.annotate(one.scheme, (places[one.hosts], top), ha="center", va="bottom", fontsize=8)
    right.set_title("Where the time of the fastest scheme goes")
    right.legend(frameon=False, fontsize=8)
    for axes in (left, right):
        axes.set_xticks(range(len(hosts)), [f"{number:,}" for number in hosts])
        axes.set_xlim(-0.6, len(hosts) - 0.4)
        axes.set_xlabel("hosts")
        axes.set_ylabel({"h": "hours", "min": "minutes", "s": "seconds"}[name])
        axes.spines[["top", "right"]].set_visible(False)
    return figure


def _fastest(plan: Plan, hosts: int) -> Estimate | None:
    found = [one for one in plan.estimates if one.hosts == hosts and one.fits]
    return min(found, key=lambda one: one.total, default=None)
