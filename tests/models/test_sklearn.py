"""Estimators among scikit-learn's: means of texts, pipelines, grid search, its own checks."""

import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils import estimator_checks
from sklearn.utils.estimator_checks import check_estimator

from any2vec import Any2VecError, DeepWalk, Vectors, Word2Vec
from any2vec.graph import karate_club

HOW = {"dim": 16, "window": 3, "negative": 3, "min_count": 1, "sample": 0, "epochs": 5, "threads": 1}
TEXTS = [["cat", "dog", "cow", "hen"], ["red", "green", "blue", "grey"]] * 100
LABELS = [0, 1] * 100


def numbers(X):  # noqa: N803
    """Round the numbers of scikit-learn's checks: the estimators below take them for names."""
    return np.round(np.asarray(X)).astype(int)


def series(names, of):
    return pd.Series(names, of.index if isinstance(of, pd.DataFrame) else None)


class OfNumbers:
    """An estimator for matrices, which scikit-learn's checks give."""

    def fit_transform(self, X, y=None):  # noqa: N803
        return self.fit(X).transform(X)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array, tags.no_validation = True, False  # else most checks do nothing
        return tags


class Texts(OfNumbers, Word2Vec):
    """A row is a text; its numbers are the tokens."""

    def fit(self, X, y=None):  # noqa: N803
        return super().fit(np.concatenate([numbers(X), numbers(X)], axis=1).tolist())

    def transform(self, X):  # noqa: N803
        return super().transform(series(numbers(X).tolist(), X))


class Vertices(OfNumbers, DeepWalk):
    """A row is a vertex, named by its first number, and has an edge to the row before."""

    def fit(self, X, y=None):  # noqa: N803
        names = numbers(X).take(0, axis=1).astype(str)
        return super().fit(list(zip(names, np.roll(names, 1), strict=True)))

    def transform(self, X):  # noqa: N803
        return super().transform(series(numbers(X).take(0, axis=1).astype(str), X))


ESTIMATORS = [Texts(**HOW), Vertices(**{name: HOW[name] for name in HOW if name != "min_count"}, walks=2, length=10)]
NAMES, ERRORS = "whatever stands there is a name, also nan", "what cannot be used raises Any2VecError, not ValueError"
LENGTHS, SPARSE = "texts have any number of tokens, vertices one name", "no text or vertex is a sparse matrix"
LEFT_OUT = {  # docs/python.md lists them
    "check_complex_data": NAMES,
    "check_dtype_object": NAMES,
    "check_estimators_nan_inf": NAMES,
    "check_estimators_empty_data_messages": ERRORS,
    "check_estimator_sparse_tag": SPARSE,
    "check_estimator_sparse_array": SPARSE,
    "check_estimator_sparse_matrix": SPARSE,
    "check_fit2d_predict1d": LENGTHS,
    "check_n_features_in": LENGTHS,
    "check_n_features_in_after_fitting": LENGTHS,
    "check_transformer_general": LENGTHS,
    "check_transformer_preserve_dtypes": "vectors are float32",
}


@pytest.mark.filterwarnings("ignore:Estimator .* does not inherit from")  # scikit-learn is an extra
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda estimator: type(estimator).__name__)
def test_checks_of_scikit_learn(estimator):
    left_out = LEFT_OUT | ({"check_fit2d_1sample": "one vertex has no edge"} if isinstance(estimator, DeepWalk) else {})
    found = check_estimator(estimator, expected_failed_checks=left_out, on_skip=None)
    assert {one["check_name"] for one in found if one["status"] == "xfail"} == left_out.keys()
    assert sum(one["status"] == "passed" for one in found) > 25


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda estimator: type(estimator).__name__)
@pytest.mark.parametrize(
    "name",
    [
        "check_set_output_transform",
        "check_set_output_transform_pandas",
        "check_global_output_transform_pandas",
        "check_set_output_transform_polars",
        "check_global_set_output_transform_polars",
    ],
)
def test_checks_of_data_frames(name, estimator):
    getattr(estimator_checks, name)(type(estimator).__name__, estimator)


def test_data_frames_keep_the_index_and_name_the_columns(monkeypatch):
    rows = pd.DataFrame({"text": [" ".join(text) for text in TEXTS]}, index=np.arange(200) * 2)
    model = Word2Vec(**HOW, column="text").set_output(transform="pandas")
    frame = model.fit_transform(rows)
    assert frame.index.equals(rows.index)
    assert frame.columns.tolist() == [f"word2vec{i}" for i in range(16)]
    assert (frame.dtypes == np.float32).all()
    assert clone(model).fit_transform(rows).equals(frame)
    monkeypatch.setitem(sys.modules, "sklearn", None)  # not needed
    assert model.transform(rows).equals(frame)
    assert np.array_equal(model.set_output().set_output(transform="default").transform(rows), frame)


def test_columns_of_a_table_become_features():
    rows = pd.DataFrame({"tokens": TEXTS, "length": [len(text) for text in TEXTS]})
    model = make_column_transformer((Word2Vec(**HOW), "tokens"), remainder="passthrough").set_output(transform="pandas")
    assert model.fit_transform(rows).columns[[0, -1]].tolist() == ["word2vec__word2vec0", "remainder__length"]


def test_a_data_frame_of_vertices_has_their_names():
    model = DeepWalk(dim=16, window=3, negative=3, epochs=1, threads=1).set_output(transform="pandas")
    frame = model.fit_transform(karate_club().edges)
    assert frame.index.tolist() == list(model.vectors_.words)
    assert frame.columns[0] == "deepwalk0"
    assert model.transform(pd.Series(["34"], [7])).index.tolist() == [7]
    frame.iloc[0, 0] = 9  # does not write into the vectors
    assert model.vectors_.matrix[0, 0] != 9


def test_data_frames_that_cannot_be_made_are_refused_before_training(monkeypatch):
    model = Word2Vec(**HOW)
    with pytest.raises(Any2VecError, match="the output of `transform` is 'arrow'; known are default, pandas, polars"):
        model.set_output(transform="arrow")
    model.set_output(transform="pandas")
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(Any2VecError, match="needs pandas, which is not installed: pip install"):
        model.fit_transform(TEXTS)
    assert not hasattr(model, "vectors_")


def test_features_are_means_of_known_words():
    vectors = Vectors(["a", "b", "7"], np.array([[1, 0], [0, 3], [5, 5]], np.float32))
    found = vectors.means([["a", "b"], ["a", "x"], [], ["x"], ("7",), np.array(["b", "b"])])
    assert found.dtype == np.float32
    assert found.tolist() == [[0.5, 1.5], [1, 0], [0, 0], [0, 0], [5, 5], [0, 3]]
    assert vectors.means([]).shape == (0, 2)
    assert vectors.means(iter([["a"]] * 3000)).tolist() == [[1, 0]] * 3000
    assert Vectors([1, 2], np.eye(2, dtype=np.float32)).means([[1, 2, 3]]).tolist() == [[0.5, 0.5]]
    rows = pd.DataFrame({"text": ["a b", "x"], "n": [1, 2]})
    assert vectors.means(rows, "text").tolist() == vectors.means(rows.to_dict("records"), "text").tolist()


@pytest.mark.parametrize(
    ("texts", "why"),
    [
        ("a b", "lists of tokens are expected, not 'a b'"),
        (["a b"], "text 0 is 'a b'; a list of tokens is expected"),
        ([["a"], 3], "text 1 is 3; a list of tokens is expected"),
        (pd.DataFrame({"text": ["a"]}), "say which holds the sentences"),
        (5, "lists of tokens are expected, not 5"),
        ([["a", ["b"]]], r"text 0 has the token \['b'\]"),
        ([[b"a"]], "text 0 has the token b'a'"),
        ([{"text": "a"}], "text 0 is {'text': 'a'}"),
    ],
)
def test_what_are_no_texts(texts, why):
    with pytest.raises(Any2VecError, match=why):
        Vectors(["a"], np.ones((1, 2), np.float32)).means(texts)


def test_means_of_vectors_that_are_not_finite():
    with pytest.raises(Any2VecError, match="not finite"):
        Vectors(["a"], np.full((1, 2), np.nan, np.float32)).means([["a"]])


def test_a_pipeline_learns_labels_of_texts():
    pipeline = make_pipeline(Word2Vec(**HOW), LogisticRegression())
    assert pipeline.fit(TEXTS, LABELS).score(TEXTS, LABELS) == 1
    assert pipeline[:-1].get_feature_names_out()[:2].tolist() == ["word2vec0", "word2vec1"]
    assert pipeline.predict([["cat", "unknown"], ["red"]]).tolist() == [0, 1]


def test_grid_search_chooses_parameters():
    search = GridSearchCV(
        make_pipeline(Word2Vec(**HOW), LogisticRegression()), {"word2vec__epochs": [1, 2]}, cv=2, error_score="raise"
    )
    search.fit(TEXTS, LABELS)
    assert search.best_params_["word2vec__epochs"] in (1, 2)
    assert search.cv_results_["mean_test_score"].shape == (2,)


def test_rows_with_a_column():
    rows = pd.DataFrame({"text": [" ".join(text) for text in TEXTS]})
    features = Word2Vec(**HOW, column="text").fit_transform(rows, LABELS)
    assert features.shape == (200, 16)
    assert np.array_equal(features, Word2Vec(**HOW).fit_transform(iter(TEXTS)))


def test_labels_of_vertices_are_refused_where_their_order_is_unknown():
    model = DeepWalk(dim=16, window=3, negative=3, epochs=1, threads=1)
    with pytest.raises(Any2VecError, match="labels say nothing of the order"):
        model.fit_transform(karate_club().edges, [0, 1] * 17)
    with pytest.raises(Any2VecError, match="a list of their names is expected, not '34'"):
        model.fit(karate_club().edges).transform("34")


@pytest.mark.parametrize("texts", ["text.txt", ["text.txt"], Word2Vec(min_count=1, cache=None).read(TEXTS)])
def test_what_cannot_be_transformed_is_not_trained_on(texts):
    model = Word2Vec(**HOW)
    with pytest.raises(Any2VecError, match="of tokens"):
        model.fit_transform(texts)
    assert not hasattr(model, "vectors_")


def test_vertices_have_their_vectors():
    model = DeepWalk(dim=16, window=3, negative=3, epochs=1, threads=1)
    features = model.fit_transform(karate_club().edges)
    assert np.array_equal(features, model.transform(model.vectors_.words))
    assert model.transform([34, "1"]).shape == (2, 16)


def test_what_is_not_trained_is_said():
    model = clone(Word2Vec(**HOW))
    with pytest.raises(Any2VecError, match="this Word2Vec is not trained yet: call fit first"):
        model.transform(TEXTS)
    with pytest.raises(Any2VecError, match="by its name: `communicator=`"):
        model.fit(TEXTS, type("Hosts", (), {"allgather": None})())
