"""Estimators among scikit-learn's: means of texts, pipelines, grid search, its own checks."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils import estimator_checks

from any2vec import Any2VecError, DeepWalk, Vectors, Word2Vec
from any2vec.graph import karate_club

HOW = {"dim": 16, "window": 3, "negative": 3, "min_count": 1, "sample": 0, "epochs": 5, "threads": 1}
TEXTS = [["cat", "dog", "cow", "hen"], ["red", "green", "blue", "grey"]] * 100
LABELS = [0, 1] * 100


class OfNumbers(Word2Vec):
    """Takes the numbers that scikit-learn's checks give for tokens."""

    def fit(self, X, y=None):  # noqa: N803
        return super().fit(np.concatenate([np.round(X), np.round(X)], axis=1).astype(int).tolist())

    def transform(self, X):  # noqa: N803
        return super().transform(np.round(X).astype(int).tolist())


CHECKS = [  # others need sparse matrices, or the type of the input as that of the output
    "check_dict_unchanged",
    "check_estimators_pickle",
    "check_fit_idempotent",
    "check_methods_sample_order_invariance",
    "check_methods_subset_invariance",
    "check_pipeline_consistency",
    "check_do_not_raise_errors_in_init_or_set_params",
    "check_dont_overwrite_parameters",
    "check_estimator_repr",
    "check_estimator_tags_renamed",
    "check_estimators_fit_returns_self",
    "check_estimators_overwrite_params",
    "check_estimators_unfitted",
    "check_fit_score_takes_y",
    "check_get_params_invariance",
    "check_mixin_order",
    "check_n_features_in_after_fitting",
    "check_no_attributes_set_in_init",
    "check_parameters_default_constructible",
    "check_positive_only_tag_during_fit",
    "check_readonly_memmap_input",
    "check_set_params",
    "check_transformers_unfitted",
    "check_valid_tag_types",
]


@pytest.mark.parametrize("name", CHECKS)
def test_checks_of_scikit_learn(name):
    if not hasattr(estimator_checks, name):
        pytest.skip("of a later scikit-learn")
    getattr(estimator_checks, name)("Word2Vec", OfNumbers(**HOW))


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
