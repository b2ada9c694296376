"""Where compiled kernels are kept: what lies there is run, so only this user may write to it."""

import os
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from numba import config
from numba.core.caching import _CacheLocator
from numba.misc.appdirs import AppDirs

from any2vec.private import distrust_way_to, make_private

__all__ = ["NOWHERE", "KernelFolder", "kernel_folder"]


class KernelFolder(NamedTuple):
    """A folder for compiled kernels, None if there is none, and what a user should know of it."""

    path: Path | None
    remark: str = ""


NOWHERE = KernelFolder(
    None,
    "kernels are compiled anew in each run: no folder for them can be written that is this user's alone; "
    "set NUMBA_CACHE_DIR to one",
)


@cache
def kernel_folder(sources: Path) -> KernelFolder:
    """Choose where kernels of a folder of sources are kept: the first place that can be written, and that only we may.

    The folder must be this user's, in folders that nobody else may replace: the user's choice, NUMBA_CACHE_DIR, one of
    those that Numba takes, or one in the temporary folder.
    """
    name = _CacheLocator.get_suitable_cache_subpath(str(sources / "_"))
    remark = ""
    if config.CACHE_DIR and _writable(given := Path(config.CACHE_DIR, name)):
        why = _distrust(given)
        if not why:
            return KernelFolder(given)
        remark = (
            f"NUMBA_CACHE_DIR, {config.CACHE_DIR}, is not used: others could put code there that would be run ({why})"
        )
    return next((KernelFolder(folder, remark) for folder in _places(sources, name) if _ours(folder)), NOWHERE)


def _places(sources: Path, name: str) -> Iterator[Path]:
    yield sources / "__pycache__"
    users = Path(AppDirs(appname="numba", appauthor=False).user_cache_dir)
    if users.is_absolute():  # not "~/.cache", where there is no home
        yield users / name
    try:
        base = Path(tempfile.gettempdir(), f"any2vec-{os.getuid()}" if hasattr(os, "getuid") else "any2vec")
    except OSError:
        return
    if _ours(base):
        yield base / name


def _ours(folder: Path) -> bool:
    """Whether a folder, made if it is missing, is this user's alone, and can be written."""
    return _writable(folder) and not _distrust(folder)


def _writable(folder: Path) -> bool:
    """Make a folder if it is missing; try whether files can be written there."""
    try:
        make_private(folder)
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(b"\0")
    except (OSError, ValueError):  # ValueError: a name with a null character
        return False
    return True


def _distrust(folder: Path) -> str:
    try:
        return distrust_way_to(folder)
    except (OSError, RuntimeError) as error:  # RuntimeError: a loop of symbolic links
        return str(error)
