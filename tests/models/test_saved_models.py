"""Estimators as folders: parameters, report and vectors come back; what is damaged is named."""

import copy
import json
import math
import os
import pickle
import re
from dataclasses import fields

import numpy as np
import pytest

import any2vec
from any2vec import Any2VecError, DeepWalk, Node2Vec, Vectors, Word2Vec, errors, models
from any2vec.errors import Any2VecWarning
from any2vec.graph import karate_club, read_graph
from any2vec.operators import SkipGram
from any2vec.sync.combiners import Curvature
from any2vec.walks.metapaths import check_metapaths

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
    with pytest.warns(Any2VecWarning, match="names files, .*`checkpoint`, .*`vocabulary`, `cache`"):
        assert Word2Vec.load(tmp_path / "m").report_.options == model.report_.options
    again = HOW | paths | {"resume": tmp_path / "k", "vocabulary": str(tmp_path / "words")}
    assert (Word2Vec(**again).fit(SENTENCES).vectors_.matrix == model.vectors_.matrix).all()


def test_a_file_of_gensim_is_no_model(tmp_path):
    (tmp_path / "g.model").write_bytes(pickle.dumps({"a": 1}))
    with pytest.raises(Any2VecError, match=r"g\.model: this is a pickle of Python, .* any2vec\.Vectors\.from_gensim"):
        Word2Vec.load(tmp_path / "g.model")


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


@pytest.mark.parametrize("paths", ["a-p-a", ["a-p-a"], [("a", "p", "a"), "p-a-p"]])
def test_metapaths_are_kept(paths, tmp_path):
    graph = read_graph([("a1", "p1"), ("a2", "p1")], kinds={"a1": "a", "a2": "a", "p1": "p"})
    model = DeepWalk(dim=16, window=3, negative=3, walks=2, length=10, epochs=1, threads=1, metapath=paths).fit(graph)
    model.save(tmp_path / "m")
    found = DeepWalk.load(tmp_path / "m")
    assert check_metapaths(found.metapath) == [
        list(one) if isinstance(one, tuple) else one for one in check_metapaths(paths)
    ]
    assert np.isfinite(found.fit(graph, warm_start=True).vectors_.matrix).all()


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
    for name in ("x.model", "v1.5", "m.bin"):  # refused, a script would lose its training
        model.save(tmp_path / name)
        assert Word2Vec.load(tmp_path / name) == model
        assert any2vec.load(tmp_path / name).words == model.vectors_.words
    with pytest.raises(Any2VecError, match="is not trained yet: call fit first"):
        Word2Vec().save(tmp_path / "new")
    with pytest.raises(Any2VecError, match="does not exist"):
        Word2Vec.load(tmp_path / "none")
    assert {path.name for path in tmp_path.iterdir()} == {"m", "others", "x.model", "v1.5", "m.bin"}


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


FILES = [declared for declared in fields(Word2Vec) if "Path" in str(declared.type)]


@pytest.mark.parametrize("declared", FILES, ids=lambda declared: declared.name)
def test_names_of_files_are_not_taken(model, folder, declared, tmp_path):
    """A stranger's folder says neither what `fit` reads nor what it writes."""
    assert {one.name for one in FILES} >= {"cache", "checkpoint", "log", "resume", "features", "vocabulary"}
    elsewhere = str(tmp_path / "elsewhere")
    _change(folder, {declared.name: elsewhere, "hosts": 4096})
    with pytest.warns(Any2VecWarning, match=rf"names files, .* by .*`{declared.name}`.*, which is not taken"):
        found = Word2Vec.load(folder)
    assert found.hosts == 1
    assert getattr(found, declared.name) == declared.default
    found.set_params(epochs=1, cache=None).fit(SENTENCES, warm_start=True)
    assert not (tmp_path / "elsewhere").exists()


def test_what_a_run_sets_for_itself(model, tmp_path):
    """Its checkpoints are no part of the model, nor when they are made."""
    own = {"checkpoint": tmp_path / "c", "checkpoint_every": 1}
    Word2Vec(**HOW | own).fit(SENTENCES).save(tmp_path / "m")
    with pytest.warns(Any2VecWarning, match="`checkpoint`, `checkpoint_every`, which is not taken"):
        assert Word2Vec.load(tmp_path / "m") == model


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"operator": "os.system"}, "`operator` is 'os.system'; known are"),
        ({"combine": {"combiner": "os.system"}}, "`combine` is .*; known are"),
        ({"combine": {"combiner": ["sum"]}}, "unhashable"),
        ({"scheme": "mine"}, "`scheme` is 'mine'; known are"),
        ({"subwords": "0-1"}, "`subwords` is '0-1'"),
        ({"min_alpha": 1.0}, "`min_alpha` is 1.0; it must be at most `alpha`"),
        ({"epochs": 10**9}, "`epochs` is 1000000000; it must be"),
        ({"frozen": 5}, "`frozen` is 5; it must be words"),
    ],
)
def test_parameters_are_checked_as_by_fit(folder, parameters, message):
    _change(folder, parameters)
    with pytest.raises(Any2VecError, match=rf"model\.json: .*{message}"):
        Word2Vec.load(folder)


def _change(folder, parameters):
    content = json.loads((folder / "model.json").read_text())
    content["parameters"] |= parameters
    (folder / "model.json").write_text(json.dumps(content))


def test_a_report_of_a_later_version(folder):
    file = folder / "model.json"
    content = json.loads(file.read_text())
    content["report"]["beauty"] = 1
    file.write_text(json.dumps(content))
    assert Word2Vec.load(folder).report_.words > 0


def test_repr_shows_what_was_changed():
    assert repr(Word2Vec()) == "Word2Vec()"
    assert repr(Word2Vec(dim=200, epochs=None, sample=0)) == "Word2Vec(dim=200, sample=0)"
    assert repr(Node2Vec(p=0.5, dim=100)) == "Node2Vec(dim=100, p=0.5)"
    assert repr(any2vec.Phrases(threshold=[200, 100])) == "Phrases(threshold=[200, 100])"
    assert repr(Word2Vec(frozen=np.array(["a"]))).startswith("Word2Vec(frozen=array(")
    given = Vectors(["a"], np.ones((1, 2), np.float32))
    assert len(repr(Word2Vec(features={str(item): ["x"] for item in range(100_000)}))) < 1000
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
        (Node2Vec, {"sparse": True}, "`sparse` (leave it out)"),
        (Node2Vec, {"context_size": 5}, "`context_size` (give `window`, one less than context_size)"),
        (Node2Vec, {"wimdow": 5}, "`wimdow` (perhaps `window` is meant)"),
        (Node2Vec, {"edge_index": []}, "`edge_index` (give it to `fit`)"),
        (Node2Vec, {"spars": 1}, "`spars`"),
        (any2vec.Classifier, {"lr": 1, "minCount": 2}, "`lr` (give `alpha`), nor `minCount` (give `min_count`)"),
        (any2vec.Classifier, {"wordNgrams": 2}, "`wordNgrams` (give `word_ngrams`)"),
        (any2vec.Classifier, {"label": "L"}, "`label` (give `label_prefix`)"),
        (any2vec.Classifier, {"minCountLabel": 2}, "`minCountLabel` (leave it out)"),
        (Word2Vec, {"wordNgrams": 2}, "`wordNgrams` (`any2vec.Classifier` and `any2vec classify` have it)"),
    ],
)
def test_names_of_other_programs(make, how, meant):
    with pytest.raises(TypeError) as raised:
        make(**how)
    assert isinstance(raised.value, Any2VecError)
    assert str(raised.value) == f"{make.__name__} has no parameter {meant}"


@pytest.mark.parametrize(
    ("make", "given", "ours"),
    [
        (any2vec.Classifier, "ns", "negative"),
        (any2vec.Classifier, "one-vs-all", "ova"),
        (Word2Vec, "hs", "hierarchical"),
    ],
)
def test_losses_of_fasttext(make, given, ours):
    with pytest.raises(Any2VecError, match=f"`loss` is '{given}'; known are .*; give '{ours}'$"):
        make(loss=given).check()


def test_a_loss_that_only_classifiers_have():
    with pytest.raises(Any2VecError, match=r"known are negative, hierarchical$"):
        Word2Vec(loss="one-vs-all").check()


def _trained():
    how = {"dim": 4, "window": 3, "negative": 3, "epochs": 1, "threads": 1, "sample": 0}
    words = how | {"min_count": 1, "cache": None}
    yield Word2Vec(**words, subwords="3-4", buckets=50).fit(SENTENCES)
    yield Word2Vec(**words, subwords="3-4", buckets=50).fit(SENTENCES).vectors_
    yield any2vec.Doc2Vec(**words).fit(SENTENCES)
    yield Node2Vec(**how, walks=1, length=4).fit(karate_club().edges)
    yield any2vec.Phrases(min_count=1).fit(SENTENCES)
    yield any2vec.Classifier(dim=4, epochs=1, threads=1).fit(SENTENCES, [i % 2 for i in range(len(SENTENCES))])


def _there(text, having):
    """Resolve what is named, on what the user has, or in any2vec."""
    root, *path = re.match(r"[\w.]+", text)[0].split(".")
    found = any2vec if root == "any2vec" else getattr(having, root)
    for name in path:
        found = getattr(found, name)
    return found


METHOD_NAMES = {
    name
    for names in (*errors._OF_CLASSIFIERS, *errors._OF_MODELS, *errors._OF_VECTORS, errors._SAME_OF_VECTORS)
    for name in names.split()
}


def test_all_hints_of_methods_name_what_is_there():
    """In one step, on the very object."""
    hinted = set()
    for having in _trained():
        for name in METHOD_NAMES:
            if name in dir(having):
                hinted.add(name)
                continue
            with pytest.raises(AttributeError) as raised:
                getattr(having, name)
            hint = str(raised.value).partition("(")[2]
            assert "{" not in hint
            for text in re.findall(r"`([^`]+)`", hint):
                _there(text, having)
            if hint:
                hinted.add(name)
    assert hinted == METHOD_NAMES


def test_all_hints_of_modules_name_what_is_there():
    for names in errors._OF_MODULES:
        for name in names.split():
            for module in (any2vec, models):
                with pytest.raises(AttributeError, match=r"has no attribute '\w+' \(") as raised:
                    getattr(module, name.upper())
                for text in re.findall(r"`([^`]+)`", str(raised.value)):
                    assert text == "metapath" or _there(text, Word2Vec()) is not None
    assert not hasattr(any2vec, "KeyedVectors")


def test_all_hints_of_options_name_what_is_there():
    hinted = set()
    for make in (Word2Vec, any2vec.Doc2Vec, DeepWalk, Node2Vec, any2vec.Phrases, any2vec.Classifier):
        known = {declared.name for declared in fields(make)}
        for name in errors._NAMES.keys() - known:
            with pytest.raises(TypeError) as raised:
                make(**{name: 1})
            for text in re.findall(r"`([a-z_]+)(?:=[^`]*)?`", str(raised.value).partition("`")[2].partition("` (")[2]):
                assert text in known | {"fit"}
                hinted.add(name)
    without = {name for name, how in errors._NAMES.items() if not re.search(r"`[a-z_]+[=`]", how)}
    assert hinted | without | {"joiner"} >= errors._NAMES.keys() - {"read_vocab", "save_vocab"}


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("most_similar", "`wv.most_similar` has it"),
        ("get_nearest_neighbors", "`wv.most_similar` has it, as pairs"),
        ("get_word_vector", r"`wv.get_vector\(word\)` has it"),
        ("get_sentence_vector", r"`wv.get_mean_vector\(words\)` has it"),
        ("get_analogies", r"`wv.analogy\(b, a, c\)`"),
        ("vector_size", "`dim` has it"),
        ("syn1neg", "`wv.t` has it"),
        ("words", "`wv.words` has it"),
        ("save_word2vec_format", r"`any2vec.save\(vectors, path\)`"),
        ("train", "`fit` reads and trains; `fit"),
        ("workers", "`threads` has it"),
        ("sg", "`model` has it"),
        ("simulate_walks", "`fit` makes walks"),
        ("norms", "`wv.norms` has it"),
        ("nonsense", "^((?!meant|has it).)*$"),
    ],
)
def test_methods_of_other_programs(model, name, said):
    with pytest.raises(AttributeError, match=said):
        getattr(model, name)
    with pytest.raises(AttributeError, match=said):
        getattr(Word2Vec(), name)
    assert not hasattr(model, f"{name}_")


def test_numbers_of_names_of_fasttext(model):
    """fastText's get_analogies(a, b, c) looks for a - b + c; its vector of a sentence is of vectors of unit length."""
    wv = model.wv
    a, b, c = np.eye(3)
    assert (
        Vectors([*"abc", "right", "turned"], [a, b, c, a - b + c, b - a + c]).analogy("b", "a", "c", 1)[0][0] == "right"
    )
    unit = (wv["a"] / wv.norms[wv.id("a")] + wv["b"] / wv.norms[wv.id("b")]) / 2
    np.testing.assert_allclose(wv.get_mean_vector(["a", "b"]), unit, rtol=1e-5)


def test_classes_of_a_users_own():
    class Mine(Word2Vec):
        def __init__(self, vector_size, **more):
            super().__init__(dim=vector_size, **more)

    assert Mine(5, epochs=2).dim == 5
    assert Mine(vector_size=6).dim == 6


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names here")
@pytest.mark.parametrize("name", ["any2vec.json", "vocabulary.json", "vectors.safetensors", "model.json"])
@pytest.mark.parametrize("kind", ["pipe", "device", "sparse"])
def test_files_of_a_stranger_are_regular_ones_and_fit_into_memory(model, folder, name, kind):
    model.save(folder)
    (folder / name).unlink()
    if kind == "pipe":
        os.mkfifo(folder / name)
    elif kind == "device":
        (folder / name).symlink_to("/dev/zero")
    else:
        with (folder / name).open("wb") as file:
            file.truncate(1 << 43)
    with pytest.raises(Any2VecError, match=rf"{folder}.*(missing|not a file|more than the memory|damaged)"):
        Word2Vec.load(folder)
    if name != "model.json":
        with pytest.raises(Any2VecError, match=rf"{folder}.*(missing|not a file|more than the memory|damaged)"):
            any2vec.load(folder)
