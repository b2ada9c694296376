"""Temporary files and folders: made anew, locked while their process lives, removed by the next once it has died.

The lock of `.NAME.ID.part` is an empty file, `.NAME.ID.lock`. It is made first and removed last, so that what has no
lock, or one that nobody holds, was left by a dead process.
"""

import errno
import os
import re
import shutil
import stat
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import IO, TypeVar

from any2vec.errors import Any2VecError, file_error
from any2vec.io.inputs import open_regular
from any2vec.private import lock

_STALE = 7 * 24 * 3600  # seconds after which something is a dead process's, where there are no locks
_PLAIN_NAME = 40  # characters; a name may have 255 bytes
_TRIES = 100
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)
_NEW = os.O_RDWR | os.O_CREAT | os.O_EXCL | _NO_LINK
_NO_WAIT = getattr(os, "O_NONBLOCK", 0)
_KINDS = stat.S_IFREG, stat.S_IFDIR
_FOLDERS = "any2vec"  # the name for which temporary folders are made
_IN_MEMORY = Path("/dev/shm")  # Linux's; where nothing else can be written


class Temporary:
    """A temporary file or folder, which other processes leave alone while this one lives."""

    def __init__(self, path: Path, lock: int) -> None:
        self.path = path
        self._lock: int | None = lock  # a descriptor

    def remove(self) -> None:
        """Remove what is there by its name, if it was not renamed, and release the lock."""
        try:
            remove(self.path)
        finally:  # if Ctrl-C strikes here, the next run takes what is left for a dead one's
            if self._lock is not None:
                lock, self._lock = self._lock, None
                _remove_lock(self.path, lock)


def make_temporary(path: Path, *, folder: bool, private: bool) -> Temporary:
    """Make a new file or folder beside `path`; if private, only this user may read it."""
    mode = 0o600 if private else 0o666
    for _ in range(_TRIES):
        part = hidden(path, "part")
        lock = os.open(_lock_of(part), _NEW, mode)
        try:
            if _lock(lock) is not False and _is_at(lock, _lock_of(part)):
                if folder:
                    part.mkdir(0o700 if private else 0o777)
                else:
                    os.close(os.open(part, _NEW, mode))
                return Temporary(part, lock)
        except BaseException:
            _remove_lock(part, lock)
            raise
        os.close(lock)  # another process has taken it for a dead one's, and removes it
    raise OSError(f"{_TRIES} temporary names beside it were taken")


def temporary_folder(parent: Path | None = None) -> Temporary:
    """Make an empty, private folder in `parent`, or in the system's temporary one; as a last resort in memory.

    What dead processes left there is removed.
    """
    try:
        return _folder_in(Path(tempfile.gettempdir()) if parent is None else parent)
    except OSError as error:
        if parent is None and _IN_MEMORY.is_dir():
            with suppress(OSError):
                return _folder_in(_IN_MEMORY)
        if parent is not None:
            raise Any2VecError(f"{parent}: cannot be written: {error.strerror or error}") from error
        raise Any2VecError("no temporary folder can be written; set TMPDIR to one that can") from error


def _folder_in(parent: Path) -> Temporary:
    sweep_folders(parent)
    return make_temporary(parent / _FOLDERS, folder=True, private=True)


def sweep(path: Path) -> None:
    """Remove what dead processes left beside `path`; a folder that one had set aside is put back if `path` is gone."""
    for left in _set_aside(path):
        with suppress(OSError):
            if not os.path.lexists(path):
                left.rename(path)
        if os.path.lexists(path):
            remove_aside(left, path)
    owners = _user()
    with suppress(OSError):
        owners |= {path.stat().st_uid}
    _remove_dead(path, owners)


def sweep_folders(parent: Path) -> None:
    """Remove the temporary folders of this user's dead processes."""
    _remove_dead(parent / _FOLDERS, _user())


def _set_aside(path: Path) -> list[Path]:
    """List folders that processes renamed to make way for another `path`."""
    real = Path(os.path.realpath(path))
    return [left for left in _named(real, "old") if left.is_dir() and not left.is_symlink()]


def hidden(path: Path, ending: str) -> Path:
    """Return a new hidden name beside `path`, by which `sweep` finds it."""
    return path.with_name(f".{_stem(path)}.{uuid.uuid4().hex}.{ending}")


def not_followed(path: str, flags: int) -> int:
    """Open a file, for `open(..., opener=not_followed)`, but never through a symbolic link."""
    return os.open(path, flags | _NO_LINK, 0o666)


def remove_aside(old: Path, path: Path) -> None:
    """Remove a folder that was set aside, under another name: nobody may put back what is partly removed."""
    part = hidden(path, "part")
    with suppress(OSError):
        old.rename(part)
        remove(part)


def remove(path: Path) -> None:
    """Remove a file or folder as far as possible."""
    with suppress(OSError):
        if path.is_dir() and not path.is_symlink():
            with suppress(OSError):  # another user's, which may be writable as it is
                path.chmod(0o700)  # one that was read-only may be renamed, but not emptied
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


def _stem(path: Path) -> str:
    name = path.name
    return name if len(name) <= _PLAIN_NAME else f"{name[:20]}~{sha256(os.fsencode(name)).hexdigest()[:16]}"


def _named(path: Path, endings: str) -> Iterator[Path]:
    pattern = re.compile(rf"\.{re.escape(_stem(path))}\.[0-9a-f]{{32}}\.({endings})")
    with suppress(OSError):  # a folder may be writable but not readable
        yield from [found for found in path.parent.iterdir() if pattern.fullmatch(found.name)]


def _lock_of(part: Path) -> Path:
    return part.with_suffix(".lock")


def _lock(descriptor: int) -> bool | None:
    """Lock a file until its descriptor is closed: False if another process has, None without locks."""
    try:
        return lock(descriptor)
    except OSError:
        return None


def _is_at(descriptor: int, path: Path) -> bool:
    with suppress(OSError):
        return os.path.samestat(os.fstat(descriptor), path.lstat())
    return False


def _user() -> set[int]:
    return {os.geteuid()} if hasattr(os, "geteuid") else {0}  # Windows has no other


def _remove_dead(path: Path, owners: set[int]) -> None:
    """Remove temporary files and folders of these owners beside `path`, and locks, whose processes are dead."""
    for part in {found.with_suffix(".part") for found in _named(path, "part|lock")}:
        with suppress(OSError):
            _remove_if_dead(part, owners)


def _remove_if_dead(part: Path, owners: set[int]) -> None:
    lock = _lock_of(part)
    found = [path.lstat() for path in (part, lock) if os.path.lexists(path)]
    if not all(about.st_uid in owners and stat.S_IFMT(about.st_mode) in _KINDS for about in found):
        return  # none of ours
    try:
        descriptor = _open_lock(lock)
    except FileNotFoundError:
        remove(part)
        return
    try:
        locked = _lock(descriptor)
        stale = time.time() - max(about.st_mtime for about in found) > _STALE
        if not os.fstat(descriptor).st_size and (locked or (locked is None and stale)):
            remove(part)
            remove(lock)
    finally:
        os.close(descriptor)


def _open_lock(lock: Path) -> int:
    try:
        return os.open(lock, os.O_RDWR | _NO_LINK | _NO_WAIT)
    except PermissionError:  # another user's
        return os.open(lock, os.O_RDONLY | _NO_LINK | _NO_WAIT)


def _remove_lock(part: Path, descriptor: int) -> None:
    try:
        remove(_lock_of(part))
    finally:
        os.close(descriptor)
    remove(_lock_of(part))  # where a file that is open cannot be removed


T = TypeVar("T")

_READS = 1000
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
    for _ in range(_READS):
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
        left = _set_aside(path)[0]
        raise Any2VecError(f"{path}: is gone; a run that was killed left {left} in its place: rename that")
    raise Any2VecError(f"{path}: is replaced faster than it can be read; read it when no program saves to it")


def _wait_for(path: Path) -> None:
    """Wait a moment for a folder that was renamed and will be there again; raise if there is no sign of one."""
    for _ in range(_SURE):
        if path.exists():
            return
        time.sleep(_PAUSE)
        if _set_aside(path):
            return
    raise file_error(f"{path}: does not exist", FileNotFoundError(errno.ENOENT, "does not exist", str(path)))
