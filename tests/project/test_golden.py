"""Files that this version and earlier ones wrote (golden/make.py): each is read, and holds what it held then."""

import json
import shutil
import sys
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest
from simulated import Said

from any2vec import Phrases, load, save
from any2vec.cli.evaluate import _FIGURES as EVALUATION
from any2vec.cli.plan import _FIGURES as PLAN
from any2vec.corpus.parts import Subwords
from any2vec.corpus.phrases.phrased_text import PHRASES
from any2vec.corpus.vocabulary import VOCABULARY, load_vocabulary
from any2vec.errors import Any2VecWarning
from any2vec.evaluate.linksplit import check_split_folder
from any2vec.graph import read_graph
from any2vec.io.outputs import check_writable
from any2vec.io.safetensors_file import map_tensors
from any2vec.report import REPORT
from any2vec.report.log import check_log, read_report
from any2vec.vectors.export import TARGETS
from any2vec.vectors.files import FORMATS, NAMED

GOLDEN = Path(__file__).parents[1] / "golden"
sys.path.insert(0, str(GOLDEN))
import make  # noqa: E402

VERSIONS = sorted(path.parent for path in GOLDEN.glob("*/holds.json"))
HOLDS = {version: json.loads((version / "holds.json").read_text("utf-8")) for version in VERSIONS}
FILES = [pytest.param(version, name, id=f"{version.name}/{name}") for version in VERSIONS for name in HOLDS[version]]


def of(folder):
    return [one for one in FILES if one.values[1].startswith(folder)]


def each(folder):
    """Every file or folder there, whether or not something is known of what it holds."""
    found = [(version, path.name) for version in VERSIONS for path in sorted((version / folder).iterdir())]
    return [pytest.param(version / folder / name, id=f"{version.name}/{name}") for version, name in found]


@pytest.fixture
def copy(tmp_path):
    """Copy a golden file: readers may touch what they read, and models go on."""

    def copied(path):
        (shutil.copytree if path.is_dir() else shutil.copy)(path, tmp_path / path.name)
        return tmp_path / path.name

    return copied


def check(vectors, held, all_of_it=True):
    """Compare vectors with what they were when they were saved, to the bit."""
    assert list(vectors.words) == held["words"]
    assert (vectors.e == make.numbers(held["matrix"], vectors.e)).all()
    if not vectors.untrained:
        nearest = vectors.most_similar(held["words"][0], topn=3)
        assert [word for word, _ in nearest] == [word for word, _ in held["nearest"]]
        np.testing.assert_allclose([cosine for _, cosine in nearest], [one for _, one in held["nearest"]], atol=1e-6)
    if not all_of_it:
        return
    assert vectors.counts.tolist() == held["counts"]
    assert (vectors.t is None) == ("t" not in held)
    if vectors.t is not None:
        assert (vectors.t == make.numbers(held["t"], vectors.t)).all()
        assert vectors.loss == held["loss"]
    assert (vectors.parts is None) == ("own" not in held)
    if (parts := vectors.parts) is not None:
        settings = asdict(parts.settings) if isinstance(parts.settings, Subwords) else parts.settings.as_json()
        assert settings == held["settings"]
        assert set(parts.ids.tolist()) >= set(held["ids"])  # fastText's files have all buckets
        for name, rows in (("own", parts.own), ("rows", parts.rows[np.searchsorted(parts.ids, held["ids"])])):
            assert (rows == make.numbers(held[name], rows)).all()


@pytest.mark.parametrize(("version", "name"), of("vectors/"))
def test_vectors(version, name, copy, tmp_path):
    path, held = copy(version / name), HOLDS[version][name]
    vectors = load(path)
    whole = path.is_dir() or name.endswith("fasttext.bin")
    check(vectors, held, whole)
    if path.is_dir() or not whole:  # and what this version writes of them holds the same
        save(vectors, tmp_path / f"again{path.name}", training=vectors.t is not None)
        check(load(tmp_path / f"again{path.name}"), held, path.is_dir())
    lost = vectors.parts is not None and path.is_file()
    with pytest.warns(Any2VecWarning, match="will hold no n-grams") if lost else nullcontext():
        save(vectors, path)  # no other name, no force: it is known for what it is


@pytest.mark.parametrize("version", VERSIONS, ids=lambda path: path.name)
def test_an_index(version):
    pytest.importorskip("faiss")
    vectors = load(version / "models/word2vec")
    index = vectors.load_index(version / "vectors/word2vec.index")
    assert index.recall == 1.0
    held = HOLDS[version]["models/word2vec"]
    found = index.most_similar(vectors[held["words"][0]], topn=4)
    assert [word for word, _ in found[1:]] == [word for word, _ in held["nearest"]]


def words_and_rows(path, target):
    """Read an export as the program does for which it is."""
    if target == "numpy":
        with np.load(path, allow_pickle=False) as file:
            assert file["counts"][0] > file["counts"][-1]
            return file["words"].tolist(), file["vectors"]
    if target in ("parquet", "embedding-atlas"):
        table = pytest.importorskip("pyarrow.parquet").read_table(path)
        return table["word"].to_pylist(), np.array(table["vector"].to_pylist(), np.float32)
    if target == "tensorboard":
        rows = (path / "metadata.tsv").read_text("utf-8").splitlines()[1:]
        return [row.split("\t")[0] for row in rows], np.loadtxt(path / "tensors.tsv", np.float32)
    if target in ("sentence-transformers", "model2vec"):
        names = json.loads((path / "tokenizer.json").read_text("utf-8"))["model"]["vocab"]
        return [name[1:] for name in names], map_tensors(path / "model.safetensors")["embeddings"]
    found = load(path)
    return list(found.words), found.matrix


@pytest.mark.parametrize("path", each("exports"))
def test_exports(path, copy):
    target, held = path.name.partition(".")[0], HOLDS[path.parent.parent]
    name = "vectors/subwords" if target == "fasttext" else "vectors/plain"
    held = held[name]
    words, rows = words_and_rows(path, target)
    assert words == held["words"]
    assert (rows == make.numbers(held["matrix"], rows)).all()
    if target != "glove":  # which only a mark beside it says, as a table of any numbers could be one
        TARGETS[target](load(path.parent.parent / name), copy(path))


@pytest.mark.parametrize(("version", "name"), of("models/"))
def test_models(version, name, copy):
    """Parameters, vectors and report come back."""
    path, held = copy(version / name), HOLDS[version][name]
    make_model, _ = make.MODELS[path.name]
    model = type(make_model()).load(path)
    check(model.vectors_, held)
    assert model.loss_ == model.report_.loss == held["report"]
    expected = make_model().get_params() | {"features": None}
    if expected["epochs"] is None:  # the default was 5; of documents, 10
        expected["epochs"] = 10 if "documents" in held else 5
    assert model.get_params() | {"features": None} == expected
    if "documents" in held:
        check(model.documents_, held["documents"])


@pytest.mark.slow
@pytest.mark.parametrize(("version", "name"), of("models/"))
def test_models_go_on(version, name, copy):
    """The model goes on with more, and infers."""
    path, held = copy(version / name), HOLDS[version][name]
    make_model, source = make.MODELS[path.name]
    model = type(make_model()).load(path)
    if "documents" in held:
        assert np.isfinite(model.transform(source[:2])).all()
        return
    model.fit(source, warm_start=True)
    for start in (path, model.vectors_):
        found = make_model(start=start).fit(source).vectors_
        assert set(found.words) == set(held["words"])
        assert np.isfinite(found.matrix).all()
    model.save(path)


@pytest.mark.slow
@pytest.mark.parametrize("folder", each("checkpoints"))
def test_checkpoints(folder, copy):
    """A run that was stopped goes on, here to nearly the same: another processor may have begun it."""
    model, more = make.CHECKPOINTS[folder.name]
    make_model, source = make.MODELS[model]
    said, kept = Said(), copy(folder)
    begun = json.loads(max(kept.glob("*.json")).read_text())["options"]  # with the defaults of that version
    how = more | {"rounds": 2, "epochs": begun["epochs"], "alpha": begun["alpha"]}
    found = make_model(**how, checkpoint=kept, resume=kept, verbose=said).fit(source)
    assert any("going on from" in line for line in said.lines), said.lines
    assert not any("older" in line for line in said.lines)
    whole = make_model(**how).fit(source)
    assert list(found.vectors_.words) == list(whole.vectors_.words)
    several = more.get("hosts", 1) > 1  # they send int8: what lies between two of its steps may be rounded either way
    step = np.abs(whole.vectors_.matrix).max() / 127 if several else 1e-5
    np.testing.assert_allclose(found.vectors_.matrix, whole.vectors_.matrix, atol=step)
    assert len(found.loss_) == len(whole.loss_)


@pytest.mark.parametrize(("version", "name"), of("runs/"))
def test_logs_and_reports(version, name):
    held, report = HOLDS[version][name], read_report(version / name)
    assert (report.loss, report.words) == (held["loss"], held["words"])
    assert (report.rounds.count, report.rounds.loss) == (held["rounds"], held["losses"])
    whole = HOLDS[version]["runs/run.jsonl"]["losses"]
    assert read_report(version / "runs/cut.jsonl").rounds.loss == whole[:2]


@pytest.mark.parametrize("version", VERSIONS, ids=lambda path: path.name)
def test_texts(version):
    assert Phrases.load(version / "texts/phrases.txt").phrases_ == HOLDS[version]["texts/phrases.txt"]
    held = HOLDS[version]["models/word2vec"]
    for ending in ("txt", "txt.gz"):
        found = load_vocabulary(version / f"texts/vocabulary.{ending}")
        assert (list(found.words), found.counts.tolist()) == (held["words"], held["counts"])
    graph = read_graph(version / "texts/split/train.edges")
    assert len(graph) == 34
    walks = (version / "texts/walks.txt").read_text().splitlines()
    assert {name for walk in walks for name in walk.split()} == set(make.KINDS)


@pytest.mark.parametrize("version", VERSIONS, ids=lambda path: path.name)
def test_what_an_output_may_replace(version):
    """What an earlier version wrote is known for what it is, so that the same command writes over it."""
    check_log(version / "runs/run.jsonl")
    check_split_folder(version / "texts/split")
    kinds = {"runs/report.json": REPORT, "runs/similarity.json": EVALUATION, "runs/links.json": EVALUATION}
    kinds |= {"runs/plan.json": PLAN, "texts/phrases.txt": PHRASES, "texts/vocabulary.txt": VOCABULARY}
    for name, kind in (kinds | {"texts/vocabulary.txt.gz": VOCABULARY}).items():
        check_writable(version / name, kind)


def test_no_format_is_forgotten():
    """A new ending, format or target has a file of its own in the newest folder: run golden/make.py."""
    vectors = [path.name for path in (VERSIONS[-1] / "vectors").iterdir()]
    for kind in FORMATS:
        assert all(f"plain{ending}" in vectors for ending in kind.endings)
    assert {f"{name}.bin" for name in NAMED} < set(vectors)
    exports = {path.name.partition(".")[0] for path in (VERSIONS[-1] / "exports").iterdir()}
    assert exports == set(TARGETS) - make.NOT_MADE
