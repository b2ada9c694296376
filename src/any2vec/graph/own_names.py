"""Names of vertices whose kinds are numbered or named apart: the kind, a colon, and the name within it (user:5)."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from any2vec.errors import Any2VecError, shown
from any2vec.graph.build import EdgeTable
from any2vec.graph.graph import GROUP, Names
from any2vec.graph.kinds import Kinds
from any2vec.graph.names import names_of_vertices

__all__ = ["NO_COLON", "given_names", "kinds_in_turn", "kinds_of_names", "numbered_names", "own_names"]

NO_COLON = "expected a name without a colon, which ends the kind in the name of a vertex"


def numbered_names(kinds: Iterable[tuple[str, int]]) -> Names:
    """Return the names of vertices that are numbered from 0 within their kind: kinds with their numbers of vertices."""
    return _names(
        [b"%b:%d" % (kind.encode(), i) for i in range(first, min(first + GROUP, count))]
        for kind, count in kinds
        for first in range(0, count, GROUP)
    )


def own_names(names: Sequence[str], parts: Iterable[tuple[str, NDArray[Any]]]) -> Names:
    """Return the names of vertices of some kinds: of each kind, the places of its names within it in `names`."""
    return _names(
        [f"{kind}:{names[i]}".encode() for i in places[first : first + GROUP].tolist()]
        for kind, places in parts
        for first in range(0, len(places), GROUP)
    )


def kinds_in_turn(kinds: Sequence[tuple[str, int]]) -> Kinds:
    """Return the kinds of vertices that are ordered by kind."""
    counts = [count for _, count in kinds]
    return Kinds(tuple(kind for kind, _ in kinds), np.repeat(np.arange(len(kinds)), counts))


def kinds_of_names(names: Iterable[str]) -> Kinds:
    """Return the kinds of vertices whose names begin with them, and a colon."""
    return Kinds.of_vertices(name.partition(":")[0] for name in names)


def given_names(names: Any, table: EdgeTable) -> list[str]:
    """Return the names that the user gives the vertices of a source that numbers them, as many and distinct.

    `names` is a list; if the source has several kinds, lists in their order, or a dict of them.
    """
    kinds = table.numbered
    if kinds is None:
        which = "matrices, and of graphs of PyTorch Geometric and DGL"
        raise Any2VecError(f"{table.name}: its vertices have names; `names` is for those of {which}")
    if table.kinds is None:
        names = [names]
    elif isinstance(names, dict) and set(names) == {kind for kind, _ in kinds}:
        names = [names[kind] for kind, _ in kinds]
    if not isinstance(names, tuple | list) or len(names) != len(kinds):
        wanted = ", ".join(f"{count:,} of {kind}" for kind, count in kinds)
        raise Any2VecError(f"`names` is {shown(names)}; {table.name} needs {len(kinds)} lists: {wanted}")
    found: dict[str, str] = {}
    for (kind, count), several in zip(kinds, names, strict=True):
        of_kind = names_of_vertices(several, f"`names` of {kind}")
        if len(of_kind) != count:
            raise Any2VecError(f"`names` of {kind}: {len(of_kind):,} are given; {table.name} has {count:,}")
        for name in of_kind:
            if name in found:
                both = f"two of {kind}" if found[name] == kind else f"one of {found[name]} and one of {kind}"
                raise Any2VecError(f"`names`: {both} are called {name!r}; give each its own, such as {kind}:{name}")
            found[name] = kind
    return list(found)


def _names(groups: Iterable[list[bytes]]) -> Names:
    arena, lengths = bytearray(), [np.zeros(1, np.int64)]
    for group in groups:
        lengths.append(np.fromiter((len(name) + 1 for name in group), np.int64, len(group)))
        arena += b"\n".join(group) + b"\n"
    return Names(np.frombuffer(arena, np.uint8), np.cumsum(np.concatenate(lengths)))
