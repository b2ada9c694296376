"""What walks look up at the rows of a graph, whole or in shares: neighbours to draw from, and to look for."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from any2vec.errors import Any2VecError
from any2vec.graph.csr import CSR, merged
from any2vec.io.memory import read_only
from any2vec.llvm.compiled import njit
from any2vec.walks.noise import levels, marked
from any2vec.walks.tables import choices, neighbour_table, relative_weights

__all__ = ["Entries", "RowTables", "any_twice", "check_weights", "counted", "row_tables", "start_shares"]

_NONE = np.zeros(0, np.float32)


class Entries(NamedTuple):
    """Rows: those of a graph, or of the vertices of a share, which are counted from 0 here."""

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    weights: NDArray[np.float32] | None


class RowTables(NamedTuple):
    """What the kernels of walks look up.

    Attributes
    ----------
    rows : int64 array, shape (n + 2,)
        The neighbours of vertex v are entries ``rows[v]`` to ``rows[v + 1] - 1``; vertex n has none.
    targets : int32 array, or uint64 of two for each entry
        Neighbours; of a weighted graph, alias tables (`tables.choices`), with the marks of node2vec+.
    heaviest : float32 array
        The largest relative weight of each row, for node2vec's walks on weighted graphs.
    table : int32 array
        Hash tables of neighbours (`tables.neighbour_table`), for node2vec's walks.
    levels : float32 array
        Of each vertex, what node2vec+ finds a usual and a loose edge (`noise.levels`).
    """

    rows: NDArray[np.int64]
    targets: NDArray[Any]
    heaviest: NDArray[np.float32]
    table: NDArray[np.int32]
    levels: NDArray[np.float32]


def check_weights(weights: NDArray[np.float32] | None) -> None:
    """Raise an error if walks cannot go by the weights."""
    if weights is not None and not (np.isfinite(weights) & (weights > 0)).all():
        raise Any2VecError("weights of edges must be positive numbers for walks")


def counted(entries: Entries) -> Entries:
    """Merge equal edges to one of their weight, without weights of their number: walks are the same."""
    indptr, indices, weights = entries
    many = np.ones(len(indices), np.float32) if weights is None else weights.copy()
    return Entries(*merged(CSR(indptr.copy(), indices.copy(), many))[:3])


def row_tables(entries: Entries, *, second: bool, extended: bool, gamma: float) -> RowTables:
    """Make the tables for walks of the second order or the first, for node2vec+ (`extended`) or not."""
    indptr, indices, weights = entries
    rows = np.append(indptr, indptr[-1])
    if len(indices) == 0:  # kernels read an entry before they check for one
        indices = np.zeros(1, np.int32)
    indices = read_only(indices)
    usual = levels(indptr, weights, gamma) if extended else _NONE
    ids = marked(indptr, indices, weights, usual) if extended else indices
    targets = indices if weights is None else choices(indptr, ids, weights)
    heaviest, table = _NONE, np.zeros(0, np.int32)
    if second:
        relative = None
        if weights is not None:
            relative, heaviest = relative_weights(indptr, weights)
        table = neighbour_table(rows, indices, weights if extended else relative)
    return RowTables(rows, targets, heaviest, table, usual)


def start_shares(entries: Entries) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Return the vertices that have edges, and the weights of them, or their number, together."""
    indptr, _, weights = entries
    degrees = np.diff(indptr)
    with_edges = np.flatnonzero(degrees)
    begins = indptr[:-1][with_edges]
    shares = degrees[with_edges] if weights is None else np.add.reduceat(weights, begins, dtype=np.float64)
    return with_edges, np.asarray(shares, np.float32)


@njit(nogil=True, cache=True)
def any_twice(indptr: NDArray[np.int64], indices: NDArray[np.int32]) -> bool:
    """Whether a row has a neighbour twice."""
    for v in range(indptr.size - 1):
        for i in range(indptr[v] + 1, indptr[v + 1]):
            if indices[i] == indices[i - 1]:
                return True
    return False
