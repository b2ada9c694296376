"""Small classifiers: fewer rows, and a byte for each part of a row (Joulin et al. 2016, "FastText.zip").

Rows are quantized as in Jégou et al. 2011, "Product quantization for nearest neighbor search".
"""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from any2vec.cluster.local import alone
from any2vec.cluster.machine import usable_cores
from any2vec.cluster.workers import Workers
from any2vec.corpus.parts import encoded_word
from any2vec.corpus.vocabulary import LINE_END
from any2vec.errors import Any2VecError
from any2vec.io.memory import largest
from any2vec.llvm.compiled import njit
from any2vec.options import whole_number

if TYPE_CHECKING:
    from any2vec.classify.model import LabelModel

CENTROIDS = 256
"""Of each part."""

_SAMPLE = 256 * CENTROIDS  # rows that centroids are learnt from; fastText's numbers, as all here
_STEPS = 25
_TOGETHER = 64  # points that are compared with a centroid at once
_BLOCK = 4096  # rows
_HEAD, _OF_NAME, _OF_GRAM = 1024, 10, 8  # bytes of a .ftz: its head, of a name beside its letters, of an n-gram


@dataclass(frozen=True, eq=False)
class Quantized:
    """A matrix of n rows of D columns, cut into M parts of `dsub` columns each.

    Attributes
    ----------
    codes : uint8 array, shape (n, M)
        The centroid of each part of a row.
    centroids : float32 array, shape (M, 256, dsub)
        Those of each part; those of the last part end with zeros if `dsub` does not divide D.
    norms : uint8 array, shape (n,) or (0,)
        By what each row is multiplied, an index into `scales`; (0,) if by nothing.
    scales : float32 array, shape (256,)
        What rows are multiplied by.
    dim : int
        D.
    """

    codes: NDArray[np.uint8]
    centroids: NDArray[np.float32]
    norms: NDArray[np.uint8]
    scales: NDArray[np.float32]
    dim: int

    @classmethod
    def of(cls, matrix: NDArray[np.float32], dsub: int, norms: bool, seed: int, threads: int) -> Self:
        """Quantize rows; with `norms`, their directions and their lengths apart. Threads do not change a bit."""
        random = np.random.default_rng(seed)
        sample = random.permutation(len(matrix))[:_SAMPLE]
        lengths = _lengths(matrix) if norms else np.ones(len(matrix), np.float32)
        with Workers(threads, alone()) as workers:
            centroids, codes = _quantize(matrix, np.where(lengths > 0, lengths, np.float32(1)), dsub, sample, workers)
            found = cls(codes, centroids, np.empty(0, np.uint8), np.ones(CENTROIDS, np.float32), matrix.shape[1])
            if not norms:
                return found
            scales, of_rows = _quantize(lengths[:, None], np.ones_like(lengths), 1, sample, workers)
        return replace(found, norms=of_rows.ravel(), scales=scales.ravel())

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return len(self.codes), self.dim

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return self.codes.nbytes + self.centroids.nbytes + self.norms.nbytes + self.scales.nbytes

    @property
    def largest(self) -> float:
        """The largest magnitude that a number may have; NaN if there is one."""
        return float(largest(self.centroids.reshape(-1, 1)) * largest(self.scales[:, None]))

    def rows(self, ids: Any = slice(None)) -> NDArray[np.float32]:
        """Return some rows as numbers, or all; float32, shape (k, D)."""
        codes = self.codes[ids]
        found = self.centroids[np.arange(codes.shape[1]), codes].reshape(len(codes), -1)[:, : self.dim]
        return found * self.scales[self.norms[ids], None] if len(self.norms) else found

    def taken(self, ids: Any) -> Self:
        """Return a matrix of some rows."""
        norms = self.norms[ids] if len(self.norms) else self.norms
        return replace(self, codes=self.codes[ids], norms=norms)

    @property
    def arrays(self) -> tuple[NDArray[Any], ...]:
        """What `add_row` takes."""
        return self.codes, self.centroids, self.norms, self.scales


@njit(inline="always")
def add_row(total: Any, row: int, arrays: Any) -> None:
    """Add a quantized row to `total`, which has D numbers or more: others get zeros."""
    codes, centroids, norms, scales = arrays
    scale, dsub = scales[norms[row]] if norms.size else np.float32(1), centroids.shape[2]
    for part in range(codes.shape[1]):
        for j in range(min(dsub, total.size - part * dsub)):
            total[part * dsub + j] += scale * centroids[part, codes[row, part], j]


def rows_of(matrix: "NDArray[np.float32] | Quantized", ids: Any = slice(None)) -> NDArray[np.float32]:
    """Return some rows of a matrix as numbers, or all, whether it is quantized or not."""
    return matrix.rows(ids) if isinstance(matrix, Quantized) else matrix[ids]


def prune(model: "LabelModel", cutoff: int) -> "LabelModel":
    """Return a model of the `cutoff` longest rows of e, always with that of the end of a line.

    It may be trained on, with these rows alone, before it is quantized. N-grams that lost their row are left out of a
    line, no longer counted as zeros (section 3.3 of the paper). All rows are kept if there are no more than `cutoff`.

    Raises
    ------
    Any2VecError
        If `cutoff` is no positive number, or the model is quantized already.
    """
    cutoff, words, e = whole_number("cutoff", cutoff, 1), len(model.words), _numbers(model.e)
    if cutoff >= len(e):
        return model
    kept = np.sort(_longest_first(model)[:cutoff])
    own, grams = kept[kept < words], kept[kept >= words] - words
    return replace(
        model,
        words=[model.words[i] for i in own],
        counts=model.counts[own],
        settings=replace(model.settings, counts_unknown=False),
        ids=model.ids[grams],
        e=e[kept],
    )


def cutoff_for(model: "LabelModel", size: int, *, norms: bool = True, dsub: int = 2) -> int:
    """Return how many rows `prune` may keep so that a `.ftz` has at most `size` bytes."""
    rows, dim = model.e.shape
    parts = -(-dim // whole_number("dsub", dsub, 1))
    names = sum(len(encoded_word(label)) + 2 * _OF_NAME for label in model.labels)
    others = _HEAD + names + 4 * model.t.shape[0] * dim + 4 * CENTROIDS * (dim + norms)
    of_words = np.array([len(encoded_word(word)) + _OF_NAME for word in model.words], np.int64)
    costs = parts + norms + np.append(of_words, np.full(rows - len(of_words), _OF_GRAM))
    sums = np.cumsum(costs[_longest_first(model)])
    if others + sums[0] > size:
        raise Any2VecError(f"a .ftz of this model has {others + int(sums[0]):,} bytes at least, not {size:,}")
    return int(np.searchsorted(sums, size - others, "right"))


def quantize(
    model: "LabelModel",
    cutoff: int | None = None,
    *,
    norms: bool = True,
    dsub: int = 2,
    labels: bool = False,
    seed: int = 1,
    threads: int | None = None,
) -> "LabelModel":
    """Return a model with quantized rows: a byte for `dsub` numbers, and with `norms` one for a row's length.

    Parameters
    ----------
    model : LabelModel
        A model with rows of numbers. If not all buckets have rows, n-grams without are left out of a line from now on.
    cutoff : int, optional
        How many rows `prune` keeps before.
    norms : bool
        Whether lengths are quantized apart from directions, which keeps probabilities closer to those of the model.
    dsub : int
        Columns of a part.
    labels : bool
        Whether the rows of t are quantized, too.
    seed : int
        Of the rows that centroids begin with. The same seed gives the same bits, with any number of threads.
    threads : int, optional
        As many as there are cores by default.

    Raises
    ------
    Any2VecError
        If a number is out of range, or the model is quantized already.
    """
    if cutoff is not None:
        model = prune(model, cutoff)
    dsub, seed = whole_number("dsub", dsub, 1), whole_number("seed", seed, 0)
    how = dsub, norms, seed, usable_cores() if threads is None else whole_number("threads", threads, 1)
    counts_unknown = model.settings.counts_unknown and len(model.ids) == model.settings.buckets
    return replace(
        model,
        settings=replace(model.settings, counts_unknown=counts_unknown),
        e=Quantized.of(_numbers(model.e), *how),
        t=Quantized.of(_numbers(model.t), *how) if labels else model.t,
    )


def _numbers(matrix: "NDArray[np.float32] | Quantized") -> NDArray[np.float32]:
    if isinstance(matrix, Quantized):
        raise Any2VecError("the model is quantized already; quantize the one that it was made of")
    return matrix


def _longest_first(model: "LabelModel") -> NDArray[np.int64]:
    """Return the rows of e by their lengths, behind that of the end of a line."""
    lengths = _lengths(_numbers(model.e))
    lengths[: len(model.words)][[word == LINE_END for word in model.words]] = np.inf
    return np.argsort(-lengths, kind="stable")


def _lengths(matrix: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the Euclidean length of each row."""
    return np.sqrt(np.einsum("ij,ij->i", matrix, matrix))


def _quantize(
    matrix: NDArray[np.float32], lengths: NDArray[np.float32], dsub: int, sample: NDArray[np.int64], workers: Workers
) -> tuple[NDArray[np.float32], NDArray[np.uint8]]:
    """Learn centroids of rows by a sample of them, and return them and all codes; rows are divided by lengths."""
    dsub = min(dsub, matrix.shape[1])
    parts = -(-matrix.shape[1] // dsub)

    def points(rows: Any) -> NDArray[np.float32]:
        found = np.zeros((len(matrix[rows]), parts * dsub), np.float32)
        np.divide(matrix[rows], lengths[rows, None], out=found[:, : matrix.shape[1]])
        return found

    some, centroids = points(sample), np.zeros((parts, CENTROIDS, dsub), np.float32)
    codes = np.empty((len(matrix), parts), np.uint8)

    def learn(part: int) -> None:
        _learn(some[:, part * dsub : (part + 1) * dsub], centroids[part])

    def assign(low: int, high: int) -> None:
        for start in range(low, high, _BLOCK):
            rows = slice(start, min(start + _BLOCK, high))
            block, errors = points(rows), np.empty(_BLOCK, np.float32)
            for part in range(parts):
                _assign(block[:, part * dsub : (part + 1) * dsub], centroids[part], codes[rows, part], errors)

    workers.join(workers.start(learn, parts))
    workers.join(workers.spread(assign, len(matrix), _BLOCK))
    return centroids, codes


@njit(nogil=True, cache=True)
def _learn(points: Any, centroids: Any) -> None:
    """Run k-means, which begins with the first points; a centroid without points becomes the point farthest off."""
    number, dsub = points.shape
    for k in range(centroids.shape[0]):
        for j in range(dsub):
            centroids[k, j] = points[k % number, j]
    codes, errors = np.empty(number, np.uint8), np.empty(number, np.float32)
    for _ in range(_STEPS):
        _assign(points, centroids, codes, errors)
        _move(points, centroids, codes, errors)


@njit(nogil=True)
def _move(points: Any, centroids: Any, codes: Any, errors: Any) -> None:
    sums, counts = np.zeros(centroids.shape), np.zeros(centroids.shape[0], np.int64)
    for i in range(len(points)):
        counts[codes[i]] += 1
        for j in range(points.shape[1]):
            sums[codes[i], j] += points[i, j]
    for k in range(centroids.shape[0]):
        farthest = np.argmax(errors) if counts[k] == 0 else 0
        if counts[k]:
            for j in range(points.shape[1]):
                centroids[k, j] = sums[k, j] / counts[k]
        elif errors[farthest] > 0:
            errors[farthest] = 0
            for j in range(points.shape[1]):
                centroids[k, j] = points[farthest, j]


@njit(nogil=True, cache=True)
def _assign(points: Any, centroids: Any, codes: Any, errors: Any) -> None:
    """Find the nearest centroid of each point, the first of equal ones, and its squared distance."""
    number, dsub = points.shape
    some, far = np.zeros((dsub, _TOGETHER), np.float32), np.empty(_TOGETHER, np.float32)
    least, found = np.empty(_TOGETHER, np.float32), np.empty(_TOGETHER, np.int32)
    for low in range(0, number, _TOGETHER):
        count = min(_TOGETHER, number - low)
        for i in range(count):
            for j in range(dsub):
                some[j, i] = points[low + i, j]
        least[:] = np.inf
        for k in range(centroids.shape[0]):
            far[:] = 0
            for j in range(dsub):
                value = centroids[k, j]
                for i in range(_TOGETHER):  # vector code: whole registers of points
                    far[i] += (some[j, i] - value) * (some[j, i] - value)
            for i in range(_TOGETHER):
                nearer = far[i] < least[i]
                least[i] = far[i] if nearer else least[i]
                found[i] = k if nearer else found[i]
        for i in range(count):
            codes[low + i], errors[low + i] = found[i], least[i]
