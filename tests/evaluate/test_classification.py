import json
import sys
import warnings

import numpy as np
import pytest
import scipy.io
import scipy.sparse
from typer.testing import CliRunner

from any2vec import DeepWalk
from any2vec.cli.evaluate import evaluate
from any2vec.errors import Any2VecError
from any2vec.evaluate.classification import MEASURES, evaluate_nodes
from any2vec.graph.vertex_labels import VertexLabels, read_labels
from any2vec.vectors import Vectors
from any2vec.vectors.files import save

sklearn = pytest.importorskip("sklearn")


def names(number):
    return [f"v{i}" for i in range(number)]


def labels_of(matrix, called=None):
    matrix = np.asarray(matrix, bool)
    return VertexLabels(called or names(len(matrix)), matrix, [str(j) for j in range(matrix.shape[1])], "labels.txt")


def planted(number=400, count=5, dim=8, noise=0.0, seed=0):
    """Make vertices whose one or two labels are directions of their vectors."""
    random = np.random.default_rng(seed)
    matrix = np.zeros((number, count), bool)
    matrix[np.arange(number), random.integers(0, count, number)] = True
    matrix[np.arange(number), random.integers(0, count, number)] = True
    ways = np.linalg.qr(random.standard_normal((dim, dim)))[0][:count]
    rows = 20 * matrix @ ways + noise * random.standard_normal((number, dim))
    order = random.permutation(number)  # vectors are in an order of their own
    vectors = Vectors([f"v{i}" for i in order], rows[order].astype(np.float32))
    return vectors, labels_of(matrix)


def naive(vectors, labels, ratios, shuffles, seed):
    """Follow scoring.py: its classes, its lists of labels, its scikit-learn."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import f1_score
    from sklearn.multiclass import OneVsRestClassifier

    random = np.random.default_rng(seed)
    rows = np.array([vectors[name] for name in labels.names], np.float64)
    orders = [random.permutation(len(rows)) for _ in range(shuffles)]
    scores = {measure: [] for measure in MEASURES}
    for ratio in ratios:
        for order in orders:
            x, y = rows[order], labels.matrix[order]
            size = int(ratio * len(x))
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", message="Label .* is present in all")  # or in none
                model = OneVsRestClassifier(LogisticRegression(solver="liblinear")).fit(x[:size], y[:size].astype(int))
            given = np.zeros_like(y[size:])
            for i, chances in enumerate(model.predict_proba(x[size:])):
                ranked = sorted(range(len(chances)), key=lambda label: (chances[label], label))
                for label in ranked[-int(y[size + i].sum()) :]:
                    given[i, label] = True
            wanted = y[size:]
            met = [j for j in range(y.shape[1]) if wanted[:, j].any() or given[:, j].any()]
            for measure in MEASURES[:-1]:
                scores[measure].append(100 * f1_score(wanted, given, labels=met, average=measure, zero_division=0))
            scores["accuracy"].append(100 * np.mean([list(w) == list(g) for w, g in zip(wanted, given, strict=True)]))
    return {measure: np.reshape(values, (len(ratios), shuffles)) for measure, values in scores.items()}


@pytest.mark.parametrize("seed", [1, 2])
def test_protocol_is_scoring_py_s(seed):
    vectors, labels = planted(300, 6, noise=12, seed=seed)
    matrix = labels.matrix.copy()
    matrix[:, 5] = False
    matrix[:3, 5] = True  # too rare for every part
    matrix[~matrix.any(axis=1), 0] = True
    labels = labels_of(matrix)
    expected = naive(vectors, labels, (0.1, 0.5, 0.9), 3, seed)
    result = evaluate_nodes(vectors, labels, (0.1, 0.5, 0.9), 3, seed=seed, threads=2)
    for measure in MEASURES:
        assert result.figures[measure] == pytest.approx(expected[measure], abs=1e-9)
    assert 20 < result.mean("micro")[1] < 90  # the case is neither trivial nor hopeless


def test_separable_labels_are_found():
    vectors, labels = planted()
    result = evaluate_nodes(vectors, labels, [0.5], 4)
    assert all(result.mean(measure)[0] > 99 for measure in MEASURES)
    assert (result.vertices, result.labels, result.shuffles, result.skipped) == (400, 5, 4, 0)


def test_same_seed_same_figures():
    vectors, labels = planted(noise=15)
    one, two, other = (
        evaluate_nodes(vectors, labels, (0.6, 0.2), 3, seed=seed, threads=threads)
        for seed, threads in [(1, 1), (1, 2), (2, 1)]
    )
    for measure in MEASURES:
        assert one.figures[measure] == pytest.approx(two.figures[measure])
    assert not np.array_equal(one.figures["micro"], other.figures["micro"])
    swapped = evaluate_nodes(vectors, labels, (0.2, 0.6), 3, seed=1)  # a ratio's figures do not depend on the others
    assert swapped.figures["macro"][::-1] == pytest.approx(one.figures["macro"])


def test_vertices_without_labels_or_vectors():
    vectors, labels = planted(100)
    more = Vectors([*vectors.words, "alone"], np.vstack([vectors.matrix, vectors.matrix[:1]]))
    expected = evaluate_nodes(vectors, labels, [0.5], 2)
    assert evaluate_nodes(more, labels, [0.5], 2).figures["micro"] == pytest.approx(expected.figures["micro"])
    blank = labels_of(np.vstack([labels.matrix, np.zeros((2, 5))]), [*labels.names, "x", "alone"])
    assert evaluate_nodes(more, blank, [0.5], 2).vertices == 100
    strange = labels_of(np.vstack([labels.matrix, np.ones((4, 5))]), [*labels.names, "x", "y", "z", "u"])
    with pytest.raises(
        Any2VecError, match=r"4 of 104 labelled vertices have no vector: 'x', 'y', 'z', \.\.\.; `skip_unknown=True`"
    ):
        evaluate_nodes(vectors, strange, [0.5], 2)
    result = evaluate_nodes(vectors, strange, [0.5], 2, skip_unknown=True)
    assert (result.vertices, result.skipped) == (100, 4)
    assert result.figures["micro"] == pytest.approx(expected.figures["micro"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"ratios": [0.5, 30]}, "30 is not between 0 and 1; 0.3 trains on 30 %"),
        ({"ratios": [1.0]}, "1 is not between"),
        ({"ratios": []}, r"a list of numbers between 0 and 1 is expected, not \[\]"),
        ({"ratios": "30"}, "ratios: '3' is not a number"),
        ({"ratios": [0.05]}, "labels.txt: 10 labelled vertices are too few to train on 5 %"),
        ({"shuffles": 0}, "`shuffles` is 0; it must be a whole number from 1 up"),
        ({"seed": -1}, "`seed` is -1; it must be a whole number from 0 up"),
        ({"threads": 0}, "`threads` is 0; it must"),
    ],
)
def test_wrong_options(options, message):
    vectors, labels = planted(10)
    with pytest.raises(Any2VecError, match=message):
        evaluate_nodes(vectors, labels, **options)


def test_nothing_to_judge():
    vectors, labels = planted(10)
    with pytest.raises(Any2VecError, match=r"labels.txt: no vertex has a label"):
        evaluate_nodes(vectors, labels_of(np.zeros((10, 3))))
    with pytest.raises(Any2VecError, match="none of the 2 labelled vertices has a vector"):
        evaluate_nodes(vectors, labels_of(np.ones((2, 3)), ["x", "y"]), skip_unknown=True)
    same = labels_of(np.column_stack([np.ones((10, 5)), np.zeros(10)]))
    with pytest.raises(Any2VecError, match="all 10 labelled vertices have the same labels: there is nothing"):
        evaluate_nodes(vectors, same, [0.5], 2)
    with pytest.raises(Any2VecError, match="Vectors are expected, not DeepWalk; an estimator has them as vectors_"):
        evaluate_nodes(DeepWalk(), labels)
    matrix = np.array(vectors.matrix)
    matrix[3, 1] = np.inf
    with pytest.raises(Any2VecError, match=f"{vectors.words[3]!r} holds inf"):
        evaluate_nodes(Vectors(list(vectors.words), matrix), labels)


def test_one_shuffle_has_no_deviation():
    vectors, labels = planted(50)
    result = evaluate_nodes(vectors, labels, [0.5], 1)
    assert np.isnan(result.std()).all()
    assert result.as_dict()["ratios"][0]["micro"]["std"] is None
    json.dumps(result.as_dict(), allow_nan=False)


def test_a_label_of_every_vertex():
    vectors, labels = planted(100)
    everywhere = labels_of(np.column_stack([labels.matrix, np.ones(100)]))
    result = evaluate_nodes(vectors, everywhere, [0.5], 2)  # it is always predicted
    assert result.mean("accuracy") == pytest.approx(evaluate_nodes(vectors, labels, [0.5], 2).mean("accuracy"))
    assert result.mean("micro")[0] > 95


def test_more_labels_than_vertices(tmp_path):
    vectors, _ = planted(20)
    text = tmp_path / "by_label"
    text.write_text("".join(f"{a} " + " ".join(vectors.words[2:]) + "\n" for a in vectors.words[:10]))
    with pytest.raises(Any2VecError, match=r"by_label: 10 vertices have 18 labels: .* its `format` is 'labels'"):
        evaluate_nodes(vectors, text, [0.5], 2)


def test_without_scikit_learn(monkeypatch):
    monkeypatch.setitem(sys.modules, "joblib", None)
    vectors, labels = planted(20)
    with pytest.raises(Any2VecError, match=r"pip install 'scikit-learn>=1.4' 'scipy>=1.13'"):
        evaluate_nodes(vectors, labels, [0.5])


@pytest.mark.slow
def test_command(run, tmp_path):
    vectors, labels = planted(100)
    save(vectors, tmp_path / "v")
    text = tmp_path / "labels"
    held = [np.flatnonzero(row) for row in labels.matrix]
    text.write_text("".join(f"v{i} {' '.join(map(str, row))}\n" for i, row in enumerate(held)))
    lines = run("nodes", tmp_path / "v", text, "--ratios", "30,60,90", "--shuffles", 3, "--json", tmp_path / "out.json")
    assert lines[0] == ["labelled", "30", "%", "60", "%", "90", "%"]
    assert [line[0] for line in lines[1:7]] == ["Micro-F1", "±", "Macro-F1", "±", "Samples-F1", "±"]
    assert all(float(figure) > 95 for figure in lines[1][1:])
    assert lines[7] == ["100", "vertices,", "5", "labels,", "3", "shuffles"]
    figures = json.loads((tmp_path / "out.json").read_text())
    assert [row["ratio"] for row in figures["ratios"]] == [0.3, 0.6, 0.9]
    assert f"{figures['ratios'][0]['micro']['mean']:.2f}" == lines[1][1]
    by_label = tmp_path / "by-label"
    by_label.write_text("".join(" ".join(f"v{i}" for i in np.flatnonzero(column)) + "\n" for column in labels.matrix.T))
    again = run("nodes", tmp_path / "v", by_label, "--format", "labels", "--shuffles", 2)
    assert len(again[0]) == 1 + 2 * 9
    lines = CliRunner().invoke(evaluate, ["nodes", str(tmp_path / "v"), str(text)]).output.split("\n")
    assert max(map(len, lines)) <= 80
    for wrong, message in [("0,50", "0 is not between 0 and 100"), ("x", "not numbers separated by commas")]:
        with pytest.raises(Any2VecError, match=message):
            run("nodes", tmp_path / "v", text, "--ratios", wrong)
    with text.open("a") as file:
        file.write("v999 1\n")
    with pytest.raises(Any2VecError, match="1 of 101 labelled vertices have no vector: 'v999'"):
        run("nodes", tmp_path / "v", text)
    assert "(1 without a vector left out)" in " ".join(run("nodes", tmp_path / "v", text, "--skip-unknown")[-1])


def test_figures_are_not_written_over_what_is_read(run, tmp_path):
    vectors, labels = planted(40)
    save(vectors, tmp_path / "v.txt")
    (tmp_path / "labels").write_text("".join(f"v{i} {np.argmax(row)}\n" for i, row in enumerate(labels.matrix)))
    for source in ("v.txt", "labels"):
        before = (tmp_path / source).read_bytes()
        with pytest.raises(Any2VecError, match="is, or lies in, what is read"):
            run("nodes", tmp_path / "v.txt", tmp_path / "labels", "--json", tmp_path / source)
        assert (tmp_path / source).read_bytes() == before


def test_one_label_only(run, tmp_path):
    vectors, _ = planted(40)
    save(vectors, tmp_path / "v")
    (tmp_path / "labels").write_text("".join(f"v{i} only\n" for i in range(40)))
    with pytest.raises(Any2VecError, match="labels: all 40 labelled vertices have the same labels"):
        run("nodes", tmp_path / "v", tmp_path / "labels", "--ratios", "50", "--shuffles", 2)
    # two labels, of which a test part of one vertex may meet one
    (tmp_path / "labels").write_text("".join(f"v{i} {i % 2}\n" for i in range(10)))
    assert len(run("nodes", tmp_path / "v", tmp_path / "labels", "--ratios", "90", "--shuffles", 5)) > 6


def test_matlab_labels(run, tmp_path):
    vectors, labels = planted(100)
    save(Vectors([word[1:] for word in vectors.words], vectors.matrix), tmp_path / "v")
    scipy.io.savemat(tmp_path / "g.mat", {"group": scipy.sparse.csc_matrix(labels.matrix.astype(float))})
    assert run("nodes", tmp_path / "v", tmp_path / "g.mat", "--ratios", 50)[-1][:2] == ["100", "vertices,"]
    scipy.io.savemat(tmp_path / "n.mat", {"network": scipy.sparse.eye(3)})
    with pytest.raises(Any2VecError, match=r"n\.mat.*'?group"):
        run("nodes", tmp_path / "v", tmp_path / "n.mat")
    (tmp_path / "empty").write_text("# nothing\n")
    with pytest.raises(Any2VecError, match="has no labels"):
        run("nodes", tmp_path / "v", tmp_path / "empty")


@pytest.mark.parametrize("form", ["auto", "vertices"])
def test_a_header_of_labels(run, tmp_path, form):
    random = np.random.default_rng(1)
    vectors = Vectors([f"v{i}" for i in range(40)], random.standard_normal((40, 4)).astype(np.float32))
    save(vectors, tmp_path / "v.bin")
    lines = [f"v{i},{'xy'[i % 2]}" for i in range(40)]
    (tmp_path / "l.csv").write_text("\n".join(["# made", "node,label", *lines, ""]))
    with pytest.raises(
        Any2VecError, match=r"no vector: 'node' \(line 2\); .*; if it is a header, `header=True` skips it"
    ):
        evaluate_nodes(vectors, tmp_path / "l.csv", [0.5], 1)
    found = read_labels(tmp_path / "l.csv", header=True, format=form)
    assert (found.names[:2], found.labels, found.lines[0]) == (["v0", "v1"], ["x", "y"], 3)
    output = run("nodes", tmp_path / "v.bin", tmp_path / "l.csv", "--header", "--ratios", 50, "--shuffles", 1)
    assert output[-1] == ["40", "vertices,", "2", "labels,", "1", "shuffle"]
