"""Tables: NumPy's `.npz`, Parquet files, and Embedding Atlas."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import BadZipFile, ZipFile

import numpy as np
from numpy.typing import ArrayLike, NDArray

from any2vec.errors import Any2VecError, library, shown
from any2vec.io.memory import blocks, size
from any2vec.io.outputs import Kind
from any2vec.options import whole_number
from any2vec.vectors.export.target import Target, opened_by
from any2vec.vectors.lookup import numbers_of
from any2vec.vectors.search import directions, neighbour_graph

if TYPE_CHECKING:
    from any2vec.vectors import Vectors


_LARGEST = 4 << 30  # bytes of an array of words, which gives every word the length of the longest


def _holds_arrays(path: Path) -> bool:
    try:
        with ZipFile(path) as file:
            return {"words.npy", "vectors.npy"} <= set(file.namelist())
    except BadZipFile:
        return False


_ARRAYS = Target(
    Kind("words and vectors of NumPy", _holds_arrays),
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
    with _ARRAYS.writing(vectors, path, top, force) as (rows, part):
        longest = max(map(len, rows.words))
        if 4 * longest * len(rows) > _LARGEST:
            what = f"{len(rows):,} words of up to {longest:,} characters are {size(4 * longest * len(rows))}"
            raise Any2VecError(f"{path}: {what} as an array; write Parquet, or fewer words with `top`")
        arrays = {"words": np.array(rows.words, f"U{max(longest, 1)}"), "vectors": np.asarray(rows.matrix)}
        if rows.counts.any():
            arrays["counts"] = rows.counts
        with part.open("wb") as file:
            np.savez(file, allow_pickle=False, **arrays)


def _holds_rows(path: Path) -> bool:
    try:
        return {"word", "vector"} <= set(library("pyarrow.parquet", "arrow").read_schema(path).names)
    except ValueError:  # pyarrow's ArrowInvalid
        return False


_PARQUET = Target(Kind("words and vectors in Parquet", _holds_rows), (".parquet",))


@opened_by("pandas.read_parquet({python})")
def to_parquet(
    vectors: "Vectors", path: str | os.PathLike[str], *, top: int | None = None, force: bool = False
) -> None:
    """Write a Parquet file with a row for each word, in the order of ids.

    Its columns are those of `to_arrow`: "word", string; "count", int64, null if unknown; "vector", a list of D float32.

    Parameters
    ----------
    path : str or path
        The file, which ends in `.parquet`; an earlier one is replaced.
    top : int, optional
        Write the first words only, which are the most frequent.
    force : bool
        Replace a file that holds something else, too.

    Raises
    ------
    Any2VecError
        If pyarrow is not installed, a vector is not finite, or the file cannot be written.
    """
    parquet = library("pyarrow.parquet", "arrow")
    with _PARQUET.writing(vectors, path, top, force) as (rows, part):
        parquet.write_table(rows.to_arrow(), part)


_MOST = 2**31 - 1  # entries of all lists of a column of Arrow


@opened_by("embedding-atlas {shell} --text word --x x --y y --neighbors neighbors")
def to_embedding_atlas(
    vectors: "Vectors",
    path: str | os.PathLike[str],
    *,
    xy: ArrayLike | None = None,
    neighbours: int = 15,
    top: int | None = None,
    force: bool = False,
) -> None:
    """Write a Parquet file for Embedding Atlas: what `to_parquet` writes, and the columns that a map needs.

    The columns "x" and "y" are float32. "neighbors" holds the rows nearest by cosine, the word's own first: "ids",
    and "distances", which are 1 minus the cosine.

    Parameters
    ----------
    path : str or path
        The file, which ends in `.parquet`; an earlier one is replaced.
    xy : array of float, shape (V, 2), optional
        Coordinates of the words, for example of UMAP; by default the two principal components of the unit vectors.
    neighbours : int
        Neighbours per word, besides itself; 0 leaves the column out. Of more than 40,000 words some may be missed, and
        pynndescent is needed (extra `plot`).
    top : int, optional
        Write the first words only, which are the most frequent.
    force : bool
        Replace a file that holds something else, too.

    Raises
    ------
    Any2VecError
        If pyarrow is not installed, a vector or coordinate is not finite, `xy` has another shape, or the file cannot
        be written.
    """
    parquet = library("pyarrow.parquet", "arrow")
    neighbours = whole_number("neighbours", neighbours, 0)
    with _PARQUET.writing(vectors, path, top, force) as (rows, part):
        places = _plane(rows) if xy is None else _checked(xy, len(vectors))[: len(rows)]
        table = rows.to_arrow()
        for name, column in zip("xy", places.T, strict=True):
            table = table.append_column(name, [np.ascontiguousarray(column)])
        if neighbours:
            table = table.append_column("neighbors", _neighbours(rows, neighbours))
        parquet.write_table(table, part)


def _plane(rows: "Vectors") -> NDArray[np.float32]:
    """Project unit vectors on their two principal components: shape (V, 2)."""
    total, products = np.zeros(rows.dim), np.zeros((rows.dim, rows.dim))
    for block in blocks(rows.matrix):
        unit = directions(rows.matrix[block], rows.norms[block]).astype(np.float64)
        total += unit.sum(axis=0)
        products += unit.T @ unit
    mean = total / len(rows)
    axes = np.linalg.eigh(products / len(rows) - np.outer(mean, mean))[1][:, :-3:-1]  # of the largest first
    axes = axes * np.sign(axes[np.abs(axes).argmax(axis=0), range(axes.shape[1])])  # one of the two directions
    found = np.zeros((len(rows), 2), np.float32)  # vectors of one number have one axis
    for block in blocks(rows.matrix):
        found[block, : axes.shape[1]] = (directions(rows.matrix[block], rows.norms[block]) - mean) @ axes
    return found


def _checked(xy: ArrayLike, number: int) -> NDArray[np.float32]:
    places = numbers_of(xy, np.float32)
    if places.shape != (number, 2) or not np.isfinite(places).all():
        raise Any2VecError(f"`xy` is {shown(xy)}; it must be finite numbers of shape ({number:,}, 2)")
    return places


def _neighbours(rows: "Vectors", number: int) -> Any:
    """Return an Arrow array with ids and distances of each row's neighbours; the row itself is the first."""
    import pyarrow as pa

    number = min(number, len(rows) - 1)
    if (entries := len(rows) * (number + 1)) > _MOST:
        raise Any2VecError(
            f"{len(rows):,} words with {number:,} neighbours each have {entries:,} entries, and a column holds "
            f"{_MOST:,}; give fewer `neighbours`, or the first words only (`top`)"
        )
    ids, distances = np.arange(len(rows), dtype=np.int32)[:, None], np.zeros((len(rows), 1), np.float32)
    if number:
        found, cosines = neighbour_graph(directions(rows.matrix, rows.norms), number)
        ids, distances = np.hstack([ids, found]), np.hstack([distances, np.maximum(1 - cosines, 0)])
    starts = pa.array(np.arange(len(rows) + 1, dtype=np.int32) * np.int32(number + 1))
    lists = [pa.ListArray.from_arrays(starts, pa.array(values.reshape(-1))) for values in (ids, distances)]
    return pa.StructArray.from_arrays(lists, ["ids", "distances"])
