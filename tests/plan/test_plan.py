"""The plan of a cluster: formulas beside counting and simulated runs, quantities, the command."""

import json
import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from marks import slow
from typer.testing import CliRunner

from any2vec import Any2VecError, Word2Vec
from any2vec.cli import app
from any2vec.cluster.local import simulate
from any2vec.corpus.parts import WordRows
from any2vec.operators.parts import PartSkipGram
from any2vec.plan import formulas, quantities
from any2vec.plan.measuring import Speeds
from any2vec.plan.planning import ONE_HOST, Estimator, make_plan
from any2vec.plan.quantities import Cluster, seconds_of
from any2vec.plan.text import Text, zipf_counts
from any2vec.samples.draws import draw
from any2vec.samples.windows import SampleTables, keep_thresholds
from any2vec.sync import SCHEMES, balance
from any2vec.sync.channel import Channel
from any2vec.training.options import Options

HOW = {"dim": 16, "window": 3, "negative": 3, "min_count": 1, "epochs": 2, "threads": 1, "cache": None}
SPEEDS = Speeds(1e6, 1e7, 1e-7, 1e-7, 1e-3, 1e-6, 1e-3, 1e10)
NETWORK = Cluster((1, 2, 8), 4, 1e8, 1e-4)


def bursty(words=24_000, distinct=800, seed=1):
    """Sentences of 8 words, each from a part of the vocabulary, so that occurrences come close together."""
    random = np.random.default_rng(seed)
    topics = np.repeat(random.integers(0, 40, words // 400), 50)
    drawn = (distinct * random.random((len(topics), 8)) ** 3).astype(int)
    ids = np.where(drawn < 40, drawn, drawn - drawn % 40 + (drawn % 4 + topics[:, None]) % 40)
    return [[f"w{i}" for i in line] for line in ids]


TEXT = bursty()


@pytest.fixture(scope="module")
def text():
    return Text.of_corpus(Word2Vec(**HOW, verbose=False).read(TEXT))


N_GRAMS = {"subwords": (3, 5), "buckets": 900}
FEATURES = {"features": {f"w{i}": [f"brand={i % 40}", f"kind={i % 7}"] for i in range(0, 700, 2)}}
TREE = {"loss": "hierarchical", "negative": None}
OF_PARTS = ["rep-naive", "rep-opt", "pull-base", "pull-opt"]  # schemes that train parts


class Endings(PartSkipGram):
    """Skip-gram whose words share a row with all words that end in the same digit."""

    def divide(self, vocabulary):
        """Give each word its last digit as a part."""
        digits = [int(word[-1]) for word in vocabulary.words]
        return WordRows.of(vocabulary.counts, np.arange(len(digits) + 1), digits)


@pytest.mark.parametrize(
    ("how", "schemes", "hosts"),
    [
        ({}, ["pull-opt", "rep-opt"], 4),
        slow({}, [*SCHEMES], 4),
        slow({"sample": 0.0, "negatives_per": "pair"}, ["pull-opt"], 4),
        slow({"model": "cbow"}, ["columns"], 4),
        slow({"shrink_windows": False, "ns_exponent": 0.25}, ["pull-opt", "server", "columns"], 4),
        slow(TREE | {"sample": 0.0}, ["pull-opt"], 4),
        ({"wire": "float32", "combine": "gradient", "rounds": 5}, ["rep-opt", "pull-opt"], 3),
        (N_GRAMS, ["pull-opt"], 4),
        slow(N_GRAMS, OF_PARTS, 4),
        slow(N_GRAMS | {"sample": 0.0, "negatives_per": "window"}, ["pull-opt"], 4),
        slow(N_GRAMS | {"model": "cbow"}, ["pull-opt", "pull-base"], 4),
        slow(N_GRAMS | TREE | {"model": "cbow"}, ["pull-opt"], 4),
        (FEATURES, ["pull-opt"], 4),
        slow(FEATURES, OF_PARTS, 4),
        slow(FEATURES | {"model": "cbow", "shrink_windows": False}, ["pull-opt"], 4),
        slow({"operator": Endings}, ["rep-opt", "pull-opt"], 4),
    ],
)
def test_bytes_and_rows_are_those_of_simulated_runs(how, schemes, hosts, text, monkeypatch):
    monkeypatch.setattr(balance, "_LEAST", 0.0)  # rows are rebalanced whenever they may be
    options, near = Word2Vec(**HOW | how).training_options(), 0.05 if "loss" in how else 0.03
    found = {one.scheme: one for one in Estimator(text, options, NETWORK, SPEEDS).estimates(hosts)}
    left_out = {"combine": ["columns"], "loss": ["server"]}
    known = [name for name in SCHEMES if not any(name in left_out.get(option, []) for option in how)]
    assert [*found] == (OF_PARTS if {"subwords", "features", "operator"} & how.keys() else known)
    for scheme in schemes:
        report = Word2Vec(**HOW | how, hosts=hosts, scheme=scheme, verbose=False).fit(TEXT).report_
        one = found[scheme]
        assert one.rounds == len(report.rounds), scheme
        assert one.sent == pytest.approx(sum(map(sum, report.rounds.bytes.values())), rel=near), scheme
        for which, rows in report.rounds.touched.items():
            known = report.rounds.mean(rows)
            assert one.touched[which] == pytest.approx(known, rel=0.07 if "rounds" in how else near), (scheme, which)


@pytest.mark.parametrize("sample", [0.0, 1e-3])
@pytest.mark.parametrize("parts", [{}, N_GRAMS])
def test_slices_without_a_row_are_counted(sample, parts, text):
    ids, counts = text.worklist.ids, text.counts.astype(np.int64)
    key = SampleTables(counts, sample, None, 1).epoch(0).keep_key
    kept = np.array([int(draw(key, i)) >> 32 for i in range(len(ids))]) <= keep_thresholds(counts, sample)[ids]
    lengths, rows = np.array([700, 3, 64]), text.operator(Word2Vec(**HOW | parts).training_options()).rows
    found = text.absent(lengths.astype(float), sample, rows)
    assert found.shape == (3, rows.number if parts else len(counts))
    for row in (0, 5, 200, found.shape[1] - 1):
        words = [row]
        if parts:
            words = [w for w in range(len(counts)) if row in rows.rows[rows.bounds[w] : rows.bounds[w + 1]]]
        there = np.concatenate([[0], np.cumsum(np.isin(ids, words) & kept)])
        for k, n in enumerate(lengths):
            assert found[k, row] == pytest.approx(np.mean(there[n:] == there[:-n]), abs=1e-12)


def test_counts_alone_are_of_words_in_any_order():
    random = np.random.default_rng(1)
    ids = (300 * random.random(30_000) ** 2).astype(int)
    counts = np.sort(np.bincount(ids))[::-1]
    known = Text.of_counts(counts)
    absent = known.absent(np.array([100.0, 1000.0]), 0.0)
    for n, one in zip((100, 1000), absent, strict=True):
        distinct = np.mean([len(np.unique(part)) for part in ids.reshape(-1, n)])
        assert (1 - one).sum() == pytest.approx(distinct, rel=0.01)


def test_groups_of_vertices_are_their_vertices():
    counts, many = zipf_counts(1e7, 30_000, 5)
    assert counts @ many == pytest.approx(1e7)
    assert many.sum() == 30_000
    assert (np.diff(counts) <= 0).all()
    assert counts[-1] == pytest.approx(5, rel=0.02)
    grouped, alone = Text.of_counts(counts, many), Text.of_counts(np.repeat(counts, many.astype(int)))
    operator = Options().operator_class(Options(negative=5))
    for one, other in zip(*(formulas.rows(x, operator, np.array([5e4]), 4) for x in (grouped, alone)), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-3)
    tree = [make_plan(x, Options(loss="hierarchical", sample=0.0), NETWORK, SPEEDS) for x in (grouped, alone)]
    assert [one.sent for one in tree[0].estimates] == pytest.approx([one.sent for one in tree[1].estimates])
    assert tree[0].estimates[0].touched["t"] == pytest.approx(29_999, rel=0.01)
    with pytest.raises(Any2VecError, match="too few for a vocabulary"):
        zipf_counts(1e5, 3e4, 5)


@pytest.mark.parametrize("window", [1, 2, 5])
def test_windows_reach_beyond_a_slice(window):
    random = np.random.default_rng(1)
    reaches = random.integers(1, window + 1, (20_000, window))  # of the centres nearest to the end, the last one first
    far = reaches - np.arange(window)  # how far beyond the end each of them reads
    assert formulas.reach(window, 1, 1.0, math.inf) == pytest.approx(np.maximum(far, 0).max(axis=1).mean(), rel=0.02)
    assert formulas.reach(window, 1, 0.5, math.inf) == 2 * formulas.reach(window, 1, 1.0, math.inf)
    assert formulas.reach(window, window, 0.5, math.inf) == 2 * window  # of full width
    assert formulas.reach(window, 1, 1.0, 10.0) < formulas.reach(window, 1, 1.0, math.inf)


def test_the_host_that_sends_or_receives_most_decides():
    phase = np.array([30.0, 10.0, 10.0])  # bytes of each host for each owner
    frames = Cluster((3,), 1, 10.0 * 1538 / 1448, 0.0)
    assert formulas.seconds_sent(phase, frames) == pytest.approx(6.0)  # host 0 receives 30 from each of two
    assert formulas.seconds_sent(phase[[1, 1, 1]], frames) == pytest.approx(2.0)  # each sends 10 to two others
    one = formulas.Traffic(phase, 2 * phase, np.zeros(3), 1)
    assert one.sent == 2 * 3 * 50


def test_sums_of_all_hosts_pass_through_the_first():
    what = ("reduce", "both", "moments")

    def program(host):
        channel, links = Channel(host), []
        begin, others = channel.begin, np.arange(host.size) != host.rank

        def counting(key, send, sent, receive, came, starts=None):
            links.append(receive.dtype.itemsize * receive.shape[1] * max(sent[others].sum(), came[others].sum()))
            return begin(key, send, sent, receive, came, starts)

        channel.begin = counting
        channel.reduce(what, np.ones((60, 8)))
        channel.distribute(what, np.ones((60, 8)))
        return sum(links), channel.take().sum()

    found = simulate(4, 1, program)
    combiner = SimpleNamespace(keeps_balance=False, sent=lambda hosts, dim: sum(sent for _, sent in found))
    sent, of_first, calls = formulas.moments(combiner, 1, 4, 8)
    assert (sent, of_first) == (sum(sent for _, sent in found), pytest.approx(found[0][0]))
    assert formulas.seconds_waited(calls, Cluster((4,), 1, 1.0, 0.5)) == calls == 8


@pytest.mark.parametrize("inspected", [1e2, 1e5, 1e12])
def test_rows_travel_while_hosts_inspect_and_prepare(inspected, text):
    speeds = Speeds(*[*vars(SPEEDS).values()][:8])
    busy, options = replace(speeds, inspected=inspected), Word2Vec(**HOW).training_options()
    idle = replace(speeds, inspected=1e15, prepared=0.0, row_prepared=0.0)
    for one, other in zip(*(Estimator(text, options, NETWORK, of).estimates(4) for of in (busy, idle)), strict=True):
        assert other.hidden < 1e-6
        assert one.transfer + one.hidden == pytest.approx(other.transfer)
        assert one.transfer + one.latency == pytest.approx(one.seconds["communication"])
        assert one.hidden <= one.seconds["inspection"] + one.seconds["combining"]
        assert (one.hidden > 0) == (one.scheme != "columns")
        if inspected == 1e2 and one.scheme == "pull-opt":  # longer than rows travel to their masters: all is hidden
            bytes_ = Word2Vec(**HOW, hosts=4, scheme=one.scheme, verbose=False).fit(TEXT).report_.rounds.bytes
            reduced = sum(sum(sent) for key, sent in bytes_.items() if key in ("reduce e values", "reduce t values"))
            assert 1 < one.hidden / seconds_of(reduced / 4, NETWORK) < 1.2  # of the host that sends or receives most


def test_a_slow_network_and_a_small_memory(text):
    options = Word2Vec(**HOW).training_options()
    fast, slow = (make_plan(text, options, Cluster((1, 2, 8), 4, b, 1e-6), SPEEDS) for b in (1e13, 1e6))
    assert (slow.best.scheme, slow.best.speed_up) == (ONE_HOST, 1.0)
    assert {one.limit for one in slow.estimates if one.hosts == 8} == {"bandwidth"}
    for a, b in zip(fast.estimates, slow.estimates, strict=True):
        assert (a.sent, a.touched, a.memory) == (b.sent, b.touched, b.memory)
        assert a.total <= b.total
    far = make_plan(text, options, Cluster((8,), 4, 1e13, 0.1), SPEEDS)
    assert {one.limit for one in far.estimates} == {"latency"}
    paid = make_plan(text, options, Cluster((1, 2), 4, 1e9, 0.0, price=3600.0), SPEEDS)
    assert [one.cost for one in paid.estimates] == pytest.approx([one.hosts * one.total for one in paid.estimates])
    needs = sorted(one.memory for one in fast.estimates)
    some = make_plan(text, options, Cluster((1, 2, 8), 4, 1e6, 0.0, memory=needs[3]), SPEEDS)
    assert sum(one.fits for one in some.estimates) == 4
    assert some.best.fits
    assert {one.limit for one in some.estimates if not one.fits} == {"memory"}
    with pytest.raises(Any2VecError, match=r"no scheme fits: .* needs .* a host, and that is the least"):
        make_plan(text, options, Cluster((1, 2, 8), 4, 1e6, 0.0, memory=needs[0] - 1), SPEEDS)


def test_more_hosts_would_fit():
    large = Text.of_counts(*zipf_counts(1e9, 1e6, 5))
    options = Options(dim=300)
    with pytest.raises(Any2VecError, match="4 hosts with columns, a smaller `dim`"):
        make_plan(large, options, Cluster((1, 2), 4, 1e9, 0.0, memory=1.1e9), SPEEDS)
    with pytest.raises(Any2VecError, match="hosts` is 64, but there are 50 words"):
        make_plan(Text.of_counts(np.array([30, 20])), options, Cluster((64,), 4, 1e9, 0.0), SPEEDS)


@pytest.mark.parametrize(
    ("read", "given", "expected"),
    [
        (quantities.rate, "10Gbit", 1.25e9),
        (quantities.rate, "200 mbit/s", 2.5e7),
        (quantities.rate, "25Gbps", 3.125e9),
        (quantities.rate, "1.25GB/s", 1.25e9),
        (quantities.duration, "50us", 5e-5),
        (quantities.duration, "0s", 0.0),
        (quantities.memory, "64G", 64 * 2**30),
        (quantities.memory, "512MiB", 2**29),
        (quantities.price, "2.5/h", (2.5, "")),
        (quantities.price, "$2.5/h", (2.5, "$")),
        (quantities.price, "2.5 EUR/h", (2.5, "EUR")),
        (quantities.numbers_of_hosts, "8, 1,8,2", (1, 2, 8)),
    ],
)
def test_quantities(read, given, expected):
    assert read(given) == pytest.approx(expected) if isinstance(expected, float) else read(given) == expected


@pytest.mark.parametrize(
    ("read", "given", "why"),
    [
        (quantities.rate, "10", "network` is '10', without a unit; .* such as 10Gbit"),
        (quantities.rate, "0Gbit", "nothing could be sent"),
        (quantities.rate, "-1Gbit", "must be a network"),
        (quantities.duration, "50", "without a unit; it must be a time, such as 50us"),
        (quantities.duration, "5 min", "must be a time"),
        (quantities.memory, "64", "without a unit; .* such as 64G"),
        (quantities.memory, "0G", "nothing fits"),
        (quantities.price, "2.5", "a host in an hour, such as 2.5/h"),
        (quantities.price, "$2.5EUR/h", "such as 2.5/h"),
        (quantities.numbers_of_hosts, "0,2", "numbers from 1 to 4,096"),
        (quantities.numbers_of_hosts, "1,,2", "numbers from 1 to 4,096"),
        (lambda text: quantities.number(text, "words"), "many", "`words` is 'many'; it must be a number"),
        (lambda text: quantities.number(text, "words"), "0", "must be 1 or more"),
    ],
)
def test_quantities_that_are_none(read, given, why):
    with pytest.raises(Any2VecError, match=why):
        read(given)


SMALL = ("--dim", "16", "--window", "3", "--negative", "3", "--min-count", "1", "--epochs", "1")


def run(*arguments):
    return CliRunner().invoke(app, ["plan", *map(str, arguments)], env={"COLUMNS": "200"})


def test_command(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text.txt").write_text("\n".join(map(" ".join, TEXT)) + "\n")
    files = ("-o", "plan.svg", "--json", "plan.json")
    hosts = ("--hosts", "1,4", "--network", "1Gbit", "--memory", "64G", "--cores", "2", "--price", "2EUR/h")
    result = run("text.txt", *SMALL, *hosts, *files)
    assert result.exit_code == 0, result.output
    for said in ("pull-opt", "columns", "transfer", "latency", "hidden", "EUR", "words/s of a thread", "take one host"):
        assert said in result.output
    figures = json.loads((tmp_path / "plan.json").read_text())
    assert {one["hosts"] for one in figures["estimates"]} == {1, 4}
    assert figures["recommended"] == {"hosts": 1, "scheme": "one host"}
    assert figures["speeds"]["words"] > 1000
    assert "any2vec plan" in (tmp_path / "plan.svg").read_text()
    assert run("text.txt", *SMALL, "--hosts", "1,2", *files).exit_code == 0  # replaces its own


def test_command_without_a_text(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "v.txt").write_text("</s> 0\n" + "".join(f"w{i} {9000 // i}\n" for i in range(1, 900)))
    given = run(*SMALL, "--vocabulary", "v.txt", "--hosts", "2", "--speed", "1e6", "--quiet")
    assert given.exit_code == 0, given.output
    assert "which is not used" in given.output
    numbers = run(*SMALL, "--words", "1e6", "--vocabulary", "2000", "--hosts", "1,2", "--quiet")
    assert numbers.exit_code == 0, numbers.output
    assert "1,000,000 words, 2,000 of them different" in numbers.output


NUMBERS = "--words 1e6 --vocabulary 2000"


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ("", "give a CORPUS to plan for, or --words and --vocabulary"),
        ("--words 1e6", "give a CORPUS to plan for, or --words and --vocabulary"),
        ("text.txt --words 1e6", "--words is given, and CORPUS too"),
        ("text.txt --network 10", "--network is '10', without a unit"),
        ("text.txt --walks 4", "--walks is for graphs: give --nodes"),
        ("text.txt --nodes --min-count 4", "--min-count is for texts"),
        ("text.txt -o plan.jpg", "must end with .png or .svg"),
        ("text.txt -o text.txt", "is, or lies in, what is read"),
        ("text.txt --json other.json", "does not hold a plan"),
        ("text.txt -o own.svg", "does not hold the figure of a plan"),
        ("none.txt", "none.txt"),
        (f"{NUMBERS} --subwords 3-6", "(--subwords or --features), and how many"),
        (f"{NUMBERS} --features f.tsv", "give a CORPUS, or their file as --voc"),
        ("text.txt --subwords 6-3", "--subwords is '6-3'"),
        ("text.txt --buckets 50", "--buckets is 50; that is for"),
        ("text.txt --features none.tsv", "none.tsv"),
        ("text.txt --features f.tsv --subwords 3-6", "words have parts of one kind"),
        ("text.txt --features f.tsv --json f.tsv", "is, or lies in, what is read"),
    ],
)
def test_mistakes(arguments, why, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text.txt").write_text("a b\n" * 9)
    (tmp_path / "f.tsv").write_text("a\tx=1\n")
    (tmp_path / "other.json").write_text("{}\n")
    (tmp_path / "own.svg").write_text("<svg><title>any2vec plan of mine</title></svg>")
    result = run(*arguments.split())
    assert result.exit_code == 1
    assert why in str(result.exception)
