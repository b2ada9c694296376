"""Text in blocks of whole lines, which threads can parse independently."""

import re
from collections.abc import Generator
from contextlib import ExitStack
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from any2vec.graph.parse import SPACES
from any2vec.io.inputs import InputFile
from any2vec.io.memory import zeros
from any2vec.io.streams import READ, fill, naming, open_stream

BOM = b"\xef\xbb\xbf"
_SMALLEST, _LARGEST, _BLOCKS = 1 << 20, 1 << 26, 64
_LINE_FEED = 10


class LineBlock(NamedTuple):
    """Whole lines, ``text[begin:end]``; the last byte is a line feed."""

    text: NDArray[np.uint8]
    begin: int
    end: int
    before: int = 0  # bytes that had been read of the file, as it is stored, before this block's were


def block_size(file: InputFile) -> int:
    """Return the bytes of a block: some dozens of blocks, as each costs arrays, but none too large."""
    return min(max(_SMALLEST, (file.size or 0) // _BLOCKS), _LARGEST)


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
            if last and filled and text[filled - 1] != _LINE_FEED:
                text[filled] = _LINE_FEED
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


_SPACE = rb"[ \t\r\v\f]"
_QUOTED = rb'"((?:[^"\n]|"")*)"'
_ANY_QUOTED = re.compile(rb"(^|[,;|\s])" + _QUOTED + rb"(?=\s*(?:[,;|\s]|$))")
_MARKS = bytes(range(0x1F, 0x1B, -1)) + bytes(range(1, 9)) + bytes(range(0x0E, 0x1C))  # one separates unquoted fields


class UnclosedQuoteError(Exception):
    """A field begins with a quote that does not end on its line."""


class _Unquoted(NamedTuple):
    """Lines without quotes, and with empty ones for comments."""

    text: bytes
    delimiter: int  # the byte between fields
    comments: list[int]  # lines of comments, from 0


def without_quoted(line: bytes) -> bytes:
    """Replace quoted fields by a letter each, so that only real separators are left."""
    return _ANY_QUOTED.sub(rb"\1q", line) if b'"' in line else line


def split_fields(line: bytes, delimiter: int) -> list[bytes]:
    """Split a line at a byte, or at runs of whitespace, but not inside quotes."""
    if b'"' not in line:
        return line.split() if delimiter == SPACES else [field.strip() for field in line.split(bytes([delimiter]))]
    between = _SPACE + b"+" if delimiter == SPACES else _SPACE + b"*" + re.escape(bytes([delimiter])) + _SPACE + b"*"
    if delimiter == ord("\t"):
        between = rb"[ \r\v\f]*\t[ \r\v\f]*"
    field = re.compile(_QUOTED + rb"(?=(?:" + between + rb"|" + _SPACE + rb"*$))|(.*?)(?=" + between + rb"|$)")
    separator, fields, at = re.compile(between), [], 0
    line = line.strip(b" \r\v\f" if delimiter == ord("\t") else None)
    while True:
        found = field.match(line, at)
        assert found is not None  # the second part matches anything
        quoted, plain = found.groups()
        if quoted is not None:
            fields.append(quoted.replace(b'""', b'"'))
        else:
            if plain.startswith(b'"') and plain.count(b'"') % 2 and delimiter not in (SPACES, ord("\t")):
                raise UnclosedQuoteError
            fields.append(plain.strip())
        end = separator.match(line, found.end())
        if end is None or (delimiter == SPACES and end.end() == len(line)):
            return fields
        at = end.end()


def unquote(text: bytes, delimiter: int, comments: bytes) -> _Unquoted | int:
    """Rewrite lines so that no field is quoted; or return the number of a line with a quote that does not end on it."""
    mark = next((bytes([byte]) for byte in _MARKS if byte not in text), None)
    lines, skipped = text.split(b"\n"), []
    for number, line in enumerate(lines):
        stripped = line.strip()
        if stripped and stripped[0] in comments:
            lines[number] = b""
            skipped.append(number)
        elif stripped:
            try:
                fields = split_fields(line, delimiter)
            except UnclosedQuoteError:
                return number
            if mark is None:
                return number
            lines[number] = mark.join(fields)
    return _Unquoted(b"\n".join(lines), (mark or b"\x1f")[0], skipped)
