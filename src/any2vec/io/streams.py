"""Input files as streams of bytes: pipes, standard input, columns of Parquet files."""

import io
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from types import ModuleType
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from any2vec.errors import Any2VecError, missing_extra, shown
from any2vec.io.compression import chunk_stream, decompressed, reading_errors
from any2vec.io.inputs import InputFile

_ROWS = 1 << 8  # decoded at a time, if they are not large: a small dictionary can stand for gigabytes
_TAKEN = 1 << 12, 1 << 20  # rows and bytes made text at a time
_BYTES = 1 << 24  # of rows decoded, or made text, at a time
_BUFFER = 1 << 22  # bytes of a file read at a time
_FEW = 10  # columns named in a message
_LINE_ENDS = r"[\n\v\f\r]"
_SPACE = r"[ \t\n\v\f\r]"


@contextmanager
def open_parquet(path: Path, **how: Any) -> Iterator[Any]:
    """Open a Parquet file, by options of pyarrow; what goes wrong with it while it is open names it."""
    with _errors(path), _pyarrow().parquet.ParquetFile(path, **how) as file:
        yield file


def release_parquet() -> None:
    """Give back the memory that pyarrow keeps of files that nobody has any longer: a group of rows, unpacked."""
    _pyarrow().default_memory_pool().release_unused()


@contextmanager
def open_column(path: Path, column: str) -> Iterator[tuple[IO[bytes], Callable[[], int]]]:
    """Open a column of strings, or of lists of them, as text; yield it, and a function that counts the bytes read."""
    with open_parquet(path, buffer_size=_BUFFER) as file:
        names = file.schema_arrow.names
        if names.count(column) != 1:
            has = "more than one column" if column in names else "no column"
            raise Any2VecError(f"{path}: has {has} {shown(column)}; it has {_listed(names)}")
        size, rows, row = path.stat().st_size, file.metadata.num_rows, 0

        def lines() -> Iterator[bytes]:
            nonlocal row
            with _errors(path):
                for values in _parts(file, column):
                    try:
                        text = arrow_lines(values, row)
                    except Any2VecError as error:
                        raise Any2VecError(f"{path}: column {shown(column)}: {error}") from error
                    row += len(values)
                    yield text

        yield chunk_stream(lines(), 1 << 18), lambda: size * row // max(rows, 1)  # as far as rows show it


def parquet_columns(path: Path) -> str:
    """Name the columns of a Parquet file, for a message."""
    with open_parquet(path) as file:
        return _listed(file.schema_arrow.names)


def list_type(path: Path, column: str) -> str:
    """Name the type of a Parquet file's column if it holds lists; else return an empty text."""
    with open_parquet(path) as file:
        kinds = [field.type for field in file.schema_arrow if field.name == column]
        return next((str(kind) for kind in kinds if _is_list(kind)), "")


def arrow_lines(values: Any, first: int) -> bytes:
    """Return an Arrow array of strings, or of lists of strings, as lines; row 0 is `first` in messages."""
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
    values = pc.replace_substring_regex(values.cast(pa.string()), _LINE_ENDS, " ")  # a row is a sentence
    rows = pa.ListArray.from_arrays(pa.array([0, len(values)], pa.int32()), values)
    return bytes(pc.binary_join(rows, "\n")[0].as_buffer()) + b"\n" if len(values) else b""


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


def _parts(file: Any, column: str) -> Iterator[Any]:
    """Yield a column's values, some rows and some bytes at a time, however large rows are."""
    for number in range(file.metadata.num_row_groups):
        group = file.metadata.row_group(number)  # of its columns pyarrow cannot be asked: where damaged, it aborts
        rows = min(_ROWS, max(1, _BYTES * group.num_rows // max(group.total_byte_size, 1)))
        taken: list[Any] = []
        held = bytes_held = 0
        for batch in file.iter_batches(rows, row_groups=[number], columns=[column], use_threads=False):
            values = batch.column(0)
            taken.append(values)
            held, bytes_held = held + len(values), bytes_held + values.nbytes
            if held >= _TAKEN[0] or bytes_held >= _TAKEN[1]:
                yield from _slices(taken, bytes_held)
                taken, held, bytes_held = [], 0, 0
        if taken:
            yield from _slices(taken, bytes_held)


def _slices(arrays: list[Any], size: int) -> Iterator[Any]:
    """Join arrays of `size` bytes, and yield them in pieces that are not large."""
    import pyarrow as pa

    values = pa.concat_arrays(arrays) if len(arrays) > 1 else arrays[0]
    rows = max(1, _BYTES * len(values) // max(size, 1))
    for at in range(0, len(values), rows):
        yield values.slice(at, rows)


@contextmanager
def _errors(path: Path) -> Iterator[None]:
    """Name the file in what pyarrow says is wrong with it."""
    pa = _pyarrow()
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
        raise Any2VecError(f"{path}: not a complete parquet file: {why}; copy or make it again") from error


def _pyarrow() -> ModuleType:
    try:
        import pyarrow.parquet
    except ModuleNotFoundError:
        raise missing_extra("pyarrow", "arrow") from None
    return pyarrow


def _listed(names: list[str]) -> str:
    more = ", ..." if len(names) > _FEW else ""
    return ", ".join(map(repr, names[:_FEW])) + more if names else "none"


READ = 1 << 18
"""Bytes read at a time."""


def fill(stream: IO[bytes], buffer: NDArray[np.uint8]) -> int:
    """Read until `buffer` is full or the stream ends; return the number of bytes read."""
    view, filled = buffer.data, 0
    read: Callable[[memoryview], int | None] = stream.readinto  # type: ignore[attr-defined]
    while filled < len(view):
        count = read(view[filled : filled + READ])
        if not count:
            break
        filled += count
    return filled


def naming(file: InputFile) -> AbstractContextManager[None]:
    """Turn what goes wrong while a file is read into an error that names it."""
    return reading_errors(file.name, file.compression)


@contextmanager
def open_stream(file: InputFile) -> Iterator[tuple[IO[bytes], Callable[[], int]]]:
    """Open a file that cannot be read in ranges; yield its text, and a function that counts the file's bytes read."""
    with ExitStack() as stack:
        if file.path and file.column is not None:
            yield stack.enter_context(open_column(file.path, file.column))
            return
        if file.path is None:
            source: IO[bytes] | None = getattr(sys.stdin, "buffer", None)
            if source is None:
                raise Any2VecError("standard input is closed; give a file")
        else:
            with naming(file):
                source = stack.enter_context(file.path.open("rb"))
        counted = _Counted(source)
        with naming(file):
            text = stack.enter_context(decompressed(io.BufferedReader(counted), file.compression))
        yield text, lambda: counted.count


class _Counted(io.RawIOBase):
    """Counts the bytes read from another file, which it leaves open."""

    def __init__(self, file: Any) -> None:
        self._file = file
        self.count = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        read = int(self._file.readinto(buffer) or 0)
        self.count += read
        return read
