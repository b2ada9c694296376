"""Raw text to words between whitespace: lower case, and tokens, before the scan.

Whitespace stays where it is, and what becomes of a run of other bytes depends on that run alone. So blocks, lines
and parts of hosts are those of the text as it was.
"""

import re
import unicodedata
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from any2vec.corpus.blocks import Span, new_buffer
from any2vec.corpus.characters import (
    APOSTROPHE,
    DIGIT,
    INVISIBLE,
    JOINER,
    LETTER,
    MARK,
    POINT,
    REGIONAL,
    SPACE,
    SYMBOL,
    kinds,
    lower,
)
from any2vec.corpus.tokenizer import MAX_WORD
from any2vec.corpus.word_hash import PADDING
from any2vec.errors import Any2VecError, shown
from any2vec.io.memory import zeros
from any2vec.io.whitespace import WHITESPACE, split
from any2vec.llvm.compiled import njit

__all__ = ["AS_IT_IS", "RawText"]

_GROWTH = 2  # of one byte, two at most: a space, and itself
_CONTEXTUAL = re.compile(rf"(?<![^{WHITESPACE}])[^{WHITESPACE}]*(?:İ|Σ)[^{WHITESPACE}]*".encode())
"""Runs with a character whose lower case is two, or one or another by what is around it."""
_DOTTED_I, _SIGMA = ord("İ"), ord("Σ")
_NOTHING = -1


@dataclass(frozen=True)
class RawText:
    """What is done with text before it is split at whitespace: nothing, by default.

    With `lowercase`, what `str.lower` does. With `tokenize`, a token is then one of:

    - letters, digits, marks and ``_``, with apostrophes between two of them, and points and commas between two digits;
    - any other visible character, with the marks that follow it. An emoji of several characters is one.

    Chinese characters are tokens of their own. Bytes that are not UTF-8 count as letters.
    """

    lowercase: bool = False
    tokenize: bool = False

    def __bool__(self) -> bool:
        return self.lowercase or self.tokenize

    @property
    def settings(self) -> dict[str, Any]:
        """All that decides what becomes of a text."""
        version = unicodedata.unidata_version if self else None
        return {"lowercase": self.lowercase, "tokenize": self.tokenize, "the version of Unicode": version}

    def new_buffer(self, size: int) -> NDArray[np.uint8]:
        """Return memory for `span`, of blocks of about `size` bytes."""
        return zeros(_GROWTH * len(new_buffer(size)) if self else 0, np.uint8)

    def span(self, given: Span, buffer: NDArray[np.uint8]) -> Span:
        """Return a block's text as it is to be scanned, in `buffer` if that is large enough.

        Of n bytes, at most n words and line ends are made. What no scan would take stays as it is.
        """
        if not self:
            return given
        text, begin, end = given.text, given.begin, given.end
        out = _room(end - begin, buffer)
        tables, how = (lower(lowercase=self.lowercase), kinds()), (self.tokenize, MAX_WORD)
        size = _transform(text, begin, end, *tables, *how, self.lowercase, out)
        if size < 0:
            text, begin, end = _padded(_CONTEXTUAL.sub(_lowered_run, text[begin:end].tobytes()))
            out = _room(end, out)
            size = _transform(text, begin, end, *tables, *how, False, out)
        out[size] = ord(" ")
        return Span(out, 0, size)

    def words(self, text: str) -> list[str]:
        """Return the words of a text in memory."""
        if self.lowercase:
            text = text.lower()
        if self.tokenize:
            given, begin, end = _padded(text.encode("utf-8", "surrogatepass"))
            out = np.empty(_GROWTH * end + 1, np.uint8)
            size = _transform(given, begin, end, lower(lowercase=False), kinds(), True, end, False, out)
            text = out[:size].tobytes().decode("utf-8", "surrogatepass")
        return split(text)

    def token(self, token: Any) -> Any:
        """Return a token in memory as it is to be: a string perhaps in lower case."""
        return token.lower() if self.lowercase and isinstance(token, str) else token

    def check_is_text(self, what: str, given: object) -> None:
        """Raise an error if what is no text, but tokens, should be tokenized."""
        if self.tokenize:
            hint = "it is for text: files, or a `column` of strings; leave it out"
            raise Any2VecError(f"`tokenize` is True, but {what} ({shown(given)}) is tokens; {hint}")


AS_IT_IS = RawText()


def _lowered_run(found: re.Match[bytes]) -> bytes:
    """Return a run in lower case; one that is too long stays, to be refused."""
    run = found[0]
    if len(run) > MAX_WORD:
        return run
    return run.decode("utf-8", "surrogateescape").lower().encode("utf-8", "surrogateescape")


def _room(size: int, buffer: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return memory for what becomes of so many bytes: the buffer, if it is large enough."""
    most = _GROWTH * size + 1 + PADDING
    return buffer if len(buffer) >= most else zeros(most, np.uint8)


def _padded(text: bytes) -> tuple[NDArray[np.uint8], int, int]:
    return np.frombuffer(text + b" " * PADDING, np.uint8), 0, len(text)


@njit(nogil=True, cache=True, inline="always")
def _decode(text: NDArray[np.uint8], at: int) -> tuple[int, int]:
    """Return the code point at a byte above 127, and its bytes; `_NOTHING` and 1 if it is not UTF-8."""
    first, second = np.int64(text[at]), np.int64(text[at + 1])
    if first < 0xC2 or first > 0xF4 or second & 0xC0 != 0x80:
        return _NOTHING, 1
    if first < 0xE0:
        return (first & 0x1F) << 6 | second & 0x3F, 2
    third = np.int64(text[at + 2])
    if third & 0xC0 != 0x80:
        return _NOTHING, 1
    code = (first & 0xF) << 12 | (second & 0x3F) << 6 | third & 0x3F
    if first < 0xF0:
        return (code, 3) if code >= 0x800 and not 0xD800 <= code < 0xE000 else (_NOTHING, 1)
    fourth = np.int64(text[at + 3])
    code = (first & 0x7) << 18 | (second & 0x3F) << 12 | (third & 0x3F) << 6 | fourth & 0x3F
    return (code, 4) if fourth & 0xC0 == 0x80 and 0x10000 <= code < 0x110000 else (_NOTHING, 1)


@njit(nogil=True, cache=True, inline="always")
def _encode(code: int, out: NDArray[np.uint8], size: int) -> int:
    """Write a code point; return where the next one goes."""
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


@njit(nogil=True, cache=True)
def _next_kind(text: NDArray[np.uint8], at: int, end: int, lowered: NDArray[np.int32], kinds: NDArray[np.uint8]) -> int:
    """Return the kind of the first visible character from `at` on; SPACE at the end."""
    while at < end:
        code, length = (np.int64(text[at]), 1) if text[at] < 0x80 else _decode(text, at)
        kind = LETTER if code < 0 else np.int64(kinds[lowered[code]])
        if kind != INVISIBLE:
            return kind
        at += length
    return SPACE


@njit(nogil=True, cache=True)
def _transform(  # noqa: C901, PLR0912, PLR0915 (one loop over bytes)
    text: NDArray[np.uint8],
    begin: int,
    end: int,
    lowered: NDArray[np.int32],
    kinds: NDArray[np.uint8],
    tokenize: bool,
    longest: int,
    stopping: bool,
    out: NDArray[np.uint8],
) -> int:
    """Write ``text[begin:end]`` with `lowered` code points and, to `tokenize`, spaces between tokens; return its size.

    From a run of more than `longest` bytes without whitespace on, all is copied as it is.
    """
    size = 0
    at = run = begin
    of_run = 0  # size at `run`
    inside = SPACE  # what the token so far is: none, LETTER for a word, or SYMBOL
    last = SPACE
    while at < end:
        byte, start = text[at], at
        if byte == 32 or 9 <= byte <= 13:
            out[size] = byte
            size += 1
            at += 1
            run, of_run, inside = at, size, SPACE
            continue
        while byte < 0x80 and (
            (tokenize and inside == LETTER and kinds[byte] == LETTER) or (not tokenize and byte > 32)
        ):
            out[size] = lowered[byte]
            size += 1
            at += 1
            last = LETTER
            byte = text[at]
        code, length = 0, 0
        if at == start:
            code, length = (np.int64(byte), 1) if byte < 0x80 else _decode(text, at)
        if at + length - run > longest:
            out[of_run : of_run + end - run] = text[run:end]
            return of_run + end - run
        if at > start:
            continue
        if stopping and (code == _DOTTED_I or code == _SIGMA):
            return -1
        now = code if code < 0 else np.int64(lowered[code])
        if tokenize:
            kind = LETTER if code < 0 else np.int64(kinds[now])
            if kind == LETTER or kind == DIGIT:
                token = LETTER
                same = inside == LETTER
            elif kind == INVISIBLE:
                at += length
                continue
            elif kind == SPACE:
                out[size] = 32
                size += 1
                at += length
                inside = SPACE
                continue
            elif kind == MARK or kind == JOINER:
                token = inside if inside != SPACE else LETTER
                same = True
            else:
                token = SYMBOL
                if inside == LETTER and kind == APOSTROPHE:
                    after = _next_kind(text, at + length, end, lowered, kinds)
                    same = after == LETTER or after == DIGIT
                elif inside == LETTER and kind == POINT and last == DIGIT:
                    same = _next_kind(text, at + length, end, lowered, kinds) == DIGIT
                else:
                    same = False
                if same:
                    token = LETTER
                elif inside == SYMBOL and kind == REGIONAL:
                    same = last == REGIONAL
                    kind = SYMBOL if same else REGIONAL
                elif inside == SYMBOL:
                    same = last == JOINER
            if inside != SPACE and not same:
                out[size] = 32
                size += 1
            inside, last = token, kind
        if now == code:
            for k in range(length):
                out[size + k] = text[at + k]
            size += length
        else:
            size = _encode(now, out, size)
        at += length
    return size
