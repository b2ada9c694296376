"""`GraphShare`: a graph in parts, of which a host has the rows of some vertices."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from any2vec.graph.graph import Graph
from any2vec.graph.kinds import Kinds

__all__ = ["GraphShare", "cut_graph", "even_cuts"]


@dataclass(frozen=True, eq=False, repr=False)
class GraphShare:
    """A host's share of a graph: the rows of a range of vertices, as `Graph` has them.

    Attributes
    ----------
    cuts : int64 array, shape (H + 1,)
        Host h has vertices ``cuts[h]`` to ``cuts[h + 1] - 1``.
    rank : int
        This host.
    indptr : int64 array, shape (cuts[rank + 1] - cuts[rank] + 1,)
        The neighbours of this host's vertex i are ``indices[indptr[i] : indptr[i + 1]]``.
    indices : int32 array
        Neighbours, vertices of the whole graph, sorted for each vertex.
    weights : float32 array or None
        Weight of each entry of `indices`; None if the graph is unweighted.
    names : sequence of str, length V
        Names of all vertices.
    edges, loops : int
        Edges of the whole graph, an undirected one counted once, and the self loops among them.
    directed : bool
        Whether edges have a direction.
    kinds : Kinds or None
        The kind of each vertex of the whole graph; None if they have none.
    sent : int
        Bytes that this host sent to others while they read the graph.
    """

    cuts: NDArray[np.int64]
    rank: int
    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    weights: NDArray[np.float32] | None
    names: Sequence[str]
    edges: int
    loops: int
    directed: bool = False
    kinds: Kinds | None = None
    sent: int = 0

    def __len__(self) -> int:
        return int(self.cuts[-1])

    def __repr__(self) -> str:
        low, high = self.cuts[self.rank : self.rank + 2].tolist()
        return f"<GraphShare: {high - low:,} of {len(self):,} vertices, from {low:,} on>"


def even_cuts(degrees: NDArray[np.int64], hosts: int) -> NDArray[np.int64]:
    """Cut vertices so that each host has about as many neighbours, counting one more for each vertex."""
    ends = np.append(0, np.cumsum(degrees + 1))
    cuts = np.searchsorted(ends, ends[-1] * np.arange(hosts + 1) / hosts).astype(np.int64)
    cuts[-1] = len(degrees)
    return cuts


def cut_graph(graph: Graph, hosts: int, rank: int) -> GraphShare:
    """Return a host's share of a graph that it has as a whole."""
    cuts = even_cuts(graph.degrees, hosts)
    low, high = cuts[rank : rank + 2].tolist()
    begin, end = graph.indptr[[low, high]].tolist()
    indptr, indices = graph.indptr[low : high + 1] - begin, graph.indices[begin:end].copy()
    weights = None if graph.weights is None else graph.weights[begin:end].copy()
    whole = graph.names, graph.edges, graph.loops, graph.directed, graph.kinds
    return GraphShare(cuts, rank, indptr, indices, weights, *whole)
