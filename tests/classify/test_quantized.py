"""Quantized rows: k-means as a plain twin does it, the same bits on any number of threads, pruning."""

from dataclasses import replace

import naive_answers
import numpy as np
import pytest
from numba import njit
from test_classifier_files import model

from any2vec.classify.quantized import CENTROIDS, Quantized, add_row, prune, quantize
from any2vec.errors import Any2VecError


def rows(number=3000, dim=7):
    random = np.random.default_rng(5)
    return (random.normal(size=(number, dim)) * random.lognormal(size=(number, 1))).astype(np.float32)


def naive_kmeans(points):
    """Cluster points as Lloyd does; the first 256 are the first centroids, and an empty one goes to the farthest."""
    centroids = points[np.arange(CENTROIDS) % len(points)].copy()
    for _ in range(25):
        far = distances(points, centroids)
        codes, errors = far.argmin(1), far.min(1)
        for k in range(CENTROIDS):
            if (codes == k).any():
                centroids[k] = points[codes == k].mean(0, dtype=np.float64)
            elif errors.max() > 0:
                centroids[k] = points[errors.argmax()]
                errors[errors.argmax()] = 0
    return centroids


def distances(points, centroids):
    """Squared distances in float32, column by column."""
    total = np.zeros((len(points), len(centroids)), np.float32)
    for j in range(points.shape[1]):
        total += (points[:, None, j] - centroids[None, :, j]) ** 2
    return total


@pytest.mark.parametrize("norms", [False, True])
@pytest.mark.parametrize("dsub", [1, 2, 3, 100])
def test_centroids_equal_the_naive(dsub, norms):
    matrix = rows(700)
    matrix[-9:] = 0
    found = Quantized.of(matrix, dsub, norms, 1, 1)
    order = np.random.default_rng(1).permutation(len(matrix))
    lengths = np.sqrt((matrix.astype(np.float64) ** 2).sum(1)).astype(np.float32)
    points = matrix / np.where(lengths > 0, lengths, 1)[:, None] if norms else matrix
    dsub = min(dsub, 7)
    for part in range(-(-7 // dsub)):
        columns = slice(part * dsub, min((part + 1) * dsub, 7))
        centroids = naive_kmeans(points[order, columns])
        width = centroids.shape[1]
        np.testing.assert_allclose(found.centroids[part, :, :width], centroids, atol=1e-5)
        assert not found.centroids[part, :, width:].any()
        np.testing.assert_array_equal(found.codes[:, part], distances(points[:, columns], centroids).argmin(1))
    if norms:
        scales = naive_kmeans(lengths[order, None])
        np.testing.assert_allclose(found.scales, scales[:, 0], rtol=1e-4, atol=1e-6)
        np.testing.assert_allclose(
            found.scales[found.norms], scales[distances(lengths[:, None], scales).argmin(1), 0], rtol=1e-4, atol=1e-6
        )


def test_rows_by_numpy_and_by_a_kernel():
    found = Quantized.of(rows(), 2, True, 1, 1)

    @njit
    def sums(arrays, ids, total):
        for row in ids:
            add_row(total, row, arrays)

    for one in (found, Quantized.of(rows(), 2, False, 1, 1)):
        for width in (7, 9):
            total = np.zeros(width, np.float32)
            sums(one.arrays, np.array([5, 9, 2999]), total)
            np.testing.assert_allclose(total[:7], one.rows([5, 9, 2999]).sum(0), rtol=1e-5)
            assert not total[7:].any()
        np.testing.assert_array_equal(one.rows()[[5, 9]], one.rows([5, 9]))
    assert found.shape == rows().shape
    assert found.nbytes < rows().nbytes / 3


def test_threads_do_not_change_a_bit():
    one, two, other = (Quantized.of(rows(9000), 2, True, *how) for how in ((1, 1), (1, 3), (2, 1)))
    for array, same, another in zip(one.arrays, two.arrays, other.arrays, strict=True):
        np.testing.assert_array_equal(array, same)
        assert (array != another).any()


def test_few_rows_are_kept_exactly():
    """FastText refuses fewer than 256."""
    matrix = np.concatenate([rows(90), rows(90)])
    np.testing.assert_array_equal(Quantized.of(matrix, 2, False, 1, 1).rows(), matrix)
    np.testing.assert_allclose(Quantized.of(matrix, 2, True, 1, 1).rows(), matrix, rtol=1e-5)


def test_pruning_keeps_the_longest_rows():
    given = model()
    given.e[0] = 0
    found = prune(given, 300)
    lengths = np.linalg.norm(given.e, axis=1)
    kept = sorted([0, *sorted(range(1, len(lengths)), key=lambda i: -lengths[i])[:299]])
    np.testing.assert_array_equal(found.e, given.e[kept])
    assert found.words == [given.words[i] for i in kept if i < 5]
    assert found.ids.tolist() == [given.ids[i - 5] for i in kept if i >= 5]
    assert (len(found.counts), found.settings.counts_unknown) == (len(found.words), False)
    assert prune(given, 10**9) is given
    assert prune(given, 1).words == ["</s>"]


def test_quantized_models_answer_alike():
    given = model("softmax")
    for how in ({}, {"labels": True}, {"cutoff": 10**9}):
        found = quantize(given, threads=2, **how)
        assert isinstance(found.t, Quantized) == ("labels" in how)
        for line in ("where über", "unheard of", "日本語 where"):
            wanted, answers = naive_answers.answers(prune_none(given), line), naive_answers.answers(found, line)
            assert answers == pytest.approx(wanted, abs=0.1)


def prune_none(given):
    """Leave out n-grams without a row, as a quantized model does."""
    return replace(given, settings=replace(given.settings, counts_unknown=False))


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"cutoff": 0}, "`cutoff` is 0; it must be a whole number from 1 up"),
        ({"dsub": 0}, "`dsub` is 0"),
        ({"seed": -1}, "`seed` is -1"),
        ({"threads": "x"}, "`threads` is 'x'"),
    ],
)
def test_bad_numbers(how, message):
    with pytest.raises(Any2VecError, match=message):
        quantize(model(), **how)


def test_a_quantized_model_is_not_quantized_again():
    with pytest.raises(Any2VecError, match="quantized already; quantize the one that it was made of"):
        quantize(model(quantized=True))
