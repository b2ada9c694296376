"""Going on from trained vectors: V and counts merged, rows kept, given and frozen, on any hosts."""

import json

import naive
import naive_sync
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from marks import slow, slow_but
from naive_corpus import found
from naive_corpus import naive as naive_corpus
from ranks import needs_mpi, results
from simulated import COMBINES, NAMES, SIZES, Said, text
from small_texts import TEXTS, some_text
from test_operators import Margin, MeanOfContext, flat
from test_skipgram import OF_HOSTS, Case, V, bits_of, same
from typer.testing import CliRunner

from any2vec import Any2VecError, DeepWalk, Vectors, Word2Vec, load, save
from any2vec.cli import app
from any2vec.cluster.local import simulate
from any2vec.corpus import Vocabulary, read_corpus
from any2vec.operators import SkipGram
from any2vec.operators.base import RowTable
from any2vec.operators.matrices import new_matrices
from any2vec.samples.draws import INITIAL, epoch_key
from any2vec.samples.targets import alias_table, probabilities
from any2vec.training.listeners import Blend

HOW = {**SIZES["window"], "min_count": 1, "threads": 1, "epochs": 2, "alpha": 0.05, "cache": None}
STILL = 1e-30  # a learning rate that changes no number
BEFORE, AFTER = text(60), [["n1", "n2", "w3", "w5"], *text(60, seed=5, words=9), ["n2", "w1"]]
OLD, NEW = [f"w{i}" for i in range(12)], ["n1", "n2"]


def fit(source=BEFORE, communicator=None, warm_start=False, make=Word2Vec, **more):
    return make(**(HOW | more)).fit(source, communicator=communicator, warm_start=warm_start)


def bits(model):
    vectors = model.vectors_
    labels = [np.ascontiguousarray(label).tobytes() for label in (vectors.matrix, vectors.t)]
    return list(vectors.words), vectors.counts.tolist(), *labels, model.loss_


@pytest.fixture(scope="module")
def earlier():
    return fit().vectors_


@pytest.fixture(scope="module")
def saved(earlier, tmp_path_factory):
    path = tmp_path_factory.mktemp("saved") / "earlier"
    save(earlier, path, training=True)
    return path


# V and its counts

KNOWN = st.dictionaries(
    st.sampled_from(["a", "b", "ccccccc", "dddddddd", "hhhhhhhhhhhhhhhhh", "é", "本", "x", "a b", "\ufffd"]),
    st.integers(0, 9),
    min_size=2,
)


@settings(max_examples=60)
@given(TEXTS, KNOWN, st.integers(1, 3), st.none() | st.integers(2, 14))
def test_v_is_merged_as_the_naive_merges_it(content, known, min_count, max_size):
    lines = [line.split() for line in content.removeprefix(b"\xef\xbb\xbf").split(b"\n")]
    sentences = [[word.decode(errors="replace") for word in line] for line in lines]
    vocabulary = Vocabulary(list(known), np.array(list(known.values()), np.int64))
    expected = naive_corpus(
        [b"\xef\xbb\xbf" + b"\n".join(b" ".join(line) for line in lines)], min_count, max_size, known
    )
    how = {"min_count": min_count, "max_size": max_size, "cache": None, "known": vocabulary}
    if (max_size or 99) < len(known) or not expected[2]:
        message = "the corpus is empty|which all stay$|^nothing to learn: no word of the corpus is known"
        with pytest.raises(Any2VecError, match=message):
            read_corpus(sentences, **how)
        return
    corpus = found(read_corpus(sentences, **how))
    assert corpus[:3] == expected[:3]


@pytest.mark.parametrize("max_size", [None, 60])
@pytest.mark.parametrize("hosts", [1, 2, 3])
def test_all_hosts_choose_the_same_v(tmp_path, hosts, max_size):
    content = some_text(4000, 300)
    (tmp_path / "text.txt").write_bytes(content)
    counted = found(read_corpus(tmp_path / "text.txt", min_count=5, cache=None))
    known = dict.fromkeys(counted[0][10:40], 7) | {f"gone{i}": i for i in range(9)}
    vocabulary = Vocabulary(list(known), np.array(list(known.values()), np.int64))
    how = {"min_count": 9, "max_size": max_size, "cache": None, "known": vocabulary}
    words, counts, sentences, *_ = naive_corpus([content], 9, max_size, known)
    assert found(read_corpus(tmp_path / "text.txt", hosts=hosts, **how))[:3] == (words, counts, sentences)

    def host(communicator):
        corpus = read_corpus(tmp_path / "text.txt", communicator=communicator, **how)
        return list(corpus.vocabulary.words), corpus.vocabulary.counts.tolist(), corpus.worklist.ids.tolist()

    parts = simulate(hosts, 2, host)
    assert all(part[:2] == (words, counts) for part in parts)
    assert [i for part in parts for i in part[2]] == [i for sentence in sentences for i in sentence]


def test_the_cache_keeps_corpora_of_other_known_words_apart(tmp_path):
    (tmp_path / "text.txt").write_text("a b c\nb c c\n")
    known = [None, *(Vocabulary(["x", "b"], np.array(counts)) for counts in ([3, 2], [3, 9]))]
    known.append(Vocabulary(["y", "b"], np.array([3, 2])))
    how = {"min_count": 1, "cache": tmp_path / "cache"}
    first = [read_corpus(tmp_path / "text.txt", known=words, **how) for words in known]
    assert [corpus.cached for corpus in first] == [False] * 4
    again = [read_corpus(tmp_path / "text.txt", known=words, **how) for words in known]
    assert [corpus.cached for corpus in again] == [True] * 4
    assert [found(corpus) for corpus in again] == [found(corpus) for corpus in first]
    assert found(again[1])[:2] == (["b", "c", "x", "a"], [4, 3, 3, 1])


# Rows: kept, new, and where draws go on


def naive_run(corpus, e, t, seen=0, frozen=()):
    counts, ids = corpus.vocabulary.counts, corpus.worklist.ids.tolist()
    table, epochs = alias_table(probabilities(counts)), HOW["epochs"]
    keep = naive.keep_probability(counts.tolist(), 1e-3)
    sizes = HOW["window"], HOW["negative"], HOW["alpha"], epochs
    bounds = corpus.worklist.bounds.tolist()
    setting = naive.Setting(ids, bounds, keep, table, "window", *sizes, 1, frozen, seen)
    for epoch in range(epochs):
        naive.train(setting, e, t, epoch, 0, len(ids))


@pytest.mark.parametrize("frozen", [(), ("w0", "w7", "w11")])
def test_going_on_equals_the_naive(frozen):
    how = {"sample": 1e-3} | ({"frozen": frozen} if frozen else {})
    first = read_corpus(BEFORE, min_count=1, cache=None)
    e, t = (label.astype(float) for label in _labels(12, 1))
    naive_run(first, e, t)
    model = fit()
    np.testing.assert_allclose(model.vectors_.matrix, e, atol=1e-5)

    second = read_corpus(AFTER, min_count=1, cache=None, known=first.vocabulary)
    words, seen = second.vocabulary.words, int(first.vocabulary.counts.sum())
    more_e, more_t = (label.astype(float) for label in _labels(14, epoch_key(1, seen + 12, INITIAL)))
    for i, word in enumerate(words):
        if word in OLD:
            more_e[i], more_t[i] = e[first.vocabulary.ids[word]], t[first.vocabulary.ids[word]]
    naive_run(second, more_e, more_t, seen, tuple(second.vocabulary.ids[word] for word in frozen))
    model.set_params(**how, blend=False).fit(AFTER, warm_start=True)
    assert list(model.vectors_.words) == list(words)
    np.testing.assert_allclose(model.vectors_.matrix, more_e, atol=2e-5)
    np.testing.assert_allclose(model.vectors_.t, more_t, atol=2e-5)


def _labels(vertices, seed):
    start = new_matrices(0, vertices, HOW["dim"], seed=seed)
    return start.embedding, start.training


@pytest.mark.parametrize("hosts", [1, 3])
def test_rows_are_kept_and_new_ones_are_of_their_own(earlier, hosts):
    vectors = fit(AFTER, start=earlier, alpha=STILL, hosts=hosts).vectors_
    assert sorted(vectors.words) == sorted([*OLD, *NEW])
    assert (vectors[OLD] == earlier[OLD]).all()
    order = [vectors.id(word) for word in OLD]
    assert np.abs(vectors.t[order] - earlier.t[[earlier.id(word) for word in OLD]]).max() < 1e-25
    begun = _labels(14, epoch_key(1, int(earlier.counts.sum()) + 12, INITIAL))[0]
    assert all((vectors[word] == begun[vectors.id(word)]).all() for word in NEW)
    assert not any((vectors[word] == _labels(14, 1)[0]).all(axis=1).any() for word in NEW)
    assert vectors.counts[vectors.id("n2")] == 2
    assert vectors.counts[vectors.id("w11")] == earlier.counts[earlier.id("w11")]  # no longer in the text
    assert int(vectors.counts.sum()) == int(earlier.counts.sum()) + sum(map(len, AFTER))


def test_the_same_text_again_draws_other_samples(earlier):
    unknown = Vectors(earlier.words, earlier.matrix, t=earlier.t)
    seen, anew = (fit(start=start, alpha=STILL, sample=0) for start in (earlier, unknown))
    assert seen.vectors_.counts.tolist() == [2 * count for count in anew.vectors_.counts.tolist()]
    assert len({*seen.loss_, *anew.loss_}) == 4  # of the same labels: samples differ, also from epoch to epoch
    assert max(np.abs(np.diff([*seen.loss_, *anew.loss_]))) < 0.1


def test_words_of_unknown_counts(earlier):
    unknown = Vectors(earlier.words, earlier.matrix, t=earlier.t)
    for hosts in (1, 3):
        model = fit(AFTER[:40], start=unknown, hosts=hosts, sample=1e-2)
        absent = [word for word in OLD if model.vectors_.counts[model.vectors_.id(word)] == 0]
        assert absent
        assert (model.vectors_[absent] == earlier[absent]).all()
        assert np.isfinite(model.vectors_.matrix).all()
        assert list(model.vectors_.words)[-len(absent) :] == sorted(absent)


# Blending: what was learned of the earlier texts is kept


@pytest.mark.parametrize(("hosts", "min_alpha"), [(1, None), (3, 0.1)])
def test_blending_equals_the_naive(hosts, min_alpha, monkeypatch):
    seen, apply = [], Blend.apply

    def noting(self, masters, done, kappa):
        seen.append((done, kappa))
        apply(self, masters, done, kappa)

    monkeypatch.setattr(Blend, "apply", noting)
    how = {"epochs": 30, "alpha": 0.3, "min_alpha": min_alpha, "sample": 0, "hosts": hosts, "rounds": 2}
    first = fit(**how).vectors_
    plain = fit(AFTER, start=first, blend=False, **how).vectors_
    blended = fit(AFTER, start=first, **how).vectors_
    ((done, kappa),) = {*seen}
    assert done == 1
    assert 0 < kappa < 0.25

    corpus = read_corpus(AFTER, min_count=1, cache=None, known=first.vocabulary)
    words, counts, ids = list(plain.words), plain.counts, corpus.worklist.ids.tolist()
    table, bounds = alias_table(probabilities(counts)), corpus.worklist.bounds.tolist()
    earlier = np.array([first.counts[first.id(word)] if word in first else 0 for word in words])
    setting = naive.Setting(ids, bounds, [1.0] * 14, table, "window", 3, 3, seen=int(earlier.sum()))
    met = naive.updates(setting, 0, 0, len(ids), 14)
    c = naive_sync.curvatures(plain.matrix.astype(float), plain.t.astype(float), *met, 3)
    alpha, total = (0.3 + (min_alpha or 0)) / 2 * 30 * kappa, counts.sum()
    for label, curvature, shares, updates in (
        ("matrix", (c[0][0], c[0][1], c[0][2] * hosts), 1 - earlier / counts, met[0]),
        ("t", c[1], np.full(14, 1 - earlier.sum() / total), met[1]),
    ):
        old, new, result = (getattr(vectors, label) for vectors in (first, plain, blended))
        for i, word in enumerate(words):
            before = old[first.id(word)] if word in first else new[i]
            moved = (new[i] - before).astype(float)
            if word in first and 0 < shares[i] < 1:
                moved = naive_sync.blended(before.astype(float), moved, shares[i], updates[i], curvature, alpha, 0.1)
            np.testing.assert_allclose(result[i], before + moved, atol=2e-3 * np.abs(moved).max() + 1e-6)
    moved = [np.abs(vectors[OLD] - first[OLD]).sum() for vectors in (plain, blended)]
    assert moved[1] < 0.9 * moved[0]
    assert all((blended[word] == plain[word]).all() for word in NEW)


def test_callbacks_see_what_the_run_would_end_with(earlier):
    shown = []
    how = {"start": earlier, "alpha": 0.5, "epochs": 3}
    for hosts in (1, 3):
        model = fit(AFTER, **how, hosts=hosts, callbacks=[lambda _, vectors: shown.append(vectors.matrix.copy())])
        assert (shown[-1] == model.vectors_.matrix).all()
        assert bits(model) == bits(fit(AFTER, **how, hosts=hosts))


@pytest.mark.slow
def test_a_loss_without_curvature_is_blended_by_shares(earlier):
    how = {"start": earlier, "operator": Flat, "alpha": 0.1}
    plain, blended = (fit(AFTER, **how, blend=blend).vectors_ for blend in (False, True))
    share = 1 - earlier.counts.sum() / plain.counts.sum()
    before = np.array([earlier.t[earlier.id(word)] for word in OLD])
    rows = [plain.id(word) for word in OLD]
    np.testing.assert_allclose(blended.t[rows], before + share * (plain.t[rows] - before), atol=1e-6)


class Flat(Margin):
    """A margin loss, which has no second derivative."""

    steps = staticmethod(flat)


# In memory, saved and loaded, on any hosts, by any scheme


@pytest.mark.parametrize("hosts", [1, 3])
def test_saved_and_loaded_goes_on_as_in_memory(earlier, saved, hosts):
    expected = bits(fit(AFTER, hosts=hosts, start=earlier))
    assert bits(fit(AFTER, hosts=hosts, start=saved)) == expected
    model = fit()
    assert (model.vectors_.matrix == earlier.matrix).all()
    assert bits(model.set_params(hosts=hosts).fit(AFTER, warm_start=True)) == expected  # of another number of hosts
    assert model.report_.options["warm_start"] is True


@pytest.mark.parametrize("more", [{}, slow({"frozen": ["w0", "w3", "w11"]})], ids=["", "frozen"])
def test_schemes_go_on_to_the_same_bits(earlier, more):
    everything = [bits(fit(AFTER, hosts=3, start=earlier, scheme=scheme, **more)) for scheme in NAMES]
    assert everything[1:] == everything[:-1]
    assert everything[0] != bits(fit(AFTER, hosts=3, start=earlier, frozen=["w1"]))


def go_on(communicator, start=None, **more):
    """Train on this host's part, go on with its part of another text; return the rows of words that are here."""
    share = slice(communicator.rank, None, communicator.size)
    model = fit(BEFORE[share], communicator, rounds=3, **more)
    model.set_params(start=start, frozen=["w2", "w3"] if start is None else None)
    model.fit(AFTER[share], communicator=communicator, warm_start=start is None)
    vectors = model.vectors_
    return [list(vectors.words), vectors.matrix.tolist(), vectors.t.tolist(), vectors.counts.tolist()]


@pytest.mark.parametrize("scheme", slow_but(["pull-opt"], NAMES))
def test_hosts_go_on_from_each_others_rows(tmp_path, scheme):
    def host(communicator):
        share = slice(communicator.rank, None, communicator.size)
        model = fit(BEFORE[share], communicator, scheme=scheme)
        save(model.vectors_, tmp_path / "whole", training=True, communicator=communicator)
        mine = model.vectors_
        went = fit(AFTER[share], communicator, warm_start=False, start=mine, scheme=scheme).vectors_
        model.fit(AFTER[share], communicator=communicator, warm_start=True)
        loaded = fit(AFTER[share], communicator, start=tmp_path / "whole", scheme=scheme).vectors_
        for vectors in (went, model.vectors_):
            assert list(vectors.words) == list(loaded.words)
            assert (vectors.matrix == loaded.matrix).all()
            assert (vectors.t == loaded.t).all()
        return len(mine)

    assert simulate(3, 2, host) == [3, 4, 5]


@pytest.mark.mpi
@needs_mpi
def test_ranks_go_on(tmp_path):
    expected = simulate(2, 2, go_on)  # first: it compiles once what each rank would
    assert results(tmp_path, go_on, ranks=2) == expected


def test_hosts_must_be_given_the_same(earlier):
    other = Vectors([*reversed(earlier.words)], earlier.matrix, t=earlier.t)

    def error(**by_host):
        def host(communicator):
            more = {name: values[communicator.rank] for name, values in by_host.items()}
            return fit(BEFORE[communicator.rank :: 2], communicator, **more)

        with pytest.raises(Any2VecError) as caught:
            simulate(2, 2, host)
        return str(caught.value)

    assert error(start=[earlier, None]) == (
        "the hosts were given different options: `start` is given on host 0, not given on host 1"
    )
    assert "different vectors to go on from" in error(start=[earlier, other])
    assert "`pretrained` vectors" in error(pretrained=[earlier, other])
    assert "`frozen` words" in error(start=[earlier, earlier], frozen=[["w1"], ["w2"]])
    with pytest.raises(Any2VecError, match="fit first"):
        fit(warm_start=True)


# Frozen rows


@settings(max_examples=25)
@given(
    corpus=st.lists(st.lists(st.integers(0, V - 1), min_size=1, max_size=12), min_size=1, max_size=8),
    frozen=st.sets(st.integers(0, V - 1)),
    cut=st.floats(0, 1),
)
@pytest.mark.parametrize("negatives_per", ["window", slow("pair")])
def test_the_kernel_freezes_as_the_naive_does(corpus, frozen, negatives_per, cut):
    sizes = OF_HOSTS[negatives_per == "pair"]
    case = Case(corpus, sizes, sample=0)
    case.setting = case.setting._replace(frozen=tuple(frozen))
    n = len(case.ids)
    middle = round(cut * n)
    mask = np.isin(np.arange(V), list(frozen)).astype(np.uint8)

    def run(addressing, *tables):
        rows = RowTable(*tables, frozen=mask, spare=V)
        return case.kernel([(0, middle), (middle, n)], addressing=addressing, rows=rows, spare=4 * sizes[2])

    direct = run("direct", *np.zeros((2, 0), np.int32))
    same(direct, case.naive(0, n))
    ids = list(frozen)
    assert (direct[0][ids] == case.e[ids]).all()
    if negatives_per == "pair":  # test_skipgram.py has its other kinds of labels
        return
    assert bits_of(run("counted", *np.zeros((2, V), np.int32))) == bits_of(direct)
    places = np.arange(V, dtype=np.int32)[::-1].copy()
    case.e, case.t = case.e[::-1].copy(), case.t[::-1].copy()
    e, t, *others = run("mapped", places, places)
    assert bits_of((e[::-1], t[::-1], *others)) == bits_of(direct)


@pytest.mark.parametrize(("operator", "threads"), [(SkipGram, 2), slow(MeanOfContext, 1)])
def test_frozen_rows_keep_their_bits_by_threads(operator, threads):
    source = text(6000, words=30)
    assert sum(map(len, source)) > 20_000  # enough for two threads
    words = [f"w{i}" for i in range(0, 30, 3)]
    first = fit(source, epochs=1, operator=operator).vectors_
    model = fit(source, epochs=1, operator=operator, start=first, frozen=words, threads=threads)
    assert model.report_.threads == threads
    assert model.vectors_[words].tobytes() == first[words].tobytes()
    others = [word for word in first.words if word not in words]
    assert (model.vectors_[others] != first[others]).any(axis=1).all()
    assert (model.vectors_.t[: len(first)] != first.t).any(axis=1).all()  # t of frozen words learns


@pytest.mark.parametrize("combine", slow_but(["curvature"], COMBINES))
def test_frozen_rows_keep_their_bits_on_hosts(earlier, combine):
    words = ["w0", "w1", "w5", "w11"]
    for frozen, still in ((words, words), ("given", OLD)):
        vectors = fit(AFTER, hosts=3, start=earlier, frozen=frozen, combine=combine).vectors_
        assert vectors[still].tobytes() == earlier[still].tobytes()
        moved = [word for word in OLD if word not in still and word in {w for s in AFTER for w in s}]
        assert (vectors[moved] != earlier[moved]).any(axis=1).all()
        assert np.isfinite(vectors.t).all()


# Given vectors


@pytest.mark.parametrize("hosts", [1, 3])
def test_pretrained_vectors_are_where_rows_begin(earlier, tmp_path, hosts):
    save(earlier, tmp_path / "given.txt")  # no t, no counts
    lines = Said()
    vectors = fit(AFTER, pretrained=tmp_path / "given.txt", alpha=STILL, hosts=hosts, verbose=lines).vectors_
    shared = [word for word in vectors.words if word in OLD]
    assert (vectors[shared] == earlier[shared]).all()
    begun = _labels(len(vectors), 1)[0]
    assert all((vectors[word] == begun[vectors.id(word)]).all() for word in NEW)
    assert np.abs(vectors.t).max() < 1e-25
    assert f"9 of 11 words begin with their vectors in {tmp_path / 'given.txt'}" in lines.lines


def test_pretrained_vectors_are_for_new_words_where_a_run_goes_on(earlier):
    given = Vectors(["w0", "n1", "zzz"], np.ones((3, 16), np.float32))
    lines = Said()
    model = fit(AFTER, start=earlier, pretrained=given, frozen="given", verbose=lines)
    assert (model.vectors_["n1"] == 1).all()
    assert (model.vectors_["w0"] == earlier["w0"]).all()  # its row goes on, frozen as the given one
    assert (model.vectors_["w1"] != earlier["w1"]).any()
    assert lines.lines[1:4] == [
        "going on from `start`: 12 words, 2 new",
        "1 of 2 new words begin with their vectors in `pretrained`",
        "2 of 14 words are frozen",
    ]
    again = model.vectors_
    model.fit(AFTER, warm_start=True)  # the same words stay frozen
    assert (model.vectors_[["n1", "w0"]] == again[["n1", "w0"]]).all()


def test_forms_of_frozen(earlier, tmp_path):
    (tmp_path / "words").write_bytes("\ufeffw1\r\n\nw4\n".encode())

    def frozen(form):
        return bits(fit(AFTER, start=earlier, frozen=form))

    assert frozen(tmp_path / "words") == frozen(("w4", "w1", "w4"))
    assert frozen(True) == frozen("given")
    assert frozen([]) == frozen(False) == bits(fit(AFTER, start=earlier))


# An operator whose rows of t are not vertices'


class Backwards(SkipGram):
    """Keeps t in the opposite order."""

    seen = None

    def carried(self, before, after, places):
        type(self).seen = before.tolist(), after.tolist(), places.tolist()
        return places[::-1].copy()


Backwards.__name__ = SkipGram.__name__  # it has the same kernels


def test_an_operator_says_which_rows_of_t_go_on(earlier):
    model = fit(AFTER, start=earlier, operator=Backwards, alpha=STILL)
    vectors = model.vectors_
    before, after, places = Backwards.seen
    assert before == earlier.counts.tolist()
    assert after == vectors.counts.tolist()
    assert places == [earlier.vocabulary.ids.get(word, -1) for word in vectors.words]
    expected = np.array([earlier.t[place] if place >= 0 else np.zeros(16) for place in places[::-1]])
    assert np.abs(vectors.t - expected).max() < 1e-25


def test_the_loss_is_saved(earlier, saved, tmp_path):
    assert earlier.loss == load(saved).loss == "negative"
    assert "loss" not in json.loads((saved / "any2vec.json").read_text())
    save(Vectors(earlier.words, earlier.matrix, t=earlier.t, loss="other"), tmp_path / "v", training=True)
    assert load(tmp_path / "v").loss == "other"
    with pytest.raises(Any2VecError, match=r"v: its t was trained with the loss 'other', but `loss` is 'negative'$"):
        fit(AFTER, start=tmp_path / "v")
    (tmp_path / "v" / "any2vec.json").write_text('{"format": 1, "words": 12, "dimensions": 16, "loss": 3}')
    with pytest.raises(Any2VecError, match="the loss is 3, not a name"):
        load(tmp_path / "v")


# Graphs

EDGES = [(f"v{i}", f"v{(i * 7 + 3) % 20}") for i in range(20)]
MORE_EDGES = [("v3", "x"), ("x", "y"), ("y", "v5"), ("v5", "v3")]


def walk(source, communicator=None, warm_start=False, **more):
    how = {name: value for name, value in HOW.items() if name not in ("min_count", "cache")}
    model = DeepWalk(**(how | {"walks": 2, "length": 10} | more))
    return model.fit(source, communicator=communicator, warm_start=warm_start)


@pytest.mark.parametrize("hosts", [1, 3])
def test_graphs_go_on(tmp_path, hosts):
    model = walk(EDGES)
    first = model.vectors_
    save(first, tmp_path / "v", training=True)
    model.set_params(hosts=hosts).fit(MORE_EDGES, warm_start=True)
    assert bits(model) == bits(walk(MORE_EDGES, start=tmp_path / "v", hosts=hosts))
    vectors = model.vectors_
    assert {*vectors.words} == {*first.words, "x", "y"}
    absent = [f"v{i}" for i in range(20) if i not in (3, 5)]
    assert (vectors[absent] == first[absent]).all()
    assert (vectors["v3"] != first["v3"]).any()
    visits = dict(zip(vectors.words, vectors.counts.tolist(), strict=True))
    assert visits["v7"] == first.counts[first.id("v7")]
    assert visits["v3"] > first.counts[first.id("v3")]
    assert vectors.counts.tolist() == sorted(vectors.counts.tolist(), reverse=True)
    assert sum(visits.values()) == int(first.counts.sum()) + 2 * 4 * 10


def test_the_same_graph_again_has_other_walks():
    model = walk(EDGES, epochs=1)
    first = dict(zip(model.vectors_.words, model.vectors_.counts.tolist(), strict=True))
    model.fit(EDGES, warm_start=True)
    more = {word: count - first[word] for word, count in zip(model.vectors_.words, model.vectors_.counts, strict=True)}
    assert sum(more.values()) == sum(first.values())
    assert more != first


# Mistakes


def mistakes(earlier, folder):
    save(earlier, folder / "bare")
    save(earlier, folder / "bare.bin")
    save(earlier, folder / "whole", training=True)
    (folder / "none").write_text("\n")
    (folder / "latin").write_bytes(b"w1\n\xe9\n")
    bad = np.array(earlier.matrix)
    bad[2, 3] = np.nan
    words = list(earlier.words)
    return [
        ({"start": folder / "bare"}, "bare: has no training vectors t, .* `training=True`, .*`pretrained`$"),
        ({"start": folder / "absent"}, "absent: does not exist$"),
        ({"start": earlier, "dim": 20}, "^`start`: vectors of 16 dimensions, but `dim` is 20; give `dim=16`$"),
        ({"pretrained": folder / "bare.bin", "dim": 8}, r"bare\.bin: vectors of 16 dimensions, but `dim` is 8"),
        ({"start": earlier, "max_size": 5}, "^`max_size` is 5, but there are 12 known words, which all stay$"),
        ({"start": Vectors(words, bad, t=earlier.t)}, "^`start`: the vector of 'w2' holds nan"),
        ({"start": Vectors(words, earlier.matrix, t=bad)}, "^`start`: the vector of 'w2' holds nan"),
        (
            {"start": Vectors(["\ud800", *words[1:]], earlier.matrix, t=earlier.t)},
            r"the word .* is not UTF-8, so no text has it: give these vectors as `pretrained`",
        ),
        ({"pretrained": Vectors(["z"], bad[:1])}, r"^`pretrained`: has none of the 11 words, such as 'w0'$"),
        ({"frozen": ["w1"]}, "^`frozen` needs vectors that are given, by `start` or `pretrained`$"),
        ({"start": earlier, "frozen": ["w1", "z", "q"]}, "^`frozen`: 'z' and 1 more are not among the 14 words$"),
        ({"start": earlier, "frozen": ["w1", "n1"]}, "^`frozen`: 'n1' is new, with no vector given$"),
        ({"start": earlier, "frozen": "absent"}, "^`frozen`: absent: no such file; give a file with a word per line"),
        ({"start": earlier, "frozen": folder / "none"}, "none: holds no word$"),
        ({"start": earlier, "frozen": folder / "latin"}, "latin: not UTF-8 at byte 3$"),
        ({"start": earlier, "frozen": [3.5]}, "^`frozen`: a word is expected, not 3.5$"),
        ({"start": earlier, "frozen": 3}, "^`frozen` is 3; it must be words, a file .*, or 'given'$"),
        ({"start": 3}, "^`start` is 3; it must be Vectors or the path of saved ones$"),
        ({"pretrained": Word2Vec()}, "path of saved ones; an estimator has them as vectors_$"),
        (
            {"start": folder / "whole", "model": "cbow"},
            "whole: was trained with `model='skipgram'`, not `model='cbow'`; give the",
        ),
        (
            {"start": earlier, "lowercase": True},
            "^`start`: was trained with `lowercase=False`, not `lowercase=True`; give the same$",
        ),
    ]


@pytest.mark.parametrize("number", range(21))
def test_mistakes(earlier, tmp_path, number):
    cases = mistakes(earlier, tmp_path)
    assert len(cases) == 21
    how, message = cases[number]
    with pytest.raises(Any2VecError, match=message):
        fit(AFTER, **how)


def test_a_text_without_known_words(earlier):
    with pytest.raises(Any2VecError, match=r"^nothing to learn: no word of the corpus is known, and `min_count=9` "):
        fit([["x", "y"]] * 4, start=earlier, min_count=9)


def test_what_fails_leaves_the_vectors(earlier):
    model = fit()
    before = model.vectors_
    with pytest.raises(Any2VecError, match="the vectors of the last `fit`: vectors of 16 dimensions, but `dim` is 20"):
        model.set_params(dim=20).fit(AFTER, warm_start=True)
    assert model.vectors_ is before


def test_estimators_with_given_vectors_hash_and_compare(earlier):
    one, other = (Word2Vec(start=earlier, frozen=["w1"]) for _ in range(2))
    assert one == other != Word2Vec(start=earlier, frozen=["w2"])
    assert hash(one) == hash(other)


# The command line


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, sentences in (("before.txt", BEFORE), ("after.txt", AFTER)):
        (tmp_path / name).write_text("".join(" ".join(sentence) + "\n" for sentence in sentences))
    flags = [part for name, value in HOW.items() if name != "cache" for part in (f"--{name.replace('_', '-')}", value)]
    given = ["--no-cache", *map(str, flags)]
    return lambda *arguments: CliRunner().invoke(app, ["words", *given, *map(str, arguments)])


def test_command_line(run, tmp_path, earlier):
    assert run("before.txt", "-o", "v", "--training").exit_code == 0
    result = run("after.txt", "-o", "v", "--from", "v", "--training", "--report", "r.json")  # in place
    assert result.exit_code == 0, result.output
    assert "going on from v: 12 words, 2 new" in result.stderr
    expected = fit(AFTER, start=earlier).vectors_
    assert (load("v").matrix == expected.matrix).all()
    assert (load("v").t == expected.t).all()
    options = json.loads((tmp_path / "r.json").read_text())["options"]
    assert (options["start"], options["pretrained"], options["frozen"]) == ("v", None, None)
    (tmp_path / "frozen.txt").write_text("w1\nw2\n")
    result = run("after.txt", "-o", "f.txt", "--pretrained", "v", "--frozen", "frozen.txt")
    assert result.exit_code == 0, result.output
    assert "2 of 11 words are frozen" in result.stderr
    np.testing.assert_allclose(load("f.txt")[["w1", "w2"]], load("v")[["w1", "w2"]], rtol=1e-6)
    result = run("after.txt", "-o", "f.bin", "--pretrained", "v", "--frozen", "given")
    assert "11 of 11 words are frozen" in result.stderr


def test_words_that_the_output_cannot_hold_are_refused_before_reading(run, tmp_path, earlier, monkeypatch):
    words = ["a b", *list(earlier.words)[1:]]
    save(Vectors(words, earlier.matrix, t=earlier.t), tmp_path / "odd", training=True)
    monkeypatch.setattr("any2vec.models.words.read_corpus", None)
    result = run("after.txt", "-o", "w.bin", "--from", "odd")
    assert "w.bin: word2vec's formats cannot hold the word 'a b'" in str(result.exception)


def test_mistakes_on_the_command_line(run, tmp_path, earlier):
    save(earlier, tmp_path / "v", training=True)
    before = {path.name for path in tmp_path.iterdir()}
    result = run("after.txt", "-o", "out", "--from", "v", "--dim", "20")
    assert result.exit_code == 1
    assert "v: vectors of 16 dimensions, but --dim is 20; give --dim 16" in str(result.exception)
    assert {path.name for path in tmp_path.iterdir()} == before
