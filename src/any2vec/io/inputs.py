"""Input files, as the user names them: paths, directories, standard input."""

import errno
import os
import stat
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from any2vec.errors import Any2VecError, file_error
from any2vec.io.compression import compression_of

__all__ = ["PARQUET", "STANDARD_INPUT", "InputFile", "Source", "changed", "check_unchanged", "files_of", "names_files"]

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

    ``-`` is standard input; a directory stands for all files below it, sorted by path, without hidden ones. Symbolic
    links in it are followed, but no file is listed twice for them.
    """
    paths = [source] if isinstance(source, str | os.PathLike) else list(source)
    files: list[InputFile] = []
    for i, path in enumerate(paths):
        if not isinstance(path, str | os.PathLike):
            kind = type(path).__name__
            raise Any2VecError(f"item {i} of the corpus is a {kind}, item 0 is a path; give paths, or lists of tokens")
        files += _files_at(path, many=len(paths) > 1)
    return files


def changed(file: InputFile) -> Any2VecError:
    """Return the error for a file that is not what it was."""
    return Any2VecError(f"{file.name}: changed while it was read; start again")


def check_unchanged(files: Iterable[InputFile]) -> None:
    """Raise, once files are read, if one is not what it was before: what was read may be of both versions."""
    for file in files:
        if file.path is not None and file.size is not None:
            try:
                now = _describe(file.path, file.path.stat())
            except OSError:
                raise changed(file) from None
            if replace(now, column=file.column) != file:
                raise changed(file)


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
    except Any2VecError:
        raise
    except (FileNotFoundError, NotADirectoryError) as error:
        raise file_error(f"{shown}: no such file or directory{hint}", error) from None
    except (OSError, ValueError) as error:  # a ValueError: a zero byte in the name
        hint = hint if getattr(error, "errno", None) == errno.ENAMETOOLONG else ""
        raise file_error(f"{shown}: cannot be read: {getattr(error, 'strerror', None) or error}{hint}", error) from None
    return [_describe(path, about)]


def _inside(directory: Path) -> list[Path]:
    """List the files below a directory, each real one once: symbolic links are followed when all else is listed."""
    seen: set[str] = set()
    found: list[Path] = []
    links = [directory]
    while links:
        link = links.pop(0)
        real = os.path.realpath(link)
        if real in seen:
            continue
        try:
            mode = link.stat().st_mode
        except OSError as error:
            if error.errno in (errno.ENOENT, errno.ELOOP):
                raise Any2VecError(f"{link}: a symbolic link to what does not exist; mend or remove it") from None
            raise file_error(f"{link}: cannot be read: {error.strerror}", error) from None
        if stat.S_ISDIR(mode):
            links += _listed(link, real, seen, found)
        else:
            _add(link, real, mode, seen, found)
    return sorted(found, key=lambda path: path.parts)


def _listed(directory: Path, real: str, seen: set[str], found: list[Path]) -> list[Path]:
    """Append what is below a directory, at the path `real`, to `found`; return the symbolic links there."""
    links: list[Path] = []
    folders = [(directory, real)]
    while folders:
        folder, place = folders.pop()
        seen.add(place)
        with os.scandir(folder) as entries:
            for entry in entries:
                path, at = Path(entry.path), os.path.join(place, entry.name)  # noqa: PTH118 (compared as text)
                if entry.name.startswith(".") or at in seen:
                    continue
                if entry.is_symlink():
                    links.append(path)
                elif entry.is_dir():
                    folders.append((path, at))
                else:
                    _add(path, at, entry.stat().st_mode, seen, found)
    return sorted(links)


def _add(path: Path, real: str, mode: int, seen: set[str], found: list[Path]) -> None:
    if not stat.S_ISREG(mode):
        kind = "a FIFO" if stat.S_ISFIFO(mode) else "a socket" if stat.S_ISSOCK(mode) else "a device"
        raise Any2VecError(f"{path}: is {kind}, among the files of a directory; name the files to read, or move it")
    seen.add(real)
    found.append(path)


def _describe(path: Path, about: os.stat_result) -> InputFile:
    regular = stat.S_ISREG(about.st_mode)
    identity = about.st_ino, about.st_ctime_ns
    return InputFile(path, about.st_size if regular else None, about.st_mtime_ns, identity=identity)
