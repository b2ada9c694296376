"""Mini-batches on some columns of e and t: partial dot products, steps, updates (glint-word2vec, section 2).

A mini-batch is listed, its scores are computed on the rows as they are (the paper's `dotprod`), and then all of its
steps are applied (`adjust`), batch by batch of the operator. Columns are cut into blocks, and a score is the sum over
blocks in a tree: a host that has the blocks of a subtree computes that subtree's sum, and hosts add up theirs.
"""

import threading
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numba import float32, int64, njit
from numpy.typing import NDArray

from any2vec.llvm.fingerprint import fingerprint
from any2vec.llvm.prefetch import prefetch_row
from any2vec.operators.arguments import learning_rate
from any2vec.operators.base import Operator
from any2vec.operators.context import join, learn, spread
from any2vec.operators.kernel import bind, functions_of
from any2vec.operators.logistic import NOTHING, PADDING, logistic, put_repeats
from any2vec.operators.tiles import ROW_ALIGNMENT, TILE_ROWS, aligned, dots, update
from any2vec.samples.windows import Window, Windows, list_windows, new_windows

__all__ = [
    "ColumnKernels",
    "Cursor",
    "MiniBatch",
    "add_parts",
    "column_kernels",
    "most_scores",
    "new_batch",
    "new_cursor",
]

_compiling = threading.Lock()

edges: Any = None  # bound, as `steps` is, to what the operator has
steps: Any = logistic


class MiniBatch(NamedTuple):
    """The samples of some centres, as batches of an operator; one has ``sources[x:]`` and ``targets[y:]``.

    Attributes
    ----------
    sources, targets : int64 array
        Offsets of rows.
    labels : int8 array
        Labels of the targets, where the operator says.
    entries : int64 array, shape (n, 5)
        Of each batch: its number of sources, skipped targets, x, y, and where its scores begin.
    alphas : float32 array, shape (n,)
        Learning rates.
    owned : int64 array, shape (H + 1, 2)
        The first batch of each host's centres, and its first score.
    """

    sources: NDArray[np.int64]
    targets: NDArray[np.int64]
    labels: NDArray[np.int8]
    entries: NDArray[np.int64]
    alphas: NDArray[np.float32]
    owned: NDArray[np.int64]


class Cursor(NamedTuple):
    """Where the next mini-batch begins.

    Attributes
    ----------
    at : int64 array, shape (4,)
        The position to list windows from, its sentence, the next window of those listed, and their number.
    windows : Windows
        Those listed.
    """

    at: NDArray[np.int64]
    windows: Windows


class ColumnKernels(NamedTuple):
    """The compiled kernels of an operator.

    Attributes
    ----------
    listing : function
        ``listing(ids, bounds, low, high, most, draws, rate, e, t, cursor, batch)`` lists samples of up to `most`
        centres at the positions up to `high` of a slice from `low`; return their number, and the position after.
    dotprod : function
        ``dotprod(e, t, batch, scores)`` computes the scores on the columns here.
    stepping : function
        ``stepping(batch, host, scores, stats)`` replaces the whole scores of a host's centres by steps.
    adjust : function
        ``adjust(e, t, batch, scores)`` applies the steps of all.
    """

    listing: Callable[..., tuple[int, int]]
    dotprod: Callable[..., None]
    stepping: Callable[..., None]
    adjust: Callable[..., None]


def new_batch(operator: Operator, centres: int, hosts: int) -> MiniBatch:
    """Allocate a mini-batch of up to `centres` centres; pages that stay unused cost no memory."""
    words = 2 * operator.options.window
    batches = centres * (words if operator.batch_per_context else 1)
    targets = batches * operator.targets
    return MiniBatch(
        np.empty(centres * words, np.int64),
        np.empty(targets, np.int64),
        np.empty(targets, np.int8),
        np.empty((batches, 5), np.int64),
        np.empty(batches, np.float32),
        np.zeros((hosts + 1, 2), np.int64),
    )


def most_scores(operator: Operator, centres: int) -> int:
    """Return the largest number of scores of so many centres."""
    return centres * operator.targets * (1 if operator.joined else 2 * operator.options.window)


def new_cursor(window: int) -> Cursor:
    """Make a cursor; its user sets the position and the sentence."""
    return Cursor(np.zeros(4, np.int64), new_windows(window))


def column_kernels(operator: Operator, block: int, blocks: int, width: int) -> ColumnKernels:
    """Compile an operator for rows of `blocks` blocks of `block` floats, or find it in the cache.

    Parameters
    ----------
    operator : Operator
        One whose scores are dot products: `Operator.by_columns`.
    block : int
        Floats in a block, a multiple of 16.
    blocks : int
        Blocks in a row here; a power of two.
    width : int
        Floats in a vector register (`tiles.register_width`).
    """
    with _compiling:  # simulated hosts must share them
        context = operator.options.context if operator.joined else ""
        return _column_kernels(*functions_of(operator), operator.options.window, context, block, blocks, width)


@njit(nogil=True, cache=True)
def add_parts(parts: Any, n: int) -> None:
    """Add up ``parts[:, :n]`` in a tree: the sum is left in the first row."""
    step = 1
    while step < parts.shape[0]:
        for k in range(0, parts.shape[0] - step, 2 * step):
            here, there = parts[k], parts[k + step]
            for i in range(n):
                here[i] += there[i]
        step *= 2


@cache
def _column_kernels(
    name: str,
    functions: tuple[tuple[str, Any], ...],
    targets: int,
    sizes: tuple[int, ...],
    batch_per_context: bool,
    joined: bool,
    window: int,
    context: str,
    block: int,
    blocks: int,
    width: int,
) -> ColumnKernels:
    version = 0
    dim = block * blocks
    varying = dict(functions)["varying"]
    mean, corrected = context != "sum", context == "corrected"
    tile = -(-(TILE_ROWS * targets + PADDING) // ROW_ALIGNMENT) * ROW_ALIGNMENT

    def listing(
        ids: Any,
        bounds: Any,
        low: int,
        high: int,
        most: int,
        draws: Any,
        rate: Any,
        e: Any,
        t: Any,
        cursor: Any,
        batch: Any,
    ) -> tuple[int, int]:
        _ = version  # part of the key of Numba's cache
        at, windows = cursor.at, cursor.windows
        hosts = batch.owned.shape[0] - 1
        centres = entries = x = y = scores = 0
        before = np.empty((most + 1, 2), np.int64)
        before[0] = 0
        while centres < most:
            if at[2] == at[3]:
                if at[0] >= high:
                    break
                begin, end = bounds[at[1]], bounds[at[1] + 1]
                at[3], at[0] = list_windows(ids, at[0], high, begin, end, window, draws, windows)
                at[1] += int64(at[0] == end)
                at[2] = 0
                continue
            i = at[2]
            at[2] += 1
            near = Window(windows.words, windows.centre[i], windows.begin[i], windows.end[i], windows.key[i])
            for k in range(near.end - near.begin - 1 if batch_per_context else 1):
                n, skipped = edges(near, k, draws.tables, sizes, batch.sources[x:], batch.targets[y:], batch.labels[y:])
                m = targets - skipped if varying else targets
                for j in range(x, x + n):
                    batch.sources[j] *= dim
                    prefetch_row(e, batch.sources[j], dim)
                for j in range(y, y + m):
                    batch.targets[j] *= dim
                    prefetch_row(t, batch.targets[j], dim)
                entry = batch.entries[entries]
                entry[0], entry[1], entry[2], entry[3], entry[4] = n, skipped, x, y, scores
                batch.alphas[entries] = learning_rate(rate, windows.position[i] - low)
                x, y, entries = x + n, y + m, entries + 1
                scores += m if joined else n * m
            centres += 1
            before[centres, 0], before[centres, 1] = entries, scores
        for host in range(hosts + 1):
            batch.owned[host] = before[centres * host // hosts]
        return centres, windows.position[at[2] - 1] + 1 if at[2] < at[3] else at[0]

    def dotprod(e: Any, t: Any, batch: Any, scores: Any) -> None:
        _ = version
        tiles = np.empty((blocks, tile), np.float32)
        for b in range(blocks):
            tiles[b] = 0
        rows = aligned(blocks * tile)
        h = aligned(dim)
        for index in range(batch.owned[-1, 0]):
            n, skipped, x, y, at = _entry(batch, index)
            sources, goals = batch.sources[x : x + n], batch.targets[y:]
            m = targets - skipped if varying else targets
            if joined:
                join(e, sources, n, float32(1.0) / float32(n) if mean else float32(1.0), h, dim, width)
                for b in range(blocks):
                    out = rows[b * tile : (b + 1) * tile]
                    if varying:
                        dots(h[b * block :], 0, t[b * block :], goals, out, 1, m, block, width)
                    else:
                        dots(h[b * block :], 0, t[b * block :], goals, out, 1, targets, block, width)
                _sum_blocks(rows, tile, blocks, m)
                scores[at : at + m] = rows[:m]
                continue
            count = (n + TILE_ROWS - 1) // TILE_ROWS
            begin = 0
            for part in range(count):
                end = (n * (part + 1)) // count
                size = end - begin
                for b in range(blocks):
                    out = rows[b * tile : (b + 1) * tile]
                    if varying:
                        dots(e[b * block :], sources[begin:], t[b * block :], goals, out, size, m, block, width)
                    else:
                        dots(e[b * block :], sources[begin:], t[b * block :], goals, out, size, targets, block, width)
                _sum_blocks(rows, tile, blocks, size * m)
                scores[at : at + size * m] = rows[: size * m]
                at += size * m
                begin = end

    def stepping(batch: Any, host: int, scores: Any, stats: Any) -> None:
        _ = version
        out = aligned(tile)
        first = batch.owned[host, 1]
        for index in range(batch.owned[host, 0], batch.owned[host + 1, 0]):
            n, skipped, _x, y, at = _entry(batch, index)
            at -= first
            goals, labels, alpha = batch.targets[y:], batch.labels[y:], batch.alphas[index]
            m = targets - skipped if varying else targets
            rows = 1 if joined else n
            count = (rows + TILE_ROWS - 1) // TILE_ROWS
            begin = 0
            for part in range(count):
                end = (rows * (part + 1)) // count
                size = end - begin
                out[: size * m] = scores[at : at + size * m]
                repeats = skipped > 0 and not varying
                if repeats:
                    put_repeats(out, goals, size, m, NOTHING)
                loss, _curvature = steps(out, labels, size, m, alpha, False, width)
                if repeats:
                    put_repeats(out, goals, size, m, 0.0)
                stats.loss[0] += loss
                scores[at : at + size * m] = out[: size * m]
                at += size * m
                begin = end
            stats.samples[0] += rows * (targets - skipped)

    def adjust(e: Any, t: Any, batch: Any, scores: Any) -> None:
        _ = version
        h, change = aligned(dim), aligned(dim)
        for index in range(batch.owned[-1, 0]):
            n, skipped, x, y, at = _entry(batch, index)
            sources, goals = batch.sources[x : x + n], batch.targets[y:]
            m = targets - skipped if varying else targets
            if joined:
                share = float32(1.0) / float32(n)
                join(e, sources, n, share if mean else float32(1.0), h, dim, width)
                learn(h, t, goals, scores[at:], m, change, dim, width)
                spread(e, sources, n, share if corrected else float32(1.0), change, dim, width)
                continue
            count = (n + TILE_ROWS - 1) // TILE_ROWS
            begin = 0
            for part in range(count):
                end = (n * (part + 1)) // count
                size = end - begin
                if varying:
                    update(e, sources[begin:], t, goals, scores[at:], size, m, dim, width)
                else:
                    update(e, sources[begin:], t, goals, scores[at:], size, targets, dim, width)
                at += size * m
                begin = end

    bound = [bind(kernel, name, functions) for kernel in (listing, dotprod, stepping, adjust)]
    version = sum(fingerprint(kernel) >> 2 for kernel in bound)  # of four: 63 bits
    return ColumnKernels(*(njit(nogil=True, error_model="numpy", cache=True)(kernel) for kernel in bound))


@njit(inline="always")
def _entry(batch: Any, index: int) -> tuple[int, int, int, int, int]:
    entry = batch.entries[index]
    return entry[0], entry[1], entry[2], entry[3], entry[4]


@njit  # not inlined, and no fastmath: it must not add in another order
def _sum_blocks(rows: Any, tile: int, blocks: int, n: int) -> None:
    """Add up `blocks` tiles of n floats in a tree, as `add_parts` does."""
    step = 1
    while step < blocks:
        for k in range(0, blocks - step, 2 * step):
            here, there = rows[k * tile :], rows[(k + step) * tile :]
            for i in range(n):
                here[i] += there[i]
        step *= 2
