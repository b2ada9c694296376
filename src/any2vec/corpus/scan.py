"""The one pass over the text: count words, and write their provisional ids."""

from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from queue import LifoQueue
from typing import NamedTuple

import numpy as np

from any2vec.corpus import tokenizer as kernels
from any2vec.corpus.blocks import BLOCK, Block, new_buffer
from any2vec.corpus.splits import lines_before
from any2vec.corpus.word_table import WordCounts, WordTable
from any2vec.errors import Any2VecError
from any2vec.io.disk import write_all
from any2vec.io.memory import zeros
from any2vec.io.ordered import ordered

__all__ = ["Piece", "Scan", "scan_blocks"]


class Piece(NamedTuple):
    """Where the provisional ids of a block are: ``entries`` int32s at ``offset`` bytes of a part's file.

    `host` is the host whose part of the text the block is from.
    """

    part: int
    offset: int
    entries: int
    host: int = 0


@dataclass(frozen=True, eq=False)
class Scan:
    """What one pass over (a part of) the text found.

    Attributes
    ----------
    parts : list of WordCounts
        What each thread counted. Provisional ids are places in a thread's part.
    files : list of Path
        The provisional ids that each thread wrote; -1 ends a sentence.
    pieces : list of Piece
        The blocks, in the order of the text.
    words : int
        Words in the text.
    """

    parts: list[WordCounts]
    files: list[Path]
    pieces: list[Piece]
    words: int


class _Done(NamedTuple):
    block: Block
    piece: Piece
    status: int
    words: int
    lines: int


class _Counter:
    """What one thread counts with, and where it writes."""

    def __init__(self, number: int, folder: Path, size: int) -> None:
        self.number = number
        self.path = folder / f"provisional-{number}"
        self.file = self.path.open("wb", buffering=0)
        self.table = WordTable()
        self._size = size
        self._buffer = new_buffer(size)
        self._out = zeros(len(self._buffer) + 2, np.int32)

    def count(self, block: Block) -> _Done:
        span = block.load(self._buffer)
        status = self.table.scan(span.text, span.begin, span.end, self._out)
        entries, words, lines = self.table.state[[kernels.ENTRIES, kernels.WORDS, kernels.LINES]].tolist()
        if block.last and not (entries and self._out[entries - 1] == -1):
            self._out[entries] = -1
            entries += 1
        piece = Piece(self.number, self.file.tell(), entries, block.host)
        write_all(self.file, self._out[:entries])
        return _Done(block, piece, status, words, lines)


def scan_blocks(
    blocks: Iterable[Block],
    folder: Path,
    *,
    threads: int = 1,
    size: int = BLOCK,
    progress: Callable[[int], None] | None = None,
) -> Scan:
    """Count the words of blocks of text; write their provisional ids.

    Parameters
    ----------
    blocks : iterable of Block
        The text, or a host's part of it.
    folder : Path
        Where the files of provisional ids are made.
    threads : int
        Each has a table of words of its own.
    size : int
        Bytes in a block.
    progress : function, optional
        Called after each block with the bytes of all files that are done.

    Returns
    -------
    Scan
        The counts and the ids.

    Raises
    ------
    Any2VecError
        If the text cannot be read, or is not text.
    """
    counters = [_Counter(number, folder, size) for number in range(threads)]
    free: LifoQueue[_Counter] = LifoQueue()
    for counter in reversed(counters):
        free.put(counter)

    def count(block: Block) -> _Done:
        counter = free.get()
        try:
            return counter.count(block)
        finally:
            free.put(counter)

    pieces: list[Piece] = []
    words = lines = 0
    begun: Block | None = None  # the first block of the file that is being read
    try:
        with closing(ordered(count, blocks, threads)) as results:
            for done in results:
                if begun is None or begun.file is not done.block.file:
                    begun, lines = done.block, 0
                lines += done.lines
                if done.status != kernels.DONE:
                    raise _not_text(done, lines_before(begun.file, begun.start) + lines + 1)
                pieces.append(done.piece)
                words += done.words
                if progress is not None:
                    progress(done.block.consumed)
    finally:
        for counter in counters:
            counter.file.close()
    parts = [counter.table.part() for counter in counters]
    return Scan(parts, [counter.path for counter in counters], pieces, words)


def _not_text(done: _Done, line: int) -> Any2VecError:
    where = f"{done.block.file.name}, line {line:,}"
    if done.status == kernels.NUL:
        return Any2VecError(f"{where}: a NUL byte; is this UTF-16 or a binary file? It must be UTF-8 text")
    longest = f"{kernels.MAX_WORD:,} bytes"
    return Any2VecError(f"{where}: a word longer than {longest}; is this text with blanks between words?")
