"""Input files as streams of bytes: pipes, standard input, columns of tables."""

import io
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from any2vec.errors import Any2VecError
from any2vec.io.compression import decompressed, reading_errors
from any2vec.io.inputs import InputFile
from any2vec.io.tables import open_column

READ = 1 << 18
"""Bytes read at a time."""


def fill(stream: IO[bytes], buffer: NDArray[np.uint8]) -> int:
    """Read until `buffer` is full or the stream ends; return the number of bytes read."""
    view, filled = buffer.data, 0
    read: Callable[[memoryview], int | None] = stream.readinto  # type: ignore[attr-defined]
    while filled < len(view):
        count = read(view[filled : filled + READ])
        if not count:
            break
        filled += count
    return filled


def naming(file: InputFile) -> AbstractContextManager[None]:
    """Turn what goes wrong while a file is read into an error that names it."""
    return reading_errors(file.name, file.compression)


@contextmanager
def open_stream(file: InputFile) -> Iterator[tuple[IO[bytes], Callable[[], int]]]:
    """Open a file that cannot be read in ranges; yield its text, and a function that counts the file's bytes read."""
    with ExitStack() as stack:
        if file.path and file.column is not None:
            yield stack.enter_context(open_column(file.path, file.column, file.labels))
            return
        if file.path is None:
            source: IO[bytes] | None = getattr(sys.stdin, "buffer", None)
            if source is None:
                raise Any2VecError("standard input is closed; give a file")
        else:
            with naming(file):
                source = stack.enter_context(file.path.open("rb"))
        counted = _Counted(source)
        with naming(file):
            text = stack.enter_context(decompressed(io.BufferedReader(counted), file.compression))
        yield text, lambda: counted.count


class _Counted(io.RawIOBase):
    """Counts the bytes read from another file, which it leaves open."""

    def __init__(self, file: Any) -> None:
        self._file = file
        self.count = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        read = int(self._file.readinto(buffer) or 0)
        self.count += read
        return read
