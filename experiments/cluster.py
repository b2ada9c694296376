"""GraphAny2Vec, Fig. 4, 6 and 9: the paper's cluster of 32 machines, as `any2vec plan` predicts it.

Nothing is trained but for the measurement of a thread's speed. All sizes are the paper's; those given change nothing.
"""

from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from any2vec import Word2Vec
from any2vec.plan.measuring import Speeds
from any2vec.plan.measuring import measure as measured
from any2vec.plan.planning import ONE_HOST, PHASES, Estimate, Estimator
from any2vec.plan.quantities import Cluster, seconds_of
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
SETTINGS = Settings(dim=200, window=5, negative=15, epochs=16, hosts=MOST, seeds=(), threads=1)  # A.1
CORES = 48
SENTENCE, MIN_COUNT = 10_000.0, 5  # A.1; the paper gives no minimum, word2vec's is 5
OPT = SCHEMES["PullModel-Opt"]
TIMES = 12  # faster on 32 hosts than on one: 1-billion, 5.2


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
    "1-billion": Corpus(665.5e6, 399.0e3, 3.98, 3.98 / TIMES),
    "news": Corpus(714.1e6, 479.3e3, 4.51),
    "wiki": Corpus(3594.1e6, 2759.5e3, 22.34, 1.9),  # 5.1
}
FIRST = "1-billion"
BYTES = {"RepModel-Naive": "2", "PullModel-Opt": "0.89", "DMTK": "3.1"}  # of RepModel-Opt's; 5.1 and 5.3
OVER_TWO = {"RepModel-Naive": "4.7", "RepModel-Opt": "5.5", "PullModel-Opt": "8.1"}  # the last of all corpora; 5.3
SLOWER = {"RepModel-Naive": 1.16 * 1.206, "RepModel-Opt": 1.206, "PullModel-Opt": 1.0}  # than PullModel-Opt; 5.3
EARLIER = {"1-billion": (22957.9, 1633.5), "news": (25278.2, 1731.1), "wiki": (140216.8, 9993.7)}
"""GraphWord2Vec, Table 2: seconds of W2V on one host, and with RepModel-Opt on 32: 16 cores and 56 Gbit (its 5.1)."""


def measure(_: Settings) -> Found:
    """Predict all; a thread's speed is measured here, and those of the paper's hosts are given."""
    taken = [measured(CORPORA[FIRST].text, _options(MOST)) for _ in range(3)]
    speeds = max(taken, key=lambda one: one.words)  # the least disturbed
    wide, tenth = ({name: _Planned(name, speeds, of) for name in CORPORA} for of in (NETWORK, TENTH))
    ours = {name: _Planned(name, speeds, NETWORK, given=False) for name in CORPORA}
    kinds = {"their speed, 100 Gbit": wide, "their speed, 10 Gbit": tenth, "any2vec's speed, 100 Gbit": ours}
    tables = [_hours(wide), _speed_ups(kinds), _many(kinds), _bytes(wide[FIRST])]
    tables += [_phases(wide[FIRST], tenth[FIRST]), _throughput(wide)]
    return Found(SETTINGS, tables, {"speeds": asdict(speeds), "touched": wide[FIRST](MOST).touched})


class _Planned:
    """A corpus on the paper's hosts, by number of hosts and scheme; as fast as the paper's, or as any2vec here."""

    def __init__(self, name: str, speeds: Speeds, bandwidth: float, *, given: bool = True) -> None:
        self._corpus, self._bandwidth = CORPORA[name], bandwidth
        self._speeds = replace(speeds, words=self._corpus.speed / CORES) if given else speeds
        self._known: dict[int, list[Estimate]] = {}

    def __call__(self, hosts: int, scheme: str = OPT) -> Estimate:
        if hosts not in self._known:
            cluster = Cluster((hosts,), CORES, self._bandwidth, LATENCY)
            estimator = Estimator(self._corpus.text, _options(hosts), cluster, self._speeds, even=True)
            self._known[hosts] = list(estimator.estimates(hosts))
        return next(one for one in self._known[hosts] if one.scheme in (scheme, ONE_HOST))


def _options(hosts: int) -> Options:
    """Options of A.1; word2vec's negatives are per pair, and vectors are sent as float32."""
    sizes: dict[str, Any] = {name: getattr(SETTINGS, name) for name in ("dim", "window", "negative", "epochs")}
    how = {"sample": 1e-4, "negatives_per": "pair", "combine": "gradient", "rounds": rounds_of(hosts)}
    how["wire"] = "float32"
    return Word2Vec(**sizes, **how).training_options()


def _hours(wide: dict[str, _Planned]) -> Table:
    heads = ("hosts", *(f"{name}, hours" for name in wide), *(f"{name}, speed-up" for name in wide))
    rows = []
    for hosts in HOSTS:
        found = [planned(hosts) for planned in wide.values()]
        hours, more = [f"{one.total / 3600:.2f}" for one in found], [f"{one.speed_up:.1f}" for one in found]
        rows.append((str(hosts), *hours, *more))
    return Table("PullModel-Opt, 100 Gbit, one host as fast as the paper's", heads, rows)


def _speed_ups(kinds: dict[str, dict[str, _Planned]]) -> Table:
    known = {1: "1.0", 2: f"{TIMES / float(OVER_TWO['PullModel-Opt']):.1f}", MOST: f"{TIMES:.1f}"}
    rows = [(str(n), *(f"{of[FIRST](n).speed_up:.1f}" for of in kinds.values()), known.get(n, "")) for n in HOSTS]
    return Table(f"speed-up over one host, PullModel-Opt, {FIRST}", ("hosts", *kinds, "the paper"), rows, "lines")


def _many(kinds: dict[str, dict[str, _Planned]]) -> Table:
    rows = []
    for name, corpus in CORPORA.items():
        found = [of[name](MOST) for of in kinds.values()]
        theirs = f"{60 * corpus.many:.1f} ({corpus.alone / corpus.many:.1f})" if corpus.many else ""
        rows.append((name, *(f"{one.total / 60:.1f} ({one.speed_up:.1f})" for one in found), theirs))
    return Table("PullModel-Opt on 32 hosts, minutes (speed-up)", ("corpus", *kinds, "the paper"), rows)


def _bytes(wide: _Planned) -> Table:
    heads = ("scheme", "TB sent", "of RepModel-Opt's", "the paper", "seconds at 100 Gbit", "masters spread evenly")
    rows, base = [], wide(MOST, SCHEMES["RepModel-Opt"]).sent
    for name, scheme in SCHEMES.items():
        one = wide(MOST, scheme)
        share, even = f"{one.sent / base:.2f}", seconds_of(one.sent / MOST, Cluster((MOST,), CORES, NETWORK, LATENCY))
        rows.append((name, one.sent / 1e12, share, BYTES.get(name, ""), one.seconds["communication"], even))
    return Table(f"bytes on 32 hosts, {FIRST}", heads, rows)


def _phases(wide: _Planned, tenth: _Planned) -> Table:
    rows, theirs = [], 3600 * (CORPORA[FIRST].many or 0)
    for name, scheme in SCHEMES.items():
        one, slower = wide(MOST, scheme), tenth(MOST, scheme)
        total = f"{theirs * SLOWER[name]:,.0f}" if name in SLOWER else ""
        over = [of(2, scheme).total / of(MOST, scheme).total for of in (wide, tenth)]
        totals = (f"{one.total:,.0f}", f"{slower.total:,.0f}", total)
        rows.append((name, *(one.seconds[phase] for phase in PHASES), *totals, *over, OVER_TWO.get(name, "")))
    heads = ("total", "total, 10 Gbit", "total, the paper", "32 hosts over 2", "over 2, 10 Gbit", "over 2, the paper")
    return Table(f"seconds on 32 hosts, 100 Gbit, {FIRST}", ("scheme", *PHASES, *heads), rows)


def _throughput(wide: dict[str, _Planned]) -> Table:
    """Divide what a host sends, as predicted, by the seconds that the papers need besides computation."""
    first, wiki = CORPORA[FIRST], CORPORA["wiki"]
    found = [("GraphAny2Vec", FIRST, name, first.alone, (first.many or 0) * by) for name, by in SLOWER.items()]
    found += [("GraphAny2Vec", "wiki", "PullModel-Opt", wiki.alone, wiki.many or 0)]
    found += [("GraphWord2Vec", name, "RepModel-Opt", *(of / 3600 for of in times)) for name, times in EARLIER.items()]
    rows = []
    for paper, corpus, scheme, alone, many in found:
        rest, sent = 3600 * (many - alone / MOST), wide[corpus](MOST, SCHEMES[scheme]).sent / MOST
        rows.append((f"{paper}, {corpus}, {scheme}", f"{rest:,.0f}", f"{sent / 1e9:,.0f}", f"{sent / rest / 1e9:.2f}"))
    heads = ("run on 32 hosts", "seconds besides computation", "GB that a host sends, predicted", "GB per second")
    return Table("what the papers' hosts send in a second", heads, rows)
