"""The four schemes differ in what travels, not in the result; and every byte that travels is counted."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from marks import slow
from simulated import COMBINES, NAMES, bits, options, read, rounds_more, text, train

from any2vec.operators.matrices import new_matrices
from any2vec.report import Report
from any2vec.report.rounds import KEYS
from any2vec.sync.rows import Pulled, Replicated
from any2vec.sync.scheme import Scheme
from any2vec.sync.wire import WIRES
from any2vec.training.row_host import RowHost

WORDS = st.integers(0, 14).map("w{}".format)
CORPORA = st.lists(st.lists(WORDS, min_size=1, max_size=9), min_size=8, max_size=30)


def of_all_schemes(corpus, how, **more):
    return {name: train(corpus, options(**how, scheme=name), **more) for name in NAMES}


def assert_same(found):
    reference = bits(found["rep-naive"])
    assert {name: bits(labels) == reference for name, labels in found.items()} == dict.fromkeys(found, True)


@pytest.mark.slow
@settings(max_examples=12)
@given(
    corpus=CORPORA,
    hosts=st.sampled_from([2, 3, 4, 8]),
    rounds=st.integers(1, 5),
    combine=st.sampled_from(COMBINES),
    negatives_per=st.sampled_from(["window", "pair"]),
    narrow=st.booleans(),
    sample=st.sampled_from([0, 0.5]),
    seed=st.integers(0, 2**32),
    cores=st.integers(1, 4),
)
def test_schemes_give_the_same_bits(corpus, hosts, rounds, combine, negatives_per, narrow, sample, seed, cores):
    dim = {"dim": 5} if narrow and negatives_per == "window" else {}
    how = {"negatives_per": negatives_per, "rounds": rounds, "combine": combine, "sample": sample, "seed": seed}
    corpus = read([*corpus, ["w0", "w1"] * 3], hosts)  # or there may be nothing to learn
    assert_same(of_all_schemes(corpus, how | dim, cores=cores))


@pytest.mark.parametrize(
    ("combine", "hosts"),
    [
        *((combine, (2, 3)[i % 2]) for i, combine in enumerate(COMBINES)),
        *(slow(combine, (8, 4)[i % 2]) for i, combine in enumerate(COMBINES)),
    ],
)
def test_every_combiner_and_number_of_hosts(combine, hosts):
    corpus = read(text(40), hosts)
    found = of_all_schemes(corpus, {"combine": combine, "rounds": 3, "alpha": 0.1})
    assert_same(found)
    e, t = found["pull-opt"]
    start = new_matrices(0, len(e), 16, seed=1).embedding
    assert np.abs(e - start).max() > 1e-4
    assert t.any()
    assert np.isfinite(e).all()


@pytest.mark.parametrize("scheme", ["rep-opt", "pull-opt"])
def test_any_number_of_cores_gives_the_same_bits(scheme):
    corpus = read(text(60), 4)
    found = [bits(train(corpus, options(scheme=scheme, rounds=3, epochs=2), cores)) for cores in (1, 2, 3, 7)]
    assert found[1:] == found[:-1]


@settings(max_examples=10)
@given(
    corpus=CORPORA,
    rounds=st.integers(1, 200),
    scheme=st.sampled_from(NAMES),
    combine=st.sampled_from(COMBINES),
    negatives_per=st.sampled_from(["window", "pair"]),
)
def test_one_host_is_plain_training(corpus, rounds, scheme, combine, negatives_per):
    corpus = read([*corpus, ["w0", "w1"]], 1)
    plain = train(corpus, options(negatives_per, rounds=1))
    assert bits(train(corpus, options(negatives_per, rounds=rounds, scheme=scheme, combine=combine))) == bits(plain)


class Counting:
    """A communicator that counts what is sent to other hosts, by the phase that the scheme is in and what it is."""

    def __init__(self, inner, kind):
        self.inner, self.kind, self.phase, self.sent = inner, kind, "broadcast", Counter()
        self.rank, self.size = inner.rank, inner.size

    def __getattr__(self, name):
        return getattr(self.inner, name)

    def ialltoallv(self, send, send_counts, receive, counts, starts=None):
        self.note(send, send_counts)
        return self.inner.ialltoallv(send, send_counts, receive, counts, starts)

    def note(self, send, send_counts):
        others = {"uint8": "ids", "int32": "updates", "float64": "moments", "int64": None}
        what = others.get(str(send.dtype), "values")
        if send.dtype == np.float32 and send.shape[-1] in (10, 11):  # D, or D and a number; rows have 16 floats
            what = "moments"
        rows = sum(n for host, n in enumerate(send_counts.tolist()) if host != self.rank)
        inspected = self.kind is Pulled and what in ("ids", "updates")
        # int64: how many bytes of ids will come, 8 to each host
        if what:
            phase = "reduce" if what == "moments" else "inspect" if inspected else self.phase
            self.sent[phase, what] += rows * send[:1].nbytes


@pytest.mark.parametrize(
    ("scheme", "wire", "combine", "hosts"),
    [
        (scheme, wire, ("curvature", "gradient")[(i + k) % 2], (2, 5)[(i // 2 + k) % 2])
        for i, scheme in enumerate(NAMES)
        for k, wire in enumerate(WIRES)
    ],
)
def test_bytes_counted_are_those_sent(monkeypatch, scheme, wire, combine, hosts):
    kind = Replicated if scheme.startswith("rep") else Pulled
    synchronize, merge = kind.synchronize, Scheme.combine

    def reducing(self, *args):
        self.channel.communicator.phase = "reduce"
        return synchronize(self, *args)

    def combining(self, *args):
        self.channel.communicator.phase = "broadcast"
        return merge(self, *args)

    monkeypatch.setattr(kind, "synchronize", reducing)
    monkeypatch.setattr(Scheme, "combine", combining)
    counting = []

    def wrap(communicator):
        counting.append(Counting(communicator, kind))
        return counting[-1]

    report = Report({})
    how = options(dim=10, scheme=scheme, wire=wire, combine=combine, rounds=3, epochs=2)
    train(read(text(50, words=40), hosts), how, wrap=wrap, report=report)
    seen = Counter()
    for one in counting:
        seen.update(one.sent)
    told = Counter()
    for key, sent in report.rounds.bytes.items():
        phase, _, what = key.split()
        assert len(sent) == 6 + rounds_more(hosts, 3)
        told[("reduce" if what == "moments" else phase), what] += sum(sent)
    assert +told == +seen
    assert bool(told["reduce", "moments"]) == (combine == "curvature")


def traffic(scheme, sentences, hosts, **more):
    report = Report({})
    how = {"rounds": 3, "epochs": 2, "combine": "gradient", "scheme": scheme} | more
    train(read(sentences, hosts), options(**how), report=report)
    return {tuple(key.split()): np.array(sent) for key, sent in report.rounds.bytes.items()}, report


def total(sent, *wanted):
    return sum(n for key, n in sent.items() if set(wanted) <= set(key))


@pytest.mark.parametrize(
    ("wire", "hosts", "dim", "row"),
    [("float32", 2, 16, 64), ("float32", 3, 5, 64), ("bfloat16", 8, 16, 32), ("bfloat16", 3, 5, 10)],
)
def test_naive_sends_all_rows_both_ways(wire, hosts, dim, row):
    sent, _ = traffic("rep-naive", text(50, words=40), hosts, dim=dim, wire=wire)
    vertices = 40
    rows = (hosts - 1) * vertices
    for key in KEYS:
        phase, label, kind = key
        expected = 0
        if label != "both" and phase != "inspect":
            expected = {"values": rows * row, "updates": rows * 4 * (phase == "reduce")}.get(kind, 0)
        assert sent[key].tolist() == [expected] * (6 + rounds_more(hosts, 3))


def test_small_rounds_send_little():
    """Rounds that touch few rows of many: all but rep-naive send few."""
    values = {}
    for name in NAMES:
        sent, report = traffic(name, text(300, words=400), 4, rounds=20)
        values[name] = total(sent, "values").sum()
        assert all(0 < rows < 400 for label in "et" for rows in report.rounds.touched[label][-20:])
    assert values["pull-opt"] < values["pull-base"] < values["rep-naive"]
    assert values["pull-opt"] < values["rep-opt"] < 0.7 * values["rep-naive"]


def test_what_is_told_of_rows_is_the_same_by_all_schemes():
    reports = [traffic(name, text(200, words=60), 4)[1] for name in NAMES]
    found = [(report.rounds.touched, report.rounds.orthogonality, report.rounds.orthogonal) for report in reports]
    assert found[1:] == found[:-1]
    assert all(0 < share <= 1 for share in found[0][1][-6:])
    assert reports[0].loss == reports[3].loss


class Noted:
    """Notes the hosts that are made, and how many rows of labels they have in each round."""

    def __init__(self, monkeypatch):
        self.hosts, self.rows = [], []
        make, start = RowHost.__init__, RowHost.start

        def making(host, *args, **more):
            make(host, *args, **more)
            self.hosts.append(host)

        def starting(host, task):
            if task.rate.alpha:  # not when it is compiled
                labels, now = host.scheme.matrices, getattr(host.scheme, "_now", {})
                touched = [int(np.count_nonzero(now[label].updates)) for label in now]
                self.rows.append((len(labels.e), len(labels.t), *touched))
            return start(host, task)

        monkeypatch.setattr(RowHost, "__init__", making)
        monkeypatch.setattr(RowHost, "start", starting)


@pytest.mark.parametrize("scheme", ["pull-base", "pull-opt"])
def test_pull_model_holds_masters_and_touched_rows(monkeypatch, scheme):
    noted = Noted(monkeypatch)
    sentences = [[f"w{10 * k + i}" for i in range(10)] for k in range(100)]  # every word is in one sentence
    train(read(sentences, 4), options(scheme=scheme, rounds=25, epochs=2))
    assert len(noted.rows) == 4 * (50 + rounds_more(4, 25))
    for host in noted.hosts:
        assert (host.scheme.masters.vertices, len(host.scheme.masters.e)) == (250, 250)
        assert max(len(rows) for rows in host.scheme.wire._buffers.values()) < 200
    for e, t, touched_e, touched_t in noted.rows[-4 * 24 :]:
        wanted = max(touched_e, touched_t)
        # rounds of one sentence: 10 sources; the destinations are they and 30 negatives
        assert 0 < touched_e <= 10 < touched_t <= 40
        assert wanted <= e == t <= 1.25 * (touched_e + touched_t)
