"""Metapaths: the kinds that a walk's vertices have, one after the other (Dong et al., "metapath2vec", KDD 2017).

A walk that comes to the end of a metapath, such as author-paper-author, begins it again.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from any2vec.errors import Any2VecError, shown
from any2vec.graph.graph import Kinds
from any2vec.llvm.compiled import njit

__all__ = ["check_metapaths", "count_between", "find_paths"]

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
    between = np.zeros((len(kinds.names), len(kinds.names)), np.int64)
    _count_between(indptr, indices, kinds.of, first, between)
    return between


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


@njit(nogil=True, cache=True)
def _count_between(indptr: Any, indices: Any, of: Any, first: int, between: Any) -> None:
    for v in range(indptr.size - 1):
        for i in range(indptr[v], indptr[v + 1]):
            between[of[first + v], of[indices[i]]] += 1
