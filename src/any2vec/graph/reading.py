"""What a user asks of the reader of a graph, checked: its options, columns of tables, vertices of two kinds."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from any2vec.cluster.machine import usable_cores
from any2vec.errors import Any2VecError, shown
from any2vec.graph.build import EdgeTable, ReadOptions
from any2vec.graph.csr import NONE, Edges
from any2vec.graph.graph import Kinds, Names
from any2vec.graph.numbering import NO_COLON, kinds_in_turn, names_by_kind
from any2vec.io.inputs import STANDARD_INPUT, InputFile, files_of


def having(*names: str) -> Callable[[Any], bool]:
    """Return what says whether an object has all of these attributes."""
    return lambda source: all(hasattr(source, name) for name in names)


EXPECTED = "expected the two ends of an edge, or the ends and a weight"
_KINDS = ("source_kind", "target_kind")
_USUAL = (("source", "target"), ("src", "dst"), ("from", "to"))
_WEIGHTS = ("weight", "weights")
_NAMED = 10  # columns named in a message


class Chosen(NamedTuple):
    """Places of columns in a table: the ends, the weight if it is read, and the kinds of the ends if there are such."""

    ends: tuple[int, int]
    weight: int | None
    kinds: tuple[int, int] | None

    @property
    def places(self) -> list[int]:
        """All of them, in this order."""
        weight = () if self.weight is None else (self.weight,)
        return [*self.ends, *weight, *(self.kinds or ())]


def _checked_columns(value: Any) -> tuple[str, ...] | None:
    """Return the columns that a user names, as a list or as one text ("user,item,rating")."""
    if value is None:
        return None
    columns = tuple(name.strip() for name in value.split(",")) if isinstance(value, str) else value
    right = isinstance(columns, tuple | list) and len(columns) in (2, 3)
    if not right or not all(isinstance(name, str) and name for name in columns) or len(set(columns)) < len(columns):
        what = "give two names of columns, source and target, or three, the last of the weight"
        raise Any2VecError(f"`columns` is {shown(value)}: {what}")
    return tuple(columns)


def chosen_columns(names: Sequence[Any], options: ReadOptions, title: str, advice: str = "") -> Chosen:
    """Choose columns: those the user names, else two or three, of more those with usual names; and those of kinds."""
    kinds = None
    wanted = options.columns
    if set(_KINDS) <= set(names) and not (wanted and set(_KINDS) & set(wanted)):
        kinds = names.index(_KINDS[0]), names.index(_KINDS[1])
        if options.bipartite:
            raise Any2VecError(f"{title}: has columns of kinds, {' and '.join(_KINDS)}; leave `bipartite` out")
    others = [place for place in range(len(names)) if place not in (kinds or ())]
    if wanted is not None:
        if absent := [name for name in wanted if name not in names]:
            raise Any2VecError(f"{title}: has no column {shown(absent[0])} (`columns`); it has {_listed(names)}")
        others = [names.index(name) for name in wanted]
    elif len(others) > 3:
        known = {str(names[place]).lower(): place for place in others}
        pair = next((pair for pair in _USUAL if set(pair) <= set(known)), ())
        weight = [name for name in _WEIGHTS if name in known][:1]
        others = [known[name] for name in (*pair, *weight)] if pair else others
    if not 2 <= len(others) <= 3:
        how = advice or f"it has {_listed(names)}; choose them by `columns`, such as `columns='source,target'`"
        raise Any2VecError(f"{title} has {len(others):,} columns; {EXPECTED}: {how}")
    if options.weighted and len(others) < 3:
        raise Any2VecError(f"{title} has no third column, of weights; {EXPECTED}")
    weight_place = others[2] if len(others) == 3 and options.weighted is not False else None
    return Chosen((others[0], others[1]), weight_place, kinds)


def titled(columns: list[Any]) -> tuple[str, str] | None:
    """Return what two columns are called, if these are two names."""
    one, other = columns[:2]
    return (one, other) if isinstance(one, str) and isinstance(other, str) and one and other and one != other else None


def _listed(names: Sequence[Any]) -> str:
    return ", ".join(shown(name) for name in names[:_NAMED]) + (", ..." if len(names) > _NAMED else "")


def _checked_bipartite(value: Any) -> bool | tuple[str, str] | None:
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
    return new, names_by_kind((kind, names, of) for kind, of in zip(called, places, strict=True)), kinds


def checked_options(source: Any, **given: Any) -> ReadOptions:
    """Check the options of `read_graph`, all but whether there is such a format; raise an error if one is wrong."""
    options = ReadOptions(**given)
    for name in ("directed", "weighted", "merge", "loops", "header"):
        value, optional = getattr(options, name), name in ("directed", "weighted")
        if not isinstance(value, bool | np.bool) and not (optional and value is None):
            values = "True, False or None" if optional else "True or False"
            raise Any2VecError(f"`{name}` is {shown(value)}: give {values}")
    for name in ("comments", "delimiter"):
        checked_text(name, getattr(options, name))
    threads: Any = given["threads"]
    if threads is not None and (isinstance(threads, bool) or not hasattr(threads, "__index__") or threads < 1):
        raise Any2VecError(f"`threads` is {shown(threads)}: must be at least 1")
    kinds = _checked_kinds(source, options.kinds, options.kind_prefix)
    checked_text("kind", options.kind)
    return options._replace(
        comments=options.comments or "",
        threads=int(threads or usable_cores()),
        kinds=kinds,
        bipartite=_checked_bipartite(options.bipartite),
        columns=_checked_columns(options.columns),
    )


def checked_text(name: str, value: Any) -> str | None:
    """Return an option that is a string or None; raise if it is something else."""
    if not isinstance(value, str | None):
        raise Any2VecError(f"`{name}` is {shown(value)}: give a string")
    return value


def graph_file(path: str | os.PathLike[str]) -> InputFile:
    """Return the one file of a path, or standard input; raise if it is missing or a directory."""
    if path != STANDARD_INPUT and Path(path).is_dir():
        raise Any2VecError(f"{path}: is a directory; give a file")
    return files_of(path if isinstance(path, str) else Path(path))[0]


def _checked_kinds(source: Any, kinds: Any, prefix: str | None) -> Any:
    """Open the file of kinds, if it is one; raise an error unless they are given in one way."""
    if kinds is not None and prefix is not None:
        raise Any2VecError("`kinds` and `kind_prefix` are given; give one")
    if isinstance(source, str) and isinstance(kinds, str) and source == kinds == STANDARD_INPUT:
        raise Any2VecError("the graph and `kinds` cannot both be standard input; give a file of one")
    checked_text("kind_prefix", prefix)
    return graph_file(kinds) if isinstance(kinds, str | os.PathLike) else kinds
