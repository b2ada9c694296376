"""Edges by the kinds that they join: HeteroData of PyTorch Geometric, graphs of DGL, and dicts of tables by kinds.

PyTorch Geometric and DGL are not imported: their graphs are recognized by their attributes.
"""

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from any2vec.errors import Any2VecError, shown
from any2vec.graph.build import EdgeTable, ReadOptions, checked_weights, unread_noted
from any2vec.graph.csr import Edges, joined, once
from any2vec.graph.numbering import NO_COLON, kinds_in_turn, kinds_of_names, numbered_names, plain_names
from any2vec.graph.sources.objects import as_array, from_array, from_table, is_array, is_table

_NAME = "the Data"


def from_data(source: Any, options: ReadOptions) -> EdgeTable:
    """Take the edges of `edge_index`, weighted by `edge_weight` if it is there, each once if undirected."""
    given = getattr(source, "edge_index", None)
    if given is None:
        raise Any2VecError(f"{_NAME}: has no edge_index; give its adjacency matrix as a sparse one of SciPy")
    if options.bipartite or (callable(bipartite := getattr(source, "is_bipartite", None)) and bipartite()):
        how = "give data.edge_index with `bipartite=True`"
        raise Any2VecError(f"{_NAME}: joins vertices of two types, each numbered from 0; {how}")
    ends = _checked_ends(given, _NAME)
    vertices = _checked_size(getattr(source, "num_nodes", None), int(ends.max(initial=-1)) + 1, _NAME)
    weights = _checked_tensor_weights(getattr(source, "edge_weight", None), ends, options, _NAME)
    others = {"edge_attr": getattr(source, "edge_attr", None)}
    notes = unread_noted(_NAME, others, weights, options.weighted, "edge_weight")
    sources, targets = ends.astype(np.int32)
    edges = Edges(sources, targets, weights)
    edges, both = (edges, 0) if options.directed else once(edges, vertices, _both)
    return EdgeTable(_NAME, [edges], plain_names(vertices), notes=notes, numbered=[("vertex", vertices)], once=both)


def _checked_ends(given: Any, name: str) -> NDArray[Any]:
    """Return an `edge_index` as an array of shape (2, E), of integers from 0."""
    ends = as_array(given, f"{name}, edge_index")
    if ends.ndim != 2 or ends.shape[0] != 2 or ends.dtype.kind not in "iu":
        raise Any2VecError(
            f"{name}: edge_index has the shape {ends.shape} and the type {ends.dtype}; expected integers of "
            f"shape (2, E)"
        )
    if ends.size and ends.min() < 0:
        raise Any2VecError(f"{name}: edge_index holds {ends.min()}; vertices are numbered from 0")
    return ends


def _checked_size(stored: Any, needed: int, name: str) -> int:
    """Return the number of vertices: `num_nodes`, which is `stored`, or as many as the edges need."""
    if stored is None and needed < 2**31:
        return needed
    stored = needed if stored is None else stored
    if isinstance(stored, bool) or not hasattr(stored, "__index__"):
        raise Any2VecError(f"{name}: num_nodes is {stored!r}; expected an integer")
    if int(stored) < needed or int(stored) >= 2**31:
        limit = "a vertex of edge_index is not below it" if int(stored) < needed else "at most 2^31 - 1 are supported"
        raise Any2VecError(f"{name}: num_nodes is {int(stored):,}; {limit}")
    return int(stored)


def _checked_tensor_weights(
    given: Any, ends: NDArray[Any], options: ReadOptions, name: str
) -> NDArray[np.float32] | None:
    """Return the weights of edges; None if there are none, or they are not read."""
    if options.weighted is False or (given is None and not options.weighted):
        return None
    if given is None:
        raise Any2VecError(f"{name}: has no edge_weight; set it, such as to edge_attr[:, 0], or `weighted=False`")
    weights = as_array(given, f"{name}, edge_weight")
    if weights.size != ends.shape[1] or weights.dtype.kind not in "iuf":
        raise Any2VecError(
            f"{name}: edge_weight has the shape {weights.shape} and the type {weights.dtype}; expected a number "
            f"for each of {ends.shape[1]:,} edges"
        )
    return checked_weights(weights.reshape(-1), lambda i: f"{name}, edge {i:,}")


def _both(source: int, target: int) -> str:
    return f"{_NAME}: {source} to {target} and back"


class _Relation(NamedTuple):
    """Edges of a type, between vertices that are numbered from 0 within their kind."""

    name: str  # for errors
    key: tuple[str, ...]  # the kinds that it joins, and between them its name, if it has one
    ends: NDArray[Any]
    weights: NDArray[np.float32] | None


def from_hetero_data(source: Any, options: ReadOptions) -> EdgeTable:
    """Take the edges of all types, each once if undirected; the types of vertices are their kinds."""
    title = f"the {type(source).__name__}"
    relations, notes = [], list[str]()
    for kind in source.edge_types:
        store = source[kind]
        name = f"{title}, {kind!r}"
        given = getattr(store, "edge_index", None)
        if given is None:
            raise Any2VecError(f"{name}: has no edge_index; set it, such as to its adjacency matrix' coordinates")
        ends = _checked_ends(given, name)
        weights = _checked_tensor_weights(getattr(store, "edge_weight", None), ends, options, name)
        relations.append(_Relation(name, kind, ends, weights))
        others = {"edge_attr": getattr(store, "edge_attr", None)}
        notes += unread_noted(name, others, weights, options.weighted, "edge_weight")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of PyTorch Geometric, where a type says no number of vertices
        sizes = {kind: getattr(source[kind], "num_nodes", None) for kind in list(source.node_types)}
    return _joined(title, relations, sizes, options, notes)


def from_dgl(source: Any, options: ReadOptions) -> EdgeTable:
    """Take the edges of all types, weighted by their data `weight`; types of vertices, if several, are kinds."""
    title = f"the {type(source).__name__}"
    relations, notes = [], list[str]()
    for kind in source.canonical_etypes:
        name = f"{title}, {kind!r}"
        pair = [as_array(ends, name) for ends in source.edges(etype=kind)]
        ends = _checked_ends(np.stack(pair), name)
        data = dict(source.edges[kind].data)
        weights = _checked_tensor_weights(data.get("weight"), ends, options, name)
        relations.append(_Relation(name, kind, ends, weights))
        notes += unread_noted(name, data, weights, options.weighted)
    return _joined(title, relations, {kind: source.num_nodes(kind) for kind in source.ntypes}, options, notes)


def _joined(
    title: str, relations: list[_Relation], sizes: dict[str, Any], options: ReadOptions, notes: list[str]
) -> EdgeTable:
    """Make one graph of edges of several types."""
    if options.bipartite:
        raise Any2VecError(f"{title}: says the kinds of its vertices itself; leave `bipartite` out")
    if not relations:
        raise Any2VecError(f"{title}: has no edges; expected at least one")
    kinds = _sized(title, relations, sizes)
    vertices = sum(count for _, count in kinds)
    if vertices >= 2**31:
        raise Any2VecError(f"{title}: has {vertices:,} vertices; at most 2^31 - 1 are supported")
    starts = np.cumsum([0] + [count for _, count in kinds[:-1]]).tolist()
    first = {kind: start for (kind, _), start in zip(kinds, starts, strict=True)}
    weighted = [relation for relation in relations if relation.weights is not None]
    if weighted and len(weighted) < len(relations):
        lacks = next(relation.name for relation in relations if relation.weights is None)
        raise Any2VecError(f"{lacks}: has no weights, but {weighted[0].name} has; give both, or `weighted=False`")
    typed = len(kinds) > 1
    names = numbered_names(kinds) if typed else plain_names(vertices)

    def both(source: int, target: int) -> str:
        return f"{title}: {names[source]} to {names[target]} and back"

    numbered = []
    for r in relations:
        sources, targets = ((r.ends[side] + first[r.key[side]]).astype(np.int32) for side in (0, -1))
        numbered.append(Edges(sources, targets, r.weights))
    edges = numbered if options.directed else _each_once([r.key for r in relations], numbered, vertices, both)
    typed_as = kinds_in_turn(kinds) if typed else None
    return EdgeTable(title, edges, names, notes=notes, kinds=typed_as, numbered=kinds)


def _each_once(
    keys: Sequence[tuple[str, ...]],
    edges: Sequence[Edges],
    vertices: int,
    where: Callable[[int, int], str] | None,
) -> list[Edges]:
    """List undirected edges once that a relation and its own reverse both have, from the smaller end (see `once`).

    The reverse of a relation joins its kinds the other way round, and has its name, or this name after ``rev_``, as
    ToUndirected calls it. Edges of other relations are edges of their own, whose weights are added up.
    """
    left = {key: once(block, vertices, where)[0] for key, block in zip(keys, edges, strict=True)}
    for key in keys:
        source, *name, target = key
        usual = [(target, *name, source), *((target, f"rev_{known}", source) for known in name)]
        reverse = next((other for other in usual if other in left and other != key), None)
        if reverse is not None and key in left:
            one, other = left[key], left.pop(reverse)
            other = other._replace(sources=other.targets, targets=other.sources)
            left[key], _ = once(joined([one, other]), vertices, where)
    return list(left.values())


def _sized(title: str, relations: list[_Relation], sizes: dict[str, Any]) -> list[tuple[str, int]]:
    """Return kinds and their numbers of vertices: those of `sizes`, or where that is None as many as edges need."""
    needed = dict.fromkeys(sizes, 0)
    for relation in relations:
        for kind, column in zip((relation.key[0], relation.key[-1]), relation.ends, strict=True):
            needed[kind] = max(needed.get(kind, 0), int(column.max(initial=-1)) + 1)
    return [(kind, _checked_size(sizes.get(kind), count, f"{title}, {kind!r}")) for kind, count in needed.items()]


def has_edges_by_kinds(source: Any) -> bool:
    """Whether an object is a dict of tables or arrays by the kinds that their edges join: (user, item) or a triple."""
    if not isinstance(source, Mapping) or not source:
        return False
    if not all(is_table(edges) or (is_array(edges) and getattr(edges, "ndim", 0) == 2) for edges in source.values()):
        return False
    return all(isinstance(key, tuple) and len(key) in (2, 3) and {*map(type, key)} == {str} for key in source)


def from_edges_by_kinds(source: Mapping[tuple[str, ...], Any], options: ReadOptions) -> EdgeTable:
    """Take the edges of tables, or arrays, by the kinds that they join; vertices are called by kind and name."""
    ids: dict[str, int] = {}
    edges, weighted = [], {}
    if options.bipartite:
        raise Any2VecError("the dict: says the kinds of its vertices itself; leave `bipartite` out")
    for key, value in source.items():
        for kind in (key[0], key[-1]):
            if not kind or ":" in kind:
                raise Any2VecError(f"the dict, key {shown(key)}: the kind is {shown(kind)}; {NO_COLON}")
        try:
            table = from_table(value, options) if is_table(value) else from_array(value, options)
        except Any2VecError as error:
            raise Any2VecError(f"the dict, key {shown(key)}: {error}") from error
        if table.kinds is not None:
            raise Any2VecError(f"the dict, key {shown(key)}: its table has columns of kinds, too; leave these out")
        blocks = [
            Edges(_numbered(ids, key[0], sources, table), _numbered(ids, key[-1], targets, table), weights)
            for sources, targets, weights in table.edges
        ]
        edges.append(joined(blocks))
        weighted[edges[-1].weights is not None] = key
    if len(weighted) > 1:
        reason = f"{shown(weighted[True])} has weights, {shown(weighted[False])} has none"
        raise Any2VecError(f"the dict: {reason}; give both, or `weighted=False`")
    names = list(ids)
    if not options.directed:
        edges = _each_once(list(source), edges, len(names), None)
    return EdgeTable("the dict", edges, names, kinds=kinds_of_names(names), columns=table.columns)


def _numbered(ids: dict[str, int], kind: str, column: NDArray[np.int32], table: EdgeTable) -> NDArray[np.int32]:
    """Return the numbers of vertices of a kind, which are added to `ids` by kind and name."""
    places, first = np.unique(column, return_index=True)
    new = np.zeros(len(table.names), np.int32)
    for place in places[np.argsort(first)].tolist():
        new[place] = ids.setdefault(f"{kind}:{table.names[place]}", len(ids))
    return new[column]
