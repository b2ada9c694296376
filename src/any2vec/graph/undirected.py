"""Undirected edges that a source lists in one direction or in both."""

from collections.abc import Callable

import numpy as np

from any2vec.errors import Any2VecError
from any2vec.graph.csr import Edges

__all__ = ["both_noted", "once"]


def once(edges: Edges, vertices: int, where: Callable[[int, int], str] | None) -> tuple[Edges, int]:
    """List each edge from its smaller end, one that is there both ways once; return also how many of these there were.

    Weights must be the same in both directions, or an error says ``where(i, j)``. But without `where`, or if any of
    these edges is there several times in a direction, all edges then stay, to be added up.
    """
    sources, targets, weights = edges
    low, high = np.minimum(sources, targets), np.maximum(sources, targets)
    keys = low.astype(np.int64) * vertices + high
    by = (keys,) if weights is None else (weights, keys)
    there, back = np.flatnonzero(sources < targets), np.flatnonzero(sources > targets)
    both = np.intersect1d(keys[there], keys[back])
    there, back = (listed[np.isin(keys[listed], both)] for listed in (there, back))
    there, back = (listed[np.lexsort([column[listed] for column in by])] for listed in (there, back))
    if len(there) != len(back) or any((column[there] != column[back]).any() for column in by):
        if where is not None and weights is not None and len(there) == len(back) == len(both):
            edge = int(there[(weights[there] != weights[back]).argmax()])
            raise Any2VecError(
                f"{where(int(sources[edge]), int(targets[edge]))} have two different weights; an undirected graph "
                f"needs equal ones; give these, or `directed=True`"
            )
        both, back = both[:0], back[:0]
    kept = np.ones(len(sources), np.bool_)
    kept[back] = False
    return Edges(low[kept], high[kept], None if weights is None else weights[kept]), len(both)


def both_noted(name: str, edges: int, both: int) -> list[str]:
    """Say for a warning if some weighted edges, but not all, are listed in both directions and count once."""
    if both in (0, edges):
        return []
    found = f"{both:,} of {edges:,} edges are listed in both directions with the same weight, and count once"
    return [f"{name}: {found}; if edges have a direction, give `directed=True`"]
