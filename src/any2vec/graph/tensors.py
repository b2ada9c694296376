"""Graphs of PyTorch Geometric, recognized by their attributes: the library is not imported."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from any2vec.errors import Any2VecError
from any2vec.graph.arrays import as_array
from any2vec.graph.build import EdgeTable, ReadOptions
from any2vec.graph.csr import Edges
from any2vec.graph.numbering import plain_names
from any2vec.graph.undirected import once
from any2vec.graph.weights import checked_weights, unread_noted

__all__ = ["checked_ends", "checked_size", "checked_tensor_weights", "from_data", "is_data"]

_NAME = "the Data"


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
    if options.bipartite or (callable(bipartite := getattr(source, "is_bipartite", None)) and bipartite()):
        how = "give data.edge_index with `bipartite=True`"
        raise Any2VecError(f"{_NAME}: joins vertices of two types, each numbered from 0; {how}")
    ends = checked_ends(given, _NAME)
    vertices = checked_size(getattr(source, "num_nodes", None), int(ends.max(initial=-1)) + 1, _NAME)
    weights = checked_tensor_weights(getattr(source, "edge_weight", None), ends, options, _NAME)
    others = {"edge_attr": getattr(source, "edge_attr", None)}
    notes = unread_noted(_NAME, others, weights, options.weighted, "edge_weight")
    sources, targets = ends.astype(np.int32)
    edges = Edges(sources, targets, weights)
    edges, both = (edges, 0) if options.directed else once(edges, vertices, _both)
    return EdgeTable(_NAME, [edges], plain_names(vertices), notes=notes, numbered=[("vertex", vertices)], once=both)


def checked_ends(given: Any, name: str) -> NDArray[Any]:
    """Return an `edge_index` as an array of shape (2, E), of integers from 0."""
    ends = as_array(given, f"{name}, edge_index")
    if ends.ndim != 2 or ends.shape[0] != 2 or ends.dtype.kind not in "iu":
        raise Any2VecError(
            f"{name}: edge_index has the shape {ends.shape} and the type {ends.dtype}; expected integers of "
            f"shape (2, E)"
        )
    if ends.size and ends.min() < 0:
        raise Any2VecError(f"{name}: edge_index holds {ends.min()}; vertices are numbered from 0")
    return ends


def checked_size(stored: Any, needed: int, name: str) -> int:
    """Return the number of vertices: `num_nodes`, which is `stored`, or as many as the edges need."""
    if stored is None and needed < 2**31:
        return needed
    stored = needed if stored is None else stored
    if isinstance(stored, bool) or not hasattr(stored, "__index__"):
        raise Any2VecError(f"{name}: num_nodes is {stored!r}; expected an integer")
    if int(stored) < needed or int(stored) >= 2**31:
        limit = "a vertex of edge_index is not below it" if int(stored) < needed else "at most 2^31 - 1 are supported"
        raise Any2VecError(f"{name}: num_nodes is {int(stored):,}; {limit}")
    return int(stored)


def checked_tensor_weights(
    given: Any, ends: NDArray[Any], options: ReadOptions, name: str
) -> NDArray[np.float32] | None:
    """Return the weights of edges; None if there are none, or they are not read."""
    if options.weighted is False or (given is None and not options.weighted):
        return None
    if given is None:
        raise Any2VecError(f"{name}: has no edge_weight; set it, such as to edge_attr[:, 0], or `weighted=False`")
    weights = as_array(given, f"{name}, edge_weight")
    if weights.size != ends.shape[1] or weights.dtype.kind not in "iuf":
        raise Any2VecError(
            f"{name}: edge_weight has the shape {weights.shape} and the type {weights.dtype}; expected a number "
            f"for each of {ends.shape[1]:,} edges"
        )
    return checked_weights(weights.reshape(-1), lambda i: f"{name}, edge {i:,}")


def _both(source: int, target: int) -> str:
    return f"{_NAME}: {source} to {target} and back"
