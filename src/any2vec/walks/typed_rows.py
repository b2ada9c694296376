"""A graph's rows by the kind that a metapath goes on to, and where walks start.

From vertices of one kind, walks go on to few kinds: the `slot` of a step is its place among them. Rows keep the
neighbours of these kinds alone, slot by slot. So a step is as fast as one of DeepWalk's, and the table of rows has an
entry per vertex and slot.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from any2vec.graph.graph import Kinds
from any2vec.io.memory import read_only, zeros
from any2vec.llvm.compiled import njit
from any2vec.walks.row_tables import Entries
from any2vec.walks.tables import choices

__all__ = ["Paths", "TypedRows", "typed_rows"]

_NONE = 255


class Paths(NamedTuple):
    """Where walks of all metapaths start, and where they go on to; metapaths lie one after the other in `slot`.

    Attributes
    ----------
    starts : int32 array, shape (S,)
        Vertices of the first kind of each metapath.
    ends : int64 array, shape (M,)
        Where the starts of each metapath end.
    first : int64 array, shape (M,)
        Each metapath's first step.
    slot, after : int64 array
        Of each step: its place among the steps from its kind, and the step after it.
    """

    starts: NDArray[np.int32]
    ends: NDArray[np.int64]
    first: NDArray[np.int64]
    slot: NDArray[np.int64]
    after: NDArray[np.int64]


class TypedRows(NamedTuple):
    """Neighbours by the kind that a walk goes on to.

    Attributes
    ----------
    bounds : int64 array, shape (V * slots + 1,)
        Neighbours of vertex v for slot s are entries ``bounds[v * slots + s]`` to ``bounds[v * slots + s + 1] - 1``.
    targets : int32 array, or uint64 of two for each entry
        Neighbours; of a weighted graph, alias tables (`tables.choices`).
    slots : int
        The most kinds that walks go on to from one kind.
    ends : bool
        Whether a walk may come to a vertex from which it cannot go on.
    """

    bounds: NDArray[np.int64]
    targets: NDArray[Any]
    slots: int
    ends: bool


def typed_rows(
    entries: Entries, kinds: Kinds, found: Sequence[tuple[int, ...]], first: int = 0
) -> tuple[TypedRows, Paths]:
    """Lay out rows, of vertices from `first` on, for metapaths, as `find_paths` returns them."""
    indptr, indices, given = entries
    of, many = kinds.of, len(kinds.names)
    of_rows = of[first : first + len(indptr) - 1]
    onward: dict[int, list[int]] = {}
    for path in found:
        for a, b in pairwise(path):
            onward.setdefault(a, [])
            onward[a] += [] if b in onward[a] else [b]
    slots = max(len(to) for to in onward.values())
    slot_of = np.full((many, many), _NONE, np.uint8)
    for a, to in onward.items():
        slot_of[a, to] = np.arange(len(to))
    bounds = zeros(len(of_rows) * slots + 1, np.int64)
    _count_slots(indptr, indices, of_rows, of, slot_of, slots, bounds)
    np.cumsum(bounds, out=bounds)
    neighbours = zeros(max(1, int(bounds[-1])), np.int32)  # kernels read an entry before they check for one
    weights = zeros(0 if given is None else len(neighbours), np.float32)
    edges = indptr, indices, read_only(np.zeros(0, np.float32) if given is None else given)
    _fill_slots(*edges, of_rows, of, slot_of, slots, bounds, neighbours, weights)
    targets = neighbours if given is None else choices(bounds, neighbours, weights)
    widths = np.zeros(many, np.int64)
    widths[list(onward)] = [len(to) for to in onward.values()]
    ends = _may_end(of_rows, widths, slots, bounds)
    return TypedRows(bounds, targets, slots, ends), _paths(found, of, slot_of)


def _paths(found: Sequence[tuple[int, ...]], of: NDArray[np.uint8], slot_of: NDArray[np.uint8]) -> Paths:
    starts = [np.flatnonzero(of == path[0]).astype(np.int32) for path in found]
    first = np.cumsum([0, *(len(path) - 1 for path in found)])
    slot = [slot_of[a, b] for path in found for a, b in pairwise(path)]
    after = np.arange(1, first[-1] + 1)
    after[first[1:] - 1] = first[:-1]
    ends = np.cumsum([len(one) for one in starts])
    return Paths(np.concatenate(starts), ends, first[:-1], np.array(slot, np.int64), after)


@njit(nogil=True, cache=True)
def _count_slots(indptr: Any, indices: Any, of_rows: Any, of: Any, slot_of: Any, slots: int, bounds: Any) -> None:
    """Count each row's neighbours by slot, one place further on."""
    for v in range(of_rows.size):
        for i in range(indptr[v], indptr[v + 1]):
            slot = slot_of[of_rows[v], of[indices[i]]]
            if slot != _NONE:
                bounds[v * slots + slot + 1] += 1


@njit(nogil=True, cache=True)
def _fill_slots(
    indptr: Any,
    indices: Any,
    weights: Any,
    of_rows: Any,
    of: Any,
    slot_of: Any,
    slots: int,
    bounds: Any,
    into: Any,
    weights_into: Any,
) -> None:
    """List neighbours slot by slot, in their order."""
    at = np.empty(slots, np.int64)
    for v in range(of_rows.size):
        at[:] = bounds[v * slots : (v + 1) * slots]
        for i in range(indptr[v], indptr[v + 1]):
            slot = slot_of[of_rows[v], of[indices[i]]]
            if slot != _NONE:
                into[at[slot]] = indices[i]
                if weights.size:
                    weights_into[at[slot]] = weights[i]
                at[slot] += 1


@njit(nogil=True, cache=True)
def _may_end(of: Any, widths: Any, slots: int, bounds: Any) -> bool:
    """Whether a vertex of a kind from which walks go on to `widths` kinds has no neighbour of one of them."""
    for v in range(of.size):
        for slot in range(widths[of[v]]):
            if bounds[v * slots + slot] == bounds[v * slots + slot + 1]:
                return True
    return False
