"""Vectors and models on the Hugging Face Hub, of which a stand-in runs on this machine: no test needs a network."""

import json
import os
import pickle
import subprocess
import sys
from dataclasses import fields

import numpy as np
import pytest
import yaml
from standin_hub import TOKEN, standin

from any2vec import DeepWalk, Vectors, Word2Vec, save
from any2vec.errors import Any2VecError
from any2vec.graph import karate_club
from any2vec.models.words import Doc2Vec
from any2vec.vectors.files import hub as hub_of_vectors

constants = pytest.importorskip("huggingface_hub.constants")
pytestmark = pytest.mark.filterwarnings("ignore")  # of the library and what it connects with
REPO = "me/reviews"


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    texts = [["good", "film", "bad", "play"] * 4] * 40
    how = {"dim": 16, "window": 3, "negative": 3, "min_count": 1, "sample": 0, "epochs": 2, "threads": 1}
    log = tmp_path_factory.mktemp("log") / "run.jsonl"
    return Word2Vec(**how, cache=None, log=log, callbacks=[lambda epoch, _: {"analogies": epoch / 4}]).fit(texts)


@pytest.fixture
def hub(monkeypatch, tmp_path):
    """Start a stand-in, as `HF_ENDPOINT` would name it if it were set before the library is imported."""
    with standin() as server:
        pattern = constants.HUGGINGFACE_CO_URL_TEMPLATE.replace(constants.ENDPOINT, server.endpoint)
        monkeypatch.setattr(constants, "ENDPOINT", server.endpoint)
        monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", pattern)
        monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
        monkeypatch.setattr("huggingface_hub.utils._headers.get_token", lambda: None, raising=False)
        yield server


def card_of(server, repo=REPO):
    """Return the metadata and the text of a card."""
    _, head, text = server.repositories[repo]["README.md"].decode().split("---\n", 2)
    return yaml.safe_load(head), text


@pytest.fixture
def vectors():
    return Vectors(
        ["good", "a|b", "new york"], np.arange(6, dtype=np.float32).reshape(3, 2), counts=np.array([3, 2, 1])
    )


def test_vectors_there_and_back(hub, vectors, tmp_path):
    address = vectors.push_to_hub(REPO, token=TOKEN, private=True, license="cc-by-4.0", language="en")
    assert address == f"{hub.endpoint}/{REPO}/commit/{hub.commit(REPO)}"
    assert hub.private[REPO] is True
    files = {"any2vec.json", "vocabulary.json", "vectors.safetensors", "README.md", ".gitattributes"}
    assert set(hub.repositories[REPO]) == files
    found = Vectors.from_pretrained(REPO)
    assert type(found) is Vectors
    assert found.words == vectors.words
    np.testing.assert_array_equal(found.matrix, vectors.matrix)
    assert found.counts.tolist() == [3, 2, 1]
    assert not any(call[1].endswith("README.md") for call in hub.calls if call[0] == "GET")
    head, text = card_of(hub)
    tags = ["any2vec", "embeddings", "word2vec"]
    assert head == {"library_name": "any2vec", "tags": tags, "license": "cc-by-4.0", "language": "en"}
    assert "Vectors of 3 words, of 2 dimensions, in the format of any2vec." in text
    assert 'vectors = Vectors.from_pretrained("me/reviews")' in text
    assert "a\\|b" in text
    assert "## Training" not in text
    sha = hub.commit(REPO)
    Vectors(["other"], np.ones((1, 2))).push_to_hub(REPO, token=TOKEN)
    assert Vectors.from_pretrained(REPO, cache_dir=tmp_path / "other").words == ["other"]
    assert Vectors.from_pretrained(REPO, revision=sha).words == vectors.words
    with pytest.raises(Any2VecError, match=f"{REPO}: the Hugging Face Hub: .*404"):
        Vectors.from_pretrained(REPO, revision="none")


def test_a_model_there_and_back(hub, model, tmp_path):
    secret = tmp_path / "secret"
    told = Word2Vec(**{**model.get_params(), "checkpoint": secret, "resume": str(secret), "cache": str(secret)})
    vars(told).update({name: getattr(model, name) for name in ("vectors_", "loss_", "report_")})
    told.report_.options["checkpoint"] = str(secret)
    told.push_to_hub(REPO, token=TOKEN)
    assert not [name for name, data in hub.repositories[REPO].items() if b"secret" in data]
    assert told.checkpoint == secret
    found = Word2Vec.from_pretrained(REPO)
    assert (found.dim, found.epochs, found.checkpoint, found.cache) == (16, 2, None, "auto")
    assert found.loss_ == model.loss_
    np.testing.assert_array_equal(found.vectors_.matrix, model.vectors_.matrix)
    assert Vectors.from_pretrained(REPO).words == model.vectors_.words
    head, text = card_of(hub)
    assert head["library_name"] == "any2vec"
    assert 'model = Word2Vec.from_pretrained("me/reviews")' in text
    assert f"| 2 | {model.loss_[1]:.4g} | 0.5 |" in text
    for line in (
        "| epoch | loss | analogies |",
        "| `dim` | 16 |",
        "| `model` | skipgram |",
        "| words of the corpus | 640 |",
    ):
        assert line in text
    assert "checkpoint" not in text
    model.vectors_.push_to_hub(REPO, token=TOKEN)  # without a model: that of before goes
    assert "model.json" not in hub.repositories[REPO]
    with pytest.raises(Any2VecError, match=f"^{REPO}: holds vectors, but no model: any2vec.Vectors.from_pre"):
        Word2Vec.from_pretrained(REPO, cache_dir=tmp_path / "new")


def test_a_model_over_one_of_another_kind(hub, model, tmp_path):
    texts = [[["good", "film"] * 4, ["bad", "play"] * 4][i % 2] for i in range(20)]
    Doc2Vec(dim=16, window=3, negative=3, min_count=1, epochs=1, threads=1, cache=None).fit(texts).push_to_hub(
        REPO, token=TOKEN
    )
    hub.repositories[REPO]["notes.md"] = b"of the user"
    assert "documents/any2vec.json" in hub.repositories[REPO]
    model.push_to_hub(REPO, token=TOKEN)
    left = {".gitattributes", "README.md", "any2vec.json", "model.json", "notes.md"}
    assert hub.repositories[REPO].keys() == left | {"vectors.safetensors", "vocabulary.json"}
    assert Word2Vec.from_pretrained(REPO, cache_dir=tmp_path / "new").vectors_.words == model.vectors_.words


def test_the_report_of_a_file(hub, model, vectors, tmp_path):
    model.report_.write(tmp_path / "run.json")
    for report in (tmp_path / "run.json", str(model.log), model.report_, model.report_.as_dict()):
        vectors.push_to_hub(REPO, token=TOKEN, report=report)
        assert f"| 1 | {model.loss_[0]:.4g} | 0.25 |" in card_of(hub)[1]
    (tmp_path / "other.json").write_text("{}")
    (tmp_path / "other.txt").write_text("words")
    for wrong, said in (
        (5, "`report` is 5: it has other names; it must be an estimator's `report_`"),
        ({}, "`report` is {}: it has other names; it must be"),
        (json.loads((tmp_path / "run.json").read_text()) | {"loss": 3}, "loss is 3; it must be of type list; it must"),
        (tmp_path / "other.json", "other.json: holds no report of a run"),
        (tmp_path / "other.txt", "other.txt: holds no report of a run"),
        (tmp_path / "none.json", "none.json: cannot be read: No such file"),
    ):
        with pytest.raises(Any2VecError, match=said):
            vectors.push_to_hub("me/other", token=TOKEN, report=wrong)
    assert "me/other" not in hub.repositories


def test_the_card_of_vertices(hub, vectors):
    model = DeepWalk(dim=16, window=3, negative=3, epochs=1, walks=1, length=5, threads=1)
    model.fit(karate_club().edges).push_to_hub(REPO, token=TOKEN)
    head, text = card_of(hub)
    assert head["tags"] == ["any2vec", "embeddings", "graph-ml"]
    assert "Vectors of 34 vertices, of 16 dimensions" in text
    assert "| vertices of the walks | 170 |" in text
    assert "words" not in text
    vectors.push_to_hub(REPO, token=TOKEN, report=model.report_)
    assert "The first vertices are good" in card_of(hub)[1]


def test_refusals(hub, vectors, monkeypatch):
    said = f"^{REPO}: the Hugging Face Hub: [^\n]*"
    with pytest.raises(Any2VecError, match=f"{said}401"):
        vectors.push_to_hub(REPO, token="hf_wrong")
    with pytest.raises(Any2VecError, match=f"{said}404"):
        Vectors.from_pretrained(REPO, token=False)
    for wrong in ("reviews", "a/b/c", "", None, 5):
        for call in (vectors.push_to_hub, Vectors.from_pretrained, Word2Vec.from_pretrained):
            with pytest.raises(
                Any2VecError, match=r"`repo` is .*; it must be a name on the Hugging Face Hub, such as 'name/reviews'"
            ):
                call(wrong)
    with pytest.raises(Any2VecError, match=r"^me/--x: the Hugging Face Hub: "):
        vectors.push_to_hub("me/--x", token=TOKEN)
    with pytest.raises(Any2VecError, match=f"^{REPO}: not uploaded: the vector of 'a' holds nan"):
        Vectors(["a"], np.full((1, 2), np.nan)).push_to_hub(REPO, token=TOKEN)
    with pytest.raises(Any2VecError, match="is not trained yet: call fit first"):
        Word2Vec().push_to_hub(REPO, token=TOKEN)
    assert not hub.repositories
    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")
    for call in (lambda: vectors.push_to_hub(REPO, token=TOKEN), lambda: Vectors.from_pretrained(REPO)):
        with pytest.raises(Any2VecError, match=f"{said}refused"):
            call()


def test_what_others_upload_is_never_unpickled(hub, vectors, tmp_path):
    vectors.push_to_hub(REPO, token=TOKEN)
    files = hub.repositories[REPO]
    evil = pickle.dumps(Evil(str(tmp_path / "ran")))
    hub.repositories["me/pickles"] = {"model.pkl": evil, "pytorch_model.bin": evil}
    with pytest.raises(Any2VecError, match=r"me/pickles: holds no vectors of any2vec: any2vec.json is missing"):
        Vectors.from_pretrained("me/pickles")
    for name in ("any2vec.json", "vocabulary.json", "vectors.safetensors"):
        hub.repositories["me/evil"] = {**files, name: evil, "model.pkl": evil}
        with pytest.raises(Any2VecError):
            Vectors.from_pretrained("me/evil")
    assert not (tmp_path / "ran").exists()
    assert not [call for call in hub.calls if call[1].endswith(("model.pkl", "pytorch_model.bin"))]


class Evil:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (self.path, "w")


def test_an_endpoint_of_the_environment(vectors, tmp_path):
    """In a process of its own, as users have it: `HF_ENDPOINT`, `HF_TOKEN`, and the cache of the library."""
    save(vectors, tmp_path / "reviews")
    code = (
        "from any2vec import Vectors, load\n"
        f"print(load('reviews').push_to_hub('{REPO}'))\n"
        f"print(Vectors.from_pretrained('{REPO}').most_similar('good'))\n"
    )
    with standin() as server:
        home = os.environ | {"HF_ENDPOINT": server.endpoint, "HF_HOME": str(tmp_path / "home"), "HF_TOKEN": TOKEN}
        done = subprocess.run(
            [sys.executable, "-c", code], check=False, env=home, cwd=tmp_path, capture_output=True, text=True
        )
        address = f"{server.endpoint}/{REPO}/commit/{server.commit(REPO)}"
    assert done.stdout.splitlines() == [address, str(vectors.most_similar("good"))], done.stderr


def test_a_missing_library_is_named(vectors, monkeypatch):
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    for call in (vectors.push_to_hub, Vectors.from_pretrained):
        with pytest.raises(
            Any2VecError, match=r"needs huggingface_hub, which is not installed: pip install '?huggingface"
        ):
            call(REPO)


def test_all_options_that_name_files_are_known():
    named = {declared.name for declared in fields(Word2Vec) if "Path" in str(declared.type)}
    assert named <= hub_of_vectors._FILES
    assert len(named) > 4


def test_the_card_of_words_that_are_not_utf_8():
    words = ["a\udcff", "\x1b[31m", "b"]
    text = hub_of_vectors.model_card(Vectors(words, np.eye(3, dtype=np.float32)), REPO, None, "Vectors", {})
    assert r"The first words are a\udcff, \x1b[31m, b." in text
    assert text.encode()
