"""Mini-batches on some columns of e and t: partial dot products, steps, updates (glint-word2vec, section 2).

The scores of a mini-batch are computed on the rows as they are (the paper's `dotprod`), and then all of its steps are
applied (`adjust`), group by group of the operator. A word is in the windows of up to 2 * window centres: were these in
one mini-batch, its row would make all their steps from one place, and overshoot. A chunk of as many mini-batches is
listed, and each takes one centre in 2 * window of it (`spacing`).

Columns are cut into blocks, and a score is the sum over blocks in a tree. A host that has the blocks of a subtree
computes the sum of the subtree, and the hosts add up their sums.
"""

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numba import float32, int64
from numpy.typing import NDArray

from any2vec.llvm.compiled import njit
from any2vec.llvm.intrinsics import LINE, prefetch
from any2vec.operators.base import Operator, learning_rate
from any2vec.operators.cbow import join, learn, spread
from any2vec.operators.kernel import OperatorCode, code_of, compiled, compiling
from any2vec.operators.tiles import (
    NOTHING,
    PADDING,
    ROW_ALIGNMENT,
    TILE_ROWS,
    aligned,
    copy,
    dots,
    put_repeats,
    update,
)
from any2vec.samples.windows import Windows, list_windows, new_windows, window_of


class Chunk(NamedTuple):
    """The samples of consecutive centres, as tiles: up to five sources of a group, or all if joined, and its targets.

    A tile has ``sources[x:]`` and ``targets[y:]``.
    """

    sources: NDArray[np.int64]  # offsets of rows
    targets: NDArray[np.int64]
    labels: NDArray[np.int8]  # labels of the targets, where the operator says
    tiles: NDArray[np.int64]  # (n, 4): Of each: its number of sources, skipped targets, x and y
    alphas: NDArray[np.float32]  # (n,): Learning rates
    centres: NDArray[np.int64]  # (centres + 1,): The first tile of each centre
    size: NDArray[np.int64]  # (4,): Centres listed, and the ends of what is used of `sources`, `targets` and the tiles


class MiniBatch(NamedTuple):
    """Tiles of a chunk that are applied together."""

    picked: NDArray[np.int64]  # (n, 2): Which they are, and where the scores of each begin
    owned: NDArray[np.int64]  # (H + 1, 2): The first tile of each host's centres, and its first score


class Cursor(NamedTuple):
    """Where listing goes on."""

    # (4,): The position to list windows from, its sentence, the next window of those listed, and their number
    at: NDArray[np.int64]
    windows: Windows  # those listed


def spacing(window: int) -> int:
    """Return the mini-batches of a chunk, so that windows of one hardly share an occurrence of a word."""
    return 2 * window


def new_chunk(operator: Operator, centres: int) -> Chunk:
    """Allocate a chunk of mini-batches of up to `centres` centres; pages that stay unused cost no memory."""
    centres *= spacing(operator.options.window)
    words = 2 * operator.options.window
    targets = centres * (words if operator.group_per_context else 1) * operator.targets
    tiles = centres * _most_tiles(operator)
    return Chunk(
        np.empty(centres * words, np.int64),
        np.empty(targets, np.int64),
        np.empty(targets, np.int8),
        np.empty((tiles, 4), np.int64),
        np.empty(tiles, np.float32),
        np.zeros(centres + 1, np.int64),
        np.zeros(4, np.int64),
    )


def new_batch(operator: Operator, centres: int, hosts: int) -> MiniBatch:
    """Allocate a mini-batch of up to `centres` centres."""
    tiles = centres * _most_tiles(operator)
    return MiniBatch(np.empty((tiles, 2), np.int64), np.zeros((hosts + 1, 2), np.int64))


def _most_tiles(operator: Operator) -> int:
    """Return the largest number of tiles of a centre."""
    words = 2 * operator.options.window
    if operator.joined:
        return 1
    return words if operator.group_per_context else -(-words // TILE_ROWS)


def most_scores(operator: Operator, centres: int) -> int:
    """Return the largest number of scores of so many centres."""
    return centres * operator.targets * (1 if operator.joined else 2 * operator.options.window)


def new_cursor(window: int) -> Cursor:
    """Make a cursor; its user sets the position and the sentence."""
    return Cursor(np.zeros(4, np.int64), new_windows(window))


class ColumnKernels(NamedTuple):
    """The compiled kernels of an operator."""

    # ``listing(ids, bounds, low, high, most, draws, rate, e, t, dim, cursor, chunk)`` adds samples of up to `most`
    # centres to a chunk. The centres are at the positions `low` to `high` of a slice, and rows of `e` and `t` have
    # `dim` floats. It returns the position after them
    listing: Callable[..., int]
    # ``pick(chunk, first, batch)`` makes the mini-batch of centres `first`, ``first + spacing``, ... of a chunk
    pick: Callable[..., None]
    dotprod: Callable[..., None]  # ``dotprod(e, t, chunk, batch, scores)`` computes the scores on the columns here
    # ``stepping(chunk, batch, host, scores, stats)`` replaces the whole scores of a host's centres by steps
    stepping: Callable[..., None]
    adjust: Callable[..., None]  # ``adjust(e, t, chunk, batch, scores)`` applies the steps of all


def column_kernels(operator: Operator, block: int, blocks: int, width: int) -> ColumnKernels:
    """Compile an operator for rows of `blocks` (a power of two) blocks of `block` (16 n) floats."""
    with compiling:
        context = operator.options.context if operator.joined else ""
        return _column_kernels(code_of(operator), operator.options.window, context, block, blocks, width)


@njit(nogil=True, cache=True)
def add_parts(parts: Any, n: int) -> None:
    """Add up ``parts[:, :n]`` in a tree, without fastmath: the sum is left in the first row."""
    step = 1
    while step < parts.shape[0]:
        for k in range(0, parts.shape[0] - step, 2 * step):
            here, there = parts[k], parts[k + step]
            for i in range(n):
                here[i] += there[i]
        step *= 2


@cache
def _column_kernels(
    code: OperatorCode, window: int, context: str, block: int, blocks: int, width: int
) -> ColumnKernels:
    edges, steps, targets, sizes = code.edges, code.steps, code.targets, code.sizes
    group_per_context, joined, varying = code.group_per_context, code.joined, code.varying
    dim = block * blocks
    apart = spacing(window)
    mean, corrected = context != "sum", context == "corrected"
    # five rows on any processor: hosts send each other scores, whose order depends on it
    size = -(-(TILE_ROWS * targets + PADDING) // ROW_ALIGNMENT) * ROW_ALIGNMENT

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
        dim: int,
        cursor: Any,
        chunk: Any,
    ) -> int:
        at, windows = cursor.at, cursor.windows
        centres, x, y, tile = chunk.size
        last = centres + most
        while centres < last:
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
            near = window_of(windows, ids, i, -1)
            alpha = learning_rate(rate, windows.position[i] - low)
            for group in range(near.end - near.begin - 1 if group_per_context else 1):
                sources, goals, labels = chunk.sources[x:], chunk.targets[y:], chunk.labels[y:]
                n, skipped = edges(near, group, draws.tables, sizes, sources, goals, labels)
                m = targets - skipped if varying else targets
                for j in range(x, x + n):
                    chunk.sources[j] *= dim
                    for k in range(0, dim, LINE):
                        prefetch(e, chunk.sources[j] + k)
                for j in range(y, y + m):
                    chunk.targets[j] *= dim
                    for k in range(0, dim, LINE):
                        prefetch(t, chunk.targets[j] + k)
                count = 1 if joined else (n + TILE_ROWS - 1) // TILE_ROWS
                for k in range(count):
                    first, end = n * k // count, n * (k + 1) // count
                    of = chunk.tiles[tile]
                    of[0], of[1], of[2], of[3] = end - first, skipped, x + first, y
                    chunk.alphas[tile] = alpha
                    tile += 1
                x, y = x + n, y + m
            centres += 1
            chunk.centres[centres] = tile
        chunk.size[0], chunk.size[1], chunk.size[2], chunk.size[3] = centres, x, y, tile
        return windows.position[at[2] - 1] + 1 if at[2] < at[3] else at[0]

    def pick(chunk: Any, first: int, batch: Any) -> None:
        hosts = batch.owned.shape[0] - 1
        centres = max(0, (chunk.size[0] - first + apart - 1) // apart)
        tiles = scores = host = 0
        batch.owned[:] = 0
        for centre in range(centres):
            while centre >= centres * (host + 1) // hosts:
                host += 1
                batch.owned[host, 0], batch.owned[host, 1] = tiles, scores
            place = first + centre * apart
            for tile in range(chunk.centres[place], chunk.centres[place + 1]):
                batch.picked[tiles, 0], batch.picked[tiles, 1] = tile, scores
                n, skipped = chunk.tiles[tile, 0], chunk.tiles[tile, 1]
                scores += (targets - skipped if varying else targets) * (1 if joined else n)
                tiles += 1
        while host < hosts:
            host += 1
            batch.owned[host, 0], batch.owned[host, 1] = tiles, scores

    def dotprod(e: Any, t: Any, chunk: Any, batch: Any, scores: Any) -> None:
        parts, h = aligned(blocks * size), aligned(dim)
        for index in range(batch.owned[-1, 0]):
            n, skipped, x, y = _numbers(chunk.tiles[batch.picked[index, 0]])
            sources, goals = chunk.sources[x : x + n], chunk.targets[y:]
            m = targets - skipped if varying else targets
            if joined:
                join(e, sources, n, float32(1.0) / float32(n) if mean else float32(1.0), h, dim, width)
            for b in range(blocks):
                out = parts[b * size : (b + 1) * size]
                if joined:
                    dots(h[b * block :], 0, t[b * block :], goals, out, 1, m, block, width)
                else:
                    dots(e[b * block :], sources, t[b * block :], goals, out, n, m, block, width)
            count = m if joined else n * m
            add_parts(parts.reshape((blocks, size)), count)
            copy(scores[batch.picked[index, 1] :], parts, count)

    def stepping(chunk: Any, batch: Any, host: int, scores: Any, stats: Any) -> None:
        out = aligned(size)
        first = batch.owned[host, 1]
        for index in range(batch.owned[host, 0], batch.owned[host + 1, 0]):
            tile, at = batch.picked[index, 0], batch.picked[index, 1] - first
            n, skipped, _x, y = _numbers(chunk.tiles[tile])
            goals, labels, alpha = chunk.targets[y:], chunk.labels[y:], chunk.alphas[tile]
            m = targets - skipped if varying else targets
            rows = 1 if joined else n
            copy(out, scores[at:], rows * m)
            repeats = skipped > 0 and not varying
            if repeats:
                put_repeats(out, goals, rows, m, NOTHING)
            loss, _curvature = steps(out, labels, rows, m, alpha, False, width)
            if repeats:
                put_repeats(out, goals, rows, m, 0.0)
            stats.loss[0] += loss
            copy(scores[at:], out, rows * m)
            stats.samples[0] += rows * (targets - skipped)

    def adjust(e: Any, t: Any, chunk: Any, batch: Any, scores: Any) -> None:
        h, change = aligned(dim), aligned(dim)
        for index in range(batch.owned[-1, 0]):
            n, skipped, x, y = _numbers(chunk.tiles[batch.picked[index, 0]])
            sources, goals, made = chunk.sources[x : x + n], chunk.targets[y:], scores[batch.picked[index, 1] :]
            m = targets - skipped if varying else targets
            if joined:
                share = float32(1.0) / float32(n)
                join(e, sources, n, share if mean else float32(1.0), h, dim, width)
                learn(h, t, goals, made, m, change, dim, width)
                spread(e, sources, n, share if corrected else float32(1.0), change, dim, width)
            else:
                update(e, sources, t, goals, made, n, m, dim, width)

    # `listing`, `pick` and `stepping` do not know the size of rows: they are compiled once for all
    return ColumnKernels(*(compiled(kernel, code) for kernel in (listing, pick, dotprod, stepping, adjust)))


@njit(inline="always")
def _numbers(tile: Any) -> tuple[int, int, int, int]:
    return tile[0], tile[1], tile[2], tile[3]
