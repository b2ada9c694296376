"""Folders for what a run keeps on disk while it lasts."""

import tempfile
from pathlib import Path

from any2vec.errors import Any2VecError

__all__ = ["temporary_folder"]

_IN_MEMORY = Path("/dev/shm")  # Linux's; where nothing else can be written


def temporary_folder(parent: Path | None = None) -> Path:
    """Make a folder for this run alone, in `parent`, or where Python's `tempfile` makes them; as a last resort, memory.

    Raises
    ------
    Any2VecError
        If no place can be written.
    """
    try:
        return _made(parent)
    except OSError as error:
        if parent is None and _IN_MEMORY.is_dir():
            try:
                return _made(_IN_MEMORY)
            except OSError:
                pass
        if parent is not None:
            raise Any2VecError(f"{parent}: cannot be written: {error.strerror or error}") from error
        raise Any2VecError("no temporary folder can be written; set TMPDIR to one that can") from error


def _made(parent: Path | None) -> Path:
    return Path(tempfile.mkdtemp(prefix=".any2vec-", suffix=".part", dir=parent))
