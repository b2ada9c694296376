"""Metapaths: the kinds that a walk's vertices have, one after the other (Dong et al., "metapath2vec", KDD 2017).

A walk that comes to the end of a metapath, such as author-paper-author, begins it again.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numba import int64
from numpy.typing import NDArray

from any2vec.errors import Any2VecError, shown
from any2vec.graph.graph import Kinds, entries_by_rows
from any2vec.io.memory import read_only, zeros
from any2vec.llvm.compiled import njit
from any2vec.walks.tables import Entries, choices

_SIGN = "-"
_USUAL = "such as author-paper-author"


def check_metapaths(metapaths: Any) -> list[str | Sequence[str]]:
    """Return metapaths as a list, an empty one for None; raise if they are none, before a graph is read."""
    given: Any = [] if metapaths is None else [metapaths] if isinstance(metapaths, str) else metapaths
    if not isinstance(given, list | tuple):
        raise Any2VecError(f"`metapath` is {shown(metapaths)}; give one, {_USUAL}, or a list of them")
    for path in given:
        kinds = path.split(_SIGN) if isinstance(path, str) else path
        if not isinstance(kinds, list | tuple) or not all(isinstance(kind, str) and kind for kind in kinds):
            raise Any2VecError(f"`metapath` has {shown(path)}; give kinds with {_SIGN} between them, {_USUAL}")
        if len(kinds) < 2:
            raise Any2VecError(f"`metapath` has {shown(path)}; it needs two kinds or more, {_USUAL}")
    return list(given)


def find_paths(
    metapaths: Sequence[str | Sequence[str]], kinds: Kinds | None, edges_between: Callable[[Kinds], NDArray[np.int64]]
) -> list[tuple[int, ...]]:
    """Return the kinds of each metapath by their numbers, checked: an edge must follow each step."""
    if kinds is None:
        raise Any2VecError(
            f"`metapath` is {_spelled(metapaths[0])!r}, but vertices have no kinds: read the graph with `kinds`"
        )
    found = [_numbers(path, kinds) for path in metapaths]
    between = edges_between(kinds)
    for path in found:
        for a, b in pairwise(path):
            if not between[a, b]:
                raise Any2VecError(_no_edge(path, a, b, between[a], kinds.names))
    return found


def count_between(indptr: NDArray[np.int64], indices: NDArray[np.int32], kinds: Kinds, first: int) -> NDArray[np.int64]:
    """Count the edges from each kind to each, of the rows of vertices from `first` on."""
    many = len(kinds.names)
    between = np.zeros(many * many, np.int64)
    for rows, neighbours in entries_by_rows(indptr, indices, first):
        between += np.bincount(many * kinds.of[rows].astype(np.int64) + kinds.of[neighbours], minlength=many * many)
    return between.reshape(many, many)


def _listed(names: Iterable[str]) -> str:
    """List names for a message: ten at most."""
    found = sorted(names)
    return ", ".join(found[:10]) + (f" and {len(found) - 10:,} more" if len(found) > 10 else "")


def _numbers(path: str | Sequence[str], kinds: Kinds) -> tuple[int, ...]:
    numbers = {name: i for i, (name, many) in enumerate(zip(kinds.names, kinds.counts.tolist(), strict=True)) if many}
    names = _split(path, numbers) if isinstance(path, str) else path
    unknown = [name for name in names if name not in numbers]
    if unknown:
        there = _listed(numbers)
        raise Any2VecError(
            f"the metapath {_spelled(path)} has {unknown[0]!r}, which is no kind of a vertex; there are {there}"
        )
    if names[0] != names[-1]:
        how = _SIGN.join([*names, *names[-2::-1]])
        raise Any2VecError(
            f"the metapath {_spelled(path)} does not end as it begins; walks repeat it, so it must end "
            f"with {names[0]!r}, such as {how}"
        )
    return tuple(numbers[name] for name in names)


def _split(path: str, names: Iterable[str]) -> list[str]:
    """Split a metapath into kinds, whose names may hold the sign between them."""
    ends: dict[int, list[str]] = {0: []}  # how the text up to there can be kinds
    for at in range(len(path)):
        for name in names:
            text = name + _SIGN
            if at in ends and (path + _SIGN).startswith(text, at):
                ends.setdefault(at + len(text), [*ends[at], name])
    return ends.get(len(path) + 1) or path.split(_SIGN)


def _spelled(path: str | Sequence[str]) -> str:
    return path if isinstance(path, str) else _SIGN.join(path)


def _no_edge(path: Sequence[int], a: int, b: int, onward: NDArray[np.int64], names: Sequence[str]) -> str:
    there = _listed(names[kind] for kind in np.flatnonzero(onward).tolist())
    others = f"edges from {names[a]!r} lead to {there}" if there else f"no edges lead from {names[a]!r}"
    spelled = _SIGN.join(names[kind] for kind in path)
    return f"no edge follows the metapath {spelled} from {names[a]!r} to {names[b]!r}; {others}"


_NONE = 255


class Paths(NamedTuple):
    """Where walks of all metapaths start, and where they go on to; metapaths lie one after the other in `slot`."""

    starts: NDArray[np.int32]  # vertices of the first kind of each metapath
    ends: NDArray[np.int64]  # where the starts of each metapath end
    first: NDArray[np.int64]  # each metapath's first step
    slot: NDArray[np.int64]  # of each step: its place among the steps from its kind
    after: NDArray[np.int64]  # of each step: the step after it
    slots: int  # the most kinds that walks go on to from one kind


_NOTHING = np.zeros(0, np.int64)
NO_PATHS = Paths(np.zeros(0, np.int32), _NOTHING, _NOTHING, _NOTHING, _NOTHING, 1)


@njit(inline="always")
def start_on_path(place: int, paths: Paths) -> tuple[int, int]:
    """Vertex at which the walk starts that has that place in the starts of all metapaths, and its first step."""
    path = 0
    while place >= paths.ends[path]:
        path += 1
    return int64(paths.starts[place]), paths.first[path]


class TypedRows(NamedTuple):
    """Neighbours by the kind that a walk goes on to."""

    bounds: NDArray[np.int64]  # of vertex v for slot s: entries bounds[v * slots + s] to bounds[v * slots + s + 1] - 1
    targets: NDArray[Any]  # neighbours; of a weighted graph `choices`
    ends: bool  # whether a walk may come to a vertex from which it cannot go on


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
    empty = (bounds[1:] == bounds[:-1]).reshape(-1, slots)
    ends = any(bool(empty[widths[of_rows] > slot, slot].any()) for slot in range(slots))
    return TypedRows(bounds, targets, ends), _paths(found, of, slot_of, slots)


def _paths(found: Sequence[tuple[int, ...]], of: NDArray[np.uint8], slot_of: NDArray[np.uint8], slots: int) -> Paths:
    starts = [np.flatnonzero(of == path[0]).astype(np.int32) for path in found]
    first = np.cumsum([0, *(len(path) - 1 for path in found)])
    slot = [slot_of[a, b] for path in found for a, b in pairwise(path)]
    after = np.arange(1, first[-1] + 1)
    after[first[1:] - 1] = first[:-1]
    ends = np.cumsum([len(one) for one in starts])
    return Paths(np.concatenate(starts), ends, first[:-1], np.array(slot, np.int64), after, slots)


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
