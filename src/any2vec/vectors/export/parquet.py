"""Parquet files, for pandas, polars, DuckDB and Spark."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from any2vec.errors import missing_extra
from any2vec.io.replaceable import Kind
from any2vec.vectors.export.target import Target, opened_by

if TYPE_CHECKING:
    from any2vec.vectors.vectors import Vectors

__all__ = ["TARGET", "pyarrow_parquet", "to_parquet"]


def pyarrow_parquet() -> Any:
    """Import pyarrow.parquet; raise if it is not installed."""
    try:
        import pyarrow.parquet
    except ImportError:
        raise missing_extra("pyarrow", "arrow") from None
    return pyarrow.parquet


def _holds(path: Path) -> bool:
    try:
        return {"word", "vector"} <= set(pyarrow_parquet().read_schema(path).names)
    except ValueError:  # pyarrow's ArrowInvalid
        return False


TARGET = Target(Kind("words and vectors in Parquet", _holds), (".parquet",))


@opened_by("pandas.read_parquet({python})")
def to_parquet(
    vectors: "Vectors", path: str | os.PathLike[str], *, top: int | None = None, force: bool = False
) -> None:
    """Write a Parquet file with a row for each word, in the order of ids.

    Its columns are those of `to_arrow`: "word", string; "count", int64, null if unknown; "vector", a list of D float32.

    Parameters
    ----------
    path : str or path
        The file, which ends in `.parquet`; an earlier one is replaced.
    top : int, optional
        Write the first words only, which are the most frequent.
    force : bool
        Replace a file that holds something else, too.

    Raises
    ------
    Any2VecError
        If pyarrow is not installed, a vector is not finite, or the file cannot be written.
    """
    parquet = pyarrow_parquet()
    with TARGET.writing(vectors, path, top, force) as (rows, part):
        parquet.write_table(rows.to_arrow(), part)
