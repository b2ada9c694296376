"""Undirected edges that a source lists in one direction or in both."""

from collections.abc import Callable

import numpy as np

from any2vec.errors import Any2VecError
from any2vec.graph.csr import Edges

__all__ = ["once"]


def once(edges: Edges, vertices: int, where: Callable[[int, int], str]) -> Edges:
    """Keep one of the edges (i, j) and (j, i); raise if their weights differ, and say ``where(i, j)``."""
    sources, targets, weights = edges
    forward, backward = np.flatnonzero(sources < targets), np.flatnonzero(sources > targets)
    one = sources[forward].astype(np.int64) * vertices + targets[forward]
    other = targets[backward].astype(np.int64) * vertices + sources[backward]
    kept = np.ones(len(sources), np.bool_)
    if all((np.diff(np.sort(keys)) > 0).all() for keys in (one, other)):
        _, i, j = np.intersect1d(one, other, assume_unique=True, return_indices=True)
        if weights is not None and (differ := np.flatnonzero(weights[forward[i]] != weights[backward[j]])).size:
            edge = int(forward[i[differ[0]]])
            raise Any2VecError(
                f"{where(int(sources[edge]), int(targets[edge]))} have two different weights; an undirected graph "
                f"needs equal ones; give these, or `directed=True`"
            )
        kept[backward[j]] = False
    elif len(one) == len(other):  # edges occur several times: only if all do so both ways
        columns = [one, other] if weights is None else [one, other, weights[forward], weights[backward]]
        there, back = np.lexsort(columns[::2]), np.lexsort(columns[1::2])
        if all((a[there] == b[back]).all() for a, b in zip(columns[::2], columns[1::2], strict=True)):
            kept[backward] = False
    return Edges(sources[kept], targets[kept], None if weights is None else weights[kept])
