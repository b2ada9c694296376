import os
from threading import Thread

import naive
import naive_parts
import numpy as np
import pytest
from marks import slow
from simulated import NAMES

import any2vec
from any2vec import Any2VecError, DeepWalk, Word2Vec
from any2vec.corpus.parts import Features
from any2vec.errors import Any2VecWarning, UnknownWordError
from any2vec.operators.matrices import new_matrices
from any2vec.samples.targets import alias_table, probabilities
from any2vec.samples.windows import keep_probability

HOW = {"dim": 16, "window": 3, "min_count": 1, "epochs": 2, "threads": 1, "cache": None, "sample": 0.1, "negative": 3}
FEATURES = {f"{brand}{n}": [f"brand={brand}", f"size={n % 2}"] for brand in ("ä", "b", "c") for n in range(5)}
NEW = "b4"  # is in no session
FILE = "".join(f"{token}\t{' '.join(names)}\n" for token, names in FEATURES.items())


def sessions(number=60, seed=1):
    rng = np.random.default_rng(seed)
    return [[f"{rng.choice(list('äbc'))}{rng.integers(4)}" for _ in range(6)] + ["plain"] for _ in range(number)]


def fitted(**options):
    return Word2Vec(**HOW | {"features": FEATURES} | options).fit(sessions())


def bits(model):
    vectors = model.vectors_
    return [array.tobytes() for array in (vectors.matrix, vectors.t, vectors.parts.own, vectors.parts.rows)]


def test_training_equals_the_naive():
    trained = fitted()
    corpus, names = trained.read(sessions()), sorted({name for names in FEATURES.values() for name in names})
    words, counts = corpus.vocabulary.words, corpus.vocabulary.counts
    rows, places = naive_parts.rows_of_parts(
        counts.tolist(), [sorted(map(names.index, FEATURES.get(word, []))) for word in words]
    )
    start = new_matrices(0, len(words) + len(names), 16)
    e, t = start.embedding.astype(np.float64), np.zeros((len(words) + len(names), 16))
    worklist = corpus.part(0)
    setting = naive.Setting(
        worklist.ids.tolist(),
        worklist.bounds.tolist(),
        keep_probability(counts, float(counts.sum()), 0.1).tolist(),
        alias_table(probabilities(counts, 0.75)),
        "pair",
        window=3,
        negative=3,
        alpha=0.05,
        epochs=2,
    )
    for epoch in range(2):
        naive_parts.train(setting, "skipgram", "negative", e, t, rows, None, epoch)
    vectors = trained.vectors_
    np.testing.assert_allclose(vectors.matrix, [e[own].mean(0) for own in rows], atol=2e-5)
    np.testing.assert_allclose(vectors.parts.rows, e[[places[part] for part in vectors.parts.ids]], atol=2e-5)
    np.testing.assert_allclose(vectors.vector_of_features(["brand=b"]), e[places[names.index("brand=b")]], atol=2e-5)
    np.testing.assert_allclose(vectors["plain"], e[rows[words.index("plain")]][0], atol=2e-5)


@pytest.mark.parametrize("options", [{}, slow({"model": "cbow", "loss": "hierarchical", "negative": None})], ids=str)
def test_all_schemes_give_the_same_bits(options):
    found = [bits(fitted(hosts=3, rounds=2, scheme=scheme, **options)) for scheme in NAMES]
    assert all(one == found[0] for one in found)
    assert found[0] != bits(fitted(**options))


def test_new_items_and_features_have_vectors():
    vectors = fitted().vectors_
    assert NEW not in vectors.vocabulary.ids
    assert NEW in vectors
    assert vectors.features == ("brand=b", "brand=c", "brand=ä", "size=0", "size=1")
    of_features = vectors.vector_of_features(["size=0", "brand=b", "size=0"])
    np.testing.assert_allclose(vectors[NEW], of_features, rtol=1e-6)
    both = [vectors.vector_of_features([name]) for name in ("brand=b", "size=0")]
    np.testing.assert_allclose(of_features, np.mean(both, axis=0), atol=1e-7)
    assert len(vectors.most_similar(of_features, topn=3)) == 3
    assert "new" not in vectors
    for word, why in (("new", "no features of it are known"), ("brand=b", "which is a feature: see")):
        with pytest.raises(UnknownWordError, match=f"^no vector for '{word}', .*{why}"):
            vectors[word]
    with pytest.raises(UnknownWordError, match="no vector for the feature 'brand=bb'; did you mean 'brand=b'"):
        vectors.vector_of_features(["brand=bb"])
    for wrong in ("brand=b", [], [1], None):
        with pytest.raises(Any2VecError, match="a list of features is expected"):
            vectors.vector_of_features(wrong)


def test_features_bring_rare_and_new_items_to_their_brand():
    rng = np.random.default_rng(3)
    brands = {f"i{n}": n // 10 for n in range(60)}
    given = {item: [f"brand={brand}"] for item, brand in brands.items()}
    texts = [[f"i{10 * brand + rng.integers(9)}" for _ in range(6)] for brand in rng.integers(6, size=600)]
    rare = [f"i{10 * brand + 8}" for brand in range(6)]
    texts = [[item for item in text if item not in rare] for text in texts]
    texts += [[item, f"i{10 * brands[item]}"] for item in rare]  # each once

    def share(vectors, items):
        return np.mean(
            [brands[near] == brands[item] for item in items for near, _ in vectors.most_similar(item, topn=5)]
        )

    how = {"dim": 16, "window": 3, "negative": 3, "min_count": 1, "threads": 1, "cache": None, "sample": 0, "epochs": 5}
    plain, with_features = (Word2Vec(**how, features=one).fit(texts).vectors_ for one in (None, given))
    assert share(plain, rare) < 0.5
    assert share(with_features, rare) > 0.9
    assert share(with_features, [f"i{10 * brand + 9}" for brand in range(6)]) > 0.9


def test_integers_are_tokens_and_only_ascii_whitespace_separates():
    found = Features({7: ["a\u00a0b"], np.int64(8): np.array(["c"])})
    assert (found.tokens, found.names) == (("7", "8"), ("a\u00a0b", "c"))
    assert list(map(type, found.names)) == [str, str]


@pytest.mark.parametrize("name", ["features.tsv", "features.tsv.gz"])
def test_a_file_is_what_a_dict_is(name, tmp_path):
    import gzip

    text = ("\ufeff" + FILE.replace("\n", "\r\n") + "\nplain\t\n").encode()
    (tmp_path / name).write_bytes(gzip.compress(text) if name.endswith("gz") else text)
    assert Features.parse(str(tmp_path / name)) == Features({token: set(names) for token, names in FEATURES.items()})


def test_saved_models_go_on_with_more_features(tmp_path):
    model = fitted()
    model.save(tmp_path / "model")
    loaded = Word2Vec.load(tmp_path / "model")
    assert loaded.features == Features(FEATURES)
    assert bits(loaded) == bits(model)
    assert loaded.vectors_[NEW].tobytes() == model.vectors_[NEW].tobytes()
    more = {"x1": ["a=0", "brand=c"], **FEATURES}  # all numbers change
    for one in (model, loaded):
        one.set_params(features=more, alpha=1e-9).fit([*sessions(9, 2), ["x1", "c1"]], warm_start=True)
    assert bits(loaded) == bits(model)
    start, vectors = fitted().vectors_, model.vectors_
    assert vectors.features == ("a=0", *start.features)
    for name in start.features:  # with a learning rate of almost nothing, rows stay where they were
        np.testing.assert_allclose(vectors.vector_of_features([name]), start.vector_of_features([name]), atol=1e-6)
    for given, message in (
        (None, "was trained with 5 features, such as 'brand=b': give `features`"),
        ({"b1": ["brand=b"]}, "`features` lack 'brand=c' and 3 more"),
    ):
        with pytest.raises(Any2VecError, match=message):
            Word2Vec(**HOW, features=given, start=start).fit(sessions())
    for change in ({"features": FEATURES}, {"subwords": (3, 6), "buckets": 100}):
        vectors = Word2Vec(**HOW, **change).fit(sessions()).vectors_
        other = Word2Vec(**HOW, **change, model="cbow", start=vectors)
        with pytest.raises(Any2VecError, match="was trained with `model='skipgram'`, not `model='cbow'`"):
            other.fit(sessions())
        with pytest.raises(Any2VecError, match=r"was trained with .*features|has n-grams"):
            Word2Vec(**HOW, start=vectors).fit(sessions())
    without, less = ({**more, "b1": names} for names in ([], ["brand=b"]))
    del without["b1"]
    for given, lacking in (
        (without, "'b1' has 'brand=b', but not in `features`, and 1 more"),
        (less, "'b1' has 'size=1'"),
    ):
        with pytest.raises(Any2VecError, match=lacking):
            model.set_params(features=given).fit(sessions(), warm_start=True)
    with pytest.raises(Any2VecError, match="trained without features; leave out"):
        Word2Vec(**HOW, features=FEATURES, start=Word2Vec(**HOW).fit(sessions()).vectors_).fit(sessions())


@pytest.mark.parametrize(
    "change", [('["brand=b", ', '[7, "brand=b", '), ('["brand=b", "brand=c"', '["brand=c", "brand=b"')]
)
def test_a_damaged_folder_is_named(change, tmp_path):
    any2vec.save(fitted().vectors_, tmp_path / "m")
    file = tmp_path / "m" / "any2vec.json"
    assert change[0] in file.read_text()
    file.write_text(file.read_text().replace(*change))
    with pytest.raises(Any2VecError, match=r"any2vec\.json: damaged: 'features' is"):
        any2vec.load(tmp_path / "m")


def test_resuming_needs_the_same_features(tmp_path):
    how = {"hosts": 2, "rounds": 2, "scheme": "pull-opt"}
    fitted(checkpoint=str(tmp_path / "kept"), **how)
    assert len(fitted(epochs=3, resume=str(tmp_path / "kept"), **how).loss_) == 3
    with pytest.raises(Any2VecError, match="features"):
        fitted(resume=str(tmp_path / "kept"), features=FEATURES | {"b1": ["brand=c"]}, **how)


def test_fasttext_holds_no_features(tmp_path):
    vectors = fitted().vectors_
    with pytest.raises(Any2VecError, match="cannot hold features"):
        any2vec.save(vectors, tmp_path / "m.bin", format="fasttext")
    assert not list(tmp_path.iterdir())
    with pytest.warns(Any2VecWarning, match=r"m\.txt will hold no features, so .*; a folder \(.*\) keeps them"):
        any2vec.save(vectors, tmp_path / "m.txt")
    with pytest.warns(Any2VecWarning, match=r"m\.npz will hold no features"):
        vectors.to_numpy(tmp_path / "m.npz")
    assert any2vec.load(tmp_path / "m.txt").words == vectors.words


@pytest.mark.parametrize("by", ["fit", "read"])
def test_features_are_read_once_a_fit(by, tmp_path):
    model = Word2Vec(**HOW, features={token: iter(names) for token, names in FEATURES.items()})
    model.check()
    model.fit(model.read(sessions()) if by == "read" else sessions())
    assert bits(model) == bits(fitted())
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    writer = Thread(target=fifo.write_text, args=(FILE, "utf-8"))
    writer.start()
    model = Word2Vec(**HOW, features=fifo)
    model.check()
    model.fit(model.read(sessions()) if by == "read" else sessions())
    writer.join()
    assert bits(model) == bits(fitted())


def test_features_may_change_between_fits():
    given = {"b1": ["brand=a"], "plain": ["x"]}
    model = Word2Vec(**HOW, features=given)
    for change in (["brand=b"], ["brand=c"]):
        with pytest.raises(Any2VecError, match="nosuch"):
            model.fit("nosuch.txt")
        given["b1"] = change
        assert model.fit(sessions()).vectors_.features == (*change, "x")


def test_vertices_have_features():
    edges = [(f"v{n}", f"v{n + 1}") for n in range(8)]
    how = {"dim": 16, "window": 3, "negative": 3, "threads": 1, "epochs": 1, "walks": 2, "length": 8}
    vectors = DeepWalk(**how, features={"v1": ["red"], "w": ["red"]}).fit(edges).vectors_
    assert vectors["w"].tobytes() == vectors.vector_of_features(["red"]).tobytes()


@pytest.mark.parametrize(
    ("features", "message"),
    [
        ({"b1": "brand=b"}, "`features` of 'b1' are 'brand=b'; a list of strings is expected"),
        ({"b1": [1]}, "`features` of 'b1' have 1; a string without whitespace is expected"),
        ({"b1": ["a b"]}, "`features` of 'b1' have 'a b'"),
        ({"b1": None}, "`features` of 'b1' are None"),
        ({3.5: ["a"]}, "`features` has the token 3.5; a string"),
        ({3: ["a"], "3": ["b"]}, "has the token '3' as a string and as an integer"),
        ("", "`features` is ''; the name of a file is expected"),
        ([("b1", ["a"])], "`features` is .*; it must be a dict of lists"),
        ({}, "no token has a feature"),
        ({"zz": ["a"]}, "has 1 token, such as 'zz'; none is among the 13 words"),
        ("no such file", "no such file: cannot be read"),
    ],
)
def test_wrong_features_are_refused(features, message):
    with pytest.raises(Any2VecError, match=message):
        fitted(features=features)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"b1 brand=b\n", "line 1: no tab in 'b1 brand=b'; a token, a tab"),
        (b"\tbrand=b\n", "line 1: no token before the tab"),
        (b"b1\ta\n\nb1\tb\n", "line 3: the token 'b1' is in line 1, too"),
        (b"b1\ta\nb2\t\xff\n", "line 2: not UTF-8"),
        (b"", "no token has a feature"),
        (b"b1\t\n", "no token has a feature"),
    ],
)
def test_wrong_files_are_named(content, message, tmp_path):
    (tmp_path / "f.tsv").write_bytes(content)
    with pytest.raises(Any2VecError, match=f"^{tmp_path / 'f.tsv'}: {message}"):
        fitted(features=tmp_path / "f.tsv")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"subwords": "3-6"}, "`features` is given, and `subwords` or `buckets`"),
        ({"buckets": 7}, "`features` is given, and `subwords` or `buckets`"),
        ({"scheme": "columns", "hosts": 2}, "does not train parts"),
    ],
)
def test_options_that_are_refused(options, message):
    with pytest.raises(Any2VecError, match=message):
        fitted(**options)
