"""Walks as a worklist: the ids of their vertices, as training reads them."""

import os
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from any2vec.corpus.worklist import BOUNDS, IDS, open_worklist
from any2vec.errors import Any2VecError
from any2vec.io.memory import zeros
from any2vec.walks.walker import Walker

__all__ = ["Block", "Walks", "blocks_of", "generate", "packed"]

_BLOCK = 4096  # walks that a thread does at once: what they need stays in the caches
_ENTRIES = 1 << 24  # vertices in them, at most


class Walks(NamedTuple):
    """A worklist of walks: walk i is ``ids[bounds[i] : bounds[i + 1]]``; `visits` counts each vertex's places in it."""

    ids: NDArray[np.int32]
    bounds: NDArray[np.int64]
    visits: NDArray[np.int64]


class Block(NamedTuple):
    """Some walks of one pass, `first` to ``last - 1``; the first of them is number `number` of those asked for."""

    pass_: int
    first: int
    last: int
    number: int


def blocks_of(walker: Walker, walks: int, first: int = 0, last: int | None = None) -> Iterator[Block]:
    """Cut walks into blocks.

    Parameters
    ----------
    walker : Walker
        Does them.
    walks : int
        Passes: how many walks start at each vertex.
    first, last : int
        Only walks `first` to ``last - 1`` of all passes', one after the other; by default all. Cut into even parts,
        they are what hosts do.

    Yields
    ------
    Block
        In order.

    Raises
    ------
    Any2VecError
        If `walks` is not 1 or more.
    """
    if walks < 1:
        raise Any2VecError(f"`walks` is {walks}; each vertex must have 1 or more")
    most = max(1, min(_BLOCK, _ENTRIES // walker.length))
    return _blocks(len(walker.graph), most, first, walks * len(walker.graph) if last is None else last)


def _blocks(vertices: int, most: int, first: int, last: int) -> Iterator[Block]:
    number = first
    while number < last:
        pass_, place = divmod(number, vertices)
        size = min(most, last - number, vertices - place)
        yield Block(pass_, place, place + size, number - first)
        number += size


def generate(
    walker: Walker, walks: int, *, threads: int = 1, first: int = 0, last: int | None = None, folder: Path | None = None
) -> Walks:
    """Do walks and keep them as a worklist.

    Parameters
    ----------
    walker : Walker
        Does them.
    walks : int
        Passes: how many walks start at each vertex.
    threads : int
        How many work; the walks do not depend on it.
    first, last : int
        As of `blocks_of`: a host's part. The parts one after the other are the whole.
    folder : Path, optional
        Takes the worklist as files, which are memory-mapped; without, it is in memory.

    Returns
    -------
    Walks
        In the order of their numbers; bounds count from 0.

    Raises
    ------
    Any2VecError
        If `walks` is not 1 or more.
    OSError
        If the folder cannot be written.
    """
    blocks = list(blocks_of(walker, walks, first, last))
    vertices = len(walker.graph)
    bounds = zeros(1 + sum(block.last - block.first for block in blocks), np.int64)
    counts: list[NDArray[np.int64]] = []
    mine = threading.local()

    def measure(block: Block) -> None:
        lengths = np.empty(block.last - block.first, np.int32)
        walker.measure(block.pass_, block.first, block.last, lengths)
        bounds[block.number + 1 : block.number + 1 + len(lengths)] = lengths

    def walk(block: Block) -> None:
        if not hasattr(mine, "visits"):
            mine.visits = zeros(vertices, np.int64)
            counts.append(mine.visits)
        size = block.last - block.first
        low, high = bounds[block.number], bounds[block.number + size]
        straight = file is None and high - low == size * walker.length  # each has its full length: its place is known
        out = ids[low:high].reshape(size, walker.length) if straight else np.empty((size, walker.length), np.int32)
        lengths = np.empty(size, np.int32)
        walker.walk(block.pass_, block.first, block.last, out, lengths)
        done = packed(out, lengths)
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
            pool.shutdown(cancel_futures=True)  # what is left of the walks, not only of the waiting
            raise
    visits = sum(counts, np.zeros(vertices, np.int64))
    if folder is None:
        return Walks(ids, bounds, visits)
    bounds.tofile(folder / BOUNDS)
    worklist = open_worklist(folder)
    return Walks(worklist.ids, worklist.bounds, visits)


def packed(out: NDArray[np.int32], lengths: NDArray[np.int32]) -> NDArray[np.int32]:
    """Put the walks that `Walker.walk` gave one right after the other, in place."""
    flat = out.reshape(-1)
    return flat[: _pack(out, lengths, flat)]


@njit(nogil=True, cache=True)
def _pack(out: NDArray[np.int32], lengths: NDArray[np.int32], flat: NDArray[np.int32]) -> int:
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
    """Write all of `ids`: the system may do it in parts."""
    left = ids.view(np.uint8).data
    while left:
        done = os.pwrite(file, left, offset)
        left, offset = left[done:], offset + done
