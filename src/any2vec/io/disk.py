"""Writing arrays to temporary files, and the errors of a full disk."""

import errno
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from io import FileIO
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from any2vec.errors import Any2VecError
from any2vec.io.sizes import size

__all__ = ["check_space", "disk_errors", "write_all"]

_CORPUS = "a corpus takes about 8 bytes per word while it is read"


@contextmanager
def disk_errors(folder: Path, need: str = _CORPUS) -> Iterator[None]:
    """Turn a failure to write a temporary folder into an error that names where it lies, and what `need` is there."""
    try:
        yield
    except Any2VecError:
        raise
    except OSError as error:
        where = folder.parent
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            reason = f"{error.strerror}; {need} (ANY2VEC_CACHE names another folder)"
            raise Any2VecError(f"no space in {where}: {reason}") from error
        raise Any2VecError(f"{where}: cannot be written: {error.strerror or error}") from error


def check_space(needs: Mapping[Path, int]) -> None:
    """Raise now if file systems have less space than files need, which are written after hours; by paths, in bytes."""
    wanted: dict[int, int] = {}
    for path, need in needs.items():
        with suppress(OSError):
            if path.exists() and not (path.is_file() or path.is_dir()):
                continue  # a pipe, or a device
            place = path.resolve().parent
            device, found = place.stat().st_dev, os.statvfs(place)
            wanted[device] = wanted.get(device, 0) + need
            free = found.f_bavail * found.f_frsize
            if wanted[device] > free:
                raise Any2VecError(
                    f"{path}: needs {size(wanted[device])}, with what else is written there, and {place} has "
                    f"{size(free)} free; make room, or write elsewhere"
                )


def write_all(file: FileIO, array: NDArray[Any]) -> None:
    """Write a contiguous array to an unbuffered file, which may take it in pieces."""
    left = array.data.cast("B")
    while left:
        left = left[file.write(left) :]
