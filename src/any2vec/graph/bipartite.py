"""Bipartite graphs from edges: the vertices of either column are of a kind, with names of their own."""

from typing import Any

import numpy as np

from any2vec.errors import Any2VecError, shown
from any2vec.graph.build import EdgeTable
from any2vec.graph.csr import NONE, Edges
from any2vec.graph.own_names import NO_COLON, kinds_in_turn, own_names

__all__ = ["apart", "checked_bipartite"]


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
    if isinstance(bipartite, bool):
        bipartite = table.columns or ("source", "target")
    used = np.zeros((2, len(table.names)), np.bool_)
    for edges in table.edges:
        used[0, edges.sources] = True
        used[1, edges.targets[edges.targets != NONE]] = True
    places = [np.flatnonzero(of) for of in used]
    first = len(places[0])
    new = np.zeros(used.shape, np.int32)
    new[0, places[0]] = np.arange(first)
    new[1, places[1]] = np.arange(first, first + len(places[1]))
    for i, (sources, targets, weights) in enumerate(table.edges):
        ends = np.where(targets == NONE, np.int32(NONE), new[1, targets * (targets != NONE)])
        table.edges[i] = Edges(new[0, sources], ends, weights)
    sizes = [(kind, len(of)) for kind, of in zip(bipartite, places, strict=True)]
    table.names = own_names(table.names, zip(bipartite, places, strict=True))
    table.kinds = kinds_in_turn(sizes)
    return table
