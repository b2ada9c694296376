"""Input files, as the user names them: paths, directories, standard input, columns of tables; and their streams."""

import errno
import io
import os
import re
import stat
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from any2vec.errors import Any2VecError, file_error
from any2vec.io.compression import compression_of, decompressed, reading_errors
from any2vec.io.memory import available, size
from any2vec.io.tables import Labels, open_column

Source = str | Path | Sequence[str | Path] | Iterable[Sequence[str] | Sequence[int] | Mapping[str, Any]]
"""What a corpus is read from: one or several paths, or sentences in memory."""

STANDARD_INPUT = "-"
BOM = b"\xef\xbb\xbf"  # before a text


@dataclass(frozen=True)
class InputFile:
    """A file of text."""

    path: Path | None  # None for standard input
    size: int | None  # in bytes; None if unknown (standard input, a pipe)
    modified: int = 0  # in nanoseconds
    column: str | None = None  # of a table, what is read
    labels: Labels | None = None  # of a table, what is put before it
    identity: tuple[int, int] = (0, 0)  # its number in the file system, and when it changed there, which cannot be set

    @property
    def name(self) -> str:
        """Its name in error messages."""
        return "standard input" if self.path is None else str(self.path)

    @property
    def compression(self) -> str:
        """How it is compressed: gz, bz2, xz, zst, as a table, or the empty string."""
        if self.column is not None:
            return "table"
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
            if replace(now, column=file.column, labels=file.labels) != file:
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
    left = [(directory, os.path.realpath(directory))]
    links: list[Path] = []
    queue: list[Path] = []  # of links, in the order in which they are followed
    while left or links or queue:
        if left:
            path, real = left.pop()
        else:
            queue += sorted(links)
            links.clear()
            path = queue.pop(0)
            real = os.path.realpath(path)
        if real in seen:
            continue
        try:
            mode = path.stat().st_mode
        except OSError as error:
            if error.errno in (errno.ENOENT, errno.ELOOP):
                raise Any2VecError(f"{path}: a symbolic link to what does not exist; mend or remove it") from None
            raise file_error(f"{path}: cannot be read: {error.strerror}", error) from None
        seen.add(real)
        if stat.S_ISREG(mode):
            found.append(path)
        elif stat.S_ISDIR(mode):
            with os.scandir(path) as entries:
                for entry in (entry for entry in entries if not entry.name.startswith(".")):
                    inner = Path(entry.path)
                    if entry.is_symlink():
                        links.append(inner)
                    else:
                        left.append((inner, os.path.join(real, entry.name)))  # noqa: PTH118 (compared as text)
        else:
            kind = "a FIFO" if stat.S_ISFIFO(mode) else "a socket" if stat.S_ISSOCK(mode) else "a device"
            raise Any2VecError(f"{path}: is {kind}, among the files of a directory; name the files to read, or move it")
    return sorted(found, key=lambda path: path.parts)


def _describe(path: Path, about: os.stat_result) -> InputFile:
    regular = stat.S_ISREG(about.st_mode)
    identity = about.st_ino, about.st_ctime_ns
    return InputFile(path, about.st_size if regular else None, about.st_mtime_ns, identity=identity)


HEAD = 4096
"""Bytes by which a file is recognized."""
OF_NUL = "is this UTF-16 or a binary file? It must be UTF-8 text; tr -d '\\0' < FILE leaves such bytes out"
"""What is asked and said of NUL bytes in a text."""


class _Foreign(NamedTuple):
    """What a file is: its short name, what it is called in errors, and what can be done with it."""

    name: str
    what: str
    how: str


_CONTROL = rb"[\0-\x08\x0e-\x1f]"  # after magic that could be a word of a text
_COMPRESSED = "give its name the ending {}, by which it is unpacked"
_ARCHIVE = "unpack it, and give one of its files"
_SAVE_TEXT = "save it as plain text"
_OFFICE = _Foreign("office", "a file of Excel or Word", "save it as CSV or plain text")
_ARROW = "read it with pandas.read_feather"
_PICKLE = "read it with the library that wrote it, if you trust where it comes from: it may run any code"
_PATTERNS: tuple[tuple[bytes, _Foreign], ...] = (
    (rb"\x93NUMPY", _Foreign("npy", "an array of NumPy (.npy)", "read it with numpy.load")),
    (rb"PAR1" + _CONTROL, _Foreign("parquet", "a Parquet file", "read it with pandas.read_parquet")),
    (rb"ARROW1" + _CONTROL, _Foreign("arrow", "an Arrow (Feather) file", _ARROW)),
    (rb"FEA1" + _CONTROL, _Foreign("arrow", "a Feather file", _ARROW)),
    (rb"ORC" + _CONTROL, _Foreign("orc", "an ORC file", "read it with pandas.read_orc")),
    (rb"Obj\x01", _Foreign("avro", "an Avro file", "read it with the library that wrote it")),
    (
        rb"\x89HDF\r\n\x1a\n",
        _Foreign("hdf5", "an HDF5 file, as Matlab's from version 7.3", "read it with h5py, or save it with -v7"),
    ),
    (rb"MATLAB 5\.0 MAT-file", _Foreign("mat", "a Matlab file", "give its name the ending .mat")),
    (rb"SQLite format 3\0", _Foreign("sqlite", "a SQLite database", "read it with pandas.read_sql")),
    (
        rb"\xba\x16\x4f\x2f",
        _Foreign("fasttext", "a model of fastText (.bin)", "give its vectors, which fastText writes as .vec"),
    ),
    (rb"%PDF-", _Foreign("pdf", "a PDF file", _SAVE_TEXT)),
    (rb"\{\\rtf", _Foreign("rtf", "an RTF file", _SAVE_TEXT)),
    (rb"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", _OFFICE),
    (rb"\x1f\x8b", _Foreign("gz", "compressed with gzip", _COMPRESSED.format(".gz"))),
    (rb"BZh[1-9]1AY&SY", _Foreign("bz2", "compressed with bzip2", _COMPRESSED.format(".bz2"))),
    (rb"\xfd7zXZ\0", _Foreign("xz", "compressed with xz", _COMPRESSED.format(".xz"))),
    (rb"\x28\xb5\x2f\xfd", _Foreign("zst", "compressed with Zstandard", _COMPRESSED.format(".zst"))),
    (rb"\x04\x22\x4d\x18", _Foreign("lz4", "compressed with LZ4", "unpack it")),
    (rb"7z\xbc\xaf\x27\x1c", _Foreign("7z", "a 7-Zip archive", _ARCHIVE)),
    (rb"Rar!\x1a\x07", _Foreign("rar", "a RAR archive", _ARCHIVE)),
    (rb"\x89PNG\r\n\x1a\n", _Foreign("png", "an image (PNG)", "give a file of text")),
    (rb"\x7fELF", _Foreign("program", "a program", "give a file of text")),
    (rb"RDX[23]\n", _Foreign("rdata", "a file of R", "save it as text in R")),
    (rb"\x80[\x02-\x05]", _Foreign("pickle", "a pickle of Python, as gensim's save writes", _PICKLE)),
    (
        rb".{4}\0{4}\{\s*\"",
        _Foreign("safetensors", "a file of safetensors", "a folder that any2vec saved is given by its own name"),
    ),
    (rb".{257}ustar", _Foreign("tar", "a tar archive", _ARCHIVE)),
    (
        rb"(?i)(\xef\xbb\xbf)?\s*(<!--.*?-->\s*)?<(!doctype html|html|head|body)\b",
        _Foreign("html", "a web page (HTML)", "was the download refused? Download the file itself"),
    ),
)


def foreign(head: bytes) -> _Foreign | None:
    """Return what a file is that begins with `head` (up to `HEAD` bytes), or None if it may be text.

    Formats of text, but for HTML and PDF, are not looked for: they depend on what is expected.
    """
    if head.startswith(b"PK\x03\x04"):
        return _zipped(head)
    return next((found for pattern, found in _PATTERNS if re.match(pattern, head, re.DOTALL)), None)


def refuse(head: bytes, name: object, expected: str, but: str = "", instead: Mapping[str, str] | None = None) -> None:
    """Raise an error that names what a file is, if it is something else than expected, and not `but`.

    It says what can be done with it: by its short name what `instead` says, else what `_Foreign` does.
    """
    if (found := foreign(head)) and found.name != but:
        how = (instead or {}).get(found.name, found.how)
        raise Any2VecError(f"{name}: this is {found.what}, not {expected}; {how}")


def _zipped(head: bytes) -> _Foreign:
    first = head[30 : 30 + int.from_bytes(head[26:28], "little")]
    if first.endswith(b".npy"):
        return _Foreign("npz", "a .npz file of NumPy or SciPy", "give its name the ending .npz")
    if first.startswith((b"[Content_Types].xml", b"_rels/", b"docProps/", b"xl/", b"word/")):
        return _OFFICE
    if first.endswith(b"/data.pkl"):
        return _Foreign("torch", "a file of PyTorch", "read it with torch.load(path, weights_only=True)")
    return _Foreign("zip", "a ZIP archive", _ARCHIVE)


def open_regular(path: Path | str, folder: int | None = None) -> IO[bytes]:
    """Open a file to read; a FIFO, which would wait for a writer, is refused by an OSError, as are devices.

    With the descriptor of a `folder`, `path` is a name in it.
    """
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    descriptor = os.open(path, flags) if folder is None else os.open(path, flags, dir_fd=folder)
    file = os.fdopen(descriptor, "rb") if stat.S_ISREG(os.fstat(descriptor).st_mode) else None
    if file is None:
        os.close(descriptor)
        raise OSError("it is not a file")
    return file


def read_regular(file: IO[bytes]) -> bytes:
    """Read a file whole, unless it is larger than the memory that is free."""
    if (length := os.fstat(file.fileno()).st_size) > available():
        raise OSError(f"it has {size(length)}, more than the memory that is free")
    return file.read()


WHITESPACE = " \t\n\v\f\r"

split = re.compile(rf"[^{WHITESPACE}]+").findall
"""Return the words of a text; `str.split` would cut at other characters too."""


def strip(text: str) -> str:
    """Return a text without the whitespace around it."""
    return text.strip(WHITESPACE)


READ = 1 << 18
"""Bytes read at a time."""


def fill(stream: IO[bytes], buffer: NDArray[np.uint8]) -> int:
    """Read until `buffer` is full or the stream ends; return the number of bytes read."""
    view, filled = buffer.data, 0
    read: Callable[[memoryview], int | None] = stream.readinto  # type: ignore[attr-defined]
    while filled < len(view):
        count = read(view[filled : filled + READ])
        if not count:
            break
        filled += count
    return filled


def naming(file: InputFile) -> AbstractContextManager[None]:
    """Turn what goes wrong while a file is read into an error that names it."""
    return reading_errors(file.name, file.compression)


@contextmanager
def open_stream(file: InputFile) -> Iterator[tuple[IO[bytes], Callable[[], int]]]:
    """Open a file that cannot be read in ranges; yield its text, and a function that counts the file's bytes read."""
    with ExitStack() as stack:
        if file.path and file.column is not None:
            yield stack.enter_context(open_column(file.path, file.column, file.labels))
            return
        if file.path is None:
            source: IO[bytes] | None = getattr(sys.stdin, "buffer", None)
            if source is None:
                raise Any2VecError("standard input is closed; give a file")
        else:
            with naming(file):
                source = stack.enter_context(file.path.open("rb"))
        counted = _Counted(source)
        with naming(file):
            text = stack.enter_context(decompressed(io.BufferedReader(counted), file.compression))
        yield text, lambda: counted.count


class _Counted(io.RawIOBase):
    """Counts the bytes read from another file, which it leaves open."""

    def __init__(self, file: Any) -> None:
        self._file = file
        self.count = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        read = int(self._file.readinto(buffer) or 0)
        self.count += read
        return read
