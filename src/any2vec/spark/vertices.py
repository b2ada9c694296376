"""Columns of vertices: what a vertex is called, as everywhere (`any2vec.graph`)."""

import re
from collections.abc import Sequence
from pathlib import Path

from pyspark.sql import Column, DataFrame, functions
from pyspark.sql.types import DataType, DecimalType, DoubleType, FloatType, IntegralType, NullType, StringType

from any2vec.errors import Any2VecError, shown

__all__ = ["EDGES", "check_vertices", "column_named", "of_frame", "vertex_column"]

EDGES = ("any2vec_source", "any2vec_target", "any2vec_weight")
"""Columns of the Parquet files in which executors find the edges of a data frame."""

_EXACT = {FloatType: 2.0**24, DoubleType: 2.0**53}  # from there on, not all integers can be told apart


def column_named(name: str) -> Column:
    """Return a column by its whole name, which may have dots."""
    quoted = name.replace("`", "``")
    return functions.col(f"`{quoted}`")


def vertex_column(name: str, kind: DataType) -> Column:
    """Return a column of vertices as strings; numbers that are whole are written as integers, whatever their type."""
    column = column_named(name)
    text = column.cast("string")
    if not isinstance(kind, DoubleType | FloatType | DecimalType):
        return text
    return functions.when(_whole(column, kind), column.try_cast("decimal(38,0)").cast("string")).otherwise(text)


def check_vertices(dataset: DataFrame, name: str, kind: DataType) -> None:
    """Raise an Any2VecError if a column does not hold vertices: its type, or a number that is not whole."""
    if not isinstance(kind, StringType | IntegralType | NullType | DoubleType | FloatType | DecimalType):
        raise Any2VecError(f"column {name!r} is of type {kind.simpleString()}; vertices are strings or whole numbers")
    if not isinstance(kind, DoubleType | FloatType | DecimalType):
        return
    column = functions.col("vertex")
    wrong = dataset.select(column_named(name).alias("vertex")).where(~_whole(column, kind)).head()
    if wrong:
        raise Any2VecError(
            f"column {name!r} has the vertex {wrong[0]}, not a whole number, or too large for {kind.simpleString()}; "
            "give strings or integers"
        )


def _whole(column: Column, kind: DataType) -> Column:
    """Return whether numbers are whole, and their type tells integers apart; null where they are."""
    whole = column % functions.lit(1).cast(kind) == 0
    most = _EXACT.get(type(kind))
    return whole if most is None else whole & (functions.abs(column) < most)


def of_frame(message: str, edges: Path, columns: Sequence[str]) -> str:
    """Let an error of reading the files of edges name the data frame, and its columns as the user does."""
    found = re.sub(rf"{re.escape(str(edges))}(/[^/,: ]+\.parquet)?", "the data frame", message)
    found = re.sub(r"(?<=the data frame), row [\d,]+|(?<='), row [\d,]+", "", found)  # of a file that the user has not
    for ours, theirs in zip(EDGES, columns, strict=False):
        found = found.replace(shown(ours), shown(theirs))
    return found
