"""The Huffman tree of hierarchical softmax: frequent vertices have short paths (Mikolov et al. 2013).

Of V vertices it has V - 1 inner ones, numbered by falling count, the root first: like vertices, so that the hottest
rows come first.
"""

from typing import NamedTuple

import numpy as np
from numba import uint64
from numpy.typing import NDArray

from any2vec.errors import Any2VecError
from any2vec.llvm.compiled import njit
from any2vec.samples.draws import draw
from any2vec.samples.windows import total_of

_MOST = 1 << 30  # vertices, whose tree has less than 2^31 nodes

LONGEST = 64
"""Inner vertices on a path, at most: a longer one takes counts that sum to more than 10^13."""


class _Paths(NamedTuple):
    """The path from the root to each vertex."""

    starts: NDArray[np.int64]  # (V + 1,): Vertex v's path is ``steps[starts[v] : starts[v + 1]]``
    steps: NDArray[np.int32]  # twice an inner vertex, plus 1 if the path goes on to its second child: its code there

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Inner vertices on each path, shape (V,)."""
        return np.diff(self.starts)


def huffman_paths(counts: NDArray[np.int64]) -> _Paths:
    """Build the Huffman tree of at least two counts, in falling order, and list its paths.

    Ties are broken as in word2vec.c: an inner vertex comes before a vertex of the same count.
    """
    _check(counts)
    parents, codes = _tree(counts)
    starts = np.zeros(len(counts) + 1, np.int64)
    paths = _Paths(starts, _paths(parents, codes, starts))
    if (longest := int(paths.lengths.max())) > LONGEST:
        raise Any2VecError(
            f"a path of the Huffman tree has {longest} inner vertices, more than {LONGEST}: the counts are too far "
            "apart for hierarchical softmax; use `loss='negative'`"
        )
    return paths


def same_splits(before: NDArray[np.int64], after: NDArray[np.int64], places: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the inner vertex of an earlier tree that splits the same vertices the same way as each here, or -1.

    The trees are those of counts in falling order; `places`, shape (V,), has the number in the earlier tree of each
    vertex, or -1. The last row, of no inner vertex, has -1.
    """
    for counts in (before, after):
        _check(counts)
    old = _splits(*_tree(before), np.arange(len(before), dtype=np.uint64))
    new = np.arange(len(before), len(before) + len(after), dtype=np.uint64)  # no vertex of the earlier tree
    here = _splits(*_tree(after), np.where(places >= 0, places.astype(np.uint64), new))
    known = {pair: inner for inner, pair in enumerate(zip(*old.T.tolist(), strict=True))}
    found = [known.get(pair, -1) for pair in zip(*here.T.tolist(), strict=True)]
    return np.array([*found, -1], np.int32)


def _check(counts: NDArray[np.int64]) -> None:
    if len(counts) > _MOST:
        raise Any2VecError(
            f"{len(counts):,} vertices are too many for hierarchical softmax, which takes up to {_MOST:,}; use "
            "`loss='negative'`"
        )
    total_of(counts)


@njit(cache=True)
def _splits(parents: NDArray[np.int32], codes: NDArray[np.int8], names: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Hash the vertices below the first and the second child of each inner vertex; shape (V - 1, 2)."""
    root, vertices = parents.size - 1, names.size
    below = np.zeros(parents.size, np.uint64)
    splits = np.empty((vertices - 1, 2), np.uint64)
    for vertex in range(vertices):
        below[vertex] = draw(uint64(0), names[vertex])
    for node in range(root):  # children come before their parents
        below[parents[node]] += below[node]
        splits[root - parents[node], codes[node]] = below[node]
    return splits


@njit(cache=True)
def _tree(counts: NDArray[np.int64]) -> tuple[NDArray[np.int32], NDArray[np.int8]]:
    """Join the two least nodes until one is left; nodes 0..V-1 are vertices, V + i is the inner one made i-th."""
    vertices = counts.size
    total = np.empty(2 * vertices - 1, np.int64)
    total[:vertices] = counts
    parents = np.empty(2 * vertices - 1, np.int32)
    codes = np.zeros(2 * vertices - 1, np.int8)
    vertex, inner = vertices - 1, vertices  # the least of each kind that is left: both kinds are in order
    for made in range(vertices, 2 * vertices - 1):
        total[made] = 0
        for code in range(2):
            if vertex >= 0 and (inner == made or total[vertex] < total[inner]):
                least = vertex
                vertex -= 1
            else:
                least = inner
                inner += 1
            total[made] += total[least]
            parents[least], codes[least] = made, code
    return parents, codes


@njit(cache=True)
def _paths(parents: NDArray[np.int32], codes: NDArray[np.int8], starts: NDArray[np.int64]) -> NDArray[np.int32]:
    root = parents.size - 1
    vertices = starts.size - 1
    for vertex in range(vertices):
        node, length = vertex, 0
        while node != root:
            node = parents[node]
            length += 1
        starts[vertex + 1] = starts[vertex] + length
    steps = np.empty(starts[vertices], np.int32)
    for vertex in range(vertices):
        node, at = vertex, starts[vertex + 1]
        while node != root:
            at -= 1
            steps[at] = 2 * (root - parents[node]) + codes[node]
            node = parents[node]
    return steps
