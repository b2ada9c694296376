"""Graphs of networkx and igraph, recognized by their methods: neither library is imported."""

from collections import Counter
from collections.abc import Iterable
from typing import Any, NoReturn

from any2vec.errors import Any2VecError
from any2vec.graph.build import EdgeTable, ReadOptions
from any2vec.graph.csr import Edges
from any2vec.graph.kinds import Kinds
from any2vec.graph.names import label_name, vertex_name
from any2vec.graph.weights import unread_noted, weights_of_objects

__all__ = ["from_igraph", "from_networkx", "is_igraph", "is_networkx", "is_view", "refuse_view"]


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
