"""Tables in files, Parquet and CSV: some rows at a time; a column as lines of text, perhaps behind labels."""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np

from any2vec.errors import Any2VecError, library, shown
from any2vec.io.compression import chunk_stream, compression_of, decompressed, reading_errors

_ROWS = 1 << 8  # decoded at a time, if they are not large: a small dictionary can stand for gigabytes
_TAKEN = 1 << 12, 1 << 20  # rows and bytes made text at a time
_BYTES = 1 << 24  # of rows decoded, or made text, at a time
_BUFFER = 1 << 22  # bytes of a file read at a time
_FEW = 10  # columns named in a message
_LINE_ENDS = r"[\n\v\f\r]"
_SPACE = r"[ \t\n\v\f\r]"

PARQUET, CSV, _TSV = ".parquet", ".csv", ".tsv"
"""Endings of tables; after that of CSV, one of compression may follow."""


class Labels(NamedTuple):
    """Where the labels of rows are, and what each begins with in a text."""

    column: str
    prefix: str


def table_ending(path: Path) -> str:
    """Return the ending by which a file is a table, or the empty string."""
    ending = path.suffix.lower()
    if compression_of(path):
        ending = path.with_suffix("").suffix.lower()
        return ending if ending in (CSV, _TSV) else ""
    return ending if ending in (PARQUET, CSV, _TSV) else ""


@contextmanager
def open_parquet(path: Path, **how: Any) -> Iterator[Any]:
    """Open a Parquet file, by options of pyarrow; what goes wrong with it while it is open names it."""
    with _errors(path), library("pyarrow.parquet", "arrow").ParquetFile(path, **how) as file:
        yield file


def release_parquet() -> None:
    """Give back the memory that pyarrow keeps of files that nobody has any longer: a group of rows, unpacked."""
    library("pyarrow", "arrow").default_memory_pool().release_unused()


@contextmanager
def open_table(path: Path, columns: Sequence[str] | None = None) -> Iterator[tuple[Iterator[Any], Callable[[], int]]]:
    """Open a table; yield its rows, of some columns or all, as record batches, and what counts the bytes read.

    All columns of CSV are strings.
    """
    if table_ending(path) == PARQUET:
        with open_parquet(path, buffer_size=_BUFFER) as file:
            check_columns(path, file.schema_arrow.names, columns)
            size, rows, seen = path.stat().st_size, max(file.metadata.num_rows, 1), 0

            def batches() -> Iterator[Any]:
                nonlocal seen
                with _errors(path):
                    for batch in _parquet_batches(file, columns):
                        yield batch
                        seen += len(batch)
                    if not seen:  # a table without rows has columns
                        yield _empty(file.schema_arrow)

            yield batches(), lambda: size * seen // rows  # as far as rows show it
    else:
        with _errors(path), path.open("rb") as stream:
            yield _csv_batches(path, stream, columns), stream.tell


@contextmanager
def open_column(path: Path, column: str, labels: Labels | None = None) -> Iterator[tuple[IO[bytes], Callable[[], int]]]:
    """Open a column of strings, or of lists of them, as text; yield it, and a function that counts the bytes read."""
    wanted = [column] if labels is None else [column, labels.column]
    with open_table(path, wanted) as (batches, done):

        def lines() -> Iterator[bytes]:
            row = 0
            for batch in batches:
                yield lines_of(path, batch, column, row, labels)
                row += len(batch)

        yield chunk_stream(lines(), 1 << 18), done


def table_columns(path: Path) -> str:
    """Name the columns of a Parquet file, for a message."""
    with open_parquet(path) as file:
        return _listed(file.schema_arrow.names)


def list_type(path: Path, column: str) -> str:
    """Name the type of a table's column if it holds lists; else return an empty text."""
    if table_ending(path) != PARQUET:
        return ""
    with open_parquet(path) as file:
        kinds = [field.type for field in file.schema_arrow if field.name == column]
        return next((str(kind) for kind in kinds if _is_list(kind)), "")


def lines_of(path: Path, batch: Any, column: str, first: int, labels: Labels | None = None) -> bytes:
    """Return the texts of rows as lines, perhaps each behind its labels; row 0 is `first` in messages."""
    import pyarrow as pa
    import pyarrow.compute as pc

    named = column
    with _errors(path):
        try:
            lines = _texts(batch.column(column), first)
            if labels is not None:
                named = labels.column
                other = f"(^|{_SPACE}){re.escape(labels.prefix)}[^{_SPACE[1:]}*"  # words that would be read as labels
                lines = pc.replace_substring_regex(lines, other, r"\1")
                lines = pc.binary_join_element_wise(_labels_of(batch.column(named), labels.prefix), lines, " ")
        except Any2VecError as error:
            raise Any2VecError(f"{path}: column {shown(named)}: {error}") from error
        rows = pa.ListArray.from_arrays(pa.array([0, len(lines)], pa.int32()), lines)
        return bytes(pc.binary_join(rows, "\n")[0].as_buffer()) + b"\n" if len(lines) else b""


def _texts(values: Any, first: int) -> Any:
    """Return an Arrow array of strings, or of lists of strings, as strings that are lines."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if values.null_count:
        raise Any2VecError(f"row {first + pc.index(pc.is_null(values), True).as_py():,} is null")
    kind = values.type
    if pa.types.is_dictionary(kind):
        values, kind = values.dictionary_decode(), kind.value_type
    if _is_list(kind):
        values = _joined(values, first)
    elif not _is_text(kind):
        raise Any2VecError(f"is of type {kind}; it must hold strings, or lists of strings")
    return pc.replace_substring_regex(values.cast(pa.string()), _LINE_ENDS, " ")  # a row is a sentence


def _labels_of(values: Any, prefix: str) -> Any:
    """Return labels, or lists of them, as they are in a text; rows without one have an empty string."""
    import pyarrow as pa
    import pyarrow.compute as pc

    lists = _is_list(values.type)
    names = values.flatten() if lists else values
    if pa.types.is_dictionary(names.type):
        names = names.dictionary_decode()
    if pa.types.is_floating(names.type) and pc.all(pc.equal(pc.floor(names), names)).as_py() is not False:
        names = names.cast(pa.int64())  # of a column that has nulls
    if not (_is_text(names.type) or pa.types.is_integer(names.type) or pa.types.is_boolean(names.type)):
        raise Any2VecError(f"is of type {values.type}; labels are strings, integers, or lists of them")
    names = pc.fill_null(pc.utf8_trim_whitespace(names.cast(pa.string())), "")
    names = pc.binary_join_element_wise(prefix, pc.replace_substring_regex(names, r"\s+", "_"), "")
    names = pc.if_else(pc.equal(names, prefix), "", names)
    if not lists:
        return names
    lengths = pc.fill_null(pc.list_value_length(values), 0).to_numpy()
    offsets = pa.array(np.append(0, np.cumsum(lengths)).astype(np.int32))
    return pc.binary_join(pa.ListArray.from_arrays(offsets, names), " ")


def _joined(values: Any, first: int) -> Any:
    """Join the tokens of rows by spaces."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_string_view(values.type.value_type):  # which pyarrow's functions do not know
        kind = pa.LargeListArray if pa.types.is_large_list(values.type) else pa.ListArray
        values = kind.from_arrays(values.offsets, values.values.cast(pa.string()))
    tokens = values.flatten()
    if not _is_text(tokens.type):
        raise Any2VecError(f"is of type {values.type}; it must hold strings, or lists of strings")
    wrong = pc.or_kleene(pc.is_null(tokens), pc.or_(pc.match_substring_regex(tokens, _SPACE), pc.equal(tokens, "")))
    if (at := pc.index(wrong, True).as_py()) >= 0:
        row = first + pc.list_parent_indices(values)[at].as_py()
        raise Any2VecError(f"row {row:,} has the token {shown(tokens[at].as_py())}: null, empty, or with whitespace")
    return pc.binary_join(values.cast(pa.list_(pa.string())), " ")


def _is_list(kind: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind))


def _is_text(kind: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _parquet_batches(file: Any, columns: Sequence[str] | None) -> Iterator[Any]:
    """Yield the rows of a Parquet file, some rows and some bytes at a time, however large rows are."""
    for number in range(file.metadata.num_row_groups):
        group = file.metadata.row_group(number)  # of its columns pyarrow cannot be asked: where damaged, it aborts
        rows = min(_ROWS, max(1, _BYTES * group.num_rows // max(group.total_byte_size, 1)))
        taken: list[Any] = []
        held = bytes_held = 0
        for batch in file.iter_batches(rows, row_groups=[number], columns=columns, use_threads=False):
            taken.append(batch)
            held, bytes_held = held + len(batch), bytes_held + batch.nbytes
            if held >= _TAKEN[0] or bytes_held >= _TAKEN[1]:
                yield from _slices(taken, bytes_held)
                taken, held, bytes_held = [], 0, 0
        if taken:
            yield from _slices(taken, bytes_held)


def _csv_batches(path: Path, stream: Any, columns: Sequence[str] | None) -> Iterator[Any]:
    """Yield the rows of a CSV file, with a line of titles, likewise."""
    pa, csv = library("pyarrow", "arrow"), library("pyarrow.csv", "arrow")
    parse = csv.ParseOptions(delimiter="\t" if table_ending(path) == _TSV else ",", newlines_in_values=True)
    read = csv.ReadOptions(block_size=_BYTES, use_threads=False)
    with _errors(path), reading_errors(str(path), compression_of(path)):
        text = decompressed(stream, compression_of(path))
        with csv.open_csv(text, read_options=read, parse_options=parse) as reader:
            names = reader.schema.names
        check_columns(path, names, columns)
        as_text = csv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.string()), include_columns=columns, strings_can_be_null=False
        )
        stream.seek(0)
        text = decompressed(stream, compression_of(path))
        with csv.open_csv(text, read_options=read, parse_options=parse, convert_options=as_text) as reader:
            rows = 0
            for batch in reader:
                yield from _slices([batch], batch.nbytes) if len(batch) else ()
                rows += len(batch)
            if not rows:
                yield _empty(reader.schema)


def _empty(schema: Any) -> Any:
    """Return a batch without rows, by which the columns of a table are known."""
    return library("pyarrow", "arrow").RecordBatch.from_pylist([], schema=schema)


def check_columns(path: Path, names: list[str], columns: Sequence[str] | None) -> None:
    """Raise an error unless each column is there, once."""
    for column in columns or ():
        if names.count(column) != 1:
            has = "more than one column" if column in names else "no column"
            raise Any2VecError(f"{path}: has {has} {shown(column)}; it has {_listed(names)}")


def _slices(batches: list[Any], size: int) -> Iterator[Any]:
    """Join batches of `size` bytes, and yield them in pieces that are not large."""
    import pyarrow as pa

    whole = pa.Table.from_batches(batches).combine_chunks()
    yield from whole.to_batches(max(1, min(_TAKEN[0], _BYTES * len(whole) // max(size, 1))))


@contextmanager
def _errors(path: Path) -> Iterator[None]:
    """Name the file in what pyarrow says is wrong with it."""
    pa, is_csv = library("pyarrow", "arrow"), table_ending(path) != PARQUET
    try:
        yield
    except MemoryError:
        raise Any2VecError(f"{path}: not enough memory to read its rows, which are large") from None
    except pa.ArrowNotImplementedError as error:
        why = " ".join(str(error).split())[:200]
        raise Any2VecError(f"{path}: this pyarrow cannot read it: {why}; try a newer one") from error
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        if isinstance(error, OSError) and error.errno is not None:  # the system's, not pyarrow's
            raise
        why = " ".join(str(error).split())[:200]
        if is_csv:
            raise Any2VecError(f"{path}: cannot be read as CSV: {why}") from error
        raise Any2VecError(f"{path}: not a complete parquet file: {why}; copy or make it again") from error


def _listed(names: list[str]) -> str:
    more = ", ..." if len(names) > _FEW else ""
    return ", ".join(map(repr, names[:_FEW])) + more if names else "none"
