"""What an output may replace: what was written by the same kind of output, an empty file, or anything by force."""

import json
import os
import stat
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from any2vec.errors import Any2VecError
from any2vec.io.compression import open_compressed
from any2vec.io.inputs import open_regular

_MARK = "user.any2vec"
_LARGEST_JSON = 1 << 28
_LOOKS = 100


@dataclass(frozen=True)
class Kind:
    """What an output is."""

    name: str  # for messages, such as "vectors" or "a report"
    holds: Callable[[Path], bool]  # whether a file or folder is of this kind, by its content; it is quick
    marked: bool = False  # whether it is text like any other, of which only a mark beside it says that we wrote it
    files: tuple[str, ...] = ()  # the names of its files, if it is a folder


def marked(name: str) -> Kind:
    """Return the kind of a text that is recognized only by its mark."""
    return Kind(name, lambda path: has_mark(path, name), marked=True)


def check_replaceable(path: Path, kind: Kind, force: bool) -> None:
    """Refuse a file or folder that holds something else than what is to be written there, unless forced.

    A folder that holds other files is refused in any case.
    """
    if kind.files:
        _check_only_own(path, kind.files)
    for _ in range(_LOOKS):
        if force or _is_empty(path):
            return
        try:
            if kind.holds(path):
                return
            break
        except FileNotFoundError:  # gone since: another program replaces it
            continue
        except (Any2VecError, OSError, MemoryError):
            break
    advice = "give another name, or `force=True` to replace it"
    known = "is not known to hold" if kind.marked else "does not hold"  # marks do not survive every copy
    raise Any2VecError(f"{path}: exists, and {known} {kind.name}; {advice}")


def _check_only_own(folder: Path, names: tuple[str, ...]) -> None:
    """Raise if a folder, which may not exist, holds other files than those by whose names it may be replaced.

    A folder in it may have the same ones.
    """
    others: list[str] = []
    with suppress(FileNotFoundError, NotADirectoryError):
        others = sorted(path.name for path in folder.iterdir() if path.name not in names)
        for inner in (folder / name for name in names):
            if not others and inner.is_dir():
                others = sorted(f"{inner.name}/{path.name}" for path in inner.iterdir() if path.name not in names)
    if others:
        raise Any2VecError(f"{folder}: the folder holds other files, such as {others[0]!r}; give a new name")


def start_of(path: Path, size: int) -> tuple[bytes, bool]:
    """Return the first bytes of a file's (decompressed) contents, and whether these are all."""
    with open_compressed(path) as stream:
        start = stream.read(size + 1)
    return start[:size], len(start) <= size


def json_of(path: Path) -> object:
    """Return what a JSON file holds; None if it is none."""
    if path.stat().st_size > _LARGEST_JSON:
        return None
    with suppress(ValueError, RecursionError), open_regular(path) as file:
        start = file.read(1)
        return json.loads(start + file.read()) if start == b"{" else None
    return None


def mark(path: Path, name: str) -> None:
    """Note in an extended attribute, where the file system has them, that we wrote a file and what it is."""
    with suppress(OSError, AttributeError):
        os.setxattr(path, _MARK, _note(path, name))


def has_mark(path: Path, name: str) -> bool:
    """Whether a file is as it was when it was marked."""
    try:
        return os.getxattr(path, _MARK) == _note(path, name)
    except (OSError, AttributeError):
        return False


def _note(path: Path, name: str) -> bytes:
    found = path.stat()
    return f"{name} {found.st_size} {found.st_mtime_ns}".encode()


def _is_empty(path: Path) -> bool:
    """Whether there is nothing to lose: no file or folder, or an empty one."""
    try:
        found = path.stat()
        return not any(path.iterdir()) if stat.S_ISDIR(found.st_mode) else not found.st_size
    except FileNotFoundError:
        return True
