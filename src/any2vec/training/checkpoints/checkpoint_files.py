"""The files of a folder of checkpoints: which of them are ours, and so may be removed.

Ours are the manifests that are whole, the shards that these list, and what lies in the folder `incomplete`, in which a
version is written, and from which it is removed. All else is the user's. No file is written over.
"""

import errno
import json
import os
import re
import stat
import time
from contextlib import suppress
from pathlib import Path

from any2vec.errors import Any2VecError
from any2vec.io.inputs import open_regular
from any2vec.private import lock, private, unlock
from any2vec.training.checkpoints.manifest import Facts, listed, manifest_name, own_digest, read_manifest

_LOCK = "lock"

_PATIENCE, _POLL = 0.2, 0.02  # seconds: so long, at most, others look whether a folder is locked


class FolderLock:
    """The lock of a folder, an empty file, which stays; `advice` is for the error if another run has it.

    `missing` says why the file system has no locks, if it has none: nothing is locked then.
    """

    def __init__(self, folder: Path, advice: str, *, create: bool = True) -> None:
        path, self.missing = folder / _LOCK, ""
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
            unlock(self._descriptor)
            os.close(self._descriptor)
            self._descriptor = None

    def _take(self, descriptor: int, folder: Path, advice: str) -> None:
        until = time.monotonic() + _PATIENCE
        try:
            while not lock(descriptor):
                if time.monotonic() > until:
                    raise Any2VecError(f"{folder}: another run writes its checkpoints here; {advice}")
                time.sleep(_POLL)
        except OSError as error:
            self.missing = error.strerror or str(error)


def check_not_written(folder: Path) -> None:
    """Raise an Any2VecError if a run writes to a folder now: it would remove the rows that another one maps.

    Where the lock's file cannot be opened to write (another user's folder), nobody can say.
    """
    with suppress(OSError):
        FolderLock(folder, "wait until it ends, or go on from a copy of the folder", create=False).release()


def _check_own(path: Path, found: os.stat_result) -> None:
    if not _is_lock(found):
        what = "is not the lock of a folder of checkpoints, which is an empty file"
        raise Any2VecError(f"{path}: {what}; move it elsewhere, or give another folder")


def _is_lock(found: os.stat_result) -> bool:
    return stat.S_ISREG(found.st_mode) and not found.st_size


INCOMPLETE = "incomplete"
"""The folder in which a version is written; only files with names of ours are removed from it."""

_LIST = "unfinished"  # of files, in folders of any2vec 0.1
_NUMBERED = re.compile(r"(\d{6,12})\.(\d+-\d+(\.\d+)?\.safetensors|\d+\.note(\.part)?|json(\.part)?)")
_LAST = 999_999_999_998  # version, for which there are such names
_LARGEST = 1 << 26  # bytes of the list
_CANNOT_FLUSH = {errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP}


class CheckpointFiles:
    """The files of a folder that are ours; the first host has it, while the folder is locked.

    What a dead run left incomplete is removed at once, and what is older than the `version` that the run goes on from
    and the one before. `next` is the version to write next.
    """

    def __init__(self, folder: Path, version: int | None) -> None:
        self._folder, self._incomplete = folder, folder / INCOMPLETE
        self._versions = _whole(folder)
        self.close()
        with suppress(OSError):
            for name in _left_by_old(folder):
                (folder / name).unlink()
        self._taken = {_number(path.name) for path in folder.iterdir()}  # no version may meet a file of the user's
        self.next = self._free(max(self._versions, default=0))
        if version is not None:  # as a run that was killed meanwhile would have done
            older = sorted(v for v in self._versions if v < version)
            self._remove(older[:-1])

    def begin(self) -> None:
        """Make the folder that the version `next` is written in."""
        self._incomplete.mkdir(mode=0o700, exist_ok=True)

    def complete(self, manifest: Facts, kept: "set[int | None]") -> None:
        """Move the shards of the version `next`, then its manifest, to the others; remove all older but those kept."""
        shards, name = [shard["file"] for shard in manifest["shards"]], manifest_name(self.next)
        here, there = self._incomplete / name, self._folder / name
        for taken in [*shards, name]:
            if not _gone(self._folder / taken):
                raise FileExistsError(errno.EEXIST, f"{taken} is there already")
        put(here, manifest | {"sha256": own_digest(manifest)}, durable=True)
        for shard in shards:
            (self._incomplete / shard).rename(self._folder / shard)
        _flush_folder(self._folder)
        here.rename(there)
        try:
            _flush_folder(self._folder)
        except OSError:
            there.rename(here)
            raise
        self._versions[self.next] = shards
        self._remove([v for v in self._versions if v < self.next and v not in kept])
        self.next = self._free(self.next)

    def drop(self) -> None:
        """Remove what there is of the version `next`, and go on to the one after it."""
        self._clear()
        self.next = self._free(self.next)

    def close(self) -> None:
        """Remove what is incomplete, and its folder."""
        self._clear()
        with suppress(OSError):
            self._incomplete.rmdir()

    def _remove(self, versions: list[int]) -> None:
        """Remove versions, their manifests first; what the file system refuses, the next version tries again."""
        for version in versions:
            with suppress(OSError):
                self.begin()
                name = manifest_name(version)
                (self._folder / name).rename(self._incomplete / name)
                del self._versions[version]
        self._clear()

    def _clear(self) -> None:
        """Remove all that is incomplete, unless the file system refuses it; the manifests before what they list."""
        with suppress(OSError):
            for name in _half_moved(self._folder):
                (self._folder / name).unlink(missing_ok=True)
            for name in sorted(_incomplete(self._folder), key=lambda name: not name.endswith(".json")):
                (self._incomplete / name).unlink()

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
    names = {path.name for path in folder.iterdir()}
    is_ours = _is_folder(folder / INCOMPLETE) and all(_number(path.name) for path in (folder / INCOMPLETE).iterdir())
    if _whole(folder):
        if not resumed:
            why = "has checkpoints of an earlier run"
            raise Any2VecError(f"{folder}: {why}; go on from them with `resume`, or give another folder")
        if INCOMPLETE in names and not is_ours:
            what = "is not a folder of incomplete checkpoints"
            raise Any2VecError(f"{folder / INCOMPLETE}: {what}; move it elsewhere, or give another folder")
        return
    ours = {*_half_moved(folder), *_left_by_old(folder)} | ({INCOMPLETE} if is_ours else set())
    if _LOCK in names and _is_lock((folder / _LOCK).lstat()):
        ours.add(_LOCK)
    if others := names - ours:
        what = f"the folder holds other files, such as {min(others)!r}, and no checkpoint"
        raise Any2VecError(f"{folder}: {what}; give a new folder, or an empty one")


def put(path: Path, content: Facts, *, durable: bool = False) -> None:
    """Write JSON to a file beside it and rename that; if `durable`, fsync it before. No link is followed."""
    beside = path.with_name(f"{path.name}.part")
    with open(beside, "x", encoding="utf-8", opener=private) as file:
        file.write(json.dumps(content))
        file.flush()
        if durable:
            flush(file.fileno())
    beside.rename(path)


def _gone(path: Path) -> bool:
    """Whether no file has this name, and the file system says so."""
    try:
        path.lstat()
    except FileNotFoundError:
        return True
    except OSError:  # perhaps only for a while
        pass
    return False


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


def _whole(folder: Path) -> dict[int, list[str]]:
    """Return the shards of the versions whose manifests are whole."""
    found = {}
    for version, path in listed(folder):
        manifest, problem = read_manifest(path)
        if not problem and not path.is_symlink():
            found[version] = [shard["file"] for shard in manifest["shards"]]
    return found


def _is_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


def _incomplete(folder: Path) -> set[str]:
    """Return the names of our files in the folder of what is incomplete."""
    inside = folder / INCOMPLETE
    return {path.name for path in inside.iterdir() if _number(path.name)} if _is_folder(inside) else set()


def _half_moved(folder: Path) -> set[str]:
    """Return shards that lie in the folder of what is incomplete no more, though a manifest there lists them."""
    inside = _incomplete(folder)
    if not any(name.endswith(".json") for name in inside):
        return set()
    return set().union(*_whole(folder / INCOMPLETE).values()).difference(inside, *_whole(folder).values())


def _left_by_old(folder: Path) -> set[str]:
    """Return the files that any2vec 0.1 listed as unfinished and left there, and its list; no shards of a manifest."""
    with suppress(OSError, ValueError, KeyError, TypeError, RecursionError):
        with open_regular(folder / _LIST) as file:
            content = json.loads(file.read(_LARGEST))
        if not (folder / _LIST).is_symlink() and content["sha256"] == own_digest(content):
            left = {name for name in content["files"] if _number(name) and not _gone(folder / name)}
            return {_LIST, *left}.difference(*_whole(folder).values())
    return set()


def _number(name: str) -> int:
    """Return the version that a file is named by; 0 if its name is none of ours."""
    found = _NUMBERED.fullmatch(name)
    return int(found[1]) if found else 0
