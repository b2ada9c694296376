"""Vectors in files: a module per format, and the table of formats, of which the ending of a name chooses one."""

import errno
import os
import stat
import warnings
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from any2vec.cluster.communicator import Communicator, SharedError, allgather_bytes, together
from any2vec.cluster.local import alone
from any2vec.errors import Any2VecError, Any2VecWarning, file_error, shown
from any2vec.io.compression import compression_of
from any2vec.io.inputs import HEAD, refuse
from any2vec.io.memory import check_finite
from any2vec.io.outputs import Kind, check_writable, refusals, start_of
from any2vec.io.temporary import read_folder
from any2vec.options import as_path
from any2vec.vectors.files.fasttext import check_fasttext_words, holds_fasttext, load_fasttext, save_fasttext
from any2vec.vectors.files.native import DOCUMENTS, FILES, MODEL, Shard, load_native, make_shard, meta_of, save_native
from any2vec.vectors.files.word2vec import (
    LONGEST_WORD,
    check_words,
    load_binary,
    load_text,
    parse_header,
    save_binary,
    save_text,
    without_mark,
)
from any2vec.vectors.lookup import Lookup, check_vectors
from any2vec.vectors.parts import lost_parts

__all__ = [
    "BINARY",
    "FASTTEXT",
    "FORMATS",
    "NAMED",
    "NATIVE",
    "VECTORS",
    "Format",
    "check_output",
    "format_of",
    "held_format",
    "holds_text",
    "named_format",
    "read_vectors",
    "refuse_foreign",
    "save",
]

_START = 1 << 20  # bytes that are looked at
_UNEVEN = 4  # how much longer the first rows may be than the mean of all
_WITHOUT_HEADER = 10  # dimensions from which on a table of fractions counts as vectors: GloVe's have 25 or more


def holds_text(path: Path) -> bool:
    """Recognize word2vec's text format, or GloVe's: all lines that are looked at have a word and D numbers."""
    content, whole = start_of(path, _START)
    lines = without_mark(content, path).split(b"\n")
    cut = [] if whole else lines.pop().split()[1:-1]  # numbers of a line that goes on
    rows = [fields for line in lines if (fields := line.split())]
    if not rows:
        return False
    try:
        number, dim = parse_header(lines[0], path)
    except Any2VecError:
        dim = len(rows[0]) - 1
        return dim >= _WITHOUT_HEADER and all(_is_row(row, dim) and b"." in b"".join(row[1:]) for row in rows)
    rows = rows[1:]
    if whole:
        return len(rows) == number and all(_is_row(row, dim) for row in rows)
    if not rows:
        return 0 < len(cut) < dim and _are_numbers(cut)
    if not all(_is_row(row, dim) for row in rows) or len(rows) > number:
        return False
    return bool(compression_of(path)) or path.stat().st_size * len(rows) > number * len(content) / _UNEVEN


def _holds_binary(path: Path) -> bool:
    """Recognize word2vec's binary format: rows follow each other, with bytes that no text has."""
    content, whole = start_of(path, _START)
    content = without_mark(content, path)
    header = content.find(b"\n") + 1
    try:
        number, dim = parse_header(content[:header], path)
    except Any2VecError:
        return False
    if not compression_of(path) and path.stat().st_size < header + number * (4 * dim + 2):
        return False
    at = header
    numbers: list[bytes] = []
    while len(numbers) < number and at <= len(content):
        space = content.find(b" ", at, at + LONGEST_WORD + 2)
        if space < 0 and not whole:
            break
        word = content[at:space].lstrip(b"\n")
        if space < 0 or not word or word.decode(errors="ignore").encode() != word:
            return False
        at = space + 1 + 4 * dim
        numbers.append(content[space + 1 : at])
    ends = len(numbers) == number and at <= len(content) and not content[at:].strip(b"\n")
    return (ends or not whole) and not _is_text(b"".join(numbers))


def _holds_folder(path: Path) -> bool:
    """Recognize any2vec's own format by the file that says its version and sizes."""
    found = read_folder(path, meta_of)
    return isinstance(found, dict) and all(type(found.get(name)) is int for name in ("format", "words", "dimensions"))


def _is_row(fields: list[bytes], dim: int) -> bool:
    """Whether the last D of some fields are numbers, and no more than a word precedes them."""
    return len(fields) == dim + 1 and _are_numbers(fields[1:])


def _are_numbers(fields: list[bytes]) -> bool:
    try:
        return bool(np.isfinite(np.array(fields, np.float64)).all())
    except ValueError:
        return False


def _is_text(content: bytes) -> bool:
    try:
        found = content.decode()
    except UnicodeDecodeError as error:
        if error.start < len(content) - 3:  # else a character is cut
            return False
        found = content[: error.start].decode()
    return all(sign >= " " or sign in "\t\n\r\f" for sign in found)


@dataclass(frozen=True)
class Format:
    """A format of vectors: how it is loaded and saved, its endings, and what it can hold."""

    load: Callable[[Path], Lookup]
    save: Callable[[Shard, Path], None]
    """Write a host's shard; all hosts call this."""
    endings: tuple[str, ...] = ()
    """Endings of file names, in lower case."""
    files: tuple[str, ...] = ()
    """Of a format that is a folder, saved to a name without an ending: the names of its files."""
    check_words: Callable[[Iterable[str], Path], None] | None = None
    """Refuse words that the format cannot hold; None if it holds any."""
    training: bool = False
    """Whether it can hold training vectors, and the rows of parts of words."""
    holds: Callable[[Path], bool] | None = None
    """Recognize a file or folder that holds it, to be replaced by another; if None, it is loaded."""


_TEXT = Format(load_text, save_text, (".txt", ".vec", ".txt.gz", ".vec.gz"), check_words=check_words, holds=holds_text)
BINARY = Format(load_binary, save_binary, (".bin", ".bin.gz"), check_words=check_words, holds=_holds_binary)
NATIVE = Format(load_native, save_native, files=(*FILES, MODEL, DOCUMENTS), training=True, holds=_holds_folder)
FASTTEXT = Format(load_fasttext, save_fasttext, check_words=check_fasttext_words, training=True, holds=holds_fasttext)
FORMATS = (_TEXT, BINARY, FASTTEXT, NATIVE)
_OF_WORDS = "and make any2vec.Vectors(words, matrix) of its words and their vectors"
_INSTEAD = {
    "pickle": "if you trust where it comes from (it may run any code), load it with the class of gensim that saved it, "
    "and give its vectors (`wv`) to any2vec.Vectors.from_gensim",
    "npy": f"of gensim, load the file beside it that has no .npy; else read it with numpy.load, {_OF_WORDS}",
    "npz": f"read it with numpy.load, {_OF_WORDS}",
    "parquet": f"read it with pandas.read_parquet, {_OF_WORDS}",
    "arrow": f"read it with pandas.read_feather, {_OF_WORDS}",
    "hdf5": f"read it with h5py, {_OF_WORDS}",
    "torch": f"read it with torch.load(path, weights_only=True), {_OF_WORDS}",
    "mat": f"read it with scipy.io.loadmat, {_OF_WORDS}",
}
"""Ways to read files of other programs that may hold vectors."""
NAMED = {"fasttext": FASTTEXT}
"""Formats that no ending says, by their names."""


def save(
    vectors: Lookup,
    path: str | os.PathLike[str],
    *,
    training: bool = False,
    force: bool = False,
    communicator: Communicator | None = None,
    format: Format | str | None = None,  # noqa: A002
) -> None:
    """Save vectors in the format that the ending of the name says.

    `.txt` and `.vec` are word2vec's text format and `.bin` its binary format, compressed if `.gz` follows;
    gensim's `KeyedVectors.load_word2vec_format` reads them. A name without an ending is a folder in any2vec's
    own format: it keeps counts, training vectors, and n-grams or features, and holds words with whitespace. A file or
    folder that holds vectors is replaced once the new one is complete, and keeps its mode; anything else that is there
    is refused.

    Parameters
    ----------
    vectors : Lookup
        The vectors to save. With many hosts: this host's rows, possibly none, after those of the hosts before it.
    path : str or path
        The file or folder; the same on all hosts, which must share a file system.
    training : bool
        Save the training vectors t as well.
    force : bool
        Replace a file that holds no vectors, too. A folder that holds other files than vectors' is never replaced.
    communicator : Communicator, optional
        Of the hosts that save together; all call this, and each writes its own rows. One host by default.
    format : str or Format, optional
        In place of the one that the ending says: "fasttext" is a model of fastText, a name that ends in .bin, with
        the rows of parts and t. What fastText calls arguments is not known, and has its defaults.

    Raises
    ------
    Any2VecError
        If the ending is unknown, the format cannot hold the vectors, there are none, a vector is not finite, or the
        file cannot be written or holds something else. What fails on one host raises this on all.
    """
    communicator = communicator or alone()
    with together(communicator):
        check_vectors(vectors)
        path = as_path(path)
        given = named_format(format, path) if isinstance(format, str) else format
    kind = check_output(path, training, communicator, given, force=force)
    with together(communicator):
        if training and vectors.t is None:
            raise Any2VecError(f"{path}: these vectors have no training vectors t to save")
        for matrix in (vectors.matrix, vectors.t) if training else (vectors.matrix,):
            if matrix is not None:
                check_finite(vectors.vocabulary.words, matrix, f"{path}: not saved: ")
        if vectors.parts is not None:
            vectors.parts.check_finite(vectors.vocabulary.words, f"{path}: not saved: ")
        if kind.check_words:
            kind.check_words(vectors.vocabulary.words, path)
    if vectors.parts is not None and not kind.training and communicator.rank == 0:
        warnings.warn(lost_parts(vectors.parts.settings, path), Any2VecWarning, stacklevel=2)
    kind.save(make_shard(vectors, training, communicator, path), path)


def read_vectors(path: str | os.PathLike[str]) -> Lookup:
    """Load vectors as `any2vec.load` does, but as data."""
    path = as_path(path)
    try:
        kind = held_format(path)
    except Any2VecError:
        refuse_foreign(path)
        raise
    if not path.exists() and not kind.files:
        raise file_error(f"{path}: does not exist", FileNotFoundError(errno.ENOENT, "does not exist"))
    if kind.files and path.is_file():
        refuse_foreign(path)
        raise Any2VecError(f"{path}: a file without an ending, so its format is unknown; known are {_known()}")
    try:
        return kind.load(path)
    except Any2VecError as error:
        if kind in (_TEXT, BINARY) and path.is_file():  # a FIFO is read once
            refuse_foreign(path)
            found, other = ("binary", BINARY) if kind is _TEXT else ("text", _TEXT)
            if other.holds and other.holds(path):
                ending = other.endings[0] + ".gz" * (path.suffix.lower() == ".gz")
                raise Any2VecError(f"{path}: holds word2vec's {found} format; rename it to end in {ending}") from error
        raise
    except MemoryError as error:
        raise Any2VecError(f"{path}: does not fit into memory; save it as a folder, which is mapped") from error


def refuse_foreign(path: Path) -> None:
    """Raise an error that says how another program's file is read, if it is one."""
    if path.is_file():
        refuse(start_of(path, HEAD)[0], path, "a file of vectors", instead=_INSTEAD)


def check_output(
    path: Path,
    training: bool = False,
    communicator: Communicator | None = None,
    format: Format | None = None,  # noqa: A002
    *,
    force: bool = False,
    replaceable: Kind | None = None,
) -> Format:
    """Raise now, before hours of training, if vectors could not be saved to `path`; all hosts call this.

    What is there must hold vectors, or be what `replaceable` says, unless `force` is given. Return, on all hosts,
    `format` or the one that the first host finds.
    """
    communicator = communicator or alone()
    kind = format or FORMATS[0]
    wanted = f"{path}, {'with' if training else 'without'} training vectors".encode(errors="surrogateescape")
    for host, theirs in enumerate(allgather_bytes(communicator, wanted)):
        if theirs != wanted:
            here, there = (text.decode(errors="surrogateescape") for text in (wanted, theirs))
            raise SharedError(f"the hosts are to save different things: {here}; on host {host} {there}")
    with together(communicator), refusals(path, communicator):
        if communicator.rank == 0 and format is None:
            kind = format_of(path, training)
    if format is None:
        kind = FORMATS[int(communicator.allgather(np.array([FORMATS.index(kind)]))[0, 0])]
    held = replaceable or replace(VECTORS, files=kind.files)
    check_writable(path, held, folder=bool(kind.files), force=force, communicator=communicator)
    return kind


def held_format(path: Path) -> Format:
    """Return the format that a file or folder is loaded in: a model of fastText is recognized, others by their name."""
    with suppress(Any2VecError, OSError, MemoryError):
        if path.is_file() and holds_fasttext(path):
            return FASTTEXT
    return format_of(path)


def named_format(name: str, path: Path) -> Format:
    """Return the format of a name that a user gave; refuse a path that does not end as its files do."""
    if name not in NAMED:
        raise Any2VecError(f"`format` is {shown(name)}; known is {', '.join(NAMED)}: other formats have their endings")
    if path.suffix.lower() != ".bin":
        raise Any2VecError(f"{path}: give a name that ends in .bin, as models of fastText have")
    return NAMED[name]


def _holds_vectors(path: Path) -> bool:
    is_folder = stat.S_ISDIR(path.stat().st_mode)
    return any(_holds(kind, path) for kind in FORMATS if bool(kind.files) == is_folder)


def _holds(kind: Format, path: Path) -> bool:
    if kind.holds:
        return kind.holds(path)
    if not kind.files and not path.name.lower().endswith(kind.endings):
        return False
    try:
        kind.load(path)
    except Exception:  # whatever a format of the user's own raises
        return False
    return True


VECTORS = Kind("vectors", _holds_vectors)
"""Vectors in any format, which others may replace."""


def format_of(path: Path, training: bool = False) -> Format:
    """Return the format of a name, whether or not it exists; refuse one that cannot hold training vectors if wanted."""
    if path.name == "-":
        raise Any2VecError("-: vectors cannot be written to standard output or read from standard input; name a file")
    name, folder = path.name.lower(), path.is_dir() or not path.suffix
    for kind in FORMATS:
        if (folder and kind.files) or (not folder and name.endswith(kind.endings)):
            if training and not kind.training:
                raise Any2VecError(f"{path}: this format holds no training vectors; give a name without an ending")
            return kind
    raise Any2VecError(f"{path}: the ending {path.suffix!r} is unknown; known are {_known()}")


def _known() -> str:
    return ", ".join(ending for kind in FORMATS for ending in kind.endings) + ", and a folder's name without an ending"
