"""Bipartite graphs from edges: the vertices of either column are of a kind, with names of their own."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from any2vec.errors import Any2VecError, shown
from any2vec.graph.build import EdgeTable
from any2vec.graph.csr import NONE, Edges
from any2vec.graph.graph import Names
from any2vec.graph.kinds import Kinds
from any2vec.graph.own_names import NO_COLON, kinds_in_turn, own_names

__all__ = ["apart", "checked_bipartite", "mark_used", "two_kinds"]


def checked_bipartite(value: Any) -> bool | tuple[str, str] | None:
    """Return what `bipartite` says: True, False, None, or the names of two kinds, also in one text ("user,item")."""
    if value is None or isinstance(value, bool):
        return value
    kinds: Any = [kind.strip() for kind in value.split(",")] if isinstance(value, str) else value
    names = kinds if isinstance(kinds, tuple | list) else ()
    if len(names) == 2 and names[0] != names[1] and all(isinstance(k, str) and k and ":" not in k for k in names):
        return names[0], names[1]
    raise Any2VecError(f"`bipartite` is {shown(value)}: give two names of kinds, such as user,item; {NO_COLON}")


def apart(table: EdgeTable, bipartite: bool | tuple[str, str]) -> EdgeTable:
    """Make sources and targets vertices of two kinds, called by kind and name: source:5 and target:5."""
    used = np.zeros((2, len(table.names)), np.bool_)
    for edges in table.edges:
        mark_used(edges, used)
    new, table.names, table.kinds = two_kinds(table.names, used, bipartite, table.columns)
    for i, (sources, targets, weights) in enumerate(table.edges):
        ends = np.where(targets == NONE, np.int32(NONE), new[1, targets * (targets != NONE)])
        table.edges[i] = Edges(new[0, sources], ends, weights)
    return table


def mark_used(edges: Edges, used: NDArray[np.bool_]) -> None:
    """Mark which vertices are sources (row 0), and which are targets (row 1)."""
    used[0, edges.sources] = True
    used[1, edges.targets[edges.targets != NONE]] = True


def two_kinds(
    names: Sequence[str],
    used: NDArray[np.bool_],
    bipartite: bool | tuple[str, str],
    columns: tuple[str, str] | None,
) -> tuple[NDArray[np.int32], Names, Kinds]:
    """Return the new number of each vertex as a source and as a target, the names of all, and their kinds."""
    called = (columns or ("source", "target")) if isinstance(bipartite, bool) else bipartite
    places = [np.flatnonzero(of) for of in used]
    first = len(places[0])
    new = np.zeros(used.shape, np.int32)
    new[0, places[0]] = np.arange(first)
    new[1, places[1]] = np.arange(first, first + len(places[1]))
    kinds = kinds_in_turn([(kind, len(of)) for kind, of in zip(called, places, strict=True)])
    return new, own_names(names, zip(called, places, strict=True)), kinds
