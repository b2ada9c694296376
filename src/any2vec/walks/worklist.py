"""Walks kept in memory: the ids of their vertices one after the other; and visits of walks that are not kept."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import IO, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from any2vec.cluster.workers import ordered
from any2vec.corpus.word_table import copy_words
from any2vec.errors import Any2VecError
from any2vec.io.memory import release, zeros
from any2vec.llvm.compiled import njit
from any2vec.walks.walker import Walker

T = TypeVar("T")

_BLOCK = 4096  # walks in a block, which stay in the caches
_ENTRIES = 1 << 24  # vertices in a block, at most
_SPACING = 4096  # vertices, at most, from one walk whose position is known to the next


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
    graph = walker.graph
    check_edges(len(graph.indices), graph.loops)
    most = max(1, min(_BLOCK, _ENTRIES // walker.length))
    return _cut(walker.per_pass, most, first, walks * walker.per_pass if last is None else last)


def check_edges(entries: int, loops: int) -> None:
    """Raise an error if walks on a graph lead nowhere."""
    if loops == entries:
        raise Any2VecError("the graph has no edge between two vertices, so walks lead nowhere")


def _cut(per_pass: int, most: int, first: int, last: int) -> Iterator[WalkBlock]:
    number = first
    while number < last:
        pass_, start = divmod(number, per_pass)
        size = min(most, last - number, per_pass - start)
        yield WalkBlock(pass_, start, start + size, number - first)
        number += size


def generate(walker: Walker, walks: int, *, threads: int = 1, first: int = 0, last: int | None = None) -> Walks:
    """Generate the walks of `walk_blocks`, in the order of their numbers; they do not depend on threads."""
    blocks = list(walk_blocks(walker, walks, first, last))
    many, visits = sum(block.last - block.first for block in blocks), _Visits(len(walker.graph))
    ids, bounds = zeros((many, walker.length), np.int32), zeros(1 + many, np.int64)

    def walk(block: WalkBlock) -> NDArray[np.int32]:
        here = slice(block.number, block.number + block.last - block.first)
        done, lengths = _walk(walker, block, ids[here])
        bounds[1:][here] = lengths
        visits.add(done)
        return done

    flat, end = ids.reshape(-1), 0
    for done in _on_threads(walk, blocks, threads):  # the gaps behind blocks are closed
        flat[end : end + len(done)] = done
        end += len(done)
    release(flat, end, len(flat))
    return Walks(flat[:end], np.cumsum(bounds, out=bounds), visits.total())


def spacing(length: int) -> int:
    """Return how many walks lie between two whose positions `count` returns."""
    return max(1, _SPACING // length)


def count(
    walker: Walker, walks: int, *, threads: int = 1, first: int = 0, last: int | None = None
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the position of every `spacing`-th walk of `walk_blocks`, and the end, and the visits of each vertex."""
    blocks = list(walk_blocks(walker, walks, first, last))
    every, number = spacing(walker.length), sum(block.last - block.first for block in blocks)
    positions = zeros(1 - (-number // every), np.int64)
    visits = _Visits(len(walker.graph))

    def walk(block: WalkBlock) -> tuple[int, NDArray[np.int64]]:
        ids, lengths = _walk(walker, block)
        visits.add(ids)
        begin, offset = divmod(block.number, every)
        cuts = np.arange(max(every - offset, 0), len(lengths), every)
        return begin + 1, np.add.reduceat(lengths, np.append(0, cuts), dtype=np.int64)

    for begin, sums in _on_threads(walk, blocks, threads):  # two blocks may share the ends
        positions[begin : begin + len(sums)] += sums
    return np.cumsum(positions, out=positions), visits.total()


def _walk(
    walker: Walker, block: WalkBlock, out: NDArray[np.int32] | None = None
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return a block's walks, one after the other, and their lengths."""
    size = block.last - block.first
    out = np.empty((size, walker.length), np.int32) if out is None else out
    lengths = np.empty(size, np.int32)
    walker.walk(block.pass_, block.first, block.last, out, lengths)
    return compact(out, lengths), lengths


class _Visits:
    """Counts visits, on several threads."""

    def __init__(self, vertices: int) -> None:
        self._vertices, self._counts = vertices, list[NDArray[np.int64]]()
        self._mine = threading.local()

    def add(self, ids: NDArray[np.int32]) -> None:
        if not hasattr(self._mine, "visits"):
            self._mine.visits = zeros(self._vertices, np.int64)
            self._counts.append(self._mine.visits)
        count_visits(ids, self._mine.visits)

    def total(self) -> NDArray[np.int64]:
        return sum(self._counts, np.zeros(self._vertices, np.int64))


def _on_threads(task: Callable[[WalkBlock], T], blocks: list[WalkBlock], threads: int) -> list[T]:
    with ThreadPoolExecutor(max(1, threads)) as pool:
        try:
            return list(pool.map(task, blocks))
        except BaseException:
            pool.shutdown(cancel_futures=True)  # remaining walks too, not only the waiting
            raise


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
def count_visits(ids: NDArray[np.int32], visits: NDArray[np.int64]) -> None:
    """Count what walks come to."""
    for i in range(ids.size):
        visits[ids[i]] += 1


_NEWLINE = ord("\n")


def write_text(walker: Walker, walks: int, file: IO[bytes], *, threads: int = 1) -> None:
    """Write walks as lines of UTF-8; arguments as of `walk_blocks`. The text does not depend on threads.

    Raises if a name contains whitespace, which would split it.
    """
    blocks = walk_blocks(walker, walks)
    arena, starts = _encoded(list(walker.graph.names))
    lengths_of = np.diff(starts)

    def text(block: WalkBlock) -> NDArray[np.uint8]:
        ids, lengths = _walk(walker, block)
        begins = np.concatenate((np.zeros(1, np.int64), np.cumsum(lengths_of[ids])))
        lines = np.empty(int(begins[-1]), np.uint8)
        copy_words(arena, starts, ids, lines, begins)
        lines[begins[np.cumsum(lengths)] - 1] = _NEWLINE  # for the space behind a walk's last name
        return lines

    with closing(ordered(text, blocks, max(1, threads))) as texts:
        for lines in texts:
            file.write(lines.data)


def _encoded(names: list[str]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Encode names in UTF-8, each followed by a space; return the text and where each name starts."""
    text = [name.encode() for name in names]
    arena = b" ".join(text) + b" "
    if arena.split() != text:
        wrong = next(name for name, code in zip(names, text, strict=True) if code.split() != [code])
        raise Any2VecError(f"the vertex {wrong!r} cannot be written in a walk: its name is empty or has whitespace")
    starts = np.zeros(len(names) + 1, np.int64)
    np.cumsum([len(code) + 1 for code in text], out=starts[1:])
    return np.frombuffer(arena, np.uint8), starts
