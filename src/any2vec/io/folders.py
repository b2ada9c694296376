"""One version of a folder that other programs may replace at any moment."""

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO, TypeVar

from any2vec.errors import Any2VecError
from any2vec.io.beside import set_aside

__all__ = ["FolderReader", "read_folder"]

T = TypeVar("T")

_TRIES = 1000
_PAUSE = 0.001  # seconds, where a folder is gone for the moment
_BY_DESCRIPTOR = os.open in os.supports_dir_fd and os.listdir in os.supports_fd


class ReplacedError(Exception):
    """The folder was replaced while it was read."""


class FolderReader:
    """Opens files of a folder as it was when this was made, whatever its name leads to by then."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._folder = os.open(path, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0)) if _BY_DESCRIPTOR else None

    def __enter__(self) -> "FolderReader":
        return self

    def __exit__(self, *_: object) -> None:
        if self._folder is not None:
            os.close(self._folder)

    def names(self) -> list[str]:
        """List the files; none once it was replaced and removed."""
        return os.listdir(self.path if self._folder is None else self._folder)  # noqa: PTH208

    def open(self, name: str) -> IO[bytes]:
        """Open a file to read."""
        if self._folder is None:
            return (self.path / name).open("rb")
        folder = self._folder
        return open(name, "rb", opener=lambda name, flags: os.open(name, flags, dir_fd=folder))

    def was_replaced(self) -> bool:
        """Whether the folder's name leads to another one by now, or nowhere."""
        if self._folder is None:
            return not self.path.is_dir()
        try:
            return not os.path.samestat(os.fstat(self._folder), self.path.stat())
        except FileNotFoundError:
            return True


def read_folder(path: Path, read: Callable[[FolderReader], T]) -> T:
    """Read a folder; again if it was replaced and what `read` raised may come from that.

    Raises
    ------
    Any2VecError
        If it does not exist, or is replaced all the time.
    """
    for _ in range(_TRIES):
        try:
            with FolderReader(path) as folder:
                try:
                    return read(folder)
                except (Any2VecError, FileNotFoundError):
                    if not folder.was_replaced():
                        raise
        except FileNotFoundError:
            if os.path.lexists(path):
                raise
            if not set_aside(path):
                raise Any2VecError(f"{path}: does not exist") from None
            time.sleep(_PAUSE)  # between two renames
    if left := set_aside(path):
        raise Any2VecError(f"{path}: is gone; a run that was killed while it replaced it left {left[0]}: rename that")
    raise Any2VecError(f"{path}: is replaced faster than it can be read; read it when no program saves to it")
