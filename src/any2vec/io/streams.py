"""Streams of bytes from compressed files, pipes and standard input; errors that name the file."""

import bz2
import gzip
import io
import lzma
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from any2vec.errors import Any2VecError, missing_extra
from any2vec.io.inputs import InputFile

__all__ = ["READ", "fill", "naming", "open_stream"]

READ = 1 << 18
"""Bytes asked for at a time."""

FED = 4096  # bytes of zstd unpacked at a time: each of them can become some thousands


def fill(stream: IO[bytes], room: NDArray[np.uint8]) -> int:
    """Read until `room` is full or the stream ends; return how many bytes came."""
    view, filled = room.data, 0
    read: Callable[[memoryview], int | None] = stream.readinto  # type: ignore[attr-defined]
    while filled < len(view):
        count = read(view[filled : filled + READ])
        if not count:
            break
        filled += count
    return filled


@contextmanager
def naming(file: InputFile) -> Iterator[None]:
    """Turn what goes wrong when a file is read into an error that names it."""
    try:
        yield
    except _unpacking_errors() as error:
        raise _damaged(file, error) from error
    except OSError as error:
        if file.packing and error.errno is None:  # so bz2 says that the bytes are wrong
            raise _damaged(file, error) from error
        raise Any2VecError(f"{file.name}: cannot be read: {error.strerror or error}") from error


def _unpacking_errors() -> tuple[type[Exception], ...]:
    zstds = (sys.modules.get("compression.zstd"), sys.modules.get("zstandard"))  # only what was needed
    own = tuple(zstd.ZstdError for zstd in zstds if zstd is not None)
    return (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile, *own)


def _damaged(file: InputFile, error: Exception) -> Any2VecError:
    reason = " ".join(str(error).split()) or type(error).__name__
    return Any2VecError(f"{file.name}: not a complete {file.packing} file: {reason}; copy or make it again")


@contextmanager
def open_stream(file: InputFile) -> Iterator[tuple[IO[bytes], Callable[[], int]]]:
    """Open a file that cannot be read in ranges.

    Parameters
    ----------
    file : InputFile
        Compressed, a pipe, or standard input.

    Yields
    ------
    stream : binary file
        Its text, unpacked.
    position : function
        Says how many bytes of the file were read so far.

    Raises
    ------
    Any2VecError
        If it cannot be opened, or zstandard is not installed.
    """
    with ExitStack() as stack:
        if file.path is None:
            packed: IO[bytes] = getattr(sys.stdin, "buffer", None) or _no_input()
        else:
            with naming(file):
                packed = stack.enter_context(file.path.open("rb"))
        counted = _Counted(packed)
        text = stack.enter_context(_unpacked(file, io.BufferedReader(counted)))
        yield text, lambda: counted.count


def _no_input() -> IO[bytes]:
    raise Any2VecError("standard input is closed; give a file")


def _unpacked(file: InputFile, packed: io.BufferedReader) -> IO[bytes]:
    if file.packing == "gz":
        return gzip.GzipFile(fileobj=packed)  # type: ignore[return-value]
    if file.packing == "bz2":
        return bz2.BZ2File(packed)
    if file.packing == "xz":
        return lzma.LZMAFile(packed)
    return _open_zstd(packed) if file.packing == "zst" else packed


def _open_zstd(packed: io.BufferedReader) -> IO[bytes]:
    if sys.version_info >= (3, 14):
        from compression import zstd

        return zstd.ZstdFile(packed)
    try:
        import zstandard
    except ImportError as error:
        raise missing_extra("zstandard", "zstd") from error
    return io.BufferedReader(_Zstd(zstandard.ZstdDecompressor().decompressobj, packed))


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


class _Zstd(io.RawIOBase):
    """The text of a zstd file. Unlike zstandard's own reader it notices when the end is missing."""

    def __init__(self, new_frame: Callable[[], Any], packed: IO[bytes]) -> None:
        self._new_frame = new_frame
        self._packed = packed
        self._frame: Any = None
        self._text = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._text:
            ended = self._frame is None or self._frame.eof
            packed = (self._frame.unused_data if self._frame and ended else b"") or self._packed.read(FED)
            if not packed:
                if not ended:
                    raise EOFError("it ends before its end-of-frame mark")
                return 0
            if ended:
                self._frame = self._new_frame()
            self._text = memoryview(self._frame.decompress(packed))
        count = min(len(buffer), len(self._text))
        buffer[:count] = self._text[:count]
        self._text = self._text[count:]
        return count
