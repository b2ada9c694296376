"""Atomic outputs: what they may replace; written to a temporary file beside, then renamed.

An output replaces what was written by the same kind of output, an empty file, or anything by force. What is no regular
file is written directly. Where many hosts write one output, the first creates and renames it, and an error on one is
raised on all.
"""

import ctypes
import errno
import json
import os
import stat
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import IO, Any, TypeAlias

from any2vec.cluster.communicator import Communicator, allgather_bytes, together
from any2vec.cluster.local import alone
from any2vec.errors import Any2VecError, file_error, shown
from any2vec.io.compression import compression_of, open_compressed
from any2vec.io.inputs import open_regular
from any2vec.io.temporary import Temporary, hidden, make_temporary, not_followed, remove_aside, sweep

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


def _check_replaceable(path: Path, kind: Kind, force: bool) -> None:
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


_TRIES = 100
_TAKEN = (errno.ENOTEMPTY, errno.EEXIST)
_HERE = -100  # AT_FDCWD
_EXCHANGE = 2  # RENAME_EXCHANGE


def put(new: Path, path: Path) -> None:
    """Rename a file or folder to `path`; a folder that was there has the name `new` then, or is removed."""
    if not new.is_dir():
        new.replace(path)
        return
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


_MOST_LINKS = 40  # of a chain of symbolic links, as in Linux


def check_writable(
    path: Path,
    kind: Kind | None = None,
    *,
    folder: bool = False,
    force: bool = False,
    communicator: Communicator | None = None,
) -> None:
    """Raise now, before hours of training, if a file or folder could not be written later; collective.

    The folder it lies in must exist. What is there must be of the `kind` that is to be written, or empty, unless
    `force` is given. What is no regular file (a FIFO, a device) can be written by one host only.
    """
    communicator = communicator or alone()
    with together(communicator), refusals(path, communicator):
        if not isinstance(force, bool):  # the string "no" would replace what is there
            raise Any2VecError(f"`force` is {shown(force)}; it must be True or False")
        if communicator.rank == 0:
            _check_place(path, folder, communicator.size)
            if kind is not None and not _is_special(path):
                _check_replaceable(path, kind, force)
    if _is_special(path):
        return
    refused = f"cannot write in {_target(path).parent}"
    with (
        _beside(path, False, communicator, refused) as (probe, _),
        together(communicator),
        refusals(path, communicator, refused),
        open(probe, "r+b", opener=not_followed),
    ):
        pass


@contextmanager
def replacing(
    path: Path, *, folder: bool = False, communicator: Communicator | None = None, kind: Kind | None = None
) -> Iterator[Path]:
    """Yield an empty temporary file or folder beside `path`, renamed to it if the block succeeds; collective.

    The temporary path is the same on all hosts, and is removed if the block raises; it must make no collective call
    after failing. A symbolic link is kept, and its target replaced, whose mode stays. What is no regular file (a FIFO,
    a device) is yielded itself, to be written in one pass. `check_writable` says what may be replaced; the `kind` that
    it is given later is noted here, if it is one that is marked. What dead runs left beside `path` is removed. What the
    file system refuses on one host, or an Any2VecError of the block, is raised on all.
    """
    communicator = communicator or alone()
    if _is_special(path):
        with together(communicator), refusals(path, communicator):
            _check_place(path, folder, communicator.size)
            yield path
        return
    with _beside(path, folder, communicator) as (part, before):
        with together(communicator), refusals(path, communicator):
            yield part
        with together(communicator), refusals(path, communicator):
            if communicator.rank == 0:
                if kind is not None and kind.marked:
                    mark(part, kind.name)
                if before:
                    _set_modes(part, _target(path), before)
                put(part, _target(path))


@contextmanager
def replacing_file(path: Path, kind: Kind | None = None) -> Iterator[IO[bytes]]:
    """Yield a file to write, which replaces `path` as in `replacing` if the block succeeds."""
    with replacing(path, kind=kind) as part:
        opener = None if part == path else not_followed  # /dev/stdout is a link
        with open(part, "wb", opener=opener) as file:
            yield file


@contextmanager
def refusals(path: Path, communicator: Communicator | None = None, what: str = "cannot be written") -> Iterator[None]:
    """Turn an OSError or MemoryError of the block into an Any2VecError about `path`; name the host if one of many."""
    host = f" on host {communicator.rank}" if communicator is not None and communicator.size > 1 else ""
    try:
        yield
    except (Any2VecError, BrokenPipeError):  # the reader of a pipe has gone, which is no mistake
        raise
    except OSError as error:
        raise file_error(f"{path}: {what}{host}: {error.strerror or error}", error) from error
    except MemoryError as error:
        raise Any2VecError(f"{path}: {what}{host}: not enough memory") from error


def _check_place(path: Path, folder: bool, hosts: int) -> None:
    target = _target(path)
    if target.parent == target:
        raise Any2VecError(f"{path}: is the root of the file system; give a name in a folder")
    if path.name in ("", ".."):
        raise Any2VecError(f"{path}: an empty name, or this folder or the one above; name a file or folder in it")
    if not target.parent.is_dir():
        raise Any2VecError(f"{path}: the folder {target.parent} does not exist; make it first")
    if target.is_symlink():
        raise Any2VecError(f"{path}: is a symbolic link to itself")
    found = _found(path)
    if folder and found and not stat.S_ISDIR(found.st_mode):
        raise Any2VecError(f"{path}: is a file, and a folder of this name is to be written; give a new name")
    if not folder and found and stat.S_ISDIR(found.st_mode):
        raise Any2VecError(f"{path}: is a folder, and a file of this name is to be written; give a new name")
    if _is_special(path):
        if hosts > 1:
            raise Any2VecError(f"{path}: is not a regular file, so {hosts} hosts cannot write it; give a new name")
        if not os.access(path, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))


def _is_special(path: Path) -> bool:
    """Return whether to write into `path` itself: a FIFO, a device, or an open file, such as /dev/stdout links to."""
    found = _found(path)  # one look: other programs may replace it between two
    if found and stat.S_IFMT(found.st_mode) not in (stat.S_IFREG, stat.S_IFDIR):
        return True
    place = path.absolute()
    for _ in range(_MOST_LINKS):
        place = Path(os.path.realpath(place.parent)) / place.name
        if place.is_relative_to("/proc") or not place.is_symlink():
            break
        place = place.parent / place.readlink()
    return place.is_relative_to("/proc")


def _target(path: Path) -> Path:
    """Return the absolute path of what is to be replaced: a symbolic link's target."""
    return Path(os.path.realpath(path)) if path.is_symlink() else path.absolute()


@contextmanager
def _beside(
    path: Path, folder: bool, communicator: Communicator, what: str = "cannot be written"
) -> Iterator[tuple[Path, os.stat_result | None]]:
    """Make a new file or folder beside `path` on host 0, check that all hosts see it, yield it, remove it.

    With it, host 0 gets what it will replace, as it is now. Only this user may read what replaces something, for now.
    """
    made: Temporary | None = None
    before: os.stat_result | None = None
    try:
        with together(communicator), refusals(path, communicator, what):
            if communicator.rank == 0:
                sweep(_target(path))
                before = _found(_target(path))
                made = make_temporary(_target(path), folder=folder, private=before is not None)
        name = os.fsencode(made.path) if made else b""
        part = Path(os.fsdecode(allgather_bytes(communicator, name)[0]))
        with together(communicator), refusals(path, communicator):
            if not _sees(part, communicator):
                missing = f"host {communicator.rank} does not see {part}, which host 0 has just created"
                raise Any2VecError(f"{path}: {missing}; all hosts must write to one file system")
        yield part, before
    finally:
        if made:
            made.remove()


def _sees(part: Path, communicator: Communicator) -> bool:
    return communicator.rank == 0 or part.exists()


def _found(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except OSError:
        return None


def _set_modes(part: Path, target: Path, before: os.stat_result) -> None:
    """Give a file or folder, and its files, the mode and where possible the owner and group of what it replaces."""
    if stat.S_ISDIR(before.st_mode):
        for file in part.iterdir():
            old = _found(target / file.name)
            new = before.st_mode & (0o777 if file.is_dir() else 0o666)
            _set_mode(file, stat.S_IMODE(old.st_mode) if old else new, old or before)
    _set_mode(part, stat.S_IMODE(before.st_mode), before)


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


Chunk: TypeAlias = bytes | memoryview

_COMPRESSION = 6  # gzip's own default


def write_in_host_order(
    path: Path, chunks: Iterable[Chunk], communicator: Communicator, kind: Kind | None = None
) -> None:
    """Replace a file by the chunks of all hosts, gzip-compressed if its name ends in .gz; the same bytes every time."""
    with replacing(path, communicator=communicator, kind=kind) as part:
        append_in_host_order(part, _compress(chunks) if compression_of(path) == "gz" else chunks, communicator, path)


def append_in_host_order(part: Path, chunks: Iterable[Chunk], communicator: Communicator, path: Path) -> None:
    """Append the chunks of each host, made when it is this host's turn, to a file; errors name `path`."""
    opener = None if part == path else not_followed  # /dev/stdout is a link
    for turn in range(communicator.size):
        with together(communicator), refusals(path, communicator):
            if turn == communicator.rank:
                mode = "ab" if turn == 0 else "r+b"  # only the first creates the file
                with open(part, mode, opener=opener) as file:
                    if turn:  # a FIFO cannot seek
                        file.seek(0, os.SEEK_END)
                    for chunk in chunks:
                        file.write(chunk)


def _compress(chunks: Iterable[Chunk]) -> Iterator[bytes]:
    """Make one gzip member, without name and time; members in sequence are one file."""
    compressor = zlib.compressobj(_COMPRESSION, wbits=16 + zlib.MAX_WBITS)
    for chunk in chunks:
        yield compressor.compress(chunk)
    yield compressor.flush()
