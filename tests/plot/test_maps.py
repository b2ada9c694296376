"""Maps of words: places, groups, pages and pictures; PCA stands for all methods but where they differ."""

import json
import re
import sys
import warnings

import numpy as np
import pytest
from marks import slow
from typer.testing import CliRunner

from any2vec import Vectors, save
from any2vec.cli import app
from any2vec.errors import Any2VecError, UnknownParameterError, UnknownWordError
from any2vec.plot.projection import colours
from any2vec.vectors import search as graph

pytest.importorskip("sklearn")
WORDS = [f"w{i}" for i in range(60)]
CENTRES = np.repeat(np.eye(3, 16, dtype=np.float32), 20, axis=0)  # three groups of twenty words
ROWS = CENTRES + 0.1 * np.random.default_rng(1).standard_normal(CENTRES.shape, np.float32)


@pytest.fixture
def vectors():
    return Vectors(WORDS, ROWS)


@pytest.fixture
def command(vectors, tmp_path):
    save(vectors, tmp_path / "v.bin")

    def run(*arguments):
        given = ["map", str(tmp_path / "v.bin"), "--method", "pca", *map(str, arguments)]
        result = CliRunner().invoke(app, given, standalone_mode=False)
        if result.exception:
            raise result.exception
        return result.output

    return run


def apart(found):
    """Whether all words are nearer to the centre of their own group than to another's."""
    centres = found.coordinates.reshape(3, 20, 2).mean(axis=1)
    distances = np.linalg.norm(found.coordinates[:, None] - centres, axis=2)
    return (distances.argmin(axis=1) == np.arange(60) // 20).all()


@pytest.mark.parametrize(("method", "how"), [("pca", {}), ("tsne", {"max_iter": 500}), slow("umap", {"n_epochs": 50})])
def test_similar_words_are_near_to_each_other(vectors, method, how):
    if method == "umap":
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            pytest.importorskip("umap")
    found, again = (vectors.map(method=method, seed=3, **how) for _ in range(2))
    assert found.words == WORDS
    assert found.coordinates.dtype == np.float32
    assert found.coordinates.shape == (60, 2)
    assert apart(found)
    assert (found.coordinates == again.coordinates).all()
    assert method != "umap" or (found.coordinates != vectors.map(method=method, seed=4, **how).coordinates).any()
    assert vectors.map(WORDS[:3], method=method, **how).coordinates.shape == (3, 2)  # the fewest


def test_neighbours_are_those_of_most_similar(vectors):
    found = vectors.map(top=50, method="pca")
    for i in range(50):
        expected = vectors.most_similar(WORDS[i], topn=10, restrict=50)
        assert [WORDS[j] for j in found.neighbours[i]] == [word for word, _ in expected]
        assert found.cosines[i] == pytest.approx([cosine for _, cosine in expected], abs=1e-6)
    assert vectors.map(method="pca", neighbours=0).neighbours.shape == (60, 0)


def test_nearest_words_of_many(monkeypatch):
    """NN-descent, stubbed here for its time to compile, may lack rows, or list a row not first."""
    rows = ROWS / np.linalg.norm(ROWS, axis=1, keepdims=True)
    exact = graph.neighbour_graph(rows, 5)

    class Index:
        def __init__(self, data, n_neighbors, **how):
            found = np.argsort(-data @ data.T, axis=1, kind="stable")[:, :n_neighbors]
            found[::2, :2] = found[::2, 1::-1]
            found[7, 3:] = -1
            self.neighbor_graph = found.astype(np.int32), None

    monkeypatch.setitem(sys.modules, "pynndescent", type(sys)("pynndescent"))
    monkeypatch.setattr(sys.modules["pynndescent"], "NNDescent", Index, raising=False)
    monkeypatch.setattr(graph, "_EXACT", 10)
    ids, cosines = graph.neighbour_graph(rows, 5)
    assert (ids == exact[0]).all()
    assert cosines == pytest.approx(exact[1], abs=1e-6)


def test_words_are_chosen(vectors, tmp_path):
    (tmp_path / "words.txt").write_text("w9\n\n w3\nw9\nw5\n", "utf-8")
    assert vectors.map(tmp_path / "words.txt", method="pca").words == ["w9", "w3", "w5"]
    assert vectors.map(top=7, method="pca").words == WORDS[:7]
    numbers = Vectors(["7", "8", "9"], ROWS[[0, 20, 40]])
    assert numbers.map([8, 7, 9], method="pca").words == ["8", "7", "9"]


def test_groups_of_labels(vectors):
    labels = {"w0": ["b", "a"], "w1": "a", "w2": "a", "w3": "b", "w59": "c"}
    groups = vectors.map(top=5, method="pca", labels=labels).groups
    assert groups.names == ["a", "b"]  # the most frequent first
    assert groups.numbers.tolist() == [0, 0, 0, 1, -1]


def test_groups_of_classes(vectors):
    groups = vectors.map(method="pca", clusters=3).groups
    assert (groups.numbers.reshape(3, 20) == groups.numbers[::20, None]).all()
    assert sorted(set(groups.numbers.tolist())) == [0, 1, 2]
    assert len({color for color in colours(40) if re.fullmatch("#[0-9a-f]{6}", color)}) == 40
    for number, name in enumerate(groups.names):
        assert {WORDS.index(word) // 20 for word in name.split(", ")} == {groups.numbers.tolist().index(number) // 20}


def test_names_of_classes_are_frequent_words_near_the_centre():
    words = ["far", "farther", "a", "b", "c", "d", "e", "f", "rare", "other"]
    angles = np.deg2rad([45, -40, 1, -3, 5, -7, 9, -11, 0])  # from the centre of a class
    rows = np.zeros((10, 3), np.float32)
    rows[:9, 0], rows[:9, 1], rows[9, 2] = np.cos(angles), np.sin(angles), 1
    vectors = Vectors(words, rows)
    for shown in (words, words[::-1]):
        assert vectors.map(shown, method="pca", clusters=2).groups.names == ["a, b, c", "other"]


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"method": "mds"}, r"`method` is 'mds'; known are umap, pca, tsne"),
        ({"words": ["w1"]}, "a map needs at least 3 words, not 1"),
        ({"words": ["w1", "w61", "w2"]}, "words: no vector for 'w61'; did you mean"),
        ({"method": "tsne", "min_dist": 0.5}, "no parameter `min_dist`; those of t-SNE: perplexity"),
        ({"words": ["w1", "v1", "v2"]}, "words: 2 of 3 words have no vector: 'v1', 'v2'"),
        ({"words": 3}, "words: a list of words or a file of them is expected, not 3"),
        ({"words": [["w1"]]}, r"words: a word is expected, not \['w1'\]"),
        ({"words": ["w1"], "top": 3}, "`words` and `top`"),
        ({"top": 0}, "`top` is 0; it must be a whole number from 1 up"),
        ({"seed": -1}, "`seed` is -1"),
        ({"labels": {"w1": 1}, "clusters": 2}, "`labels` and `clusters`"),
        ({"labels": {"w1": 1, "v1": 2}}, "the dict: 1 of 2 labelled words have no vector: 'v1'; `skip_unknown=True`"),
        ({"labels": {"v1": 1}, "skip_unknown": True}, "none of the 1 labelled words has a vector"),
        ({"labels": {"w9": 1}, "top": 5}, "none of the 5 words of the map has a label"),
        ({"labels": {"w1": [1, 2]}}, "1 word with 2 labels: too many to tell apart"),
        ({"labels": 3}, "labels: a file, a dict of labels"),
        ({"top": 20, "clusters": 21}, "`clusters` is 21, but the map has 20 words"),
        ({"words": "w1"}, "a map needs at least 3 words, not 1"),
        ({"method": "tsne", "perplexity": 60}, "t-SNE refuses: .*perplexity"),
        ({"method": "tsne", "learning_rate": 1e300}, "`learning_rate` is 1e.300; it must be a number up to"),
        ({"method": "tsne", "perplexity": "x"}, "`perplexity` is 'x'; it must be a number"),
    ],
)
def test_mistakes(vectors, how, message):
    kinds = {"no parameter": UnknownParameterError, "have no vector: 'v1', 'v2'": UnknownWordError}
    kind = next((kind for text, kind in kinds.items() if text in message), Any2VecError)
    with pytest.raises(kind, match=message):
        vectors.map(**{"method": "pca", **how})


def test_vectors_without_a_map(vectors):
    rows = ROWS.copy()
    rows[4, 2] = np.nan
    with pytest.raises(Any2VecError, match="the vector of 'w4' holds nan, not a finite number"):
        Vectors(WORDS, rows).map(method="pca")
    with pytest.raises(Any2VecError, match="the vectors of the 60 words all point the same way"):
        Vectors(WORDS, np.ones((60, 4), np.float32)).map(method="pca")
    directions = np.outer(np.arange(60), [0.1, 0.2, 0.3])  # lengths differ, and roundings
    for method, rows in (("tsne", np.ones((60, 4))), ("tsne", np.zeros((3, 4))), ("tsne", directions[1:])):
        same = Vectors(WORDS[: len(rows)], rows.astype(np.float32))
        with pytest.raises(Any2VecError, match="words all point the same way"):
            same.map(method=method)
    with pytest.raises(Any2VecError, match="vectors of 1 dimension have no map"):
        Vectors(WORDS, ROWS[:, :1]).map(method="pca")
    zeros = ROWS.copy()
    zeros[:2] = 0
    assert np.isfinite(Vectors(WORDS, zeros).map(method="pca").coordinates).all()


def test_a_figure_has_words_that_do_not_overlap(vectors):
    pytest.importorskip("matplotlib")
    odd = ["$x$", "_a", "<b>", "\x01", *WORDS[4:]]
    names = {word: f"_group {i % 3}$" for i, word in enumerate(odd)}
    larger = Vectors(odd + [f"v{i}" for i in range(60)], np.vstack([ROWS, ROWS + 0.02]))
    for size in (-1, 0, 10**400, np.nan, "8"):
        with pytest.raises(Any2VecError, match=r"`width` is .*; it must be a number of inches, 0.5 to 100"):
            vectors.plot(method="pca", width=size)
    figure = larger.plot(method="pca", labels=names, width=5, height=4)
    assert figure.get_size_inches().tolist() == [5, 4]
    (axes,) = figure.axes
    assert 3 < len(axes.texts) < 120
    boxes = sorted((text.get_window_extent() for text in axes.texts), key=lambda box: box.x0)
    assert not any(one.overlaps(other) for i, one in enumerate(boxes) for other in boxes[i + 1 :])
    assert {text.get_text() for text in axes.get_legend().get_texts()} == {f"_group {i}$" for i in range(3)}


def test_pictures_of_words_that_xml_and_mathematics_do_not_know(tmp_path):
    pytest.importorskip("matplotlib")
    pytest.importorskip("adjustText")
    odd = Vectors(["$x$", "<b>", "\x01\ud800", "a & b"], ROWS[::15])
    for name in ("a.svg", "b.svg", "a.png"):
        odd.map(method="pca").save(tmp_path / name)
    svg = (tmp_path / "a.svg").read_text("utf-8")
    assert ("$x$" in svg, "&lt;b&gt;" in svg, "\ufffd\ufffd" in svg, "a &amp; b" in svg) == (True,) * 4
    assert svg == (tmp_path / "b.svg").read_text("utf-8")
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")


def test_a_page_holds_everything(vectors, tmp_path):
    pytest.importorskip("bokeh")
    odd = Vectors(["</script>", "<b>&", "\x01", *WORDS[3:]], ROWS)
    odd.map(method="pca", labels={"w5": "</script><i>"}).save(tmp_path / "a.html", title="<i>")
    text = (tmp_path / "a.html").read_text("utf-8")
    assert text.lstrip().startswith("<!DOCTYPE html>")
    assert not re.findall(r"<(?:script|link|img)[^>]*(?:src|href)=\"(?!data:)", text)
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', text)[1]
    data = json.loads(found)
    assert data["words"][:4] == ["</script>", "<b>&", "\ufffd", "w3"]
    assert data["names"] == ["none", "</script><i>"]
    assert "<title>&lt;i&gt;</title>" in text


def test_the_command_writes_a_map(command, vectors, tmp_path):
    (tmp_path / "labels.txt").write_text("w1 a\nw2 b\nx b\n", "utf-8")
    for name in ("a.html", "b.htm", "a.svg", "a.png"):
        for _ in range(2):  # it replaces its own
            said = command("-o", tmp_path / name, "--top", 20, "--labels", tmp_path / "labels.txt", "--skip-unknown")
        assert re.search(rf"20 of 60 words by PCA, [\d.]+ s; the map is in .*{name}", said)
        assert b"any2vec map" in (tmp_path / name).read_bytes()[:4096]
    command("-o", tmp_path / "b.svg", "--words", "w1, w5,w9")
    drawn = re.findall(r">(w\d+)</text>", (tmp_path / "b.svg").read_text("utf-8"))
    assert sorted(drawn) == ["w1", "w5", "w9"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-o", "map.pdf"], "map.pdf: is no name of a map; it must end with .html, .htm, .png, .svg"),
        (["-o", "none/map.html"], "the folder .*none does not exist"),
        (["-o", "mine.html"], "mine.html: exists, and does not hold a map; give another name, or --force"),
        (["-o", "own.html"], "own.html: exists, and does not hold a map"),
        (["-o", "own.svg"], "own.svg: exists, and does not hold a map"),
        (["-o", "m.html", "--words", "w.txt"], "--words is 'w.txt'; no file has this name, and no vector; a list has"),
        (["-o", "m.html", "--skip-unknown"], "--skip-unknown is for --labels only"),
        (["-o", "m.html", "--format", "labels"], "--format is for --labels only"),
        (["-o", "m.html", "--labels", "none.labels"], "none.labels: no such file"),
        (["-o", "m.html", "--labels", "bad.labels"], "1 of 1 labelled words|none of the 1 labelled words"),
        (["-o", "m.html", "--method", "mds"], "--method is 'mds'"),
    ],
)
def test_mistakes_of_the_command(command, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.html").write_text("<html>mine", "utf-8")
    (tmp_path / "own.html").write_text("<html>any2vec map of mine", "utf-8")
    (tmp_path / "own.svg").write_text("<svg><title>any2vec map</title></svg>", "utf-8")
    (tmp_path / "bad.labels").write_text("x a\n", "utf-8")
    with pytest.raises(Any2VecError, match=message):
        command(*arguments)
    assert not (tmp_path / "m.html").exists()
    assert (tmp_path / "mine.html").read_text("utf-8") == "<html>mine"


def test_compilation_is_announced_once_nothing_is_refused(vectors, tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    pytest.importorskip("adjustText")
    monkeypatch.setattr("any2vec.plot.projection._umap", lambda: None)
    monkeypatch.setattr("any2vec.plot.projection.project", lambda rows, *_, **__: rows[:, :2])
    save(vectors, tmp_path / "v.bin")
    for words, ends, said in (("w1,w2", Any2VecError, False), ("w1,w2,w3", type(None), True)):
        arguments = ["map", str(tmp_path / "v.bin"), "-o", str(tmp_path / "m.svg"), "--words", words]
        result = CliRunner().invoke(app, arguments, standalone_mode=False)
        assert isinstance(result.exception, ends)
        assert ("UMAP is compiled first" in result.output) == said


@pytest.mark.parametrize(
    ("module", "arguments"),
    [("bokeh", ["m.html"]), ("matplotlib", ["m.png"]), ("umap", ["m.png", "--method", "umap"])],
)
def test_a_missing_library_is_named_with_its_extra(command, tmp_path, monkeypatch, module, arguments):
    if module == "umap":
        pytest.importorskip("matplotlib")
    for name in [name for name in sys.modules if name.split(".")[0] == module]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(Any2VecError, match=rf"this needs {module}.*, which is not installed: pip install .*{module}"):
        command("-o", tmp_path / arguments[0], *arguments[1:])
