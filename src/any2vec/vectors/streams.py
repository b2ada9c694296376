"""Vector files are read and written as streams of bytes, compressed or not."""

import gzip
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedIOBase
from pathlib import Path

from any2vec.errors import Any2VecError
from any2vec.files import replacing

__all__ = ["most_bytes", "reading", "writing"]

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


@contextmanager
def writing(path: Path) -> Iterator[BufferedIOBase]:
    """Write a file beside its place, compressing it if its name ends in .gz; then put it in its place.

    Parameters
    ----------
    path : Path
        The file, replaced if it exists.

    Yields
    ------
    binary stream
        Where to write. The same bytes always give the same file.

    Raises
    ------
    Any2VecError
        If the file system refuses.
    """
    with replacing(path) as part, part.open("wb") as file:
        if _compressed(path):
            with gzip.GzipFile("", "wb", compresslevel=6, fileobj=file, mtime=0) as stream:
                yield stream
        else:
            yield file


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


def _compressed(path: Path) -> bool:
    return path.name.lower().endswith(".gz")
