import naive_vectors as naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from any2vec.corpus.vocabulary import Vocabulary
from any2vec.errors import Any2VecError
from any2vec.io import memory
from any2vec.vectors import Vectors, search


def random_vectors(number=200, dim=16, seed=0):
    matrix = np.random.default_rng(seed).standard_normal((number, dim)).astype(np.float32)
    return Vectors([f"w{i}" for i in range(number)], matrix)


@pytest.fixture
def vectors():
    return random_vectors()


def assert_same(found, expected):
    assert [word for word, _ in found] == [word for word, _ in expected]
    np.testing.assert_allclose([c for _, c in found], [c for _, c in expected], atol=1e-5)


def test_look_up(vectors):
    assert len(vectors) == 200
    assert vectors.dim == 16
    assert "w3" in vectors
    assert "x" not in vectors
    assert 3 not in vectors
    assert b"w3" not in vectors
    assert list(vectors)[:2] == ["w0", "w1"]
    assert vectors["w3"].shape == (16,)
    np.testing.assert_array_equal(vectors[["w3", "w1", "w3"]], vectors.matrix[[3, 1, 3]])
    assert vectors[[]].shape == (0, 16)
    assert vectors.counts.tolist() == [0] * 200
    assert repr(vectors) == "<Vectors: 200 words of 16 dimensions>"


def test_nothing_is_copied_and_nothing_can_be_written():
    buffer = np.ones((3, 16), np.float32)
    vectors = Vectors(Vocabulary(["a", "b", "c"], np.array([3, 2, 1])), buffer[:, :5], t=buffer[:, 5:10])
    assert np.shares_memory(vectors.matrix, buffer)
    assert np.shares_memory(vectors.t, buffer)
    with pytest.raises(ValueError, match="read-only"):
        vectors["a"][0] = 2
    buffer[0, 0] = 7
    assert vectors["a"][0] == 7
    assert vectors.counts.tolist() == [3, 2, 1]


@pytest.mark.parametrize(
    ("positive", "negative"), [(["w3"], []), (["w1", "w2"], ["w5"]), ([], ["w7"]), (["w1", "w1"], ["w2"])]
)
def test_most_similar(vectors, positive, negative):
    expected = naive.most_similar(vectors.words, vectors.matrix, positive, negative, 7)
    assert_same(vectors.most_similar(positive, negative, topn=7), expected)


def test_a_norm_that_no_number_holds():
    largest = np.finfo(np.float32).max
    vectors = Vectors(["a", "b"], np.array([[1, 0], [largest, largest]], np.float32))
    with pytest.raises(Any2VecError, match="the vector of 'b' is too long for cosines"):
        vectors.most_similar("a")


def test_a_vector_can_be_asked_about(vectors):
    assert_same(vectors.most_similar(vectors["w3"] * 5, topn=4)[1:], vectors.most_similar("w3", topn=3))
    assert_same(vectors.most_similar([vectors["w3"]], topn=1), [("w3", 1.0)])
    assert vectors.similarity(vectors["w3"], "w3") == pytest.approx(1)
    with pytest.raises(Any2VecError, match="shape"):
        vectors.most_similar(np.ones(3, np.float32))
    with pytest.raises(Any2VecError, match="the query vector is not finite"):
        vectors.most_similar(np.full(16, np.nan, np.float32))


def test_batches_give_what_single_questions_give(vectors, monkeypatch):
    queries = [*vectors.words[:50], vectors.matrix[3]]
    expected = [vectors.most_similar(query, topn=6) for query in queries]
    monkeypatch.setattr(search, "_BLOCK_ROWS", 7)
    monkeypatch.setattr(search, "_BLOCK_QUERIES", 3)
    for found, wanted in zip(vectors.most_similar_batch(queries, topn=6), expected, strict=True):
        assert_same(found, wanted)
    for found, wanted in zip(vectors.most_similar_batch(queries, topn=1), expected, strict=True):
        assert_same(found, wanted[:1])
    assert vectors.most_similar_batch([]) == []
    assert len(vectors.most_similar_batch("w1", topn=2)[0]) == 2
    assert vectors.most_similar_batch(vectors.matrix[:2], topn=1)[1][0][0] == "w1"


def test_restrict_and_topn(vectors):
    everything = vectors.most_similar("w3", topn=1000)
    assert len(everything) == 199
    first = [pair for pair in everything if int(pair[0][1:]) < 20]
    assert_same(vectors.most_similar("w3", topn=1000, restrict=20), first)
    assert_same(vectors.most_similar("w3", topn=np.int64(3), restrict=np.int32(1000)), everything[:3])
    assert_same(vectors.most_similar("w100", topn=1, restrict=20)[:1], vectors.most_similar("w100", restrict=20)[:1])
    assert vectors.most_similar("w3", topn=0) == []
    alone = Vectors(["a"], np.ones((1, 2), np.float32))
    assert alone.most_similar("a") == []
    assert alone.most_similar("a", topn=1) == []


def test_ties_are_in_the_order_of_ids(monkeypatch):
    vectors = Vectors(list("abcdefghi"), np.ones((9, 2), np.float32))
    for rows in (2, 100):
        monkeypatch.setattr(search, "_BLOCK_ROWS", rows)
        monkeypatch.setattr(search, "_BLOCK_QUERIES", 1)
        assert [word for word, _ in vectors.most_similar("c", topn=4)] == list("abde")
        assert [word for word, _ in vectors.most_similar("a", topn=1)] == ["b"]


def test_analogy():
    rows = np.array([[1, 0, 0], [1, 1, 0], [0, 0, 1], [0, 1, 1], [1, 1, 1]], np.float32)
    vectors = Vectors(["man", "king", "woman", "queen", "other"], rows)
    assert vectors.analogy("man", "king", "woman", topn=1)[0][0] == "queen"
    assert vectors.analogy("man", "king", "woman") == vectors.most_similar(["king", "woman"], ["man"])


@pytest.mark.parametrize(
    ("word", "near"), [("Paris", "'paris'"), ("parsi", "'paris'"), (" london", "'london'"), ("qqqqqqq", "")]
)
def test_unknown_words_are_named_with_what_is_spelt_nearly_so(word, near):
    vectors = Vectors(["the", "paris", "london"], np.ones((3, 2), np.float32))
    for ask in vectors.most_similar, vectors.__getitem__, lambda w: vectors.similarity("the", w):
        with pytest.raises(Any2VecError) as caught:
            ask(word)
        assert repr(word) in str(caught.value)
        assert near in str(caught.value)
    with pytest.raises(Any2VecError, match="a word is expected, not None"):
        vectors[[None]]


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_rows_that_are_not_finite_are_named(value, monkeypatch):
    monkeypatch.setattr(memory, "_BLOCK", 4)
    matrix = np.ones((9, 2), np.float32)
    matrix[5, 1] = value
    vectors = Vectors(list("abcdefghi"), matrix)
    with pytest.raises(Any2VecError, match=f"'f' holds {value}"):
        vectors.most_similar("a")
    with pytest.raises(Any2VecError, match="'f' is not finite"):
        vectors.similarity("f", "a")


@given(
    hnp.arrays(
        np.float32,
        st.tuples(st.integers(2, 9), st.integers(1, 4)),
        elements=st.floats(-9, 9, width=16, allow_subnormal=False),
    ),
    st.integers(1, 12),
)
def test_cosines_are_cosines(matrix, topn):
    words = [str(i) for i in range(len(matrix))]
    found = Vectors(words, matrix).most_similar("0", topn=topn)
    expected = naive.most_similar(words, matrix, ["0"], [], topn)
    np.testing.assert_allclose([c for _, c in found], [c for _, c in expected], atol=1e-4)
    assert len({word for word, _ in found}) == len(found)


ONES = np.ones((2, 3), np.float32)


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda v: v.most_similar(5.5), "a word, a vector or a sequence of these is expected, not 5.5"),
        (lambda v: v.most_similar(b"34"), "expected, not b'34'"),
        (lambda v: v.most_similar(None), "at least one word or vector"),
        (lambda v: v.most_similar([]), "at least one word or vector"),
        (lambda v: v.most_similar([["w1", "w2"]]), r"a word or a vector is expected, not \['w1', 'w2'\]"),
        (lambda v: v.most_similar("w1", 5), "a sequence of these is expected, not 5"),
        (lambda v: v.most_similar_batch(5), "a sequence of these is expected, not 5"),
        (lambda v: v.most_similar_batch([None]), "a word or a vector is expected, not None"),
        (lambda v: v.most_similar("w1", topn=2.5), "`topn` is 2.5; it must be a whole number from 0 up"),
        (lambda v: v.most_similar_batch(["w1"], topn=None), "`topn` is None; it must"),
        (lambda v: v.most_similar("w1", restrict=5, restrict_vocab=5), "are the same; give one"),
        (lambda v: v.most_similar("w1", clip_start=-1), "`clip_start` is -1; it must"),
        (lambda v: v.most_similar("w1", clip_end=0), "`clip_end` is 0; it must"),
        (lambda v: v.most_similar([("w1", "w2")]), r"weight of an input is 'w2'; it must be a finite number"),
        (lambda v: v.most_similar([("w1", 10**400)]), r"weight of an input is 1000.*; it must be a finite number"),
        (lambda v: v.most_similar([("w1", np.nan)]), "weight of an input is nan"),
        (lambda v: v.most_similar("w1", restrict=0), "`restrict` is 0; it must be a whole number from 1 up"),
        (lambda v: v.most_similar_batch(["w1"], restrict=-1), "`restrict` is -1; it must"),
        (lambda v: v.analogy("w1", "w2", "w3", restrict=-1), "`restrict` is -1; it must"),
        (lambda v: v.analogy("w1", "w2", 3.5), "a word or a vector is expected, not 3.5"),
        (lambda v: v.similarity("w1", b"34"), "a word or a vector is expected, not b'34'"),
        (lambda v: v[b"34"], "a word is expected, not b'34'"),
        (lambda v: v[None], "a word is expected, not None"),
        (lambda _: Vectors(["a", "b"], [[1, 2], [3]]), "the matrix is not an array of numbers"),
        (lambda _: Vectors(5, ONES), "a sequence of words is expected, not 5"),
        (lambda _: Vectors(["a"], ONES), "1 words do not fit a matrix of shape"),
        (lambda _: Vectors(["a", "a"], ONES), "'a' occurs twice"),
        (lambda _: Vectors(["a", "b"], ONES, counts=np.array([1])), "2 words do not fit 1 counts"),
        (lambda _: Vectors(["a", "b"], ONES, t=ONES[:, :2]), "does not fit e"),
        (lambda _: Vectors(["a", None], ONES), "a word is expected, not None, which is word 1"),
        (lambda _: Vectors(["a", "b"], ONES, counts=["x", 1]), "the counts are not whole numbers"),
    ],
)
def test_arguments_that_make_no_sense(vectors, ask, message):
    with pytest.raises(Any2VecError, match=message) as caught:
        ask(vectors)
    assert "\n" not in str(caught.value)
