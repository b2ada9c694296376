"""Temporary folders that end with their process: what a killed one left is removed by the next."""

import os
import re
import shutil
import stat
import tempfile
import time
import uuid
from contextlib import suppress
from pathlib import Path

from filelock import FileLock, Timeout

from any2vec.errors import Any2VecError

__all__ = ["TemporaryFolder", "sweep", "temporary_folder"]

_STALE = 7 * 24 * 3600  # seconds after which one without a lock is taken for dead
_OURS = re.compile(r"\.any2vec-\w+\.part|\.[0-9a-f]{32}\.[0-9a-f]{32}\.(part|old)")  # the latter of earlier versions
_LOCK = "lock"
_ATTEMPTS = 5
_IN_MEMORY = Path("/dev/shm")  # Linux's; where nothing else can be written


class TemporaryFolder:
    """A folder that only this user may enter, and that others of their processes leave alone while this one lives.

    Attributes
    ----------
    path : Path
        Where it is.
    """

    def __init__(self, path: Path, lock: FileLock | None) -> None:
        self.path = path
        self._lock = lock

    def keep(self) -> None:
        """Take the lock out of the folder, before it is renamed to what stays."""
        if self._lock is not None:
            with suppress(OSError):
                self._lock.release()
            self._lock = None
        (self.path / _LOCK).unlink(missing_ok=True)

    def remove(self) -> None:
        """Remove the folder with what is in it."""
        _remove(self.path, self._lock)
        self._lock = None


def temporary_folder(parent: Path | None = None) -> TemporaryFolder:
    """Make an empty folder in `parent`, or in the system's temporary one; remove what dead processes left there.

    As a last resort it lies in memory.

    Raises
    ------
    Any2VecError
        If it cannot be made.
    """
    try:
        return _made(Path(tempfile.gettempdir()) if parent is None else parent)
    except OSError as error:
        if parent is None and _IN_MEMORY.is_dir():
            with suppress(OSError):
                return _made(_IN_MEMORY)
        if parent is not None:
            raise Any2VecError(f"{parent}: cannot be written: {error.strerror or error}") from error
        raise Any2VecError("no temporary folder can be written; set TMPDIR to one that can") from error


def _made(parent: Path) -> TemporaryFolder:
    sweep(parent)
    for _ in range(_ATTEMPTS):
        path = parent / f".any2vec-{uuid.uuid4().hex}.part"
        path.mkdir(mode=0o700)
        with suppress(Timeout, FileNotFoundError):  # another process has taken it for dead: there is a next one
            return TemporaryFolder(path, _held(path))
    raise OSError("other processes remove what is made there")


def sweep(parent: Path) -> None:
    """Remove the temporary folders of this user's processes that are dead."""
    found: list[Path] = []
    with suppress(OSError), os.scandir(parent) as entries:
        found = [Path(entry.path) for entry in entries if _OURS.fullmatch(entry.name)]
    for path in found:
        with suppress(OSError):
            about = path.lstat()
            if not stat.S_ISDIR(about.st_mode) or (hasattr(os, "geteuid") and about.st_uid != os.geteuid()):
                continue
            if (path / _LOCK).exists():
                with suppress(Timeout):
                    lock = _held(path)
                    if lock is not None or time.time() - about.st_mtime > _STALE:
                        _remove(path, lock)
            elif time.time() - about.st_mtime > _STALE:
                _remove(path, None)


def _held(path: Path) -> FileLock | None:
    """Lock a folder for as long as this process lives; None where the file system has no locks.

    Raises Timeout if another process holds it, FileNotFoundError if another one has removed it.
    """
    lock = FileLock(path / _LOCK, mode=0o600, thread_local=False)
    try:
        lock.acquire(blocking=False)
    except (FileNotFoundError, Timeout):
        raise
    except (OSError, NotImplementedError):
        return None
    if not (path / _LOCK).exists():  # it was removed in between, and what is locked has no name
        lock.release()
        raise FileNotFoundError
    return lock


def _remove(path: Path, lock: FileLock | None) -> None:
    shutil.rmtree(path, ignore_errors=True)
    if lock is not None:
        with suppress(OSError):
            lock.release()
        shutil.rmtree(path, ignore_errors=True)  # where a file that is open cannot be removed
