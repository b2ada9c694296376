"""Temporary files and folders beside an output: made anew, locked while their run lives, removed once it has died."""

import os
import re
import shutil
import stat
import time
import uuid
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from filelock import lock_descriptor

__all__ = ["Beside", "hidden", "make_beside", "not_followed", "remove", "remove_aside", "set_aside", "sweep"]

STALE = 7 * 24 * 3600  # seconds after which what has no lock is a dead run's, where there are no locks
_PLAIN_NAME = 40  # characters; a name may have 255 bytes
_TRIES = 100
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)
_NO_WAIT = getattr(os, "O_NONBLOCK", 0)


@dataclass(frozen=True)
class Beside:
    """A temporary file or folder beside an output."""

    path: Path
    lock: int | None = None
    """On the host that made it a descriptor that holds its lock, if the file system has locks."""
    was: os.stat_result | None = None
    """What it replaces, as it was when this was made."""

    def settle(self, target: Path) -> None:
        """Give it, and the files in it, the mode and where possible the owner and group of what it replaces."""
        if self.was is None:
            return
        if stat.S_ISDIR(self.was.st_mode):
            for file in self.path.iterdir():
                before = _found(target / file.name)
                mode = stat.S_IMODE(before.st_mode) if before else self.was.st_mode & 0o666
                _set_mode(file, mode, before or self.was)
        _set_mode(self.path, stat.S_IMODE(self.was.st_mode), self.was)

    def discard(self) -> None:
        """Remove what is there by its name, and release the lock."""
        remove(self.path)
        if self.lock is not None:
            os.close(self.lock)


def make_beside(path: Path, folder: bool) -> Beside:
    """Make a new file or folder beside `path` and lock it; only this user may read what replaces something, for now."""
    was = _found(path)
    for _ in range(_TRIES):
        part = hidden(path, "part")
        try:
            descriptor = _make(part, folder, was is not None)
        except FileNotFoundError:
            if not folder or not path.parent.is_dir():
                raise
            continue  # swept before it was locked
        locked = None if descriptor is None else _lock(descriptor)
        if locked is None:
            if descriptor is not None:
                os.close(descriptor)
            return Beside(part, None, was)
        assert descriptor is not None
        if locked and _is_at(descriptor, part):
            return Beside(part, descriptor, was)
        os.close(descriptor)  # another run has taken it for a dead one's, and removes it
    raise OSError(f"{_TRIES} temporary names beside it were taken")


def sweep(path: Path) -> None:
    """Remove what dead runs left beside `path`; a folder that one of them had set aside is put back if it is gone."""
    for left in set_aside(path):
        with suppress(OSError):
            if not os.path.lexists(path):
                left.rename(path)
        if os.path.lexists(path):
            remove_aside(left, path)
    for left in _named(path, "part"):
        with suppress(OSError):
            _remove_if_dead(left, path)


def set_aside(path: Path) -> list[Path]:
    """List folders that runs renamed to make way for another `path`."""
    return [left for left in _named(path, "old") if left.is_dir() and not left.is_symlink()]


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


def _named(path: Path, ending: str) -> Iterator[Path]:
    pattern = re.compile(rf"\.{re.escape(_stem(path))}\.[0-9a-f]{{32}}\.{ending}")
    with suppress(OSError):  # a folder may be writable but not readable
        yield from [found for found in path.parent.iterdir() if pattern.fullmatch(found.name)]


def _make(part: Path, folder: bool, private: bool) -> int | None:
    """Make a file or folder, and return a descriptor of it; None of a folder where there is none (Windows)."""
    if not folder:
        return os.open(part, os.O_RDWR | os.O_CREAT | os.O_EXCL | _NO_LINK, 0o600 if private else 0o666)
    part.mkdir(0o700 if private else 0o777)
    try:
        return os.open(part, os.O_RDONLY | _NO_LINK)
    except PermissionError:
        return None


def _lock(descriptor: int) -> bool | None:
    """Lock a file or folder until its descriptor is closed: False if another process has, None without locks."""
    try:
        return lock_descriptor(descriptor, blocking=False)
    except PermissionError:
        return False
    except (OSError, NotImplementedError):
        return None


def _remove_if_dead(left: Path, path: Path) -> None:
    found, target = left.lstat(), _found(path)
    is_folder = stat.S_ISDIR(found.st_mode)
    if not (is_folder or stat.S_ISREG(found.st_mode)):
        return  # none of ours
    if hasattr(os, "geteuid") and found.st_uid not in (os.geteuid(), target.st_uid if target else os.geteuid()):
        return
    descriptor: int | None = None
    try:
        descriptor = os.open(left, (os.O_RDONLY if is_folder else os.O_RDWR) | _NO_LINK | _NO_WAIT)
    except PermissionError:
        with suppress(OSError):
            descriptor = os.open(left, os.O_RDONLY | _NO_LINK | _NO_WAIT)
    try:
        locked = None if descriptor is None else _lock(descriptor)
        if locked or (locked is None and time.time() - found.st_mtime > STALE):
            if os.name == "nt" and descriptor is not None:  # where an open file cannot be removed
                os.close(descriptor)
                descriptor = None
            remove(left)
    finally:
        if descriptor is not None:
            os.close(descriptor)


def _is_at(descriptor: int, path: Path) -> bool:
    found = _found(path)
    return found is not None and os.path.samestat(os.fstat(descriptor), found)


def _found(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except OSError:
        return None


def _set_mode(path: Path, mode: int, like: os.stat_result) -> None:
    """Set owner and group as far as this user may, then the mode: without the group's rights if it is another one."""
    if hasattr(os, "chown"):
        for owner in (like.st_uid, -1):
            with suppress(OSError):
                os.chown(path, owner, like.st_gid, follow_symlinks=False)
                break
        if path.stat().st_gid != like.st_gid:
            mode &= 0o707 | (mode & 0o007) << 3
    with suppress(OSError):  # a file system without modes
        path.chmod(mode)
