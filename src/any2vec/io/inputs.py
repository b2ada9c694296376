"""Where sentences come from: the files that a user names."""

import os
import stat
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from any2vec.errors import Any2VecError

__all__ = ["STANDARD_INPUT", "InputFile", "Source", "files_of", "names_files"]

Source = str | Path | Sequence[str | Path] | Iterable[Sequence[str]]

STANDARD_INPUT = "-"


@dataclass(frozen=True)
class InputFile:
    """A file of text.

    Attributes
    ----------
    path : Path or None
        None is standard input.
    size : int or None
        Bytes in the file; None if that is not known (standard input, a pipe).
    modified : int
        When it was modified, in nanoseconds.
    """

    path: Path | None
    size: int | None
    modified: int = 0

    @property
    def name(self) -> str:
        """What error messages call it."""
        return "standard input" if self.path is None else str(self.path)

    @property
    def packing(self) -> str:
        """How it is compressed: gz, bz2, xz, zst, or the empty string."""
        suffix = "" if self.path is None else self.path.suffix.lower().removeprefix(".")
        return suffix if suffix in ("gz", "bz2", "xz", "zst") else ""


def names_files(source: Source) -> bool:
    """Whether a source is a path or a sequence of paths, rather than sentences."""
    if isinstance(source, str | os.PathLike):
        return True
    return isinstance(source, Sequence) and len(source) > 0 and isinstance(source[0], str | os.PathLike)


def files_of(source: Source) -> list[InputFile]:
    """Return the files of a source that names some, in the order in which they are read.

    Parameters
    ----------
    source : str, Path or sequence of them
        A file; or ``-``: standard input; or a directory: all files in it and in its directories, sorted by
        path, without hidden ones.

    Returns
    -------
    list of InputFile
        At least one.

    Raises
    ------
    Any2VecError
        If one is missing, or a directory has no files.
    """
    paths = [source] if isinstance(source, str | os.PathLike) else list(source)
    files: list[InputFile] = []
    for i, path in enumerate(paths):
        if not isinstance(path, str | os.PathLike):
            kind = type(path).__name__
            raise Any2VecError(
                f"item {i} of the corpus is of type {kind}, item 0 is a path; give paths, or lists of tokens"
            )
        files += _files_at(path, many=len(paths) > 1)
    return files


def _files_at(path: str | os.PathLike[str], *, many: bool) -> list[InputFile]:
    if path == STANDARD_INPUT:
        return [InputFile(None, None)]
    path = Path(path)
    try:
        about = path.stat()
        if stat.S_ISDIR(about.st_mode):
            inside = _inside(path)
            if not inside:
                raise Any2VecError(f"{path}: the directory has no files (hidden ones are not read)")
            return [_describe(file, file.stat()) for file in inside]
    except (FileNotFoundError, NotADirectoryError) as error:
        hint = "; sentences are given as lists of tokens, not as strings" if many else ""
        raise Any2VecError(f"{path}: no such file or directory{hint}") from error
    except (OSError, ValueError) as error:  # a ValueError: a zero byte in the name
        raise Any2VecError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}") from error
    return [_describe(path, about)]


def _inside(directory: Path) -> list[Path]:
    def refuse(error: OSError) -> None:
        raise error

    found: list[Path] = []
    for folder, folders, names in os.walk(directory, onerror=refuse):
        folders[:] = [name for name in folders if not name.startswith(".")]
        found += [Path(folder, name) for name in names if not name.startswith(".")]
    return sorted((path for path in found if path.is_file()), key=lambda path: path.parts)


def _describe(path: Path, about: os.stat_result) -> InputFile:
    regular = stat.S_ISREG(about.st_mode)
    return InputFile(path, about.st_size if regular else None, about.st_mtime_ns)
