"""word2vec's binary format."""

from collections.abc import Iterator
from io import BufferedIOBase
from pathlib import Path

import numpy as np

from any2vec.cluster.communicator import together
from any2vec.errors import Any2VecError
from any2vec.vectors.finite import blocks, first_not_finite
from any2vec.vectors.rows import Rows, check_size, check_words, parse_header, shorten
from any2vec.vectors.share import Share
from any2vec.vectors.streams import reading, write_in_turns
from any2vec.vectors.vectors import Vectors

__all__ = ["load_binary", "save_binary"]

BLOCK_BYTES = 1 << 22
LONGEST_WORD = 1 << 16
LONGEST_HEADER = 1 << 10


def save_binary(share: Share, path: Path) -> None:
    """Write word2vec's binary format: a line "V D", then for each word it, a blank, D float32 and a line end.

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


def load_binary(path: Path) -> Vectors:
    """Read word2vec's binary format, with or without line ends after the vectors.

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
        If the file is damaged; the byte (of the decompressed data) is named.
    """
    with reading(path) as stream:
        header = stream.readline(LONGEST_HEADER)
        number, dim = parse_header(header, path)
        check_size(number, dim, number * (4 * dim + 2), path)  # a letter, a blank, D numbers
        return _Reader(stream, path, len(header), number, dim).read()


def _chunks(share: Share) -> Iterator[bytes]:
    yield share.header
    words, matrix = share.own.words, share.own.matrix
    for block in blocks(matrix):
        rows = matrix[block].astype("<f4", copy=False)
        yield b"".join(b"%b %b\n" % (words[i].encode(), row.tobytes()) for i, row in enumerate(rows, block.start))


class _Reader:
    """Goes through the words in blocks of the file; knows at which byte it is."""

    def __init__(self, stream: BufferedIOBase, path: Path, offset: int, number: int, dim: int) -> None:
        self.stream, self.path, self.number, self.dim = stream, path, number, dim
        self.rows = Rows(dim, number)
        self.chunk = b""
        self.at = 0  # in the chunk
        self.offset = offset  # of the chunk in the file

    def read(self) -> Vectors:
        words, matrix, size = self.rows.words, self.rows.matrix, 4 * self.dim
        starts = np.empty(self.number, np.int64)
        for row in range(self.number):
            blank = self._blank()
            word = self.chunk[self.at : blank].lstrip(b"\n")
            while len(self.chunk) < blank + 1 + size:
                blank -= self._more()
            words.append(self._decode(word))
            matrix[row] = np.frombuffer(self.chunk, "<f4", self.dim, blank + 1)
            starts[row] = self.offset + blank + 1
            self.at = blank + 1 + size
        self._check_end()
        if bad := first_not_finite(matrix):
            at = starts[bad[0]] + 4 * bad[1]
            value = f"the vector of {words[bad[0]]!r} holds {matrix[bad]}"
            raise Any2VecError(f"{self.path}, byte {at:,}: {value}, not a finite number")
        return self.rows.vectors(self.path)

    def _blank(self) -> int:
        """Find the end of the word, reading on as needed."""
        while (blank := self.chunk.find(b" ", self.at)) < 0:
            if len(self.chunk) - self.at > LONGEST_WORD:
                raise Any2VecError(f"{self._where()}: no blank ends the word {shorten(self.chunk[self.at :])}")
            self._more()
        return blank

    def _more(self) -> int:
        """Read on, forgetting what lies before the word; return by how much positions in the chunk fell."""
        block = self.stream.read(max(BLOCK_BYTES, 4 * self.dim))
        if not block:
            got = f"the file ends within word {len(self.rows.words) + 1:,}"
            raise Any2VecError(f"{self._where()}: {got}; its header promises {self.number:,}")
        passed = self.at
        self.chunk = self.chunk[passed:] + block
        self.offset += passed
        self.at = 0
        return passed

    def _decode(self, word: bytes) -> str:
        if not word:
            raise Any2VecError(f"{self._where()}: the word is empty, or the header's {self.dim:,} dimensions are wrong")
        try:
            return word.decode()
        except UnicodeDecodeError as error:
            wrong = f"the word {shorten(word)} is not UTF-8, or the header's {self.dim:,} dimensions are wrong"
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
