"""The files of a folder of checkpoints: which of them are ours, and so may be removed or written over.

Ours are, by their exact names, the manifests that are whole and the shards that these list; and files that the list of
unfinished ones names, if they begin as these do: the list is written before them. All else is the user's.
"""

import errno
import json
import os
import re
import stat
import time
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

from filelock import lock_descriptor, unlock_descriptor

from any2vec.errors import Any2VecError
from any2vec.io.inputs import open_regular
from any2vec.private import private
from any2vec.training.checkpoints.manifest import Facts, listed, manifest_name, own_digest, read_manifest

__all__ = [
    "LOCK",
    "CheckpointFiles",
    "FolderLock",
    "check_folder",
    "check_not_written",
    "flush",
    "gone",
    "put",
    "reason",
]

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


UNFINISHED = "unfinished"
"""The list of files that may be there, and that no manifest lists."""

_KIND = "unfinished files of any2vec's checkpoints"
_NUMBERED = re.compile(r"(\d{6,12})\.(\d+-\d+(\.\d+)?\.safetensors|\d+\.note(\.part)?|json(\.part)?)")
_LAST = 999_999_999_998  # version, for which there are such names
_LARGEST = 1 << 26  # bytes of the list
_CANNOT_FLUSH = {errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP}
_HEADER = 8  # bytes of a shard before its header; most of these are 0


class CheckpointFiles:
    """The files of a folder that are ours; the first host has it, while the folder is locked.

    What a dead run left unfinished is removed at once.

    Parameters
    ----------
    folder : Path
        Of checkpoints.
    version : int or None
        That the run goes on from.

    Attributes
    ----------
    next : int
        Version to write next.
    """

    def __init__(self, folder: Path, version: int | None) -> None:
        self._folder = folder
        self._versions = _whole(folder)
        self._unfinished = _unfinished(folder)
        self._taken = {_number(path.name) for path in folder.iterdir()}  # no version may meet a file of the user's
        self.next = self._free(max([*self._versions, *map(_number, self._unfinished)], default=0))
        if _begins(folder / _part(UNFINISHED), _LIST):
            self._remove(_part(UNFINISHED))
        self.close()
        if version is not None:  # as a run that was killed meanwhile would have done
            older = sorted(v for v in self._versions if v < version)[:-1]
            self._retire(older, set(), None)

    def announce(self, names: Collection[str]) -> None:
        """List files that are about to be written, and those listed before that are still there."""
        of_versions = {name for shards in self._versions.values() for name in shards}
        left = {name for name in self._unfinished - of_versions if not gone(self._folder / name)}
        if left.union(names) == self._unfinished:
            return
        if os.path.lexists(self._folder / UNFINISHED) and not _begins(self._folder / UNFINISHED, _LIST):
            raise FileExistsError(errno.EEXIST, f"{UNFINISHED} is a file of another kind")
        content = {"kind": _KIND, "files": sorted(left.union(names))}
        put(self._folder / UNFINISHED, content | {"sha256": own_digest(content)}, replaces=True)
        self._unfinished = left.union(names)

    def complete(self, shards: Collection[str], kept: "set[int | None]", spare: int | None, ahead: list[str]) -> None:
        """Remove what is older than the version `next`, which is complete, but for versions kept.

        The shards of the version `spare` stay, to be written over; `ahead` are the files of the version after this one.
        What the file system refuses to remove, the next version tries again.
        """
        self._versions[self.next] = list(shards)
        self._retire([v for v in self._versions if v < self.next and v not in kept], set(ahead), spare)
        self.skip()

    def skip(self) -> None:
        """Go on to the version after `next`."""
        self.next = self._free(self.next)

    def after(self) -> int:
        """Return the version after `next`."""
        return self._free(self.next)

    def close(self) -> None:
        """Remove what is unfinished, and the list."""
        self._remove_unfinished(set(), None)
        if not self._unfinished and _begins(self._folder / UNFINISHED, _LIST):
            self._remove(UNFINISHED)

    def _retire(self, versions: list[int], ahead: set[str], spare: int | None) -> None:
        """Remove versions; their manifests first, once their shards are listed elsewhere."""
        shards = [name for v in versions for name in self._versions[v]]
        try:
            self.announce([*shards, *ahead])
        except OSError:  # a full disk: then manifests go last
            for v in versions:
                if all(map(self._remove, [*self._versions[v], manifest_name(v)])):
                    del self._versions[v]
            return
        for v in versions:
            if self._remove(manifest_name(v)):
                del self._versions[v]
        self._remove_unfinished(ahead, spare)

    def _remove_unfinished(self, ahead: set[str], spare: int | None) -> None:
        """Remove what is listed, but for what is to be written, or written over."""
        of_versions = {name for shards in self._versions.values() for name in shards}
        left = set()
        for name in self._unfinished - of_versions - ahead:
            reused = spare is not None and _number(name) == spare and name.endswith(".safetensors")
            if reused or not self._remove(name, _beginning(name)):
                left.add(name)
        self._unfinished = left | ahead

    def _remove(self, name: str, beginning: bytes | None = None) -> bool:
        """Remove a file, if it begins as ours do; return whether it is gone, or is none of ours."""
        path = self._folder / name
        try:
            if stat.S_ISREG(path.lstat().st_mode) and (beginning is None or _content_begins(path, beginning)):
                path.unlink()
        except FileNotFoundError:
            pass
        except OSError:
            return False
        return True

    def _free(self, version: int) -> int:
        """Return the next version after one that no file is named by."""
        while (version := version + 1) in self._taken:
            pass
        if version > _LAST:
            raise Any2VecError(f"{self._folder}: has a checkpoint of the highest number; give another folder")
        return version


def check_folder(folder: Path, *, resumed: bool) -> None:
    """Raise if checkpoints cannot be written to a folder, which need not exist: it has other files, and none of ours.

    Other files are left alone where there are checkpoints; a new run does not add to those of another one.
    """
    if not folder.is_dir():
        return
    if _whole(folder):
        if not resumed:
            why = "has checkpoints of an earlier run"
            raise Any2VecError(f"{folder}: {why}; go on from them with `resume`, or give another folder")
        _check_list(folder)
        return
    lists = {name for name in (UNFINISHED, _part(UNFINISHED)) if _begins(folder / name, _LIST)}
    ours = lists | {LOCK} if _begins(folder / LOCK, b"") else lists
    others = {path.name for path in folder.iterdir()} - ours
    others -= {name for name in _unfinished(folder) & others if _begins(folder / name, _beginning(name))}
    if others:
        what = f"the folder holds other files, such as {min(others)!r}, and no checkpoint"
        raise Any2VecError(f"{folder}: {what}; give a new folder, or an empty one")


def put(path: Path, content: Facts, *, durable: bool = False, replaces: bool = False) -> None:
    """Write JSON to a file beside it and rename that; if `durable`, fsync the file before and the folder after.

    Unless it `replaces` the file, there must be none. No link is followed.
    """
    beside = path.with_name(_part(path.name))
    file = open(beside, "x", encoding="utf-8", opener=private)  # noqa: SIM115
    try:
        with file:
            file.write(json.dumps(content))
            file.flush()
            if durable:
                flush(file.fileno())
        if not replaces and os.path.lexists(path):
            raise FileExistsError(errno.EEXIST, f"{path.name} is there already")
        beside.replace(path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
    if durable:
        _flush_folder(path.parent)


def gone(path: Path) -> bool:
    """Whether no file has this name, and the file system says so."""
    try:
        path.lstat()
    except FileNotFoundError:
        return True
    except OSError:  # perhaps only for a while
        pass
    return False


def reason(error: Exception) -> str:
    """Return what the system says of a refusal."""
    return getattr(error, "strerror", None) or str(error)


def flush(descriptor: int) -> None:
    """Make sure that a file is on the disk, where the file system can say so of it."""
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in _CANNOT_FLUSH:
            raise


def _flush_folder(folder: Path) -> None:
    """Make sure that names are on the disk; Windows has no way to."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        flush(descriptor)
    finally:
        os.close(descriptor)


def _part(name: str) -> str:
    return f"{name}.part"


def _whole(folder: Path) -> dict[int, list[str]]:
    """Return the shards of the versions whose manifests are whole."""
    found = {}
    for version, path in listed(folder):
        manifest, problem = read_manifest(path)
        if not problem and not path.is_symlink():
            found[version] = [shard["file"] for shard in manifest["shards"]]
    return found


def _unfinished(folder: Path) -> set[str]:
    """Return the names that the list of unfinished files has; none if it is not whole, or not there."""
    path = folder / UNFINISHED
    with suppress(OSError, ValueError, KeyError, TypeError, RecursionError):
        if path.is_symlink():
            return set()
        with open_regular(path) as file:
            content = json.loads(file.read(_LARGEST))
        if content["kind"] == _KIND and content["sha256"] == own_digest(content):
            return {name for name in content["files"] if _number(name)}
    return set()


def _number(name: str) -> int:
    """Return the version that a file is named by; 0 if its name is none of ours."""
    found = _NUMBERED.fullmatch(name)
    return int(found[1]) if found else 0


def _beginning(name: str) -> bytes:
    """Return how a file begins, a shard behind the length of its header."""
    if name.endswith(".safetensors"):
        low, high = name.split(".")[1].split("-")
        return b'{"missing":{"dtype"' if low == high else b'{"e":{"dtype":"F32"'
    return b'{"file": "' if ".note" in name else b'{"format": '


_LIST = json.dumps({"kind": _KIND})[:-1].encode()


def _begins(path: Path, beginning: bytes) -> bool:
    """Whether a file, and no link, is empty or begins as ours do, perhaps cut short."""
    with suppress(OSError):
        return stat.S_ISREG(path.lstat().st_mode) and _content_begins(path, beginning)
    return False


def _content_begins(path: Path, beginning: bytes) -> bool:
    with open_regular(path) as file:
        start = file.read(_HEADER + len(beginning))
    if not beginning:
        return not start
    if path.suffix == ".safetensors" and start:
        return len(start) >= _HEADER and not any(start[4:_HEADER]) and beginning.startswith(start[_HEADER:])
    return start.startswith(beginning) or beginning.startswith(start)


def _check_list(folder: Path) -> None:
    """Raise if what has the name of the list of unfinished files is none."""
    for path in (folder / UNFINISHED, folder / _part(UNFINISHED)):
        if os.path.lexists(path) and not _begins(path, _LIST):
            what = "is not a list of unfinished files of checkpoints"
            raise Any2VecError(f"{path}: {what}; move it elsewhere, or give another folder")
