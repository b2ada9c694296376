"""Graphs from networkx, igraph and NumPy, told by what they can do: none of these libraries is imported."""

from collections import Counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from any2vec.errors import Any2VecError
from any2vec.graph.build import EdgeTable
from any2vec.graph.csr import Edges
from any2vec.graph.weights import checked_weights

__all__ = ["is_igraph", "is_networkx", "table_of_array", "table_of_igraph", "table_of_networkx"]


def is_networkx(source: Any) -> bool:
    """Whether an object is a graph of networkx."""
    return all(hasattr(source, name) for name in ("is_multigraph", "is_directed", "adj", "nodes", "edges"))


def is_igraph(source: Any) -> bool:
    """Whether an object is a graph of igraph."""
    return all(hasattr(source, name) for name in ("get_edgelist", "vcount", "is_directed", "vs", "es"))


def table_of_networkx(graph: Any, weighted: bool | None) -> EdgeTable:
    """Take the edges of a graph of networkx, and what they hold as ``weight``.

    Parameters
    ----------
    graph : networkx.Graph, DiGraph, MultiGraph or MultiDiGraph
        The graph; its nodes are called what str() says.
    weighted : bool or None
        Whether to take weights. None: if the edges have them.

    Returns
    -------
    EdgeTable
        The edges.

    Raises
    ------
    Any2VecError
        If only some edges have weights, or two nodes have one name.
    """
    ids = {node: i for i, node in enumerate(graph.nodes)}
    names = _distinct([str(node) for node in ids], "the networkx graph")
    pairs, weights = [], []
    for source, target, weight in graph.edges(data="weight"):
        pairs.append((ids[source], ids[target]))
        weights.append(weight)
    ends = np.array(pairs, np.int32).reshape(-1, 2)

    def called(i: int) -> str:
        return f"the networkx graph, edge {names[pairs[i][0]]!r} to {names[pairs[i][1]]!r}"

    held = _weights(weights, weighted, called)
    return EdgeTable("the networkx graph", [_edges(ends, held)], names, bool(graph.is_directed()))


def table_of_igraph(graph: Any, weighted: bool | None) -> EdgeTable:
    """Take the edges of a graph of igraph; see table_of_networkx. Vertices are called by ``name``, else by number."""
    n = graph.vcount()
    named = "name" in graph.vs.attributes()
    names = _distinct([str(name) for name in (graph.vs["name"] if named else range(n))], "the igraph graph")
    ends = np.array(graph.get_edgelist(), np.int32).reshape(-1, 2)
    weights = graph.es["weight"] if "weight" in graph.es.attributes() else [None] * len(ends)

    def called(i: int) -> str:
        return f"the igraph graph, edge {names[ends[i, 0]]!r} to {names[ends[i, 1]]!r}"

    held = _weights(weights, weighted, called)
    return EdgeTable("the igraph graph", [_edges(ends, held)], names, bool(graph.is_directed()))


def table_of_array(source: Any, weighted: bool | None) -> EdgeTable:
    """Take edges from an integer array of shape (E, 2); vertices are called by their numbers."""
    if not isinstance(source, np.ndarray):
        kind = type(source).__name__
        raise Any2VecError(
            f"a graph cannot be read from an object of type {kind}; give a path, a networkx or igraph graph, a sparse "
            f"matrix of SciPy, or an integer array of shape (E, 2)"
        )
    if source.ndim != 2 or source.shape[1] != 2 or source.dtype.kind not in "iu":
        raise Any2VecError(
            f"the array has the shape {source.shape} and the type {source.dtype}; expected integers of shape (E, 2), "
            f"an edge a row; give a matrix of a graph as a sparse one of SciPy"
        )
    if weighted:
        raise Any2VecError("an array of edges has no weights; give a sparse matrix of SciPy, or `weighted=False`")
    negative = np.flatnonzero((source < 0).any(axis=1))
    if len(negative):
        row = int(negative[0])
        raise Any2VecError(f"the array, row {row:,}: {source[row].tolist()} has a negative vertex")
    values, first, inverse = np.unique(source.ravel(), return_index=True, return_inverse=True)
    order = np.argsort(first)  # by first occurrence
    places = np.empty(len(order), np.int32)
    places[order] = np.arange(len(order), dtype=np.int32)
    ends = places[inverse].reshape(-1, 2)
    return EdgeTable("the array", [_edges(ends, None)], [str(value) for value in values[order].tolist()])


def _edges(ends: NDArray[np.int32], weights: NDArray[np.float32] | None) -> Edges:
    return Edges(ends[:, 0].copy(), ends[:, 1].copy(), weights)


def _weights(weights: list[Any], weighted: bool | None, called: Any) -> NDArray[np.float32] | None:
    missing = [i for i, weight in enumerate(weights) if weight is None]
    if weighted is False or (weighted is None and len(missing) == len(weights)):
        return None
    if missing:
        what = f"has no weight, as {len(missing):,} of {len(weights):,} edges"
        raise Any2VecError(f"{called(missing[0])}: {what}; give all of them one, or `weighted=False`")
    for i, weight in enumerate(weights):
        if not hasattr(weight, "__float__"):
            raise Any2VecError(f"{called(i)}: the weight {weight!r} is not a number")
    return checked_weights(np.array([float(weight) for weight in weights]), called)


def _distinct(names: list[str], what: str) -> list[str]:
    if len(set(names)) < len(names):
        name, count = Counter(names).most_common(1)[0]
        raise Any2VecError(f"{what}: {count} vertices are called {name!r}; give each a name of its own")
    return names
