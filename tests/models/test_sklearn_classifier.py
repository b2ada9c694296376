"""`Classifier` among scikit-learn's: what labels may be, pipelines, grid search, its own checks."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone, is_classifier
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, MultiLabelBinarizer
from test_sklearn import OfNumbers, numbers, series

from any2vec import Any2VecError, Classifier

HOW = {"dim": 20, "epochs": 10, "alpha": 0.5, "threads": 1}
TEXTS = ["a fine film", "a dull film", "so fine", "very dull"] * 10
LABELS = ["good", "bad"] * 20
MATRIX = np.array([[1, 0, 0, 1], [0, 1, 0, 1]] * 20)
LISTS = [["good", "new"], ["bad"]] * 20
FRAME = pd.DataFrame({"text": TEXTS, "label": LABELS}, index=range(7, 47))


@pytest.fixture(scope="module")
def model():
    return Classifier(**HOW).fit(TEXTS, LABELS)


@pytest.mark.parametrize(
    ("y", "classes"),
    [
        (LABELS, ["bad", "good"]),
        (np.array(LABELS), ["bad", "good"]),
        (np.array(LABELS)[:, None], ["bad", "good"]),
        (pd.Series(LABELS, index=range(5, 45)), ["bad", "good"]),
        (pd.Series(LABELS, dtype="category"), ["bad", "good"]),
        (FRAME[["label"]], ["bad", "good"]),
        ([10, 9] * 20, [9, 10]),
        (np.array([10, 9] * 20), [9, 10]),
        (np.array([True, False] * 20), [False, True]),
        (["very good", "so ü\ud800"] * 20, ["so ü\ud800", "very good"]),
        (["a", "ab"] * 20, ["a", "ab"]),
        (["__label__a", "b"] * 20, ["__label__a", "b"]),
    ],
    ids=str,
)
def test_a_label_of_each_text(y, classes):
    found = Classifier(**HOW).fit(TEXTS, iter(y) if isinstance(y, list) else y)
    assert found.classes_.tolist() == classes
    assert found.predict(TEXTS).tolist() == np.asarray(y).ravel().tolist()
    assert found.predict(TEXTS).dtype == found.classes_.dtype
    assert found.score(TEXTS, y) == 1


@pytest.mark.parametrize(
    "texts",
    [
        [text.split() for text in TEXTS],
        np.array(TEXTS),
        pd.Series(TEXTS, index=range(40, 80)),
        (text for text in TEXTS),
        [f"__label__other {text}" for text in TEXTS],  # what looks like a label is none
    ],
    ids=["tokens", "array", "series", "generator", "labels"],
)
def test_texts(texts, model):
    found = Classifier(**HOW).fit(texts, LABELS)
    assert (found.model_.e == model.model_.e).all()
    if not hasattr(texts, "close"):
        assert (found.predict_proba(texts) == model.predict_proba(TEXTS)).all()


def test_rows_of_tables(model):
    of_rows = Classifier(**HOW, column="text")
    rows = FRAME.to_dict("records")
    for table in (FRAME, rows):
        assert (of_rows.fit(table, LABELS).model_.e == model.model_.e).all()
        assert of_rows.predict(table).tolist() == LABELS
    assert of_rows.predict(TEXTS[:2]).tolist() == LABELS[:2]  # a column is of tables
    assert of_rows.column == "text"
    with pytest.raises(Any2VecError, match="columns 'text', 'label'; say which holds the sentences: column='text'"):
        model.predict(FRAME)


@pytest.mark.parametrize(
    "given", [MATRIX, sparse.csr_array(MATRIX), pd.DataFrame(MATRIX)], ids=["array", "sparse", "frame"]
)
def test_a_matrix_of_labels_keeps_its_columns(given):
    found = Classifier(**HOW, loss="ova").fit(TEXTS, given)
    assert found.classes_.tolist() == [0, 1, 2, 3]
    assert (found.predict(TEXTS) == MATRIX).all()
    assert found.score(TEXTS, given) == 1
    assert found.predict_proba(TEXTS[:3]).shape == (3, 4)
    assert (found.predict_proba(TEXTS)[:, 2] == 0).all()  # no text has it


def test_lists_of_labels():
    found = Classifier(**HOW, loss="ova").fit(TEXTS, LISTS)
    assert found.predict(TEXTS) == LISTS
    assert found.score(TEXTS, LISTS) == 1
    again = Classifier(**HOW, loss="ova").fit(TEXTS, [set(labels) for labels in LISTS])
    ordered = Classifier(**HOW, loss="ova").fit(TEXTS, [sorted(labels) for labels in LISTS])
    assert (again.model_.e == ordered.model_.e).all()  # whatever the order of a set is
    assert found.score(TEXTS, [["good"], ["bad"]] * 20) == 0.5  # all labels of a text count


@pytest.mark.parametrize(
    ("texts", "y", "message"),
    [
        (TEXTS, LABELS[:-1], "40 texts and 39 labels were given"),
        (TEXTS, [*LABELS[:-1], b"x"], "label 39 is b'x'; a string or an integer is expected"),
        (TEXTS, np.array([0.5, 1.0] * 20), "label 0 is 0.5"),
        (TEXTS, [b"a", b"b"] * 20, "label 0 is b'a'"),
        (TEXTS, ["", "b"] * 20, "label 0 is ''"),
        (TEXTS, "good", "`y` is 'good'; give the label of each text"),
        (TEXTS, 3, "`y` is 3"),
        (TEXTS, [["a"], "b"] * 20, "label 1 is 'b', but others are lists of labels"),
        (TEXTS, MATRIX * 2, r"`y` has the shape \(40, 4\); such a matrix must be of zeros and ones"),
        (TEXTS, MATRIX * np.nan, "must be of zeros and ones"),
        (TEXTS, ["a"] * 40, "all lines have the label 'a'; two labels are needed"),
        (TEXTS, [[]] * 40, "no line has a label"),
        ("a fine film", ["a"], "`y` is given, but texts are 'a fine film'"),
        (None, LABELS, "the corpus is of type NoneType"),
        ([1] * 40, LABELS, "text 0 is 1; give strings, or lists of tokens"),
        ([*TEXTS[:-1], None], LABELS, "text 39 is None; give strings"),
        (FRAME, LABELS, "say which holds the sentences: column='text'"),
        ([], [], "the corpus is empty"),
    ],
)
def test_what_cannot_be_learned_from(texts, y, message):
    estimator = Classifier(**HOW)
    with pytest.raises(Any2VecError, match=message):
        estimator.fit(texts, y)
    assert not hasattr(estimator, "model_")


def test_what_cannot_be_scored(model):
    with pytest.raises(Any2VecError, match="40 texts and 3 labels"):
        model.score(TEXTS, LABELS[:3])
    with pytest.raises(Any2VecError, match="this Classifier is not trained yet: call fit first"):
        Classifier().predict(TEXTS)
    with pytest.raises(Any2VecError, match="texts are 'a fine film'; give a list"):
        model.predict("a fine film")


def test_probabilities_are_in_the_order_of_classes(model):
    found = model.predict_proba(TEXTS)
    assert model.classes_.tolist() == ["bad", "good"]
    assert (found[::2, 1] > found[::2, 0]).all()
    np.testing.assert_allclose(found.sum(axis=1), 1, rtol=1e-5)
    assert log_loss(LABELS, found, labels=model.classes_) < 0.3


def test_another_fit_forgets_the_first():
    found = Classifier(**HOW).fit(TEXTS, MATRIX).fit(TEXTS, LABELS)
    assert found.predict(TEXTS).tolist() == LABELS
    lines = [f"__label__{label} {text}".split() for label, text in zip(LABELS, TEXTS, strict=True)]
    of_lines = found.fit(TEXTS, MATRIX).fit(lines)
    assert of_lines.predict(TEXTS).tolist() == LABELS


def test_lowercase_and_tokens_as_in_files(tmp_path):
    loud, how = [f"{text.upper()}!" for text in TEXTS], {**HOW, "lowercase": True, "tokenize": True}
    names = ["Good", "BAD"] * 20
    (tmp_path / "text").write_text("".join(f"__label__{a} {b}\n" for a, b in zip(names, loud, strict=True)))
    one, two = Classifier(**how).fit(loud, names), Classifier(**how).fit(tmp_path / "text")
    assert one.classes_.tolist() == two.classes_.tolist() == ["BAD", "Good"]
    assert set(one.model_.words) == {"a", "fine", "film", "dull", "so", "very", "!", "</s>"}
    assert (one.model_.e == two.model_.e).all()
    assert (one.predict_proba(["a FINE film !"]) == one.predict_proba(["A fine film!"])).all()


def test_pipeline_grid_search_and_folds():
    assert is_classifier(Classifier())
    lower = FunctionTransformer(lambda texts: [text.lower() for text in texts])
    found = GridSearchCV(make_pipeline(lower, Classifier(**HOW)), {"classifier__alpha": [0.4, 0.5]}, cv=3)
    found.fit([text.upper() for text in TEXTS], LABELS)
    assert found.cv_results_["mean_test_score"].tolist() == [1, 1]
    assert found.predict(["A FINE FILM"]).tolist() == ["good"]
    assert cross_val_score(Classifier(**HOW), np.array(TEXTS), np.array(LABELS), cv=3).tolist() == [1, 1, 1]


def test_beside_a_linear_model_of_words():
    """On labels that follow from words, both are right, also with several labels."""
    several = MultiLabelBinarizer().fit_transform(LISTS)
    linear = make_pipeline(CountVectorizer(), OneVsRestClassifier(LogisticRegression())).fit(TEXTS, several)
    own = Classifier(**HOW, loss="ova").fit(TEXTS, several)
    assert (own.predict(TEXTS) == linear.predict(TEXTS)).all()


def test_features_for_another(model):
    tokens = [text.split() for text in TEXTS]
    found = make_pipeline(Classifier(**HOW), LogisticRegression()).fit(tokens, LABELS)
    assert found.score(tokens, LABELS) == 1
    assert found[0].multilabel_ == ""
    assert (found[0].model_.e == model.model_.e).all()


def test_copies(model):
    other = clone(model).set_params(dim=7, word_ngrams=2)
    assert (other.dim, other.word_ngrams, model.dim) == (7, 2, 20)
    assert not hasattr(other, "model_")
    with pytest.raises(ValueError, match="has no parameter `window_size`"):
        other.set_params(window_size=2)
    for same in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert (same.predict_proba(TEXTS) == model.predict_proba(TEXTS)).all()
        assert same.predict(TEXTS).tolist() == LABELS


class Rows(OfNumbers, Classifier):
    """A row is a text; its numbers are the tokens."""

    def _tokens(self, X):  # noqa: N803
        return [[f"{i}={number}" for i, number in enumerate(row)] for row in numbers(X).tolist()]

    def fit_transform(self, X, y=None):  # noqa: N803
        return self.fit(X, y).transform(X)

    def fit(self, X, y=None):  # noqa: N803
        return super().fit(self._tokens(X), y)

    def transform(self, X):  # noqa: N803
        return super().transform(series(self._tokens(X), X))

    def predict_proba(self, X):  # noqa: N803
        return super().predict_proba(self._tokens(X))


def test_texts_without_a_label_teach_nothing():
    """So columns that have nulls are taken; pandas makes floats of their integers."""
    marks = [1.0, 0.0] * 20
    model = Classifier(**HOW).fit([*TEXTS, "a", "b", "c"], [*marks, None, float("nan"), np.nan])
    assert model.classes_.tolist() == [0, 1]
    assert model.model_.label_counts.tolist() == [20, 20]
    assert model.score(TEXTS, marks) == model.score(TEXTS, np.array(marks).astype(int)) == 1


@pytest.mark.parametrize("name", ["window", "sample", "model", "context"])
def test_parameters_of_words_are_refused(name):
    value = {"window": 9, "sample": 1e-5, "model": "cbow", "context": "sum"}[name]
    with pytest.raises(Any2VecError, match=f"`{name}` is .*, which labels have no use for; leave it out"):
        Classifier(**{name: value}).check()


@pytest.mark.parametrize("text", ["a fine film " * 100, "a fine \0 film"])
def test_texts_without_labels_are_no_names_of_files(text):
    with pytest.raises(Any2VecError, match="is a text; give the labels of the texts, too"):
        Classifier(**HOW).fit([text] * 20)


def test_only_mapped_rows_are_copied_to_memory(tmp_path):
    model = Classifier(**HOW).fit(TEXTS, LABELS)
    for name, copied in (("m", True), ("m.bin", False), ("m.ftz", False)):
        model.save(tmp_path / name)
        loaded = Classifier.load(tmp_path / name).model_
        found = loaded.in_memory()
        assert (found is not loaded) == copied
        assert (found.scores(TEXTS) == loaded.scores(TEXTS)).all()
