"""The rows of a matrix nearest to queries by cosine, and the nearest of all rows among themselves."""

from collections.abc import Iterator
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from any2vec.cluster.machine import usable_cores
from any2vec.errors import library
from any2vec.io.memory import blocks

_Float = TypeVar("_Float", bound=np.floating[Any])

_BLOCK_ROWS = 32_768
_BLOCK_QUERIES = 512  # a tile has at most 32,768 x 512 scores, float32: 64 MiB; with fewer queries it has more rows
_BLOCK_QUESTIONS = 4_096  # answered together


def nearest(
    matrix: NDArray[np.float32],
    norms: NDArray[np.float32],
    queries: NDArray[np.float32],
    topn: int,
    excluded: NDArray[np.int64] | None = None,
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Find the rows with the largest cosine to each query: ids and cosines, shape (Q, min(topn, V)), best first.

    The matrix, shape (V, D), may be strided or memory-mapped and is not copied: products of blocks are divided by its
    rows' `norms`. Queries, shape (Q, D), need not be unit vectors. `excluded`, shape (Q, k), are rows that may not
    answer; a negative entry excludes nothing. Ties are by rising id; where no row is left, id -1 and cosine -inf.
    """
    topn = min(topn, len(matrix))
    ids = np.full((len(queries), topn), -1, np.int64)
    cosines = np.full((len(queries), topn), -np.inf, np.float32)
    for start in range(0, len(queries), _BLOCK_QUERIES):
        part = slice(start, start + _BLOCK_QUERIES)
        not_these = None if excluded is None else excluded[part]
        for low, scores in _tiles(matrix, norms, unit(queries[part]), not_these):
            if topn == 1:
                _keep_best(scores, low, ids[part], cosines[part])
            else:
                for i, row in enumerate(scores, start):
                    _keep_top(row, low, ids[i], cosines[i])
    return ids, cosines


def answer(
    matrix: NDArray[np.float32], norms: NDArray[np.float32], asked: NDArray[np.int64], excluded: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Return the row nearest to b - a + c for each row a, b, c of `asked`, and its cosine; id -1 if none is left."""
    lengths = no_zeros(norms)[:, None]
    answers, cosines = np.empty(len(asked), np.int64), np.empty(len(asked), np.float32)
    for start in range(0, len(asked), _BLOCK_QUESTIONS):
        batch = slice(start, start + _BLOCK_QUESTIONS)
        a, b, c = (matrix[ids] / lengths[ids] for ids in asked[batch, :3].T)
        found = nearest(matrix, norms, b - a + c, 1, excluded=excluded[batch])
        answers[batch], cosines[batch] = (column[:, 0] for column in found)
    return answers, cosines


def cosines_of(
    matrix: NDArray[np.float32], norms: NDArray[np.float32], query: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Return the cosine of each row to a query: shape (V,); 0 where either is zero."""
    scores: NDArray[np.float32] = matrix @ unit(query[None])[0]
    scores /= no_zeros(norms)
    return scores


def best(scores: NDArray[np.float32], topn: int) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Return the places of the largest scores, best first, ties by rising place, and these; -inf is no score."""
    ids = np.full(min(topn, len(scores)), -1, np.int64)
    values = np.full(len(ids), -np.inf, np.float32)
    if len(ids):
        _keep_top(scores, 0, ids, values)
    return ids, values


def directions(matrix: NDArray[np.float32], norms: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return rows, whose norms are known, of unit length; those of zeros stay zeros."""
    return np.divide(matrix, no_zeros(norms)[:, None], dtype=np.float32)


def unit(rows: NDArray[_Float]) -> NDArray[_Float]:
    """Return rows of unit length; those of zeros stay zeros."""
    return rows / no_zeros(np.linalg.norm(rows, axis=1))[:, None]


def _tiles(
    matrix: NDArray[np.float32],
    norms: NDArray[np.float32],
    queries: NDArray[np.float32],
    excluded: NDArray[np.int64] | None,
) -> Iterator[tuple[int, NDArray[np.float32]]]:
    """Yield the first row of each block and the cosines of its rows to the queries, shape (Q, rows)."""
    size = max(1, _BLOCK_ROWS * _BLOCK_QUERIES // len(queries))
    for low in range(0, len(matrix), size):
        block = slice(low, low + size)
        scores = queries @ matrix[block].T
        scores /= no_zeros(norms[block])
        if excluded is not None:
            local = excluded - low
            rows, columns = np.nonzero((local >= 0) & (local < scores.shape[1]))
            scores[rows, local[rows, columns]] = -np.inf
        yield low, scores


def _keep_best(scores: NDArray[np.float32], low: int, ids: NDArray[np.int64], cosines: NDArray[np.float32]) -> None:
    """Merge a tile, shape (Q, rows), into the best answers so far, shape (Q, 1)."""
    best = scores.argmax(axis=1)  # the first of equals
    value = scores[np.arange(len(scores)), best]
    better = value > cosines[:, 0]
    ids[better, 0] = best[better] + low
    cosines[better, 0] = value[better]


def _keep_top(scores: NDArray[np.float32], low: int, ids: NDArray[np.int64], cosines: NDArray[np.float32]) -> None:
    """Merge a tile's row into the answers so far of one query, shape (topn,)."""
    topn = len(ids)
    new = np.flatnonzero(scores > cosines[-1])
    if len(new) > topn:
        values = scores[new]
        new = new[values >= np.partition(values, len(new) - topn)[len(new) - topn]]
    values = np.concatenate([cosines, scores[new]])
    order = np.argsort(-values, kind="stable")[:topn]  # earlier entries have smaller ids
    ids[:] = np.concatenate([ids, new + low])[order]
    cosines[:] = values[order]


def no_zeros(norms: NDArray[_Float]) -> NDArray[_Float]:
    """Return norms to divide by: 1 in place of 0."""
    return np.where(norms > 0, norms, np.float32(1))


_EXACT = 40_000  # rows; comparing all pairs of more takes longer than NN-descent with its half minute of compiling


def neighbour_graph(
    rows: NDArray[np.float32], topn: int, *, seed: int = 1
) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """Find the rows with the largest cosine to each row, without itself: ids and cosines, shape (n, topn), best first.

    Rows, shape (n, D), are of unit length (or zero), and more than `topn`. With more than 40,000, some of a row's
    nearest may be missed; their cosines are exact. Needs pynndescent then, which umap-learn brings.
    """
    if len(rows) <= _EXACT:
        return _exact(rows, np.arange(len(rows)), topn)
    descent = library("pynndescent", "plot").NNDescent
    index = descent(rows, metric="cosine", n_neighbors=topn + 1, random_state=seed, n_jobs=usable_cores())
    found, _ = index.neighbor_graph
    other = (found != np.arange(len(rows))[:, None]) & (found >= 0)
    first = np.argsort(~other, axis=1, kind="stable")[:, :topn]  # without the row itself
    ids = np.take_along_axis(found, first, axis=1).astype(np.int32)
    cosines = np.empty(ids.shape, np.float32)
    for block in blocks(rows):
        for i in range(topn):
            cosines[block, i] = np.einsum("ij,ij->i", rows[block], rows[ids[block, i]])
    order = np.lexsort((ids, -cosines), axis=-1)
    ids, cosines = np.take_along_axis(ids, order, axis=1), np.take_along_axis(cosines, order, axis=1)
    few = np.flatnonzero(other.sum(axis=1) < topn)
    ids[few], cosines[few] = _exact(rows, few, topn)
    return ids, cosines


def _exact(
    rows: NDArray[np.float32], which: NDArray[np.intp], topn: int
) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    ids, cosines = nearest(rows, np.ones(len(rows), np.float32), rows[which], topn, which[:, None])
    return ids.astype(np.int32), cosines
