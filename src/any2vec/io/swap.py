"""A folder put in the place of another, whose name leads to one of them at any moment where the system can do that."""

import ctypes
import errno
import os
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from any2vec.io.temporary import hidden, remove_aside

__all__ = ["put_folder"]

_TRIES = 100
_TAKEN = (errno.ENOTEMPTY, errno.EEXIST)
_HERE = -100  # AT_FDCWD
_EXCHANGE = 2  # RENAME_EXCHANGE


def put_folder(new: Path, path: Path) -> None:
    """Rename a folder to `path`; where there was one it has the name `new` then, or is removed."""
    for _ in range(_TRIES):
        try:
            new.rename(path)  # onto nothing, or an empty folder
            return
        except OSError as error:
            if error.errno not in _TAKEN:
                raise
        refused = _exchange(new, path)
        if not refused:
            return
        if refused != errno.ENOENT and _by_two_renames(new, path):
            return
    raise OSError(errno.EBUSY, "other programs keep replacing it")


def _exchange(one: Path, other: Path) -> int:
    """Exchange two names in one step; return 0, or the number of the error."""
    rename = _renameat2()
    if rename is None:
        return errno.ENOSYS
    if not rename(_HERE, os.fsencode(one), _HERE, os.fsencode(other), _EXCHANGE):
        return 0
    return ctypes.get_errno()


@cache
def _renameat2() -> Any:
    """Return Linux's system call, which some file systems refuse; None elsewhere."""
    if not sys.platform.startswith("linux"):
        return None
    try:
        found = ctypes.CDLL(None, use_errno=True).renameat2
    except (AttributeError, OSError):
        return None
    found.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint)
    return found


def _by_two_renames(new: Path, path: Path) -> bool:
    """Set the old folder aside and rename the new one; False if another program was faster."""
    old = hidden(path, "old")
    try:
        path.rename(old)
    except FileNotFoundError:
        return False
    try:
        new.rename(path)
    except OSError as error:
        if error.errno in _TAKEN:
            remove_aside(old, path)
            return False
        with suppress(OSError):
            old.rename(path)
        raise
    remove_aside(old, path)
    return True
