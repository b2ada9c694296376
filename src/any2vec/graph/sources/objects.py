"""Edges from Python: pairs, dicts of neighbours, graphs of networkx and igraph, tables, data frames and arrays."""

import reprlib
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from any2vec.errors import Any2VecError, counted, is_installed, shown
from any2vec.graph.build import EdgeTable, ReadOptions, number_of, unread_noted, weight_column, weights_of_objects
from any2vec.graph.csr import Edges
from any2vec.graph.graph import Kinds, VertexIds, label_name, vertex_column, vertex_name, whole_numbers
from any2vec.graph.numbering import NO_COLON, kinds_of_names
from any2vec.graph.reading import EXPECTED, Chosen, chosen_columns, having, titled
from any2vec.graph.sources.arrow import from_arrow, is_plain, plain_table, selected
from any2vec.graph.sources.matrices import from_dense

is_networkx = having("is_multigraph", "is_directed", "adj", "nodes", "edges")
is_igraph = having("get_edgelist", "vcount", "is_directed", "vs", "es")


def is_view(source: Any) -> bool:
    """Whether an object is a dict of networkx, such as ``G.edges`` or ``G.adj``, whose values are attributes."""
    return hasattr(source, "items") and type(source).__module__.startswith("networkx.")


def refuse_view(source: Any, options: ReadOptions) -> NoReturn:
    """Raise an error that says what to give."""
    kind = type(source).__name__
    raise Any2VecError(f"a graph cannot be read from networkx' {kind}; give the graph itself, such as G for G.edges")


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
    """Take an edge from each item: a pair, or a triple with a weight, as the first is; names are for errors."""
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
    """Take edges, each once, from each key to its neighbours, which are a list, or a dict of weights."""
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


_FRAME = "the data frame"


def is_table(source: Any) -> bool:
    """Whether an object has columns that become arrays, as those of pandas, polars and Arrow."""
    return (hasattr(source, "columns") and hasattr(source, "to_numpy")) or (
        hasattr(source, "column_names") and hasattr(source, "column")
    )


def is_lazy(source: Any) -> bool:
    """Whether an object is a table that is not in memory: of Spark, dask, or polars' LazyFrame."""
    kind = type(source)
    in_memory = hasattr(kind, "to_numpy") or not (hasattr(kind, "columns") or hasattr(kind, "column_names"))
    return not in_memory and any(hasattr(kind, name) for name in _COMPUTED)


_COMPUTED = {"toPandas": ".toPandas(), or any2vec.spark.DeepWalk", "collect": ".collect()", "compute": ".compute()"}


def refuse_lazy(source: Any, options: ReadOptions) -> NoReturn:
    """Raise an error that says how a table gets into memory."""
    kind = type(source)
    how = next(how for name, how in _COMPUTED.items() if hasattr(kind, name))
    raise Any2VecError(f"a graph cannot be read from a {kind.__name__}, which is not in memory; give {how}")


def from_table(source: Any, options: ReadOptions) -> EdgeTable:
    """Take an edge from each row: of two columns, or of three, the third is the weight; of more, they are chosen.

    A frame whose index and columns are the same names is the matrix of a graph, as networkx makes it.
    """
    if options.columns is None and _is_adjacency(source):
        source = source[list(source.index)]
        table = from_dense(source.to_numpy(), options, _FRAME)
        names = [vertex_name(name, f"{_FRAME}, column {i:,}", "its name") for i, name in enumerate(source.columns)]
        table.names = names if table.kinds is None else table.names
        return table
    arrow = not hasattr(source, "to_numpy")
    names = list(source.column_names if arrow else source.columns)
    index = getattr(getattr(source, "index", None), "nlevels", 1) > 1
    advice = "frame.reset_index() makes columns of an index" if index else ""
    advice = advice or "choose them, such as frame[['source', 'target']]"
    chosen = chosen_columns(names, options, _FRAME, advice)
    if arrow or (hasattr(source, "to_arrow") and is_installed("pyarrow")):  # the latter is polars'
        table = selected(source if arrow else source.to_arrow(), chosen)
        if is_plain(table, chosen):
            return from_arrow(table, chosen, _FRAME)
    columns = [_column(source, place, names[place], arrow) for place in chosen.places]
    return _from_columns(_FRAME, [names[place] for place in chosen.places], columns, chosen, options)


def _is_adjacency(source: Any) -> bool:
    """Whether the rows of a frame have the names of its columns, and not only both the numbers that pandas gives."""
    index: Any = getattr(source, "index", None)
    if not getattr(index, "is_unique", False) or "RangeIndex" in {type(index).__name__, type(source.columns).__name__}:
        return False
    return len(index) == len(source.columns) and set(index) == set(source.columns)


def _from_structured(source: NDArray[Any], options: ReadOptions) -> EdgeTable:
    """Take an edge from each record of a structured array."""
    title, names = "the structured array", list(source.dtype.names or ())
    if source.ndim != 1:
        raise Any2VecError(f"{title} has {len(names):,} fields and shape {source.shape}; {EXPECTED}")
    chosen = chosen_columns(names, options, title)
    chosen_names = [names[place] for place in chosen.places]
    return _from_columns(title, chosen_names, [source[name] for name in chosen_names], chosen, options)


def _from_columns(
    title: str, names: list[Any], columns: list[NDArray[Any]], chosen: Chosen, options: ReadOptions
) -> EdgeTable:
    if (plain := plain_table(names, columns, chosen)) is not None:
        return from_arrow(plain, chosen, title)
    where = [f", column {shown(name)}" for name in names]
    fields = [vertex_column(columns[i], title + where[i], "row") for i in (0, 1)]
    if chosen.kinds is not None:
        kinds = [vertex_column(columns[i], title + where[i], "row") for i in (-2, -1)]
        pairs = zip(kinds, fields, where[-2:], where[:2], strict=True)
        fields = [_with_kinds(*of, title) for of in pairs]
    if chosen.weight is not None:
        fields.append(weight_column(columns[2], title + where[2]))
    table = from_pairs(zip(*fields, strict=True), options, title, "row", where[: len(fields)])
    table.columns = titled(names)
    table.kinds = None if chosen.kinds is None else kinds_of_names(table.names)
    return table


def _with_kinds(kinds: list[Any], vertices: list[Any], of_kind: str, of_vertex: str, title: str) -> list[str]:
    """Return the names of vertices with their kinds before them."""
    found = []
    for i, (given, vertex) in enumerate(zip(kinds, vertices, strict=True)):
        kind = vertex_name(given, f"{title}{of_kind}, row {i:,}", "a kind")
        if ":" in kind:
            raise Any2VecError(f"{title}{of_kind}, row {i:,}: the kind is {shown(kind)}; {NO_COLON}")
        found.append(f"{kind}:{vertex_name(vertex, f'{title}{of_vertex}, row {i:,}')}")
    return found


def _column(source: Any, place: int, name: Any, arrow: bool) -> NDArray[Any]:
    """Return a column by its place, if the table can say it: two may have one name."""
    if arrow:
        return np.asarray(source.column(place).to_numpy(zero_copy_only=False))
    if hasattr(source, "iloc"):
        column = source.iloc[:, place]
    else:
        column = source.to_series(place) if hasattr(source, "to_series") else source[name]
    found = np.asarray(column.to_numpy())
    if found.ndim != 1:
        raise Any2VecError(f"{_FRAME}, column {shown(name)}: has the shape {found.shape}; {EXPECTED}")
    return found


_ARRAY = "the array"
_AS_PAIRS = "a list of triples (source, target, weight), a data frame, or a sparse matrix of SciPy"


def is_array(source: Any) -> bool:
    """Whether an object is an array or becomes one, as tensors do."""
    return hasattr(source, "__array__") or hasattr(source, "__dlpack__")


def as_array(source: Any, name: str = _ARRAY) -> NDArray[Any]:
    """Convert a tensor, or another library's array, to NumPy's."""
    if isinstance(source, np.ndarray):
        return source
    sparse = getattr(source, "is_sparse", False)
    try:
        if sparse:
            raise TypeError("it is sparse")
        return np.asarray(source) if hasattr(source, "__array__") else np.from_dlpack(source)
    except Exception as error:  # what libraries raise, such as for a tensor on a GPU
        reason = " ".join(str(error).split())[:100].rstrip(".")
        kind = type(source).__name__
        raise Any2VecError(
            f"{name}: this {kind} does not become an array of NumPy ({reason}); give one, such as "
            f"edge_index.{'coalesce().indices()' if sparse else 'detach().cpu().long()'}.numpy()"
        ) from error


def from_array(source: Any, options: ReadOptions) -> EdgeTable:
    """Take edges from an array of integers or strings: of shape (E, 2), or of shape (2, E) as PyTorch Geometric's.

    An array of another shape is a matrix, if the options say that it joins rows to columns.
    """
    array = as_array(source)
    kind = array.dtype.kind
    if array.dtype.names:
        return _from_structured(array, options)
    if np.ma.is_masked(array):
        raise Any2VecError(f"{_ARRAY}: has masked entries; give the edges without them")
    if kind == "O" and array.ndim == 1:  # of tuples, as an index of pandas has them
        return from_pairs(array.tolist(), options, _ARRAY)
    if options.bipartite and array.ndim == 2 and 2 not in array.shape and kind in "biuf":
        return from_dense(array, options, _ARRAY)
    ends = _rows(array, tensor=array is not source)
    if kind in "OT":
        return from_pairs(ends.tolist(), options, _ARRAY)
    if options.weighted:
        raise Any2VecError(f"an array of edges has no weights; give {_AS_PAIRS}; or `weighted=False`")
    if kind == "f":
        ends = whole_numbers(ends, lambda i: f"{_ARRAY}, edge {i // 2:,}").reshape(-1, 2)
    if ends.dtype.kind == "i" and (ends < 0).any():
        row = int((ends < 0).any(axis=1).argmax())
        raise Any2VecError(f"{_ARRAY}, row {row:,}: {ends[row].tolist()} has a negative vertex")
    if kind == "U" and not ends.all():
        raise Any2VecError(f"{_ARRAY}, row {int((ends == '').any(axis=1).argmax()):,}: a vertex is an empty string")
    values, first, inverse = np.unique(ends.ravel(), return_index=True, return_inverse=True)
    order = np.argsort(first)  # by first occurrence
    rank = np.empty(len(order), np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    names = [str(value) for value in values[order].tolist()]
    return EdgeTable(_ARRAY, [Edges.of(rank[inverse])], names)


def _rows(array: NDArray[Any], *, tensor: bool) -> NDArray[Any]:
    """Return an array with an edge in each row; raise if its shape does not say where the ends are."""
    kind, shape = array.dtype.kind, array.shape
    what = f"{_ARRAY} has the shape {shape} and the type {array.dtype}"
    if array.ndim != 2 or kind not in "iufUOT" or 2 not in (shape if kind not in "OT" else (*shape, shape[1] - 1)):
        if array.ndim == 2 and shape[1] == 3 and kind in "iuf":
            raise Any2VecError(f"{what}: is the third column weights? Give an array of shape (E, 2), {_AS_PAIRS}")
        raise Any2VecError(
            f"{what}; expected integers or strings of shape (E, 2), an edge in each row, or of shape (2, E); give the "
            f"matrix of a graph as a sparse one of SciPy, or `bipartite=True` if it joins its rows to its columns"
        )
    if kind in "OT" and shape[1] in (2, 3):
        return array
    if shape == (2, 3) and not (tensor and kind in "iu"):  # a tensor of integers is an edge_index
        raise Any2VecError(
            f"{what}: is the third column weights, or is this the edge_index of three edges? Give its transpose, of "
            f"shape (3, 2), or {_AS_PAIRS}"
        )
    if shape == (2, 2):
        if tensor and not (array == array.T).all():
            (a, b), (c, d) = array.tolist()
            raise Any2VecError(
                f"{what}: its edges are {a} to {b} and {c} to {d} by rows, or {a} to {c} and {b} to {d} if it is an "
                f"edge_index; give .tolist() for the rows, .t().tolist() for an edge_index"
            )
        if kind == "f" and np.isin(array, (0, 1)).all():
            raise Any2VecError(
                f"{what}: is this the matrix of a graph? expected integers or strings of shape (E, 2), an edge in each "
                f"row; give the matrix of a graph as a sparse one of SciPy"
            )
        return array
    return array if shape[1] == 2 else array.T
