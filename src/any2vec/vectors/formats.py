"""Vectors are saved to and loaded from files, in a format chosen by the ending of the name."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Literal, get_args

import numpy as np

from any2vec.cluster.communicator import Communicator, SharedError, allgather_bytes, together
from any2vec.cluster.local import alone
from any2vec.errors import Any2VecError
from any2vec.io.outputs import check_writable, refusals
from any2vec.vectors.finite import first_not_finite
from any2vec.vectors.native import check_ours, load_native, save_native
from any2vec.vectors.share import share_of
from any2vec.vectors.vectors import Vectors
from any2vec.vectors.word2vec_binary import load_binary, save_binary
from any2vec.vectors.word2vec_text import load_text, save_text

__all__ = ["check_output", "load", "save"]

Format = Literal["text", "binary", "folder"]
FORMATS: tuple[Format, ...] = get_args(Format)

ENDINGS: dict[str, Format] = {
    ".txt": "text",
    ".vec": "text",
    ".txt.gz": "text",
    ".vec.gz": "text",
    ".bin": "binary",
    ".bin.gz": "binary",
}
LOADERS: dict[Format, Callable[[Path], Vectors]] = {
    "text": load_text,
    "binary": load_binary,
    "folder": load_native,
}


def save(
    vectors: Vectors,
    path: str | os.PathLike[str],
    *,
    training: bool = False,
    communicator: Communicator | None = None,
) -> None:
    """Save vectors in the format that the ending of the name tells.

    `.txt` and `.vec` are word2vec's text format and `.bin` its binary format, compressed if `.gz` follows;
    gensim's `KeyedVectors.load_word2vec_format` reads them. A name without an ending is a folder in any2vec's
    own format, the only one that keeps counts and training vectors and holds words with blanks. What exists
    is replaced, at the end and at once.

    Parameters
    ----------
    vectors : Vectors
        What to save; with many hosts this host's rows, perhaps none, which follow those of the hosts before it.
    path : str or path
        Where; the same on all hosts, which must see one file system.
    training : bool
        Save the training vectors t as well.
    communicator : Communicator, optional
        Of the hosts that save together; all call this, and each writes its own rows. One host by default.

    Raises
    ------
    Any2VecError
        If the ending is unknown, the format cannot hold the vectors, a vector is not finite, or the file
        system refuses. What fails on one host raises this on all.
    """
    path = Path(path)
    communicator = communicator or alone()
    kind = check_output(path, training, communicator)
    with together(communicator):
        _check_numbers(vectors, path, training)
    share = share_of(vectors, communicator, path)
    if kind == "text":
        save_text(share, path)
    elif kind == "binary":
        save_binary(share, path)
    else:
        save_native(share, path, training)


def load(path: str | os.PathLike[str]) -> Vectors:
    """Load vectors from a file of word2vec's formats (or GloVe's), or from a folder of any2vec's.

    Parameters
    ----------
    path : str or path
        The file or folder; its ending tells the format as in `save`.

    Returns
    -------
    Vectors
        A folder's are memory-mapped and have counts; files have none, so that counts are zeros.

    Raises
    ------
    Any2VecError
        If it does not exist, is damaged, or has an unknown ending.
    """
    path = Path(path)
    if not path.exists():
        raise Any2VecError(f"{path}: does not exist")
    kind = check_format(path)
    if kind == "folder" and not path.is_dir():
        raise Any2VecError(f"{path}: a file without an ending; its format is told by one: {_known()}")
    try:
        return LOADERS[kind](path)
    except MemoryError as error:
        raise Any2VecError(f"{path}: does not fit into memory; a folder of any2vec's would be mapped") from error


def check_output(path: Path, training: bool = False, communicator: Communicator | None = None) -> Format:
    """Raise now, before hours of training, if vectors could not be saved later.

    Parameters
    ----------
    path : Path
        The file or folder. It need not exist.
    training : bool
        Whether training vectors are to be saved.
    communicator : Communicator, optional
        Of the hosts that are to save together; all call this. One host by default.

    Returns
    -------
    {"text", "binary", "folder"}
        The format, on all hosts that which the first one finds.

    Raises
    ------
    Any2VecError
        On all hosts, if the ending is unknown, its format cannot hold training vectors, the place cannot be written
        by one of them, or what is there must not be replaced.
    """
    communicator = communicator or alone()
    kind: Format = "folder"
    wanted = f"{path}, {'with' if training else 'without'} training vectors".encode(errors="surrogateescape")
    for host, theirs in enumerate(allgather_bytes(communicator, wanted)):
        if theirs != wanted:
            here, there = (text.decode(errors="surrogateescape") for text in (wanted, theirs))
            raise SharedError(f"the hosts are to save different things: {here}; on host {host} {there}")
    with together(communicator), refusals(path, communicator):
        if communicator.rank == 0:
            kind = check_format(path, training)
    kind = FORMATS[int(communicator.allgather(np.array([FORMATS.index(kind)]))[0, 0])]
    check_writable(path, folder=kind == "folder", communicator=communicator)
    with together(communicator), refusals(path, communicator):
        if kind == "folder" and communicator.rank == 0:
            check_ours(path)
    return kind


def check_format(path: Path, training: bool = False) -> Format:
    """Find the format that a name asks for.

    Parameters
    ----------
    path : Path
        The file or folder. It need not exist.
    training : bool
        Whether training vectors are to be saved.

    Returns
    -------
    {"text", "binary", "folder"}
        The format.

    Raises
    ------
    Any2VecError
        If the ending is unknown, or its format cannot hold training vectors.
    """
    if path.name == "-":
        raise Any2VecError("-: vectors cannot be written to standard output or read from standard input; name a file")
    name = path.name.lower()
    kind: Format | None = next((kind for ending, kind in ENDINGS.items() if name.endswith(ending)), None)
    if path.is_dir() or not path.suffix:
        kind = "folder"
    if kind is None:
        raise Any2VecError(f"{path}: the ending {path.suffix!r} is unknown; known are {_known()}")
    if training and kind != "folder":
        raise Any2VecError(f"{path}: word2vec's formats hold no training vectors; give a name without an ending")
    return kind


def _check_numbers(vectors: Vectors, path: Path, training: bool) -> None:
    if training and vectors.t is None:
        raise Any2VecError(f"{path}: these vectors have no training vectors t to save")
    for matrix in (vectors.matrix, vectors.t) if training else (vectors.matrix,):
        if matrix is not None and (bad := first_not_finite(matrix)):
            value = f"the vector of {vectors.words[bad[0]]!r} holds {matrix[bad]}, not a finite number"
            raise Any2VecError(f"{path}: not saved: {value}")


def _known() -> str:
    return ", ".join(ENDINGS) + ", and a folder's name without an ending"
