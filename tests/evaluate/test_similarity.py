import sys

import naive_vectors as naive
import numpy as np
import pytest

from any2vec import Word2Vec
from any2vec.errors import Any2VecError
from any2vec.evaluate.analogies import SimilarityChecker, evaluate_similarity
from any2vec.vectors import Vectors
from any2vec.vectors.questions import read_pairs

pytest.importorskip("scipy")


def random_vectors(words, dim=5):
    return Vectors(words, np.random.default_rng(0).standard_normal((len(words), dim)).astype(np.float32))


@pytest.mark.parametrize(
    "content",
    [
        "# comment\n# Word 1\tWord 2\tHuman (mean)\nlove\tsex\t6.77\nTiger\tcat\t7.35\n",
        "Word 1,Word 2,Human (mean),1,2\nlove,sex,6.77,9,9\nTiger,cat,7.35,1,2\n",
        "word1\tword2\tPOS\tSimLex999\tconc(w1)\r\nlove\tsex\tN\t6.77\t2\r\nTiger\tcat\tN\t7.35\t1\r\n\r\n",
        "love sex 6.77\nTiger  cat 7.35",
        '"love", "sex", 6.77\n"Tiger", "cat", 7.35',
    ],
)
def test_formats_of_pairs(tmp_path, content):
    (tmp_path / "pairs").write_bytes(content.encode())
    assert read_pairs(tmp_path / "pairs") == (("love", "sex", 6.77), ("Tiger", "cat", 7.35))


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("a\tb\t1\nc\td\n", "line 2: not two words and a finite number, separated by tabs: 'c\\td'"),
        ("a\tb\t1\nc\td\tx\n", "line 2: not two words"),
        ("a\tb\t1\nc\td\tnan\n", "line 2: not two words"),
        ("a\tb\t1\n\td\t1\nc", "line 2: not two words"),
        ("titles\nmore titles\na\tb\t1\n", "line 2: not two words"),
        ("# nothing\n", "has no pairs"),
        ("titles only", "has no pairs"),
        ("the of nan\nthe of 1\n", "line 1: not two words and a finite number, separated by tabs: 'the of nan'"),
        ("the of N inf\nthe of N 1\n", "line 1: not two words and a finite number"),
        ("", "has no pairs"),
    ],
)
def test_damaged_pairs(tmp_path, content, expected):
    path = tmp_path / "pairs.tsv"
    path.write_text(content)
    with pytest.raises(Any2VecError) as caught:
        read_pairs(path)
    assert str(caught.value).startswith(str(path))
    assert expected in str(caught.value)


def test_correlations():
    words = [f"w{i}" for i in range(40)]
    vectors = random_vectors(words)
    random = np.random.default_rng(1)
    pairs = [(words[i], words[j].upper(), float(s)) for i, j, s in random.integers(0, 40, (100, 3))]
    cosines = [naive.unit(vectors[a]) @ naive.unit(vectors[b.lower()]) for a, b, _ in pairs]
    people = [score for *_, score in pairs]
    result = evaluate_similarity(vectors, [*pairs, ("w1", "unknown", 3.0)])
    assert (result.used, result.skipped) == (100, 1)
    assert result.spearman == pytest.approx(naive.spearman(cosines, people), abs=1e-6)
    assert result.pearson == pytest.approx(np.corrcoef(cosines, people)[0, 1], abs=1e-6)
    assert result.as_dict()["used"] == 100


@pytest.mark.parametrize(("name", "number"), [("wordsim353.tsv", 353), ("simlex999.txt", 999)])
def test_files_as_published(name, number):
    pairs = read_pairs(pytest.importorskip("gensim.test.utils").datapath(name))
    assert len(pairs) == number
    result = evaluate_similarity(random_vectors(sorted({word.lower() for pair in pairs for word in pair[:2]})), pairs)
    assert (result.used, result.skipped) == (number, 0)


@pytest.mark.parametrize("pairs", [5, None, [("a", "b")], [("a", "b", "x")], [("a", 1, 2)]])
def test_what_is_no_pairs(pairs):
    for use in (SimilarityChecker, lambda pairs: evaluate_similarity(random_vectors(["a", "b"]), pairs)):
        with pytest.raises(Any2VecError, match="pairs: a file or tuples of two words and a number are expected, not"):
            use(pairs)


def test_wrong_arguments():
    with pytest.raises(Any2VecError, match="`every` is 0; it must be a whole number from 1 up"):
        SimilarityChecker([("a", "b", 1.0)], every=0)
    with pytest.raises(Any2VecError, match="Vectors are expected, not Word2Vec"):
        evaluate_similarity(Word2Vec(), [("a", "b", 1.0)])


def test_correlations_that_do_not_exist():
    vectors = random_vectors(["a", "b", "c"])
    for pairs in [], [("a", "x", 1.0)], [("a", "b", 1.0)], [("a", "b", 1.0), ("a", "c", 1.0)]:
        result = evaluate_similarity(vectors, pairs)
        assert np.isnan(result.spearman)
        assert result.as_dict()["pearson"] is None
    same = Vectors(["a", "b", "c"], np.ones((3, 2), np.float32))
    assert np.isnan(evaluate_similarity(same, [("a", "b", 1.0), ("a", "c", 2.0)]).spearman)


def test_checker(tmp_path):
    path = tmp_path / "sim3.tsv"
    path.write_text("a\tb\t1\na\tc\t2\nb\tc\t3\n")
    checker = SimilarityChecker(path, every=2)
    vectors = random_vectors(["a", "b", "c"])
    assert checker(1, vectors) == {}
    figures = checker(2, vectors)
    assert set(figures) == {"sim3 spearman", "sim3 pearson"}
    assert checker.history == [(2, figures)]
    assert set(SimilarityChecker([("a", "b", 1.0)], name="mine")(1, vectors)) == {
        "mine spearman",
        "mine pearson",
    }


def test_without_scipy(monkeypatch):
    monkeypatch.setitem(sys.modules, "scipy", None)
    with pytest.raises(Any2VecError, match=r"needs scipy, which is not installed: pip install .*scipy"):
        SimilarityChecker([("a", "b", 1.0)])
    with pytest.raises(Any2VecError, match="needs scipy"):
        evaluate_similarity(random_vectors(["a", "b"]), [("a", "b", 1.0)])

    class Hides:
        def find_spec(self, name, *_):
            if name == "scipy":
                raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    monkeypatch.delitem(sys.modules, "scipy")
    monkeypatch.setattr(sys, "meta_path", [Hides(), *sys.meta_path])
    with pytest.raises(Any2VecError, match="needs scipy"):
        SimilarityChecker([("a", "b", 1.0)])
