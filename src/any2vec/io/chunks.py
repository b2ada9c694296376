"""A stream of bytes that are made in chunks."""

import io
from collections.abc import Iterator
from typing import Any

__all__ = ["chunk_stream"]


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
