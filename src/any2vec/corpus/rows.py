"""Sentences in what a Python program holds: an iterable of them, or a column of rows of many kinds."""

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from any2vec.corpus.raw_text import AS_IT_IS, RawText
from any2vec.errors import Any2VecError, shown

__all__ = ["no_column", "sentences_of"]

_ROWS = 1000  # of a table, taken at a time
_BYTES = 1 << 24  # of a table's column, likewise
_FEW = 10  # columns named in a message


def sentences_of(source: Any, column: str | None, raw: RawText = AS_IT_IS) -> Iterable[Any]:
    """Return the sentences of what the user gave: an iterable of them, or of rows, or a data frame.

    Strings are read as `raw` says; tokens are left as they are.
    """
    what = f"the corpus is a {type(source).__name__}"
    if isinstance(source, Mapping):
        raise Any2VecError(f"{what} with the keys {_names(source)}; give the sentences in one of them")
    if hasattr(source, "collect") and not isinstance(source, Iterable):
        if type(source).__module__.startswith("pyspark"):
            raise Any2VecError(f"{what} of Spark; any2vec.spark.Word2Vec trains on it")
        raise Any2VecError(f"{what}, whose rows are not computed yet; give what its collect() returns")
    names = getattr(source, "column_names", None)  # of Arrow, Hugging Face
    if names is None and isinstance(getattr(getattr(source, "schema", None), "names", None), list):
        names = source.schema.names  # of Arrow's readers, and sets of files
    if names is not None or (hasattr(source, "with_format") and column is not None):
        return _split(_of_table(what, source, names, column), str(column), raw)
    if hasattr(source, "columns") and hasattr(source, "__getitem__"):  # pandas, polars: its items are its columns
        return _split(_of_frame(what, source, column), str(column), raw)
    if not isinstance(source, Iterable):
        raise Any2VecError(f"the corpus is of type {type(source).__name__}; give a path, paths, or lists of tokens")
    if hasattr(source, "to_pylist") and hasattr(source, "null_count"):  # a column of Arrow
        if column is not None:
            raise Any2VecError(f"{what}, which has no columns; leave out `column`")
        return _tokens(_of_array(source), raw)
    return _tokens(source, raw) if column is None else _split(_values(source, column), column, raw)


def no_column(what: str, columns: Iterable[Any], column: str | None) -> Any2VecError:
    """Make the error for rows without the column that is asked for, or asked for none."""
    names = [str(name) for name in columns]
    example = "text" if "text" in names or not names else names[0]
    wrong = "" if column is None else f", not {shown(column)}"
    had = f"the columns {_names(names)}" if names else "no columns"
    return Any2VecError(f"{what} with {had}{wrong}; say which holds the sentences: column={shown(example)}")


def _of_frame(what: str, source: Any, column: str | None) -> Any:
    """Return a column of a data frame."""
    if column is None or column not in list(source.columns):
        raise no_column(what, source.columns, column)
    values = source[column]
    if hasattr(values, "columns"):
        raise _twice(what, column)
    return values


def _of_table(what: str, source: Any, names: Any, column: str | None) -> Iterable[Any]:
    """Return a column of a table: of Arrow, or of a data set of Hugging Face, whose other columns are not looked at."""
    transformed = hasattr(source, "format") and source.format.get("type") == "custom"
    if column is None or (names is not None and column not in names and not transformed):
        raise no_column(what, names, column)
    if names is not None and list(names).count(column) > 1:
        raise _twice(what, column)
    if transformed:  # by a function of the user's, which wants whole rows
        return _of_transformed(source, column)
    if hasattr(source, "with_format"):
        chosen = source if names is None else source.select_columns([column])
        if hasattr(source, "num_rows"):
            return _of_tables(chosen.with_format("arrow").iter(_ROWS), column)
        return _values(chosen.with_format(None), column)  # a stream, whose rows need not fit into one Arrow table
    if hasattr(source, "scanner"):
        return _of_tables(source.to_batches(columns=[column]), column)
    return _of_tables(source if hasattr(source, "read_next_batch") else [source], column)


def _of_transformed(source: Any, column: str) -> Iterator[Any]:
    for rows in source.iter(_ROWS):
        if column not in rows:
            raise no_column("the transformed corpus has rows", rows, column)
        yield from rows[column]


def _of_tables(tables: Iterable[Any], column: str) -> Iterator[Any]:
    """Yield a column of Arrow tables, or of record batches."""
    for table in tables:
        yield from _of_array(table.column(column))


def _of_array(values: Any) -> Iterator[Any]:
    """Yield the values of an Arrow array, chunked or not."""
    for part in getattr(values, "chunks", [values]):
        rows = min(_ROWS, max(1, _BYTES * len(part) // max(part.nbytes, 1)))
        for at in range(0, len(part), rows):
            yield from part.slice(at, rows).to_pylist()


def _values(rows: Iterable[Any], column: str) -> Iterator[Any]:
    for i, row in enumerate(rows):
        if not isinstance(row, Mapping):
            kind = type(row).__name__
            raise Any2VecError(f"item {i} of the corpus is of type {kind}; column={shown(column)} needs dicts")
        if column not in row:
            raise no_column(f"item {i} of the corpus is a {type(row).__name__}", row, column)
        yield row[column]


def _tokens(sentences: Iterable[Any], raw: RawText) -> Iterable[Any]:
    raw.refuse_to_tokenize("the corpus", sentences)
    return sentences


def _split(values: Iterable[Any], column: str, raw: RawText) -> Iterator[Any]:
    for i, value in enumerate(values):
        if isinstance(value, str):
            yield raw.words(value)  # as those of files
        elif _is_null(value):
            kind = type(value).__name__
            null = f"row {i:,} of the column {shown(column)} is null; leave such rows out"
            raise Any2VecError(f"sentence {i} is of type {kind} ({shown(value)}): {null}")
        else:
            raw.refuse_to_tokenize(f"row {i:,} of the column {shown(column)}", value)
            yield value


def _is_null(value: object) -> bool:
    if value is None or type(value).__name__ in ("NAType", "NaTType"):  # of pandas
        return True
    return isinstance(value, float) and math.isnan(value)  # NumPy's NaN, which pandas has in place of None


def _twice(what: str, column: str) -> Any2VecError:
    return Any2VecError(f"{what} with more than one column {shown(column)}; rename one of them")


def _names(columns: Iterable[Any]) -> str:
    names = [shown(name) for name in columns]
    return ", ".join([*names[:_FEW], "..."] if len(names) > _FEW else names)
