"""Estimates of a run: rows, bytes, memory and seconds of a scheme on so many hosts."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from any2vec.operators import Operator
from any2vec.operators.matrices import padded_width
from any2vec.plan import formulas
from any2vec.plan.measuring import Speeds
from any2vec.plan.quantities import Cluster, seconds_of
from any2vec.plan.text import Text
from any2vec.plan.walking import Sizes, Walking
from any2vec.sync import SCHEMES
from any2vec.sync.columns import ColumnLayout
from any2vec.sync.combiners import combiner_of
from any2vec.sync.combiners.quadratic import SEEN
from any2vec.sync.wire import wire_of
from any2vec.training.options import Options
from any2vec.training.schedule import MOST_ROUNDS, default_rounds, round_lengths, round_shares

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
