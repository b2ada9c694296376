"""What a model of fastText begins with: a magic number, arguments, and the dictionary (its args.cc, dictionary.cc)."""

import struct
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray

from any2vec.corpus.subwords import Subwords, encoded_word
from any2vec.errors import Any2VecError, counted, shown
from any2vec.io.compression import compression_of
from any2vec.vectors.lookup import NEGATIVE
from any2vec.vectors.word2vec import DEFLATE_RATIO

__all__ = ["HIERARCHICAL", "MAGIC", "Arguments", "Reader", "dictionary_bytes", "read_arguments", "read_dictionary"]

MAGIC = struct.pack("<i", 793_712_314)
HIERARCHICAL = "hierarchical"
_VERSION = struct.Struct("<i")
_ARGUMENTS = struct.Struct("<12id")
_SIZES = struct.Struct("<3i2q")  # words and labels, words, labels, tokens of the text, n-grams that pruning kept
_ENTRY = struct.Struct("<qb")  # count, kind
_VERSIONS = 11, 12
_BLOCK = 1 << 22
_LONGEST_WORD = 1 << 20
_HIERARCHICAL, _NEGATIVE = 1, 2  # losses
_SKIPGRAM, _SUPERVISED = 2, 3  # models
_WORD, _LABEL = 0, 1  # kinds


@dataclass(frozen=True)
class Arguments:
    """fastText's arguments, in the order of a file; the defaults are fastText's."""

    dim: int
    window: int = 5
    epochs: int = 5
    min_count: int = 1
    negative: int = 5
    word_ngrams: int = 1
    loss_number: int = _NEGATIVE
    model: int = _SKIPGRAM
    buckets: int = 0
    least: int = 0
    most: int = 0
    update_rate: int = 100
    sample: float = 1e-4

    @classmethod
    def of(cls, dim: int, loss: str, subwords: Subwords | None) -> "Arguments":
        """Return the arguments of vectors of our own; those that are not known are fastText's defaults."""
        number, negative = (_HIERARCHICAL, 0) if loss == HIERARCHICAL else (_NEGATIVE, 5)
        buckets, least, most = (0, 0, 0) if subwords is None else (subwords.buckets, subwords.least, subwords.most)
        return cls(dim, negative=negative, loss_number=number, buckets=buckets, least=least, most=most)

    @property
    def supervised(self) -> bool:
        """Whether the model is a classifier."""
        return self.model == _SUPERVISED

    @property
    def loss(self) -> str | None:
        """Our name of the loss that the output matrix was trained with; None if we have no such loss."""
        return {_HIERARCHICAL: HIERARCHICAL, _NEGATIVE: NEGATIVE}.get(self.loss_number)

    @property
    def subwords(self) -> Subwords | None:
        """Which n-grams words have; None if they have none."""
        least = max(self.least, 1)  # 0 and 1 mean the same
        return Subwords(least, self.most, self.buckets) if self.buckets > 0 and self.most >= least else None

    def pack(self) -> bytes:
        """Return the bytes that a file begins with."""
        return MAGIC + _VERSION.pack(_VERSIONS[-1]) + _ARGUMENTS.pack(*astuple(self))


class Reader:
    """Reads the parts of a file, checking that it has them, and knows the byte it is at."""

    def __init__(self, stream: IO[bytes], path: Path) -> None:
        self.stream, self.path = stream, path
        self.chunk, self.at, self.offset = b"", 0, 0
        held = path.stat().st_size if path.is_file() else 1 << 62
        self.most = held * (DEFLATE_RATIO if compression_of(path) else 1)

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
        block = self.stream.read(_BLOCK)
        if not block:
            raise Any2VecError(f"{self.path}: truncated: it ends at byte {self.offset + len(self.chunk):,}")
        self.chunk, self.offset, self.at = self.chunk[self.at :] + block, self.offset + self.at, 0

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
        found = np.empty((rows, columns), "<f4")
        view = found.data.cast("B") if found.size else memoryview(b"")
        done = min(len(view), len(self.chunk) - self.at)
        view[:done] = self.chunk[self.at : self.at + done]
        self.at += done
        while done < len(view):
            count = self.stream.readinto(view[done : done + _BLOCK])  # type: ignore[attr-defined]
            self.offset += count
            if not count:
                raise Any2VecError(f"{self.path}: truncated: it ends at byte {self.offset + self.at:,}")
            done += count
        return found.astype(np.float32, copy=False)

    def end(self) -> None:
        """Raise if there is more."""
        if self.chunk[self.at :] or self.stream.read(1):
            raise Any2VecError(f"{self.where}: more bytes than the model of fastText has that begins here")


def read_arguments(reader: Reader) -> Arguments:
    """Read what precedes the dictionary; raise if it is of another version or makes no sense."""
    reader.skip(len(MAGIC))
    (version,) = reader.take(_VERSION)
    if version not in _VERSIONS:
        known = " and ".join(map(str, _VERSIONS))
        raise Any2VecError(f"{reader.path}: a model of fastText of version {version}; known are {known}")
    found = Arguments(*reader.take(_ARGUMENTS))
    if found.dim < 1 or found.buckets < 0 or found.model not in (1, _SKIPGRAM, _SUPERVISED):
        sizes = f"{found.dim:,} dimensions, {found.buckets:,} buckets, a model of kind {found.model}"
        raise Any2VecError(f"{reader.path}: damaged: its arguments are {sizes}")
    return found


def read_dictionary(reader: Reader) -> tuple[list[str], NDArray[np.int64], int]:
    """Read words, their counts (zeros: unknown), and how many n-grams were kept.

    What a text calls labels is in the dictionary, also of skip-gram and CBOW, which do not train them: it is left out.
    A byte that is no UTF-8 becomes a surrogate, as by `surrogateescape`.
    """
    size, words, labels, tokens, kept = reader.take(_SIZES)
    if size < 1 or min(words, labels) < 0 or words + labels != size:
        raise Any2VecError(f"{reader.path}: damaged: {size:,} entries are not {words:,} words and {labels:,} labels")
    reader.promised((1 + _ENTRY.size) * size, f"the dictionary of {counted(size, 'word')}")
    names: list[str] = []
    numbers: list[int] = []
    for _ in range(size):
        while (end := reader.chunk.find(b"\0", reader.at)) < 0 or len(reader.chunk) <= end + _ENTRY.size:
            if len(reader.chunk) - reader.at > _LONGEST_WORD + _ENTRY.size:
                raise Any2VecError(f"{reader.where}: damaged: a word of more than {_LONGEST_WORD:,} bytes")
            reader.more()
        name = reader.chunk[reader.at : end].decode("utf-8", "surrogateescape")
        count, kind = _ENTRY.unpack_from(reader.chunk, end + 1)
        if count < 0 or kind not in (_WORD, _LABEL):
            raise Any2VecError(f"{reader.where}: damaged: the count of {shown(name)} is {count:,}, its kind {kind}")
        if kind == _WORD:
            names.append(name)
            numbers.append(count)
        reader.at = end + 1 + _ENTRY.size
    if len(names) != words:
        raise Any2VecError(f"{reader.path}: damaged: {len(names):,} entries are words, not {words:,}")
    if kept > 0:
        reader.promised(8 * kept, f"an index of {kept:,} n-grams")
        reader.skip(8 * kept)
    return names, np.array(numbers, np.int64) * (tokens > 0), kept


def dictionary_bytes(words: Sequence[str], counts: NDArray[np.int64]) -> bytes:
    """Return a dictionary as a file has it; if counts are unknown, those of words are 1, and that of the text 0."""
    entries = zip(words, np.maximum(counts, 1).tolist(), strict=True)
    sizes = _SIZES.pack(len(words), len(words), 0, int(counts.sum()), -1)
    return sizes + b"".join(b"%b\0%b" % (encoded_word(word), _ENTRY.pack(count, 0)) for word, count in entries)
