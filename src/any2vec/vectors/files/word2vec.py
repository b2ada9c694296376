"""word2vec's text format, GloVe's, and word2vec's binary one: after a line "V D", word, space, D float32, line end."""

import codecs
import struct
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import IO, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from any2vec.errors import Any2VecError, Any2VecWarning, counted, shown
from any2vec.io.compression import compression_of, open_compressed
from any2vec.io.memory import blocks, decimals, first_not_finite
from any2vec.io.outputs import write_in_host_order
from any2vec.vectors.files.native import Shard
from any2vec.vectors.lookup import Lookup, repeats

BLOCK_BYTES = 1 << 22
_LONGEST_HEADER = 1 << 10
LONGEST_WORD = 1 << 16  # bytes
_WHITESPACE = frozenset(" \t\n\r\v\f")
_DEFLATE_RATIO = 1_032  # deflate cannot compress better than this (zlib's manual)
_Number = TypeVar("_Number", bound=np.generic)


class Reader:
    """Reads the parts of a file, checking that it has them, and knows the byte it is at."""

    def __init__(self, stream: IO[bytes], path: Path, offset: int = 0) -> None:
        self.stream, self.path = stream, path
        self.chunk, self.at, self.offset, self.most = b"", 0, offset, _largest(path)

    @property
    def where(self) -> str:
        """The file and the byte, for messages."""
        return f"{self.path}, byte {self.offset + self.at:,}"

    def promised(self, size: int, what: str) -> None:
        """Raise if the file cannot hold as many bytes more, before memory for them is taken."""
        if self.offset + self.at + size > self.most:
            raise Any2VecError(
                f"{self.where}: {what}, {size:,} bytes, do not fit into the file: it is truncated, or damaged"
            )

    def more(self) -> None:
        """Read a block, dropping what was read before."""
        block = self.stream.read(BLOCK_BYTES)
        if not block:
            raise self.cut_off()
        self.chunk, self.offset, self.at = self.chunk[self.at :] + block, self.offset + self.at, 0

    def cut_off(self) -> Any2VecError:
        """Make the error for a file that ends too early."""
        return Any2VecError(f"{self.path}: truncated: it ends at byte {self.offset + len(self.chunk):,}")

    def take(self, form: struct.Struct) -> tuple[int, ...]:
        """Read numbers."""
        while len(self.chunk) < self.at + form.size:
            self.more()
        self.at += form.size
        return form.unpack_from(self.chunk, self.at - form.size)

    def skip(self, size: int) -> None:
        """Leave out some bytes."""
        while size > len(self.chunk) - self.at:
            size -= len(self.chunk) - self.at
            self.at = len(self.chunk)
            self.more()
        self.at += size

    def matrix(self, rows: int, columns: int) -> NDArray[np.float32]:
        """Read a matrix, into its own memory."""
        return self.array((rows, columns), np.float32)

    def array(self, shape: tuple[int, ...], kind: type[_Number]) -> NDArray[_Number]:
        """Read numbers, into their own memory."""
        found = np.empty(shape, np.dtype(kind).newbyteorder("<"))
        self.fill(found)
        return found.astype(kind, copy=False)

    def fill(self, found: NDArray[Any]) -> None:
        """Read numbers into an array."""
        if not found.size:
            return
        view = found.data.cast("B")
        done = min(len(view), len(self.chunk) - self.at)
        view[:done] = self.chunk[self.at : self.at + done]
        self.at += done
        while done < len(view):
            count = self.stream.readinto(view[done : done + BLOCK_BYTES])  # type: ignore[attr-defined]
            if not count:
                raise self.cut_off()
            self.offset, done = self.offset + count, done + count

    def end(self) -> None:
        """Raise if there is more."""
        if self.chunk[self.at :] or self.stream.read(1):
            raise Any2VecError(f"{self.where}: more bytes than the model of fastText has that begins here")


def _largest(path: Path) -> int:
    """Return the most bytes that a file may have when it is decompressed; of no regular file a large number."""
    held = path.stat().st_size if path.is_file() else 1 << 62
    return held * (_DEFLATE_RATIO if compression_of(path) else 1)


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

    def build(self, path: Path) -> Lookup:
        """Return the Vectors, with counts of zero: the formats have none."""
        self._resize(len(self.words))
        try:
            return Lookup(self.words, self.matrix)
        except Any2VecError:  # a word occurs twice
            firsts = first_of_each(self.words, path)
            return Lookup([self.words[i] for i in firsts], self.matrix[firsts])

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


def _check_size(number: int, dim: int, least: int, path: Path) -> None:
    """Refuse a header that promises more than the file can hold (`least` bytes), before allocating memory for it."""
    if least > _largest(path):
        promise = f"{number:,} words of {dim:,} dimensions, at least {least:,} bytes"
        size = f"the file has {path.stat().st_size:,}: it is truncated, or the header wrong"
        raise Any2VecError(f"{path}: the header promises {promise}, but {size}")


def check_words(words: Iterable[str], path: Path) -> None:
    """Refuse words that word2vec's formats cannot hold: empty, with whitespace, too long, or not Unicode text."""
    for word in words:
        if not word or not _WHITESPACE.isdisjoint(word) or word.encode(errors="ignore").decode() != word:
            reason = "empty, with whitespace, or not text"
        elif 4 * len(word) > LONGEST_WORD and len(word.encode()) > LONGEST_WORD:
            reason = f"longer than {LONGEST_WORD:,} bytes"
        else:
            continue
        instead = "save to a name without an ending: a folder can hold it"
        short = repr(word) if len(word) <= 100 else shown(word)
        raise Any2VecError(f"{path}: word2vec's formats cannot hold the word {short} ({reason}); {instead}")


def quoted(text: bytes) -> str:
    """Quote bytes from a file for an error, on one line, at most 40 of them."""
    start = text[:40].decode("utf-8", "backslashreplace").rstrip()
    return repr(start + "..." if len(text) > 40 else start)


_LONGEST_LINE = 1 << 26
_WRITTEN_TOGETHER = 1 << 16  # numbers


def save_text(shard: Shard, path: Path) -> None:
    """Write a shard's rows, numbers that are read back to the same bits; compressed if the name ends in .gz."""
    write_in_host_order(path, chain([shard.header], text_rows(shard.own, decimals)), shard.communicator)


def load_text(path: Path) -> Lookup:
    """Read a file with a header or without; errors name the line."""
    with open_compressed(path) as stream:
        batches = _batches(stream, path)
        lines = next(batches, [b""])
        if headed := _has_header(lines):
            number, dim = parse_header(lines[0], path)
            _check_size(number, dim, number * (2 * dim + 1), path)  # a letter, D times a space and a digit
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


def text_rows(vectors: Lookup, formatted: Callable[[NDArray[np.float32]], list[str]]) -> Iterator[bytes]:
    """Yield lines of a word and its vector, in blocks."""
    words, step = vectors.vocabulary.words, max(1, _WRITTEN_TOGETHER // vectors.dim)
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
        if len(rest) > _LONGEST_LINE:
            raise Any2VecError(f"{path}: has a line longer than {_LONGEST_LINE:,} bytes: not a text file of vectors")
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


def save_binary(shard: Shard, path: Path) -> None:
    """Write a shard's rows, compressed if the name ends in .gz; all hosts call this."""
    write_in_host_order(path, chain([shard.header], binary_rows(shard.own)), shard.communicator)


def load_binary(path: Path) -> Lookup:
    """Read a file, with or without line ends after the vectors; errors name the byte of the decompressed data."""
    with open_compressed(path) as stream:
        header = stream.readline(_LONGEST_HEADER)
        number, dim = parse_header(without_mark(header, path), path)
        _check_size(number, dim, number * (4 * dim + 2), path)  # a letter, a space, D numbers
        reader = _Reader(stream, path, len(header))
        reader.number, reader.dim, builder = number, dim, VectorBuilder(dim, number)
        starts = np.empty(number, np.int64)
        for row in range(number):
            starts[row], word = reader.word()
            builder.words.append(word)
            builder.matrix[row] = np.frombuffer(reader.chunk, "<f4", dim, reader.at)
            reader.skip(4 * dim)
            reader.done += 1
        rest = reader.chunk[reader.at :].lstrip(b"\n")
        while not rest and (block := stream.read(BLOCK_BYTES)):
            rest = block.lstrip(b"\n")
        if rest:
            raise Any2VecError(f"{reader.where}: more data than the header's {number:,} words of {dim:,} dimensions")
    if bad := first_not_finite(builder.matrix):
        value = f"the vector of {shown(builder.words[bad[0]])} holds {builder.matrix[bad]}"
        raise Any2VecError(f"{path}, byte {starts[bad[0]] + 4 * bad[1]:,}: {value}, not a finite number")
    return builder.build(path)


def binary_rows(vectors: Lookup) -> Iterator[bytes]:
    """Yield words and their vectors, in blocks."""
    words, matrix = vectors.vocabulary.words, vectors.matrix
    for block in blocks(matrix):
        rows = matrix[block].astype("<f4", copy=False)
        yield b"".join(
            b"%b %b\n" % (word.encode(), row.tobytes()) for word, row in zip(words[block], rows, strict=True)
        )


class _Reader(Reader):
    number = dim = done = 0  # words and dimensions that the header promises, and words that were read

    def word(self) -> tuple[int, str]:
        """Read a word and the space that ends it; return the byte of its vector, all of which is in the chunk."""
        while (end := self.chunk.find(b" ", self.at)) < 0 or len(self.chunk) <= end + 4 * self.dim:
            if end < 0 and len(self.chunk) - self.at > LONGEST_WORD:
                break
            self.more()
        if end < 0 or end - self.at > LONGEST_WORD + 1:  # a line end may precede a word
            raise Any2VecError(f"{self.where}: no space ends the word {quoted(self.chunk[self.at :])}")
        word = self.chunk[self.at : end].lstrip(b"\n")
        wrong = f"or the header's {self.dim:,} dimensions are wrong"
        if not word:
            raise Any2VecError(f"{self.where}: the word is empty, {wrong}")
        try:
            found = word.decode()
        except UnicodeDecodeError as error:
            raise Any2VecError(f"{self.where}: the word {quoted(word)} is not UTF-8, {wrong}") from error
        self.at = end + 1
        return self.offset + self.at, found

    def cut_off(self) -> Any2VecError:
        got = f"the file ends within word {self.done + 1:,}"
        return Any2VecError(f"{self.where}: {got}; its header promises {self.number:,}")
