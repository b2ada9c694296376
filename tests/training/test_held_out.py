"""The loss on what is left out of training: which samples these are, what it is, and when it ends a run."""

import json

import naive
import numpy as np
import pytest
from simulated import NAMES, Said, bits, interrupted, options, pressed_after, read, text, train

from any2vec import Any2VecError, DeepWalk, Doc2Vec, Word2Vec
from any2vec.graph import read_graph
from any2vec.report import Report
from any2vec.report.log import read_report
from any2vec.samples.targets import alias_table, probabilities
from any2vec.samples.windows import keep_probability
from any2vec.training.listeners import HeldOut

SENTENCES = text(120, seed=3)
HOW = {"dim": 16, "window": 3, "negative": 3, "min_count": 1, "sample": 0, "threads": 1, "held_out": 0.2, "cache": None}


def fitted(**more):
    return Word2Vec(**HOW | {"epochs": 3} | more).fit(SENTENCES)


def without_judging(monkeypatch):
    monkeypatch.setattr(HeldOut, "after_epoch", lambda *_: None)


@pytest.mark.parametrize(("sample", "part"), [(0, 1), (0.1, 1), (0, 0.4)])
@pytest.mark.parametrize("negatives_per", ["window", "pair"])
def test_samples_and_losses_are_those_of_the_naive(negatives_per, sample, part):
    how = options(negatives_per, epochs=2, sample=sample, held_out=0.25, seed=7, part=part)
    corpus, report = read(SENTENCES, 1), Report({})
    e, t = train(corpus, how, report=report)
    counts = corpus.vocabulary.counts
    s = naive.Setting(
        corpus.worklist.ids.tolist(),
        corpus.worklist.bounds.tolist(),
        keep_probability(counts, float(counts.sum()), sample).tolist(),
        alias_table(probabilities(counts)),
        negatives_per,
        how.window,
        how.negative,
        epochs=2,
        seed=7,
        held_out=0.25,
        part=part,
    )
    start = train(corpus, options(negatives_per, alpha=1e-9, epochs=1, sample=sample, seed=7))[0]
    mine, other, losses = start.astype(float), np.zeros(start.shape), []
    for epoch in range(2):
        naive.train(s, mine, other, epoch, 0, len(s.ids))
        samples, loss = naive.train(s._replace(alpha=0.0), mine, other, naive.JUDGING, 0, len(s.ids))
        losses.append(loss / samples)
    np.testing.assert_allclose(e, mine, atol=1e-5)
    np.testing.assert_allclose(t, other, atol=1e-5)
    np.testing.assert_allclose(report.held_out, losses, atol=1e-5)


@pytest.mark.parametrize("hosts", [1, 2, 3])
def test_schemes_find_the_same_loss(hosts):
    corpus, found = read(SENTENCES, hosts), {}
    for name in NAMES:
        report = Report({})
        vectors = train(corpus, options(epochs=2, scheme=name, held_out=0.2, rounds=3), report=report)
        found[name] = bits(vectors), report.held_out
    assert len(found["rep-naive"][1]) == 2
    assert all(one == found["rep-naive"] for one in found.values())


@pytest.mark.parametrize(
    "more",
    [
        *({"scheme": name, "hosts": 2} for name in [*NAMES, "columns", "server"]),
        {"threads": 2},
        {"model": "cbow", "hosts": 2},
        {"loss": "hierarchical", "negative": None},
        {"subwords": "3-4", "buckets": 50, "model": "cbow"},
    ],
    ids=lambda more: "-".join(map(str, more.values())),
)
def test_judging_changes_nothing(more, monkeypatch):
    judged = fitted(**more)
    losses = judged.report_.held_out
    assert len(losses) == 3
    assert all(0 < loss < 1 for loss in losses)
    if more == {"threads": 2}:
        return
    without_judging(monkeypatch)
    other = fitted(**more)
    assert other.report_.held_out == []
    assert bits([judged.vectors_.e, judged.vectors_.t]) == bits([other.vectors_.e, other.vectors_.t])
    assert judged.loss_ == other.loss_


@pytest.mark.parametrize("hosts", [1, 2])
def test_columns_leave_out_what_others_do(hosts):
    """The samples are the same, which a rate of nearly zero shows by the loss."""
    found = [fitted(scheme=scheme, hosts=hosts, alpha=1e-8).report_ for scheme in ("columns", "rep-opt")]
    np.testing.assert_allclose(found[0].held_out, found[1].held_out, rtol=1e-5)
    np.testing.assert_allclose(found[0].loss, found[1].loss, rtol=1e-5)
    samples = [sum(one.rounds.samples) for one in found]
    assert samples[0] == samples[1]


def test_documents_leave_out_words():
    documents = [sentence * 5 for sentence in SENTENCES]
    model = Doc2Vec(**HOW | {"epochs": 20, "alpha": 0.1}).fit(documents)
    losses = model.report_.held_out
    assert losses[-1] < losses[0] < 1
    assert len(model.documents_.e) == len(documents)
    assert all(np.abs(model.documents_.e).max(axis=1) > 0.02)  # of all, something was trained


def test_the_same_walks_are_left_out_on_all_hosts():
    graph = read_graph([(i, (i + step) % 30) for i in range(30) for step in (1, 7)])
    how = {name: HOW[name] for name in ("dim", "window", "negative", "sample", "threads", "held_out")}
    found = [DeepWalk(**how, epochs=1, hosts=hosts, alpha=1e-8).fit(graph).report_ for hosts in (1, 3)]
    np.testing.assert_allclose(found[0].held_out, found[1].held_out, rtol=1e-6)
    assert sum(found[0].rounds.samples) == sum(found[1].rounds.samples)


def test_patience_ends_a_run_and_a_resumed_one_ends_there(tmp_path):
    said = Said()
    how = {"epochs": 60, "alpha": 0.4, "patience": 2, "checkpoint": tmp_path / "kept", "resume": tmp_path / "kept"}
    model = fitted(**how, verbose=said)
    losses = model.report_.held_out
    assert len(model.loss_) == len(losses) < 60
    assert losses.index(min(losses)) == len(losses) - 3
    assert any(line.startswith("the loss on what is held out was least in epoch") for line in said.lines)
    again = fitted(**how)
    assert again.report_.held_out == losses
    assert bits([again.vectors_.e]) == bits([model.vectors_.e])


@pytest.mark.parametrize("hosts", [1, 2])
def test_a_resumed_run_knows_earlier_losses(hosts, tmp_path):
    whole = fitted(hosts=hosts, epochs=6)
    how = HOW | {"epochs": 6, "hosts": hosts}
    kept = {"checkpoint": tmp_path, "checkpoint_every": 1}
    interrupted(Word2Vec(**how, **kept, callbacks=[pressed_after(3)]), SENTENCES)
    again = Word2Vec(**how, resume=tmp_path).fit(SENTENCES)
    assert again.report_.held_out == whole.report_.held_out
    assert bits([again.vectors_.e]) == bits([whole.vectors_.e])


def test_it_is_shown_and_kept(tmp_path):
    said = Said()
    held = fitted(verbose=said).report_.held_out
    assert [line.split("held out ")[1] for line in said.lines if "held out " in line] == [
        f"{loss:.4f}" for loss in held
    ]
    model = fitted(log=tmp_path / "run.jsonl")
    events = [json.loads(line) for line in (tmp_path / "run.jsonl").read_text().splitlines()]
    assert [event["held_out"] for event in events if event["event"] == "epoch"] == held
    assert read_report(tmp_path / "run.jsonl").held_out == held
    model.report_.write(tmp_path / "run.json")
    assert read_report(tmp_path / "run.json").held_out == held
    axes = model.report_.plot().axes[0]
    assert "held out" in [line.get_label() for line in axes.lines]


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"held_out": 0, "patience": 1}, "`patience` is given, and `held_out` is 0"),
        ({"held_out": 0.6}, "`held_out` is 0.6; it must be"),
        ({"patience": 0}, "`patience` is 0; it must be"),
        ({"held_out": 1e-9}, "nothing is held out: with `held_out` 1e-09"),
    ],
)
def test_bad_input(more, why):
    with pytest.raises(Any2VecError, match=why):
        fitted(**more)


def test_patience_alone_holds_out_something():
    assert Word2Vec(patience=3).training_options().held_out == 0.02
    assert Word2Vec().training_options().held_out == 0


@pytest.mark.parametrize("more", [{}, {"hosts": 3}, {"scheme": "columns"}, {"scheme": "server", "hosts": 2}], ids=str)
def test_a_part_of_a_text_has_the_same_held_out(more):
    """Parts contain smaller ones; what is held out does not depend on them, and is in none."""
    found = [fitted(part=part, alpha=1e-8, **more).report_ for part in (0.25, 0.5, 1.0)]
    losses, samples = [one.held_out for one in found], [sum(one.rounds.samples) for one in found]
    np.testing.assert_allclose(losses, losses[:1] * 3, rtol=1e-5)
    assert 0.1 < samples[0] / samples[2] < 0.35 < samples[1] / samples[2] < 0.6


def test_a_part_of_the_documents():
    documents = [sentence * 5 for sentence in SENTENCES]
    model = Doc2Vec(**HOW | {"epochs": 3, "alpha": 0.1, "part": 0.5}).fit(documents)
    moved = np.abs(model.documents_.e).max(axis=1) > 0.5 / HOW["dim"] + 1e-6
    assert 0.3 < moved.mean() < 0.7
