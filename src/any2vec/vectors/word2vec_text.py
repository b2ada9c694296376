"""word2vec's text format, and GloVe's, which has no header."""

import warnings
from collections.abc import Iterator
from io import BufferedIOBase
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from any2vec.cluster.communicator import together
from any2vec.errors import Any2VecError
from any2vec.vectors.decimals import decimals
from any2vec.vectors.rows import Rows, check_size, check_words, parse_header, shorten
from any2vec.vectors.share import Share
from any2vec.vectors.streams import reading, write_in_turns
from any2vec.vectors.vectors import Vectors

__all__ = ["load_text", "save_text"]

BLOCK_BYTES = 1 << 22
LONGEST_LINE = 1 << 26
WRITTEN_TOGETHER = 1 << 16  # numbers
NUMBER_BYTES = b"0123456789+-.eE "  # rows with anything else, "nan" too, are read slowly, which finds what is wrong


def save_text(share: Share, path: Path) -> None:
    """Write word2vec's text format: a line "V D", then a line a word; numbers are read back to the same bits.

    Parameters
    ----------
    share : Share
        What this host writes.
    path : Path
        The file, compressed if it ends in .gz.

    Raises
    ------
    Any2VecError
        On all hosts, if a word cannot be written (blanks), or the file system refuses.
    """
    with together(share.communicator):
        check_words(share.own.words, path)
    write_in_turns(path, _chunks(share), share.communicator)


def load_text(path: Path) -> Vectors:
    """Read word2vec's text format, with its header or, as GloVe's files, without.

    Parameters
    ----------
    path : Path
        The file, decompressed if it ends in .gz.

    Returns
    -------
    Vectors
        With counts of zero: the format has none.

    Raises
    ------
    Any2VecError
        If the file is damaged; the line is named.
    """
    with reading(path) as stream:
        batches = _batches(stream, path)
        lines = next(batches, [b""])
        if headed := _has_header(lines):
            number, dim = parse_header(lines[0], path)
            check_size(number, dim, number * (2 * dim + 1), path)  # a letter, D times a blank and a digit
            rows = Rows(dim, number)
        else:
            number, dim = None, len(lines[0].split()) - 1
            if dim < 1:
                parse_header(lines[0], path)  # raises
            rows = Rows(dim, len(lines))
        first = 2 if headed else 1
        _add(rows, lines[first - 1 :], first, number, path)
        first = len(lines) + 1
        for lines in batches:
            _add(rows, lines, first, number, path)
            first += len(lines)
    if number is not None and len(rows.words) < number:
        raise Any2VecError(f"{path}: ends after {len(rows.words):,} words; its header promises {number:,}")
    return rows.vectors(path)


def _chunks(share: Share) -> Iterator[bytes]:
    yield share.header
    words, matrix = share.own.words, share.own.matrix
    step = max(1, WRITTEN_TOGETHER // share.own.dim)
    for start in range(0, len(words), step):
        rows = enumerate(decimals(matrix[start : start + step]), start)
        yield "".join(f"{words[i]} {row}\n" for i, row in rows).encode()


def _batches(stream: BufferedIOBase, path: Path) -> Iterator[list[bytes]]:
    """Yield lists of whole lines, without their ends."""
    rest = b""
    while block := stream.read(BLOCK_BYTES):
        *lines, rest = (rest + block).split(b"\n")
        if len(rest) > LONGEST_LINE:
            raise Any2VecError(f"{path}: has a line longer than {LONGEST_LINE:,} bytes: not a text file of vectors")
        if lines:
            yield lines
    if rest:
        yield [rest]


def _has_header(lines: list[bytes]) -> bool:
    """Tell "V D" from a word with a vector of one number: then the next line has two columns as well."""
    first = lines[0].split()
    if len(first) != 2:
        return False
    numbers = all(part.lstrip(b"-").isdigit() for part in first)
    return numbers or len(lines) < 2 or len(lines[1].split()) != 2


def _add(rows: Rows, lines: list[bytes], first: int, number: int | None, path: Path) -> None:
    """Add lines, which begin at line `first` of the file; `number` is how many words the header promised."""
    try:
        words, numbers = _parse_fast(lines, rows.matrix.shape[1])
    except ValueError:
        words, numbers = _parse_slowly(lines, rows.matrix.shape[1], first, number is None, path)
    if number is not None and len(rows.words) + len(words) > number:
        raise Any2VecError(f"{path}, line {number + 2:,}: more words than the {number:,} that the header promises")
    rows.add(words, numbers)


def _parse_fast(lines: list[bytes], dim: int) -> tuple[list[str], NDArray[np.float32]]:
    """Parse all lines together; raise ValueError where anything is not as it should be."""
    words, rests = [], []
    for line in lines:
        word, _, rest = line.rstrip().partition(b" ")
        if not word or rest.count(b" ") != dim - 1:
            raise ValueError("columns")
        words.append(word.decode())
        rests.append(rest)
    text = b" ".join(rests)
    if text.translate(None, NUMBER_BYTES) or b"  " in b" " + text:
        raise ValueError("not plain numbers")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # older NumPy's way to say "not a number"
        numbers = np.fromstring(text, np.float32, sep=" ")
    if numbers.size != len(lines) * dim or not np.isfinite(numbers).all():
        raise ValueError("numbers")
    return words, numbers.reshape(len(lines), dim)


def _parse_slowly(
    lines: list[bytes], dim: int, first: int, headerless: bool, path: Path
) -> tuple[list[str], NDArray[np.float32]]:
    """Parse line by line, passing over empty ones; raise an error that names the line."""
    words, rows = [], []
    for i, line in enumerate(lines, first):
        parts = line.split()
        if not parts:
            continue
        blanks = len(parts) - dim - 1
        if blanks > 0 and headerless and not any(map(_is_number, parts[1 : blanks + 1])):
            parts[: blanks + 1] = [b" ".join(parts[: blanks + 1])]  # GloVe writes such words
        if len(parts) != dim + 1:
            where = "as on line 1" if headerless else "as the header says"
            raise Any2VecError(f"{path}, line {i:,}: {len(parts) - 1:,} numbers after the word, not {dim:,} {where}")
        try:
            words.append(parts[0].decode())
        except UnicodeDecodeError as error:
            raise Any2VecError(f"{path}, line {i:,}: the word {shorten(parts[0])} is not UTF-8") from error
        rows.append(_numbers(parts[1:], i, path))
    return words, np.array(rows, np.float32).reshape(len(rows), dim)


def _numbers(parts: list[bytes], line: int, path: Path) -> NDArray[np.float32]:
    for part in parts:
        if not _is_number(part):
            raise Any2VecError(f"{path}, line {line:,}: {shorten(part)} is not a number")
    with np.errstate(over="ignore"):
        row = np.array([float(part) for part in parts]).astype(np.float32)
    if not np.isfinite(row).all():
        bad = parts[int(np.flatnonzero(~np.isfinite(row))[0])]
        raise Any2VecError(f"{path}, line {line:,}: {shorten(bad)} is not a finite 32-bit number")
    return row


def _is_number(part: bytes) -> bool:
    try:
        float(part)
    except ValueError:
        return False
    return b"_" not in part  # Python's own licence
