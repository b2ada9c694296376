"""Files and folders of this user alone: caches and checkpoints, which others must neither read nor write."""

import os
import stat
from contextlib import suppress
from pathlib import Path

__all__ = ["distrust", "make_private", "private"]


def make_private(folder: Path) -> None:
    """Make a folder that only this user may enter, and those above it; one that is there stays as it is."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with suppress(FileExistsError):
        folder.mkdir(mode=0o700)


def private(path: str, flags: int) -> int:
    """Open a file, for `open(..., opener=private)`: mode 0600 if it is new, and never through a symbolic link."""
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0), 0o600)


def distrust(folder: Path) -> str:
    """Return why other users could have written what lies in a folder, or an empty text if they could not.

    Where there are no owners (Windows), the user's folders are taken for private.
    """
    if not hasattr(os, "geteuid"):
        return ""
    found = folder.stat()
    if not stat.S_ISDIR(found.st_mode):
        return "it is not a folder"
    if found.st_uid not in (os.geteuid(), 0):
        return "it belongs to another user"
    return "other users may write to it" if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH) else ""
