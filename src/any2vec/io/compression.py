"""Reading compressed files: gzip, bzip2, xz and zstd, recognized by the suffix of the file's name."""

import bz2
import gzip
import io
import lzma
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from any2vec.errors import Any2VecError, file_error, missing_extra, shown
from any2vec.io.memory import available
from any2vec.options import can_be_path


def chunk_stream(chunks: Iterator[bytes], buffered: int = io.DEFAULT_BUFFER_SIZE) -> io.BufferedReader:
    """Return a stream of what an iterator yields."""
    return io.BufferedReader(_Chunks(chunks), buffered)


class _Chunks(io.RawIOBase):
    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = chunks
        self._left = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._left:
            chunk = next(self._chunks, None)
            if chunk is None:
                return 0
            self._left = memoryview(chunk)
        count = min(len(buffer), len(self._left))
        buffer[:count] = self._left[:count]
        self._left = self._left[count:]
        return count


_WINDOW = 1 << 31  # bytes: the largest window of zstd
_CHUNK = 4096  # bytes of zstd decompressed at a time: each of them can become some thousands


def compression_of(path: Path) -> str:
    """Return how a file is compressed, by its name: gz, bz2, xz, zst, or the empty string."""
    suffix = path.suffix.lower().removeprefix(".")
    return suffix if suffix in ("gz", "bz2", "xz", "zst") else ""


@contextmanager
def open_compressed(path: Path) -> Iterator[IO[bytes]]:
    """Open a file, decompressing it if its name says so; reading errors in the block name the file."""
    if not can_be_path(path):
        raise Any2VecError(f"{shown(str(path))} is not the name of a file")
    compression = compression_of(path)
    with reading_errors(str(path), compression), path.open("rb") as file, decompressed(file, compression) as stream:
        yield stream


def decompressed(file: io.BufferedReader, compression: str) -> IO[bytes]:
    """Return a file's decompressed bytes as a stream; for the empty string the file itself."""
    if compression == "gz":
        return gzip.GzipFile(fileobj=file)  # type: ignore[return-value]
    if compression == "bz2":
        return bz2.BZ2File(file)
    if compression == "xz":
        return _open_xz(file)
    return _open_zstd(file) if compression == "zst" else file


@contextmanager
def reading_errors(name: str, compression: str = "") -> Iterator[None]:
    """Turn what goes wrong while a file is read into an error that names it."""
    try:
        yield
    except _decompression_errors() as error:
        if "too much memory" in str(error):  # zstd's words
            raise Any2VecError(_needs_memory(name, compression)) from None
        raise _damaged(name, compression, error) from error
    except Any2VecError:
        raise
    except MemoryError:
        raise Any2VecError(_needs_memory(name, compression)) from None
    except OSError as error:
        if compression and error.errno is None:  # how bz2 reports wrong bytes
            raise _damaged(name, compression, error) from error
        raise file_error(f"{name}: cannot be read: {error.strerror or error}", error) from None


def _decompression_errors() -> tuple[type[Exception], ...]:
    zstds = (sys.modules.get("compression.zstd"), sys.modules.get("zstandard"))  # only what was imported
    zstd_errors = tuple(zstd.ZstdError for zstd in zstds if zstd is not None)
    return (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile, *zstd_errors)


def _needs_memory(name: str, compression: str) -> str:
    why = f": its {compression} was made with a large dictionary or window" if compression in ("xz", "zst") else ""
    return f"{name}: not enough memory to read it{why}"


def _damaged(name: str, compression: str, error: Exception) -> Any2VecError:
    reason = " ".join(str(error).split()) or type(error).__name__
    advice = f"copy or make it again, or leave out the ending .{compression} if it is not compressed"
    return Any2VecError(f"{name}: not a complete {compression} file: {reason}; {advice}")


def _open_xz(file: io.BufferedReader) -> IO[bytes]:
    """Open an xz file, whose header may ask for gigabytes: that is refused before they are taken."""
    try:
        lzma.LZMADecompressor(memlimit=_spare()).decompress(file.peek(1 << 12)[: 1 << 12], 1)
    except lzma.LZMAError as error:
        if "emory" in str(error):
            raise MemoryError from error
    return lzma.LZMAFile(file)


def _spare() -> int:
    """Return how much memory decompression may take: half of what there is, but what usual files need in any case."""
    return max(available() // 2, 1 << 28)


def _open_zstd(file: io.BufferedReader) -> IO[bytes]:
    if sys.version_info >= (3, 14):
        from compression import zstd

        most = min(_spare(), _WINDOW).bit_length() - 1
        return zstd.ZstdFile(file, options={zstd.DecompressionParameter.window_log_max: most})
    try:
        import zstandard
    except ImportError as error:
        raise missing_extra("zstandard", "zstd") from error
    decompressor = zstandard.ZstdDecompressor(max_window_size=min(_spare(), _WINDOW))
    return chunk_stream(_frames(decompressor.decompressobj, file))


def _frames(new_frame: Callable[[], Any], file: IO[bytes]) -> Iterator[bytes]:
    """Yield the contents of a zstd file. Unlike zstandard's own reader, this notices a missing end."""
    frame = None
    while chunk := (frame.unused_data if frame and frame.eof else b"") or file.read(_CHUNK):
        if frame is None or frame.eof:
            frame = new_frame()
        yield frame.decompress(chunk)
    if frame and not frame.eof:
        raise EOFError("it ends before its end-of-frame mark")
