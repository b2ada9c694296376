"""The folder where corpora are kept: where it is, whether it can be trusted, and how large it may become."""

import os
import re
import shutil
import stat
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from any2vec.corpus.cache_entry import META, Entry
from any2vec.errors import Any2VecError, shown
from any2vec.private import distrust, make_private

__all__ = ["Place", "default_cache", "entries", "limit", "place_of", "size_of", "trim"]

_OWN, _LIMIT = "ANY2VEC_CACHE", "ANY2VEC_CACHE_LIMIT"
_SHARE = 0.2  # of the disk that entries may take, if no limit is set
_NAME = re.compile(r"[0-9a-f]{32}")
_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}


@dataclass(frozen=True)
class Place:
    """Where corpora are kept.

    Attributes
    ----------
    folder : Path or None
        The folder; None if there is none that can be used.
    why : str
        Why there is none, if one was wanted.
    temporary : Path or None
        Where files go that are not kept; None for the system's temporary folder.
    """

    folder: Path | None
    why: str = ""
    temporary: Path | None = None


def default_cache() -> Path:
    """Return the cache folder: ``$ANY2VEC_CACHE``, or any2vec in the user's folder of caches.

    Raises
    ------
    RuntimeError
        If the user has no home folder.
    """
    own = os.environ.get(_OWN)
    if own:
        return Path(own)
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "any2vec"
    if sys.platform == "win32" and os.environ.get("LOCALAPPDATA"):
        return Path(os.environ["LOCALAPPDATA"], "any2vec", "Cache")
    base = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(base) if base.startswith("/") else Path.home() / ".cache") / "any2vec"


def place_of(cache: object) -> Place:
    """Return where corpora are kept, in a folder, "auto" for `default_cache`, or None; make the folder."""
    if cache is None:
        return Place(None)
    if not isinstance(cache, str | os.PathLike) or not os.fspath(cache) or "\0" in str(cache):
        raise Any2VecError(f"`cache` is {shown(cache)}; it must be a folder, 'auto' for the user's, or None for none")
    named = cache != "auto" or bool(os.environ.get(_OWN))
    try:
        folder = default_cache() if cache == "auto" else Path(cache)
        make_private(folder)
        reason = distrust(folder)
        if not reason and not os.access(folder, os.W_OK | os.X_OK):
            raise PermissionError(None, "no permission to write")
    except (OSError, RuntimeError) as error:
        why = getattr(error, "strerror", None) or str(error)
        if not named:
            where = "there is no home folder" if isinstance(error, RuntimeError) else f"{folder}: {why}"
            said = f"corpora are not kept for the next run: {where}; set ANY2VEC_CACHE to another folder"
            return Place(None, said)
        raise Any2VecError(
            f"{folder}: the cache folder cannot be made or written: {why}; "
            "set ANY2VEC_CACHE to another folder, or give `cache=None`"
        ) from error
    if reason:
        others_cannot_rename = folder.stat().st_mode & stat.S_ISVTX and os.access(folder, os.W_OK | os.X_OK)
        what = f"corpora are not kept for the next run: {folder}: {reason}"
        why = f"{what}; set ANY2VEC_CACHE to a folder that only you may write to"
        return Place(None, why, folder if named and others_cannot_rename else None)
    limit(folder)  # raises now if it is no size
    return Place(folder, temporary=folder)


def entries(folder: Path) -> list[Entry]:
    """List the entries of a cache, the least recently used first."""
    found: list[Entry] = []
    with suppress(OSError), os.scandir(folder) as inside:
        for one in inside:
            if _NAME.fullmatch(one.name) and one.is_dir(follow_symlinks=False) and Path(one.path, META).exists():
                found.append(Entry(Path(one.path)))  # noqa: PERF401
    return sorted(found, key=lambda entry: entry.used)


def trim(folder: Path, most: int, keep: Path | None = None) -> list[Entry]:
    """Remove entries, the least recently used first, until they take `most` bytes; return those removed.

    Those in use and `keep` stay.
    """
    found = entries(folder)
    total, removed = sum(entry.size for entry in found), []
    for entry in found:
        if total > most and entry.folder != keep and entry.remove():
            total -= entry.size
            removed.append(entry)
    return removed


def limit(folder: Path) -> int:
    """Return how many bytes the entries of a cache may take: ``$ANY2VEC_CACHE_LIMIT``, or a fifth of the disk."""
    given = os.environ.get(_LIMIT)
    if given:
        return size_of(given, _LIMIT)
    try:
        return int(_SHARE * shutil.disk_usage(folder).total)
    except OSError:
        return sys.maxsize


def size_of(text: str, name: str) -> int:
    """Return the bytes that a text such as 500MB, 20GB or 1.5T stands for; `name` is what it was given for."""
    found = re.fullmatch(r"([0-9]{1,15}(?:\.[0-9]{1,15})?) ?([kKMGT]?)(?:i?[bB])?", text.strip(" "), re.ASCII)
    if found is None:
        raise Any2VecError(f"{name} is {shown(text)}; it must be a size, such as 500MB or 20GB")
    return int(float(found[1]) * _UNITS[found[2].upper()])
