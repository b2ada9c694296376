"""Input files, as the user names them: paths, directories, standard input."""

import errno
import os
import stat
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from any2vec.errors import Any2VecError
from any2vec.io.compression import compression_of

__all__ = ["PARQUET", "STANDARD_INPUT", "InputFile", "Source", "files_of", "names_files"]

Source = str | Path | Sequence[str | Path] | Iterable[Sequence[str] | Sequence[int] | Mapping[str, Any]]
"""What a corpus is read from: one or several paths, or sentences in memory."""

STANDARD_INPUT = "-"
PARQUET = "parquet"


@dataclass(frozen=True)
class InputFile:
    """A file of text.

    Attributes
    ----------
    path : Path or None
        None for standard input.
    size : int or None
        In bytes; None if unknown (standard input, a pipe).
    modified : int
        Time of the last modification, in nanoseconds.
    column : str or None
        Of a Parquet file, what is read.
    identity : tuple of int
        Its number in the file system, and when it last changed there, in nanoseconds: unlike `modified`, that cannot
        be set.
    """

    path: Path | None
    size: int | None
    modified: int = 0
    column: str | None = None
    identity: tuple[int, int] = (0, 0)

    @property
    def name(self) -> str:
        """Its name in error messages."""
        return "standard input" if self.path is None else str(self.path)

    @property
    def compression(self) -> str:
        """How it is compressed: gz, bz2, xz, zst, parquet, or the empty string."""
        if self.column is not None:
            return PARQUET
        return "" if self.path is None else compression_of(self.path)


def names_files(source: Source) -> bool:
    """Whether a source is a path or a sequence of paths, rather than sentences."""
    if isinstance(source, str | os.PathLike):
        return True
    return isinstance(source, Sequence) and len(source) > 0 and isinstance(source[0], str | os.PathLike)


def files_of(source: Source) -> list[InputFile]:
    """List the files of one or several paths, at least one, in reading order; raise an error that names a bad path.

    ``-`` is standard input; a directory stands for all files below it, sorted by path, without hidden ones.
    """
    paths = [source] if isinstance(source, str | os.PathLike) else list(source)
    files: list[InputFile] = []
    for i, path in enumerate(paths):
        if not isinstance(path, str | os.PathLike):
            kind = type(path).__name__
            raise Any2VecError(f"item {i} of the corpus is a {kind}, item 0 is a path; give paths, or lists of tokens")
        files += _files_at(path, many=len(paths) > 1)
    return files


def _files_at(path: str | os.PathLike[str], *, many: bool) -> list[InputFile]:
    if path == STANDARD_INPUT:
        return [InputFile(None, None)]
    if path == "":  # the current directory, for Path
        raise Any2VecError("'' is not the name of a file or directory")
    shown = " ".join(os.fspath(path).split("\n"))
    is_text = len(shown) > 1000 or shown != os.fspath(path)
    if is_text:
        shown = f"{shown[:40]}..."
    hint = "; if this is text, give each sentence as a list of tokens" if is_text or (many and " " in shown) else ""
    path = Path(path)
    try:
        about = path.stat()
        if stat.S_ISDIR(about.st_mode):
            inside = _inside(path)
            if not inside:
                raise Any2VecError(f"{path}: the directory has no files (hidden ones are not read)")
            return [_describe(file, file.stat()) for file in inside]
    except (FileNotFoundError, NotADirectoryError) as error:
        raise Any2VecError(f"{shown}: no such file or directory{hint}") from error
    except (OSError, ValueError) as error:  # a ValueError: a zero byte in the name
        hint = hint if getattr(error, "errno", None) == errno.ENAMETOOLONG else ""
        raise Any2VecError(f"{shown}: cannot be read: {getattr(error, 'strerror', None) or error}{hint}") from error
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
    identity = about.st_ino, about.st_ctime_ns
    return InputFile(path, about.st_size if regular else None, about.st_mtime_ns, identity=identity)
