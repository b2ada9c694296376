"""Walks as text: a line for each, the names of its vertices with blanks between them."""

from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import BinaryIO

import numpy as np
from numba import njit
from numpy.typing import NDArray

from any2vec.errors import Any2VecError
from any2vec.walks.walker import Walker
from any2vec.walks.worklist import Block, blocks_of, packed

__all__ = ["named_walks", "write_text"]

_NEWLINE = ord("\n")


def named_walks(walker: Walker, walks: int, *, first: int = 0, last: int | None = None) -> Iterator[list[str]]:
    """Do walks and give each as the names of its vertices.

    Parameters
    ----------
    walker, walks, first, last
        As of `any2vec.walks.worklist.blocks_of`.

    Yields
    ------
    list of str
        One walk; in the order of their numbers.

    Raises
    ------
    Any2VecError
        If `walks` is not 1 or more.
    """
    return _named(walker, list(walker.graph.names), blocks_of(walker, walks, first, last))


def _named(walker: Walker, names: list[str], blocks: Iterator[Block]) -> Iterator[list[str]]:
    for block in blocks:
        ids, lengths = _walk(walker, block)
        vertices, end = ids.tolist(), 0
        for length in lengths.tolist():
            yield [names[v] for v in vertices[end : end + length]]
            end += length


def write_text(
    walker: Walker, walks: int, file: BinaryIO, *, threads: int = 1, first: int = 0, last: int | None = None
) -> None:
    """Do walks and write them as lines.

    Parameters
    ----------
    walker, walks, first, last
        As of `any2vec.walks.worklist.blocks_of`.
    file : binary file
        Takes UTF-8, with a newline at the end of each walk, in the order of their numbers.
    threads : int
        How many work; the text does not depend on it.

    Raises
    ------
    Any2VecError
        If `walks` is not 1 or more, or a name has a blank in it: it could not be told from two.
    """
    blocks = blocks_of(walker, walks, first, last)
    arena, starts = _encoded(list(walker.graph.names))

    def text(block: Block) -> NDArray[np.uint8]:
        ids, lengths = _walk(walker, block)
        lines = np.empty(_size(ids, starts), np.uint8)
        _fill(ids, lengths, arena, starts, lines)
        return lines

    with ThreadPoolExecutor(max(1, threads)) as pool:
        ahead: deque[Future[NDArray[np.uint8]]] = deque()
        try:
            for block in blocks:
                ahead.append(pool.submit(text, block))
                if len(ahead) > 2 * threads:  # no more than this is held in memory
                    file.write(ahead.popleft().result().data)
            while ahead:
                file.write(ahead.popleft().result().data)
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


def _walk(walker: Walker, block: Block) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    out = np.empty((block.last - block.first, walker.length), np.int32)
    lengths = np.empty(len(out), np.int32)
    walker.walk(block.pass_, block.first, block.last, out, lengths)
    return packed(out, lengths), lengths


def _encoded(names: list[str]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Give the names in UTF-8, each with a place for a blank behind it, and where they start."""
    text = [name.encode() for name in names]
    arena = b" ".join(text) + b" "
    if arena.split() != text:
        wrong = next(name for name, code in zip(names, text, strict=True) if code.split() != [code])
        raise Any2VecError(f"the vertex {wrong!r} cannot be written in a walk: its name must have no blanks in it")
    starts = np.zeros(len(names) + 1, np.int64)
    np.cumsum([len(code) + 1 for code in text], out=starts[1:])
    return np.frombuffer(arena, np.uint8), starts


@njit(nogil=True, cache=True)
def _size(ids: NDArray[np.int32], starts: NDArray[np.int64]) -> int:
    size = 0
    for i in range(ids.size):
        size += starts[ids[i] + 1] - starts[ids[i]]
    return size


@njit(nogil=True, cache=True)
def _fill(
    ids: NDArray[np.int32],
    lengths: NDArray[np.int32],
    arena: NDArray[np.uint8],
    starts: NDArray[np.int64],
    lines: NDArray[np.uint8],
) -> None:
    """Copy names, each with its blank; the last one's becomes the newline."""
    end = at = 0
    for i in range(lengths.size):
        for _ in range(lengths[i]):
            begin, after = starts[ids[at]], starts[ids[at] + 1]
            for k in range(begin, after):
                lines[end] = arena[k]
                end += 1
            at += 1
        lines[end - 1] = _NEWLINE
