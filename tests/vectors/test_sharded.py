"""Vectors that lie on many hosts answer as the whole does."""

import numpy as np
import pytest

from any2vec import Any2VecError, ShardedVectors, Vectors
from any2vec.cluster import simulate
from any2vec.errors import UnknownWordError

V, D = 50, 8
WHOLE = Vectors([f"w{i}" for i in range(V)], np.random.default_rng(1).normal(size=(V, D)).astype(np.float32))


def ask(hosts, question):
    """Ask all hosts; they must agree."""

    def program(communicator):
        cut = slice(V * communicator.rank // hosts, V * (communicator.rank + 1) // hosts)
        own = Vectors(WHOLE.words[cut], WHOLE.matrix[cut])
        try:
            return question(ShardedVectors(own, communicator))
        except Any2VecError as error:
            return error

    answers = simulate(hosts, 2, program)
    assert len({repr(answer) for answer in answers}) == 1
    return answers[0]


@pytest.mark.parametrize("hosts", [1, 3, 60])
@pytest.mark.parametrize(
    "query",
    [
        ("w3",),
        (["w3", "w49"], ["w7"]),
        ([("w3", 0.5), np.ones(D)], "w20", 5),
        (np.arange(D) + 1.0, None, 60),
        ("w3", None, 0),
    ],
)
def test_neighbours_are_those_of_the_whole(hosts, query):
    found, expected = ask(hosts, lambda v: v.most_similar(*query)), WHOLE.most_similar(*query)
    assert [word for word, _ in found] == [word for word, _ in expected]
    np.testing.assert_allclose([c for _, c in found], [c for _, c in expected], atol=1e-6)


@pytest.mark.parametrize("hosts", [1, 3, 60])
def test_rows_norms_and_means(hosts):
    words = ["w49", "w0", "w21", "w0"]
    rows = np.stack([WHOLE[word] for word in words])
    assert (ask(hosts, lambda v: v[words]) == rows).all()
    assert (ask(hosts, lambda v: v["w21"]) == WHOLE["w21"]).all()
    np.testing.assert_allclose(ask(hosts, lambda v: v.norms(words)), np.linalg.norm(rows, axis=1), rtol=1e-6)
    np.testing.assert_allclose(ask(hosts, lambda v: v.mean([*words, "none"])), rows.mean(axis=0), rtol=1e-5)
    assert (ask(hosts, lambda v: v.mean("w21")) == WHOLE["w21"]).all()
    assert ask(hosts, lambda v: v.norms("w21").shape) == (1,)
    assert ask(hosts, lambda v: ("w21" in v, "none" in v)) == (True, False)
    assert ask(hosts, len) == V
    assert ask(hosts, repr) == f"<ShardedVectors: 50 words of 8 dimensions on {hosts} hosts>"


@pytest.mark.parametrize(
    ("question", "message"),
    [
        (lambda v: v["none"], "no vector for 'none'"),
        (lambda v: v[b"34"], "no vector for b'34'"),
        (lambda v: v.norms(["w1", 7.5]), "no vector for 7.5"),
        (lambda v: v.most_similar("none"), "no vector for 'none'"),
        (lambda v: v.mean(["none"]), "none of the words"),
        (lambda v: v.most_similar(), "at least one word"),
        (lambda v: v.most_similar(np.ones(D + 1)), "a vector of shape (9,) does not have 8 dimensions"),
        (lambda v: v.most_similar("w1", topn=-1), "`topn` is -1"),
    ],
)
def test_errors_are_those_of_all_hosts(question, message):
    error = ask(3, question)
    assert isinstance(error, Any2VecError)
    assert message in str(error)
    assert isinstance(error, UnknownWordError) == ("no vector" in message or "none" in message)


def test_hosts_with_other_dimensions():
    def program(communicator):
        with pytest.raises(Any2VecError, match=r"\[2, 3\] dimensions"):
            ShardedVectors(
                Vectors([f"w{communicator.rank}"], np.ones((1, 2 + communicator.rank), np.float32)), communicator
            )

    simulate(2, 2, program)


@pytest.mark.parametrize("words", [["7", "12", "0"], ["7", "12", "cat"]])
def test_integers_are_words_if_those_of_all_hosts_are(words):
    """No host may find what another refuses."""

    def program(communicator):
        one = communicator.rank
        own = Vectors(words[one : one + 1], np.eye(3, dtype=np.float32)[one : one + 1])
        vectors = ShardedVectors(own, communicator)
        found = [7 in vectors]
        for question in (lambda: vectors[7], lambda: vectors[[7]], lambda: vectors.most_similar(7)):
            try:
                question()
                found.append(True)
            except Any2VecError as error:
                found.append("stands for a word only where all words are integers" not in str(error))
        return found

    assert simulate(3, 2, program) == [[words[2] == "0"] * 4] * 3
