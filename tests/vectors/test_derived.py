"""Vectors made of others: some of their words, or more."""

import numpy as np
import pytest
from test_gensim_names import COUNTS, DIM, MATRIX, NAMES, NUMBER, OTHER, gensim_vectors

from any2vec import Any2VecError, Vectors, load, save

SOME = ["w9", "x", "w3", "w9", "w12", "y"]


@pytest.fixture
def vectors():
    return Vectors(NAMES, MATRIX, counts=COUNTS, t=MATRIX + 1)


def test_vectors_for_all_of_any_iterable(vectors, tmp_path):
    for kind in (tuple, iter, dict.fromkeys, np.array):
        found = vectors.vectors_for_all(kind(SOME))
        assert list(found.words) == ["w9", "w3", "w12"]
        np.testing.assert_array_equal(found.matrix, MATRIX[[9, 3, 12]])
    assert type(found) is Vectors
    assert vectors.vectors_for_all(SOME, copy_vecattrs=False).counts.tolist() == [3, 2, 1]  # as gensim's
    assert list(vectors.vectors_for_all("w9").words) == ["w9"]
    none = vectors.vectors_for_all(["x"])
    assert (len(none), none.dim, none.t) == (0, DIM, None)
    integers = Vectors([12, 7, -5], np.eye(3)).vectors_for_all([7, 8, "12"])
    assert integers.words == ["7", "12"]
    assert Vectors(["a"], np.ones((1, 2))).vectors_for_all(["a"]).counts.tolist() == [0]  # still unknown
    save(vectors.vectors_for_all(SOME), tmp_path / "some")
    assert load(tmp_path / "some").counts.tolist() == COUNTS[[9, 3, 12]].tolist()


@pytest.mark.parametrize("replace", [False, True])
def test_added_vectors_are_gensims(vectors, replace):
    words, rows = ["w9", "new", "w3", "newer"], np.random.default_rng(1).standard_normal((4, DIM))
    theirs = gensim_vectors()
    theirs.add_vectors(words, rows, replace=replace)
    for given in (rows, list(rows), rows.tolist()):
        ours = vectors.add_vectors(words, given, replace=replace)
        assert list(ours.words) == theirs.index_to_key == [*NAMES, "new", "newer"]
        np.testing.assert_array_equal(ours.matrix, theirs.vectors)
    assert ours.counts.tolist() == [*COUNTS.tolist(), 0, 0]
    assert ours.most_similar("new", topn=3) == ours.most_similar(ours["new"], topn=4)[1:]
    assert (len(vectors), vectors.matrix.tolist()) == (NUMBER, MATRIX.tolist())  # they do not change
    assert ours.t is None


def test_one_vector_is_added(vectors):
    more = vectors.add_vectors("new", OTHER).add_vectors(np.int64(5), OTHER[None])
    more = more.add_vectors("w3", OTHER, replace=True)
    assert list(more.words[-2:]) == ["new", "5"]
    assert more["new"].tolist() == more["w3"].tolist() == OTHER.tolist()


def test_relative_cosine_similarity(vectors):
    for topn in (1, 10):
        expected = gensim_vectors().relative_cosine_similarity("w3", "w4", topn)
        assert vectors.relative_cosine_similarity("w3", "w4", topn) == pytest.approx(expected, abs=1e-6)
    best = [cosine for _, cosine in vectors.most_similar("w3", topn=2)]
    nearest = vectors.most_similar("w3", topn=1)[0][0]
    assert vectors.relative_cosine_similarity("w3", nearest, 2) == pytest.approx(best[0] / sum(best))


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda v: v.vectors_for_all(5), "a word, a vector or a sequence of these is expected, not 5"),
        (lambda v: v.vectors_for_all(["w1", None]), "a word is expected, not None"),
        (lambda v: v.vectors_for_all(["w1", OTHER]), "a word is expected, not array"),
        (lambda v: v.vectors_for_all([3]), "3 is an integer, and stands for a word only where all words are integers"),
        (lambda v: v.add_vectors(["a", "b"], MATRIX[:1]), "2 words do not fit a matrix of shape"),
        (lambda v: v.add_vectors(["a", "a"], MATRIX[:2]), "the word 'a' occurs twice"),
        (lambda v: v.add_vectors(["a"], OTHER), r"1 words do not fit a matrix of shape \(7,\)"),
        (lambda v: v.add_vectors("a", OTHER[:3]), "vectors of 3 dimensions cannot be added to vectors of 7"),
        (lambda v: v.add_vectors("a", [[1], [1, 2]]), "the matrix is not an array of numbers"),
        (lambda v: v.add_vectors("a", "b"), "the matrix is not an array of numbers"),
        (lambda v: v.add_vectors(["a", None], MATRIX[:2]), "a word is expected, not None"),
        (lambda v: v.add_vectors(None, OTHER), "a sequence of words is expected, not None"),
        (lambda v: v.relative_cosine_similarity("x", "w1"), "no vector for 'x'"),
        (lambda v: v.relative_cosine_similarity("w1", "x"), "no vector for 'x'"),
        (lambda v: v.relative_cosine_similarity("w1", "w2", 0), "`topn` is 0; it must be a whole number from 1 up"),
        (lambda v: v.relative_cosine_similarity("w1", "w2", None), "`topn` is None"),
        (
            lambda _: Vectors(["a", "b"], np.eye(2)).relative_cosine_similarity("a", "b"),
            "the cosines of 'a' and the words nearest to it add up to 0, not above 0",
        ),
    ],
)
def test_arguments_that_make_no_sense(vectors, ask, message):
    with pytest.raises(Any2VecError, match=message):
        ask(vectors)
