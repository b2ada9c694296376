"""The nearest rows of each row among themselves: exactly, or by NN-descent where there are many."""

import numpy as np
from numpy.typing import NDArray

from any2vec.cluster.machine import usable_cores
from any2vec.errors import missing_extra
from any2vec.io.memory import blocks
from any2vec.vectors.search import nearest

__all__ = ["neighbour_graph"]

EXACT = 40_000  # rows; comparing all pairs of more takes longer than NN-descent with its half minute of compiling


def neighbour_graph(
    rows: NDArray[np.float32], topn: int, *, seed: int = 1
) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """Find the rows with the largest cosine to each row, without itself: ids and cosines, shape (n, topn), best first.

    Rows, shape (n, D), are of unit length (or zero), and more than `topn`. With more than 40,000, some of a row's
    nearest may be missed; their cosines are exact. Needs pynndescent then, which umap-learn brings.
    """
    if len(rows) <= EXACT:
        return _exact(rows, np.arange(len(rows)), topn)
    try:
        from pynndescent import NNDescent
    except ImportError:
        raise missing_extra("pynndescent", "plot") from None
    index = NNDescent(rows, metric="cosine", n_neighbors=topn + 1, random_state=seed, n_jobs=usable_cores())
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
