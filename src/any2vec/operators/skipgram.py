"""The skip-gram operator with negative sampling, in two schedules: samples in, the labels e and t updated.

A sample is an edge from a context word (source, its `e`) to the centre (destination, its `t`, label 1) or to a
negative (label 0); the operator moves both ends along the gradient of the logistic loss (GraphAny2Vec, section 2.2).

- `exact` is word2vec's order: each pair (context, centre) draws its own negatives and is applied before the next.
- `window` draws one set of negatives for all context words of a centre and applies them together, up to
  `TILE_ROWS` at a time: a small matrix product (Ji et al., "Parallelizing word2vec in shared and distributed
  memory", 2016).
"""

import threading
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numba import float32, int64, njit, uint64
from numpy.typing import NDArray

from any2vec.llvm.prefetch import prefetch_row
from any2vec.operators.hot_rows import HotRows, merge, open_copies
from any2vec.operators.logistic import LIMIT, NOTHING, PADDING, logistic_steps
from any2vec.operators.tiles import ROW_ALIGNMENT, TILE_ROWS, dots, update
from any2vec.samples.draws import draw
from any2vec.samples.skipgram import CHUNK, first_draw, kept_around, negatives_of, window_size

__all__ = ["SCHEDULES", "Rate", "Rows", "ThreadStats", "no_rows", "skipgram_kernel"]

SCHEDULES = ("window", "exact")

_making = threading.Lock()
_MEASURED = 16  # of so many centres the curvature of one is measured
_JIT = {"nogil": True, "fastmath": True, "error_model": "numpy", "cache": True}


class Rate(NamedTuple):
    """The learning rate, falling linearly with the words done by all threads and hosts.

    At a position of the slice it is ``alpha * max(1 - (done + pace * (position - low)) / total, floor)``.

    Attributes
    ----------
    alpha : float
        At the start.
    floor : float
        Least share of `alpha`.
    done : float
        Words done by all when the slice begins.
    pace : float
        Words that all do while this thread does one.
    total : float
        Words of all epochs.
    """

    alpha: float
    floor: float
    done: float
    pace: float
    total: float


class ThreadStats(NamedTuple):
    """What a thread tells while it runs, and the word to stop.

    Attributes
    ----------
    words : float64 array, shape (1,)
        Positions done.
    samples : float64 array, shape (1,)
        Samples applied.
    loss : float64 array, shape (1,)
        Sum of their losses.
    curvature : float64 array, shape (2,)
        Sum of ``p (1 - p)`` over some samples, p being the prediction, and their number; one host does not count.
    stop : int64 array, shape (1,)
        Not 0 if the thread is to return early; shared by the threads.
    """

    words: NDArray[np.float64]
    samples: NDArray[np.float64]
    loss: NDArray[np.float64]
    curvature: NDArray[np.float64]
    stop: NDArray[np.int64]


class Rows(NamedTuple):
    """Of each vertex and label, the row it has here, or the updates it got.

    Attributes
    ----------
    e, t : int32 array, shape (V,)
        By kind of labels: unused (``whole``), gain the updates of each row (``counted``: the pairs a vertex is the
        source of, the samples it is the destination of), or hold the row of each vertex (``mapped``).
    """

    e: NDArray[np.int32]
    t: NDArray[np.int32]


def no_rows() -> Rows:
    """Make what the kernel of ``whole`` labels does not look at."""
    return Rows(np.zeros(0, np.int32), np.zeros(0, np.int32))


@njit(inline="always")
def _tile(size: int) -> Any:
    """Floats that begin a cache line: Numba's arrays begin at 32 bytes, and registers may have 64."""
    room = np.empty(size + ROW_ALIGNMENT, np.float32)
    skip = int64(room.ctypes.data // 4) % ROW_ALIGNMENT
    return room[ROW_ALIGNMENT - skip : ROW_ALIGNMENT - skip + size]


@njit(error_model="numpy")  # no fastmath: all kernels are to compute the same bits
def _rate(rate: Rate, ahead: int) -> float:
    left = 1.0 - (rate.done + rate.pace * ahead) / rate.total
    return float32(rate.alpha * max(left, rate.floor))


@njit(inline="always")
def _offset(word: int, rows: Any, mapped: bool, mirrors: HotRows, dim: int) -> int:
    """Offset of a word's row, or of this thread's mirror of it."""
    row = int64(rows[word]) if mapped else word
    return (row + mirrors.shift * int64(row < mirrors.hot)) * dim


@njit(inline="always")
def _draw_targets(
    y: Any, centre: int, key: int, first: int, t: Any, table: Any, rows: Any, labels: Any, mirrors: Any, sizes: Any
) -> int:
    """List the rows of the centre and its negatives; return how many negatives were the centre itself."""
    n, targets, dim = sizes
    counted, mapped = labels
    clashes = 0
    negatives_of(y, key, first, table, targets)
    for k in range(1, targets):
        word = y[k]
        clashes += int64(word == centre)
        if counted:
            rows[word] += n * int64(word != centre)
        y[k] = _offset(word, rows, mapped, mirrors, dim)
        prefetch_row(t, y[k], dim)
    if counted:
        rows[centre] += n
    y[0] = _offset(centre, rows, mapped, mirrors, dim)
    return clashes


@njit(inline="always")
def _apply(
    e: Any,
    t: Any,
    x: Any,
    y: Any,
    n: int,
    clashes: int,
    alpha: float,
    measured: bool,
    tile: Any,
    tally: Any,
    targets: int,
    dim: int,
    width: int,
) -> None:
    """Apply the samples from `n` sources to all targets, at most TILE_ROWS sources at a time, evenly."""
    blocks = (n + TILE_ROWS - 1) // TILE_ROWS
    begin = 0
    for block in range(blocks):
        end = (n * (block + 1)) // blocks
        size = end - begin
        dots(e, x[begin:], t, y, tile, size, targets, dim, width)
        if clashes:  # word2vec leaves out a negative that is the centre: no loss here, and below no step
            for j in range(1, targets):
                if y[j] == y[0]:
                    tile[j * size : (j + 1) * size] = float32(NOTHING)
        loss = 0.0
        for i in range(size):
            loss -= min(max(tile[i], float32(-LIMIT)), float32(LIMIT))
        tally.loss[0] += loss + logistic_steps(tile, size * targets, alpha, width)
        if measured:
            for i in range(size * targets):
                p = -tile[i] / alpha
                tally.curvature[0] += p * (float32(1.0) - p)
            tally.curvature[1] += size * (targets - clashes)
        for i in range(size):
            tile[i] += alpha
        if clashes:
            for j in range(1, targets):
                if y[j] == y[0]:
                    tile[j * size : (j + 1) * size] = float32(0.0)
        update(e, x[begin:], t, y, tile, size, targets, dim, width)
        begin = end
    tally.samples[0] += n * (targets - clashes)


def skipgram_kernel(
    schedule: str, dim: int, window: int, negatives: int, width: int, labels: str = "whole"
) -> Callable[..., None]:
    """Compile the operator for one schedule and its sizes, or find it in the cache.

    Parameters
    ----------
    schedule : {"window", "exact"}
        Order in which the samples are applied.
    dim : int
        Floats in a row, a multiple of 16.
    window : int
        Most context words on each side of a centre.
    negatives : int
        Negative samples for each positive one.
    width : int
        Floats in a vector register (`tiles.register_width`).
    labels : {"whole", "counted", "mapped"}
        ``whole``: row i is vertex i's, as on one host; ``counted``: so it is, and updates are counted, so that a host
        knows what it changed (RepModel); ``mapped``: a table has each vertex's row (PullModel). All three change the
        labels by the same bits.

    Returns
    -------
    function
        ``kernel(ids, bounds, low, high, e, t, rows, samples, rate, mirrors, tally)`` applies the samples of positions
        low..high-1 of the worklist to the flat labels `e` and `t`; `rows` are `Rows`.
    """
    with _making:  # hosts that are threads must share it
        return _make(schedule, dim, window, negatives, width, labels)


@cache
def _make(schedule: str, dim: int, window: int, negatives: int, width: int, labels: str) -> Callable[..., None]:
    window_schedule = schedule == "window"
    counted, mapped = labels == "counted", labels == "mapped"
    measuring = labels != "whole"
    targets = negatives + 1
    tile_size = TILE_ROWS * targets + PADDING

    @njit(**_JIT)
    def kernel(
        ids: Any,
        bounds: Any,
        low: int,
        high: int,
        e: Any,
        t: Any,
        rows: Any,
        samples: Any,
        rate: Any,
        mirrors: Any,
        tally: Any,
    ) -> None:
        words = np.empty(CHUNK + 2 * window, np.int64)
        positions = np.empty(CHUNK + 2 * window, np.int64)
        # two slots: the rows of the next samples are on their way to the cache while the last ones are applied
        x = np.empty((2, 2 * window), np.int64)
        y = np.empty((2, targets), np.int64)
        tile = _tile(tile_size)
        n = 0
        clashes = 0
        alpha = float32(0.0)
        measured = next_measured = False
        slot = 0
        e_before = np.empty(mirrors.hot * dim, np.float32)
        t_before = np.empty(mirrors.hot * dim, np.float32)
        open_copies(e, e_before, mirrors.hot, mirrors.shift, dim)
        open_copies(t, t_before, mirrors.hot, mirrors.shift, dim)
        since = 0
        sentence = np.searchsorted(bounds, low, side="right") - 1
        position = low
        while position < high and not tally.stop[0]:
            chunk = min(position + CHUNK, bounds[sentence + 1], high)
            first, last, size = kept_around(
                ids,
                position,
                chunk,
                bounds[sentence],
                bounds[sentence + 1],
                window,
                samples.keep,
                samples.keep_key,
                words,
                positions,
            )
            for centre in range(first, last):
                key = draw(samples.sample_key, positions[centre])
                reach = window_size(key, window)
                begin, end = max(centre - reach, 0), min(centre + reach + 1, size)
                if end - begin < 2:
                    continue
                next_alpha = _rate(rate, positions[centre] - low)
                if measuring:
                    next_measured = key % uint64(_MEASURED) == uint64(0)
                word = words[centre]
                if window_schedule:
                    count = 0
                    for context in range(begin, end):
                        if context != centre:
                            source = words[context]
                            if counted:
                                rows.e[source] += 1
                            x[slot, count] = _offset(source, rows.e, mapped, mirrors, dim)
                            count += 1
                    drawn = _draw_targets(
                        y[slot],
                        word,
                        key,
                        0,
                        t,
                        samples.negatives,
                        rows.t,
                        (counted, mapped),
                        mirrors,
                        (count, targets, dim),
                    )
                    prefetch_row(t, y[slot, 0], dim)
                    prefetch_row(e, _offset(word, rows.e, mapped, mirrors, dim), dim)  # a source of centres to come
                    slot = 1 - slot
                    _apply(e, t, x[slot], y[slot], n, clashes, alpha, measured, tile, tally, targets, dim, width)
                    n, clashes, alpha, measured = count, drawn, next_alpha, next_measured
                else:
                    for context in range(begin, end):
                        if context != centre:
                            source = words[context]
                            if counted:
                                rows.e[source] += 1
                            x[slot, 0] = _offset(source, rows.e, mapped, mirrors, dim)
                            drawn = _draw_targets(
                                y[slot],
                                word,
                                key,
                                first_draw(context - centre, window, negatives),
                                t,
                                samples.negatives,
                                rows.t,
                                (counted, mapped),
                                mirrors,
                                (1, targets, dim),
                            )
                            slot = 1 - slot
                            _apply(
                                e, t, x[slot], y[slot], n, clashes, alpha, measured, tile, tally, targets, dim, width
                            )
                            n, clashes, alpha, measured = 1, drawn, next_alpha, next_measured
            since += last - first
            if mirrors.hot and since >= mirrors.every:
                since *= 1 - int64(merge(e, t, e_before, t_before, mirrors, dim, False))
            tally.words[0] += chunk - position
            position = chunk
            sentence += int64(chunk == bounds[sentence + 1])
        slot = 1 - slot
        _apply(e, t, x[slot], y[slot], n, clashes, alpha, measured, tile, tally, targets, dim, width)
        if mirrors.hot:
            merge(e, t, e_before, t_before, mirrors, dim, True)

    return kernel
