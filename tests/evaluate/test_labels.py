"""Figures of labels beside scikit-learn's."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import confusion_matrix, precision_recall_fscore_support
from sklearn.preprocessing import MultiLabelBinarizer

from any2vec import Any2VecError
from any2vec.classify.model import LabelModel, LineSettings
from any2vec.evaluate.labels import evaluate_labels, lines_of

LABELS = ["a", "b", "c", "d"]  # of equal counts
WORDS = ["a", "b", "c", "d", "</s>"]


@pytest.fixture(scope="module")
def model():
    """Make a model in which a word speaks for the label of the same name; d is never predicted first."""
    e = np.eye(5, 4, dtype=np.float32)
    t = 6 * np.eye(4, dtype=np.float32)
    t[3] = -6
    ones = np.ones(5, np.int64)
    return LabelModel(WORDS, ones, LABELS, ones[:4], LineSettings(), np.zeros(0, np.int64), e, t)


def lines(several, number=300, seed=3):
    """Draw labels, which are also words, of which some are others."""
    random = np.random.default_rng(seed)
    for _ in range(number):
        labels = random.choice(LABELS, random.integers(1, 3) if several else 1, replace=False).tolist()
        words = [label if random.random() < 0.7 else str(random.choice(LABELS)) for label in labels]
        yield labels, " ".join([*(f"__label__{label}" for label in labels), *words])


@pytest.mark.parametrize(("k", "threshold", "several"), [(1, 0.0, False), (2, 0.0, True), (-1, 0.3, True)])
def test_figures_equal_those_of_scikit_learn(model, k, threshold, several):
    wanted, texts = zip(*lines(several), strict=True)
    found = evaluate_labels(model, iter(texts), k, threshold)
    predicted = [[one for one in row if one] for row in model.predict(texts, k, threshold)[0].tolist()]
    matrices = MultiLabelBinarizer(classes=LABELS)
    true, given = (matrices.fit_transform(rows) for rows in (wanted, predicted))
    expected = precision_recall_fscore_support(true, given, average="micro", zero_division=0)[:3]
    np.testing.assert_allclose((found.precision, found.recall, found.f1), expected)
    by_label = precision_recall_fscore_support(true, given, average=None, zero_division=0)
    rows = {row["label"]: [row[name] for name in ("precision", "recall", "f1", "lines")] for row in found.by_label()}
    np.testing.assert_allclose([rows[label] for label in LABELS], np.transpose(by_label))
    assert [row["lines"] for row in found.by_label()] == sorted(by_label[3].tolist(), reverse=True)
    assert (found.lines, found.without, found.unknown) == (300, 0, 0)
    assert 0.3 < found.precision < 0.95
    if not several:
        table = confusion_matrix([one for (one,) in wanted], [one for (one,) in predicted], labels=LABELS)
        pairs = {(LABELS[i], LABELS[j]): n for (i, j), n in np.ndenumerate(table) if n}
        assert found.confusion == pairs
        assert [*found.confusion.values()] == sorted(pairs.values(), reverse=True)


def test_labels_whose_prefix_is_not_known(model):
    """As in a file of fastText with labels such as #a: words that are labels are, and no others."""
    hashes = replace(model, labels=["#a", "#b", "#c", "#d"], settings=LineSettings(prefix=""))
    texts = [text.replace("__label__", "#") for _, text in lines(True)]
    found = evaluate_labels(hashes, ["#new #a b", "a b", *texts])
    expected = evaluate_labels(model, ["__label__a #new b", "a b", *(text for _, text in lines(True))])
    assert (found.right == expected.right).all()
    assert (found.precision, found.lines, found.without) == (expected.precision, 301, 1)
    with pytest.raises(Any2VecError, match="no line has a label, one of the model, such as '#a'"):
        evaluate_labels(hashes, ["a b"])


def test_only_a_file_begins_with_a_mark(tmp_path):
    (tmp_path / "text").write_bytes(b"\xef\xbb\xbf__label__a a\n\xef\xbb\xbf__label__b b\n")
    assert [*lines_of([str(tmp_path / "text")], None, None)] == ["__label__a a\n", "\ufeff__label__b b\n"]


def test_lines_without_labels_and_labels_without_rows(model):
    found = evaluate_labels(model, ["__label__a a", "a b", "__label__new b", "", "__label__b"], threads=1)
    assert (found.lines, found.without, found.unknown) == (3, 2, 1)
    assert found.labels == ("a", "b", "new", "c", "d")
    assert found.recall == found.right.sum() / 3
    with pytest.raises(Any2VecError, match="no line has a label, a word that begins with '__label__', such as"):
        evaluate_labels(model, ["a b", ""])
    with pytest.raises(Any2VecError, match="`k` is 0"):
        evaluate_labels(model, ["__label__a a"], 0)
