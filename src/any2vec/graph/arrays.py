"""Edges from arrays: NumPy's, and what becomes one, such as tensors."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from any2vec.errors import Any2VecError
from any2vec.graph.build import EdgeTable, ReadOptions
from any2vec.graph.csr import Edges
from any2vec.graph.matrices import from_dense
from any2vec.graph.names import whole_numbers
from any2vec.graph.pairs import from_pairs
from any2vec.graph.tables import from_structured

__all__ = ["as_array", "from_array", "is_array"]

_NAME = "the array"
_AS_PAIRS = "a list of triples (source, target, weight), a data frame, or a sparse matrix of SciPy"


def is_array(source: Any) -> bool:
    """Whether an object is an array or becomes one, as tensors do."""
    return hasattr(source, "__array__") or hasattr(source, "__dlpack__")


def as_array(source: Any, name: str = _NAME) -> NDArray[Any]:
    """Convert a tensor, or another library's array, to NumPy's."""
    if isinstance(source, np.ndarray):
        return source
    sparse = getattr(source, "is_sparse", False)
    try:
        if sparse:
            raise TypeError("it is sparse")
        return np.asarray(source) if hasattr(source, "__array__") else np.from_dlpack(source)
    except Exception as error:  # what libraries raise, such as for a tensor on a GPU
        reason = " ".join(str(error).split())[:100].rstrip(".")
        kind = type(source).__name__
        raise Any2VecError(
            f"{name}: this {kind} does not become an array of NumPy ({reason}); give one, such as "
            f"edge_index.{'coalesce().indices()' if sparse else 'detach().cpu().long()'}.numpy()"
        ) from error


def from_array(source: Any, options: ReadOptions) -> EdgeTable:
    """Take edges from an array of integers or strings: of shape (E, 2), or of shape (2, E) as PyTorch Geometric's.

    An array of another shape is a matrix, if the options say that it joins rows to columns.
    """
    array = as_array(source)
    kind = array.dtype.kind
    if array.dtype.names:
        return from_structured(array, options)
    if np.ma.is_masked(array):
        raise Any2VecError(f"{_NAME}: has masked entries; give the edges without them")
    if kind == "O" and array.ndim == 1:  # of tuples, as an index of pandas has them
        return from_pairs(array.tolist(), options, _NAME)
    if options.bipartite and array.ndim == 2 and 2 not in array.shape and kind in "biuf":
        return from_dense(array, options, _NAME)
    ends = _rows(array, tensor=array is not source)
    if kind in "OT":
        return from_pairs(ends.tolist(), options, _NAME)
    if options.weighted:
        raise Any2VecError(f"an array of edges has no weights; give {_AS_PAIRS}; or `weighted=False`")
    if kind == "f":
        ends = whole_numbers(ends, lambda i: f"{_NAME}, edge {i // 2:,}").reshape(-1, 2)
    if ends.dtype.kind == "i" and (ends < 0).any():
        row = int((ends < 0).any(axis=1).argmax())
        raise Any2VecError(f"{_NAME}, row {row:,}: {ends[row].tolist()} has a negative vertex")
    if kind == "U" and not ends.all():
        raise Any2VecError(f"{_NAME}, row {int((ends == '').any(axis=1).argmax()):,}: a vertex is an empty string")
    values, first, inverse = np.unique(ends.ravel(), return_index=True, return_inverse=True)
    order = np.argsort(first)  # by first occurrence
    rank = np.empty(len(order), np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    names = [str(value) for value in values[order].tolist()]
    return EdgeTable(_NAME, [Edges.of(rank[inverse])], names)


def _rows(array: NDArray[Any], *, tensor: bool) -> NDArray[Any]:
    """Return an array with an edge in each row; raise if its shape does not say where the ends are."""
    kind, shape = array.dtype.kind, array.shape
    what = f"{_NAME} has the shape {shape} and the type {array.dtype}"
    if array.ndim != 2 or kind not in "iufUOT" or 2 not in (shape if kind not in "OT" else (*shape, shape[1] - 1)):
        if array.ndim == 2 and shape[1] == 3 and kind in "iuf":
            raise Any2VecError(f"{what}: is the third column weights? Give an array of shape (E, 2), {_AS_PAIRS}")
        raise Any2VecError(
            f"{what}; expected integers or strings of shape (E, 2), an edge in each row, or of shape (2, E); give the "
            f"matrix of a graph as a sparse one of SciPy, or `bipartite=True` if it joins its rows to its columns"
        )
    if kind in "OT" and shape[1] in (2, 3):
        return array
    if shape == (2, 3) and not (tensor and kind in "iu"):  # a tensor of integers is an edge_index
        raise Any2VecError(
            f"{what}: is the third column weights, or is this the edge_index of three edges? Give its transpose, of "
            f"shape (3, 2), or {_AS_PAIRS}"
        )
    if shape == (2, 2):
        if tensor and not (array == array.T).all():
            (a, b), (c, d) = array.tolist()
            raise Any2VecError(
                f"{what}: its edges are {a} to {b} and {c} to {d} by rows, or {a} to {c} and {b} to {d} if it is an "
                f"edge_index; give .tolist() for the rows, .t().tolist() for an edge_index"
            )
        if kind == "f" and np.isin(array, (0, 1)).all():
            raise Any2VecError(
                f"{what}: is this the matrix of a graph? expected integers or strings of shape (E, 2), an edge in each "
                f"row; give the matrix of a graph as a sparse one of SciPy"
            )
        return array
    return array if shape[1] == 2 else array.T
