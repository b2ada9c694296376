"""The one pass over text in files: threads count words and write their provisional ids."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from queue import LifoQueue
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from any2vec.cluster.workers import ordered
from any2vec.corpus.blocks import BLOCK, Block, new_buffer
from any2vec.corpus.raw_text import AS_IT_IS, Buffers, RawText
from any2vec.corpus.splits import lines_before
from any2vec.corpus.tokenizer import MAX_WORD, NUL, Scanned, tokenize
from any2vec.corpus.word_table import DONE, WordCounts, WordTable
from any2vec.errors import Any2VecError
from any2vec.io.inputs import HEAD, OF_NUL, InputFile, refuse
from any2vec.io.memory import write_all, zeros

__all__ = ["Piece", "Scan", "name_of", "no_words", "scan_blocks"]


class Piece(NamedTuple):
    """Where a block's provisional ids are, ``entries`` int32s at ``offset`` bytes of a part's file, and its host.

    Before it, ``line`` lines of the text have ended, if documents are counted.
    """

    part: int
    offset: int
    entries: int
    host: int = 0
    line: int = 0

    def read(self, files: Sequence[Path], buffer: NDArray[np.int32]) -> NDArray[np.int32]:
        """Read the ids into the beginning of a buffer, and return it."""
        ids = buffer[: self.entries]
        with files[self.part].open("rb") as file:
            file.seek(self.offset)
            file.readinto(ids.data)
        return ids


@dataclass(frozen=True, eq=False)
class Scan:
    """What one pass over (a part of) the text found.

    Attributes
    ----------
    parts : list of WordCounts
        What each thread counted. A provisional id is a place in its thread's part.
    files : list of Path
        The provisional ids that each thread wrote; -1 ends a sentence.
    pieces : list of Piece
        The blocks, in the order of the text.
    words : int
        Words in the text.
    lines : int
        Line feeds in the text; 0 if it is no text.
    documents : int
        Lines of the text, whether or not a file ends with a line feed, or items.
    tags : sequence of str
        Of the items; empty if they have none.
    """

    parts: list[WordCounts]
    files: list[Path]
    pieces: list[Piece]
    words: int
    lines: int = 0
    documents: int = 0
    tags: Sequence[str] = ()


class _Done(NamedTuple):
    block: Block
    piece: Piece
    scanned: Scanned
    unended: bool
    """Whether its text ends in the middle of a line."""


class _Counter:
    """A thread's table, buffers and file."""

    def __init__(self, number: int, folder: Path, size: int, raw: RawText, *, every_line: bool) -> None:
        self.number, self._every_line = number, every_line
        self.path = folder / f"provisional-{number}"
        self.table = WordTable()
        self._buffer = new_buffer(size)
        self._out = zeros(len(self._buffer) + 2, np.int32)
        self._raw, self._buffers = raw, Buffers()
        self.file = self.path.open("wb", buffering=0)  # last: nobody closes it if there is no memory

    def count(self, block: Block) -> _Done:
        span = block.load(self._buffer)
        if block.start == 0:
            head = span.text[span.begin : min(span.end, span.begin + HEAD)].tobytes()
            refuse(head, block.file.name, "text", but="html")  # whose tags may be tokens
        span = self._raw.span(span, self._buffers)
        scanned = tokenize(self.table, span.text, span.begin, span.end, self._out, every_line=self._every_line)
        entries = scanned.entries
        unended = not (entries and self._out[entries - 1] == -1)
        if block.last and unended:
            self._out[entries] = -1
            entries += 1
        piece = Piece(self.number, self.file.tell(), entries, block.host)
        write_all(self.file, self._out[:entries])
        return _Done(block, piece, scanned, unended)


def scan_blocks(
    blocks: Iterable[Block],
    folder: Path,
    *,
    threads: int = 1,
    size: int = BLOCK,
    raw: RawText = AS_IT_IS,
    progress: Callable[[int], None] | None = None,
    documents: bool = False,
) -> Scan:
    """Count the words of blocks of at most about `size` bytes; write their provisional ids to files in `folder`.

    `progress` is called after each block with the bytes of all files that are done. With
    `documents`, lines are counted.
    """
    counters = [_Counter(number, folder, size, raw, every_line=documents) for number in range(threads)]
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
    words = lines = all_lines = ended = 0
    begun: Block | None = None  # the first block of the file being read
    try:
        with closing(ordered(count, blocks, threads)) as results:
            for block, piece, scanned, unended in results:
                if begun is None or begun.file is not block.file:
                    begun, lines = block, 0
                lines += scanned.lines
                if scanned.status != DONE:
                    line = lines_before(begun.file, begun.start) + lines + 1
                    raise _not_text(f"{block.file.name}, line {line:,}", scanned.status)
                pieces.append(piece._replace(line=ended))
                words += scanned.words
                all_lines += scanned.lines
                ended += scanned.lines
                if block.ends and unended and (scanned.entries or block.start):  # else the next part has the line feed
                    ended += 1
                if progress is not None:
                    progress(block.consumed)
    finally:
        for counter in counters:
            counter.file.close()
    parts = [counter.table.part() for counter in counters]
    return Scan(parts, [counter.path for counter in counters], pieces, words, all_lines, ended)


def _not_text(where: str, status: int) -> Any2VecError:
    if status == NUL:
        return Any2VecError(f"{where}: a NUL byte; {OF_NUL}")
    return Any2VecError(f"{where}: a word longer than {MAX_WORD:,} bytes; is this text, with whitespace between words?")


def no_words(files: list[InputFile] | None) -> Any2VecError:
    """Make the error for a corpus without a word; without files it is of sentences in memory."""
    if files is None:
        return Any2VecError("the corpus is empty: the sentences hold no token")
    name = name_of(files)
    if all(file.size == 0 for file in files):
        return Any2VecError(f"{name}: empty (0 bytes)")
    return Any2VecError(f"{name}: no words, nothing but whitespace")


def name_of(files: list[InputFile]) -> str:
    """Name the files of a corpus, for messages."""
    return files[0].name if len(files) == 1 else f"{files[0].name} and {len(files) - 1} more files"
