"""word2vec's binary format: a line "V D", then for each word the word, a space, D float32 and a line end."""

from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import numpy as np

from any2vec.errors import Any2VecError, shown
from any2vec.io.compression import open_compressed
from any2vec.io.memory import blocks, first_not_finite
from any2vec.io.outputs import write_in_host_order
from any2vec.vectors.files.shard import Shard
from any2vec.vectors.files.word2vec import (
    BLOCK_BYTES,
    LONGEST_HEADER,
    LONGEST_WORD,
    Reader,
    VectorBuilder,
    check_size,
    parse_header,
    quoted,
    without_mark,
)
from any2vec.vectors.lookup import Lookup


def save_binary(shard: Shard, path: Path) -> None:
    """Write a shard's rows, compressed if the name ends in .gz; all hosts call this."""
    write_in_host_order(path, chain([shard.header], binary_rows(shard.own)), shard.communicator)


def load_binary(path: Path) -> Lookup:
    """Read a file, with or without line ends after the vectors; errors name the byte of the decompressed data."""
    with open_compressed(path) as stream:
        header = stream.readline(LONGEST_HEADER)
        number, dim = parse_header(without_mark(header, path), path)
        check_size(number, dim, number * (4 * dim + 2), path)  # a letter, a space, D numbers
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
