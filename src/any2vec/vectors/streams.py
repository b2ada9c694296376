"""Vector files are read and written as streams of bytes, compressed or not; many hosts write in turns."""

import gzip
import os
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from io import BufferedIOBase
from pathlib import Path
from typing import TypeAlias

from any2vec.cluster.communicator import Communicator, together
from any2vec.errors import Any2VecError
from any2vec.io.outputs import refusals, replacing

__all__ = ["Chunk", "append_in_turns", "most_bytes", "reading", "write_in_turns"]

Chunk: TypeAlias = bytes | memoryview

COMPRESSION = 6  # gzip's own default
DEFLATE_RATIO = 1_032  # deflate cannot make data smaller than this (zlib's manual)


@contextmanager
def reading(path: Path) -> Iterator[BufferedIOBase]:
    """Open a file, decompressing it if its name ends in .gz.

    Parameters
    ----------
    path : Path
        The file.

    Yields
    ------
    binary stream
        Its (decompressed) bytes.

    Raises
    ------
    Any2VecError
        If it cannot be opened, read or decompressed, now or in the block.
    """
    try:
        with gzip.open(path) if _compressed(path) else path.open("rb") as stream:
            yield stream
    except EOFError as error:
        raise Any2VecError(f"{path}: the compressed data end early: the file is truncated") from error
    except (gzip.BadGzipFile, zlib.error) as error:
        raise Any2VecError(f"{path}: damaged, or not gzip: {error}") from error
    except OSError as error:
        raise Any2VecError(f"{path}: cannot be read: {error.strerror or error}") from error


def write_in_turns(path: Path, chunks: Iterable[Chunk], communicator: Communicator) -> None:
    """Write a file beside its place, compressing it if its name ends in .gz; then put it in its place.

    Parameters
    ----------
    path : Path
        The file, replaced if it exists.
    chunks : iterable of bytes
        What this host writes after what the hosts before it write. The same bytes always give the same file.
    communicator : Communicator
        This host's; all hosts call this.

    Raises
    ------
    Any2VecError
        On all hosts, if the file system refuses on one.
    """
    with replacing(path, communicator=communicator) as part:
        append_in_turns(part, _compress(chunks) if _compressed(path) else chunks, communicator, path)


def append_in_turns(part: Path, chunks: Iterable[Chunk], communicator: Communicator, path: Path) -> None:
    """Append to a file what each host has, in host order.

    Parameters
    ----------
    part : Path
        The file; the first host makes it if there is none.
    chunks : iterable of bytes
        What this host appends; made when it is this host's turn.
    communicator : Communicator
        This host's; all hosts call this.
    path : Path
        The output, for errors.

    Raises
    ------
    Any2VecError
        On all hosts, if the file system refuses on one; those after it do not write.
    """
    for turn in range(communicator.size):
        with together(communicator), refusals(path, communicator):
            if turn == communicator.rank:
                with part.open("ab" if turn == 0 else "r+b") as file:  # none but the first makes a file
                    if turn:  # and not in a FIFO
                        file.seek(0, os.SEEK_END)
                    for chunk in chunks:
                        file.write(chunk)


def most_bytes(path: Path) -> int:
    """Bound from above what a file holds when decompressed.

    Parameters
    ----------
    path : Path
        The file.

    Returns
    -------
    int
        Bytes. What a header promises beyond them cannot be true.
    """
    size = path.stat().st_size
    return size * DEFLATE_RATIO if _compressed(path) else size


def _compress(chunks: Iterable[Chunk]) -> Iterator[bytes]:
    """Make a member of a gzip file; members that follow each other are one file, and none holds a name or a time."""
    packer = zlib.compressobj(COMPRESSION, wbits=16 + zlib.MAX_WBITS)
    for chunk in chunks:
        yield packer.compress(chunk)
    yield packer.flush()


def _compressed(path: Path) -> bool:
    return path.name.lower().endswith(".gz")
