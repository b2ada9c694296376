"""What readers found to a Graph: the options that all of them share."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from any2vec.errors import Any2VecError
from any2vec.graph.csr import Edges, Rows, build_rows, symmetric
from any2vec.graph.graph import Graph
from any2vec.io.memory import zeros

__all__ = ["EdgeTable", "build_graph"]


@dataclass(eq=False)
class EdgeTable:
    """What a reader found.

    Attributes
    ----------
    name : str
        What error messages call the source.
    edges : list of Edges
        Between the places of `names`.
    names : sequence of str
        Of all vertices.
    directed : bool or None
        What the source says itself.
    matrix : bool
        Whether an undirected edge may be there twice, once in each direction, and counts once.
    """

    name: str
    edges: list[Edges]
    names: Sequence[str]
    directed: bool | None = None
    matrix: bool = False


def build_graph(
    raw: EdgeTable, *, directed: bool | None, merge: bool, loops: bool, vertices: Iterable[str] | None, threads: int = 1
) -> Graph:
    """Build a graph.

    Parameters
    ----------
    raw : EdgeTable
        What a reader found; its list of edges is emptied.
    directed, merge, loops, vertices, threads
        As `read_graph` has them.

    Returns
    -------
    Graph
        The graph.

    Raises
    ------
    Any2VecError
        If it has no edges.
    """
    n = len(raw.names)
    directed = bool(raw.directed) if directed is None else directed
    if not any(len(edges.sources) for edges in raw.edges):
        raise Any2VecError(f"{raw.name}: has no edges; expected at least one")
    try:
        if raw.matrix and not directed:
            rows = _undirected(raw, n, loops, threads)
        else:
            rows = build_rows(raw.edges, n, directed=directed, merge=merge, loops=loops, threads=threads)
    except Any2VecError as error:
        raise Any2VecError(f"{raw.name}: {error}") from error
    if len(rows.indices) == 0:
        left = "" if loops else " other than self loops, which loops=False drops"
        raise Any2VecError(f"{raw.name}: has no edges{left}; expected at least one")
    names = raw.names
    if vertices is not None:
        names, rows = _with_vertices(raw, rows, vertices)
    return Graph(rows.indptr, rows.indices, rows.weights, names, directed)


def _undirected(raw: EdgeTable, n: int, loops: bool, threads: int) -> Rows:
    once = build_rows(raw.edges, n, directed=True, loops=loops, threads=threads)
    rows, conflict = symmetric(once, threads)
    if conflict is not None:
        row, column = conflict
        raise Any2VecError(
            f"row {row:,}, column {column:,} and row {column:,}, column {row:,} have two different weights; an "
            f"undirected graph needs equal ones; give `directed=True`, or a symmetric matrix"
        )
    return rows


def _with_vertices(raw: EdgeTable, rows: Rows, vertices: Iterable[str]) -> tuple[list[str], Rows]:
    if isinstance(vertices, str):
        raise Any2VecError(f"vertices {vertices!r}: is a string; give a list of names")
    names = list(raw.names)
    known = set(names)
    for name in vertices:
        if name not in known:
            known.add(name)
            names.append(name)
    indptr = zeros(len(names) + 1, np.int64)
    indptr[: len(rows.indptr)] = rows.indptr
    indptr[len(rows.indptr) :] = rows.indptr[-1]
    return names, rows._replace(indptr=indptr)
