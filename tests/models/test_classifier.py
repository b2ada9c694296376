"""`Classifier`: the kernel beside its plain twin; the same bits by all schemes; what it takes and refuses."""

import itertools
import json
from contextlib import nullcontext
from dataclasses import replace

import naive_labels
import numpy as np
import pytest
from marks import slow_but
from naive_labels import PREFIX

from any2vec import Any2VecError, Classifier
from any2vec.classify.model import LOSSES
from any2vec.cluster.local import alone, simulate
from any2vec.corpus.lines import LineRows
from any2vec.errors import Any2VecWarning
from any2vec.operators.labels import LABEL_OPERATORS
from any2vec.operators.matrices import new_matrices
from any2vec.samples.targets import alias_table, huffman_paths, probabilities
from any2vec.sync.combiners.curvature import Curvature
from any2vec.training import trainer

TEXTS = {
    "fruit": ["red apple pie", "green apple and pear", "ripe pear or plum", "a plum cake with apple"],
    "tools": ["a hammer and nails", "rusty hammer or saw", "the saw cuts wood", "nails in wood"],
    "sky": ["grey clouds and rain", "the rain clouds", "stars or the moon"],
}


class DiedError(Exception):
    """Stands for a power cut."""


def lines(number=60, several=False, seed=5):
    """Draw lines of words, each with a label, or with several."""
    random, found = np.random.default_rng(seed), []
    for _ in range(number):
        labels = random.choice(list(TEXTS), random.integers(1, 3) if several else 1, replace=False).tolist()
        text = " ".join(str(random.choice(TEXTS[label])) for label in labels)
        found.append([*(PREFIX + label for label in labels), *text.split(), f"once{random.integers(1000)}"])
    return found


def by_hand(text, model, loss, characters=None, weights=None):
    """Train the plain twin from the same initial rows."""
    how = {"grams": model.word_ngrams, "buckets": model.buckets, "characters": characters}
    rows = naive_labels.rows_of(text, model.min_count, **how)
    e = new_matrices(0, max(len(rows), 3), model.dim, seed=model.seed, scale=2.0).embedding.astype(float)
    t = np.zeros((3, model.dim))
    _, counts = naive_labels.vocabulary(text)
    of_labels = np.array(sorted((n for w, n in counts.items() if w.startswith(PREFIX)), reverse=True))
    paths = huffman_paths(of_labels)
    steps = [paths.steps[a:b] for a, b in zip(paths.starts, paths.starts[1:], strict=False)]
    tree = [[(int(step) >> 1, 1 - (int(step) & 1)) for step in path] for path in steps]
    table = alias_table(probabilities(of_labels, 0.5))
    given = {"alpha": model.alpha, "epochs": model.epochs, "seed": model.seed, "weights": weights}
    losses = naive_labels.train(text, e, t, loss, rows, tree, table, **given, **how)
    return rows, e, t, losses


KINDS = [{}, {"word_ngrams": 3, "buckets": 50}, {"subwords": "2-3", "min_count": 2}]


@pytest.mark.parametrize(
    ("loss", "options"),
    slow_but(
        [*((loss, {}) for loss in LOSSES), *(("softmax", options) for options in KINDS)],
        itertools.product(LOSSES, KINDS),
        unpacked=True,
    ),
)
def test_training_equals_the_naive(loss, options):
    text = lines(several=loss != "softmax" or "subwords" in options)
    model = Classifier(dim=20, epochs=3, alpha=0.5, threads=1, seed=7, loss=loss, **{"buckets": 1000, **options})
    model.fit(text)
    characters = (2, 3, 1000) if "subwords" in options else None
    rows, e, t, losses = by_hand(text, model, loss, characters)
    found = model.model_
    parts = [*found.words, *found.ids.tolist()]
    assert sorted(map(str, parts)) == sorted(map(str, rows))
    np.testing.assert_allclose(found.e, e[[rows[part] for part in parts]], atol=2e-5)
    np.testing.assert_allclose(found.t, t, atol=2e-5)
    np.testing.assert_allclose(model.loss_, losses, rtol=1e-4)
    assert losses[-1] < losses[0]


@pytest.mark.parametrize("loss", ["softmax", *(pytest.param(loss, marks=pytest.mark.slow) for loss in LOSSES[1:])])
def test_schemes_give_the_same_bits(loss):
    text, found = lines(several=True), []
    for scheme in ("rep-naive", "rep-opt", "pull-base", "pull-opt"):
        how = {"hosts": 3, "rounds": 4, "scheme": scheme, "word_ngrams": 2, "buckets": 500}
        found.append(Classifier(dim=20, epochs=2, alpha=0.5, threads=1, loss=loss, **how).fit(text).model_)
    for other in found[1:]:
        np.testing.assert_array_equal(other.e, found[0].e)
        np.testing.assert_array_equal(other.t, found[0].t)


def test_hosts_keep_the_means_of_lines_that_labels_meet(monkeypatch):
    """They are of all lines, if a round has few: at a rate of nothing, of the initial rows."""
    text, kept, begin = lines(), [], Curvature.begin

    def seen(self, round_, here):
        if "joined" in here:
            kept.append(here["joined"].matrix[:, :20].copy())
        begin(self, round_, here)

    monkeypatch.setattr(Curvature, "begin", seen)
    how = {"hosts": 2, "rounds": 2, "word_ngrams": 2, "buckets": 500, "wire": "float32"}
    model = Classifier(dim=20, epochs=1, alpha=1e-12, threads=1, **how).fit(text)
    rows, e, *_ = by_hand(text, model, "softmax")
    parts = [naive_labels.parts_of(line, 2, 500, None) for line in text]
    expected = np.array([np.mean([e[rows[part]] for part in line], axis=0) for line in parts])
    found = np.concatenate(kept)
    assert found.shape == expected.shape
    np.testing.assert_allclose(found[np.argsort(found[:, 0])], expected[np.argsort(expected[:, 0])], atol=1e-6)


def test_one_vs_all_counts_the_labels_that_have_steps():
    text = lines(several=True)
    options = Classifier(dim=20, loss="ova")
    corpus = options.read(text)
    rows = LineRows.of_lines(corpus, None, communicator=alone())

    def samples(loss, label_counts, number):
        operator = LABEL_OPERATORS[loss](options)
        operator.rows = replace(rows, label_counts=np.array(label_counts), lines=number)
        return operator.samples_per_pair(corpus.vocabulary.counts)["e"] * rows.uses.sum() / number

    p = np.array([0.5, 0.2, 0.1])
    kappa = (p * (1 - p) * p * (1 - p)).sum() / (p * (1 - p)).sum()  # g^2 is p (1 - p) in the mean
    assert samples("ova", [50, 20, 10], 100) * kappa == pytest.approx((p * (1 - p)).sum())
    assert samples("ova", [50, 50], 100) == pytest.approx(samples("softmax", [50, 50], 100)) == pytest.approx(2)
    assert samples("ova", [100, 300], 100) == 0  # all lines have both


def test_rounds_change_nothing_on_one_host():
    text = lines()
    found = [Classifier(dim=20, threads=1, word_ngrams=2, rounds=rounds).fit(text).model_ for rounds in (1, 7)]
    np.testing.assert_array_equal(found[0].e, found[1].e)
    np.testing.assert_array_equal(found[0].t, found[1].t)


def test_hosts_of_a_cluster_have_the_bits_of_simulated_ones():
    text, how = lines(several=True), {"dim": 20, "epochs": 2, "alpha": 0.5, "threads": 1, "rounds": 4}
    corpus = Classifier(**how, hosts=3).read(text)
    whole = Classifier(**how, hosts=3).fit(corpus).model_
    cuts = np.searchsorted(corpus.worklist.bounds, corpus.cuts)

    def one(communicator):
        part = text[cuts[communicator.rank] : cuts[communicator.rank + 1]]
        return Classifier(**how).fit(part, communicator=communicator).model_

    for found in simulate(3, 1, one):  # each host has the whole model
        assert (found.labels, found.words) == (whole.labels, whole.words)
        np.testing.assert_array_equal(found.t, whole.t)
        np.testing.assert_array_equal(found.e, whole.e)


@pytest.mark.parametrize("hosts", [1, 3])
def test_a_resumed_run_has_the_same_bits(tmp_path, monkeypatch, hosts):
    def dying(host, round_):
        combined = synchronize(host, round_)
        if round_.number == 6:
            raise DiedError
        return combined

    text, how = lines(), {"dim": 20, "epochs": 3, "alpha": 0.5, "threads": 1, "rounds": 4, "hosts": hosts}
    whole, synchronize = Classifier(**how).fit(text), trainer.RowHost.synchronize
    kept = {"checkpoint": tmp_path, "checkpoint_every": 2}
    monkeypatch.setattr(trainer.RowHost, "synchronize", dying)
    with pytest.raises(DiedError):
        Classifier(**how, **kept).fit(text)
    monkeypatch.undo()
    found = Classifier(**how, **kept, resume=tmp_path).fit(text)
    np.testing.assert_array_equal(found.model_.e, whole.model_.e)
    np.testing.assert_array_equal(found.model_.t, whole.model_.t)
    assert found.loss_ == whole.loss_


def test_two_threads_learn_as_well():
    text = lines(600)
    found = Classifier(dim=20, alpha=0.5, threads=2).fit(text)
    wanted = [line[0].removeprefix(PREFIX) for line in text]
    assert np.mean(found.predict(text) == wanted) > 0.95


@pytest.mark.parametrize("name", ["m", "m.bin", "m.ftz"])
@pytest.mark.parametrize("how", [{"word_ngrams": 3, "buckets": 50}, {"lowercase": True}])
def test_models_come_back(tmp_path, name, how):
    texts = [" ".join(line[1:]) for line in lines()]
    model = Classifier(dim=20, epochs=2, alpha=0.5, threads=1, **how).fit(texts, [2, 1, 30] * 20)
    with nullcontext() if name == "m" or "buckets" in how else pytest.warns(Any2VecWarning, match="lowercase"):
        model.save(tmp_path / name)
    found = Classifier.load(tmp_path / name)
    assert found.classes_.tolist() == ([1, 2, 30] if name == "m" else ["1", "2", "30"])
    assert (found.loss, found.word_ngrams, found.dim) == ("softmax", model.word_ngrams, 20)
    near = {"atol": 0.1} if name == "m.ftz" else {"atol": 1e-6}
    np.testing.assert_allclose(found.predict_proba(texts), model.predict_proba(texts), **near)
    if name == "m":
        assert (found == model, found.loss_, found.report_) == (True, model.loss_, model.report_)


@pytest.mark.parametrize("y", [[True, False] * 30, [["a", "b"], ["b"]] * 30, np.array([[1, 0, 1], [0, 0, 1]] * 30)])
def test_what_labels_were_comes_back(tmp_path, y):
    texts = [" ".join(line[1:]) for line in lines()]
    model = Classifier(dim=20, epochs=2, alpha=0.5, threads=1).fit(texts, y)
    model.save(tmp_path / "m")
    found = Classifier.load(tmp_path / "m")
    assert found.classes_.tolist() == model.classes_.tolist()
    assert found.classes_.dtype == model.classes_.dtype
    one, two = found.predict(texts), model.predict(texts)
    assert type(one) is type(two)
    assert np.array_equal(one, two) if isinstance(one, np.ndarray) else one == two


@pytest.mark.parametrize("wrong", [{"classes": ["a"]}, {"classes": [1.5]}, {"classes": None}, {"several": 3}])
def test_labels_that_do_not_fit_are_damage(tmp_path, wrong):
    Classifier(dim=20, threads=1).fit(lines()).save(tmp_path / "m")
    path = tmp_path / "m" / "model.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | wrong))
    with pytest.raises(Any2VecError, match="m: damaged: what it has about labels is wrong"):
        Classifier.load(tmp_path / "m")


def test_lines_without_labels_are_said_and_teach_nothing(capsys):
    text = lines()
    with_others = [*text, ["red", "rain", "wood"]]
    model = Classifier(dim=20, threads=1, verbose=True).fit(with_others)
    assert "1 more has none" in capsys.readouterr().err
    assert model.model_.labels == Classifier(dim=20, threads=1).fit(text).model_.labels


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ([["red", "apple"]] * 20, "no line has a label, a word that begins with '__label__'"),
        ([["__label__a", "red", "apple"]] * 20, "all lines have the label 'a'"),
    ],
)
def test_texts_that_teach_nothing_are_refused(text, message):
    with pytest.raises(Any2VecError, match=message):
        Classifier(dim=20, threads=1).fit(text)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"operator": "cbow"}, "`operator` is 'cbow'; that of labels follows from `loss`"),
        ({"scheme": "columns"}, "`scheme` is 'columns', which is not for labels"),
        ({"label_prefix": "a b"}, "`label_prefix` is 'a b'; it must be a text without whitespace"),
        ({"loss": "hinge"}, "`loss` is 'hinge'; known are softmax, hierarchical, negative, ova"),
        ({"start": "x", "frozen": True}, "`frozen` is for words of `pretrained`"),
        ({"label_column": "x"}, "give the `column` of the texts, too"),
        ({"class_weight": "even"}, "`class_weight` is 'even'; it must be 'balanced', or weights by labels"),
        ({"class_weight": {"a": 0}}, "must be 'balanced'"),
        ({"class_weight": "a=1,b=inf"}, "must be 'balanced'"),
        ({"features": {"a": ["b"]}}, "`features` is .*, which labels have no use for"),
    ],
)
def test_options_out_of_range(options, message):
    with pytest.raises(Any2VecError, match=message):
        Classifier(**options).check()
