"""Graphs of PyTorch Geometric, recognized by their attributes: the library is not imported."""

from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from any2vec.errors import Any2VecError
from any2vec.graph.arrays import as_array
from any2vec.graph.build import EdgeTable, ReadOptions
from any2vec.graph.csr import Edges
from any2vec.graph.numbering import plain_names
from any2vec.graph.undirected import once
from any2vec.graph.weights import checked_weights

__all__ = ["from_data", "is_data", "is_hetero_data", "refuse_hetero_data"]

_NAME = "the Data"


def is_hetero_data(source: Any) -> bool:
    """Whether an object has edges of several types, as HeteroData."""
    return hasattr(source, "edge_types") and hasattr(source, "node_types") and not isinstance(source, type)


def refuse_hetero_data(source: Any, options: ReadOptions) -> NoReturn:
    """Raise an error that says how one graph is made of it."""
    raise Any2VecError(
        f"a {type(source).__name__} has vertices and edges of several types, each numbered from 0; give "
        f"data.to_homogeneous(), or the edges of one type as an array of names"
    )


def is_data(source: Any) -> bool:
    """Whether an object is a graph with an `edge_index`, as Data."""
    return not isinstance(source, type) and (hasattr(source, "edge_index") or hasattr(source, "adj_t"))


def from_data(source: Any, options: ReadOptions) -> EdgeTable:
    """Take the edges of `edge_index`, weighted by `edge_weight` if it is there; vertices are numbered from 0.

    An undirected edge may be listed in one direction or in both, and counts once.
    """
    given = getattr(source, "edge_index", None)
    if given is None:
        raise Any2VecError(f"{_NAME}: has no edge_index; give its adjacency matrix as a sparse one of SciPy")
    if callable(bipartite := getattr(source, "is_bipartite", None)) and bipartite():
        raise Any2VecError(f"{_NAME}: joins vertices of two types, each numbered from 0; give the edges as names")
    ends = as_array(given, f"{_NAME}, edge_index")
    if ends.ndim != 2 or ends.shape[0] != 2 or ends.dtype.kind not in "iu":
        raise Any2VecError(
            f"{_NAME}: edge_index has the shape {ends.shape} and the type {ends.dtype}; expected integers of "
            f"shape (2, E)"
        )
    vertices = _vertices(source, ends)
    weights = _weights(source, ends, options)
    sources, targets = ends.astype(np.int32)
    edges = Edges(sources, targets, weights)
    return EdgeTable(_NAME, [edges if options.directed else once(edges, vertices, _both)], plain_names(vertices))


def _vertices(source: Any, ends: NDArray[Any]) -> int:
    """Return the number of vertices: `num_nodes`, or as many as the edges need."""
    if ends.size and ends.min() < 0:
        raise Any2VecError(f"{_NAME}: edge_index holds {ends.min()}; vertices are numbered from 0")
    needed = int(ends.max()) + 1 if ends.size else 0
    stored = getattr(source, "num_nodes", None)
    if stored is None and needed < 2**31:
        return needed
    stored = needed if stored is None else stored
    if isinstance(stored, bool) or not hasattr(stored, "__index__"):
        raise Any2VecError(f"{_NAME}: num_nodes is {stored!r}; expected an integer")
    if int(stored) < needed or int(stored) >= 2**31:
        limit = "a vertex of edge_index is not below it" if int(stored) < needed else "at most 2^31 - 1 are supported"
        raise Any2VecError(f"{_NAME}: num_nodes is {int(stored):,}; {limit}")
    return int(stored)


def _weights(source: Any, ends: NDArray[Any], options: ReadOptions) -> NDArray[np.float32] | None:
    given = getattr(source, "edge_weight", None)
    if options.weighted is False or (given is None and not options.weighted):
        return None
    if given is None:
        raise Any2VecError(f"{_NAME}: has no edge_weight; set it, such as to edge_attr[:, 0], or `weighted=False`")
    weights = as_array(given, f"{_NAME}, edge_weight")
    if weights.size != ends.shape[1] or weights.dtype.kind not in "iuf":
        raise Any2VecError(
            f"{_NAME}: edge_weight has the shape {weights.shape} and the type {weights.dtype}; expected a number "
            f"for each of {ends.shape[1]:,} edges"
        )
    return checked_weights(weights.reshape(-1), lambda i: f"{_NAME}, edge {i:,}")


def _both(source: int, target: int) -> str:
    return f"{_NAME}: {source} to {target} and back"
