"""`Classifier`: weights of labels, frozen words, going on, rows that are left after pruning."""

import numpy as np
import pytest
from marks import slow, slow_but
from test_classifier import by_hand, lines

from any2vec import Any2VecError, Classifier, Word2Vec
from any2vec.classify.model import LOSSES

HOW = {"dim": 20, "epochs": 2, "alpha": 0.5, "threads": 1}


@pytest.mark.parametrize("loss", slow_but(["softmax", "ova"], LOSSES))
def test_weights_equal_the_naive(loss):
    text = lines(several=True)
    model = Classifier(**HOW, loss=loss, class_weight={"fruit": 4, "sky": 2, "tools": 1}).fit(text)
    weights = [{"fruit": 1.0, "sky": 0.5, "tools": 0.25}[label] for label in model.model_.labels]
    rows, e, t, losses = by_hand(text, model, loss, weights=weights)
    np.testing.assert_allclose(model.model_.t, t, atol=2e-5)
    np.testing.assert_allclose(model.loss_, losses, rtol=1e-4)
    places = [rows[word] for word in model.model_.words]
    np.testing.assert_allclose(model.model_.e, e[places], atol=2e-5)


def test_balanced_weights():
    text = [["__label__rare", "a"], *[["__label__often", "b"]] * 4] * 9
    bits = [Classifier(**HOW, class_weight=w).fit(text).model_.e for w in ("balanced", "rare=4", {"often": 0.25})]
    assert (bits[0] == bits[1]).all()
    assert (bits[0] == bits[2]).all()
    assert (bits[0] != Classifier(**HOW).fit(text).model_.e).any()
    with pytest.raises(Any2VecError, match="has the label 'x'; the text has \\['often', 'rare'\\]"):
        Classifier(**HOW, class_weight="x=2").fit(text)


@pytest.mark.parametrize("hosts", [1, slow(3)])
@pytest.mark.parametrize("threads", [1, 2])
def test_frozen_words_keep_their_vectors(hosts, threads):
    text = lines(300)
    given = Word2Vec(dim=20, min_count=1, epochs=1, threads=1).fit(text).vectors_
    how = HOW | {"threads": threads, "hosts": hosts, "pretrained": given, "word_ngrams": 2, "buckets": 500}
    found = Classifier(**how, frozen=True).fit(text).vectors_
    known = [word for word in found.words if word in given]
    assert len(known) > 20
    assert all((found[word] == given[word]).all() for word in known)
    found = Classifier(**how, frozen=["red", "moon"]).fit(text).vectors_
    assert {word for word in known if (found[word] == given[word]).all()} == {"red", "moon"}
    with pytest.raises(Any2VecError, match="`frozen` is given, and words have parts"):
        Classifier(**how, frozen=True, subwords="2-3").fit(text)


@pytest.mark.parametrize("loss", ["softmax", slow("ova"), slow("negative")])
@pytest.mark.parametrize("more", [{}, {"word_ngrams": 2}, {"subwords": "2-3"}])
def test_going_on(loss, more, tmp_path):
    """With a rate of nearly 0, texts have the scores of before; a warm start has the bits of a saved one."""
    how = {**HOW, "loss": loss, "buckets": 500, **more}
    first = [line for line in lines(120) if "sky" not in line[0]]
    model = Classifier(**how).fit(first)
    model.save(tmp_path / "m")
    earlier, later = model.model_, lines(60, seed=9)
    still = Classifier(**how | {"alpha": 1e-9, "start": tmp_path / "m"}).fit(later).model_
    texts = [[word for word in line if "__label__" not in word] for line in first]
    order = [still.labels.index(label) for label in earlier.labels]
    scores, before = (np.log(one.scores(texts)) for one in (still, earlier))
    differences = (scores[:, order] - before)[:, 0]
    np.testing.assert_allclose(differences, differences[0] if loss != "softmax" else differences, atol=1e-4)
    assert set(earlier.words) < set(still.words)
    assert sum(still.label_counts) == len(first) + 60
    found = Classifier(**how, start=tmp_path / "m").fit(later).model_
    again = model.fit(later, warm_start=True).model_
    assert found.words == again.words
    assert (found.e == again.e).all()
    assert (found.t == again.t).all()


def test_what_cannot_go_on(tmp_path):
    Classifier(**HOW).fit(lines()).save(tmp_path / "m")
    for change, message in (
        ({"dim": 21}, "the earlier classifier has `dim` 20, not 21"),
        ({"loss": "ova"}, "has `loss` 'softmax', not 'ova'"),
        ({"word_ngrams": 2}, "has `word_ngrams` 1, not 2"),
        ({"label_prefix": "#"}, "has `label_prefix` '__label__', not '#'"),
    ):
        with pytest.raises(Any2VecError, match=message):
            Classifier(**HOW | {"start": tmp_path / "m"} | change).fit(lines())
    corpus = Classifier(**HOW, start=tmp_path / "m").read(lines())
    with pytest.raises(Any2VecError, match="has `word_ngrams` 1, not 2"):
        Classifier(**HOW, start=tmp_path / "m", word_ngrams=2).fit(corpus)
    Classifier(**HOW, loss="hierarchical").fit(lines()).save(tmp_path / "h")
    with pytest.raises(Any2VecError, match="its tree changes with the text"):
        Classifier(**HOW, loss="hierarchical", start=tmp_path / "h").fit(lines())
    with pytest.raises(Any2VecError, match="does not exist"):
        Classifier(**HOW, start=tmp_path / "nowhere").fit(lines())


@pytest.mark.parametrize("more", [{"word_ngrams": 2}, {"subwords": "2-3"}])
def test_only_rows_that_are_kept_are_trained_again(more):
    model = Classifier(**HOW, **more, buckets=500).fit(lines(120))
    small, again = model.quantized(40), model.quantized(40, lines(120))
    assert small.words == again.words
    assert small.ids.tolist() == again.ids.tolist()
    assert len(again.words) + len(again.ids) == 40
    assert (small.t != again.t).any()
    with pytest.raises(Any2VecError, match="has the label 'new', which the classifier does not have"):
        model.quantized(40, [*lines(120), ["__label__new", "red"]])


@pytest.mark.parametrize("dsub", [1, 2, 7])
@pytest.mark.parametrize("norms", [True, False])
def test_sizes_of_quantized_models(dsub, norms, tmp_path):
    model = Classifier(**HOW, word_ngrams=2, buckets=5000).fit(lines(2000))
    for size in (27_000, 29_000):
        small = model.quantized(size=size, dsub=dsub, norms=norms)
        from any2vec.classify import save

        save(small, tmp_path / "m.ftz", force=True)
        assert size - 1100 < (tmp_path / "m.ftz").stat().st_size <= size


def test_texts_and_labels_of_tables():
    texts, labels = ["a fine film", "a dull film"] * 20, ["good", "bad"] * 20
    rows = [{"text": text, "mark": label} for text, label in zip(texts, labels, strict=True)]
    model = Classifier(**HOW).fit(texts, labels)
    for table in (rows, iter(rows)):
        found = Classifier(**HOW, column="text", label_column="mark").fit(table)
        assert (found.model_.e == model.model_.e).all()
        assert found.classes_.tolist() == ["bad", "good"]
    with pytest.raises(Any2VecError, match="the rows are in memory: give them to `fit`"):
        Classifier(**HOW, column="text", label_column="mark").read(rows)
    with pytest.raises(Any2VecError, match="label 1 is '1', an earlier one 1; give one kind"):
        Classifier(**HOW).fit(["a", "b"], [1, "1"])


def test_texts_as_a_column_of_numpy():
    texts, labels = np.array([["a fine film"], ["a dull film"]] * 20), ["good", "bad"] * 20
    model = Classifier(**HOW).fit(texts, labels)
    assert (model.predict_proba(texts) == Classifier(**HOW).fit(texts[:, 0], labels).predict_proba(texts[:, 0])).all()
    with pytest.raises(Any2VecError, match="text 1 is nan; give strings, or lists of tokens"):
        model.fit(["a", float("nan")], ["good", "bad"])


def test_tokens_may_be_numbers():
    model = Classifier(**HOW).fit([[1, 2], [3, 4]] * 20, ["a", "b"] * 20)
    assert model.predict([[1, 2], ["3", 4]]).tolist() == ["a", "b"]
