"""NumPy's `.npz`: arrays of words, vectors and counts, without pickles."""

import os
from pathlib import Path
from typing import TYPE_CHECKING
from zipfile import BadZipFile, ZipFile

import numpy as np

from any2vec.errors import Any2VecError
from any2vec.io.replaceable import Kind
from any2vec.io.shown import size
from any2vec.vectors.export.target import Target, opened_by

if TYPE_CHECKING:
    from any2vec.vectors.vectors import Vectors

__all__ = ["to_numpy"]

_LARGEST = 4 << 30  # bytes of an array of words, which gives every word the length of the longest


def _holds(path: Path) -> bool:
    try:
        with ZipFile(path) as file:
            return {"words.npy", "vectors.npy"} <= set(file.namelist())
    except BadZipFile:
        return False


TARGET = Target(
    Kind("words and vectors of NumPy", _holds),
    (".npz",),
    refused=r"\0\Z",
    reason="its last character is a null, which NumPy cuts off",
)


@opened_by("numpy.load({python})")
def to_numpy(vectors: "Vectors", path: str | os.PathLike[str], *, top: int | None = None, force: bool = False) -> None:
    """Write an `.npz` file that ``numpy.load`` reads without pickle.

    Its arrays: "words", Unicode strings, shape (V,); "vectors", float32, shape (V, D); "counts", int64, shape (V,),
    if they are known.

    Parameters
    ----------
    path : str or path
        The file, which ends in `.npz`; an earlier one is replaced.
    top : int, optional
        Write the first words only, which are the most frequent.
    force : bool
        Replace a file that holds something else, too.

    Raises
    ------
    Any2VecError
        If a vector is not finite, a word ends in a null character or is too long for an array of as many words, or
        the file cannot be written.
    """
    with TARGET.writing(vectors, path, top, force) as (rows, part):
        longest = max(map(len, rows.words))
        if 4 * longest * len(rows) > _LARGEST:
            what = f"{len(rows):,} words of up to {longest:,} characters are {size(4 * longest * len(rows))}"
            raise Any2VecError(f"{path}: {what} as an array; write Parquet, or fewer words with `top`")
        arrays = {"words": np.array(rows.words, f"U{max(longest, 1)}"), "vectors": np.asarray(rows.matrix)}
        if rows.counts.any():
            arrays["counts"] = rows.counts
        with part.open("wb") as file:
            np.savez(file, allow_pickle=False, **arrays)
