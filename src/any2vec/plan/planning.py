"""A plan: the estimates of all numbers of hosts and schemes, and the one to choose."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from any2vec.errors import Any2VecError, is_installed, library, missing_extra
from any2vec.io.memory import available, size
from any2vec.io.outputs import Kind, check_writable, replacing_file
from any2vec.plan.estimates import PHASES, Estimate, Estimator
from any2vec.plan.formulas import by_tree
from any2vec.plan.measuring import Speeds
from any2vec.plan.quantities import MOST_HOSTS, Cluster, unit_of
from any2vec.plan.text import Text
from any2vec.plot.projection import colours
from any2vec.plot.word_map import is_rendered, rendered
from any2vec.training.options import Options

if TYPE_CHECKING:
    from matplotlib.figure import Figure


SHORT = 60.0
"""Seconds of a run that is not worth several hosts."""

_AS_FAST = 1.1  # times the shortest time: fewer hosts are recommended up to there
_BYTES_OF_A_LEAF = 1200  # of memory here, where each word is a group of its own (measured)
_COMPARED = ("server",)  # schemes with other vectors, to compare with the papers: never recommended


@dataclass(frozen=True)
class Plan:
    """Estimates by number of hosts and scheme, and the one to choose.

    Of words with parts, a matrix has `vertices` + `parts` rows; labels, which are vertices of lines, have none of e.
    """

    cluster: Cluster
    words: float
    vertices: float
    parts: float
    epochs: int
    speeds: Speeds
    estimates: list[Estimate]

    @property
    def best(self) -> Estimate:
        """The fewest hosts that take at most a tenth longer than the fastest, and of their schemes what sends least.

        One host if it takes less than a minute: to start several takes about as long. Schemes that are there to compare
        with are left out.
        """
        fitting = [one for one in self.estimates if one.fits and one.scheme not in _COMPARED]
        fitting = fitting or [one for one in self.estimates if one.fits]
        if short := [one for one in fitting if one.hosts == 1 and one.total < SHORT]:
            return short[0]
        enough = _AS_FAST * min(one.total for one in fitting)
        hosts = min(one.hosts for one in fitting if one.total <= enough)
        return min((one for one in fitting if one.hosts == hosts and one.total <= enough), key=lambda one: one.sent)

    def as_dict(self) -> dict[str, Any]:
        """All figures."""
        figures = ("total", "transfer", "limit")
        more = [asdict(one) | {name: getattr(one, name) for name in figures} for one in self.estimates]
        best = {"hosts": self.best.hosts, "scheme": self.best.scheme}
        return asdict(self) | {"estimates": more, "recommended": best}


def make_plan(text: Text, options: Options, cluster: Cluster, speeds: Speeds) -> Plan:
    """Estimate what training takes with each number of hosts and scheme that the options allow.

    Their `threads`, `hosts` and `scheme` are not read. It is an Any2VecError if there are more hosts than words, the
    memory of the hosts suffices for no scheme, or that of this machine not for the plan of a Huffman tree.
    """
    if max(cluster.hosts) > text.words:
        raise Any2VecError(
            f"`hosts` is {max(cluster.hosts):,}, but there are {text.words:,.0f} words; give fewer hosts, or more text"
        )
    options = options.training_options().for_text(int(text.words))
    if by_tree(options.operator_class):
        _check_leaves(text.vertices)
        text = text.ungrouped()
    estimator = Estimator(text, options, cluster, speeds)
    estimates = [one for hosts in cluster.hosts for one in estimator.estimates(hosts)]
    if not any(one.fits for one in estimates):
        raise Any2VecError(_refusal(estimator, estimates))
    rows = estimator.operator.rows
    parts = 0.0 if rows is None else float(len(rows.ids))
    return Plan(cluster, text.words, text.vertices, parts, options.epochs, speeds, estimates)


def _check_leaves(vertices: float) -> None:
    """Refuse more words than can be taken one by one, as a Huffman tree needs it."""
    need, has = _BYTES_OF_A_LEAF * vertices, available()
    if need > has:
        raise Any2VecError(
            f"`loss` is 'hierarchical', for which a plan takes each of {vertices:,.0f} words by itself: that needs "
            f"{size(need, memory=True)} of memory here, where {size(has, memory=True)} are left; give fewer words "
            "(`min_count`), or plan with `loss='negative'`"
        )


def _refusal(estimator: Estimator, estimates: list[Estimate]) -> str:
    """Say what would fit where nothing does."""
    least, hosts = min(estimates, key=lambda one: one.memory), 2 * max(estimator.cluster.hosts)
    more, most = "", min(MOST_HOSTS, int(estimator.text.words))
    while hosts <= most and not more:
        fitting = [one.scheme for one in estimator.estimates(hosts) if one.fits]
        more = f", {hosts:,} hosts with {fitting[0]}" if fitting else ""
        hosts *= 2
    ways = [f"that much memory{more}"] + ["a smaller `dim`"] * (least.training == least.memory)
    if least.walking is None:
        ways.append("fewer words (`min_count`)")
    elif least.walking.graph == "whole":
        ways.append("`graph='parts'`")
    return (
        f"`memory` is {size(estimator.cluster.memory, memory=True)}, in which no scheme fits: {least.scheme} on "
        f"{least.hosts:,} needs {size(least.memory, memory=True)} a host, and that is the least; "
        f"{' or '.join(filter(None, [', '.join(ways[:-1]), ways[-1]]))} would do"
    )


_ENDINGS = (".png", ".svg")
"""Of names of figures."""

_MARK = "any2vec plan"
_FIGURE = Kind("the figure of a plan", lambda path: is_rendered(path, _MARK))


def check_figure(path: Path, *, force: bool = False) -> None:
    """Raise now if a figure could not be written later."""
    if path.suffix.lower() not in _ENDINGS:
        raise Any2VecError(f"{path}: is no name of a figure; it must end with {' or '.join(_ENDINGS)}")
    check_writable(path, _FIGURE, force=force)
    if not is_installed("matplotlib"):
        raise missing_extra("matplotlib", "plot")


def save_figure(plan: Plan, path: Path, *, force: bool = False) -> None:
    """Write the figure of a plan; an earlier one is replaced, by `force` also a file that holds something else."""
    check_figure(path, force=force)
    content = rendered(_draw(plan), path.suffix.lower()[1:], _MARK)
    with replacing_file(path) as file:
        file.write(content)


def _draw(plan: Plan) -> "Figure":
    """Draw the time of each scheme by the number of hosts, and the phases of the fastest that fits."""
    formatter = library("matplotlib.ticker", "plot").LogFormatter
    unit, name = unit_of(plan.best.total)
    figure: Figure = library("matplotlib.figure", "plot").Figure((10.4, 4.0), layout="constrained")
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
    left.yaxis.set_major_formatter(formatter())
    left.yaxis.set_minor_formatter(formatter(minor_thresholds=(1.5, 0.5)))
    left.set_title("Time by scheme" + "; x: memory does not suffice" * any(not one.fits for one in plan.estimates))
    left.legend(frameon=False, fontsize=8)
    fitting = [[one for one in plan.estimates if one.hosts == number and one.fits] for number in hosts]
    fastest = [min(some, key=lambda one: one.total) for some in fitting if some]
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
