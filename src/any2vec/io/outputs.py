"""Outputs are written beside their place and renamed, so that none is ever seen half-written.

Where many hosts write one output, the first makes it and puts it in its place, and what fails on one fails on all.
"""

import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from any2vec.cluster.communicator import Communicator, allgather_bytes, together
from any2vec.cluster.local import alone
from any2vec.errors import Any2VecError

__all__ = ["check_writable", "refusals", "replacing"]


def check_writable(path: Path, *, folder: bool = False, communicator: Communicator | None = None) -> None:
    """Raise now, before hours of training, if `path` could not be written later.

    Parameters
    ----------
    path : Path
        The file or folder that is to be written. It need not exist; the folder it lies in must.
    folder : bool
        Whether it is to be a folder.
    communicator : Communicator, optional
        Of the hosts that are to write it together: all call this. One host by default.

    Raises
    ------
    Any2VecError
        On all hosts, if the folder is missing or not writable, `path` is the wrong kind of thing, or a host does not
        see what the first one writes.
    """
    communicator = communicator or alone()
    with together(communicator), refusals(path, communicator):
        if communicator.rank == 0:
            _check_place(path, folder)
    refused = f"cannot write in {path.absolute().parent}"
    with (
        _beside(path, False, communicator, refused) as probe,
        together(communicator),
        refusals(path, communicator, refused),
        probe.open("r+b"),
    ):
        pass


@contextmanager
def replacing(path: Path, *, folder: bool = False, communicator: Communicator | None = None) -> Iterator[Path]:
    """Yield a temporary path beside `path`; put it in `path`'s place if the block succeeds.

    Parameters
    ----------
    path : Path
        What is to be written, and replaced if it exists.
    folder : bool
        Whether it is a folder or a file. Either is made here, empty.
    communicator : Communicator, optional
        Of the hosts that write it together: all enter the block, which must make no collective call after failing.
        One host by default.

    Yields
    ------
    Path
        Where to write, on all hosts the same. It is removed if the block raises.

    Raises
    ------
    Any2VecError
        On all hosts, if the file system refuses (no room, no permission), with its reason, if a host does not see
        what the first one made, or if the block raised one on any host.
    """
    communicator = communicator or alone()
    with _beside(path, folder, communicator) as beside:
        with together(communicator), refusals(path, communicator):
            yield beside
        with together(communicator), refusals(path, communicator):
            if communicator.rank == 0:
                _put(beside, path)


@contextmanager
def refusals(path: Path, communicator: Communicator | None = None, what: str = "cannot be written") -> Iterator[None]:
    """Turn what the operating system refuses into an error for the user.

    Parameters
    ----------
    path : Path
        The output, for the error.
    communicator : Communicator, optional
        If it has many hosts, the error names this one.
    what : str
        What goes wrong.

    Raises
    ------
    Any2VecError
        If the block raises OSError or MemoryError.
    """
    host = f" on host {communicator.rank}" if communicator is not None and communicator.size > 1 else ""
    try:
        yield
    except OSError as error:
        raise Any2VecError(f"{path}: {what}{host}: {error.strerror or error}") from error
    except MemoryError as error:
        raise Any2VecError(f"{path}: {what}{host}: not enough memory") from error


def _check_place(path: Path, folder: bool) -> None:
    parent = path.absolute().parent
    if parent == path.absolute():
        raise Any2VecError(f"{path}: is the root of the file system; give a name in a folder")
    if not parent.is_dir():
        raise Any2VecError(f"{path}: the folder {parent} does not exist; make it first")
    if folder and path.exists() and not path.is_dir():
        raise Any2VecError(f"{path}: is a file, and a folder of this name is to be written; give a new name")
    if not folder and path.is_dir():
        raise Any2VecError(f"{path}: is a folder, and a file of this name is to be written; give a new name")


@contextmanager
def _beside(path: Path, folder: bool, communicator: Communicator, what: str = "cannot be written") -> Iterator[Path]:
    """Let the first host make a new file or folder beside `path`; yield it where all see it; remove it."""
    own = _hidden(path, "part")
    beside = Path(os.fsdecode(allgather_bytes(communicator, os.fsencode(own))[0]))
    try:
        with together(communicator), refusals(path, communicator, what):
            if communicator.rank == 0:
                beside.mkdir() if folder else beside.touch(exist_ok=False)
        with together(communicator), refusals(path, communicator):
            if not _sees(beside, communicator):
                missing = f"host {communicator.rank} does not see {beside}, which host 0 has just made"
                raise Any2VecError(f"{path}: {missing}; all hosts must write to one file system")
        yield beside
    finally:
        if communicator.rank == 0:
            _remove(beside)


def _hidden(path: Path, ending: str) -> Path:
    return path.absolute().with_name(f".{path.name[:40]}.{uuid.uuid4().hex}.{ending}")  # a name may have 255 bytes


def _sees(beside: Path, communicator: Communicator) -> bool:
    return communicator.rank == 0 or beside.exists()


def _put(beside: Path, path: Path) -> None:
    if beside.is_dir() and path.is_dir():  # a folder cannot be renamed over one that is not empty
        old = _hidden(path, "old")
        path.rename(old)
        try:
            beside.rename(path)
        except OSError:
            old.rename(path)
            raise
        _remove(old)
    else:
        beside.replace(path)


def _remove(path: Path) -> None:
    with suppress(OSError):
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
