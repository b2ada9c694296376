"""Text in blocks of whole lines, which threads parse independently, and the compiled loop over lines: bytes to edges.

An id that is a decimal number (no sign, no leading zero, below a limit) is its own code, >= 0. Other ids are copied
into an arena in the order in which they occur; id k has the code -k - 1. Weights that are not plainly right, or so
close to the middle of two float32 that the quick way might round wrongly, are left to Python.
"""

import re
from collections.abc import Generator
from contextlib import ExitStack
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from any2vec.errors import Any2VecError
from any2vec.graph.csr import NONE, Floats, Ints, Longs
from any2vec.io.inputs import BOM, READ, InputFile, fill, naming, open_stream
from any2vec.io.memory import zeros
from any2vec.llvm.compiled import njit

DONE, TOO_FEW, TOO_MANY, EMPTY, NUL, TOO_LONG, QUOTED = range(7)  # why the kernel stopped
SPACES = 0  # the delimiter: any run of it
ADJACENCY = 0  # fields of a line: any number
LONGEST = 65_536  # bytes of an id; a longer one comes from a file that is not text
_LINE_FEED = 10
DIGITS = 9  # of a number that certainly fits
_EXACT_DIGITS, _EXACT_POWER, _LARGEST_POWER = np.uint64(2**53), 22, 60
_POWERS = np.array([float(f"1e{i}") for i in range(_LARGEST_POWER + 1)])
_NEAR = 2e-15  # more than what three roundings of a float64 can make
_SMALLEST, _LARGEST = 1.2e-38, 3.4e38  # normal float32 numbers
_TEN = np.uint64(10)


class _Counts(NamedTuple):
    """What the kernel read."""

    status: int  # why it stopped
    pairs: int  # edges
    strings: int
    slow: int  # weights left to Python
    line: int  # lines read
    place: int  # where the line begins that stopped it
    highest: int  # the largest code
    comments: int
    comment: int  # the line of the first of these


@njit(inline="always")
def _is_blank(byte: int, delimiter: int) -> bool:
    """Whether a byte is whitespace between fields: no line feed, no delimiter."""
    return byte == 32 or 11 <= byte <= 13 or (byte == 9 and delimiter != 9)


@njit(inline="always")
def _ends(byte: int, delimiter: int) -> bool:
    """Whether a byte that is no line feed ends a field."""
    return (byte == 32 or 9 <= byte <= 13) if delimiter == SPACES else byte == delimiter


@njit(nogil=True, cache=True)
def parse(  # noqa: C901, PLR0912, PLR0915 (calls would cost compile time and speed)
    text: NDArray[np.uint8],
    begin: int,
    end: int,
    delimiter: int,
    fields: int,
    exact: bool,
    quotes: bool,
    limit: int,
    is_comment: NDArray[np.bool_],
    sources: Ints,
    targets: Ints,
    weights: Floats,
    slow: Longs,
    arena: NDArray[np.uint8],
    starts: Longs,
) -> _Counts:
    """Parse the lines ``text[begin:end]``.

    `fields` is 2, 3 (with a weight) or ADJACENCY; more are refused if `exact`, else skipped. With `quotes`, the first
    field that begins with a quote stops it. `slow` gets an edge, where its weight begins and ends in the text, and its
    line.
    """
    pairs = strings = slows = line = comments = comment = 0
    highest = np.int64(-1)
    status = DONE
    position = place = begin
    while position < end and status == DONE:
        place = position
        byte = text[position]
        while _is_blank(byte, delimiter):
            position += 1
            byte = text[position]
        if byte == _LINE_FEED:
            position += 1
            line += 1
            continue
        if is_comment[byte]:
            comment = line if comments == 0 else comment
            comments += 1
            while text[position] != _LINE_FEED:
                position += 1
            continue
        first, field, pairs_before, more = np.int64(NONE), 0, pairs, True
        while more:
            # one field: its digits first
            start = position
            value = np.int64(0)
            byte = text[position]
            while 48 <= byte <= 57 and position - start <= DIGITS:
                value = 10 * value + np.int64(byte) - 48
                position += 1
                byte = text[position]
            digits = position
            if delimiter != SPACES:
                while (byte == 32 or 9 <= byte <= 13) and byte not in (_LINE_FEED, delimiter):
                    position += 1
                    byte = text[position]
            stop = digits
            if byte != _LINE_FEED and not _ends(byte, delimiter):  # not just digits
                if quotes and text[start] == 34:
                    status = QUOTED
                    break
                while True:
                    if byte == 0:
                        status = NUL
                        break
                    position += 1
                    byte = text[position]
                    if byte == _LINE_FEED or _ends(byte, delimiter):
                        break
                if status != DONE:
                    break
                stop = position
                while stop > start and (text[stop - 1] == 32 or 9 <= text[stop - 1] <= 13):
                    stop -= 1
            if stop == start and (field < fields or exact):
                status = EMPTY
                break
            if stop == start and fields == ADJACENCY:  # may only fill up the line
                while byte in (delimiter, 32) or (9 <= byte <= 13 and byte != _LINE_FEED):
                    position += 1
                    byte = text[position]
                if byte != _LINE_FEED or field == 0:
                    status = EMPTY
                break
            # on to the next field
            more = byte != _LINE_FEED
            if more:
                position += 1
                byte = text[position]
                while _is_blank(byte, delimiter):
                    position += 1
                    byte = text[position]
                if delimiter == SPACES:
                    more = byte != _LINE_FEED
            field += 1
            if field > fields and fields != ADJACENCY:
                if exact:
                    status = TOO_MANY
                    break
                continue
            if field == 3 and fields == 3:
                weight = _weight(text, start, stop)
                if weight < 0:
                    slow[4 * slows], slow[4 * slows + 1] = pairs_before, start
                    slow[4 * slows + 2], slow[4 * slows + 3] = stop, line
                    slows += 1
                weights[pairs_before] = weight
                continue
            # an id
            length = stop - start
            if stop == digits and (text[start] != 48 or length == 1) and length <= DIGITS and value < limit:
                code = value
                highest = max(highest, value)
            else:
                if length > LONGEST:
                    status = TOO_LONG
                    break
                to = starts[strings]
                for i in range(length):
                    arena[to + i] = text[start + i]
                arena[to + length] = _LINE_FEED
                strings += 1
                starts[strings] = to + length + 1
                code = -np.int64(strings)
            if field == 1:
                first = code
            else:
                sources[pairs] = first
                targets[pairs] = code
                pairs += 1
        if status != DONE:
            break
        if fields == ADJACENCY:
            if field == 1:
                sources[pairs] = first
                targets[pairs] = NONE
                pairs += 1
        elif field < fields:
            status = TOO_FEW
            break
        position += 1
        line += 1
    return _Counts(status, pairs, strings, slows, line, place, int(highest), comments, comment)


@njit(nogil=True, cache=True)
def _weight(text: NDArray[np.uint8], begin: int, stop: int) -> np.float32:  # noqa: C901, PLR0911, PLR0912
    """Read a positive decimal number, rounded to the nearest float32; return -1 to leave it to Python."""
    left = np.float32(-1)
    mantissa = np.uint64(0)
    power = digits = 0
    point = False
    position = begin
    while position < stop:
        byte = text[position]
        if 48 <= byte <= 57:
            mantissa = mantissa * _TEN + np.uint64(byte - 48)
            digits += 1
            power -= point
        elif byte == 46 and not point:
            point = True
        else:
            break
        position += 1
    if digits == 0 or digits > 19 or mantissa == 0:
        return left
    if position == stop and not point and mantissa > _EXACT_DIGITS:  # an integer that a float64 does not hold
        return left
    if position < stop:
        if text[position] | 32 != 101 or position + 1 == stop:  # an e or E
            return left
        position += 1
        minus = text[position] == 45
        if text[position] == 43 or minus:
            position += 1
        if position == stop or stop - position > 3:
            return left
        exponent = 0
        while position < stop:
            byte = text[position]
            if not 48 <= byte <= 57:
                return left
            exponent = 10 * exponent + byte - 48
            position += 1
        power += -exponent if minus else exponent
    if abs(power) > _LARGEST_POWER:
        return left
    value = np.float64(mantissa)
    value = value * _POWERS[power] if power >= 0 else value / _POWERS[-power]
    if not _SMALLEST < value < _LARGEST:
        return left
    exact = mantissa < _EXACT_DIGITS and abs(power) <= _EXACT_POWER  # then value is the nearest float64
    if not exact and np.float32(value * (1 - _NEAR)) != np.float32(value * (1 + _NEAR)):
        return left
    return np.float32(value)


_SMALLEST_BLOCK, _LARGEST_BLOCK, _BLOCKS = 1 << 20, 1 << 26, 64


class LineBlock(NamedTuple):
    """Whole lines, ``text[begin:end]``; the last byte is a line feed."""

    text: NDArray[np.uint8]
    begin: int
    end: int
    before: int = 0  # bytes that had been read of the file, as it is stored, before this block's were


def block_size(file: InputFile) -> int:
    """Return the bytes of a block: some dozens of blocks, as each costs arrays, but none too large."""
    return min(max(_SMALLEST_BLOCK, (file.size or 0) // _BLOCKS), _LARGEST_BLOCK)


def read_blocks(
    file: InputFile, size: int, start: int = 0, stop: int | None = None
) -> Generator[LineBlock, None, None]:
    """Yield a file's lines in blocks of about `size` bytes; of a plain file those at bytes `start` to ``stop - 1``."""
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
UNCLOSED = "a quote is not closed on its line; a name cannot hold a line end, and a quote in it is doubled"
_MARKS = bytes(range(0x1F, 0x1B, -1)) + bytes(range(1, 9)) + bytes(range(0x0E, 0x1C))  # one separates unquoted fields


class UnclosedQuoteError(Any2VecError):
    """A field begins with a quote that does not end on its line."""

    def __init__(self) -> None:
        super().__init__(UNCLOSED)


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
