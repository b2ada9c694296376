"""Graphs from sparse matrices: SciPy's, in memory and in .npz files, and Matlab's."""

import io
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from any2vec.errors import Any2VecError, missing_extra
from any2vec.graph.build import EdgeTable
from any2vec.graph.csr import Edges
from any2vec.graph.numbering import plain_names
from any2vec.graph.weights import checked_weights
from any2vec.io.inputs import InputFile
from any2vec.io.streams import naming, open_stream

__all__ = ["is_matrix", "load_mat", "table_of_mat", "table_of_matrix", "table_of_npz"]

MOST = 2**31 - 1


def is_matrix(source: Any) -> bool:
    """Whether an object is one of SciPy's sparse matrices or arrays."""
    return hasattr(source, "tocoo") and hasattr(source, "shape")


def table_of_matrix(matrix: Any, name: str, weighted: bool | None) -> EdgeTable:
    """Take the edges of a square sparse matrix; entry (i, j) is the edge from i to j.

    Parameters
    ----------
    matrix : scipy.sparse matrix or array
        The matrix.
    name : str
        What to call it in errors.
    weighted : bool or None
        Whether entries are weights. None: if they are not all 1.

    Returns
    -------
    EdgeTable
        The edges; vertices are called 0, 1, 2, ...

    Raises
    ------
    Any2VecError
        If it is not square, too large, or an entry is no weight.
    """
    shape = tuple(matrix.shape)
    if len(shape) != 2 or shape[0] != shape[1]:
        raise Any2VecError(f"{name}: has the shape {shape}; the matrix of a graph is square")
    if shape[0] > MOST:
        raise Any2VecError(f"{name}: has {shape[0]:,} vertices; at most {MOST:,} (2^31 - 1) can be told apart")
    if matrix.dtype.kind not in "biuf":
        raise Any2VecError(f"{name}: has entries of type {matrix.dtype}; expected real numbers")
    if not getattr(matrix, "has_canonical_format", True):  # an entry may be there in parts
        matrix = matrix.tocsr(copy=True)
        matrix.sum_duplicates()
    entries = matrix.tocoo()
    rows, columns = entries.row.astype(np.int32), entries.col.astype(np.int32)
    if weighted is None:
        weighted = not bool((entries.data == 1).all())
    weights: NDArray[np.float32] | None = None
    if weighted:
        weights = checked_weights(
            entries.data, lambda i: f"{name}, row {rows[i]:,}, column {columns[i]:,}", "eliminate_zeros() does that"
        )
    elif not bool(entries.data.all()):  # zeros that are stored
        held = np.asarray(entries.data) != 0
        rows, columns = rows[held], columns[held]
    return EdgeTable(name, [Edges(rows, columns, weights)], plain_names(shape[0]), matrix=True)


def table_of_npz(file: InputFile, weighted: bool | None) -> EdgeTable:
    """Read what scipy.sparse.save_npz wrote; see table_of_matrix."""
    matrix = _loaded(file, _scipy("sparse").load_npz, "a file of scipy.sparse.save_npz")
    return table_of_matrix(matrix, file.name, weighted)


def table_of_mat(file: InputFile, key: str, weighted: bool | None) -> EdgeTable:
    """Read the matrix called `key` of a Matlab file; see table_of_matrix."""
    matrix = load_mat(file, key)
    return table_of_matrix(matrix, f"{file.name}, {key!r}", weighted)


def load_mat(file: InputFile, key: str) -> Any:
    """Return a matrix of a Matlab file.

    Parameters
    ----------
    file : InputFile
        The file.
    key : str
        Name of the matrix.

    Returns
    -------
    scipy.sparse matrix
        Sparse even if the file has it dense.

    Raises
    ------
    Any2VecError
        If the file cannot be read, or has no such matrix.
    """
    held = _loaded(file, _scipy("io").loadmat, "a Matlab file (up to version 7.2; save newer ones with -v7)")
    if key not in held:
        has = ", ".join(repr(name) for name in held if not name.startswith("__")) or "nothing"
        raise Any2VecError(f"{file.name}: has no matrix {key!r}; it has {has}")
    matrix = held[key]
    if is_matrix(matrix):
        return matrix
    if not isinstance(matrix, np.ndarray) or matrix.ndim != 2 or matrix.dtype.kind not in "biuf":
        raise Any2VecError(f"{file.name}: {key!r} is not a matrix of numbers")
    return _scipy("sparse").coo_array(matrix)


def _scipy(module: str) -> ModuleType:
    try:
        import scipy.io
        import scipy.sparse
    except ImportError as error:
        raise missing_extra("scipy", "graphs") from error
    return scipy.io if module == "io" else scipy.sparse


def _loaded(file: InputFile, load: Callable[[Any], Any], expected: str) -> Any:
    try:
        with open_stream(file) as (stream, _), naming(file):
            return load(io.BytesIO(stream.read()))
    except Any2VecError:
        raise
    except Exception as error:  # SciPy's readers raise whatever the bytes lead them to
        reason = " ".join(str(error).split())[:80]
        raise Any2VecError(f"{file.name}: is not {expected}: {reason or type(error).__name__}") from error
