"""Blocks: pieces of text of bounded size that threads count independently of each other.

The text of a file is cut at the first blank at or after each multiple of the block's size. So no word is cut,
and both ends of a block are found without reading what stands before it: threads (and hosts) can read a plain
file at different places. A sentence may go on in the next block.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import IO

import numpy as np
from numpy.typing import NDArray

from any2vec.corpus.kernels import MAX_WORD
from any2vec.corpus.memory import zeros
from any2vec.corpus.streams import naming, open_stream
from any2vec.corpus.text import TextFile
from any2vec.corpus.words import ROOM

__all__ = ["BLOCK", "TAIL", "Block", "Span", "blocks_of", "new_buffer"]

BLOCK = 1 << 22
TAIL = MAX_WORD + 1  # what is read past a block's size, to find the blank where it ends
READ = 1 << 18
BOM = b"\xef\xbb\xbf"
IS_BLANK = np.isin(np.arange(256), list(b" \t\n\v\f\r"))


@dataclass(frozen=True, eq=False)
class Span:
    """Text in memory: the words of ``text[begin:end]``; there is a blank at `end` and room behind."""

    text: NDArray[np.uint8]
    begin: int
    end: int


@dataclass(frozen=True, eq=False)
class Block:
    """A piece of a file.

    Attributes
    ----------
    file : TextFile
        Where it is from.
    start, size : int
        The bytes of a plain file; the block has the words that start between the cuts at both ends.
    last : bool
        Whether it ends the file, and so a sentence.
    consumed : int
        Bytes of the file that are done when this block is.
    span : Span or None
        The text of a block of a stream, which was read already.
    """

    file: TextFile
    start: int
    size: int
    last: bool
    consumed: int
    span: Span | None = field(default=None, repr=False)

    def load(self, buffer: NDArray[np.uint8]) -> Span:
        """Return the block's text.

        Parameters
        ----------
        buffer : uint8 array
            From `new_buffer`; used unless the text is in memory.

        Returns
        -------
        Span
            The text.

        Raises
        ------
        Any2VecError
            If the file cannot be read.
        """
        if self.span is not None:
            return self.span
        assert self.file.path is not None
        assert self.file.size is not None
        wanted = min(self.size + TAIL, self.file.size - self.start)
        with naming(self.file), self.file.path.open("rb", buffering=0) as stream:
            stream.seek(self.start)
            filled = _fill(stream, buffer[:wanted])
        begin = _first_blank(buffer, 0, filled) if self.start else _after_bom(buffer, filled)
        end = filled if self.last else _first_blank(buffer, self.size, filled)
        return _ended(buffer, min(begin, end), end, filled)


def blocks_of(files: list[TextFile], size: int = BLOCK) -> Iterator[Block]:
    """Yield the blocks of files, in order; streams are read on the way.

    Parameters
    ----------
    files : list of TextFile
        The files.
    size : int
        Bytes in a block, about.

    Yields
    ------
    Block
        The next block.

    Raises
    ------
    Any2VecError
        If a stream cannot be read.
    """
    for file in files:
        if file.packing or file.size is None:
            yield from _blocks_of_stream(file, size)
            continue
        starts = range(0, max(file.size, 1), size)
        for start in starts:
            stop = min(start + size, file.size)
            yield Block(file, start, size, last=stop == file.size, consumed=stop)


def new_buffer(size: int) -> NDArray[np.uint8]:
    """Return memory for one block's text."""
    return zeros(size + TAIL + ROOM, np.uint8)


def _blocks_of_stream(file: TextFile, size: int) -> Iterator[Block]:
    with open_stream(file) as (stream, position):
        carry = np.empty(0, np.uint8)
        start, full = 0, size + TAIL
        while True:
            text = new_buffer(size)
            text[: len(carry)] = carry
            with naming(file):
                filled = len(carry) + _fill(stream, text[len(carry) : full])
            last = filled < full
            end = filled if last else _first_blank(text, size, filled)
            begin = 0 if start else min(_after_bom(text, filled), end)
            carry = text[end:filled].copy()
            span = _ended(text, begin, end, filled)
            yield Block(file, start, end, last, position(), span)
            if last:
                return
            start += end


def _fill(stream: IO[bytes], room: NDArray[np.uint8]) -> int:
    view, filled = room.data, 0
    read: Callable[[memoryview], int | None] = stream.readinto  # type: ignore[attr-defined]
    while filled < len(view):
        count = read(view[filled : filled + READ])
        if not count:
            break
        filled += count
    return filled


def _first_blank(text: NDArray[np.uint8], start: int, stop: int) -> int:
    """Return where the first blank is; `stop` if there is none (the word ends the file, or is too long)."""
    for at in range(start, stop, 512):
        blank = IS_BLANK[text[at : min(at + 512, stop)]]
        first = int(blank.argmax())
        if blank[first]:
            return at + first
    return stop


def _after_bom(text: NDArray[np.uint8], filled: int) -> int:
    return len(BOM) if text[: min(filled, len(BOM))].tobytes() == BOM else 0


def _ended(text: NDArray[np.uint8], begin: int, end: int, filled: int) -> Span:
    if end == filled:  # else there is a blank already
        text[end] = ord(" ")
    return Span(text, begin, end)
