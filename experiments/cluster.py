"""GraphAny2Vec, Fig. 4, 6 and 9: the paper's cluster of 32 machines, as `any2vec plan` predicts it.

Nothing is trained but for the measurement of a thread's speed. All sizes are the paper's; those given change nothing.
"""

from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from any2vec import Word2Vec
from any2vec.plan.cluster import Cluster
from any2vec.plan.estimates import Estimate, Estimator
from any2vec.plan.measuring import Speeds, measure as measured
from any2vec.plan.text import Text, zipf_counts
from any2vec.training.options import Options
from experiments.found import Found, Table
from experiments.running import rounds_of
from experiments.schemes import SCHEMES
from experiments.settings import Settings

__all__ = ["measure"]

HOSTS = (1, 2, 4, 8, 16, 32)
MOST = HOSTS[-1]
NETWORK, TENTH, LATENCY = 12.5e9, 1.25e9, 2e-6  # 100 Gbit (A.1), and a tenth; the latency of such a network
SETTINGS = Settings(dim=200, window=5, negative=15, epochs=16, hosts=MOST, seeds=(), threads=48)  # A.1
SENTENCE, MIN_COUNT = 10_000.0, 5  # A.1; the paper gives no minimum, word2vec's is 5
OPT = "pull-opt"


@dataclass(frozen=True)
class Corpus:
    """Words and vocabulary (Table 1); hours of GW2V on one host (Table 2) and on 32, where the paper says."""

    words: float
    vocabulary: float
    alone: float
    many: float | None = None

    @property
    def speed(self) -> float:
        """Words per second of a host."""
        return self.words * (SETTINGS.epochs or 1) / (3600 * self.alone)

    @property
    def text(self) -> Text:
        """What the plan knows: counts by Zipf's law."""
        text = Text.of_counts(*zipf_counts(self.words, self.vocabulary, MIN_COUNT))
        return replace(text, lengths=np.full(1, SENTENCE), sentences=self.words / SENTENCE)


CORPORA = {
    "1-billion": Corpus(665.5e6, 399.0e3, 3.98, 3.98 / 12),  # "12x faster on 32 hosts than SM", 5.2
    "news": Corpus(714.1e6, 479.3e3, 4.51),
    "wiki": Corpus(3594.1e6, 2759.5e3, 22.34, 1.9),  # 5.1
}
FIRST = "1-billion"
BYTES = {"RepModel-Opt": "0.50", "PullModel-Opt": "0.89 of RepModel-Opt's", "DMTK": "3.5"}  # of the scheme above
OVER_TWO = {"RepModel-Naive": "4.7", "RepModel-Opt": "5.5", "PullModel-Opt": "8.1, mean of the corpora"}
FASTER = {"RepModel-Naive": 1.16 * 1.206, "RepModel-Opt": 1.206, "PullModel-Opt": 1.0}  # times PullModel-Opt's seconds
EARLIER = {"1-billion": (22957.9, 1633.5), "news": (25278.2, 1731.1), "wiki": (140216.8, 9993.7)}
"""GraphWord2Vec, Table 2: seconds of W2V on one host, and with RepModel-Opt on 32: 16 cores and 56 Gbit (its 5.1)."""


def measure(_: Settings) -> Found:
    """Predict all; a thread's speed is measured here, and those of the paper's hosts are given."""
    speeds = measured(CORPORA[FIRST].text, _options(MOST))
    wide, tenth = ({name: _Planned(name, speeds, of) for name in CORPORA} for of in (NETWORK, TENTH))
    ours = {name: _Planned(name, speeds, NETWORK, given=False) for name in CORPORA}
    tables = [_hours(wide), _speed_ups(wide, tenth, ours), _many(wide, tenth, ours)]
    tables += [_schemes(wide[FIRST]), _over_two(wide[FIRST], tenth[FIRST]), _throughput(wide)]
    return Found(SETTINGS, tables, {"speeds": asdict(speeds)})


class _Planned:
    """A corpus on the paper's hosts, by number of hosts and scheme."""

    def __init__(self, name: str, speeds: Speeds, bandwidth: float, *, given: bool = True) -> None:
        corpus, cores = CORPORA[name], SETTINGS.threads or 1
        self._speeds = replace(speeds, words=corpus.speed / cores) if given else speeds
        self._text, self._bandwidth, self._known = corpus.text, bandwidth, {}  # type: ignore[var-annotated]

    def __call__(self, hosts: int, scheme: str = OPT) -> Estimate:
        if hosts not in self._known:
            cluster = Cluster((hosts,), SETTINGS.threads or 1, self._bandwidth, LATENCY)
            found = Estimator(self._text, _options(hosts), cluster, self._speeds).estimates(hosts)
            self._known[hosts] = {one.scheme: one for one in found}
        known: dict[str, Estimate] = self._known[hosts]
        return known[scheme] if hosts > 1 else next(iter(known.values()))


def _options(hosts: int) -> Options:
    """Options of A.1; word2vec's negatives are per pair."""
    sizes: dict[str, Any] = {name: getattr(SETTINGS, name) for name in ("dim", "window", "negative", "epochs")}
    how = {"sample": 1e-4, "negatives_per": "pair", "combine": "gradient", "rounds": rounds_of(hosts)}
    return Word2Vec(**sizes, **how).training_options()


def _hours(wide: dict[str, _Planned]) -> Table:
    heads = ("hosts", *(f"{name}, hours" for name in wide), *(f"{name}, speed-up" for name in wide))
    rows = []
    for hosts in HOSTS:
        found = [planned(hosts) for planned in wide.values()]
        rows.append(
            (str(hosts), *(f"{one.total / 3600:.2f}" for one in found), *(f"{one.speed_up:.1f}" for one in found))
        )
    return Table("PullModel-Opt, 100 Gbit, one host as fast as the paper's", heads, rows)


def _speed_ups(wide: dict[str, _Planned], tenth: dict[str, _Planned], ours: dict[str, _Planned]) -> Table:
    corpus = CORPORA[FIRST]
    known = {1: "1.0", 2: f"{12 / 8.1:.1f}", MOST: f"{corpus.alone / (corpus.many or 1):.1f}"}
    heads = ("hosts", "their speed, 100 Gbit", "their speed, 10 Gbit", "any2vec's speed, 100 Gbit", "the paper")
    rows = [
        (str(hosts), *(f"{of[FIRST](hosts).speed_up:.1f}" for of in (wide, tenth, ours)), known.get(hosts, ""))
        for hosts in HOSTS
    ]
    return Table(f"speed-up over one host, {FIRST}", heads, rows, "lines")


def _many(wide: dict[str, _Planned], tenth: dict[str, _Planned], ours: dict[str, _Planned]) -> Table:
    kinds = ("their speed, 100 Gbit", "their speed, 10 Gbit", "any2vec's speed, 100 Gbit")
    heads = ("corpus", "the paper, hours", *(f"{kind}, hours" for kind in kinds), "the paper, speed-up", *kinds)
    rows = []
    for name, corpus in CORPORA.items():
        found = [of[name](MOST) for of in (wide, tenth, ours)]
        hours = [f"{one.total / 3600:.2f}" for one in found]
        theirs = (f"{corpus.many:.2f}", f"{corpus.alone / corpus.many:.1f}") if corpus.many else ("", "")
        rows.append((name, theirs[0], *hours, theirs[1], *(f"{one.speed_up:.1f}" for one in found)))
    return Table("PullModel-Opt on 32 hosts", heads, rows)


def _schemes(wide: _Planned) -> Table:
    heads = ("scheme", "TB sent", "of the scheme above", "the paper", "inspection", "computation", "combining")
    rows, before, theirs = [], 0.0, 3600 * (CORPORA[FIRST].many or 0)
    for name, scheme in SCHEMES.items():
        one = wide(MOST, scheme)
        phases = [f"{one.seconds[phase]:.1f}" for phase in ("inspection", "computation", "combining", "communication")]
        share = f"{one.sent / before:.2f}" if before else ""
        even, whole = one.sent / MOST / NETWORK, f"{theirs * FASTER[name]:,.0f}" if name in FASTER else ""
        rows.append((name, one.sent / 1e12, share, BYTES.get(name, ""), *phases, even, f"{one.total:,.0f}", whole))
        before = one.sent
    more = ("communication", "communication, masters spread evenly", "total", "the paper's total")
    return Table(f"schemes on 32 hosts, {FIRST}, seconds", (*heads, *more), rows)


def _over_two(wide: _Planned, tenth: _Planned) -> Table:
    rows = []
    for name, scheme in SCHEMES.items():
        found = [of(2, scheme).total / of(MOST, scheme).total for of in (wide, tenth)]
        rows.append((name, *found, OVER_TWO.get(name, "")))
    return Table(f"speed-up of 32 hosts over two, {FIRST}", ("scheme", "100 Gbit", "10 Gbit", "the paper"), rows)


def _throughput(wide: dict[str, _Planned]) -> Table:
    """Divide what a host sends, as predicted, by the seconds that the papers need besides computation."""
    first = CORPORA[FIRST]
    found = [("GraphAny2Vec", FIRST, name, first.alone, (first.many or 0) * by) for name, by in FASTER.items()]
    found += [("GraphAny2Vec", "wiki", "PullModel-Opt", CORPORA["wiki"].alone, CORPORA["wiki"].many or 0)]
    found += [("GraphWord2Vec", name, "RepModel-Opt", *(of / 3600 for of in times)) for name, times in EARLIER.items()]
    rows = []
    for paper, corpus, scheme, alone, many in found:
        rest, sent = 3600 * (many - alone / MOST), wide[corpus](MOST, SCHEMES[scheme]).sent / MOST
        rows.append((f"{paper}, {corpus}, {scheme}", f"{rest:,.0f}", f"{sent / 1e9:,.0f}", f"{sent / rest / 1e9:.2f}"))
    heads = ("the papers' runs on 32 hosts", "seconds besides computation", "GB that a host sends, predicted", "GB/s")
    return Table("what a host sends in a second", heads, rows)
