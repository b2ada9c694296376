import naive_models
import naive_parts
import numpy as np
import pytest
from marks import slow_but
from simulated import NAMES
from test_cbow_and_hierarchical import setting_of

import any2vec
from any2vec import Any2VecError, Word2Vec
from any2vec.corpus.parts import WordRows
from any2vec.operators import WITH_PARTS
from any2vec.operators.cbow import CBOW
from any2vec.operators.matrices import new_matrices
from any2vec.samples.targets import alias_table, probabilities
from any2vec.training.options import Options

HOW = {"dim": 16, "window": 3, "min_count": 1, "epochs": 2, "threads": 1, "cache": None, "sample": 0.1}
SUBWORDS = {"subwords": (2, 4), "buckets": 50}
MODELS = [
    ("skipgram", "negative", {"negative": 3}),
    ("skipgram", "negative", {"negative": 3, "negatives_per": "window"}),
    ("skipgram", "hierarchical", {}),
    ("cbow", "negative", {"negative": 3}),
    ("cbow", "hierarchical", {}),
]
of_models = pytest.mark.parametrize(
    ("model", "loss", "more"), slow_but([MODELS[0], MODELS[-1]], MODELS, unpacked=True), ids=str
)


def sentences(number=60, seed=1):
    rng = np.random.default_rng(seed)
    words = ["walk", "walked", "walking", "talk", "talked", "talking", "sing", "singing", "a", "the", "größe", "größer"]
    return [rng.choice(words, rng.integers(1, 9)).tolist() for _ in range(number)] + [words]


def fitted(**options):
    negative = {} if options.get("loss") == "hierarchical" else {"negative": 3}
    return Word2Vec(**HOW | SUBWORDS | negative | options).fit(sentences())


def bits(model):
    vectors = model.vectors_
    return [array.tobytes() for array in (vectors.matrix, vectors.t, vectors.parts.own, vectors.parts.rows)]


@of_models
def test_training_equals_the_naive(model, loss, more):
    trained = fitted(model=model, loss=loss, **more)
    options, corpus = trained.training_options(), trained.read(sentences())
    vocabulary, counts = corpus.vocabulary, corpus.vocabulary.counts
    rows, places = naive_parts.rows_of(vocabulary.words, counts.tolist(), 2, 4, 50)
    number = len(counts) + len(places)
    start = new_matrices(0, number, 16)
    e, t = start.embedding.astype(np.float64), np.zeros((number, 16))
    setting = setting_of(corpus, options)._replace(
        table=alias_table(probabilities(counts, 0.5)), negatives_per=more.get("negatives_per", "pair")
    )
    tree = naive_models.huffman(counts.tolist())
    means = [np.mean(naive_parts.train(setting, model, loss, e, t, rows, tree, epoch)) for epoch in range(2)]
    np.testing.assert_allclose(trained.loss_, means, rtol=1e-4)
    vectors = trained.vectors_
    np.testing.assert_allclose(vectors.matrix, [e[own].mean(0) for own in rows], atol=2e-5)
    np.testing.assert_allclose(vectors.parts.own, e[[own[0] for own in rows]], atol=2e-5)
    np.testing.assert_allclose(vectors.parts.rows, e[[places[part] for part in vectors.parts.ids]], atol=2e-5)
    np.testing.assert_allclose(vectors.t, t[: len(counts)], atol=2e-5)
    assert np.abs(e - start.embedding).max(axis=1).min() > 0  # every row was met


def long_sentences():
    words = [word for sentence in sentences(600) for word in sentence]
    return [words[:1300], words[1300:1350], words[1350:2000], words[2000:]]


@of_models
def test_rounds_change_nothing_on_one_host(model, loss, more):
    how = HOW | SUBWORDS | {"model": model, "loss": loss, "epochs": 1} | more
    found = [bits(Word2Vec(**how, rounds=rounds).fit(long_sentences())) for rounds in (1, 2, 7, 100)]
    assert found[1:] == found[:-1]


@pytest.mark.slow
def test_schemes_give_the_same_bits_where_rounds_cut_long_sentences():
    how = HOW | SUBWORDS | {"model": "cbow", "negative": 3, "hosts": 2, "rounds": 9}
    found = [bits(Word2Vec(**how, scheme=scheme).fit(long_sentences())) for scheme in NAMES]
    assert all(one == found[0] for one in found)


def test_rows_are_those_of_words_and_parts_by_count():
    bounds, parts = np.array([0, 2, 2, 5]), [7, 9, 7, 3, 7]  # the third word has part 7 twice
    rows = WordRows.of(np.array([5, 4, 1]), bounds, parts)
    assert rows.ids.tolist() == [3, 7, 9]
    # counts: words 5, 4, 1; parts 3: 1, 7: 5 + 1 + 1, 9: 5
    assert rows.parts.tolist() == [5, 0, 2]
    assert rows.own.tolist() == [1, 3, 4]
    assert rows.rows.tolist() == [1, 0, 2, 3, 4, 0, 5, 0]
    assert (rows.number, rows.most) == (6, 4)
    assert rows.spread(np.array([5.0, 4.0, 1.0])).tolist() == [7, 5, 5, 4, 1, 1]


def test_shares_of_a_words_rows_are_those_that_keep_the_balance():
    """Each of n rows gets the whole gradient of their mean, so a row counts 1/n: exactly, if all words have as many."""
    random = np.random.default_rng(1)
    bounds, counts = np.arange(0, 3 * 20 + 1, 3), random.integers(1, 50, 20).astype(float)
    rows = WordRows.of(counts.astype(int), bounds, random.integers(0, 9, 60))
    shares, e, t = rows.shares(counts), *random.normal(size=(2, 20 + 9, 4))
    change, before = np.zeros_like(e), (e.T * shares) @ e - t[:20].T @ t[:20]
    for word, target, step in ((0, 3, 0.1), (7, 3, -0.2), (7, 1, 0.3)):
        own = rows.rows[rows.bounds[word] : rows.bounds[word + 1]]
        np.add.at(change, own, 1e-5 * step * t[target])
        t[target] += 1e-5 * step * e[own].mean(axis=0)
    e += change
    after = (e.T * shares) @ e - t[:20].T @ t[:20]
    assert np.allclose(shares, 1 / 4)
    np.testing.assert_allclose(after, before, atol=1e-8)


def test_a_row_of_cbow_is_as_much_of_a_context_as_counted():
    """The other words of a context have as many rows as any, whether a row's own word is short or long."""
    random, n = np.random.default_rng(1), 6
    sizes, counts = random.permuted(np.repeat([2, 10, 17, 30], 10)), np.sort(random.integers(5, 50, 40))[::-1]
    rows = WordRows.of(counts, np.cumsum([0, *sizes]), random.integers(0, 300, sizes.sum()))
    operator = WITH_PARTS[CBOW](Options(model="cbow", sample=0, window=5))
    operator.rows = rows
    met, total = np.zeros(rows.number), np.zeros(rows.number)
    for context in random.choice(40, (20_000, n), p=counts / counts.sum()):
        listed = np.concatenate([rows.rows[rows.bounds[word] : rows.bounds[word + 1]] for word in context])
        np.add.at(met, listed, 1)
        np.add.at(total, listed, 1 / len(listed))
    np.testing.assert_allclose(operator.shares(counts, float(n)), total / met, rtol=0.15)  # the mean of a reciprocal


def test_unknown_words_have_vectors():
    vectors = fitted().vectors_
    assert "walks" not in vectors.vocabulary.ids
    assert vectors["walks"].shape == (16,)
    assert {word for word, _ in vectors.most_similar("walkd", topn=3)} & {"walk", "walked", "walking"}


def test_threads_and_callbacks():
    seen = []
    model = fitted(threads=2, callbacks=[lambda epoch, vectors: seen.append(vectors["walks"].shape)])
    assert seen == [(16,)] * 2
    assert np.isfinite(model.vectors_.matrix).all()


def test_a_saved_model_goes_on_as_in_memory(tmp_path):
    model = fitted()
    model.save(tmp_path / "model")
    more = [*sentences(30, seed=2), ["walkers", "talkers"]]
    loaded = Word2Vec.load(tmp_path / "model")
    assert loaded.subwords == "2-4"
    assert bits(loaded) == bits(model)
    assert bits(loaded.fit(more, warm_start=True)) == bits(model.fit(more, warm_start=True))
    assert len(model.vectors_) == 14
    assert model.vectors_.parts.ids.size > 0


def test_going_on_begins_with_the_earlier_rows():
    """With a learning rate of almost nothing, all rows stay where they were."""
    first = fitted()
    start = first.vectors_
    vectors = (
        Word2Vec(**HOW | SUBWORDS | {"start": start, "alpha": 1e-9, "negative": 3}).fit(sentences(9, seed=3)).vectors_
    )
    at = [vectors.vocabulary.ids[word] for word in start.words]
    np.testing.assert_allclose(vectors.parts.own[at], start.parts.own, atol=1e-6)
    kept = np.isin(vectors.parts.ids, start.parts.ids)
    np.testing.assert_allclose(
        vectors.parts.rows[kept], start.parts.rows[np.isin(start.parts.ids, vectors.parts.ids)], atol=1e-6
    )
    np.testing.assert_allclose(vectors.t[at], start.t, atol=1e-6)


def test_going_on_from_a_model_of_gensim(tmp_path):
    gensim = pytest.importorskip("gensim")
    path = str(tmp_path / "model.bin")
    how = {"vector_size": 16, "min_count": 1, "min_n": 2, "max_n": 4, "bucket": 50, "epochs": 1, "workers": 1}
    theirs = gensim.models.FastText(sentences(), **how)
    gensim.models.fasttext.save_facebook_model(theirs, path)
    ours = Word2Vec(**HOW | SUBWORDS | {"start": path, "alpha": 1e-9, "negative": 3}).fit(sentences()).vectors_
    for word in ("walk", "größer", "walkers"):
        np.testing.assert_allclose(ours[word], theirs.wv[word], atol=1e-5)
    with pytest.raises(Any2VecError, match=r"of 2-4 characters in 50 buckets, and `subwords` asks for n-grams of 3-6"):
        Word2Vec(**HOW | {"start": path, "subwords": "3-6"}).fit(sentences())
    with pytest.raises(Any2VecError, match="`subwords` asks for no n-grams; give `subwords='2-4'` and `buckets=50`"):
        Word2Vec(**HOW | {"start": path}).fit(sentences())


@pytest.mark.slow
def test_a_resumed_run_has_the_bits_of_an_uninterrupted_one(tmp_path):
    how = {"hosts": 2, "rounds": 2, "scheme": "pull-opt"}
    whole = fitted(epochs=3, **how)
    fitted(epochs=2, checkpoint=str(tmp_path / "kept"), **how)
    # 2 epochs of 3 have another rate: only that it goes on, and from the same rows
    resumed = fitted(epochs=3, resume=str(tmp_path / "kept"), **how)
    assert resumed.loss_[:2] == fitted(epochs=2, **how).loss_
    assert len(resumed.loss_) == 3
    assert [len(one) for one in bits(resumed)] == [len(one) for one in bits(whole)]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"subwords": "6-3"}, "subwords"),
        ({"subwords": "x"}, "subwords"),
        ({"subwords": (3, 6), "buckets": 0}, "buckets"),
        ({"buckets": 7}, "`buckets` is 7; that is for `subwords`"),
        ({"subwords": "3-6", "scheme": "columns", "hosts": 2}, "columns., which does not train parts"),
        ({"subwords": "3-6", "scheme": "server", "hosts": 2}, "does not train parts"),
    ],
)
def test_options_that_are_refused(options, message):
    with pytest.raises(Any2VecError, match=message):
        Word2Vec(**HOW | options).fit(sentences())


def test_frozen_words_share_their_parts():
    start = fitted().vectors_
    with pytest.raises(Any2VecError, match="`frozen` is given, and words have parts"):
        Word2Vec(**HOW | SUBWORDS | {"start": start, "frozen": ["walk"]}).fit(sentences())


def test_saved_vectors_are_read_by_fasttexts_readers(tmp_path):
    gensim = pytest.importorskip("gensim")
    vectors = fitted().vectors_
    any2vec.save(vectors, tmp_path / "model.bin", format="fasttext", training=True)
    theirs = gensim.models.fasttext.load_facebook_vectors(str(tmp_path / "model.bin"))
    for word in ("walk", "größer", "unheard"):
        np.testing.assert_allclose(theirs[word], vectors[word], atol=1e-6)
    assert any2vec.load(tmp_path / "model.bin")["unheard"].tobytes() == vectors["unheard"].tobytes()
