"""Edges from the rows of tables: data frames of pandas and polars, Arrow's tables, NumPy's structured arrays."""

from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from any2vec.errors import Any2VecError, shown
from any2vec.graph.build import EdgeTable, ReadOptions
from any2vec.graph.names import vertex_column
from any2vec.graph.pairs import from_pairs
from any2vec.graph.weights import weight_column

__all__ = ["from_structured", "from_table", "is_lazy", "is_table", "refuse_lazy"]

_NAME = "the data frame"
_COLUMNS = "expected the two ends of an edge, or the ends and a weight"


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
    """Take an edge from each row of two columns, or of three: the third is the weight."""
    arrow = not hasattr(source, "to_numpy")
    names = list(source.column_names if arrow else source.columns)
    if not 2 <= len(names) <= 3:
        index = getattr(getattr(source, "index", None), "nlevels", 1) > 1
        advice = "frame.reset_index() makes columns of an index" if index else ""
        advice = advice or "choose them, such as frame[['source', 'target']]"
        raise Any2VecError(f"{_NAME} has {len(names):,} columns; {_COLUMNS}: {advice}")
    columns = [_column(source, place, name, arrow) for place, name in enumerate(names)]
    return _from_columns(_NAME, names, columns, options)


def from_structured(source: NDArray[Any], options: ReadOptions) -> EdgeTable:
    """Take an edge from each record of a structured array."""
    names = list(source.dtype.names or ())
    if not 2 <= len(names) <= 3 or source.ndim != 1:
        raise Any2VecError(f"the structured array has {len(names):,} fields and shape {source.shape}; {_COLUMNS}")
    return _from_columns("the structured array", names, [source[name] for name in names], options)


def _from_columns(title: str, names: list[Any], columns: list[NDArray[Any]], options: ReadOptions) -> EdgeTable:
    where = [f", column {shown(name)}" for name in names]
    fields = [vertex_column(columns[i], title + where[i], "row") for i in (0, 1)]
    if len(columns) == 3 and options.weighted is not False:
        fields.append(weight_column(columns[2], title + where[2]))
    elif options.weighted:
        raise Any2VecError(f"{title} has no third column, of weights; {_COLUMNS}")
    return from_pairs(zip(*fields, strict=True), options, title, "row", where)


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
        raise Any2VecError(f"{_NAME}, column {shown(name)}: has the shape {found.shape}; {_COLUMNS}")
    return found
