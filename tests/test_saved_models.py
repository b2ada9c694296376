"""Estimators as folders: parameters, report and vectors come back; what is damaged is named."""

import copy
import json
import math
import pickle
import re

import numpy as np
import pytest

import any2vec
from any2vec import Any2VecError, DeepWalk, Node2Vec, Vectors, Word2Vec
from any2vec.errors import Any2VecWarning
from any2vec.graph import karate_club
from any2vec.operators import SkipGram
from any2vec.sync.combiners import Curvature

HOW = {"dim": 16, "window": 3, "negative": 3, "min_count": 1, "epochs": 2, "threads": 1, "cache": None, "sample": 0}
SENTENCES = [["a", "b", "c"], ["c", "b", "d"]] * 60


@pytest.fixture(scope="module")
def model():
    return Word2Vec(**HOW).fit(SENTENCES)


@pytest.fixture
def folder(model, tmp_path):
    model.save(tmp_path / "m")
    return tmp_path / "m"


def test_everything_comes_back(model, folder):
    found = Word2Vec.load(folder)
    assert found == model
    assert repr(found) == repr(model)
    assert found.loss_ == model.loss_
    assert found.report_ == model.report_
    assert list(found.wv.words) == list(model.wv.words)
    for name in ("matrix", "t", "counts"):
        assert (getattr(found.vectors_, name) == getattr(model.vectors_, name)).all()
    vectors = any2vec.load(folder)
    assert (vectors.matrix == model.vectors_.matrix).all()


def test_options_that_are_paths(tmp_path):
    (tmp_path / "words").write_text("a 5\nb 4\nc 3\n")
    paths = {"cache": tmp_path / "c", "vocabulary": tmp_path / "words", "checkpoint": tmp_path / "k"}
    model = Word2Vec(**HOW | paths, checkpoint_every=1).fit(SENTENCES)
    assert model.report_.kept
    model.save(tmp_path / "m")
    assert Word2Vec.load(tmp_path / "m").report_.options == model.report_.options
    again = HOW | paths | {"resume": tmp_path / "k", "vocabulary": str(tmp_path / "words")}
    assert (Word2Vec(**again).fit(SENTENCES).vectors_.matrix == model.vectors_.matrix).all()


def test_a_loaded_model_goes_on(model, folder):
    same, loaded = Word2Vec(**HOW).fit(SENTENCES), Word2Vec.load(folder)
    more = [["a", "e", "b"]] * 50
    one, two = (fitted.fit(more, warm_start=True).vectors_ for fitted in (same, loaded))
    assert (one.matrix == two.matrix).all()


@pytest.mark.parametrize("make", [DeepWalk, Node2Vec])
def test_models_of_graphs(make, tmp_path):
    model = make(dim=16, window=3, negative=3, walks=2, length=10, epochs=1, hosts=2, combine=Curvature(kappa=0.2)).fit(
        karate_club().edges
    )
    model.save(tmp_path / "g")
    found = make.load(str(tmp_path / "g"))
    assert found == model
    assert found.report_.rounds == model.report_.rounds or any(map(math.isnan, model.report_.rounds.orthogonality))
    other = Node2Vec if make is DeepWalk else DeepWalk
    with pytest.raises(Any2VecError, match=f"holds a {make.__name__}, not a {other.__name__}; load it with its class"):
        other.load(tmp_path / "g")


def test_losses_that_are_no_numbers(model, tmp_path):
    model = Word2Vec(**HOW).fit(SENTENCES)
    model.report_.loss = [math.nan, 1.0]
    model.save(tmp_path / "m")
    first, second = Word2Vec.load(tmp_path / "m").loss_
    assert math.isnan(first)
    assert second == 1.0


def test_a_model_that_has_read_can_be_copied():
    model = Word2Vec(**HOW)
    model.read(SENTENCES)
    assert pickle.loads(pickle.dumps(model)) == copy.deepcopy(model) == model


def test_objects_are_left_out(model, tmp_path):
    class Own(SkipGram):
        """Skip-gram itself."""

    trained = Word2Vec(**HOW, pretrained=model.vectors_, frozen=["a"], operator=Own).fit(SENTENCES)
    trained.save(tmp_path / "m")
    with pytest.warns(Any2VecWarning, match="does not hold `operator`, `pretrained`, which JSON cannot"):
        found = Word2Vec.load(tmp_path / "m")
    assert found.frozen == ["a"]
    assert found.pretrained is found.operator is None


def test_what_is_replaced(model, folder, tmp_path):
    model.save(folder)
    any2vec.save(model.vectors_, folder)
    with pytest.raises(Any2VecError, match=r"holds vectors, but no model: model\.json is missing"):
        Word2Vec.load(folder)
    model.save(folder)
    assert Word2Vec.load(folder) == model
    (tmp_path / "others").mkdir()
    (tmp_path / "others" / "mine").touch()
    with pytest.raises(Any2VecError, match="holds other files"):
        model.save(tmp_path / "others", force=True)
    with pytest.raises(Any2VecError, match="a model is saved as a folder"):
        model.save(tmp_path / "m.bin")
    with pytest.raises(Any2VecError, match="is not trained yet: call fit first"):
        Word2Vec().save(tmp_path / "new")
    with pytest.raises(Any2VecError, match="does not exist"):
        Word2Vec.load(tmp_path / "none")
    assert {path.name for path in tmp_path.iterdir()} == {"m", "others"}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda c: "{", "damaged, not JSON"),
        (lambda c: "[]", "a JSON object is expected"),
        (lambda c: c | {"id": "other"}, "its files are not of one save"),
        (lambda c: c | {"format": 2}, "has format 2; this any2vec reads format 1"),
        (lambda c: c | {"parameters": 3}, r"damaged: a part is 3; it must be of type dict"),
        (lambda c: c | {"parameters": {"dim": "many"}}, "`dim` is 'many'; it must be a whole number"),
        (lambda c: c | {"parameters": {"size": 3}}, r"has no parameter `size` \(give `dim`\)"),
        (lambda c: c | {"left_out": [1]}, "damaged: a part is 1; it must be of type str"),
        (lambda c: c | {"report": c["report"] | {"words": "x"}}, "damaged: words is 'x'; it must be of type int"),
        (lambda c: c | {"report": c["report"] | {"loss": {}}}, "damaged: loss is {}; it must be of type list"),
        (lambda c: c | {"report": c["report"] | {"rounds": {"each": 1.5}}}, "damaged: rounds each is 1.5"),
    ],
)
def test_damaged_files(folder, change, message):
    file = folder / "model.json"
    changed = change(json.loads(file.read_text()))
    file.write_text(changed if isinstance(changed, str) else json.dumps(changed))
    with pytest.raises(Any2VecError, match=message) as raised:
        Word2Vec.load(folder)
    assert str(folder) in str(raised.value)


def test_a_report_of_a_later_version(folder):
    file = folder / "model.json"
    content = json.loads(file.read_text())
    content["report"]["beauty"] = 1
    file.write_text(json.dumps(content))
    assert Word2Vec.load(folder).report_.words > 0


def test_repr_shows_what_was_changed():
    assert repr(Word2Vec()) == "Word2Vec()"
    assert repr(Word2Vec(dim=200, epochs=5, sample=0)) == "Word2Vec(dim=200, sample=0)"
    assert repr(Node2Vec(p=0.5, dim=100)) == "Node2Vec(dim=100, p=0.5)"
    assert repr(any2vec.Phrases(threshold=[200, 100])) == "Phrases(threshold=[200, 100])"
    assert repr(Word2Vec(frozen=np.array(["a"]))).startswith("Word2Vec(frozen=array(")
    given = Vectors(["a"], np.ones((1, 2), np.float32))
    assert repr(Word2Vec(start=given)) == "Word2Vec(start=<Vectors: 1 words of 2 dimensions>)"


@pytest.mark.parametrize(
    ("make", "how", "meant"),
    [
        (Word2Vec, {"vector_size": 100, "workers": 4}, "`vector_size` (give `dim`), nor `workers` (give `threads`)"),
        (Word2Vec, {"size": 100}, "`size` (give `dim`)"),
        (Word2Vec, {"iter": 5}, "`iter` (give `epochs`)"),
        (Word2Vec, {"sg": 1}, "`sg` (give `model='skipgram'` for sg=1, `model='cbow'` for sg=0)"),
        (Word2Vec, {"hs": 0}, "`hs` (give `loss='hierarchical'` for hs=1, and nothing for hs=0)"),
        (Word2Vec, {"end_alpha": 1e-4}, "`end_alpha` (give `min_alpha`)"),
        (Word2Vec, {"sentences": []}, "`sentences` (give it to `fit`)"),
        (Word2Vec, {"epoch": 3, "nonsense": 1}, "`epoch` (give `epochs`), nor `nonsense`"),
        (DeepWalk, {"walk_length": 3}, "`walk_length` (give `length`)"),
        (any2vec.Phrases, {"delimiter": "_"}, "`delimiter` (give `joiner`)"),
        (
            DeepWalk,
            {"walks_per_node": 3, "random_state": 1},
            "`walks_per_node` (give `walks`), nor `random_state` (give `seed`)",
        ),
    ],
)
def test_names_of_other_programs(make, how, meant):
    with pytest.raises(TypeError) as raised:
        make(**how)
    assert isinstance(raised.value, Any2VecError)
    assert str(raised.value) == f"{make.__name__} has no parameter {meant}"


@pytest.mark.parametrize(
    ("having", "name", "meant"),
    [
        (Word2Vec(), "train", "`fit(..., warm_start=True)`"),
        (Word2Vec(), "build_vocab", "`fit` reads and trains"),
        (Word2Vec(), "get_latest_training_loss", "`loss_`"),
        (Word2Vec(), "most_similar", "`wv`"),
        (any2vec.Phrases(), "export_phrases", "`phrases_`"),
        (Vectors(["a"], np.ones((1, 2), np.float32)), "save_word2vec_format", "`any2vec.save(vectors, path)`"),
        (Vectors(["a"], np.ones((1, 2), np.float32)), "wmdistance", "`to_gensim()`"),
        (Vectors(["a"], np.ones((1, 2), np.float32)), "index2word", "`index_to_key`"),
    ],
)
def test_methods_of_gensim(having, name, meant):
    """The error names what is here, and nothing is named that is not."""
    with pytest.raises(AttributeError, match=f"no attribute '{name}' (.*{re.escape(meant)}.*)"):
        getattr(having, name)
    assert not hasattr(having, f"{name}_")


def test_classes_of_a_users_own():
    class Mine(Word2Vec):
        def __init__(self, vector_size, **more):
            super().__init__(dim=vector_size, **more)

    assert Mine(5, epochs=2).dim == 5
    assert Mine(vector_size=6).dim == 6
