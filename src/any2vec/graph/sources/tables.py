"""Edges from the rows of tables, of data frames and of arrays."""

from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from any2vec.errors import Any2VecError, is_installed, shown
from any2vec.graph.build import EdgeTable, ReadOptions, weight_column
from any2vec.graph.csr import Edges
from any2vec.graph.names import vertex_column, vertex_name, whole_numbers
from any2vec.graph.numbering import NO_COLON, kinds_of_names
from any2vec.graph.reading import EXPECTED, Chosen, chosen_columns, titled
from any2vec.graph.sources.arrow import from_arrow, is_plain, plain_table, selected
from any2vec.graph.sources.matrices import from_dense
from any2vec.graph.sources.objects import from_pairs

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
