"""The loop that all operators share: windows, groups of samples, and the rows they update.

Its twin in plain Python, `tests/naive/naive.py`, is read first: it does the same, sample by sample.

`operator_kernel` compiles the loop with an operator's functions and constants, over which the kernel closes. Numba
inlines the functions, and its cache finds a kernel again by a fingerprint of all that the kernel reaches
(`llvm.compiled`). A row changes in `apply`: in `tiles.update`, unless the operator has an `apply` of its own.
"""

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numba import float32, int64, uint64
from numpy.typing import NDArray

from any2vec.cluster.workers import Workers
from any2vec.corpus import Worklist
from any2vec.llvm.compiled import njit
from any2vec.llvm.intrinsics import prefetch_row, unowned
from any2vec.operators.base import Operator, add_curvature, learning_rate
from any2vec.operators.matrices import AT, NEXT_MERGE, HotRows
from any2vec.operators.merging import merge_due
from any2vec.operators.tiles import NOTHING, TILE_ROWS, aligned, copy, put_repeats, tile_rows
from any2vec.samples.windows import (
    ALL,
    CHUNK,
    EpochDraws,
    SampleTables,
    Slice,
    first_chunk,
    line_of,
    list_followed,
    list_line,
    list_windows,
    new_windows,
    window_of,
)

_ONE_WINDOW_OF = 16  # the curvature is measured on one window in 16, and on all lines, which are fewer
_ENOUGH = 50.0  # sum of squared gradients
_AHEAD = 8  # targets, where words have parts: `apply` asks for others, as more at once would wait for each other
compiling = threading.Lock()  # simulated hosts share kernels


def operator_kernel(
    operator: Operator,
    dim: int,
    width: int,
    addressing: str = "direct",
    freezing: bool = False,
    measuring: bool = False,
    copying: bool = False,
) -> Callable[..., None]:
    """Compile an operator for rows of `dim` (16 n) floats, in registers of `width` floats, or find it in the cache.

    `addressing` is ``direct``: row i belongs to vertex i, as on one host; ``counted``: the same, and updates are
    counted, so that a host knows the rows it changed (RepModel); ``mapped``: a table has each vertex's row (PullModel).
    All three change the matrices by the same bits. `freezing`: some rows of e must not change (`RowTable.frozen`).
    `measuring`: the curvature is measured where addressing is ``direct``, as it is elsewhere. `copying`: threads may
    have copies of hot rows; the curvature is measured then.

    ``kernel(ids, bounds, low, high, e, t, rows, draws, rate, hot, stats)`` applies the samples of positions
    low..high-1 of W to the flat matrices `e` and `t`; the others are a `RowTable`, `EpochDraws`, `Rate`, `HotRows` and
    `ThreadStats`.
    """
    with compiling:
        scratch = operator.scratch(dim)
        if operator.apply is None:
            scratch = max(scratch, Operator.scratch(operator, dim))  # tiles are not checked for overflow
        sizes = operator.options.window, scratch, dim, width
        measuring |= copying or addressing != "direct"
        return _operator_kernel(code_of(operator), *sizes, addressing, freezing, measuring, copying)


def inspection_kernel(operator: Operator) -> Callable[..., None]:
    """Compile an operator's inspection (GraphAny2Vec, section 3.2): it lists the same samples, and counts.

    ``inspect(ids, bounds, low, high, window, most, draws, sources, destinations)`` adds, per row of e, the pairs it is
    the source of and, per row of t, the samples it is the destination of; int32 arrays. A group has `most` sources.
    """
    with compiling:
        return _inspection_kernel(code_of(operator))


class OperatorCode(NamedTuple):
    """What kernels take of an operator: its functions and constants, named as there."""

    name: str
    edges: Any
    steps: Any
    score: Any
    update: Any
    apply: Any
    weigh: Any
    varying: bool
    several: bool
    chunked: bool
    lines: bool
    documents: bool
    targets: int
    sizes: tuple[int, ...]
    group_per_context: bool
    joined: bool


def code_of(operator: Operator) -> OperatorCode:
    """Take from an operator what kernels need."""
    return OperatorCode(type(operator).__name__, *(getattr(operator, name) for name in OperatorCode._fields[1:]))


def compiled(kernel: Any, code: OperatorCode, **options: Any) -> Any:
    """Compile a kernel; Numba's cache has files of their own for the kernels of each operator."""
    kernel.__qualname__ = f"{kernel.__name__}-{code.name}"
    return njit(nogil=True, error_model="numpy", cache=True, **options)(kernel)


@njit(inline="always")
def _offset(vertex: int, rows: Any, mapped: bool, hot: HotRows, dim: int) -> int:
    """Offset of a vertex's row, or of this thread's copy of it."""
    row = int64(rows[vertex]) if mapped else vertex
    return (row + hot.shift * int64(row < hot.rows)) * dim


@njit(inline="always")
def _copied(e: Any, offset: int, row: int, dim: int) -> int:
    """Copy a frozen row to a spare one, which may change in its place; return that one's offset."""
    copy(e[row * dim :], e[offset:], dim)
    return row * dim


def _windows_of(code: OperatorCode) -> tuple[int, Any, Any]:
    """Return the positions of a chunk that is taken whole, or 0, how windows are listed, and how one is taken."""
    if code.lines:
        return ALL, list_line, line_of
    return (CHUNK, list_followed, window_of) if code.chunked else (0, list_windows, window_of)


@cache
def _fetching(code: OperatorCode, dim: int, addressing: str, freezing: bool) -> Any:
    """Make what lists a group as offsets of rows, and asks for these."""
    edges, targets, sizes = code.edges, code.targets, code.sizes
    group_per_context, joined = code.group_per_context, code.joined
    varying, several, chunked, documents, lines = code.varying, code.several, code.chunked, code.documents, code.lines
    counted, mapped = addressing == "counted", addressing == "mapped"

    @njit(inline="always")
    def fetch(
        e: Any, t: Any, into: Any, near: Any, group: int, draws: Any, rows: Any, spare: int, hot: Any
    ) -> tuple[int, int]:
        """List a group as offsets of rows: count updates, copy frozen rows, prefetch those that are used next."""
        x, y, labels = into
        sources, skips = edges(near, group, draws.tables, sizes, x, y, labels)
        for k in range(sources):
            vertex = x[k]
            if documents and vertex < 0:
                x[k] = rows.documents + ~vertex * dim
                continue
            if counted:
                rows.e[vertex] += x[x.size // 2 + k] if chunked else 1
            x[k] = _offset(vertex, rows.e, mapped, hot, dim)
            if freezing and rows.frozen[vertex]:
                x[k] = _copied(e, x[k], spare + k, dim)
            if lines:
                prefetch_row(e, x[k], dim)
        updates = 1 if joined else sources
        first = y[0]
        for k in range(1, targets - skips if varying else targets):
            vertex = y[k]
            if counted:
                rows.t[vertex] += updates * int64(varying or vertex != first)
            y[k] = _offset(vertex, rows.t, mapped, hot, dim)
            if not several or k < _AHEAD:
                prefetch_row(t, y[k], dim)
        if counted:
            rows.t[first] += updates
        y[0] = _offset(first, rows.t, mapped, hot, dim)
        if not group_per_context:
            prefetch_row(t, y[0], dim)
            if not several:  # the centre is a source of windows to come
                prefetch_row(e, _offset(near.words[near.centre], rows.e, mapped, hot, dim), dim)
        return sources, skips

    return fetch


@cache
def _operator_kernel(
    code: OperatorCode,
    window: int,
    scratch: int,
    dim: int,
    width: int,
    addressing: str,
    freezing: bool,
    measuring: bool,
    copying: bool,
) -> Callable[..., None]:
    targets, group_per_context, lines = code.targets, code.group_per_context, code.lines
    weigh, weighs = code.weigh, code.weigh is not None
    whole, listing, nth = _windows_of(code)
    apply = code.apply or _apply(code.score, code.steps, code.update, code.varying)
    fewest = 0 if code.documents else 1  # words of a context: a document is a source where there is none

    fetch = _fetching(code, dim, addressing, freezing)

    def kernel(
        ids: Any,
        bounds: Any,
        low: int,
        high: int,
        e: Any,
        t: Any,
        rows: Any,
        draws: Any,
        rate: Any,
        hot: Any,
        stats: Any,
    ) -> None:
        # two slots: the rows of the next group are on their way to the cache while the last one is applied
        made = (
            new_windows(window),
            np.zeros((2, max(rows.sources, 2 * window)), np.int64),
            np.empty((2, targets), np.int64),
            np.empty((2, targets), np.int8),
            aligned(scratch),
        )
        windows, x, y, labels, tile = unowned(made)
        ids, bounds, e, t, rows, draws, hot, stats = unowned((ids, bounds, e, t, rows, draws, hot, stats))
        n = skipped = slot = 0
        alpha, next_alpha = float32(0.0), learning_rate(rate, 0)
        measured = next_measured = False
        sentence, position = first_chunk(bounds, low, high, whole)
        done = end = low
        last = False
        while not last:
            last = position >= high or stats.stop[0] != 0  # then there is no window, only a group left to apply
            count, stop = 1, position
            if not last:
                begin, end = bounds[sentence], bounds[sentence + 1]
                count, stop = listing(ids, position, end if whole else high, begin, end, window, draws, windows, fewest)
            for i in range(count):
                near = nth(windows, ids, i, sentence)
                next_alpha = learning_rate(rate, windows.position[i] - low)
                if weighs and not last:
                    next_alpha *= weigh(near, draws.tables)
                if measuring:
                    next_measured = lines or near.key % uint64(_ONE_WINDOW_OF) == uint64(0)
                for group in range(near.end - near.begin - 1 if group_per_context and not last else 1):
                    slot = 1 - slot
                    sources = skips = 0
                    if not last:
                        into, spare = (x[slot], y[slot], labels[slot]), rows.spare + x.shape[1] * slot
                        sources, skips = fetch(e, t, into, near, group, draws, rows, spare, hot)
                    listed = x[1 - slot], y[1 - slot], labels[1 - slot], n, skipped, alpha, measured
                    apply(e, t, listed, tile, stats, targets, dim, width)  # the group before
                    n, skipped, alpha, measured = sources, skips, next_alpha, next_measured
            if copying and hot.rows:
                hot.position[AT] += stop - position
                if hot.position[AT] >= hot.position[NEXT_MERGE]:
                    seen = stats.curvature[1]
                    kappa = stats.curvature[0] / seen if seen >= _ENOUGH else 0.0
                    merge_due(e, t, hot, next_alpha, kappa, int64(dim))  # no constant: compiled once
            position = stop
            stats.words[0] += min(stop, high) - done
            done = min(stop, high)
            sentence += int64(stop == end)
        if position >= high:
            stats.words[0] += high - done  # what a slice has before the first chunk that begins in it
        _ = made  # until here it owns its arrays

    return compiled(kernel, code, fastmath=True)


@cache
def _apply(score: Any, steps: Any, update: Any, varying: bool) -> Any:
    """Make `Operator.apply` of an operator that has none: score, step, update, evenly many sources at a time.

    A block has at most `tile_rows` sources.
    """

    @njit(inline="always")
    def apply(e: Any, t: Any, group: Any, tile: Any, stats: Any, targets: int, dim: int, width: int) -> None:
        x, y, labels, n, skipped, alpha, measured = group
        present = targets - skipped if varying else targets  # a constant of the kernel unless groups have some each
        most = TILE_ROWS if varying else tile_rows(width)  # all paths have the root: with ten, analogies were worse
        count = (n + most - 1) // most
        begin = 0
        for block in range(count):
            end = (n * (block + 1)) // count
            size = end - begin
            score(e, x[begin:], t, y, tile, size, present, dim, width)
            if skipped and not varying:  # no loss here, and below no step
                put_repeats(tile, y, size, present, NOTHING)
            loss, curvature = steps(tile, labels, size, present, alpha, measured, width)
            stats.loss[0] += loss
            if skipped and not varying:
                put_repeats(tile, y, size, present, 0.0)
            if measured:
                add_curvature(stats, curvature, tile, size * present, alpha)
            update(e, x[begin:], t, y, tile, size, present, dim, width)
            begin = end
        stats.samples[0] += n * (targets - skipped)

    return apply


@cache
def _inspection_kernel(code: OperatorCode) -> Callable[..., None]:
    edges, targets, sizes = code.edges, code.targets, code.sizes
    group_per_context, joined = code.group_per_context, code.joined
    varying, chunked, documents = code.varying, code.chunked, code.documents
    whole, listing, nth = _windows_of(code)
    fewest = 0 if documents else 1

    def inspect(
        ids: Any, bounds: Any, low: int, high: int, window: int, most: int, draws: Any, sources: Any, destinations: Any
    ) -> None:
        made = new_windows(window), np.empty(most, np.int64), np.empty(targets, np.int64), np.empty(targets, np.int8)
        windows, x, y, labels = unowned(made)
        ids, bounds, draws, sources, destinations = unowned((ids, bounds, draws, sources, destinations))
        sentence, position = first_chunk(bounds, low, high, whole)
        while position < high:
            begin, end = bounds[sentence], bounds[sentence + 1]
            until = end if whole else high
            count, stop = listing(ids, position, until, begin, end, window, draws, windows, fewest)
            for i in range(count):
                near = nth(windows, ids, i, sentence)
                for group in range(near.end - near.begin - 1 if group_per_context else 1):
                    n, skips = edges(near, group, draws.tables, sizes, x, y, labels)
                    for k in range(n):
                        if not documents or x[k] >= 0:
                            sources[x[k]] += x[x.size // 2 + k] if chunked else 1
                    updates = 1 if joined else n
                    destinations[y[0]] += updates
                    for k in range(1, targets - skips if varying else targets):
                        destinations[y[k]] += updates * int64(varying or y[k] != y[0])
            position = stop
            sentence += int64(stop == end)
        _ = made

    return compiled(inspect, code)


_AT_A_TIME = 1 << 18  # positions
_MOST = np.iinfo(np.int32).max  # that is counted


class Inspector:
    """Inspects slices of a host's part of the worklist; its matrices have `vertices` rows."""

    draws: EpochDraws  # what the samples of the last slice are drawn from

    def __init__(self, worklist: Worklist, tables: SampleTables, operator: Operator, vertices: int) -> None:
        self._worklist, self._tables = worklist, tables
        self._operator, self._vertices = operator, vertices
        self._skips = False
        self._counts: tuple[NDArray[np.int32], NDArray[np.int32]] | None = None

    def begin(self, slice_: Slice, workers: Workers) -> "list[Future[float]]":
        """Queue inspection behind running work; futures return CPU seconds."""
        if self._counts is None:  # only PullModel inspects
            self._counts = np.zeros(self._vertices, np.int32), np.zeros(self._vertices, np.int32)
        for counts in self._counts:
            counts[:] = 0
        draws, window = self._tables.round(slice_.epoch, slice_.ranges), self._operator.options.window
        most = self._operator.sources
        self.draws = draws
        sources, destinations = self._counts  # threads may lose a count to each other, but not the last one
        kernel = inspection_kernel(self._operator)

        def run(begin: int, end: int) -> float:
            began = time.thread_time()
            for first in range(begin, max(end, begin + 1), _AT_A_TIME):  # nothing, too: to compile
                for low, high in slice_.part(first, min(first + _AT_A_TIME, end)).ranges:
                    if not self._skips:
                        for ids, bounds, at, *ends in self._worklist.pieces(low, high):
                            kernel(ids, bounds, *ends, window, most, draws.ahead(at), sources, destinations)
            return time.thread_time() - began

        return workers.spread(run, slice_.size, 1000)

    def sums(self, workers: Workers, wants_to_stop: Callable[[], bool]) -> "NDArray[np.int64] | None":
        """Count the updates of a whole epoch, shape (2, V), as `counts` does; None if that was stopped."""
        sums = np.zeros((2, self._vertices), np.int64)
        most = 2 * self._operator.options.window * self._operator.targets  # of a row, by a position
        each = max(1, _MOST // most)

        def look() -> None:
            if wants_to_stop():
                self.skip()

        look()
        size = self._worklist.size
        for begin in range(0, size, each):
            if not self._skips:
                slice_ = Slice(0, ((begin, min(begin + each, size)),))
                workers.join(self.begin(slice_, workers), look)
                sums += self.counts()
        return None if self._skips else sums

    def skip(self) -> None:
        """Return early from here on: what is counted is no longer needed."""
        self._skips = True

    def counts(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Return each vertex's updates as a source and as a destination, shapes (V,), once the futures are done."""
        assert self._counts is not None
        return self._counts
