"""`Walker`: DeepWalk's, node2vec's and metapath2vec's walks on a graph, as pure functions of seed, pass and start.

The kernel of the walks of first order is here, in which the next vertex depends on the current one alone: DeepWalk's,
and those along metapaths. Each step waits for memory, so many walks are stepped together: first each one's entry is
chosen and prefetched, then each one's neighbour is read.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from math import inf, isfinite
from numbers import Integral
from typing import Any

import numpy as np
from numba import int64, uint64
from numpy.typing import NDArray

from any2vec.errors import Any2VecError, shown
from any2vec.graph.graph import Graph
from any2vec.io.memory import read_only
from any2vec.llvm.compiled import njit
from any2vec.llvm.intrinsics import prefetch
from any2vec.samples.draws import draw, mix
from any2vec.walks.metapaths import NO_PATHS, count_between, find_paths, start_on_path, typed_rows
from any2vec.walks.second_order import bias_of, second_order
from any2vec.walks.tables import (
    Entries,
    any_twice,
    check_weights,
    chosen,
    counted,
    half_draw,
    row_tables,
    start_at,
    start_shares,
    start_table,
    starts_of,
)

_LANES = 64  # walks stepped together; more do not fit in the L1 cache


@njit(inline="always")
def entry_drawn(begin: int, degree: int, one: int, two: int, weighted: int) -> tuple[int, int]:
    """Entry of a row that 32 random bits draw; with weights 64, of which 32 are left to choose in its column."""
    high = one * uint64(degree)
    if weighted:
        high += (two * uint64(degree)) >> uint64(32)
    return begin + int64(high >> uint64(32)), high & uint64(0xFFFFFFFF)


# A kernel is one function, long as it is.
@cache
def first_order(weighted: int, restarting: int, typed: int = 0) -> Callable[..., None]:  # noqa: C901, PLR0915
    """Return the kernel for graphs with weights or without (1 or 0), for walks that may restart, and along metapaths.

    The kernel writes walks `first` to ``last - 1`` of the pass of `starts` to the rows of `out`. Along metapaths, a
    vertex has a row for each slot of `paths`, and a start is one of all metapaths together.
    """

    @njit(nogil=True, cache=True, error_model="numpy")
    def walk(  # noqa: C901, PLR0912, PLR0915
        rows: Any, targets: Any, paths: Any, starts: Any, first: int, last: int, restart: int, out: Any, lengths: Any
    ) -> None:
        length = out.shape[1]
        key = starts.keys[0]
        order = draw(key, starts.per_pass)
        row = np.empty(_LANES, np.int64)  # of a walk's vertex, along a metapath for the kind that comes next
        step = np.empty(_LANES, np.int64)  # of its metapath
        origin = np.empty(_LANES, np.int64)
        entry = np.empty(_LANES, np.int64)
        keys = np.empty(_LANES, np.uint64)
        bits = np.empty(_LANES, np.uint64)
        for begin in range(first, last, _LANES):
            lanes = min(_LANES, last - begin)
            base = begin - first
            for i in range(lanes):
                x, keys[i] = start_at(begin + i, key, order, starts)
                row[i] = x
                if typed:
                    x, origin[i] = start_on_path(x, paths)
                    step[i] = origin[i]
                    row[i] = x * paths.slots + paths.slot[step[i]]
                prefetch(rows, row[i])
                out[base + i, 0] = x
                lengths[base + i] = length
            ended = 0
            for k in range(1, length):
                if weighted:
                    for i in range(lanes):
                        bits[i] = draw(keys[i], k - 1)
                elif k & 1:  # one draw does for two steps
                    for i in range(lanes):
                        bits[i] = draw(keys[i], (k - 1) >> 1)
                else:
                    for i in range(lanes):
                        bits[i] <<= uint64(32)
                stuck = False
                for i in range(lanes):
                    begins = rows[row[i]]
                    degree = rows[row[i] + 1] - begins
                    one, two = bits[i] >> uint64(32), bits[i] & uint64(0xFFFFFFFF)
                    entry[i], left = entry_drawn(begins, degree, one, two, weighted)
                    if weighted:
                        bits[i] = left
                        prefetch(targets, 2 * entry[i])
                    else:
                        prefetch(targets, entry[i])
                    stuck |= degree == 0
                if stuck:
                    for i in range(lanes):
                        if rows[row[i]] == rows[row[i] + 1]:
                            entry[i] = 0  # it goes on from any entry, beyond its end
                            ended += lengths[base + i] == length
                            lengths[base + i] = min(lengths[base + i], k)
                    if ended == lanes:
                        break
                for i in range(lanes):
                    x = chosen(targets, entry[i], bits[i]) if weighted else int64(targets[entry[i]])
                    if typed:
                        step[i] = paths.after[step[i]]
                    if restarting and half_draw(mix(keys[i]), k - 1) < uint64(restart):
                        x = int64(out[base + i, 0])
                        if typed:
                            step[i] = origin[i]
                    out[base + i, k] = x
                    row[i] = x * paths.slots + paths.slot[step[i]] if typed else x
                    prefetch(rows, row[i])

    return walk


_MOST = 1_000_000
"""Largest number of walks from a vertex, and of vertices in a walk."""

_BIAS = 1000.0
"""p and q lie between this and its reciprocal."""

STARTS = ("every", "degree")
"""Where walks may start; the first is usual."""


@dataclass(frozen=True, kw_only=True)
class WalkOptions:
    """How walks go; an error says if an option is out of range, or if they do not go together."""

    length: int = 40  # vertices in a walk; fewer if it comes to a vertex without outgoing edges
    p: float = 1.0  # node2vec: a step back has 1/p times the probability of one to a common neighbour; with p and q 1,
    q: float = 1.0  # walks are DeepWalk's; and a step away 1/q times
    restart: float = 0.0  # probability that a step returns to the start (DeepWalk's alpha); the bias begins anew there
    extend: bool = False  # node2vec+: an edge that weighs less than is usual at its vertices counts in part, or not
    gamma: float = 0.0  # what is usual: the mean of a vertex's weights, and so many of their standard deviations
    starts: str = STARTS[0]  # at each vertex once a pass, or as often at ones drawn by their edges' weights, or number
    metapaths: Sequence[str | Sequence[str]] = ()  # kinds that a walk's vertices have: each starts at its first kind
    seed: int = 1  # walks are a function of it

    def __post_init__(self) -> None:  # noqa: C901 (checks, one after the other)
        if not isinstance(self.length, Integral) or not 1 <= self.length <= _MOST:
            raise Any2VecError(f"`length` is {shown(self.length)}; walks must have from 1 to {_MOST:,} vertices")
        for name in ("p", "q"):
            value = getattr(self, name)
            if not 0 < value < inf:
                raise Any2VecError(f"`{name}` is {value}; it must be a number above 0")
            if not 1 / _BIAS <= value <= _BIAS:
                raise Any2VecError(f"`{name}` is {value:g}; it must be from {1 / _BIAS:g} to {_BIAS:g}")
            if self.metapaths and value != 1:
                raise Any2VecError(f"`{name}` is {value:g}, but walks along a `metapath` have no bias: leave out one")
        if not 0 <= self.restart < 1:
            raise Any2VecError(f"`restart` is {self.restart}; it must be from 0 to below 1")
        if not isfinite(self.gamma):
            raise Any2VecError(f"`gamma` is {self.gamma}; it must be a finite number")
        if self.gamma and not self.extend:
            raise Any2VecError(f"`gamma` is {self.gamma:g}, but only node2vec+ has it: give `extend` too")
        if self.starts not in STARTS:
            raise Any2VecError(f"`starts` is {shown(self.starts)}; known are {', '.join(STARTS)}")
        if self.metapaths and self.starts != STARTS[0]:
            message = "walks along a `metapath` start at every vertex of a kind"
            raise Any2VecError(f"`starts` is {self.starts!r}, but {message}")

    @property
    def second(self) -> bool:
        """Whether the next vertex depends on the one before, too."""
        return (self.p != 1 or self.q != 1) and self.length > 1

    @property
    def restarts(self) -> np.uint64:
        """Of 2^32 steps, how many return to the start."""
        return np.uint64(round(self.restart * 2**32))

    def extends(self, entries: Entries) -> bool:
        """Whether walks of the second order on these rows are node2vec+'s."""
        return self.extend and self.q != 1 and entries.weights is not None


def check_walks(walks: int, length: int, **how: Any) -> None:
    """Raise an error if the number of walks from each vertex, or an option of walks, is out of range."""
    if not isinstance(walks, Integral) or not 1 <= walks <= _MOST:
        raise Any2VecError(f"`walks` is {shown(walks)}; each vertex must have from 1 to {_MOST:,}")
    WalkOptions(length=length, **how)


class Walker:
    """Random walks on one graph, with options of `WalkOptions`; any number of threads can share it.

    A pass has `per_pass` walks: one from each vertex, or one for each start of a metapath. Walk i of a pass starts at
    the i-th vertex of the pass's order, or that is drawn; walks are numbered pass by pass. An error says if a weight is
    not a positive number, or walks on the graph cannot follow a metapath.
    """

    def __init__(self, graph: Graph, **how: Any) -> None:
        self.graph, self.options = graph, (options := WalkOptions(**how))
        self.length = options.length
        check_weights(graph.weights)
        entries = Entries(graph.indptr, graph.indices, graph.weights)
        weighted, restarting = int(graph.weights is not None), int(options.restart > 0)
        between = partial(count_between, *entries[:2], first=0)
        self.paths = find_paths(options.metapaths, graph.kinds, between) if options.metapaths else []
        self.per_pass, self._starts = len(graph), np.zeros(0, np.uint64)
        if self.paths and graph.kinds:
            typed, paths = typed_rows(entries, graph.kinds, self.paths)
            self.per_pass, self._ends = len(paths.starts), typed.ends
            self._given: tuple[Any, ...] = typed.bounds, typed.targets, paths
            self._kernel = first_order(weighted, restarting, 1)
            return
        if options.second and any_twice(graph.indptr, graph.indices):  # walks are the same by one edge of their weight
            entries, weighted = counted(entries), 1
        extended = options.second and options.extends(entries)
        tables = row_tables(entries, second=options.second, extended=extended, gamma=options.gamma)
        self._ends = bool((np.diff(entries.indptr) == 0).any())
        if options.starts != STARTS[0]:
            self._starts = start_table(*start_shares(entries))
        if options.second:
            bias = bias_of(options.p, options.q, weighted=weighted == 1, directed=graph.directed)
            weights = entries.weights if extended and entries.weights is not None else np.zeros(0, np.float32)
            self._given = tables, read_only(weights), bias
            self._kernel = second_order(weighted, int(bias.outward), int(extended))
        else:
            self._given = tables.rows, tables.targets, NO_PATHS
            self._kernel = first_order(weighted, restarting)

    @property
    def nbytes(self) -> int:
        """Bytes of the graph, but for names, and of tables."""
        graph, sizes = self.graph, dict[int, int]()
        held: list[Any] = [graph.indptr, graph.indices, graph.weights, self._starts, *self._given]
        for one in held:
            for array in one if isinstance(one, tuple) else (one,):
                if isinstance(array, np.ndarray):  # some are the same
                    sizes[array.ctypes.data] = array.nbytes
        return sum(sizes.values())

    def walk(self, pass_: int, first: int, last: int, out: NDArray[np.int32], lengths: NDArray[np.int32]) -> None:
        """Write walks `first` to ``last - 1`` of a pass, which has `per_pass`.

        `out`, int32 of shape (last - first, length), gets vertices, undefined beyond a walk's end; `lengths`, int32,
        gets the number of vertices of each walk.
        """
        if first < last:
            starts = starts_of(self.options.seed, range(pass_, pass_ + 1), self.per_pass, self._starts)
            self._kernel(*self._given, starts, first, last, self.options.restarts, out, lengths)

    def measure(self, pass_: int, first: int, last: int, lengths: NDArray[np.int32]) -> None:
        """Write the lengths of walks, mostly without doing them; arguments as of `walk`."""
        anywhere = self.graph.directed or self.paths
        if self._ends and (anywhere or not self._starts.size):
            steps = self.length if anywhere else min(2, self.length)  # else only isolated vertices end a walk: at once
            self.walk(pass_, first, last, np.empty((last - first, steps), np.int32), lengths)
            lengths[lengths == steps] = self.length
        else:
            lengths.fill(self.length)
