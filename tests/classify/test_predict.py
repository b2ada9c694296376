"""Prediction: the plain twin, fastText itself, and what users give."""

from contextlib import suppress

import numpy as np
import pytest
from marks import slow
from naive_lines import naive_probabilities, naive_rows

from any2vec.classify.model import LOSSES, LabelModel, LineSettings
from any2vec.corpus.lines import first_gram, longer_gram, word_hash
from any2vec.errors import Any2VecError

WORDS = ["</s>", "the", "a", "cat", "größe", "a_word_of_more_than_fifteen_bytes", "中文", "\udce9t", "x"]
LINES = [
    "the cat",
    "",
    " \t the  größe\vcat \r",
    "__label__b the __label__unseen x",
    "unknown words alone",
    "a_word_of_more_than_fifteen_bytes a_word_of_more_than_fifteen_bytes_ 中文 中文中",
    "the </s> cat",
    "\udce9t \x01the\x02 the",
    " ".join(["cat the x"] * 1200),
    "y" * 30_000 + " the",
]


def model_of(loss="softmax", labels=5, dim=6, share=0.5, words=WORDS, **settings):
    random = np.random.default_rng(3)
    how = LineSettings(loss=loss, **settings)
    ids = np.flatnonzero(random.random(how.buckets) < share)
    e = random.normal(size=(len(words) + len(ids), dim)).astype(np.float32)
    t = random.normal(size=(labels, dim)).astype(np.float32)
    counts = np.sort(random.integers(1, 50, labels))[::-1].copy()
    names = [f"l{i}" for i in range(labels)]
    return LabelModel(list(words), np.ones(len(words), np.int64), names, counts, how, ids, e, t)


def encoded(line):
    return line.encode("utf-8", "surrogateescape")


SETTINGS = {
    "words": {},
    "bigrams": {"word_ngrams": 2, "buckets": 50},
    "all buckets": {"word_ngrams": 3, "buckets": 64, "share": 2},
    "characters": {"least": 1, "most": 3, "buckets": 700},
    "pruned": {"word_ngrams": 5, "least": 2, "most": 4, "buckets": 1000, "share": 0.1, "counts_unknown": False},
    "no labels in the text": {"prefix": ""},
    "no end": {"words": WORDS[1:], "word_ngrams": 2, "buckets": 3},
}


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("name", SETTINGS)
def test_the_plain_twin(name, loss):
    model = model_of(loss, **SETTINGS[name])
    found = model.scores(LINES)
    assert found.shape == (len(LINES), 5)
    labels, best = model.predict(LINES, k=-1)
    for i, line in enumerate(LINES):
        expected = naive_probabilities(encoded(line), model)
        if expected is None:
            assert set(labels[i]) == {None}
            continue
        assert np.abs(found[i] - expected).max() < (3e-6 if len(line) < 1000 else 1e-3)  # of many thousand rows
        assert labels[i].tolist() == [model.labels[j] for j in np.argsort(-found[i], kind="stable")]
        assert (best[i] == np.sort(found[i])[::-1]).all()
    assert model.known(LINES).tolist() == [list(naive_rows(encoded(line), model)[1]) for line in LINES]


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize(("labels", "dim"), [(1, 1), slow(2, 100), (70, 16), slow(301, 33)])
def test_sizes(loss, labels, dim):
    model = model_of(loss, labels, dim, word_ngrams=2, buckets=9)
    lines = LINES * 20  # more than are scored together
    found = model.scores(lines)
    for i, line in enumerate(LINES):
        assert np.abs(found[i] - naive_probabilities(encoded(line), model)).max() < (3e-6 if len(line) < 1000 else 1e-3)
        assert (found[i :: len(LINES)] == found[i]).all()


@pytest.mark.parametrize("loss", LOSSES)
def test_a_threshold_and_the_best_k(loss):
    model = model_of(loss, 40)
    scores = model.scores(LINES)
    for k, threshold in ((1, 0.0), (3, 0.03), (7, 0.5), (100, 0.02)):
        labels, p = model.predict(LINES, k, threshold)
        assert labels.shape == p.shape == (len(LINES), min(k, 40))
        for i, of_line in enumerate(scores):
            best = [j for j in np.argsort(-of_line, kind="stable")[:k] if of_line[j] >= np.float32(threshold)]
            assert [label for label in labels[i] if label] == [model.labels[j] for j in best]
            assert (p[i] == np.append(of_line[best], np.zeros(len(p[i]) - len(best)))).all()


def test_one_text_and_lists_of_tokens():
    model = model_of(word_ngrams=2, buckets=30)
    labels, p = model.predict("the cat", k=2)
    many, ps = model.predict(["the cat", ["the", "cat"], "the\ncat"], k=2)
    assert many.tolist() == [labels] * 3
    assert (ps == p).all()
    assert model.predict("the cat", threshold=1.0)[0] == []
    assert model.predict([])[0].shape == (0, 1)
    assert model.predict(iter(["x"]), threads=1)[0].shape == (1, 1)


def test_raw_text():
    plain, raw = model_of(), model_of(lowercase=True, tokenize=True)
    assert (raw.scores(["The CAT, Größe"]) == plain.scores(["the cat , größe"])).all()
    assert (raw.known(["The cat."]) == [2, 3]).all()


def test_threads_change_nothing():
    model = model_of(least=2, most=5, buckets=500)
    lines = [f"{line} w{i}" for i in range(900) for line in LINES[:7]]
    assert (model.scores(lines, threads=1) == model_of(least=2, most=5, buckets=500).scores(lines, threads=5)).all()


def test_a_view_of_padded_rows():
    model = model_of(dim=32)
    narrow = [
        LabelModel(**{**vars(model_of()), "e": e, "t": model.t[:, :5]}) for e in (model.e[:, :5], model.e[:, :5].copy())
    ]
    assert (narrow[0].scores(LINES) == narrow[1].scores(LINES)).all()


@pytest.mark.parametrize(
    ("texts", "how", "message"),
    [
        ("a", {"k": 0}, "`k` is 0"),
        ("a", {"k": "x"}, "`k` is 'x'"),
        ("a", {"threshold": 1.5}, "`threshold` is 1.5"),
        ("a", {"threshold": float("nan")}, "`threshold` is nan"),
        (["a", None], {}, r"text 1 is of type NoneType \(None\)"),
        ([["a"], ["b", 5.5]], {}, "text 1 is of type list"),
        (7, {}, "texts are 7"),
        (["a"], {"threads": 0}, "`threads` is 0"),
    ],
)
def test_what_is_refused(texts, how, message):
    with pytest.raises(Any2VecError, match=message):
        model_of().predict(texts, **how)


def test_known_hashes_of_fasttext():
    text = np.frombuffer("</s> größe".encode(), np.uint8)
    assert word_hash(text, 0, 0) == 2166136261 - 2**32
    assert word_hash(text, 0, 4) == 3617362777 - 2**32  # as `Dictionary::hash` has it
    assert longer_gram(np.uint64(first_gram(np.int32(-1))), np.int32(2)) == (-116049371 + 2) % 2**64


@pytest.mark.parametrize("loss", ["softmax", "ova", "hierarchical"])
def test_scores_that_are_not_finite(loss):
    model = model_of(loss)
    model.t[1::2], model.e[:] = 3e38, 3e38
    for k in (1, -1):
        assert np.isfinite(model.predict(LINES, k)[1]).all()
    assert np.isfinite(model.scores(LINES)).all()


def test_explanations():
    model = model_of("ova", word_ngrams=2, least=2, most=3, buckets=300, share=0.7)
    line = "the cat größe cat the cat unknown"
    parts = model.explain(line, "l2")
    p = model.scores([line])[0, 2]
    assert np.isclose(sum(score for _, score in parts), np.log(p / (1 - p)), atol=1e-5)
    assert [abs(score) for _, score in parts] == sorted((abs(score) for _, score in parts), reverse=True)
    names = [name for name, _ in parts]
    assert len(set(names)) == len(names)
    assert {"the", "cat", "</s>"} <= set(names)
    assert model.explain(line.split(), "l2") == parts
    alone = dict(model_of("ova").explain("the x x", "l1"))
    e, t = model_of("ova").e, model_of("ova").t
    assert np.isclose(alone["x"], 2 * e[8] @ t[1] / 4)
    with pytest.raises(Any2VecError, match="'nope' is no label"):
        model.explain(line, "nope")
    with pytest.raises(Any2VecError, match="hierarchical"):
        model_of("hierarchical").explain(line, "l1")


TRAINED = {
    "softmax": {"wordNgrams": 2, "bucket": 500, "dim": 20},
    "hs": {"minn": 2, "maxn": 4, "bucket": 3000, "dim": 16},
    "ova": {"wordNgrams": 3, "minn": 3, "maxn": 3, "bucket": 1000, "dim": 7},
    "ns": {"dim": 10, "bucket": 0},
}


def trained(fasttext, path, **how):
    """Train with fastText, which leaves most rows as the memory was: numbers may be huge, or none."""
    for seed in range(20):
        with suppress(RuntimeError):
            model = fasttext.train_supervised(
                str(path), thread=1, verbose=0, minCount=2, epoch=20, lr=0.3, seed=seed, **how
            )
            if np.abs(model.get_input_matrix()).max() < 100:  # not of a NaN
                return model
    pytest.skip("fastText had rows of what was in memory in each of 20 runs")


@pytest.mark.parametrize("loss", TRAINED)
def test_as_fasttext_predicts(loss, tmp_path):
    fasttext = pytest.importorskip("fasttext", reason="fastText's own package is not installed")
    random = np.random.default_rng(1)
    words = [f"w{i}é{i % 7}" for i in range(300)]
    lines = [" ".join(random.choice(words, random.integers(1, 20))) for _ in range(600)]
    labels = random.integers(0, 12, (600, 2)) ** 2 // 12
    text = "".join(f"__label__{a} __label__{b} {line}\n" for (a, b), line in zip(labels, lines, strict=True))
    (tmp_path / "train").write_text(text)
    theirs = trained(fasttext, tmp_path / "train", loss=loss, **TRAINED[loss])
    how = theirs.f.getArgs()
    names, counts = theirs.get_labels(include_freq=True)
    settings = LineSettings(
        how.wordNgrams,
        how.bucket,
        how.minn * (how.maxn > 0),
        how.maxn,
        loss={"hs": "hierarchical", "ns": "negative"}.get(loss, loss),
    )
    own, word_counts = theirs.get_words(include_freq=True)
    e, t = theirs.get_input_matrix(), theirs.get_output_matrix()
    if loss == "hs":
        t = np.concatenate([-t[-2::-1], t[-1:]])
    ids = np.arange(len(e) - len(own))
    model = LabelModel(own, word_counts, [name[9:] for name in names], counts, settings, ids, e, t)
    asked = [*lines[:200], "nothing known here", "", "w1é1 __label__1 w2é2 __label__x"]
    labels, p = model.predict(asked, k=3)
    for i, line in enumerate(asked):
        expected = theirs.f.predict(f"{line}\n", 3, 0.0, "strict")  # `predict` of the package fails with NumPy 2
        if loss in ("softmax", "hs"):
            exact = np.sort(naive_probabilities(line.encode(), model, 1e-5 if loss == "hs" else 0.0))[::-1][:3]
            assert np.abs([q for q, _ in expected] - exact).max() < 2.1e-5  # fastText adds 1e-5
            assert np.abs(p[i] - exact).max() < (1e-4 if loss == "hs" else 2e-6)
        else:  # it looks sigmoids up in a table of 512
            assert np.abs([q for q, _ in expected] - p[i]).max() < 8e-3
        if p[i, 0] - p[i, 1] > 0.01:
            assert labels[i, 0] == expected[0][1][9:]
