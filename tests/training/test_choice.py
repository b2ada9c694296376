"""The scheme of a run that is given none; `--scheme auto`: bytes are estimated, the least of what fits is taken."""

from dataclasses import replace

import numpy as np
import pytest
from marks import slow
from simulated import Said, bits, options, read, text, train

from any2vec import Word2Vec
from any2vec.cluster import simulate
from any2vec.report import Report
from any2vec.sync.combiners import Curvature
from any2vec.training import choice

SENTENCES = text(4000, words=400)
HOW = {"dim": 16, "window": 3, "negative": 3, "sample": 0, "min_count": 1, "cache": None}


def estimates(corpus, how):
    found = simulate(corpus.hosts, 2, lambda one: choice.estimate(corpus, how.training_options(), one))
    assert found[1:] == found[:-1]
    return found[0]


@pytest.mark.parametrize("hosts", [4, slow(12)])
@pytest.mark.parametrize(
    "more",
    [
        {},
        slow({"combine": "gradient", "rounds": 20, "epochs": 1}),
        slow({"combine": Curvature(kappa=0.2)}),
        slow({"model": "cbow", "sample": 0.01}),
        slow({"loss": "hierarchical", "negative": None}),
    ],
    ids=str,
)
def test_estimated_bytes_are_those_counted(hosts, more):
    corpus = read(SENTENCES, hosts)
    for scheme in ("pull-opt", "columns")[: 2 if hosts == 4 or not more else 1]:  # columns have kernels for each width
        how = options(**({"epochs": 2, "scheme": scheme} | more))
        how = replace(how, combine="curvature") if scheme == "columns" else how
        report = Report({})
        train(corpus, how, report=report)
        found = estimates(corpus, options(**({"epochs": 2} | more)))[scheme].sent
        assert found == pytest.approx(sum(map(sum, report.rounds.bytes.values())), rel=0.05)


@pytest.mark.slow
def test_what_sends_least_is_chosen():
    said, report = Said(), []
    for dim in (16, 128):
        model = Word2Vec(**HOW | {"dim": dim}, hosts=4, epochs=1, rounds=4, scheme="auto", verbose=said)
        report.append(model.fit(SENTENCES).report_)
    assert [r.scheme for r in report] == ["pull-opt", "columns"]
    assert report[0].options["scheme"] == "auto"
    lines = [line for line in said.lines if line.startswith("scheme ")]
    assert lines[0].startswith("scheme pull-opt: pull-opt would send ")
    assert "columns would send" in lines[0]
    assert lines[1].startswith("scheme columns: ")
    same = Word2Vec(**HOW | {"dim": 128}, hosts=4, epochs=1, scheme="columns").fit(SENTENCES)
    auto = Word2Vec(**HOW | {"dim": 128}, hosts=4, epochs=1, rounds=40, scheme="auto", batch=50).fit(SENTENCES)
    assert np.abs(same.vectors_.matrix - auto.vectors_.matrix).max() < 0.1


def test_memory_counts(monkeypatch):
    monkeypatch.setattr(choice, "memory_of_a_host", lambda _: 115_000)  # columns: 400 x 128 x 8 bytes / 4
    found = Word2Vec(**HOW | {"dim": 128}, hosts=4, epochs=1, rounds=1, scheme="auto").fit(SENTENCES)
    assert found.report_.scheme == "columns"


@pytest.mark.parametrize(
    ("how", "why"),
    [
        ({"combine": "gradient"}, "no columns, because of `combine`"),
        ({"dim": 3}, "no columns, because of `dim`"),
        ({"batch": 30_000}, "no columns, because of `batch`"),
        ({"hosts": 1}, "one host sends nothing"),
    ],
)
def test_what_columns_cannot_do_is_said(how, why):
    said = Said()
    model = Word2Vec(**{"hosts": 4, "scheme": "auto", "epochs": 1, "rounds": 40} | HOW | how, verbose=said)
    alone = "hosts" in how
    assert model.fit(SENTENCES).report_.scheme == (None if alone else "pull-opt")
    begins = f"scheme {'auto' if alone else 'pull-opt'}: "
    assert any(line.startswith(begins) and why in line for line in said.lines)


def test_auto_has_the_bits_of_what_it_chose():
    corpus = read(SENTENCES, 2)
    assert bits(train(corpus, options(scheme="auto", combine="gradient"))) == bits(
        train(corpus, options(scheme="pull-opt", combine="gradient"))
    )


@pytest.mark.parametrize(
    ("how", "scheme"),
    [
        ({}, "rep-opt"),
        ({"hosts": 1}, None),
        ({"wire": "float32"}, "rep-opt"),
        ({"loss": "hierarchical", "negative": None}, "rep-opt"),
    ],
    ids=str,
)
def test_the_scheme_of_a_run_that_is_given_none(how, scheme):
    report = Word2Vec(**{"hosts": 2, "rounds": 2, "epochs": 1} | HOW | how).fit(SENTENCES).report_
    assert (report.scheme, report.options["scheme"]) == (scheme, None)


@pytest.mark.parametrize("rounds", [1, 4, 50])
def test_hosts_have_all_rows_if_their_rounds_touch_most(rounds):
    report = Word2Vec(**HOW, hosts=2, rounds=rounds, epochs=2).fit(SENTENCES).report_
    touched = sum(report.rounds.touched[label][-1] for label in "et") / 800
    assert report.scheme == ("rep-opt" if touched > 0.75 else "pull-opt")
    assert abs(touched - 0.75) > 0.01


def test_hosts_have_all_rows_only_if_memory_suffices(monkeypatch):
    monkeypatch.setattr(
        choice, "memory_of_a_host", lambda _: 220_000
    )  # 3 x (400 x 16 x 8 bytes, and half of them again)
    found = Word2Vec(**HOW, hosts=2, rounds=2, epochs=1).fit(SENTENCES)
    assert found.report_.scheme == "pull-opt"


@pytest.mark.parametrize(
    ("lines", "scheme"),
    [(300, "pull-opt"), (900, "rep-opt")],  # e: 0.33 and 0.7 of the rows, t: 0.85 and 1
)
def test_all_updates_of_an_occurrence_touch_one_row(lines, scheme):
    words = np.random.default_rng(1).integers(0, 3000, (lines, 20)).astype(str).tolist()
    found = Word2Vec(**HOW, hosts=2, rounds=3, epochs=1).fit(words)
    assert found.report_.scheme == scheme


def test_counts_of_earlier_texts_touch_no_rows():
    before = Word2Vec(**HOW).fit(SENTENCES)
    report = Word2Vec(**HOW, start=before.vectors_, hosts=2, rounds=3, epochs=1).fit(SENTENCES[:20]).report_
    assert report.scheme == "pull-opt"
