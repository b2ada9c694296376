"""Files of folders that strangers may have made: regular ones only."""

import os
import stat
from pathlib import Path
from typing import IO

from any2vec.io.memory import available
from any2vec.io.sizes import size

__all__ = ["open_regular", "read_regular"]


def open_regular(path: Path | str, folder: int | None = None) -> IO[bytes]:
    """Open a file to read; a FIFO, which would wait for a writer, is refused by an OSError, as are devices.

    With the descriptor of a `folder`, `path` is a name in it.
    """
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    descriptor = os.open(path, flags) if folder is None else os.open(path, flags, dir_fd=folder)
    file = os.fdopen(descriptor, "rb") if stat.S_ISREG(os.fstat(descriptor).st_mode) else None
    if file is None:
        os.close(descriptor)
        raise OSError("it is not a file")
    return file


def read_regular(file: IO[bytes]) -> bytes:
    """Read a file whole, unless it is larger than the memory that is free."""
    if (length := os.fstat(file.fileno()).st_size) > available():
        raise OSError(f"it has {size(length)}, more than the memory that is free")
    return file.read()
