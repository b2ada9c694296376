"""Walks as a worklist: the ids of their vertices one after the other, as training reads them."""

import os
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from any2vec.corpus.worklist import BOUNDS, IDS, open_worklist
from any2vec.errors import Any2VecError
from any2vec.io.memory import zeros
from any2vec.llvm.compiled import njit
from any2vec.walks.walker import Walker

__all__ = ["WalkBlock", "Walks", "compact", "generate", "walk_blocks"]

_BLOCK = 4096  # walks in a block, which stay in the caches
_ENTRIES = 1 << 24  # vertices in a block, at most


class Walks(NamedTuple):
    """A worklist of walks: walk i is ``ids[bounds[i] : bounds[i + 1]]``; `visits` counts each vertex in it."""

    ids: NDArray[np.int32]
    bounds: NDArray[np.int64]
    visits: NDArray[np.int64]


class WalkBlock(NamedTuple):
    """Walks `first` to ``last - 1`` of a pass; the first is number `number` of those asked for."""

    pass_: int
    first: int
    last: int
    number: int


def walk_blocks(walker: Walker, walks: int, first: int = 0, last: int | None = None) -> Iterator[WalkBlock]:
    """Cut `walks` passes, or walks `first` to ``last - 1`` of all of theirs (a host's part), into blocks, in order."""
    if walks < 1:
        raise Any2VecError(f"`walks` is {walks}; each vertex must have 1 or more")
    graph = walker.graph
    if graph.loops == len(graph.indices):
        raise Any2VecError("the graph has no edge between two vertices, so walks lead nowhere")
    most = max(1, min(_BLOCK, _ENTRIES // walker.length))
    return _cut(walker.per_pass, most, first, walks * walker.per_pass if last is None else last)


def _cut(per_pass: int, most: int, first: int, last: int) -> Iterator[WalkBlock]:
    number = first
    while number < last:
        pass_, start = divmod(number, per_pass)
        size = min(most, last - number, per_pass - start)
        yield WalkBlock(pass_, start, start + size, number - first)
        number += size


def generate(
    walker: Walker, walks: int, *, threads: int = 1, first: int = 0, last: int | None = None, folder: Path | None = None
) -> Walks:
    """Generate walks as a worklist, in the order of their numbers.

    The walks of `walk_blocks` with the same arguments; they do not depend on threads. With a folder the worklist is
    written there and memory-mapped (OSError if that fails).
    """
    blocks = list(walk_blocks(walker, walks, first, last))
    vertices = len(walker.graph)
    bounds = zeros(1 + sum(block.last - block.first for block in blocks), np.int64)
    counts: list[NDArray[np.int64]] = []
    mine = threading.local()

    def measure(block: WalkBlock) -> None:
        lengths = np.empty(block.last - block.first, np.int32)
        walker.measure(block.pass_, block.first, block.last, lengths)
        bounds[block.number + 1 : block.number + 1 + len(lengths)] = lengths

    def walk(block: WalkBlock) -> None:
        if not hasattr(mine, "visits"):
            mine.visits = zeros(vertices, np.int64)
            counts.append(mine.visits)
        size = block.last - block.first
        low, high = bounds[block.number], bounds[block.number + size]
        straight = file is None and high - low == size * walker.length  # all of full length: written in place
        out = ids[low:high].reshape(size, walker.length) if straight else np.empty((size, walker.length), np.int32)
        lengths = np.empty(size, np.int32)
        walker.walk(block.pass_, block.first, block.last, out, lengths)
        done = compact(out, lengths)
        _count(done, mine.visits)
        if file is not None:
            _write_at(file.fileno(), done, int(low) * done.itemsize)
        elif not straight:
            ids[low:high] = done

    with ThreadPoolExecutor(max(1, threads)) as pool:
        try:
            list(pool.map(measure, blocks))
            np.cumsum(bounds, out=bounds)
            ids = zeros(0 if folder else int(bounds[-1]), np.int32)
            file = (folder / IDS).open("wb", buffering=0) if folder else None
            try:
                list(pool.map(walk, blocks))
            finally:
                if file is not None:
                    file.close()
        except BaseException:
            pool.shutdown(cancel_futures=True)  # remaining walks too, not only the waiting
            raise
    visits = sum(counts, np.zeros(vertices, np.int64))
    if folder is None:
        return Walks(ids, bounds, visits)
    bounds.tofile(folder / BOUNDS)
    worklist = open_worklist(folder)
    return Walks(worklist.ids, worklist.bounds, visits)


def compact(out: NDArray[np.int32], lengths: NDArray[np.int32]) -> NDArray[np.int32]:
    """Close the gaps between walks of `Walker.walk`, in place."""
    flat = out.reshape(-1)
    return flat[: _compact(out, lengths, flat)]


@njit(nogil=True, cache=True)
def _compact(out: NDArray[np.int32], lengths: NDArray[np.int32], flat: NDArray[np.int32]) -> int:
    end = 0
    for i in range(lengths.size):
        if end != i * out.shape[1]:
            for k in range(lengths[i]):
                flat[end + k] = out[i, k]
        end += lengths[i]
    return end


@njit(nogil=True, cache=True)
def _count(ids: NDArray[np.int32], visits: NDArray[np.int64]) -> None:
    for i in range(ids.size):
        visits[ids[i]] += 1


def _write_at(file: int, ids: NDArray[np.int32], offset: int) -> None:
    """Write all of `ids`, which the system may take in parts."""
    left = ids.view(np.uint8).data
    while left:
        done = os.pwrite(file, left, offset)
        left, offset = left[done:], offset + done
