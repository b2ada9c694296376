"""Documents: one more source of their windows, on one host and on many."""

import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import naive_documents
import numpy as np
import pytest
from marks import slow
from simulated import text
from test_cbow_and_hierarchical import setting_of
from typer.testing import CliRunner

from any2vec import Any2VecError, Doc2Vec, Word2Vec, load, save
from any2vec.cli import app
from any2vec.cluster.local import simulate
from any2vec.corpus import read_corpus
from any2vec.evaluate.analogies import SimilarityChecker
from any2vec.operators.matrices import new_documents, new_matrices

HOW = {"dim": 16, "window": 3, "negative": 3, "min_count": 1, "threads": 1, "cache": None}
MODELS = [{}, {"words": True}, {"model": "dm"}]
IDS = ["dbow", "words", "dm"]
TEXTS = [*text(60), ["w0"], ["w3"], ["w1", "w1"]]


@pytest.mark.parametrize("model", [MODELS[0], slow(MODELS[1]), MODELS[2]], ids=IDS)
def test_documents_equal_the_naive(model):
    doc2vec = Doc2Vec(**HOW, **model, epochs=2, sample=0.05, seed=3, alpha=0.25)
    corpus = doc2vec.read(TEXTS)
    doc2vec.fit(corpus)
    v, n = len(corpus.vocabulary), len(TEXTS)
    start, setting = new_matrices(0, v, 16, seed=3), setting_of(corpus, doc2vec.training_options())
    e, t = start.embedding.astype(float), start.training.astype(float)
    rows = new_documents(0, n, 16, seed=3).astype(float)
    for epoch in range(2):
        losses = naive_documents.train(setting, doc2vec.model, doc2vec.words, rows, e, t, epoch)
        assert doc2vec.loss_[epoch] == pytest.approx(np.mean(losses), rel=1e-5)
    np.testing.assert_allclose(doc2vec.documents_.matrix, rows, atol=1e-5)
    np.testing.assert_allclose(doc2vec.vectors_.e, e, atol=1e-5)
    np.testing.assert_allclose(doc2vec.vectors_.t, t, atol=1e-5)
    assert np.abs(rows - new_documents(0, n, 16, seed=3)).max() > 1e-3
    ids = [[doc2vec.vectors_.vocabulary.ids[word] for word in words] for words in TEXTS[:20]]
    inferred = naive_documents.infer(setting, doc2vec.model, ids, e, t, np.zeros(16))
    np.testing.assert_allclose(doc2vec.transform(TEXTS[:20]), inferred, atol=1e-5)


@pytest.mark.slow
def test_documents_have_the_same_bits_by_all_schemes():
    found = set()
    for scheme in ("rep-naive", "rep-opt", "pull-base", "pull-opt"):
        model = Doc2Vec(**HOW, hosts=3, scheme=scheme, model="dm", epochs=2, alpha=0.5).fit(TEXTS)
        parts = model.documents_.matrix, model.vectors_.e, model.vectors_.t
        assert model.documents_.words == [str(i + 1) for i in range(len(TEXTS))]
        found.add(tuple(part.tobytes() for part in parts))
    assert len(found) == 1


def test_rows_of_documents_are_not_sent():
    few, many = (
        Doc2Vec(**HOW, hosts=2, rounds=2, epochs=1, sample=0).fit(texts).report_.rounds.bytes
        for texts in (TEXTS, [word for words in TEXTS for word in zip(words, strict=True)])
    )
    assert sum(map(sum, few.values())) == sum(map(sum, many.values())) > 0
    assert not any(sum(sent) for what, sent in few.items() if what in ("reduce e values", "broadcast e values"))


@pytest.mark.slow
def test_many_hosts_learn_as_one_though_t_meets_no_rows_of_words():
    rng = np.random.default_rng(0)
    texts = [[f"w{d % 4 * 10 + i}" for i in rng.integers(0, 14, 40)] for d in range(400)]
    how = HOW | {"sample": 0, "epochs": 8, "alpha": 0.5, "rounds": 4, "scheme": "rep-opt"}
    one, many = (Doc2Vec(**how, hosts=hosts).fit(texts).loss_ for hosts in (1, 8))
    assert one[-1] == pytest.approx(many[-1], rel=0.03)  # with the sum, values stop being finite
    assert one[-1] < 0.7 * one[0]


def naive_names(files, known):
    """Names of the lines that have a known word: their numbers, from 1, all files laid end to end."""
    lines = [line for file in files for line in file.removesuffix("\n").split("\n")]
    return [str(i + 1) for i, line in enumerate(lines) if set(line.split()) & known]


FILES = ["a b\n\n\n x\nb a c\n\n", "c", "\n\na\nx y z\nb", "b b\n" * 9 + "\n \nc c\n"]


@pytest.mark.parametrize("block", [7, 1 << 20])
@pytest.mark.parametrize("hosts", [1, 3])
def test_documents_are_lines(tmp_path, hosts, block):
    paths = [tmp_path / f"{i}.txt" for i in range(len(FILES))]
    for path, content in zip(paths, FILES, strict=True):
        path.write_text(content)
    for _ in range(2):  # the second one is from the cache
        how = {"hosts": hosts, "cache": tmp_path / "cache", "block": block, "threads": 2}
        corpus = read_corpus(paths, min_count=3, documents=True, **how)
        names = corpus.documents.names(0, corpus.sentences)
        assert names == naive_names(FILES, set(corpus.vocabulary.words))
        ranges = [corpus.documents_of(host) for host in range(hosts)]
        assert [i for part in ranges for i in part] == list(range(len(names)))
        assert corpus.documents.number == sum(len(file.removesuffix("\n").split("\n")) for file in FILES)
    assert corpus.cached
    assert read_corpus(paths, min_count=3, hosts=hosts, cache=tmp_path / "cache").documents is None


class Tagged(NamedTuple):
    """As gensim has it."""

    words: list
    tags: list


@pytest.mark.parametrize(
    "items",
    [
        [("x", ["a", "b"]), (7, ["nothing"]), ("z", ("b", "a"))],
        [Tagged(["a", "b"], ["x"]), Tagged([], [7]), Tagged(["b", "a"], "z")],
        iter([(["x"], ["a", "b"]), ((7,), []), ("z", iter(["b", "a"]))]),
    ],
)
def test_documents_have_tags(items):
    corpus = read_corpus(items, min_count=2, documents=True)
    assert corpus.documents.names(0, 2) == ["x", "z"]
    assert corpus.documents.number == 3


@pytest.mark.parametrize(
    ("items", "message"),
    [
        ([("x", ["a"]), ("x", ["b"])], "items 0 and 1 both have the tag 'x'"),
        ([Tagged(["a"], ["x", "y"])], "item 0 has 2 tags, ['x', 'y']; a document has one"),
        ([Tagged(["a"], [])], "item 0 has no tag"),
        ([("x", ["a"]), ["b"]], "item 1 has no tag, and those before have one"),
        ([["a"], ("x", ["b"])], "item 1 has the tag 'x', and those before have none"),
        ([("x", "some text")], "item 0 is ('x', 'some text'), a pair with the text 'some text'; a list of its words"),
        (
            [("id1", "red"), ("id2", "blue")],
            "item 0 is ('id1', 'red'), a pair with the text 'red'; a list of its words",
        ),
        ([(7, "red")], "item 0 is (7, 'red'), a pair with the text 'red'"),
        ([Tagged("red", ["x"])], "sentence 0 is a str ('red'); give lists of tokens"),
        ([(1.5, ["a"])], "item 0 has the tag 1.5; a string or an integer is expected"),
        ([[], []], "the corpus is empty"),
    ],
)
def test_documents_that_are_refused(items, message):
    with pytest.raises(Any2VecError, match=re.escape(message)):
        read_corpus(items, min_count=1, documents=True)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"scheme": "columns", "hosts": 2}, "`scheme` is 'columns', which is not for documents"),
        ({"start": "v"}, "`start` is given, but documents begin anew"),
        ({"operator": "cbow"}, "`operator` is 'cbow'; that of documents follows from `model`"),
        ({"model": "skipgram"}, "`model` is 'skipgram'; known are dbow, dm"),
        ({"subwords": "3-6"}, "words of documents have no n-grams"),
        ({"features": {"a": ["b"]}}, "words of documents have no features"),
        ({"context": "sum"}, "`context` is 'sum'"),
        ({"vector_size": 5}, "give `dim`"),
        ({"dm": 1}, "give `model='dm'` for dm=1"),
    ],
)
def test_parameters_that_are_refused(given, message):
    with pytest.raises(Any2VecError, match=re.escape(message)):
        Doc2Vec(**given).check()


def test_a_corpus_without_documents_is_refused():
    corpus = Word2Vec(**HOW).read(TEXTS)
    with pytest.raises(Any2VecError, match="read without its documents"):
        Doc2Vec(**HOW).fit(corpus)


@pytest.fixture(scope="module")
def model():
    return Doc2Vec(**HOW, model="dm", epochs=3, alpha=0.25).fit([(f"d{i}", words) for i, words in enumerate(TEXTS)])


def test_inference_depends_on_the_text_alone(model):
    texts = [*TEXTS[:70], ["unknown"], []]
    found = model.transform(texts)
    assert not found[-2:].any()
    assert found[:-2].any(axis=1).all()
    other = replace(model, threads=2)
    vars(other).update(vectors_=model.vectors_, report_=model.report_)
    tagged = [("tag", [*words, "unknown"]) for words in reversed(texts)]
    assert other.transform(tagged).tobytes() == found[::-1].tobytes()
    assert model.infer_vector(TEXTS[5]).tobytes() == found[5].tobytes()
    assert model.infer_vector(TEXTS[5], epochs=1).tobytes() != found[5].tobytes()
    with pytest.raises(Any2VecError, match="`epochs` is 0"):
        model.infer_vector(TEXTS[5], epochs=0)


def test_inferred_vectors_are_near_their_texts_for_every_dim():
    rng = np.random.default_rng(0)
    texts = [[f"w{d % 20 * 10 + i}" for i in rng.integers(0, 30, 8)] for d in range(300)]
    found = {}
    for dim in (16, 15):  # a multiple of a power of two, and none
        model = Doc2Vec(**HOW | {"dim": dim}, sample=0, alpha=0.3).fit(texts)
        for alpha in (0.3, 1e-4):  # with the second, a random start would stay
            rows = model.documents_.matrix, np.array([model.infer_vector(words, alpha=alpha) for words in texts])
            trained, inferred = (matrix / np.linalg.norm(matrix, axis=1, keepdims=True) for matrix in rows)
            nearest = (inferred @ trained.T).argmax(axis=1)
            found[dim, alpha] = np.mean(nearest == np.arange(len(texts)))
            assert np.bincount(nearest).max() < 40  # texts of other words are not all near one document
    assert min(found.values()) > 0.1
    assert found[16, 0.3] == pytest.approx(found[15, 0.3], abs=0.1)
    assert found[16, 1e-4] == pytest.approx(found[15, 1e-4], abs=0.1)


@pytest.mark.parametrize("read", ["transform", "infer", "fit_transform"])
def test_a_tag_with_a_text_is_no_document(model, read):
    with pytest.raises(Any2VecError, match=r"item 0 is \('id1', 'w1'\), a pair with the text 'w1'"):
        getattr(replace(model) if read == "fit_transform" else model, read)([("id1", "w1"), ("id2", "w2")])
    with pytest.raises(Any2VecError, match="is a str"):
        model.infer_vector("w1")


def test_the_command_infers_without_the_models_column(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Doc2Vec(**HOW, epochs=1, column="text").fit([{"text": words} for words in TEXTS]).save("model")
    Path("new.txt").write_text("w1 w2\nnone\n\nw3\n")
    call = ["infer", "model", "new.txt", "-o", "new"]
    assert CliRunner().invoke(app, call).exit_code
    done = CliRunner().invoke(app, [*call, "--column", ""])
    assert done.exit_code == 0, done.exception
    assert "2 documents; 2 more have no word of the vocabulary, and no vector" in done.output
    assert load("new").words == ["1", "4"]


def test_a_text_that_subsampling_would_leave_empty_has_a_vector():
    model = Doc2Vec(**HOW, sample=1e-4, epochs=2).fit(TEXTS)
    found = model.transform([["w0"], ["w1"], ["w2"], ["w0", "w3"]])
    assert len({row.tobytes() for row in found}) == 4
    assert found.any(axis=1).all()


def test_new_documents_are_read_as_in_training(model, tmp_path):
    path, lines = tmp_path / "new.txt", [TEXTS[0], [], ["unknown"], ["unknown", *TEXTS[5]]]
    path.write_text("\n".join(map(" ".join, lines)))
    found = model.infer(path)
    assert (found.words, found.counts.tolist()) == (["1", "4"], [len(TEXTS[0]), len(TEXTS[5])])
    assert found.matrix.tobytes() == model.transform([TEXTS[0], TEXTS[5]]).tobytes()
    assert model.infer([("x", TEXTS[5])], epochs=1)["x"].tobytes() == model.infer_vector(TEXTS[5], epochs=1).tobytes()
    with pytest.raises(Any2VecError, match="none of its 2 words is in the vocabulary"):
        model.infer([["unknown", "unknown"]])


def test_documents_and_words_are_compared(model):
    assert model.dv is model.documents_
    near = model.dv.most_similar(positive=[model.wv["w1"]], topn=len(TEXTS))
    cosines = dict(near)
    one, other = model.dv["d3"], model.wv["w1"]
    assert cosines["d3"] == pytest.approx(one @ other / np.linalg.norm(one) / np.linalg.norm(other), abs=1e-5)
    assert model.wv.most_similar(positive=[model.dv["d3"]])
    assert "d3" not in dict(model.dv.most_similar("d3"))


def test_a_saved_model_has_its_documents(model, tmp_path):
    for _ in range(2):  # the second one replaces the first
        model.save(tmp_path / "model")
    loaded = Doc2Vec.load(tmp_path / "model")
    assert loaded.documents_.words == model.documents_.words
    assert loaded.documents_.matrix.tobytes() == model.documents_.matrix.tobytes()
    assert loaded.transform(TEXTS).tobytes() == model.transform(TEXTS).tobytes()
    assert load(tmp_path / "model" / "documents").words == model.documents_.words
    other = Doc2Vec(**HOW, model="dm", epochs=1).fit(TEXTS)
    other.save(tmp_path / "other")
    shutil.rmtree(tmp_path / "model" / "documents")
    shutil.copytree(tmp_path / "other" / "documents", tmp_path / "model" / "documents")
    with pytest.raises(Any2VecError, match="not of the same save"):
        Doc2Vec.load(tmp_path / "model")
    (tmp_path / "other/documents/any2vec.json").unlink()
    with pytest.raises(Any2VecError, match=r"documents: not a folder of vectors: any2vec\.json is missing"):
        Doc2Vec.load(tmp_path / "other")
    (tmp_path / "other/documents/any2vec.json").mkdir()
    with pytest.raises(Any2VecError, match=r"any2vec\.json: cannot be read: it is not a file"):
        Doc2Vec.load(tmp_path / "other")
    (tmp_path / "model" / "documents" / "notes.txt").write_text("mine")
    with pytest.raises(Any2VecError, match="holds other files"):
        model.save(tmp_path / "model")


@pytest.mark.parametrize("hosts", [1, 3])
def test_a_run_is_taken_up_again(tmp_path, hosts):
    how = HOW | {"model": "dm", "epochs": 2, "hosts": hosts, "rounds": 2, "alpha": 0.25}
    kept = tmp_path / "kept"
    whole = Doc2Vec(**how, checkpoint=kept, checkpoint_every=1).fit(TEXTS)
    manifests = sorted(kept.glob("*.json"))
    others = Doc2Vec(**how | {"hosts": 2}, resume=kept).fit(TEXTS)  # nothing is left to train
    assert others.documents_.matrix.tobytes() == whole.documents_.matrix.tobytes()
    manifests[-1].unlink()
    again = Doc2Vec(**how, resume=kept).fit(TEXTS)
    assert again.documents_.matrix.tobytes() == whole.documents_.matrix.tobytes()
    assert again.vectors_.t.tobytes() == whole.vectors_.t.tobytes()


def test_hosts_without_documents_are_taken_up_again(tmp_path):
    how = HOW | {"epochs": 1, "hosts": 3, "rounds": 1}
    texts = [["a", "b"] * 50, ["b"], ["a"]]  # the first one has a host's share, and more
    whole = Doc2Vec(**how, checkpoint=tmp_path).fit(texts)
    again = Doc2Vec(**how, resume=tmp_path).fit(texts)
    assert again.documents_.matrix.tobytes() == whole.documents_.matrix.tobytes()


def test_hosts_of_a_cluster_have_their_own_documents(tmp_path):
    path = tmp_path / "texts.txt"
    path.write_text("\n\n".join(" ".join(words) for words in TEXTS))
    how = HOW | {"model": "dm", "epochs": 1, "alpha": 0.25}

    def host(communicator):
        model = Doc2Vec(**how).fit(path, communicator=communicator)
        model.save(tmp_path / "model", communicator=communicator)
        return model.documents_

    parts = simulate(3, 2, host)
    whole = Doc2Vec(**how, hosts=3).fit(path).documents_
    assert [name for part in parts for name in part.words] == whole.words == [str(2 * i + 1) for i in range(len(TEXTS))]
    assert np.concatenate([part.matrix for part in parts]).tobytes() == whole.matrix.tobytes()
    assert Doc2Vec.load(tmp_path / "model").documents_.matrix.tobytes() == whole.matrix.tobytes()


def test_the_command(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("texts.txt").write_text("\n".join(" ".join(words) for words in [["w0", "w1"], [], *TEXTS, ["rare"]]) + "\n")
    call = "documents texts.txt -o docs --model dm --dim 16 --window 3 --negative 3 --epochs 1 --threads 1 --no-cache"
    done = CliRunner().invoke(app, [*call.split(), "--min-count", "2", "--words", "words.txt", "--save-model", "model"])
    assert done.exit_code == 0, done.output
    names = load("docs").words
    assert names == ["1", *(str(i) for i in range(3, len(TEXTS) + 3))]
    assert load("words.txt").dim == 16
    assert Doc2Vec.load("model").documents_.words == names
    Path("new.txt").write_text("\nw0 rare w1\n")
    for call_, said in (
        ("-o new", "1 document are in new"),
        ("-o model/words", "lies in"),
        ("-o new --epochs 0", "epochs"),
    ):
        done = CliRunner().invoke(app, ["infer", "model", "new.txt", *call_.split()])
        assert said in done.output + str(done.exception)
    assert load("new")["2"].tobytes() == Doc2Vec.load("model").infer_vector(["w0", "w1"]).tobytes()
    similar = CliRunner().invoke(app, ["similar", "docs", "1"])
    assert similar.exit_code == 0, similar.output
    refused = CliRunner().invoke(app, [*call.split(), "--words", "docs"])
    assert refused.exit_code == 1
    assert "cannot be both the documents' vectors and the words' vectors" in str(refused.exception)


def test_a_corpus_too_small_for_subsampling_is_inferred_without(tmp_path):
    texts = [["a", "b"], ["c", "d"], ["e", "f"], ["a", "c"]]
    model, without = (Doc2Vec(**HOW, seed=2, epochs=3, sample=sample).fit(texts) for sample in (1e-9, 0))
    assert model.report_.sample == 0
    model.save(tmp_path / "model")
    for one in (model, Doc2Vec.load(tmp_path / "model")):
        assert one.transform(texts).tobytes() == without.transform(texts).tobytes()


def test_words_that_are_not_trained_are_not_shown(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    seen = []
    model = Doc2Vec(**HOW, epochs=2, callbacks=[lambda epoch, vectors: seen.append(vectors.words)]).fit(TEXTS)
    assert seen == [model.documents_.words] * 2
    model.save("m")
    model.save("m")  # replaced
    loaded = Doc2Vec.load("m")
    assert loaded.transform(TEXTS).tobytes() == model.transform(TEXTS).tobytes()
    Path("pairs").write_text("w0 w1 1\nw0 w2 2\nw1 w2 3\n")
    Path("questions").write_text(": one\nw0 w1 w2 w3\n")
    shows = [
        lambda words: words.most_similar("w0"),
        lambda words: words.similarity("w0", "w1"),
        lambda words: words["w0"],
        lambda words: words.means([["w0"]]),
        lambda words: words.map(method="pca"),
        lambda words: words.index(),
        lambda words: words.to_numpy("words.npz"),
        lambda words: words.to_pandas(),
        lambda words: words.evaluate_word_pairs("pairs"),
        lambda words: save(words, "words.txt"),
        lambda words: Word2Vec(**HOW, pretrained=words).fit(TEXTS),
    ]
    for words in (model.vectors_, model.wv, loaded.wv, load("m")):
        for show in shows:
            with pytest.raises(Any2VecError, match=r"PV-DBOW trained no vectors of words: train with words=True, or "):
                show(words)
    assert not list(Path().glob("words*"))
    for call in (
        "similar m w0",
        "analogy m w0 w1 w2",
        "map m -o map.html --method pca",
        "export m --to numpy -o words.npz",
        "evaluate similarity m pairs",
        "evaluate analogies m questions",
        "words pairs -o out --pretrained m --dim 16 --min-count 1 --no-cache",
    ):
        done = CliRunner().invoke(app, call.split())
        assert done.exit_code, call
        assert "m/documents has those of documents" in str(done.exception), call
    assert CliRunner().invoke(app, ["similar", "m/documents", "1"]).exit_code == 0
    info = CliRunner().invoke(app, ["info", "m"])
    assert "not trained" in info.output
    with pytest.raises(Any2VecError, match="`callbacks` evaluate words, and PV-DBOW trained no"):
        Doc2Vec(callbacks=[SimilarityChecker("pairs")]).check()
    Doc2Vec(words=True, callbacks=[SimilarityChecker("pairs")]).check()


def test_callbacks_get_the_documents_of_the_first_host():
    seen = []
    how = HOW | {"epochs": 1, "hosts": 3, "alpha": 0.25}
    model = Doc2Vec(**how, callbacks=[lambda epoch, vectors: seen.append((vectors.words, vectors.matrix.copy()))])
    whole = model.fit(TEXTS).documents_
    ((words, rows),) = seen
    assert 0 < len(words) < len(whole)
    assert words == whole.words[: len(words)]
    assert rows.tobytes() == whole.matrix[: len(words)].tobytes()


@pytest.mark.parametrize("hosts", [1, 3])
def test_callbacks_get_words_where_these_are_trained(hosts):
    seen = []
    how = HOW | {"model": "dm", "epochs": 1, "hosts": hosts, "alpha": 0.25}
    model = Doc2Vec(**how, callbacks=[lambda epoch, vectors: seen.append(vectors.words)]).fit(TEXTS)
    assert seen == [model.vectors_.words]
