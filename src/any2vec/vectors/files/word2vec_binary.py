"""word2vec's binary format: a line "V D", then for each word the word, a space, D float32 and a line end."""

from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import IO

import numpy as np

from any2vec.errors import Any2VecError, shown
from any2vec.io.compression import open_compressed
from any2vec.io.memory import blocks, first_not_finite
from any2vec.io.outputs import write_in_host_order
from any2vec.vectors.files.shard import Shard
from any2vec.vectors.files.word2vec import (
    LONGEST_HEADER,
    LONGEST_WORD,
    VectorBuilder,
    check_size,
    parse_header,
    quoted,
    without_mark,
)
from any2vec.vectors.lookup import Lookup

__all__ = ["binary_rows", "load_binary", "save_binary"]

BLOCK_BYTES = 1 << 22


def save_binary(shard: Shard, path: Path) -> None:
    """Write a shard's rows, compressed if the name ends in .gz; all hosts call this."""
    write_in_host_order(path, chain([shard.header], binary_rows(shard.own)), shard.communicator)


def load_binary(path: Path) -> Lookup:
    """Read a file, with or without line ends after the vectors; errors name the byte of the decompressed data."""
    with open_compressed(path) as stream:
        header = stream.readline(LONGEST_HEADER)
        number, dim = parse_header(without_mark(header, path), path)
        check_size(number, dim, number * (4 * dim + 2), path)  # a letter, a space, D numbers
        return _Reader(stream, path, len(header), number, dim).read()


def binary_rows(vectors: Lookup) -> Iterator[bytes]:
    """Yield words and their vectors, in blocks."""
    words, matrix = vectors.vocabulary.words, vectors.matrix
    for block in blocks(matrix):
        rows = matrix[block].astype("<f4", copy=False)
        yield b"".join(
            b"%b %b\n" % (word.encode(), row.tobytes()) for word, row in zip(words[block], rows, strict=True)
        )


class _Reader:
    """Reads words in blocks of the file, keeping track of the byte it is at."""

    def __init__(self, stream: IO[bytes], path: Path, offset: int, number: int, dim: int) -> None:
        self.stream, self.path, self.number, self.dim = stream, path, number, dim
        self.builder = VectorBuilder(dim, number)
        self.chunk = b""
        self.at = 0  # position in the chunk
        self.offset = offset  # of the chunk in the file

    def read(self) -> Lookup:
        words, matrix, size = self.builder.words, self.builder.matrix, 4 * self.dim
        starts = np.empty(self.number, np.int64)
        for row in range(self.number):
            space = self._space()
            word = self.chunk[self.at : space].lstrip(b"\n")
            while len(self.chunk) < space + 1 + size:
                space -= self._more()
            words.append(self._decode(word))
            matrix[row] = np.frombuffer(self.chunk, "<f4", self.dim, space + 1)
            starts[row] = self.offset + space + 1
            self.at = space + 1 + size
        self._check_end()
        if bad := first_not_finite(matrix):
            at = starts[bad[0]] + 4 * bad[1]
            value = f"the vector of {shown(words[bad[0]])} holds {matrix[bad]}"
            raise Any2VecError(f"{self.path}, byte {at:,}: {value}, not a finite number")
        return self.builder.build(self.path)

    def _space(self) -> int:
        """Find the end of the word, reading on as needed."""
        while (space := self.chunk.find(b" ", self.at)) < 0:
            if len(self.chunk) - self.at > LONGEST_WORD:
                raise Any2VecError(f"{self._where()}: no space ends the word {quoted(self.chunk[self.at :])}")
            self._more()
        return space

    def _more(self) -> int:
        """Read the next block, dropping what lies before the word; return how many bytes were dropped."""
        block = self.stream.read(max(BLOCK_BYTES, 4 * self.dim))
        if not block:
            got = f"the file ends within word {len(self.builder.words) + 1:,}"
            raise Any2VecError(f"{self._where()}: {got}; its header promises {self.number:,}")
        dropped = self.at
        self.chunk = self.chunk[dropped:] + block
        self.offset += dropped
        self.at = 0
        return dropped

    def _decode(self, word: bytes) -> str:
        if not word:
            raise Any2VecError(f"{self._where()}: the word is empty, or the header's {self.dim:,} dimensions are wrong")
        try:
            return word.decode()
        except UnicodeDecodeError as error:
            wrong = f"the word {quoted(word)} is not UTF-8, or the header's {self.dim:,} dimensions are wrong"
            raise Any2VecError(f"{self._where()}: {wrong}") from error

    def _check_end(self) -> None:
        rest = self.chunk[self.at :].lstrip(b"\n")
        while not rest and (block := self.stream.read(BLOCK_BYTES)):
            rest = block.lstrip(b"\n")
        if rest:
            more = f"more data than the header's {self.number:,} words of {self.dim:,} dimensions"
            raise Any2VecError(f"{self._where()}: {more}")

    def _where(self) -> str:
        return f"{self.path}, byte {self.offset + self.at:,}"
