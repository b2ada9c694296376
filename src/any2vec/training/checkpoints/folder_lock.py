"""The lock of a folder of checkpoints: one run writes there at a time."""

import os
import stat
import time
from contextlib import suppress
from pathlib import Path

from filelock import lock_descriptor, unlock_descriptor

from any2vec.errors import Any2VecError
from any2vec.private import private

__all__ = ["LOCK", "FolderLock", "check_not_written"]

LOCK = "lock"

_PATIENCE, _POLL = 0.2, 0.02  # seconds: so long, at most, others look whether a folder is locked


class FolderLock:
    """The lock of a folder, held from here on; an empty file, which stays.

    Parameters
    ----------
    folder : Path
        Of checkpoints.
    advice : str
        What to do if another run has it.
    create : bool
        Whether to make the file if it does not exist.

    Attributes
    ----------
    missing : str
        Why the file system has no locks, if it has none: nothing is locked then.

    Raises
    ------
    Any2VecError
        If another run has it, or what has the lock's name is not an empty file, and so not ours.
    OSError
        If the file cannot be opened.
    """

    def __init__(self, folder: Path, advice: str, *, create: bool = True) -> None:
        path, self.missing = folder / LOCK, ""
        with suppress(FileNotFoundError):
            _check_own(path, path.lstat())
        flags = os.O_RDWR | os.O_CREAT * create | getattr(os, "O_NONBLOCK", 0)
        self._descriptor: int | None = private(str(path), flags)
        try:
            _check_own(path, os.fstat(self._descriptor))
            self._take(self._descriptor, folder, advice)
        except BaseException:
            self.release()
            raise

    def release(self) -> None:
        """Let others have it."""
        if self._descriptor is not None:
            with suppress(OSError):
                unlock_descriptor(self._descriptor)  # a forked process may have it open
            os.close(self._descriptor)
            self._descriptor = None

    def _take(self, descriptor: int, folder: Path, advice: str) -> None:
        until = time.monotonic() + _PATIENCE
        try:
            while not lock_descriptor(descriptor, blocking=False):
                if time.monotonic() > until:
                    raise Any2VecError(f"{folder}: another run writes its checkpoints here; {advice}")
                time.sleep(_POLL)
        except OSError as error:
            self.missing = error.strerror or str(error)


def check_not_written(folder: Path) -> None:
    """Raise an Any2VecError if a run writes to a folder now: it would write over the rows that another one maps.

    Where the lock's file cannot be opened to write (another user's folder), nobody can say.
    """
    with suppress(OSError):
        FolderLock(folder, "wait until it ends, or go on from a copy of the folder", create=False).release()


def _check_own(path: Path, found: os.stat_result) -> None:
    if not stat.S_ISREG(found.st_mode) or found.st_size:
        what = "is not the lock of a folder of checkpoints, which is an empty file"
        raise Any2VecError(f"{path}: {what}; move it elsewhere, or give another folder")
