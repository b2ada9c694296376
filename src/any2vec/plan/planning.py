"""A plan: the estimates of all numbers of hosts and schemes, and the one to choose."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from any2vec.errors import Any2VecError, is_installed, library, missing_extra
from any2vec.io.memory import available, size
from any2vec.io.outputs import Kind, check_writable, replacing_file
from any2vec.operators import Operator
from any2vec.operators.matrices import padded_width
from any2vec.plan import formulas
from any2vec.plan.formulas import by_tree
from any2vec.plan.measuring import Speeds
from any2vec.plan.quantities import MOST_HOSTS, Cluster, seconds_of, unit_of
from any2vec.plan.text import Text
from any2vec.plan.walking import Sizes, Walking
from any2vec.plot.projection import colours
from any2vec.plot.word_map import is_rendered, rendered
from any2vec.sync import SCHEMES
from any2vec.sync.columns import ColumnLayout
from any2vec.sync.combiners import combiner_of
from any2vec.sync.combiners.quadratic import SEEN
from any2vec.sync.wire import wire_of
from any2vec.training.options import Options
from any2vec.training.schedule import MOST_ROUNDS, default_rounds, round_lengths, round_shares

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ONE_HOST = "one host"
"""In place of a scheme, where nothing is sent."""

PHASES = ("inspection", "computation", "combining", "communication")

_ROUND_OF_COLUMNS = 1 << 20  # words


@dataclass(frozen=True)
class Estimate:
    """What a run takes with so many hosts and a scheme."""

    hosts: int  # H
    scheme: str  # of `sync.SCHEMES`, or `ONE_HOST`
    rounds: int  # of the whole run
    touched: dict[str, float]  # by matrix, rows that a host touches in a round, in the mean
    sent: float  # bytes that all hosts send in training
    # bytes that a host needs, and those in training: of a graph, it may need more while it reads or walks
    memory: float
    training: float
    fits: bool  # whether it has them
    # of training, by phase: inspection, computation, combining; communication, what the others do not hide
    seconds: dict[str, float]
    # seconds of communication in which messages are on their way, whatever the bandwidth is. Hosts are alike, so that
    # none waits for a slower one
    latency: float
    # seconds, besides communication, in which rows are on their way while hosts inspect and prepare to combine
    hidden: float
    walking: Walking | None  # of a graph, what it takes before training
    speed_up: float  # over one host
    cost: float | None  # of all hosts

    @property
    def total(self) -> float:
        """Seconds of training, and of a graph of the walks before it."""
        return sum(self.seconds.values()) + (self.walking.seconds if self.walking else 0.0)

    @property
    def transfer(self) -> float:
        """Seconds of communication that go by the bandwidth."""
        return self.seconds["communication"] - self.latency

    @property
    def limit(self) -> str:
        """What takes longest: memory, walks, computation, inspection, combining, bandwidth or latency."""
        if not self.fits:
            return "memory"
        parts = {name: taken for name, taken in self.seconds.items() if name != "communication"}
        parts |= {"bandwidth": self.transfer, "latency": self.latency}
        parts |= {"walks": self.walking.seconds} if self.walking else {}
        return max(parts, key=lambda name: parts[name])


@dataclass(frozen=True)
class Estimator:
    """Estimates what training takes."""

    text: Text
    options: Options
    cluster: Cluster
    speeds: Speeds
    even: bool = False  # whether hosts own as many vertices each, as those of the papers

    def estimates(self, hosts: int) -> Iterator[Estimate]:
        """Estimate each scheme that the options allow, on so many hosts."""
        if hosts == 1:
            yield self.alone
            return
        rounds = self._rounds(hosts)
        for name, scheme in SCHEMES.items():
            refused = scheme.by_columns and self.options.columns_refuse(hosts)
            if refused or (scheme.pools and not self.operator.draws_negatives):
                continue
            yield self._by_columns(hosts) if scheme.by_columns else self._by_rows(hosts, name, rounds)

    @cached_property
    def alone(self) -> Estimate:
        """One host, which sends nothing."""
        text, dim = self.text, self.options.dim
        rows = formulas.rows(text, self.operator, np.full(1, text.words), 1).at(np.ones(1), 1.0)
        memory = formulas.memory("rep-opt", text, self.operator, dim, rows.owned)
        seconds = (0.0, self._words / self._speed, 0.0, 0.0)
        return self._estimate(1, ONE_HOST, self.options.epochs, memory, seconds, (rows.e.sum(), rows.t.sum()))

    @cached_property
    def operator(self) -> Operator:
        """The operator; if words have parts, it knows their rows."""
        return self.text.operator(self.options)

    @property
    def _words(self) -> float:
        """Words of all epochs."""
        return self.options.epochs * self.text.words

    @property
    def _speed(self) -> float:
        """Words per second of a host: its cores share the memory, but are taken to be as fast as one alone."""
        return self.speeds.words * self.cluster.cores

    def _rounds(self, hosts: int) -> list[tuple[float, int, formulas.Rows]]:
        """Return the rounds of a run by rows: the share of an epoch, how often, and the rows."""
        text, options, operator = self.text, self.options, self.operator
        kept = text.counts * text.keep(options.sample)
        visits = float(kept @ text.many) / text.vertices if operator.rows is None else operator.rows.visits(kept)
        long = combiner_of(options.combine).long_rounds
        rounds = options.rounds or default_rounds(hosts, visits, long_rounds=long)
        first, usual = round_shares(rounds, hosts)
        shares = [(share, 1) for share in first.tolist()]
        shares += [(share, options.epochs - 1) for share in usual.tolist() if options.epochs > 1]
        lengths, times = round_lengths(rounds, hosts, options.epochs)
        rows = formulas.rows(text, operator, lengths * text.words / hosts, hosts, None if self.even else times)
        return [(share, often, rows.at(lengths, share)) for share, often in shares]

    def _by_rows(self, hosts: int, scheme: str, rounds: list[tuple[float, int, formulas.Rows]]) -> Estimate:
        """Add up rounds; a host inspects the next one, and prepares to combine, while it sends."""
        dim, cluster, speeds, count = self.options.dim, self.cluster, self.speeds, sum(times for _, times, _ in rounds)
        combiner, row = combiner_of(self.options.combine), 4 * padded_width(dim)
        sent, of_first, calls = formulas.moments(combiner, count, hosts, dim)
        seconds, memory, touched = np.zeros(len(PHASES)), 0.0, np.zeros(2)
        due = formulas.balances(combiner, count, hosts)
        rebalanced, hidden = 0.0 if wire_of(self.options.wire).exact else due / count, 0.0
        seconds[2] = due * speeds.balanced
        seconds[3] = seconds_of(of_first, cluster)
        for share, times, rows in rounds:
            words = share * self.text.words / hosts
            traffic = formulas.traffic(scheme, rows, dim, self.options.wire, rebalanced)
            inspection = words / (speeds.inspected * cluster.cores) if SCHEMES[scheme].inspects else 0.0
            merged = hosts * float((rows.e + rows.t).max()) * speeds.part
            merged += float((rows.any_e + rows.any_t).max()) * speeds.row
            copied = traffic.copied * row / speeds.copied
            looked = sum(min(float(one.sum()), SEEN / hosts) for one in (rows.e, rows.t))
            preparing = speeds.prepared + looked * speeds.row_prepared
            combining = (merged + copied) / cluster.cores + preparing
            inspect, reduce, broadcast = (formulas.seconds_sent(one, cluster) for one in traffic.phases)
            meanwhile = min(reduce, inspection + preparing)
            sending, hidden = inspect + reduce + broadcast - meanwhile, hidden + times * meanwhile
            seconds += times * np.array([inspection, words / self._speed, combining, sending])
            touched += times * np.array([rows.e.sum(), (rows.pooled_t if scheme == "server" else rows.t).sum()])
            sent, calls = sent + times * traffic.sent, calls + times * traffic.calls
            how = rows.owned, traffic.buffers, self.options.wire
            memory = max(memory, formulas.memory(scheme, self.text, self.operator, dim, *how))
        return self._estimate(hosts, scheme, count, memory, seconds.tolist(), touched / count, sent, calls, hidden)

    def _by_columns(self, hosts: int) -> Estimate:
        """Every host lists all samples, and computes its columns of them, in one thread."""
        text, options, dim = self.text, self.options, self.options.dim
        found, words = formulas.samples(text, self.operator), self._words
        rounds = options.rounds or min(int(-(-text.words // _ROUND_OF_COLUMNS)), MOST_ROUNDS)
        rounds *= options.epochs
        batches = words * found.windows / (options.centres(hosts) * hosts)
        sentences = options.epochs * text.sentences
        traffic = formulas.traffic_of_columns(words, sentences, words * found.scores, batches, rounds, hosts)
        share = ColumnLayout(dim, hosts).width / padded_width(dim)  # both are padded, columns to 16 in a block
        computation = share * words / self.speeds.words + words / self.speeds.inspected
        communication = sum(formulas.seconds_sent(one, self.cluster) for one in traffic.phases)
        memory = formulas.memory("columns", text, self.operator, dim, np.zeros(hosts))
        seconds = (0.0, computation, 0.0, communication)
        return self._estimate(hosts, "columns", rounds, memory, seconds, (0.0, 0.0), traffic.sent, traffic.calls)

    def _estimate(
        self,
        hosts: int,
        scheme: str,
        rounds: int,
        memory: float,
        seconds: Sequence[float],
        touched: Iterable[float],
        sent: float = 0.0,
        calls: float = 0.0,
        hidden: float = 0.0,
    ) -> Estimate:
        """Add the walks before training, and what calls wait for, which is no part of the `seconds` by phase."""
        latency = formulas.seconds_waited(calls, self.cluster)
        phases = dict(zip(PHASES, (*seconds[:3], seconds[3] + latency), strict=True))
        rows = dict(zip("et", map(float, touched), strict=True))
        text, graph, walking, training = self.text, self.text.graph, None, memory
        if graph is not None:
            sizes = Sizes(text.words, text.sentences, self.options.epochs)
            walking = graph.walking(hosts, sizes, self.cluster, self.speeds.walks)
            training = memory + walking.held
            memory = max(walking.reading, walking.memory, training)
        fits, price = memory <= self.cluster.memory, self.cluster.price
        given = hosts, scheme, rounds, rows, sent, memory, training, fits, phases, latency, hidden, walking
        one = Estimate(*given, 1.0, None)
        cost = None if price is None else price * hosts * one.total / 3600
        return replace(one, speed_up=1.0 if hosts == 1 else self.alone.total / one.total, cost=cost)


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
