"""Edges from Python: pairs or triples, dicts of neighbours, and graphs of networkx and igraph."""

import reprlib
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from typing import Any, NoReturn

from any2vec.errors import Any2VecError, counted, shown
from any2vec.graph.build import EdgeTable, ReadOptions, number_of, unread_noted, weights_of_objects
from any2vec.graph.csr import Edges
from any2vec.graph.graph import Kinds
from any2vec.graph.names import VertexIds, label_name, vertex_name


def is_networkx(source: Any) -> bool:
    """Whether an object is a graph of networkx."""
    return all(hasattr(source, name) for name in ("is_multigraph", "is_directed", "adj", "nodes", "edges"))


def is_view(source: Any) -> bool:
    """Whether an object is a dict of networkx, such as ``G.edges`` or ``G.adj``, whose values are attributes."""
    return hasattr(source, "items") and type(source).__module__.startswith("networkx.")


def refuse_view(source: Any, options: ReadOptions) -> NoReturn:
    """Raise an error that says what to give."""
    kind = type(source).__name__
    raise Any2VecError(f"a graph cannot be read from networkx' {kind}; give the graph itself, such as G for G.edges")


def is_igraph(source: Any) -> bool:
    """Whether an object is a graph of igraph."""
    return all(hasattr(source, name) for name in ("get_edgelist", "vcount", "is_directed", "vs", "es"))


def from_networkx(graph: Any, options: ReadOptions) -> EdgeTable:
    """Take edges with their ``weight``, and the kinds of vertices from an attribute of theirs."""
    ids = {node: i for i, node in enumerate(graph.nodes)}
    pairs, weights = [], []
    for source, target, weight in graph.edges(data="weight"):
        pairs.append((ids[source], ids[target]))
        weights.append(weight)
    names = _named("the networkx graph", ids)
    first = next((dict(of) for *_, of in graph.edges(data=True)), {})
    table = _table("the networkx graph", pairs, weights, names, graph, options)
    table.notes = unread_noted(table.name, first, table.edges[0].weights, options.weighted)
    if options.kind is not None:
        kinds = dict(graph.nodes(data=options.kind))
        table.kinds = _kinds(table, [kinds[node] for node in ids], options.kind)
    return table


def from_igraph(graph: Any, options: ReadOptions) -> EdgeTable:
    """Take edges with their ``weight``; names are vertices' ``name``, else their numbers; kinds are an attribute."""
    names = graph.vs["name"] if "name" in graph.vs.attributes() else range(graph.vcount())
    pairs = graph.get_edgelist()
    weights = graph.es["weight"] if "weight" in graph.es.attributes() else [None] * len(pairs)
    first = graph.es[0].attributes() if pairs else {}
    table = _table("the igraph graph", pairs, weights, _named("the igraph graph", names), graph, options)
    table.notes = unread_noted(table.name, first, table.edges[0].weights, options.weighted)
    if options.kind is not None:
        if options.kind not in (has := graph.vs.attributes()):
            known = ", ".join(map(repr, has)) or "none"
            raise Any2VecError(f"{table.name}: vertices have no attribute {options.kind!r} (`kind`); they have {known}")
        table.kinds = _kinds(table, graph.vs[options.kind], options.kind)
    return table


def _kinds(table: EdgeTable, kinds: Iterable[Any], attribute: str) -> Kinds:
    """Make kinds of the value that each vertex has of an attribute."""

    def where(i: int) -> str:
        return f"{table.name}, vertex {table.names[i]!r}, attribute {attribute!r} (`kind`)"

    return Kinds.of_vertices(label_name(kind, where(i), "its kind") for i, kind in enumerate(kinds))


def _named(title: str, vertices: Iterable[Any]) -> list[str]:
    return [vertex_name(vertex, f"{title}, vertex {i:,}", "its name") for i, vertex in enumerate(vertices)]


def _table(
    title: str, pairs: list[tuple[int, int]], weights: list[Any], names: list[str], graph: Any, options: ReadOptions
) -> EdgeTable:
    if options.bipartite:
        how = "give the attribute of vertices that says their side, such as kind='bipartite'"
        raise Any2VecError(f"{title}: its edges have no first and second column, as `bipartite` needs; {how}")
    if len(set(names)) < len(names):
        name, count = Counter(names).most_common(1)[0]
        raise Any2VecError(f"{title}: {count} vertices are called {name!r}; give each its own name")

    def where(i: int) -> str:
        source, target = pairs[i]
        return f"{title}, edge {names[source]!r} to {names[target]!r}"

    edges = Edges.of(pairs, weights_of_objects(weights, options.weighted, where))
    return EdgeTable(title, [edges], names, bool(graph.is_directed()))


_EXPECTED = "expected a pair (source, target) or a triple (source, target, weight)"


def from_pairs(
    source: Iterable[Any],
    options: ReadOptions,
    name: str = "",
    item: str = "item",
    columns: Sequence[str] = ("", "", ""),
) -> EdgeTable:
    """Take an edge from each item: a pair, or a triple with a weight. By default the first decides which.

    `name`, `item` and `columns` say in errors what source, item and field are.
    """
    name = name or f"the {type(source).__name__}"
    allowed = (3,) if options.weighted else (2, 3)
    vertices = VertexIds()
    ends = array("i")
    weights = []
    try:
        items = iter(source)
    except TypeError as error:  # of an object that has the method to refuse, as a column of Spark
        raise Any2VecError(f"{name}: has no items ({shown(str(error))}); give pairs (source, target)") from error
    for i, fields in enumerate(items):
        where = f"{name}, {item} {i:,}"
        plain = type(fields) in (tuple, list)
        if not plain and not _has_fields(fields):
            raise Any2VecError(f"{where}: {shown(fields)} is a {type(fields).__name__}; {_EXPECTED}")
        if len(fields) not in allowed:
            as_first = f", as {item} 0" if len(allowed) == 1 and i else ""
            held = counted(len(fields), "field")
            raise Any2VecError(f"{where}: {reprlib.repr(fields)} has {held}; {_EXPECTED}{as_first}")
        if options.weighted is None:
            allowed = (len(fields),)
        if options.weighted is None and len(fields) == 3 and getattr(fields, "dtype", None) is not None:
            raise Any2VecError(f"{where}: an array of three: is the third its weight? `weighted` says so, or not")
        if not plain:
            fields = tuple(fields)  # noqa: PLW2901 (of a Series, fields[0] is what is labelled 0)
        ends.append(vertices.add(fields[0], where, columns[0]))
        ends.append(vertices.add(fields[1], where, columns[1]))
        if allowed == (3,):
            weights.append(fields[2])
    values = weights_of_objects(weights, allowed == (3,), lambda i: f"{name}, {item} {i:,}{columns[-1]}")
    return EdgeTable(name, [Edges.of(ends, values)], list(vertices.ids))


def _has_fields(item: Any) -> bool:
    """Whether an item may be an edge: a sequence or an array, and no table, whose items are columns."""
    if isinstance(item, str | bytes | Mapping | Set) or not hasattr(item, "__len__"):
        return False
    return not hasattr(item, "columns") and not hasattr(item, "column_names")


_ENDS, _WEIGHTS = ({"source", "target"}, {"src", "dst"}, {"from", "to"}), {"weight", "weights"}


def from_neighbours(source: Mapping[Any, Any], options: ReadOptions) -> EdgeTable:
    """Take edges from each key to its neighbours: a list of them, or a dict of their weights.

    An undirected edge may be listed from one end or from both, and counts once.
    """
    if {str(vertex).lower() for vertex in source} - _WEIGHTS in _ENDS:
        columns = ", ".join(reprlib.repr(key) for key in source)
        raise Any2VecError(
            f"the dict has the keys {columns}, as a table has columns; a dict is read as neighbours, "
            f"{{vertex: [neighbour, ...]}}; give a data frame, or pairs: zip(*columns.values())"
        )
    vertices = VertexIds()
    weights: dict[tuple[int, int], float | None] = {}
    for vertex, neighbours in source.items():
        where = f"the dict, vertex {reprlib.repr(vertex)}"
        start = vertices.add(vertex, where)
        for neighbour, given in _weighted(neighbours, where):
            end = vertices.add(neighbour, where)
            weight = None if given is None or options.weighted is False else number_of(given, where)
            pair = (start, end) if options.directed else (min(start, end), max(start, end))
            known = weights.setdefault(pair, weight)
            if known != weight:
                raise Any2VecError(
                    f"{where}: the edge to {reprlib.repr(neighbour)} has two different weights, {known} and {weight}; "
                    f"an undirected graph needs equal ones; give those, or `directed=True`"
                )
    names, pairs = list(vertices.ids), list(weights)

    def edge(i: int) -> str:
        return f"the dict, edge {names[pairs[i][0]]!r} to {names[pairs[i][1]]!r}"

    values = weights_of_objects(list(weights.values()), options.weighted, edge)
    return EdgeTable("the dict", [Edges.of(pairs, values)], names)


def _weighted(neighbours: Any, where: str) -> Iterator[tuple[Any, Any]]:
    if isinstance(neighbours, Mapping):
        return iter(neighbours.items())
    if isinstance(neighbours, str | bytes) or not hasattr(neighbours, "__iter__"):
        raise Any2VecError(
            f"{where}: {reprlib.repr(neighbours)} is a {type(neighbours).__name__}; expected a list of "
            f"neighbours, or a dict of their weights"
        )
    return ((neighbour, None) for neighbour in neighbours)
