"""Vectors written for other programs, each loaded by its own library; `pip install` of the large ones is up to you."""

import gzip
import inspect
import json
import os
import stat
import subprocess
import sys
import time
import urllib.request

import numpy as np
import pytest
from typer.testing import CliRunner

from any2vec import Vectors, load, save
from any2vec.cli import app
from any2vec.errors import Any2VecError
from any2vec.io.inputs import split
from any2vec.vectors.export import TARGETS

WORDS = ["the", "c", "cat", "▁x", "x", "[UNK]", "new-york", "é", "日本", "\u00a0", '"q"', "null", "Cat's", "42"]
COUNTS = np.arange(len(WORDS), 0, -1)
MATRIX = np.random.default_rng(1).normal(size=(len(WORDS), 12)).astype(np.float32)
NAMES = {
    "glove": "v.txt",
    "numpy": "v.npz",
    "parquet": "v.parquet",
    "embedding-atlas": "v.parquet",
    "word2vec": "v.vec",
    "fasttext": "v.bin",
}
LIBRARIES = {"parquet": "pyarrow", "embedding-atlas": "pyarrow", "spacy": "spacy"}
TEXT = "the cat\tsat  on the\u00a0 \u00a0 mat \n日本 [UNK] x ▁x cap c The 42"
TEXTS = [TEXT, "", "unknown", "the", f"{TEXT} " * 500, "cat the the"]  # one of more words than model2vec's own limit
FILES = [name for name in TARGETS if name in NAMES]


@pytest.fixture
def vectors():
    return Vectors(WORDS, MATRIX, counts=COUNTS)


def write(name, vectors, folder, **options):
    """Write a target in a folder, and return where."""
    if name in LIBRARIES:
        pytest.importorskip(LIBRARIES[name])
    path = folder / NAMES.get(name, "v")
    TARGETS[name](vectors, path, **options)
    return path


def means(vectors, texts=TEXTS):
    return [vectors.get_mean_vector(split(text) or [""], pre_normalize=False) for text in texts]


def run(*arguments):
    result = CliRunner().invoke(app, [str(argument) for argument in arguments], standalone_mode=False)
    if isinstance(result.exception, Any2VecError):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.output


# each by its own library


def test_tensorboard(vectors, tmp_path):
    pytest.importorskip("tensorboard")
    path = write("tensorboard", vectors, tmp_path)
    (tmp_path / "log").write_text("")
    command = [sys.executable, "-m", "tensorboard.main", "--logdir", path, "--port", "0", "--load_fast=false"]
    with (tmp_path / "log").open("w") as log:
        server = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        until = time.monotonic() + 60
        while "http://" not in (said := (tmp_path / "log").read_text()):
            assert server.poll() is None, said
            assert time.monotonic() < until, said
            time.sleep(0.1)
        base = "http://" + said.split("http://")[1].split("/ ")[0] + "/data/plugin/projector"

        def get(what):
            return urllib.request.urlopen(base + what).read()

        assert json.loads(get("/runs")) == ["."]
        (shown,) = json.loads(get("/info?run=."))["embeddings"]
        assert (shown["tensorName"], shown["tensorShape"]) == ("any2vec", list(MATRIX.shape))
        tensor = np.frombuffer(get("/tensor?run=.&name=any2vec&num_rows=100000"), np.float32)
        np.testing.assert_array_equal(tensor.reshape(MATRIX.shape), MATRIX)
        rows = get("/metadata?run=.&name=any2vec&num_rows=100000").decode().split("\n")
        assert rows[0] == "word\trank\tcount"
        assert [row.split("\t")[0] for row in rows[1:-1]] == WORDS
        assert rows[1:3] == ["the\t1\t14", "c\t2\t13"]
    finally:
        server.terminate()
        server.wait()


def test_the_projector_without_counts(tmp_path):
    path = write("tensorboard", Vectors(["a", ""], np.eye(2, dtype=np.float32)), tmp_path)
    assert (path / "metadata.tsv").read_text() == "word\trank\na\t1\n\t2\n"
    assert (path / "tensors.tsv").read_text() == "1\t0\n0\t1\n"


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("given", [True, False])
def test_embedding_atlas(vectors, tmp_path, given):
    pytest.importorskip("embedding_atlas")
    from click.testing import CliRunner as Click
    from embedding_atlas.cli import main

    xy = np.arange(2.0 * len(WORDS)).reshape(-1, 2) if given else None
    path = write("embedding-atlas", vectors, tmp_path, xy=xy)
    columns = ["--text", "word", "--x", "x", "--y", "y", "--neighbors", "neighbors", "--kcore", "--degree"]
    result = Click().invoke(main, [str(path), *columns, "--export-application", str(tmp_path / "page")])
    assert result.exit_code == 0, (result.output, result.exception)
    assert (tmp_path / "page" / "index.html").exists()
    shown = json.loads((tmp_path / "page" / "data" / "metadata.json").read_text())["props"]["data"]
    assert (shown["projection"]["x"], shown["neighbors"], shown["text"]) == ("x", "neighbors", "word")


def test_the_columns_of_embedding_atlas(vectors, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    table = parquet.read_table(write("embedding-atlas", vectors, tmp_path, neighbours=3))
    assert table.schema.names == ["word", "count", "vector", "x", "y", "neighbors"]
    rows = table.to_pylist()
    for i, row in enumerate(rows):
        ids, distances = row["neighbors"]["ids"], row["neighbors"]["distances"]
        assert (ids[0], distances[0]) == (i, 0)
        near = vectors.most_similar(WORDS[i], topn=3)
        assert [WORDS[other] for other in ids[1:]] == [word for word, _ in near]
        np.testing.assert_allclose(distances[1:], [1 - cosine for _, cosine in near], atol=1e-6)
    unit = MATRIX / np.linalg.norm(MATRIX, axis=1, keepdims=True)
    left, sizes, _ = np.linalg.svd(unit - unit.mean(axis=0), full_matrices=False)
    expected = left[:, :2] * sizes[:2]
    found = np.array([[row["x"], row["y"]] for row in rows])
    np.testing.assert_allclose(np.abs(found), np.abs(expected), atol=1e-5)
    xy = np.arange(2.0 * len(WORDS)).reshape(-1, 2)
    table = parquet.read_table(write("embedding-atlas", vectors, tmp_path, neighbours=0, xy=xy, top=3))
    assert table.schema.names == ["word", "count", "vector", "x", "y"]
    assert table["y"].to_pylist() == [1, 3, 5]
    for bad in (xy[:3], xy + np.nan, "xy", xy.T):
        with pytest.raises(Any2VecError, match=r"`xy` is .*; it must be finite numbers of shape \(14, 2\)"):
            write("embedding-atlas", vectors, tmp_path, xy=bad)


def test_more_neighbours_than_a_column_holds(monkeypatch, vectors, tmp_path):
    pytest.importorskip("pyarrow")
    monkeypatch.setattr("any2vec.vectors.export.tables._MOST", 3 * len(WORDS))
    write("embedding-atlas", vectors, tmp_path, neighbours=2)
    with pytest.raises(
        Any2VecError, match=r"^14 words with 3 neighbours each have 56 entries, and a column holds 42; "
    ):
        write("embedding-atlas", vectors, tmp_path, neighbours=3)


@pytest.mark.parametrize("shape", [(1, 4), (1, 1), (5, 1), (2, 2)])
def test_few_words_and_few_numbers_have_places(tmp_path, shape):
    parquet = pytest.importorskip("pyarrow.parquet")
    words = list(map(str, range(shape[0])))
    path = write("embedding-atlas", Vectors(words, np.zeros(shape, np.float32)), tmp_path)
    rows = parquet.read_table(path).to_pylist()
    assert {(row["x"], row["y"]) for row in rows} == {(0, 0)}
    assert {len(row["neighbors"]["ids"]) for row in rows} == {shape[0]}


@pytest.mark.filterwarnings("ignore")
def test_model2vec(vectors, tmp_path):
    model2vec = pytest.importorskip("model2vec")
    model = model2vec.StaticModel.from_pretrained(write("model2vec", vectors, tmp_path))
    np.testing.assert_allclose(model.encode(TEXTS), means(vectors), rtol=1e-5, atol=1e-5)
    assert [len(ids) for ids in model.tokenize(TEXTS[:4])] == [9, 0, 0, 1]


@pytest.mark.filterwarnings("ignore")
def test_sentence_transformers(vectors, tmp_path):
    library = pytest.importorskip("sentence_transformers")
    model = library.SentenceTransformer(str(write("sentence-transformers", vectors, tmp_path)), device="cpu")
    np.testing.assert_allclose(model.encode(TEXTS), means(vectors), rtol=1e-5, atol=1e-5)
    assert model.similarity(*model.encode(["the", "cat"])).item() == pytest.approx(vectors.similarity("the", "cat"))
    np.testing.assert_array_equal(model.encode([""]), np.zeros((1, 12)))
    model.save(str(tmp_path / "again"))
    assert (library.SentenceTransformer(str(tmp_path / "again"), device="cpu").encode("cat") == MATRIX[2]).all()


def test_a_tokenizer_of_words(vectors, tmp_path):
    tokenizers = pytest.importorskip("tokenizers")
    path = write("model2vec", vectors, tmp_path) / "tokenizer.json"
    tokenizer = tokenizers.Tokenizer.from_file(str(path))
    assert tokenizer.encode(TEXT).ids == [vectors.id(w) for w in split(TEXT) if w in vectors]
    for i, word in enumerate(WORDS):
        assert tokenizer.encode(f" {word}\n").ids == [i]


@pytest.mark.filterwarnings("ignore")
def test_spacy(vectors, tmp_path):
    spacy = pytest.importorskip("spacy")
    nlp = spacy.load(write("spacy", vectors, tmp_path))
    for word, row in zip(WORDS, MATRIX, strict=True):
        np.testing.assert_array_equal(nlp.vocab[word].vector, row)
    text = nlp("the cat unknown")
    assert [token.has_vector for token in text] == [True, True, False]
    np.testing.assert_allclose(text[:2].vector, means(vectors, ["the cat"])[0], rtol=1e-5)
    assert nlp.vocab.strings[nlp.vocab.vectors.most_similar(MATRIX[2:3])[0][0, 0]] == "cat"
    assert spacy.load(write("spacy", vectors, tmp_path, language="en", top=3)).lang == "en"
    assert stat.S_IMODE((tmp_path / "v" / "vocab").stat().st_mode) & 0o700 == 0o700
    with pytest.raises(Any2VecError, match="`language` is 'klingon'; it must be one of spaCy's codes"):
        write("spacy", vectors, tmp_path, language="klingon")


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # gensim leaves the file open
def test_glove(tmp_path):
    models = pytest.importorskip("gensim.models")
    words = [word for word in WORDS if word != "\u00a0"]  # which gensim cuts away
    vectors = Vectors(words, MATRIX[: len(words)])
    path = write("glove", vectors, tmp_path)
    for found in (models.KeyedVectors.load_word2vec_format(path, no_header=True), load(path)):
        assert list(found.index_to_key) == words
        np.testing.assert_array_equal(found.vectors, vectors.matrix)
    vectors.to_glove(tmp_path / "v.txt.gz")
    assert gzip.decompress((tmp_path / "v.txt.gz").read_bytes()) == path.read_bytes()


def test_word2vec(vectors, tmp_path):
    for name in ("v.vec", "v.bin", "v.txt.gz"):
        vectors.to_word2vec(tmp_path / name, top=4)
        assert load(tmp_path / name).words == WORDS[:4]
    with pytest.raises(Any2VecError, match=r"give a name that ends in .bin, .txt or .vec"):
        vectors.to_word2vec(tmp_path / "folder")


def test_numpy(vectors, tmp_path):
    with np.load(write("numpy", vectors, tmp_path), allow_pickle=False) as found:
        assert found["words"].tolist() == WORDS
        np.testing.assert_array_equal(found["vectors"], MATRIX)
        assert found["counts"].tolist() == COUNTS.tolist()
    with np.load(write("numpy", Vectors([""], np.ones((1, 3))), tmp_path)) as found:
        assert found["words"].tolist() == [""]
        assert "counts" not in found
    many = [*map(str, range(99_999)), "x" * 20_000]
    vectors = Vectors(many, np.ones((len(many), 1), np.float32))
    with pytest.raises(Any2VecError, match=r"100,000 words of up to 20,000 characters are .* as an array"):
        write("numpy", vectors, tmp_path)


def test_parquet(vectors, tmp_path):
    pd = pytest.importorskip("pandas")
    frame = pd.read_parquet(write("parquet", vectors, tmp_path))
    assert frame["word"].tolist() == WORDS
    np.testing.assert_array_equal(np.stack(frame["vector"]), MATRIX)


# what all of them share


@pytest.mark.parametrize("name", TARGETS)
def test_only_the_same_is_replaced(name, vectors, tmp_path):
    path = write(name, vectors, tmp_path)
    write(name, vectors, tmp_path, top=2)  # ours
    write(name, Vectors(["one"], np.ones((1, 1), np.float32)), tmp_path)
    other = tmp_path / f"other-{path.name}"
    if path.is_dir():
        other.mkdir()
        (other / "notes").write_text("mine")
    else:
        other.write_text("mine")
    for force in (False, True) if path.is_dir() else (False,):
        with pytest.raises(Any2VecError, match=r"the folder holds other files|exists, and .* hold"):
            TARGETS[name](vectors, other, force=force)
    if path.is_dir():
        assert (other / "notes").read_text() == "mine"
        for file in path.glob("*.*"):
            file.write_text("{}")
        with pytest.raises(Any2VecError, match="exists, and does not hold"):
            TARGETS[name](vectors, path)
        TARGETS[name](vectors, path, force=True)
    else:
        assert other.read_text() == "mine"
        TARGETS[name](vectors, other, force=True)
    assert not [left for left in tmp_path.iterdir() if left.name.startswith(".")]


@pytest.mark.parametrize("name", TARGETS)
def test_mistakes_leave_nothing(name, vectors, tmp_path):
    if name in LIBRARIES:
        pytest.importorskip(LIBRARIES[name])
    broken = MATRIX.copy()
    broken[2, 1] = np.nan
    path = tmp_path / NAMES.get(name, "v")
    for bad, said in (
        (Vectors(WORDS, broken), "the vector of 'cat' holds nan, not a finite number"),
        (Vectors(["a", "\ud800"], np.eye(2, dtype=np.float32)), "cannot hold the word"),
        (Vectors([], np.ones((0, 3), np.float32)), "there are no vectors"),
    ):
        with pytest.raises(Any2VecError, match=said) as caught:
            TARGETS[name](bad, path)
        assert str(path) in str(caught.value)
    with pytest.raises(Any2VecError, match="`top` is 0; it must be a whole number from 1 up"):
        TARGETS[name](vectors, path, top=0)
    with pytest.raises(Any2VecError, match=r"the folder .*none does not exist"):
        TARGETS[name](vectors, tmp_path / "none" / path.name)
    if name in NAMES and name != "word2vec":
        with pytest.raises(Any2VecError, match=f"give a name that ends in {path.suffix}"):
            TARGETS[name](vectors, tmp_path / "v.xyz")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("name", "word"),
    [
        *(("tensorboard", word) for word in ("a\tb", "a\nb", "a\rb")),
        *((name, word) for name in ("model2vec", "glove") for word in ("a b", "", "a\vb")),
        *(("fasttext", word) for word in ("a\0", "\udcc3\udca9")),
        *(("model2vec", "\ue000a"), ("numpy", "a\0"), ("spacy", "")),
    ],
)
def test_words_that_a_format_cannot_hold(name, word, tmp_path):
    with pytest.raises(Any2VecError, match="cannot hold the word"):
        write(name, Vectors(["a", word], np.eye(2, dtype=np.float32)), tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", LIBRARIES)
def test_a_missing_library_is_named(name, vectors, tmp_path, monkeypatch):
    library = LIBRARIES[name]
    for module in {library, *(m for m in sys.modules if m.startswith(f"{library}."))}:
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(Any2VecError, match=rf"needs {library}, which is not installed: pip install '?{library}"):
        TARGETS[name](vectors, tmp_path / NAMES.get(name, "v"))


# the command


@pytest.mark.parametrize("name", FILES)
def test_the_command_writes_what_the_method_writes(name, vectors, tmp_path):
    source = tmp_path / "reviews"
    save(vectors, source)
    path = write(name, load(source), tmp_path, top=5)
    out = tmp_path / f"out {path.name}"
    said = run("export", source, "--to", name, "-o", out, "--top", 5).splitlines()
    assert said[0] == f"5 vectors of 12 dimensions are in {out}"
    assert said[1].startswith("next: ")
    assert f"'{out}'" in said[1]
    if name != "numpy":  # whose files have a time
        assert out.read_bytes() == path.read_bytes()


def test_mistakes_on_the_command_line(vectors, tmp_path):
    source = tmp_path / "reviews.vec"
    save(vectors, source)
    before = source.read_bytes()
    for arguments, said in (
        (["--to", "tensorbord", "-o", tmp_path / "x"], r"--to is 'tensorbord'; it must be one of tensorboard, embed"),
        (["--to", "glove", "-o", tmp_path / "x.txt", "--language", "en"], "--language is for --to spacy only"),
        (["--to", "glove", "-o", tmp_path / "x.txt", "--neighbours", 3], "is for --to embedding-atlas only"),
        (["--to", "word2vec", "-o", source], "is, or lies in, what is read"),
        (["--to", "word2vec", "-o", tmp_path / "." / "reviews.vec", "--force"], "is, or lies in, what is read"),
    ):
        with pytest.raises(Any2VecError, match=said):
            run("export", source, *arguments)
    assert source.read_bytes() == before
    assert os.listdir(tmp_path) == ["reviews.vec"]  # noqa: PTH208


@pytest.mark.parametrize("name", TARGETS)
def test_targets_are_alike(name):
    parameters = inspect.signature(TARGETS[name]).parameters
    assert list(parameters)[:2] == ["vectors", "path"]
    assert {"top", "force"} <= set(parameters)
    assert "{shell}" in TARGETS[name].opened_by or "{python}" in TARGETS[name].opened_by
    assert all(f"    {one} : " in TARGETS[name].__doc__ for one in set(parameters) - {"vectors"})
