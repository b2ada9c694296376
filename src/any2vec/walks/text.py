"""Walks as text: a line each, the names of vertices separated by spaces."""

from contextlib import closing
from typing import IO

import numpy as np
from numpy.typing import NDArray

from any2vec.cluster.workers import ordered
from any2vec.corpus.word_table import copy_words
from any2vec.errors import Any2VecError
from any2vec.walks.walker import Walker
from any2vec.walks.worklist import WalkBlock, compact, walk_blocks

__all__ = ["write_text"]

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


def _walk(walker: Walker, block: WalkBlock) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    out = np.empty((block.last - block.first, walker.length), np.int32)
    lengths = np.empty(len(out), np.int32)
    walker.walk(block.pass_, block.first, block.last, out, lengths)
    return compact(out, lengths), lengths


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
