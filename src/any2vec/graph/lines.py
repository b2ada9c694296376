"""Text in blocks of whole lines, which threads can parse independently."""

from collections.abc import Generator
from contextlib import ExitStack
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from any2vec.io.inputs import InputFile
from any2vec.io.memory import zeros
from any2vec.io.streams import READ, fill, naming, open_stream

__all__ = ["BOM", "LineBlock", "block_size", "read_blocks"]

BOM = b"\xef\xbb\xbf"
SMALLEST, LARGEST, BLOCKS = 1 << 20, 1 << 26, 64
LINE_FEED = 10


class LineBlock(NamedTuple):
    """Whole lines, ``text[begin:end]``; the last byte is a line feed."""

    text: NDArray[np.uint8]
    begin: int
    end: int
    before: int = 0  # bytes that had been read of the file, as it is stored, before this block's were


def block_size(file: InputFile) -> int:
    """Return the bytes of a block: some dozens of blocks, as each costs arrays, but none too large."""
    return min(max(SMALLEST, (file.size or 0) // BLOCKS), LARGEST)


def read_blocks(
    file: InputFile, size: int, start: int = 0, stop: int | None = None
) -> Generator[LineBlock, None, None]:
    """Yield a file's lines in blocks of about `size` bytes; a longer line gets a larger block.

    Of a plain file, those at bytes `start` to ``stop - 1``: where lines begin.
    """
    with ExitStack() as stack:
        if file.compression or file.size is None:
            assert (start, stop) == (0, None)
            stream, position = stack.enter_context(open_stream(file))
        else:
            assert file.path is not None
            with naming(file):
                stream = stack.enter_context(file.path.open("rb", buffering=0))
                stream.seek(start)
            position = stream.tell
        carry = np.empty(0, np.uint8)
        left = None if stop is None else stop - start
        begin, last, at_start = 0, False, start == 0
        while not last:
            text = zeros(max(size, 2 * len(carry)) + 1, np.uint8)
            text[: len(carry)] = carry
            free = text[len(carry) : -1]
            before = position()
            with naming(file):
                got = fill(stream, free[:left])
            left = None if left is None else left - got
            last = got < len(free) or left == 0
            filled = len(carry) + got
            if last and filled and text[filled - 1] != LINE_FEED:
                text[filled] = LINE_FEED
                filled += 1
            end = _after_last_line(text, filled)
            begin = len(BOM) if at_start and text[:3].tobytes() == BOM else 0
            carry = text[end:filled].copy()
            if end > begin:
                at_start = False
                yield LineBlock(text, begin, end, before)


def _after_last_line(text: NDArray[np.uint8], filled: int) -> int:
    for stop in range(filled, 0, -READ):
        start = max(stop - READ, 0)
        found = text[start:stop].tobytes().rfind(b"\n")
        if found >= 0:
            return start + found + 1
    return 0
