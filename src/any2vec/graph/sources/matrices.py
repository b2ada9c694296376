"""Matrices as graphs: SciPy's, in memory and in .npz files, Matlab's, Matrix Market's. SciPy is imported here alone."""

import io
import subprocess
import sys
import zipfile
from collections.abc import Callable
from functools import partial
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from any2vec.errors import Any2VecError, missing_extra, shown
from any2vec.graph.build import EdgeTable, ReadOptions, checked_weights
from any2vec.graph.csr import Edges, once
from any2vec.graph.edgelist import read_edge_list
from any2vec.graph.numbering import kinds_in_turn, numbered_names, plain_names
from any2vec.graph.reading import having
from any2vec.graph.sources import mat_process
from any2vec.io.inputs import HEAD, InputFile, foreign, naming, open_stream
from any2vec.io.memory import available

_MOST = 2**31 - 1
_BYTES = 30  # of a vertex: its rows, its name and where this begins
_KILLED = -9
_NAMES = 10  # in a message
_MARKET = b"%%matrixmarket"


is_matrix = having("tocoo", "shape")  # SciPy's sparse matrices and arrays


def read_npz(file: InputFile, options: ReadOptions) -> EdgeTable:
    """Read the matrix that scipy.sparse.save_npz wrote."""
    _scipy()
    matrix = _load(file, partial(_load_npz, file.name), "a file of scipy.sparse.save_npz")
    return from_matrix(matrix, options, file.name)


def read_mat(file: InputFile, options: ReadOptions) -> EdgeTable:
    """Read the matrix called ``options.key`` from a Matlab file."""
    return from_matrix(load_mat(file, options.key), options, f"{file.name}, {options.key!r}")


def read_mtx(file: InputFile, options: ReadOptions) -> EdgeTable:
    """Read a matrix in Matrix Market's format; a file that does not begin as one may be an edge list."""
    if file.size is not None:  # else it can be read only once
        with open_stream(file) as (stream, _), naming(file):
            head = stream.read(len(_MARKET))
        if head.lower() != _MARKET:
            return read_edge_list(file, options)
    _scipy()
    return from_matrix(_load(file, _load_mtx, "a Matrix Market file"), options, file.name)


def from_dense(array: NDArray[Any], options: ReadOptions, name: str) -> EdgeTable:
    """Take the edges of a matrix that is not sparse: its entries that are not 0."""
    _check_real(array.dtype, name)  # before SciPy does
    return from_matrix(_scipy().coo_array(array), options, name)


def _check_real(dtype: np.dtype[Any], name: str) -> None:
    if dtype.kind not in "biuf":
        raise Any2VecError(f"{name}: has entries of type {dtype}; expected real numbers")


def from_matrix(matrix: Any, options: ReadOptions, name: str = "the matrix") -> EdgeTable:
    """Take the edges of a matrix: entry (i, j) is the edge from i to j, with a weight unless all are 1.

    A square one joins vertices of one set: an undirected edge may be stored in one direction or in both, and counts
    once. One that is not square, or if the options say so, joins its rows to its columns.
    """
    shape = tuple(matrix.shape)
    if len(shape) != 2:
        raise Any2VecError(f"{name}: has the shape {shape}; the matrix of a graph has rows and columns")
    square = shape[0] == shape[1]
    bipartite = not square if options.bipartite is None else bool(options.bipartite)
    if not bipartite and not square:
        raise Any2VecError(f"{name}: has the shape {shape}; without `bipartite`, the matrix of a graph is square")
    vertices = sum(shape) if bipartite else shape[0]
    if vertices > _MOST:
        raise Any2VecError(f"{name}: has {vertices:,} vertices; at most {_MOST:,} (2^31 - 1) are supported")
    _check_real(matrix.dtype, name)
    _check_indices(matrix, name)
    _check_fits(_BYTES * vertices, name, f"a graph of {vertices:,} vertices")
    if not getattr(matrix, "has_canonical_format", True):  # an entry may be there in parts
        matrix = matrix.tocsr(copy=True)
        matrix.sum_duplicates()
    entries = matrix.tocoo()
    rows, columns = entries.row.astype(np.int32), entries.col.astype(np.int32)
    weighted = options.weighted
    if weighted is None:
        weighted = not bool((entries.data == 1).all())
    weights: NDArray[np.float32] | None = None
    if weighted:
        weights = checked_weights(
            entries.data, lambda i: f"{name}, row {rows[i]:,}, column {columns[i]:,}", "eliminate_zeros() does that"
        )
    elif not bool(entries.data.all()):  # zeros that are stored
        stored = np.asarray(entries.data) != 0
        rows, columns = rows[stored], columns[stored]
    if bipartite:
        edges = Edges(rows, columns + np.int32(shape[0]), weights)
        titles = options.bipartite if isinstance(options.bipartite, tuple) else ("row", "column")
        kinds = list(zip(titles, shape, strict=True))
        return EdgeTable(name, [edges], numbered_names(kinds), kinds=kinds_in_turn(kinds), numbered=kinds)
    edges, both = Edges(rows, columns, weights), 0
    if not options.directed:
        edges, both = once(edges, vertices, lambda i, j: f"{name}: row {i:,}, column {j:,} and row {j:,}, column {i:,}")
    return EdgeTable(name, [edges], plain_names(vertices), numbered=[("vertex", vertices)], once=both)


def load_mat(file: InputFile, key: str) -> Any:
    """Return the matrix called `key` of a Matlab file as a sparse one, even if the file has it dense."""
    sparse = _scipy()
    found = _load(file, partial(_in_a_process, key), "a Matlab file (up to version 7.2; save newer ones with -v7)")
    if "names" in found:
        names = found["names"].tolist()
        has = ", ".join(map(shown, names[:_NAMES])) + ", ..." * (len(names) > _NAMES) or "nothing"
        raise Any2VecError(f"{file.name}: has no matrix {key!r}; it has {has}")
    if "shape" in found:
        matrix = sparse.csc_array(tuple(found["shape"].tolist()), dtype=found["data"].dtype)
        matrix.data, matrix.indices, matrix.indptr = found["data"], found["indices"], found["indptr"]
        _check_indices(matrix, f"{file.name}, {key!r}")
        return matrix
    if "dense" not in found or found["dense"].ndim != 2:
        raise Any2VecError(f"{file.name}: {key!r} is not a matrix of numbers")
    return sparse.coo_array(found["dense"])


def _in_a_process(key: str, content: io.BytesIO) -> dict[str, NDArray[Any]]:
    """Let a process of its own read a Matlab file, which may crash it."""
    command = [sys.executable, "-I", mat_process.__file__, key]
    ran = subprocess.run(command, input=content.getbuffer(), capture_output=True, check=False)
    if ran.returncode in (mat_process.TOO_LITTLE, _KILLED):
        raise MemoryError("what the file declares does not fit")
    if ran.returncode < 0:
        raise ValueError("it crashes SciPy's reader")
    if ran.returncode:
        raise ValueError(ran.stderr.decode(errors="replace").strip())
    with np.load(io.BytesIO(ran.stdout), allow_pickle=False) as arrays:
        return dict(arrays)


def _load_mtx(content: io.BytesIO) -> Any:
    """Load a Matrix Market file, also one that lists all entries, zeros too."""
    from scipy.io import mmread

    matrix = mmread(content)
    return matrix if is_matrix(matrix) else _scipy().coo_array(matrix)


def _load_npz(name: str, content: io.BytesIO) -> Any:
    """Load SciPy's .npz, if what it unpacks to fits: a small file may declare any size."""
    try:
        with zipfile.ZipFile(content) as members:
            size = sum(member.file_size for member in members.infolist())
    except zipfile.BadZipFile as error:
        head = content.getvalue()[:HEAD]
        found = foreign(head)
        raise ValueError(f"it is {found.what}" if found else error) from error
    _check_fits(size, name, "its arrays")
    content.seek(0)
    matrix = _scipy().load_npz(content)
    if matrix.data.dtype == np.float16:  # which SciPy loads, and cannot convert
        matrix.data = matrix.data.astype(np.float32)
    return matrix


def _check_fits(needed: int, name: str, what: str) -> None:
    """Raise, before memory is taken, if a source needs more bytes than there are; `what` says they are for."""
    if needed > (there := available()):
        raise Any2VecError(
            f"{name}: not enough memory: {needed / 1e9:,.1f} GB for {what}, and {there / 1e9:,.1f} GB are available"
        )


def _check_indices(matrix: Any, name: str) -> None:
    """Raise if a compressed matrix points outside its arrays: SciPy's compiled code would read and write there."""
    if not hasattr(matrix, "indptr"):  # SciPy checks coordinates when a matrix is made
        return
    rows, columns = matrix.shape[::-1] if matrix.format == "csc" else matrix.shape
    height, width = getattr(matrix, "blocksize", (1, 1))
    if not height or not width:
        raise Any2VecError(f"{name}: is not a sparse matrix: its blocks have the shape {(height, width)}")
    indptr, indices = matrix.indptr, matrix.indices
    expected = f"expected {rows // height + 1:,} integers that rise from 0 to {len(indices):,}, the number of indices"
    if len(indptr) != rows // height + 1 or indptr[0] != 0 or (indptr[1:] < indptr[:-1]).any():
        raise Any2VecError(f"{name}: is not a sparse matrix: indptr does not rise from 0; {expected}")
    if indptr[-1] > len(indices) or len(indices) != len(matrix.data):
        raise Any2VecError(f"{name}: is not a sparse matrix: indptr ends at {indptr[-1]:,}; {expected}")
    used = indices[: indptr[-1]]
    if used.size and not 0 <= used.min() <= used.max() < columns // width:
        wrong = used.max() if used.min() >= 0 else used.min()
        raise Any2VecError(
            f"{name}: has the index {wrong:,}; the shape {matrix.shape} allows 0 to {columns // width - 1:,}"
        )


def _scipy() -> ModuleType:
    try:
        import scipy.io
        import scipy.sparse
    except ImportError as error:
        raise missing_extra("scipy", "graphs") from error
    return scipy.sparse


def _load(file: InputFile, load: Callable[[Any], Any], expected: str) -> Any:
    try:
        with open_stream(file) as (stream, _), naming(file):
            return load(io.BytesIO(stream.read()))
    except (Any2VecError, MemoryError):
        raise
    except Exception as error:  # SciPy's readers raise whatever the bytes lead them to
        reason = " ".join(str(error).split())[:80]
        raise Any2VecError(f"{file.name}: is not {expected}: {reason or type(error).__name__}") from error
