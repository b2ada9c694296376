"""`Walker`: DeepWalk's, node2vec's and metapath2vec's walks on a graph, as pure functions of seed, pass and start."""

from collections.abc import Sequence
from functools import partial
from math import inf, isfinite
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from any2vec.errors import Any2VecError, shown
from any2vec.graph.graph import Graph
from any2vec.llvm.compiled import njit
from any2vec.samples.draws import draw
from any2vec.walks.first_order import first_order, typed
from any2vec.walks.metapaths import count_between, find_paths, typed_rows
from any2vec.walks.second_order import second_order
from any2vec.walks.tables import (
    Entries,
    any_twice,
    check_weights,
    counted,
    pass_key,
    row_tables,
    sides,
    start_shares,
    start_table,
    vertex_at,
)

__all__ = ["STARTS", "Walker", "check_walks"]


MOST = 1_000_000
"""Largest number of walks from a vertex, and of vertices in a walk."""

BIAS = 1000.0
"""p and q lie between this and its reciprocal."""

STARTS = ("every", "degree")
"""Where walks may start; the first is usual."""


class Walker:
    """Random walks on one graph; any number of threads can share it.

    Parameters
    ----------
    graph : Graph
        Weighted or not, directed or not. Neighbours are drawn in proportion to their weights.
    length : int
        Vertices in a walk; fewer if it comes to a vertex without outgoing edges.
    p, q : float
        node2vec's return and in-out parameters: a step back has 1/p, a step away 1/q times the probability of a step
        to a common neighbour. With 1 and 1 walks are DeepWalk's.
    restart : float
        Probability that a step returns to the walk's start (DeepWalk's alpha); node2vec's bias begins anew there.
    extend : bool
        Whether the in-out bias of a weighted graph goes by weights (node2vec+): an edge that weighs less than is usual
        at its vertices counts in part, or not. Without weights, or with q = 1, there is nothing to extend.
    gamma : float
        What is usual for `extend`: the mean of a vertex's weights, and so many of their standard deviations.
    starts : {"every", "degree"}
        Whether a pass starts once at each vertex, or at as many vertices that are drawn in proportion to the weights,
        or the number, of their outgoing edges.
    metapaths : sequence of str, or of sequences of str
        The kinds that vertices of a walk have, such as ``author-paper-author`` or ``("author", "paper", "author")``:
        neighbours of the next kind are drawn. A walk of each metapath starts at each vertex of its first kind.
    seed : int
        Walks are a function of it.

    Attributes
    ----------
    per_pass : int
        Walks in a pass: one from each vertex, or one for each start of a metapath.

    Raises
    ------
    Any2VecError
        If an argument is out of range, or a weight is not a positive number. If there are metapaths, and p or q is
        not 1, or walks on the graph cannot follow them (`metapaths.find_paths`).

    Notes
    -----
    Walk i of a pass starts at the i-th vertex of the pass's order, or that is drawn; walks are numbered pass by pass.
    """

    def __init__(
        self,
        graph: Graph,
        *,
        length: int = 40,
        p: float = 1.0,
        q: float = 1.0,
        restart: float = 0.0,
        extend: bool = False,
        gamma: float = 0.0,
        starts: str = STARTS[0],
        metapaths: Sequence[str | Sequence[str]] = (),
        seed: int = 1,
    ) -> None:
        check_walks(1, length, p, q, restart, extend, gamma, starts, metapaths)
        self.graph = graph
        self.length = length
        self.p, self.q = float(p), float(q)
        self.restart = float(restart)
        self.extend, self.gamma, self.starts = extend, float(gamma), starts
        self.seed = seed
        check_weights(graph.weights)
        weighted = int(graph.weights is not None)
        self.per_pass = len(graph)
        self._restart, self._starts = np.uint64(round(restart * 2**32)), np.zeros(0, np.uint64)
        entries = Entries(graph.indptr, graph.indices, graph.weights)
        between = partial(count_between, *entries[:2], first=0)
        self.paths = find_paths(metapaths, graph.kinds, between) if metapaths else []
        if self.paths and graph.kinds:
            self._typed, self._paths = typed_rows(entries, graph.kinds, self.paths)
            self.per_pass, self._ends = len(self._paths.starts), self._typed.ends
            self._left, self._right = sides(self.per_pass)
            self._kernel = typed(weighted, int(restart > 0))
            return
        second = (self.p != 1 or self.q != 1) and length > 1
        if second and any_twice(graph.indptr, graph.indices):  # walks are the same by one edge of their weight
            entries, weighted = counted(entries), 1
        extended = weighted == 1 and extend and second and self.q != 1
        rows, targets, heaviest, table, usual = row_tables(entries, second=second, extended=extended, gamma=gamma)
        self._left, self._right = sides(len(graph))
        self._ends = bool((np.diff(entries.indptr) == 0).any())
        drawn = int(starts != STARTS[0])
        if drawn:
            self._starts = start_table(*start_shares(entries))
        self._rows, self._targets = rows, targets
        self._biased: tuple[Any, ...] | None = None
        if second:
            given = entries.weights if extended else np.zeros(0, np.float32)
            self._biased = heaviest, table, table.view(np.float32), given, usual
            self._kernel = second_order(weighted, int(q < 1), int(extended), drawn)
        else:
            self._kernel = first_order(weighted, int(restart > 0), drawn)

    @property
    def nbytes(self) -> int:
        """Bytes of the graph, but for names, and of tables."""
        graph, sizes = self.graph, dict[int, int]()
        own: list[Any] = [graph.indptr, graph.indices, graph.weights, *vars(self).values()]
        for one in own:
            for array in one if isinstance(one, tuple) else (one,):
                if isinstance(array, np.ndarray):  # some are views of one table
                    sizes[array.ctypes.data] = array.nbytes
        return sum(sizes.values())

    def walk(self, pass_: int, first: int, last: int, out: NDArray[np.int32], lengths: NDArray[np.int32]) -> None:
        """Write walks `first` to ``last - 1`` of a pass, which has `per_pass`.

        `out`, int32 of shape (last - first, length), gets vertices, undefined beyond a walk's end; `lengths`, int32,
        gets the number of vertices of each walk.
        """
        if first >= last:
            return
        key = np.uint64(pass_key(self.seed, pass_))
        which = key, self._left, self._right, first, last, self._restart, out, lengths
        if self.paths:
            self._kernel(*self._typed[:3], self._paths, *which)
        elif self._biased is None:
            self._kernel(self._rows, self._targets, self._starts, *which)
        else:
            how = self._starts, self.graph.directed, self.p, self.q
            self._kernel(self._rows, self._targets, *self._biased, *how, *which)

    def measure(self, pass_: int, first: int, last: int, lengths: NDArray[np.int32]) -> None:
        """Write the lengths of walks, mostly without doing them; arguments as of `walk`."""
        if (self.graph.directed or self.paths) and self._ends:
            self.walk(pass_, first, last, np.empty((last - first, self.length), np.int32), lengths)
            return
        lengths.fill(self.length)
        if self._ends and not self._starts.size:  # at isolated vertices, which no walk comes to
            _end_at_once(self._rows, np.uint64(pass_key(self.seed, pass_)), self._left, self._right, first, lengths)


def check_walks(
    walks: int,
    length: int,
    p: float,
    q: float,
    restart: float,
    extend: bool = False,
    gamma: float = 0.0,
    starts: str = STARTS[0],
    metapaths: Sequence[str | Sequence[str]] = (),
) -> None:
    """Raise an error if the number of walks from each vertex, or an argument of `Walker`, is out of range."""
    if not isinstance(walks, Integral) or not 1 <= walks <= MOST:
        raise Any2VecError(f"`walks` is {shown(walks)}; each vertex must have from 1 to {MOST:,}")
    if not isinstance(length, Integral) or not 1 <= length <= MOST:
        raise Any2VecError(f"`length` is {shown(length)}; walks must have from 1 to {MOST:,} vertices")
    for name, value in (("p", p), ("q", q)):
        if not 0 < value < inf:
            raise Any2VecError(f"`{name}` is {value}; it must be a number above 0")
        if not 1 / BIAS <= value <= BIAS:
            raise Any2VecError(f"`{name}` is {value:g}; it must be from {1 / BIAS:g} to {BIAS:g}")
    if not 0 <= restart < 1:
        raise Any2VecError(f"`restart` is {restart}; it must be from 0 to below 1")
    _check_gamma(gamma, extend)
    if starts not in STARTS:
        raise Any2VecError(f"`starts` is {shown(starts)}; known are {', '.join(STARTS)}")
    if metapaths:
        _check_typed(p, q, starts)


def _check_gamma(gamma: float, extend: bool) -> None:
    if not isfinite(gamma):
        raise Any2VecError(f"`gamma` is {gamma}; it must be a finite number")
    if gamma and not extend:
        raise Any2VecError(f"`gamma` is {gamma:g}, but only node2vec+ has it: give `extend` too")


def _check_typed(p: float, q: float, starts: str) -> None:
    """Raise an error if walks along metapaths are to be node2vec's, or to start where they cannot."""
    for name, value in (("p", p), ("q", q)):
        if value != 1:
            raise Any2VecError(f"`{name}` is {value:g}, but walks along a `metapath` have no bias: leave out one")
    if starts != STARTS[0]:
        raise Any2VecError(f"`starts` is {starts!r}, but walks along a `metapath` start at every vertex of a kind")


@njit(nogil=True, cache=True)
def _end_at_once(
    rows: NDArray[np.int64], key: int, left: int, right: int, first: int, lengths: NDArray[np.int32]
) -> None:
    """Set the lengths of walks that start at a vertex without outgoing edges."""
    vertices = rows.size - 2
    order = draw(key, vertices)
    for i in range(lengths.size):
        v = vertex_at(first + i, vertices, left, right, order)
        if rows[v] == rows[v + 1]:
            lengths[i] = 1
