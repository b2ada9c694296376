"""Outputs are written beside their place and renamed, so that none is ever seen half-written."""

import shutil
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from any2vec.errors import Any2VecError

__all__ = ["check_writable", "replacing"]


def check_writable(path: Path, *, folder: bool = False) -> None:
    """Raise now, before hours of training, if `path` could not be written later.

    Parameters
    ----------
    path : Path
        The file or folder that is to be written. It need not exist; the folder it lies in must.
    folder : bool
        Whether it is to be a folder.

    Raises
    ------
    Any2VecError
        If the folder is missing or not writable, or `path` is the wrong kind of thing.
    """
    parent = path.absolute().parent
    if not parent.is_dir():
        raise Any2VecError(f"{path}: the folder {parent} does not exist; make it first")
    if folder and path.exists() and not path.is_dir():
        raise Any2VecError(f"{path}: is a file, and a folder of this name is to be written; give a new name")
    if not folder and path.is_dir():
        raise Any2VecError(f"{path}: is a folder, and a file of this name is to be written; give a new name")
    try:
        with tempfile.TemporaryFile(dir=parent):
            pass
    except OSError as error:
        raise Any2VecError(f"{path}: cannot write in {parent}: {error.strerror}") from error


@contextmanager
def replacing(path: Path, *, folder: bool = False) -> Iterator[Path]:
    """Yield a temporary path beside `path`; put it in `path`'s place if the block succeeds.

    Parameters
    ----------
    path : Path
        What is to be written, and replaced if it exists.
    folder : bool
        Whether it is a folder (made here) or a file (made by the block).

    Yields
    ------
    Path
        Where to write. It is removed if the block raises.

    Raises
    ------
    Any2VecError
        If the file system refuses (no room, no permission), with its reason.
    """
    beside = path.absolute().with_name(f".{path.name}.{uuid.uuid4().hex}.part")
    try:
        if folder:
            beside.mkdir()
        yield beside
        _put(beside, path)
    except OSError as error:
        raise Any2VecError(f"{path}: cannot be written: {error.strerror or error}") from error
    finally:
        _remove(beside)


def _put(beside: Path, path: Path) -> None:
    if beside.is_dir() and path.is_dir():  # a folder cannot be renamed over one that is not empty
        old = path.absolute().with_name(f".{path.name}.{uuid.uuid4().hex}.old")
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
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
