"""One version of a folder that other programs may replace at any moment."""

import errno
import os
import stat
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO, TypeVar

from any2vec.errors import Any2VecError, file_error
from any2vec.io.regular import open_regular
from any2vec.io.temporary import set_aside

__all__ = ["FolderReader", "read_folder"]

T = TypeVar("T")

_TRIES = 1000
_PAUSE = 0.001  # seconds, where a folder is gone for the moment
_SURE = 3  # looks that find neither it nor one that was set aside
_BY_DESCRIPTOR = os.open in os.supports_dir_fd and os.stat in os.supports_dir_fd
_FOLDER = getattr(os, "O_PATH", os.O_RDONLY) | getattr(os, "O_DIRECTORY", 0)


class FolderReader:
    """Opens files of a folder as it was when this was made, whatever its name leads to by then."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._folder = os.open(path, _FOLDER) if _BY_DESCRIPTOR else None

    def __enter__(self) -> "FolderReader":
        return self

    def __exit__(self, *_: object) -> None:
        if self._folder is not None:
            os.close(self._folder)

    def has(self, name: str) -> bool:
        """Whether there is a file of this name."""
        try:
            where = self.path / name if self._folder is None else name
            return stat.S_ISREG(os.stat(where, dir_fd=self._folder).st_mode)
        except FileNotFoundError:
            return False

    def open(self, name: str) -> IO[bytes]:
        """Open a file to read."""
        return open_regular(self.path / name if self._folder is None else name, self._folder)

    def was_replaced(self) -> bool:
        """Whether the folder's name leads to another one by now, or nowhere."""
        try:
            found = self.path.stat()
        except FileNotFoundError:
            return True
        return self._folder is not None and not os.path.samestat(os.fstat(self._folder), found)


def read_folder(path: Path, read: Callable[[FolderReader], T]) -> T:
    """Read a folder; again if it was replaced and what `read` raised may come from that."""
    for _ in range(_TRIES):
        try:
            folder = FolderReader(path)
        except FileNotFoundError:
            folder = None
        except OSError as error:
            raise file_error(f"{path}: cannot be read: {error.strerror or error}", error) from error
        if folder is None:
            _wait_for(path)
            continue
        with folder:
            try:
                return read(folder)
            except (Any2VecError, FileNotFoundError):
                if not folder.was_replaced():
                    raise
    if not path.exists():
        left = set_aside(path)[0]
        raise Any2VecError(f"{path}: is gone; a run that was killed left {left} in its place: rename that")
    raise Any2VecError(f"{path}: is replaced faster than it can be read; read it when no program saves to it")


def _wait_for(path: Path) -> None:
    """Wait a moment for a folder that was renamed and will be there again; raise if there is no sign of one."""
    for _ in range(_SURE):
        if path.exists():
            return
        time.sleep(_PAUSE)
        if set_aside(path):
            return
    raise file_error(f"{path}: does not exist", FileNotFoundError(errno.ENOENT, "does not exist", str(path)))
