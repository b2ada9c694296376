"""What targets are drawn from: the table of negatives, and Huffman's tree of V."""

from typing import Any, NamedTuple

import numpy as np
from numba import int64, uint64
from numpy.typing import NDArray

from any2vec.corpus import Worklist
from any2vec.errors import Any2VecError
from any2vec.llvm.compiled import njit
from any2vec.samples.draws import POOL, draw, epoch_key
from any2vec.samples.windows import EpochDraws, SampleTables, is_kept, total_of

POWER = 0.75
"""Usual exponent of the counts (Mikolov et al. 2013, "Distributed representations of words and phrases", 2.2)."""


def probabilities(counts: NDArray[Any], power: float = POWER, many: Any = 1) -> NDArray[np.float64]:
    """Return each vertex's probability of being drawn as a negative; shape (V,).

    It grows with the `power` of the counts; a vertex without any is never drawn. If `counts` are those of groups,
    `many` has the number of vertices of each, and the probabilities are those of the groups.
    """
    weights = np.where(counts > 0, counts, 1.0) ** power * many
    weights[counts == 0] = 0  # of an earlier text, in which it is not known how often it occurred
    return weights / weights.sum()


def alias_table(p: NDArray[np.float64]) -> NDArray[np.uint64]:
    """Make Walker's alias table of V < 2^32 probabilities, of 8 bytes each: it fits in L2 where word2vec's has 40 MB.

    Entry i has its alias in the low half, and in the high half the threshold up to which column i is i's own. Each
    column's share is exact to 2^-32 / V.
    """
    threshold, alias, order = np.empty(p.size), np.empty(p.size, np.int64), np.empty(p.size, np.int64)
    share_columns(p * p.size, threshold, alias, order)
    high = np.minimum(threshold * 2.0**32, 2.0**32 - 1).astype(np.uint64)
    return (high << np.uint64(32)) | alias.astype(np.uint64)


@njit(nogil=True, cache=True)
def share_columns(left: Any, threshold: Any, alias: Any, order: Any) -> None:
    """Make n columns of height 1 of n shares, `left`, whose mean is 1 (Vose's method); `left` and `order` are scratch.

    Column i is i's own up to ``threshold[i]``, and that of ``alias[i]`` from there on.
    """
    smalls, larges = 0, left.size  # in `order`, small ones from the front, large ones from the back
    for i in range(left.size):
        threshold[i], alias[i] = 1.0, i
        if left[i] < 1.0:
            order[smalls] = i
            smalls += 1
        else:
            larges -= 1
            order[larges] = i
    while smalls > 0 and larges < left.size:
        smalls -= 1
        low, high = order[smalls], order[larges]
        threshold[low], alias[low] = left[low], high
        left[high] -= 1.0 - left[low]
        if left[high] < 1.0:
            larges += 1
            order[smalls] = high
            smalls += 1


@njit(inline="always")
def negative(bits: int, table: NDArray[np.uint64]) -> int:
    """Draw an id from 64 random bits, whose fraction times V is a column and a height in it."""
    size = uint64(table.size)
    place = (bits >> uint64(32)) * size + (((bits & uint64(0xFFFFFFFF)) * size) >> uint64(32))
    column = int64(place >> uint64(32))
    entry = table[column]
    aliased = int64((place & uint64(0xFFFFFFFF)) > (entry >> uint64(32)))  # no branch: it could not be predicted
    return column + aliased * (int64(entry & uint64(0xFFFFFFFF)) - column)


class PooledTables(SampleTables):
    """What samples are drawn from where each round has a pool: `EpochDraws.tables` is that, uint64, rising ids.

    `given` is what `SampleTables` takes; its `tables` are the alias table of negatives, of which a word has K.
    """

    def __init__(self, worklist: Worklist, negatives: int, *given: Any) -> None:
        super().__init__(*given)
        self._worklist, self._negatives = worklist, negatives
        self._known: dict[tuple[Any, ...], EpochDraws] = {}

    def round(self, epoch: int, ranges: tuple[tuple[int, int], ...]) -> EpochDraws:
        """Return what samples of some positions of an epoch are drawn from."""
        key = epoch, ranges
        if key not in self._known:
            if len(self._known) > 1:  # the round that computes, and the next one
                del self._known[next(iter(self._known))]
            draws = self.epoch(epoch)
            seen = np.zeros(len(self._keep), np.bool_)
            for low, high in ranges:
                for piece in self._worklist.pieces(low, high):
                    _see(piece.ids, piece.low, piece.high, draws.keep, draws.ahead(piece.at).keep_key, seen)
            stream = draw(np.uint64(epoch_key(self._seed, epoch, POOL)), self._first + ranges[0][0])
            words = np.flatnonzero(seen)
            pool = np.zeros(len(self._keep), np.bool_)
            _fill(pool, self._tables, np.uint64(stream), len(words) * self._negatives)
            self._known[key] = draws._replace(tables=np.flatnonzero(pool).astype(np.uint64))
        return self._known[key]


@njit(nogil=True, cache=True)
def _see(ids: Any, low: int, high: int, keep: Any, key: int, seen: Any) -> None:
    for position in range(low, high):
        seen[ids[position]] |= is_kept(ids[position], position, keep, key)


@njit(nogil=True, cache=True)
def _fill(pool: Any, table: Any, key: int, draws: int) -> None:
    for k in range(draws):
        pool[negative(draw(uint64(key), k), table)] = True


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
