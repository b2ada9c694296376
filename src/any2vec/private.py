"""Files and folders of this user alone: caches and checkpoints, which others must neither read nor write; locks."""

import errno
import os
import stat
from contextlib import suppress
from pathlib import Path


def make_private(folder: Path) -> None:
    """Make a folder that only this user may enter, and those above it; one that is there stays as it is."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with suppress(FileExistsError):
        folder.mkdir(mode=0o700)


def private(path: str, flags: int) -> int:
    """Open a file, for `open(..., opener=private)`: mode 0600 if it is new, and never through a symbolic link."""
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0), 0o600)


def lock(descriptor: int, *, shared: bool = False) -> bool:
    """Lock a file until its descriptor is closed; False if another process has it, an OSError if there are no locks."""
    try:
        import fcntl

        fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except ImportError:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS)) from None
    except (BlockingIOError, PermissionError):
        return False
    return True


def unlock(descriptor: int) -> None:
    """Unlock a file at once, though a forked process may have it open."""
    with suppress(ImportError, OSError):
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_UN)


def distrust(folder: Path) -> str:
    """Return why other users could have written what lies in a folder, or an empty text if they could not.

    Where there are no owners (Windows), the user's folders are taken for private.
    """
    return _distrust(folder.stat()) if hasattr(os, "geteuid") else ""


def distrust_way_to(folder: Path) -> str:
    """Return why others could have written in a folder, or put another in its place; an empty text if they could not.

    The folder itself must be no symbolic link: whoever made one chose where it leads.
    """
    if not hasattr(os, "geteuid"):
        return ""
    if folder.is_symlink():
        return "it is a symbolic link"
    place = folder.resolve()
    for above in place.parents:
        found = above.stat()
        kept = bool(found.st_mode & stat.S_ISVTX)  # sticky, as /tmp: only owners rename what is in it
        if why := _distrust(found, kept=kept):
            return f"{above}: {why}"
    return _distrust(place.stat())


def _distrust(found: os.stat_result, *, kept: bool = False) -> str:
    if not stat.S_ISDIR(found.st_mode):
        return "it is not a folder"
    if found.st_uid not in (os.geteuid(), 0):
        return "it belongs to another user"
    others = stat.S_IWOTH if _is_own(found.st_gid) else stat.S_IWGRP | stat.S_IWOTH
    return "other users may write to it" if not kept and found.st_mode & others else ""


def _is_own(group: int) -> bool:
    """Whether a group is the one that many systems make for each user alone, whose folders are group-writable."""
    if not group:  # root's, which containers give to every user
        return False
    with suppress(ImportError, KeyError):
        import grp
        import pwd

        user, found = pwd.getpwuid(os.geteuid()), grp.getgrgid(group)
        return (user.pw_gid, user.pw_name) == (group, found.gr_name) and not {*found.gr_mem} - {user.pw_name}
    return False
