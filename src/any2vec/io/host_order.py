"""One file written by all hosts, in host order."""

import os
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TypeAlias

from any2vec.cluster.communicator import Communicator, together
from any2vec.io.compression import compression_of
from any2vec.io.outputs import refusals, replacing
from any2vec.io.replaceable import Kind
from any2vec.io.temporary import not_followed

__all__ = ["Chunk", "append_in_host_order", "write_in_host_order"]

Chunk: TypeAlias = bytes | memoryview

COMPRESSION = 6  # gzip's own default


def write_in_host_order(
    path: Path, chunks: Iterable[Chunk], communicator: Communicator, kind: Kind | None = None
) -> None:
    """Replace a file by the chunks of all hosts, gzip-compressed if its name ends in .gz; the same bytes every time."""
    with replacing(path, communicator=communicator, kind=kind) as part:
        append_in_host_order(part, _compress(chunks) if compression_of(path) == "gz" else chunks, communicator, path)


def append_in_host_order(part: Path, chunks: Iterable[Chunk], communicator: Communicator, path: Path) -> None:
    """Append the chunks of each host, made when it is this host's turn, to a file; errors name `path`."""
    opener = None if part == path else not_followed  # /dev/stdout is a link
    for turn in range(communicator.size):
        with together(communicator), refusals(path, communicator):
            if turn == communicator.rank:
                mode = "ab" if turn == 0 else "r+b"  # only the first creates the file
                with open(part, mode, opener=opener) as file:
                    if turn:  # a FIFO cannot seek
                        file.seek(0, os.SEEK_END)
                    for chunk in chunks:
                        file.write(chunk)


def _compress(chunks: Iterable[Chunk]) -> Iterator[bytes]:
    """Make one gzip member, without name and time; members in sequence are one file."""
    compressor = zlib.compressobj(COMPRESSION, wbits=16 + zlib.MAX_WBITS)
    for chunk in chunks:
        yield compressor.compress(chunk)
    yield compressor.flush()
