"""Classifiers as folders: kept, mapped, and refused where damaged or hostile."""

import json
from dataclasses import replace

import numpy as np
import pytest
from test_predict import LINES, model_of

from any2vec.classify.model import LOSSES, LabelModel
from any2vec.errors import Any2VecError
from any2vec.vectors import load


@pytest.fixture
def folder(tmp_path):
    model_of(word_ngrams=2, buckets=30).save(tmp_path / "m")
    return tmp_path / "m"


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("how", [{}, {"word_ngrams": 2, "buckets": 3}, {"word_ngrams": 2, "buckets": 9, "share": 2}])
def test_a_model_is_kept(loss, how, tmp_path):
    model = model_of(loss, **how)
    model.save(tmp_path / "m", about={"class": "Classifier"})
    found, about = LabelModel.load_about(tmp_path / "m")
    assert about["class"] == "Classifier"
    assert (found.words, found.labels, found.settings) == (model.words, model.labels, model.settings)
    for name in ("counts", "label_counts", "ids", "e", "t"):
        assert (getattr(found, name) == getattr(model, name)).all()
    assert (found.scores(LINES) == model.scores(LINES)).all()
    assert not found.e.flags.owndata
    assert not found.e.flags.writeable
    model.save(tmp_path / "m")  # replaces it
    assert LabelModel.load_about(tmp_path / "m")[1] is None


def test_other_folders_stay(folder, tmp_path):
    (tmp_path / "other").mkdir()
    (tmp_path / "other/file").write_text("mine")
    with pytest.raises(Any2VecError, match="holds other files"):
        model_of().save(tmp_path / "other", force=True)
    with pytest.raises(Any2VecError, match=r"it is a classifier"):
        load(folder)
    with pytest.raises(Any2VecError, match="does not exist"):
        LabelModel.load(tmp_path / "nothing")


def changed(folder, **parts):
    path = folder / "classifier.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | parts))


SETTINGS = {"word_ngrams": 2, "buckets": 30, "least": 0, "most": 0, "loss": "softmax"}


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"format": 2}, "format 2"),
        ({"settings": None}, "settings is None"),
        ({"settings": SETTINGS | {"loss": "hinge"}}, "the loss is 'hinge'"),
        ({"settings": SETTINGS | {"word_ngrams": 0}}, "n-grams have 0 words"),
        ({"settings": SETTINGS | {"word_ngrams": 10**9}}, "n-grams have 1000000000 words"),
        ({"settings": SETTINGS | {"least": 3, "most": 2}}, "3 to 2 characters"),
        ({"settings": SETTINGS | {"most": 2}}, "0 to 2 characters"),
        ({"settings": SETTINGS | {"buckets": 0}}, "there are 0 buckets"),
        ({"settings": SETTINGS | {"buckets": 2}}, "not below 2"),
        ({"settings": SETTINGS | {"buckets": 1 << 31}}, "2147483648 buckets"),
        ({"settings": SETTINGS | {"buckets": "many"}}, "settings buckets is 'many'"),
        ({"labels": ["a"] * 5}, "5 labels, of which 1 differ"),
        ({"labels": []}, "0 labels"),
        ({"labels": [1, 2, 3, 4, 5]}, "labels is 1"),
        ({"label_counts": [1, 2, 3, 4, 5]}, "falling"),
        ({"label_counts": [1 << 70, 4, 3, 2, 1]}, "no counts"),
        ({"words": 4}, "do not fit"),
        ({"words": -1}, "do not fit"),
        ({"rows": {}}, "not of one save"),
        ({"id": "0"}, "not of one save"),
        ({"labels": ["a", "b"], "label_counts": [2, 1]}, "t has shape"),
    ],
)
def test_damaged_descriptions(folder, parts, message):
    changed(folder, **parts)
    with pytest.raises(Any2VecError, match=message):
        LabelModel.load(folder)


@pytest.mark.parametrize("name", ["classifier.json", "vocabulary.json", "vectors.safetensors"])
def test_missing_cut_and_mixed_files(folder, name, tmp_path):
    path, whole = folder / name, (folder / name).read_bytes()
    for size in (0, 1, len(whole) // 2, len(whole) - 2):
        path.write_bytes(whole[:size])
        with pytest.raises(Any2VecError):
            LabelModel.load(folder)
    path.unlink()
    with pytest.raises(Any2VecError, match=f"{name} is missing"):
        LabelModel.load(folder)
    other = model_of(word_ngrams=2, buckets=30)
    replace(other, e=other.e + 1, labels=["v", "w", "x", "y", "z"], counts=other.counts + 1).save(tmp_path / "n")
    path.write_bytes((tmp_path / "n" / name).read_bytes())
    with pytest.raises(Any2VecError, match="not of one save"):
        LabelModel.load(folder)


def test_numbers_that_are_none_are_refused(tmp_path):
    model = model_of()
    model.t[1, 2] = np.nan
    model.save(tmp_path / "m")
    with pytest.raises(Any2VecError, match="tensor 't': the vector of 'l1' holds nan"):
        LabelModel.load(tmp_path / "m")
