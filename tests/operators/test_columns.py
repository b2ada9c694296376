"""Columns: any number of hosts trains as one does, on mini-batches of all; scores travel, and nothing else."""

import re

import naive_columns
import naive_models
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from marks import slow, slow_but
from numba import njit
from simulated import bits, interrupted, read, text, train
from test_cbow_and_hierarchical import USERS, options, setting_of
from test_state import run

from any2vec import Any2VecError, Vectors, Word2Vec
from any2vec.cluster.communicator import SharedError
from any2vec.io.memory import available, release, zeros
from any2vec.operators import SkipGram
from any2vec.operators.columns import add_parts
from any2vec.operators.matrices import new_matrices
from any2vec.report import Report
from any2vec.sync.columns import ColumnLayout
from any2vec.training import column_host

OTHERS = [  # each model, loss and context; each is some kernels to compile, again for other numbers of blocks
    ("skipgram", "hierarchical", "mean"),
    ("cbow", "negative", "corrected"),
    ("cbow", "hierarchical", "sum"),
]
SCHEDULED = [
    ("skipgram", "negative", "mean", "window"),
    ("skipgram", "negative", "mean", "pair"),
    ("cbow", "negative", "mean", "window"),
    *((*case, "window") for case in OTHERS),
]


HOW = {"dim": 20, "window": 3, "negative": 3, "min_count": 1, "cache": None, "scheme": "columns"}


def columns(model="skipgram", loss="negative", context="mean", **more):
    return options(model, loss, context, scheme="columns", **more)


def assert_one_host_learns(sentences, hosts, atol=0, batch=5, cores=2, **how):
    """Train on several hosts and on one, with mini-batches of the same size; compare, to the bit if `atol` is 0."""
    found = train(read(sentences, hosts), columns(**how, batch=batch), cores)
    one = train(read(sentences, 1), columns(**how, batch=batch * hosts))
    for ours, theirs in zip(found, one, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=atol)
    assert atol or bits(found) == bits(one)


@pytest.mark.parametrize(
    ("model", "loss", "context", "negatives_per", "batch", "hosts", "more"),
    [
        *((*SCHEDULED[0], batch, 1, {}) for batch in (1, 7, 10_000)),
        *((*case, 6, hosts, USERS | {"ns_exponent": -0.5}) for case in SCHEDULED[:2] for hosts in (1, 2)),
        *(slow(*case, 7, 1, {}) for case in SCHEDULED[1:]),
    ],
)
def test_mini_batches_equal_the_naive(model, loss, context, negatives_per, batch, hosts, more):
    corpus, report = read(text(80), hosts), Report({})
    batch = min(batch, int(corpus.cuts[-1]))
    how = {"sample": 0.05, "epochs": 2, "batch": batch // hosts, "negatives_per": negatives_per}
    how = columns(model, loss, context, **how | more)
    e, t = train(corpus, how, report=report)
    start, setting = new_matrices(0, len(e), 12), setting_of(corpus, how)._replace(negatives_per=negatives_per)
    naive_e, naive_t = start.embedding.astype(float), start.training.astype(float)
    tree = naive_models.huffman(corpus.vocabulary.counts.tolist())
    for epoch in range(2):
        losses = naive_columns.train(setting, how.training_options(), naive_e, naive_t, tree, batch, epoch)
        assert report.loss[epoch] == pytest.approx(np.mean(losses), rel=1e-5)
    np.testing.assert_allclose(e, naive_e, atol=1e-5)
    np.testing.assert_allclose(t, naive_t, atol=1e-5)
    assert np.abs(e - start.embedding).max() > 1e-3


def test_words_without_a_centre_count():
    """The last round has none: its sentences have one word each."""
    model = Word2Vec(dim=8, window=3, negative=3, min_count=1, sample=0, epochs=1, rounds=2, hosts=2, scheme="columns")
    model.fit([["a", "b"]] * 6 + [["c"]] * 12)
    assert model.report_.rounds.epochs == [0.5, 1.0]


@pytest.mark.slow
@settings(max_examples=25)
@given(
    sizes=st.sampled_from([(2, 8), (4, 8), (8, 8), (8, 130)]),  # all but the last with blocks of 16
    batch=st.integers(1, 9),
    rounds=st.integers(1, 4),
    seed=st.integers(0, 99),
    cores=st.integers(1, 3),
    sample=st.sampled_from([0, 0.05]),
)
def test_powers_of_two_give_the_bits_of_one_host(sizes, batch, rounds, seed, cores, sample):
    hosts, dim = sizes
    how = {"dim": dim, "rounds": rounds, "seed": seed, "sample": sample, "epochs": 2}
    assert_one_host_learns(text(60, seed), hosts, 0, batch, cores, **how)


@pytest.mark.slow
@settings(max_examples=10)
@given(hosts=st.sampled_from([3, 5, 6, 7, 16]), batch=st.integers(1, 5), dim=st.sampled_from([16, 20, 60]))
def test_other_numbers_of_hosts_agree_to_rounding(hosts, batch, dim):
    assert_one_host_learns(text(60), hosts, 2e-6, batch, dim=dim)


@pytest.mark.parametrize(("model", "loss", "context"), slow_but([], OTHERS, unpacked=True))
def test_other_models_have_the_bits_of_one_host(model, loss, context):
    assert_one_host_learns(text(60), 4, model=model, loss=loss, context=context)


@pytest.mark.parametrize(("hosts", "atol"), [(2, 0), (4, 0), (5, 2e-4)])  # 100 mini-batches learn the same three words
def test_sentences_may_be_longer_than_rounds(hosts, atol):
    """Stretches take what windows need beyond them, and only that."""
    long = [["w0", "w1", "w2", "w0", "w1"] * 200] * 5
    assert_one_host_learns(long, hosts, atol, 2, rounds=9, sample=0.3, epochs=2)


@pytest.mark.parametrize(("hosts", "model"), [(2, "skipgram"), (5, "skipgram"), (4, "cbow")])
def test_scores_travel_and_are_counted(hosts, model):
    """w (K + 1) scores a centre to each host but one, and steps back (glint-word2vec, section 2)."""
    report, epochs = Report({}), 2
    context = "corrected" if model == "cbow" else "mean"  # of the kernels of other tests
    corpus, how = read(text(80), hosts), columns(model, context=context, batch=4, epochs=epochs, rounds=3)
    train(corpus, how, report=report)
    setting, scores = setting_of(corpus, how), 0
    for epoch in range(epochs):
        for sources, _, _ in naive_models.steps(setting, "negative", epoch, 0, len(setting.ids), None):
            scores += (1 if model == "cbow" else len(sources)) * 4
    sent = {name: sum(n) for name, n in report.rounds.bytes.items() if sum(n)}
    assert sent.pop("reduce both values") == sent.pop("broadcast both values") == scores * 4 * (hosts - 1)
    assert list(sent) == ["inspect both ids"]  # of W: 4 bytes a word, 8 a sentence, and what windows need around
    words, sentences = epochs * len(setting.ids), epochs * len(corpus.worklist)
    assert sent["inspect both ids"] >= (hosts - 1) * (4 * words + 8 * sentences)
    assert sent["inspect both ids"] <= (hosts - 1) * (4 * words + 8 * sentences + epochs * 3 * (2 * 8 * 4 + 16))
    assert len(report.rounds) == epochs * 3
    assert all(0 < largest < 1 for largest in report.rounds.largest)


def test_hosts_have_their_columns_only(monkeypatch):
    made, make = [], column_host.ColumnHost.open

    def making(host):
        make(host)
        made.append(host.scheme.matrices.e.shape)

    monkeypatch.setattr(column_host.ColumnHost, "open", making)
    train(read(text(40, words=50), 4), columns(dim=128, batch=4))
    assert made == [(50, 32)] * 4


@given(dim=st.integers(1, 300), hosts=st.integers(1, 40))
def test_a_layout_has_every_column_once(dim, hosts):
    hosts = min(hosts, dim)
    layout = ColumnLayout(dim, hosts)
    rows = np.arange(3 * dim, dtype=np.float32).reshape(3, dim) + 1
    back, seen = np.zeros_like(rows), 0
    for host in range(hosts):
        own = np.zeros((3, layout.width), np.float32)
        layout.put(host, rows, own)
        assert (own != 0).any()  # no host is idle
        seen += np.count_nonzero(own)
        layout.take(host, own, back)
    assert seen == rows.size
    assert (back == rows).all()
    assert layout.block % 16 == 0


@given(st.integers(1, 9), st.integers(0, 40))
def test_parts_are_added_in_a_tree(hosts, n):
    parts = np.random.default_rng(n).normal(size=(hosts, n)).astype(np.float32)

    def tree(rows):
        if len(rows) == 1:
            return rows[0]
        half = 1
        while 2 * half < len(rows):
            half *= 2
        return tree(rows[:half]) + tree(rows[half:])

    expected = tree(list(parts.copy()))
    add_parts(parts, n)
    assert parts[0].tobytes() == expected.tobytes()


def test_checks_see_the_vectors_of_all_hosts():
    seen = {}
    for hosts in (1, 4):

        def note(epoch, vectors, hosts=hosts):
            seen[hosts, epoch] = vectors.matrix.copy()

        model = Word2Vec(**HOW, epochs=2, batch=8 // hosts, hosts=hosts, callbacks=[note]).fit(text(60))
        assert (seen[hosts, 2] == model.vectors_.matrix).all()
    assert all((seen[4, epoch] == seen[1, epoch]).all() for epoch in (1, 2))


def test_goes_on_from_vectors():
    sentences, how = text(60), HOW | {"epochs": 1, "sample": 0}
    first = Word2Vec(**how | {"scheme": None}, threads=1).fit(sentences)
    found = []
    for hosts in (1, 4):
        more = {"batch": 8 // hosts, "hosts": hosts, "start": first.vectors_, "blend": False}
        found.append(Word2Vec(**how, **more).fit(sentences).vectors_.matrix)
    assert (found[0] == found[1]).all()
    assert 0 < np.abs(found[0] - first.vectors_.matrix).max() < 1


@pytest.mark.parametrize("hosts", [1, 2, 4])
def test_a_state_is_gone_on_from(hosts):
    """The state after a round has whole rows of each host's range, as with other schemes."""
    how = columns(batch=8 // hosts, rounds=3, epochs=2)
    whole, losses, states = run(hosts, how, keep=2)
    assert [state.masters.dim for state in states] == [12] * hosts
    resumed, more, _ = run(hosts, how, states)
    assert bits(resumed) == bits(whole)
    assert more == losses


def test_ctrl_c_ends_all_hosts(monkeypatch):
    monkeypatch.setattr(column_host, "_BETWEEN", 2)
    monkeypatch.setattr(column_host, "_SECONDS", 0.0)
    calls = []

    class Stopping(column_host.ColumnHost):
        def _list(self, place, batch):
            calls.append(0)
            if len(calls) == 40:
                self.interrupts.interrupt()
            return super()._list(place, batch)

    monkeypatch.setattr("any2vec.training.trainer.ColumnHost", Stopping)
    model = Word2Vec(**HOW, epochs=100, batch=2, hosts=2)
    interrupted(model, text(60))
    assert np.isfinite(model.vectors_.matrix).all()


def test_values_that_explode_are_an_error():
    with pytest.raises(Any2VecError, match=r"epoch 1: .*not finite.*`batch`"):
        Word2Vec(**HOW, sample=0, alpha=1.0, batch=400, hosts=2, epochs=50).fit(text(3000))


class OwnScore(SkipGram):
    """Its score is not known to be a sum over columns."""

    score = staticmethod(njit(inline="always")(lambda *_: None))


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"hosts": 5, "dim": 4}, "5 hosts for 4 columns; give fewer hosts or a larger `dim`"),
        ({"batch": 0}, "`batch` is 0; it must be a whole number from 1"),
        ({"batch": 1000}, "`batch` is 1,000 on 1 hosts, but the corpus has only 31 words"),
        ({"combine": "gradient"}, "nothing to combine: leave out the combiner and its options"),
        ({"operator": OwnScore}, "but OwnScore has a `score`"),
        ({"scheme": "pull-opt", "batch": 5}, "`batch` is 5; that is for `scheme` columns"),
        ({"frozen": True, "pretrained": Vectors(["w0"], np.ones((1, 20), np.float32))}, "cannot freeze words"),
    ],
)
def test_bad_input_is_named(how, message):
    with pytest.raises(Any2VecError, match=re.escape(message)):
        Word2Vec(**HOW | {"window": 5, "negative": 5} | how).fit([["w0", "w1"] * 15 + ["w0"]])


def has_memory(*_, **__):
    raise SharedError("it has memory")


@pytest.mark.parametrize(("hosts", "where"), [(1, "and this machine"), (4, "on each of 4 hosts, and one")])
@pytest.mark.parametrize("scheme", ["columns", "pull-opt", "rep-naive"])
def test_too_little_memory_is_said_before_training(monkeypatch, scheme, hosts, where):
    monkeypatch.setattr("any2vec.sync.scheme.available", lambda *_, **__: 120_000 // hosts)
    found = rf"need [\d.]+ .iB of memory {where} has [\d.]+ KiB left"
    message = rf"^50 words of 700 dimensions {found}: `dim` (\d+) or .* would fit"
    how = {"min_count": 1, "cache": None, "hosts": hosts, "threads": 1, "scheme": scheme, "epochs": 1}
    how |= {"rounds": 2, "sample": 0}
    with pytest.raises(Any2VecError, match=message) as caught:
        Word2Vec(dim=700, **how).fit(text(40, words=50))
    dim = int(re.search(message, str(caught.value))[1])
    for kernels in ("row_host.operator_kernel", "column_host.column_kernels"):
        monkeypatch.setattr(f"any2vec.training.{kernels}", has_memory)
    with pytest.raises(Any2VecError, match="it has memory"):
        Word2Vec(dim=dim, **how).fit(text(40, words=50))
    with pytest.raises(Any2VecError, match="would fit"):
        Word2Vec(dim=dim + 1, **how).fit(text(40, words=50))


def test_blending_is_refused():
    model = Word2Vec(**HOW, batch=2).fit(text(60))
    with pytest.raises(Any2VecError, match="cannot blend"):
        model.fit(text(60), warm_start=True)


def test_memory_is_seen_and_released_rows_are_zeros():
    assert 1 << 20 < available() < 1 << 62
    rows = zeros((10_000, 64), np.float32)
    rows[:] = 1
    release(rows, 1000, 9000)
    assert (rows[:1000] == 1).all()
    assert (rows[9000:] == 1).all()
    assert (rows[1100:8900] == 0).all()
    release(np.ones(3, np.float32), 0, 3)  # not of `zeros`: left alone
