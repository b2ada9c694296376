"""Writing arrays to temporary files, and the errors of a full disk."""

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from io import FileIO
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from any2vec.errors import Any2VecError

__all__ = ["disk_errors", "write_all"]

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


def write_all(file: FileIO, array: NDArray[Any]) -> None:
    """Write a contiguous array to an unbuffered file, which may take it in pieces."""
    left = array.data.cast("B")
    while left:
        left = left[file.write(left) :]
