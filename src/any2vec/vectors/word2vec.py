"""What word2vec's two formats share: the header, the words they can hold, the rows read so far."""

import codecs
import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from any2vec.errors import Any2VecError, Any2VecWarning, counted, shown
from any2vec.io.compression import compression_of
from any2vec.vectors.lookup import repeats
from any2vec.vectors.vectors import Vectors

__all__ = [
    "LONGEST_HEADER",
    "LONGEST_WORD",
    "VectorBuilder",
    "check_size",
    "check_words",
    "first_of_each",
    "parse_header",
    "quoted",
    "without_mark",
]

LONGEST_HEADER = 1 << 10
LONGEST_WORD = 1 << 16  # bytes
WHITESPACE = frozenset(" \t\n\r\v\f")
DEFLATE_RATIO = 1_032  # deflate cannot compress better than this (zlib's manual)


class VectorBuilder:
    """Words and vectors read so far; the matrix grows with them, from an initial `capacity` of rows."""

    def __init__(self, dim: int, capacity: int) -> None:
        self.words: list[str] = []
        self.matrix: NDArray[np.float32] = np.empty((capacity, dim), np.float32)

    def add(self, words: Sequence[str], vectors: NDArray[np.float32]) -> None:
        """Add n words and their vectors, shape (n, D)."""
        start, end = len(self.words), len(self.words) + len(words)
        if end > len(self.matrix):
            self._resize(max(end, len(self.matrix) * 5 // 4))
        self.matrix[start:end] = vectors
        self.words.extend(words)

    def build(self, path: Path) -> Vectors:
        """Return the Vectors, with counts of zero: the formats have none."""
        self._resize(len(self.words))
        try:
            return Vectors(self.words, self.matrix)
        except Any2VecError:  # a word occurs twice
            firsts = first_of_each(self.words, path)
            return Vectors([self.words[i] for i in firsts], self.matrix[firsts])

    def _resize(self, rows: int) -> None:
        if rows != len(self.matrix):  # in place: no second copy
            self.matrix.resize((rows, self.matrix.shape[1]), refcheck=False)


def first_of_each(words: Sequence[str], path: Path) -> list[int]:
    """Return where each word occurs first, with a warning, as gensim does; nothing if none occurs twice."""
    if not repeats(words):
        return []
    ids: dict[str, int] = {}
    for i, word in enumerate(words):
        ids.setdefault(word, i)
    if len(ids) == len(words):
        return []
    again = next(word for i, word in enumerate(words) if ids[word] != i)
    left_out = f"{len(words) - len(ids):,} of {counted(len(words), 'vector')} left out"
    text = f"{path}: {left_out}: words occur more than once, such as {shown(again)}; the first vector of each is taken"
    warnings.warn(text, Any2VecWarning, stacklevel=2)
    return list(ids.values())


def parse_header(line: bytes, path: Path) -> tuple[int, int]:
    """Return the numbers of words and dimensions of word2vec's header, both positive."""
    parts = line.split()
    if len(parts) == 2 and all(part.isdigit() and len(part) < 19 for part in parts):
        words, dim = int(parts[0]), int(parts[1])
        if words and dim:
            return words, dim
    right = "two positive numbers: how many words, how many dimensions"
    raise Any2VecError(f"{path}, line 1: the header {quoted(line)} is not {right}")


def without_mark(start: bytes, path: Path) -> bytes:
    """Return the beginning of a file without UTF-8's byte-order mark; refuse that of UTF-16 or UTF-32."""
    if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_BE)):
        raise Any2VecError(f"{path}: is text in UTF-16 or UTF-32; save it as UTF-8")
    return start.removeprefix(codecs.BOM_UTF8)


def check_size(number: int, dim: int, least: int, path: Path) -> None:
    """Refuse a header that promises more than the file can hold (`least` bytes), before allocating memory for it."""
    held = path.stat().st_size
    if least > held * (DEFLATE_RATIO if compression_of(path) else 1):
        promise = f"{number:,} words of {dim:,} dimensions, at least {least:,} bytes"
        size = f"the file has {held:,}: it is truncated, or the header wrong"
        raise Any2VecError(f"{path}: the header promises {promise}, but {size}")


def check_words(words: Iterable[str], path: Path) -> None:
    """Refuse words that word2vec's formats cannot hold: empty, with whitespace, too long, or not Unicode text."""
    for word in words:
        if not word or not WHITESPACE.isdisjoint(word) or not _encodable(word):
            reason = "empty, with whitespace, or not text"
        elif 4 * len(word) > LONGEST_WORD and len(word.encode()) > LONGEST_WORD:
            reason = f"longer than {LONGEST_WORD:,} bytes"
        else:
            continue
        instead = "save to a name without an ending: a folder can hold it"
        raise Any2VecError(f"{path}: word2vec's formats cannot hold the word {_short(word)} ({reason}); {instead}")


def quoted(text: bytes) -> str:
    """Quote bytes from a file for an error, on one line, at most 40 of them."""
    start = text[:40].decode("utf-8", "backslashreplace").rstrip()
    return repr(start + "..." if len(text) > 40 else start)


def _short(word: str) -> str:
    return repr(word) if len(word) <= 100 else shown(word)


def _encodable(word: str) -> bool:
    try:
        word.encode()
    except UnicodeEncodeError:  # a lone surrogate
        return False
    return True
