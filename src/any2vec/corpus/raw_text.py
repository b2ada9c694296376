"""Raw text to words between whitespace: lower case, and tokens, before the scan.

Whitespace stays where it is, and what becomes of a run of other bytes depends on that run alone. So blocks, lines
and parts of hosts are those of the text as it was.
"""

import re
import unicodedata
from dataclasses import dataclass, replace
from functools import cache
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from any2vec.corpus.blocks import IS_SPACE, Span
from any2vec.corpus.tokenizer import MAX_WORD
from any2vec.corpus.word_table import PADDING
from any2vec.errors import Any2VecError, shown
from any2vec.io.inputs import WHITESPACE, split
from any2vec.io.memory import zeros
from any2vec.llvm.compiled import njit

_CODES = 0x110000  # code points
_NO_CODE = -1


def _padded(text: bytes) -> NDArray[np.uint8]:
    """Return bytes as an array, with whitespace behind them for `_decode`, and for a scan."""
    return np.frombuffer(bytearray(text + b" " * (1 + PADDING)), np.uint8)


@njit(nogil=True, cache=True)
def _decode(text: NDArray[np.uint8], at: int) -> Any:
    """Return the code point at a byte, and its length in bytes: of what is not UTF-8, `_NO_CODE` and 1.

    There must be three bytes behind the text, of which the first is below 128.
    """
    first = np.int64(text[at])
    if first < 0x80:
        return first, 1
    second = np.int64(text[at + 1])
    if first < 0xC2 or first > 0xF4 or second & 0xC0 != 0x80:
        return _NO_CODE, 1
    if first < 0xE0:
        return (first & 0x1F) << 6 | second & 0x3F, 2
    third = np.int64(text[at + 2])
    if third & 0xC0 != 0x80:
        return _NO_CODE, 1
    code = (first & 0xF) << 12 | (second & 0x3F) << 6 | third & 0x3F
    if first < 0xF0:
        return (code, 3) if code >= 0x800 and not 0xD800 <= code < 0xE000 else (_NO_CODE, 1)
    fourth = np.int64(text[at + 3])
    code = (first & 0x7) << 18 | (second & 0x3F) << 12 | (third & 0x3F) << 6 | fourth & 0x3F
    return (code, 4) if fourth & 0xC0 == 0x80 and 0x10000 <= code < 0x110000 else (_NO_CODE, 1)


@njit(nogil=True, cache=True)
def _encode(code: int, out: NDArray[np.uint8], size: int) -> int:
    """Write a code point at `size`; return where the next one goes."""
    if code < 0x80:
        out[size] = code
        return size + 1
    if code < 0x800:
        out[size] = 0xC0 | code >> 6
        out[size + 1] = 0x80 | code & 0x3F
        return size + 2
    if code < 0x10000:
        out[size] = 0xE0 | code >> 12
        out[size + 1] = 0x80 | code >> 6 & 0x3F
        out[size + 2] = 0x80 | code & 0x3F
        return size + 3
    out[size] = 0xF0 | code >> 18
    out[size + 1] = 0x80 | code >> 12 & 0x3F
    out[size + 2] = 0x80 | code >> 6 & 0x3F
    out[size + 3] = 0x80 | code & 0x3F
    return size + 4


_LOWER_GROWTH = 1.5  # bytes of lower case for one, at most: three for two
_WIDE = 64  # bytes that are looked at together
_DOTTED_I, _SIGMA = ord("İ"), ord("Σ")
_CONTEXTUAL = -1  # how `_lower` ends where what follows is left to `_RUN`
_RUN = re.compile(rf"(?<![^{WHITESPACE}])[^{WHITESPACE}]*(?:İ|Σ)[^{WHITESPACE}]*".encode())
"""A run with İ, whose lower case is two characters, or Σ, whose lower case depends on those around it."""


def _lowered(span: Span, buffer: NDArray[np.uint8]) -> Span:
    """Return a text in lower case, in `buffer`; what is not UTF-8 stays, and what would make a long run shorter."""
    text, begin, end = span.text, span.begin, span.end
    size = _lower(text, begin, end, _table(), True, buffer)
    if size == _CONTEXTUAL:
        data = _RUN.sub(_lower_run, text[begin:end].tobytes())
        size = _lower(_padded(data), 0, len(data), _table(), False, buffer)
    buffer[size] = ord(" ")
    return Span(buffer, 0, size)


def _lower_run(found: re.Match[bytes]) -> bytes:
    run = found[0]
    if len(run) > MAX_WORD:
        return run
    return run.decode("utf-8", "surrogateescape").lower().encode("utf-8", "surrogateescape")


@cache
def _table() -> NDArray[np.int32]:
    """Return the lower case of each code point."""
    points = np.arange(_CODES, dtype="<i4")
    points[_DOTTED_I] = ord("i")
    text = points.tobytes().decode("utf-32-le", "surrogatepass").lower()
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<i4").astype(np.int32)


@njit(nogil=True, cache=True)
def _lower(
    text: NDArray[np.uint8], begin: int, end: int, table: NDArray[np.int32], stopping: bool, out: NDArray[np.uint8]
) -> int:
    """Write ``text[begin:end]`` in lower case; return its size, or `_CONTEXTUAL` if `stopping` at such a character."""
    at, size = begin, 0
    is_long, known = False, begin  # whether the run at `at` is too long for a scan, as far as that is known
    stop = begin  # of bytes that are looked at one by one
    while at < end:
        if at >= stop:
            stop = min(at + _WIDE, end)
            if _lower_ascii(text[at:stop], out[size:]):
                at, size = stop, size + stop - at
                continue
        code, length = _decode(text, at)
        if stopping and (code == _DOTTED_I or code == _SIGMA):  # noqa: PLR1714, SIM109 (a tuple costs speed)
            return _CONTEXTUAL
        after = size
        if code >= 0 and table[code] != code:
            after = _encode(table[code], out, size)
        if size < after < size + length and at >= known:
            is_long, known = _is_long(text, begin, at, end)
        if after == size or (after < size + length and is_long):
            for k in range(length):
                out[size + k] = text[at + k]
            after = size + length
        at += length
        size = after
    return size


@njit(nogil=True, cache=True)
def _lower_ascii(text: NDArray[np.uint8], out: NDArray[np.uint8]) -> bool:
    """Write a text in lower case if it is ASCII, and return whether it is; the compiler makes vector code of this."""
    union = np.uint8(0)
    for k in range(text.size):
        union |= text[k]
    if union < 128:
        for k in range(text.size):
            capital = np.uint8(text[k] - np.uint8(65)) < 26
            out[k] = text[k] + (np.uint8(32) if capital else np.uint8(0))
    return bool(union < 128)


@njit(nogil=True, cache=True)
def _is_long(text: NDArray[np.uint8], begin: int, at: int, end: int) -> tuple[bool, int]:
    """Return whether the run without whitespace at `at` is too long for a scan, and up to where that holds."""
    first = last = at
    while first > begin and at - first <= MAX_WORD and not IS_SPACE[text[first - 1]]:
        first -= 1
    while last < end and last - at <= MAX_WORD and not IS_SPACE[text[last]]:
        last += 1
    return last - first > MAX_WORD, last


_TOKEN_GROWTH = 2  # bytes for one, at most: a space, and itself
_LETTER, _DIGIT, _MARK, _JOINER, _APOSTROPHE, _POINT, _REGIONAL, _SIGN, _SPACE, _INVISIBLE = range(10)
"""Kinds of characters. Joiners are marks after which the next sign belongs to the token, too (ZWJ); two regional
indicators are a flag."""

_SEEN = (range(0x40000), range(0xE0000, 0xE1000))  # code points: all others are private, or nothing yet
_OF_CATEGORY = {"Nd": _DIGIT, "Pc": _LETTER, "Cf": _INVISIBLE, "Cc": _SPACE}
_OF_INITIAL = {"L": _LETTER, "N": _LETTER, "M": _MARK, "Z": _SPACE, "P": _SIGN, "S": _SIGN, "C": _SIGN}
_CHINESE = (range(0x3400, 0x4DC0), range(0x4E00, 0xA000), range(0xF900, 0xFB00), range(0x20000, 0x32400))
_OTHERS = {
    _SIGN: (*range(0x600, 0x606), 0x6DD, 0x70F, 0x890, 0x891, 0x8E2, 0x110BD, 0x110CD),  # visible, though of Cf
    _SPACE: (0x200B,),  # zero width space
    _LETTER: (0,),  # which the scan refuses
    _MARK: (0x200C, *range(0x1F3FB, 0x1F400)),  # ZWNJ; skin tones of emoji
    _JOINER: (0x200D,),
    _APOSTROPHE: (0x27, 0x2019),
    _POINT: (0x2C, 0x2E),
    _REGIONAL: range(0x1F1E6, 0x1F200),
}


def _tokens(span: Span, buffer: NDArray[np.uint8], longest: int = MAX_WORD) -> Span:
    """Return a text with whitespace between its tokens, in `buffer`; a run of more than `longest` bytes stays."""
    size = _spaced(span.text, span.begin, span.end, _kinds(), longest, buffer)
    buffer[size] = ord(" ")
    return Span(buffer, 0, size)


@cache
def _kinds() -> NDArray[np.uint8]:
    """Return the kind of each code point."""
    found = np.full(_CODES, _SIGN, np.uint8)
    for seen in _SEEN:
        categories = map(unicodedata.category, map(chr, seen))
        of = [_OF_CATEGORY[name] if name in _OF_CATEGORY else _OF_INITIAL[name[0]] for name in categories]
        found[seen.start : seen.stop] = of
    found[list(chain.from_iterable(_CHINESE))] = _SIGN
    for kind, others in _OTHERS.items():
        found[list(others)] = kind
    return found


@njit(nogil=True, cache=True)
def _next_kind(text: NDArray[np.uint8], at: int, end: int, kinds: NDArray[np.uint8]) -> Any:
    """Return the kind of the first visible character from `at` on; INVISIBLE if there is none."""
    kind: Any = np.int64(_INVISIBLE)
    while at < end and kind == _INVISIBLE:
        code, length = _decode(text, at)
        kind = np.int64(_LETTER) if code < 0 else np.int64(kinds[code])
        at += length
    return kind


@njit(nogil=True, cache=True)
def _spaced(  # noqa: C901, PLR0912 (one state, which calls would have to pass on)
    text: NDArray[np.uint8], begin: int, end: int, kinds: NDArray[np.uint8], longest: int, out: NDArray[np.uint8]
) -> int:
    """Write ``text[begin:end]`` with spaces between tokens; return its size."""
    at, size = begin, 0
    run, of_run = begin, 0  # where what has no whitespace begins
    inside = _SPACE  # the token so far: a word (LETTER), a SIGN, or none
    kind: Any
    last: Any = _SPACE  # the kind of its last character
    while True:
        if at - run > longest:
            out[of_run : of_run + end - run] = text[run:end]
            return of_run + end - run
        if at >= end:
            return size
        byte = text[at]
        if byte == 32 or 9 <= byte <= 13:
            out[size] = byte
            at, size = at + 1, size + 1
            run, of_run, inside = at, size, _SPACE
            continue
        code, length = _decode(text, at)
        kind = np.int64(_LETTER) if code < 0 else np.int64(kinds[code])
        if kind == _INVISIBLE:
            at += length
            continue
        if kind == _SPACE:
            out[size] = 32
            at, size, inside = at + length, size + 1, _SPACE
            continue
        token, goes_on = _SIGN, False
        if kind <= _DIGIT:  # or LETTER
            token, goes_on = _LETTER, inside == _LETTER
        elif kind <= _JOINER:  # or MARK
            token, goes_on = _LETTER, inside != _SPACE
        elif inside == _LETTER and kind == _APOSTROPHE:
            goes_on = _next_kind(text, at + length, end, kinds) <= _DIGIT
        elif inside == _LETTER and kind == _POINT and last == _DIGIT:
            goes_on = _next_kind(text, at + length, end, kinds) == _DIGIT
        elif inside == _SIGN and kind == _REGIONAL and last == _REGIONAL:
            goes_on, kind = True, _SIGN  # the flag is whole
        elif inside == _SIGN and kind != _REGIONAL:
            goes_on = last == _JOINER
        if goes_on:
            token = inside
        elif inside != _SPACE:
            out[size] = 32
            size += 1
        inside, last = token, kind
        for k in range(length):
            out[size + k] = text[at + k]
        at, size = at + length, size + length
        while token == _LETTER and text[at] < 128 and kinds[text[at]] == _LETTER:  # most of a text, so fast
            out[size] = text[at]
            at, size, last = at + 1, size + 1, _LETTER


_Buffers = dict[float, NDArray[np.uint8]]
"""Memory for changed texts, by how much they grow, used again for the next text."""


def _room(buffers: _Buffers, growth: float, span: Span) -> NDArray[np.uint8]:
    """Return memory for a text that grows so much."""
    most = int(growth * (span.end - span.begin)) + 1 + PADDING
    if growth not in buffers or len(buffers[growth]) < most:
        buffers[growth] = zeros(most, np.uint8)
    return buffers[growth]


_COPY = 1.0  # growth of a text whose labels are covered
_COVER = np.array([0xFF, 0xFE], np.uint8)  # no UTF-8, so it stays what it is


@njit(nogil=True, cache=True)
def _next_covered(text: NDArray[np.uint8], begin: int, at: int, end: int, prefix: NDArray[np.uint8]) -> tuple[int, int]:
    """Return where the next run that begins with a prefix, or two bytes like the cover, begins and ends."""
    while at < end:
        if at == begin or IS_SPACE[text[at - 1]]:
            after, same = at, True
            while after < end and not IS_SPACE[text[after]] and same:
                same = after - at >= prefix.size or text[after] == prefix[after - at]
                after += 1
            if same and after - at >= max(prefix.size, 2):
                return at, after
        if at + 1 < end and text[at] == _COVER[0] and text[at + 1] == _COVER[1]:
            return at, at + 2
        at += 1
    return end, end


@njit(nogil=True, cache=True)
def _cover(text: NDArray[np.uint8], begin: int, end: int, prefix: NDArray[np.uint8], out: NDArray[np.uint8]) -> None:
    """Copy a text with runs that begin with a prefix covered."""
    for k in range(begin, end):
        out[k - begin] = text[k]
    first, after = _next_covered(text, begin, begin, end, prefix)
    while first < end:
        for k in range(first, after):
            out[k - begin] = _COVER[(k - first) % 2]
        first, after = _next_covered(text, begin, after, end, prefix)


@njit(nogil=True, cache=True)
def _uncover(
    text: NDArray[np.uint8], at: int, original: NDArray[np.uint8], begin: int, end: int, prefix: NDArray[np.uint8]
) -> None:
    """Put what was covered back to where it is in a text, in order."""
    first, after = _next_covered(original, begin, begin, end, prefix)
    while first < end:
        while not (text[at] == _COVER[0] and text[at + 1] == _COVER[1]):
            at += 1
        for k in range(first, after):
            text[at] = original[k]
            at += 1
        first, after = _next_covered(original, begin, after, end, prefix)


@dataclass(frozen=True)
class RawText:
    """The changes of a text before it is split at whitespace: lower case, as by `str.lower`, and separated tokens.

    Words that begin with the `prefix`, labels, stay as they are.
    """

    lowercase: bool = False
    tokenize: bool = False
    prefix: str = ""

    @property
    def settings(self) -> dict[str, Any]:
        """All that decides what becomes of a text."""
        changed = self.lowercase or self.tokenize
        version = unicodedata.unidata_version if changed else None
        found = {"lowercase": self.lowercase, "tokenize": self.tokenize, "the version of Unicode": version}
        return found | ({"labels": self.prefix} if changed and self.prefix else {})

    def span(self, span: Span, buffers: _Buffers) -> Span:
        """Return a text as it is to be scanned; of n bytes, n words and line ends are made at most."""
        if not self.prefix or not (self.lowercase or self.tokenize):
            return self._changed(span, buffers)
        prefix, copy = np.frombuffer(self.prefix.encode(), np.uint8), _room(buffers, _COPY, span)
        _cover(span.text, span.begin, span.end, prefix, copy)
        copy[span.end - span.begin] = ord(" ")
        changed = self._changed(Span(copy, 0, span.end - span.begin), buffers)
        _uncover(changed.text, changed.begin, span.text, span.begin, span.end, prefix)
        return changed

    def _changed(self, span: Span, buffers: _Buffers) -> Span:
        if self.lowercase:
            span = _lowered(span, _room(buffers, _LOWER_GROWTH, span))
        if self.tokenize:
            span = _tokens(span, _room(buffers, _TOKEN_GROWTH, span))
        return span

    def words(self, text: str) -> list[str]:
        """Return the words of a text in memory."""
        if self.prefix:
            runs = split(text)
            labels = [run for run in runs if run.startswith(self.prefix)]
            others = " ".join(run for run in runs if not run.startswith(self.prefix))
            return labels + replace(self, prefix="").words(others)
        if self.lowercase:
            text = text.lower()
        if self.tokenize:
            given = _padded(text.encode("utf-8", "surrogatepass"))
            size = len(given)
            span = _tokens(Span(given, 0, size), np.empty(_TOKEN_GROWTH * size, np.uint8), size)
            text = span.text[: span.end].tobytes().decode("utf-8", "surrogatepass")
        return split(text)

    def token(self, token: Any) -> Any:
        """Return a token in memory as it is to be: a string perhaps in lower case."""
        changed = self.lowercase and isinstance(token, str) and not (self.prefix and token.startswith(self.prefix))
        return token.lower() if changed else token

    def refuse_to_tokenize(self, what: str, given: object) -> None:
        """Raise an error if what is no text should be tokenized."""
        if self.tokenize:
            hint = "it is for files, or a `column` of strings; tokens need none of it"
            raise Any2VecError(f"`tokenize` is True, but {what} ({shown(given)}) is no text: {hint}")


AS_IT_IS = RawText()
