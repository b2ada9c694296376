"""The compiled loop over lines of text: bytes to edges.

An id that is a decimal number (no sign, no leading zero, below a limit) is its own code, >= 0. Other ids are copied
into an arena in the order in which they occur; id k has the code -k - 1. Weights that are not plainly right, or so
close to the middle of two float32 that the quick way might round wrongly, are left to Python.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from any2vec.graph.csr import NONE, Floats, Ints, Longs
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
