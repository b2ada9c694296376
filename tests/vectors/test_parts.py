"""Vectors that are means of rows of words and of their parts."""

import copy
import pickle

import numpy as np
import pytest
from naive_subwords import naive_mean

from any2vec.cluster.local import simulate
from any2vec.corpus.parts import Subwords
from any2vec.errors import Any2VecError, UnknownWordError
from any2vec.evaluate.analogies import evaluate_analogies, evaluate_similarity
from any2vec.vectors import Vectors
from any2vec.vectors.parts import Parts
from any2vec.vectors.questions import QuestionSection
from any2vec.vectors.sharded import ShardedVectors

WORDS = ["where", "there", "</s>", "here", "über", "a", "ab\udcffc"]
SETTINGS = Subwords(3, 5, 90_000)


def made(words=WORDS, settings=SETTINGS, dim=7, shuffled=True):
    """Return vectors of words whose n-grams all have rows, but some."""
    random = np.random.default_rng(1)
    ids = np.unique(settings.lists(words)[1]).astype(np.int64)[1:]
    if shuffled:
        random.shuffle(ids)
    own, rows = (random.normal(size=(number, dim)).astype(np.float32) for number in (len(words), len(ids)))
    parts = Parts(settings, own, ids, rows)
    return Vectors(words, parts.means(words), parts=parts)


@pytest.fixture(scope="module")
def vectors():
    return made()


def share_of(vectors, communicator, start=3):
    """Return the vectors of one of two hosts: words before or from `start`, and every other row of parts."""
    parts, half = vectors.parts, slice(start) if communicator.rank == 0 else slice(start, None)
    some = slice(communicator.rank, None, 2)
    own = Parts(parts.settings, parts.own[half], parts.ids[some], parts.rows[some], whole=False)
    t = None if vectors.t is None else vectors.t[half]
    how = {"counts": vectors.counts[half], "t": t, "loss": vectors.loss}
    return Vectors(vectors.words[half], vectors.matrix[half], parts=own, **how)


def naive(vectors, word):
    parts, i = vectors.parts, vectors.vocabulary.ids.get(word)
    return naive_mean(word, None if i is None else parts.own[i], parts.settings, parts.ids, parts.rows)


@pytest.mark.parametrize("shuffled", [True, False])
def test_vectors_equal_the_naive(shuffled, monkeypatch):
    monkeypatch.setattr("any2vec.vectors.parts._WORDS", 3)
    vectors = made(shuffled=shuffled)
    for word in WORDS:
        assert (vectors[word] == naive(vectors, word)).all()
    for word in ("wherever", "theree", "ther", "Über"):
        assert (vectors[word] == naive(vectors, word)).all()
    assert (vectors.parts.means(WORDS, threads=1) == vectors.parts.means(WORDS, threads=3)).all()
    assert (vectors["</s>"] == vectors.parts.own[2]).all()  # it has no parts


def test_all_buckets_may_have_rows():
    settings = Subwords(2, 3, 11)
    rows = np.random.default_rng(1).normal(size=(11, 3)).astype(np.float32)
    parts = Parts(settings, np.ones((1, 3)), np.arange(11), rows)
    assert (parts.vector("unseen") == naive_mean("unseen", None, settings, parts.ids, rows)).all()


def test_words_without_rows_of_parts_are_unknown(vectors):
    assert "wherever" in vectors
    assert "zzzzz" not in vectors
    with pytest.raises(UnknownWordError, match="no vector for 'zzzzz', nor for parts of it"):
        vectors["zzzzz"]
    with pytest.raises(UnknownWordError, match="no vector for '', nor"):
        vectors[""]
    with pytest.raises(UnknownWordError, match="no vector for 'wheree'; did you mean 'where'"):
        vectors.id("wheree")
    assert not vectors.has_index_for("wherever")
    assert vectors.get_index("wherever", -1) == -1
    assert 3 not in vectors


def test_unknown_words_are_asked_about_as_their_vectors_are(vectors):
    unseen, row = "wherever", vectors["wherever"]
    assert (vectors[["here", unseen]] == [vectors["here"], row]).all()
    assert vectors[[]].shape == (0, 7)
    assert vectors.most_similar(unseen) == vectors.most_similar(row)
    assert vectors.most_similar_batch([unseen, "here"]) == vectors.most_similar_batch([row, "here"])
    assert "here" not in dict(vectors.most_similar([unseen, "here"]))
    assert vectors.most_similar(unseen, clip_start=1) == vectors.most_similar(row, clip_start=1)
    assert vectors.most_similar_cosmul(unseen) == vectors.most_similar_cosmul(row)
    assert vectors.similar_by_word(unseen) == vectors.most_similar(row)
    assert vectors.similarity(unseen, "here") == vectors.similarity(row, "here")
    assert vectors.n_similarity([unseen, "zzzzz"], ["here"]) == pytest.approx(vectors.similarity(unseen, "here"))
    assert vectors.distances("here", [unseen, "there"]) == pytest.approx(
        [1 - vectors.similarity("here", unseen), 1 - vectors.similarity("here", "there")], abs=1e-6
    )
    assert vectors.most_similar_to_given("where", ["a", unseen]) == unseen
    nearer = [word for word, _ in vectors.most_similar(row)]
    assert vectors.closer_than(unseen, "a") == sorted(nearer[: nearer.index("a")], key=WORDS.index)
    assert vectors.rank("where", unseen) == 1 + len(vectors.closer_than("where", unseen))
    units = np.array([vectors.get_vector(word, norm=True) for word in (unseen, "where", "a")])
    farthest = (unseen, "where", "a")[int((units @ units.mean(axis=0)).argmin())]
    assert vectors.doesnt_match([unseen, "where", "a"]) == farthest
    assert (vectors.get_vector(unseen, norm=True) == vectors.get_mean_vector([unseen])).all()


def test_unknown_words_count_in_means_of_texts(vectors):
    texts = [["here", "wherever", "wherever", "zzzzz"], ["zzzzz"], [], ["wherever"], ["here"]]
    whole = np.mean([vectors["here"], vectors["wherever"], vectors["wherever"]], axis=0, dtype=float)
    wanted = np.array([whole, np.zeros(7), np.zeros(7), vectors["wherever"], vectors["here"]], np.float32)
    assert (vectors.means(texts) == wanted).all()


def test_unknown_words_count_in_pairs_not_in_analogies(vectors):
    pairs = [("Wherever", "here", 3.0), ("where", "there", 2.0), ("zzzzz", "here", 9.0), ("a", "where", 1.0)]
    found = evaluate_similarity(vectors, pairs)
    assert (found.used, found.skipped) == (3, 1)
    cosines = [vectors.similarity(*pair) for pair in (("wherever", "here"), ("where", "there"), ("a", "where"))]
    assert found.pearson == pytest.approx(np.corrcoef(cosines, [3, 2, 1])[0, 1])
    pearson, _, unknown = vectors.evaluate_word_pairs(pairs)
    assert (pearson.statistic, unknown) == (pytest.approx(found.pearson), 25)
    section = QuestionSection("s", [("where", "there", "here", "a"), ("where", "there", "here", "wherever")])
    assert evaluate_analogies(vectors, [section]).total.skipped == 1


def test_copies_are_the_same(vectors):
    assert copy.deepcopy(vectors) is vectors
    again = pickle.loads(pickle.dumps(vectors))
    assert (again["wherever"] == vectors["wherever"]).all()


def test_hosts_that_have_some_rows_know_all_words_together(vectors):
    unknown = ["wherever", "here", "there!"]

    def ask(communicator):
        own = share_of(vectors, communicator)
        sharded = ShardedVectors(own, communicator)
        assert "wherever" not in own
        with pytest.raises(UnknownWordError):
            own["wherever"]
        assert "wherever" in sharded
        assert "q" not in sharded
        with pytest.raises(UnknownWordError, match="no vector for 'q'"):
            sharded[["here", "q"]]
        words = unknown, [*unknown, "q"]
        return sharded[words[0]], sharded.norms(words[0]), sharded.mean(words[1]), sharded.most_similar("wherever")

    for rows, norms, mean, near in simulate(2, 1, ask):
        expected = vectors[unknown]
        np.testing.assert_allclose(rows, expected, rtol=1e-6)
        np.testing.assert_allclose(norms, np.linalg.norm(expected, axis=1), rtol=1e-6)
        np.testing.assert_allclose(mean, expected.mean(axis=0), rtol=1e-5)
        assert [word for word, _ in near] == [word for word, _ in vectors.most_similar("wherever")]


OWN = np.ones((2, 3))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Parts(SETTINGS, np.ones((2, 4)), [7, 2, 5], np.ones((3, 3))), "do not fit"),
        (lambda: Parts(SETTINGS, OWN, [7, 2, 5], np.ones((2, 3))), "do not fit"),
        (lambda: Parts(SETTINGS, OWN, [1, 90_000], OWN), "has 90,000; it must be from 0 to below 90,000"),
        (lambda: Parts(SETTINGS, OWN, [-1, 2], OWN), "has -1"),
        (lambda: Parts(SETTINGS, OWN, [5, 5], OWN), "has 5 twice"),
        (lambda: Parts(SETTINGS, OWN, [0.5, 2], OWN), "whole numbers"),
        (
            lambda: Vectors(["a"], OWN[:1], parts=made().parts),
            r"parts of shape \(7, 7\) do not fit e of shape \(1, 3\)",
        ),
        (lambda: Vectors(["a"], OWN[:1], parts=3), "`parts` is 3; Parts are expected"),
        (lambda: made().parts.means(["a"]), "1 words do not fit 7 rows"),
    ],
)
def test_what_does_not_fit(make, message):
    with pytest.raises(Any2VecError, match=message):
        make()
