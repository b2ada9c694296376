import sys

import numpy as np
import pytest

from any2vec import Any2VecError, Vectors
from any2vec.vectors.maps import classes


def near(number, each, dim=8, seed=0):
    """Words whose vectors point in `number` directions, and differ in length."""
    rng = np.random.default_rng(seed)
    directions = np.linalg.qr(rng.normal(size=(dim, dim)))[0][:number]
    rows = np.repeat(directions, each, axis=0) + rng.normal(size=(number * each, dim)) * 0.02
    return Vectors([f"w{i}" for i in range(len(rows))], (rows * rng.uniform(0.1, 9, (len(rows), 1))).astype(np.float32))


def test_directions_are_classes():
    found = classes(near(5, 20), 5).reshape(5, 20)
    assert found.dtype == np.int32
    assert (found == found[:, :1]).all()
    assert sorted(found[:, 0]) == [0, 1, 2, 3, 4]


def spherical(matrix, number, seed):
    """word2vec's k-means in plain NumPy, ten rounds from random classes; the sum of what classes keep."""
    of = np.random.default_rng(seed).integers(number, size=len(matrix))
    for _ in range(10):
        sums = np.stack([matrix[of == i].sum(0) for i in range(number)])
        centres = sums / np.maximum(np.linalg.norm(sums, axis=1), 1e-9)[:, None]
        of = (matrix @ centres.T).argmax(1)
    return kept(matrix, of, number)


def kept(matrix, of, number):
    """What k-means makes large: the length of the sum of each class's vectors."""
    return sum(np.linalg.norm(matrix[of == i].sum(0)) for i in range(number))


@pytest.mark.parametrize("number", [2, 7, 20])
def test_as_good_as_word2vecs(number):
    vectors = near(8, 30, dim=12)
    found = kept(vectors.matrix, classes(vectors, number), number)
    assert found >= 0.99 * max(spherical(vectors.matrix, number, seed) for seed in range(3))


def test_the_same_every_time():
    vectors = near(6, 50, seed=3)
    first = classes(vectors, 20, threads=1)
    assert (classes(vectors, 20, threads=1) == first).all()
    assert (classes(vectors, 20, seed=2, threads=1) != first).any()


def test_extremes():
    vectors = near(3, 4)
    assert (classes(vectors, 1) == 0).all()
    assert sorted(classes(vectors, 12)) == list(range(12))
    same = Vectors(["a", "b", "c"], np.ones((3, 2), np.float32))
    assert set(classes(same, 2).tolist()) <= {0, 1}
    zeros = Vectors(["a", "b", "c"], np.array([[0, 0], [1, 0], [0, 1]], np.float32))
    assert len(set(classes(zeros, 2)[1:].tolist())) == 2
    assert len(classes(Vectors(["a", "b"], np.zeros((2, 2), np.float32)), 2)) == 2


def test_mistakes(monkeypatch):
    vectors = near(3, 4)
    for number, message in (
        (13, "`classes` is 13, but there are 12 words; give at most as many classes"),
        (0, "`classes` is 0; it must be a whole number from 1 up"),
        (2.5, "`classes` is 2.5"),
        (None, "`classes` is None"),
    ):
        with pytest.raises(Any2VecError, match=message):
            classes(vectors, number)
    with pytest.raises(Any2VecError, match="`seed` is -1"):
        classes(vectors, 2, seed=-1)
    with pytest.raises(Any2VecError, match="Vectors are expected, not ndarray"):
        classes(vectors.matrix, 2)
    with pytest.raises(Any2VecError, match="nan"):
        classes(Vectors(["a", "b"], np.array([[1, np.nan], [1, 2]], np.float32)), 2)
    monkeypatch.setitem(sys.modules, "sklearn.cluster", None)
    with pytest.raises(Any2VecError, match=r"needs scikit-learn, .*'scikit-learn>=1.4' \(extra `classes`\)$"):
        classes(vectors, 2)
