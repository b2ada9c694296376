"""Whether a file or folder holds vectors, by its content: quickly, and not by two numbers on the first line alone."""

from pathlib import Path

import numpy as np

from any2vec.errors import Any2VecError
from any2vec.io.compression import compression_of
from any2vec.io.replaceable import start_of
from any2vec.io.temporary import read_folder
from any2vec.vectors.native import meta_of
from any2vec.vectors.word2vec import LONGEST_WORD, parse_header, without_mark

__all__ = ["holds_binary", "holds_folder", "holds_text"]

_START = 1 << 20  # bytes that are looked at
_UNEVEN = 4  # how much longer the first rows may be than the mean of all
_WITHOUT_HEADER = 10  # dimensions from which on a table of fractions counts as vectors: GloVe's have 25 or more


def holds_text(path: Path) -> bool:
    """Recognize word2vec's text format, or GloVe's: all lines that are looked at have a word and D numbers."""
    content, whole = start_of(path, _START)
    lines = without_mark(content, path).split(b"\n")
    cut = [] if whole else lines.pop().split()[1:-1]  # numbers of a line that goes on
    rows = [fields for line in lines if (fields := line.split())]
    if not rows:
        return False
    try:
        number, dim = parse_header(lines[0], path)
    except Any2VecError:
        dim = len(rows[0]) - 1
        return dim >= _WITHOUT_HEADER and all(_is_row(row, dim) and b"." in b"".join(row[1:]) for row in rows)
    rows = rows[1:]
    if whole:
        return len(rows) == number and all(_is_row(row, dim) for row in rows)
    if not rows:
        return 0 < len(cut) < dim and _are_numbers(cut)
    if not all(_is_row(row, dim) for row in rows) or len(rows) > number:
        return False
    return bool(compression_of(path)) or path.stat().st_size * len(rows) > number * len(content) / _UNEVEN


def holds_binary(path: Path) -> bool:
    """Recognize word2vec's binary format: rows follow each other, with bytes that no text has."""
    content, whole = start_of(path, _START)
    content = without_mark(content, path)
    header = content.find(b"\n") + 1
    try:
        number, dim = parse_header(content[:header], path)
    except Any2VecError:
        return False
    if not compression_of(path) and path.stat().st_size < header + number * (4 * dim + 2):
        return False
    at = header
    numbers: list[bytes] = []
    while len(numbers) < number and at <= len(content):
        space = content.find(b" ", at, at + LONGEST_WORD + 2)
        if space < 0 and not whole:
            break
        word = content[at:space].lstrip(b"\n")
        if space < 0 or not word or not _is_utf8(word):
            return False
        at = space + 1 + 4 * dim
        numbers.append(content[space + 1 : at])
    ends = len(numbers) == number and at <= len(content) and not content[at:].strip(b"\n")
    return (ends or not whole) and not _is_text(b"".join(numbers))


def holds_folder(path: Path) -> bool:
    """Recognize any2vec's own format by the file that says its version and sizes."""
    found = read_folder(path, meta_of)
    return isinstance(found, dict) and all(type(found.get(name)) is int for name in ("format", "words", "dimensions"))


def _is_row(fields: list[bytes], dim: int) -> bool:
    """Whether the last D of some fields are numbers, and no more than a word precedes them."""
    return len(fields) == dim + 1 and _are_numbers(fields[1:])


def _are_numbers(fields: list[bytes]) -> bool:
    try:
        return bool(np.isfinite(np.array(fields, np.float64)).all())
    except ValueError:
        return False


def _is_utf8(word: bytes) -> bool:
    try:
        word.decode()
    except UnicodeDecodeError:
        return False
    return True


def _is_text(content: bytes) -> bool:
    try:
        found = content.decode()
    except UnicodeDecodeError as error:
        if error.start < len(content) - 3:  # else a character is cut
            return False
        found = content[: error.start].decode()
    return all(sign >= " " or sign in "\t\n\r\f" for sign in found)
