"""word2vec's text format, a line "V D" and then a line per word; and GloVe's, which has no header."""

from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray

from any2vec.errors import Any2VecError
from any2vec.io.compression import open_compressed
from any2vec.io.outputs import write_in_host_order
from any2vec.vectors.decimals import decimals
from any2vec.vectors.shard import Shard
from any2vec.vectors.vectors import Vectors
from any2vec.vectors.word2vec import VectorBuilder, check_size, parse_header, quoted, without_mark

__all__ = ["load_text", "save_text", "six_decimals", "text_rows"]

BLOCK_BYTES = 1 << 22
LONGEST_LINE = 1 << 26
WRITTEN_TOGETHER = 1 << 16  # numbers


def save_text(shard: Shard, path: Path) -> None:
    """Write a shard's rows, numbers that are read back to the same bits; compressed if the name ends in .gz."""
    write_in_host_order(path, chain([shard.header], text_rows(shard.own, decimals)), shard.communicator)


def load_text(path: Path) -> Vectors:
    """Read a file with a header or without; errors name the line."""
    with open_compressed(path) as stream:
        batches = _batches(stream, path)
        lines = next(batches, [b""])
        if headed := _has_header(lines):
            number, dim = parse_header(lines[0], path)
            check_size(number, dim, number * (2 * dim + 1), path)  # a letter, D times a space and a digit
            builder = VectorBuilder(dim, number)
        else:
            number, dim = None, len(lines[0].split()) - 1
            if dim < 1:
                parse_header(lines[0], path)  # raises
            builder = VectorBuilder(dim, 0)
        first = 2 if headed else 1
        _add(builder, lines[first - 1 :], first, number, path)
        first = len(lines) + 1
        for lines in batches:
            _add(builder, lines, first, number, path)
            first += len(lines)
    if number is not None and len(builder.words) < number:
        raise Any2VecError(f"{path}: ends after {len(builder.words):,} words; its header promises {number:,}")
    return builder.build(path)


def text_rows(vectors: Vectors, formatted: Callable[[NDArray[np.float32]], list[str]]) -> Iterator[bytes]:
    """Yield lines of a word and its vector, in blocks."""
    words, step = vectors.vocabulary.words, max(1, WRITTEN_TOGETHER // vectors.dim)
    for start in range(0, len(vectors), step):
        some = slice(start, start + step)
        rows = zip(words[some], formatted(vectors.matrix[some]), strict=True)
        yield "".join(f"{word} {row}\n" for word, row in rows).encode()


def six_decimals(matrix: NDArray[np.float32]) -> list[str]:
    """Format each row as word2vec does: six decimals, and a space after each number."""
    pattern = "%f " * matrix.shape[1]
    return [pattern % tuple(row) for row in matrix.tolist()]


def _batches(stream: IO[bytes], path: Path) -> Iterator[list[bytes]]:
    """Yield lists of whole lines, without line ends."""
    rest, at_start = b"", True
    while block := stream.read(BLOCK_BYTES):
        *lines, rest = (rest + (without_mark(block, path) if at_start else block)).split(b"\n")
        at_start = False
        if len(rest) > LONGEST_LINE:
            raise Any2VecError(f"{path}: has a line longer than {LONGEST_LINE:,} bytes: not a text file of vectors")
        if lines:
            yield lines
    if rest:
        yield [rest]


def _has_header(lines: list[bytes]) -> bool:
    """Distinguish "V D" from a word with a vector of one number: then the next line has two columns as well."""
    first = lines[0].split()
    if len(first) != 2:
        return False
    numbers = all(part.lstrip(b"-").isdigit() for part in first)
    return numbers or len(lines) < 2 or len(lines[1].split()) != 2


def _add(builder: VectorBuilder, lines: list[bytes], first: int, number: int | None, path: Path) -> None:
    """Parse and add lines, from line `first` of the file; `number` is how many words the header promised, if any."""
    words: list[str] = []
    where: list[int] = []  # the line of each word: empty lines are skipped
    dim = builder.matrix.shape[1]
    most = sum(map(len, lines)) // (2 * dim + 1)  # a letter, D times a space and a digit
    vectors = np.empty((min(len(lines), most), dim), np.float32)
    with np.errstate(over="ignore"):
        for i, line in enumerate(lines):
            if parts := _columns(line, dim, first + i, number is None, path):
                try:
                    vectors[len(words)] = parts[1:]  # NumPy parses them
                    words.append(parts[0].decode())
                except ValueError:
                    raise _unreadable(parts, f"{path}, line {first + i:,}") from None
                where.append(first + i)
    vectors = vectors[: len(words)]
    if not (finite := np.isfinite(vectors)).all():
        row, column = np.argwhere(~finite)[0]
        bad = quoted(lines[where[row] - first].split()[column - dim])
        raise Any2VecError(f"{path}, line {where[row]:,}: {bad} is not a finite 32-bit number")
    if number is not None and len(builder.words) + len(words) > number:
        raise Any2VecError(f"{path}, line {number + 2:,}: more words than the {number:,} that the header promises")
    builder.add(words, vectors)


def _columns(line: bytes, dim: int, at: int, headerless: bool, path: Path) -> list[bytes]:
    """Split a line into a word and D numbers; nothing for an empty line."""
    parts = line.split()
    if not parts:
        return parts
    extra = len(parts) - dim - 1
    if extra > 0 and headerless and not any(map(_is_number, parts[1 : extra + 1])):
        parts[: extra + 1] = [b" ".join(parts[: extra + 1])]  # GloVe has words with spaces
    if len(parts) != dim + 1:
        source = "as on line 1" if headerless else "as the header says"
        raise Any2VecError(f"{path}, line {at:,}: {len(parts) - 1:,} numbers after the word, not {dim:,} {source}")
    if line.count(b"_") != parts[0].count(b"_"):  # Python and NumPy would read 1_5 as 15
        raise _unreadable(parts, f"{path}, line {at:,}")
    return parts


def _unreadable(parts: list[bytes], where: str) -> Any2VecError:
    if bad := next((part for part in parts[1:] if not _is_number(part)), None):
        return Any2VecError(f"{where}: {quoted(bad)} is not a number; expected a word and its numbers")
    return Any2VecError(f"{where}: the word {quoted(parts[0])} is not UTF-8")


def _is_number(part: bytes) -> bool:
    try:
        float(part)
    except ValueError:
        return False
    return b"_" not in part
