"""Edges from Arrow's columns: tables in memory, and Parquet files, some rows at a time."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from any2vec.corpus.word_table import PADDING, WordCounts, WordTable
from any2vec.errors import Any2VecError, is_installed, shown
from any2vec.graph.build import EdgeTable, ReadOptions, checked_weights
from any2vec.graph.csr import Edges
from any2vec.graph.graph import whole_numbers
from any2vec.graph.numbering import NO_COLON, kinds_of_names, number_vertices
from any2vec.graph.reading import Chosen, chosen_columns, titled
from any2vec.io.inputs import InputFile
from any2vec.io.memory import zeros
from any2vec.io.tables import open_parquet, release_parquet

_FEW = 1 << 20  # integers up to this, or to some times the rows, are looked up in an array
_MANY = 2**31 - 2


_ROWS = 1 << 16  # at a time


def selected(table: Any, chosen: Chosen) -> Any:
    """Return the chosen columns of a table, or of a record batch, as a table."""
    import pyarrow as pa

    whole = pa.Table.from_batches([table]) if isinstance(table, pa.RecordBatch) else table
    return whole.select(chosen.places)


def is_plain(table: Any, chosen: Chosen) -> bool:
    """Whether the chosen columns are of types that are read without an object of Python for each value."""
    kinds = table.schema.types
    weights = [] if chosen.weight is None else [kinds.pop(2)]
    return all(_is_text(kind) or _is_number(kind) for kind in kinds) and all(map(_is_number, weights))


def plain_table(names: Sequence[Any], columns: Sequence[NDArray[Any]], chosen: Chosen) -> Any:
    """Return NumPy's columns as a table, or None if Arrow is missing, or lacks a plain type for what they hold."""
    if not is_installed("pyarrow") or any(np.ma.isMaskedArray(column) for column in columns):
        return None
    import pyarrow as pa

    try:
        arrays = [pa.array(column) for column in columns]
    except (pa.ArrowException, ValueError, TypeError, OverflowError):  # objects of several types, for example
        return None
    mixed = any(c.dtype.kind == "O" and pa.types.is_floating(a.type) for c, a in zip(columns, arrays, strict=True))
    table = pa.table(arrays, [str(name) for name in names])
    return None if mixed or any(array.null_count for array in arrays) or not is_plain(table, chosen) else table


def from_arrow(table: Any, chosen: Chosen, title: str) -> EdgeTable:
    """Take an edge from each row of a table in memory of the chosen columns, which are plain."""
    reader = _ColumnReader(table.schema.names, chosen, table.num_rows, _has_text(table.schema.types, chosen))
    reader.read(table.to_batches(_ROWS), title)
    found = reader.table(title)
    found.names = list(found.names)
    return found


def read_parquet(file: InputFile, options: ReadOptions) -> EdgeTable:
    """Read a Parquet file."""
    return read_parquets([file], options, file.name)


def read_parquets(files: Sequence[InputFile], options: ReadOptions, title: str) -> EdgeTable:
    """Read Parquet files with the same columns: the parts of one list of edges."""
    reader, _ = parquet_reader(files, options)
    for file in files:
        _read_file(reader, file)
    release_parquet()
    return reader.table(title)


def _read_file(reader: "_ColumnReader", file: InputFile) -> None:
    with open_parquet(_path(file)) as opened:
        reader.read(reader.batches(opened), file.name)


def parquet_reader(files: Sequence[InputFile], options: ReadOptions) -> tuple["_ColumnReader", list[int]]:
    """Return what reads the columns of files, after a look at all their headers, and each file's number of rows."""
    kinds, rows = [], []
    wanted: list[str] = []
    for file in files:
        with open_parquet(_path(file)) as opened:
            schema = opened.schema_arrow
            if not wanted:
                chosen = chosen_columns(schema.names, options, file.name)
                wanted = [schema.names[place] for place in chosen.places]
            if missing := [name for name in wanted if name not in schema.names]:
                lacks = f"has no column {shown(missing[0])}, which {files[0].name} has"
                raise Any2VecError(f"{file.name}: {lacks}; give parts with the same columns")
            if twice := [name for name in wanted if schema.names.count(name) > 1]:
                raise Any2VecError(f"{file.name}: has more than one column {shown(twice[0])}; rename one of them")
            kinds.append([schema.field(name).type for name in wanted])
            rows.append(opened.metadata.num_rows)
    return _ColumnReader(wanted, chosen, sum(rows), any(_has_text(types, chosen) for types in kinds)), rows


class _ColumnReader:
    """Reads the columns of batches: the ends of edges, the weight, the kinds of the ends.

    Vertices get codes, as in parse.py: integers that are not large are their own, other names are in a table. A graph's
    vertices are all integers, or all strings (`text`).
    """

    def __init__(self, names: Sequence[str], chosen: Chosen, rows: int, text: bool) -> None:
        self._names, self.chosen, self._text = list(names), chosen, text
        self.titles = titled(self._names)  # what the ends of edges are called
        self.strings = WordTable()
        self._limit, self._highest = min(max(_FEW, 4 * rows), _MANY), -1
        self._edges: list[Edges] = []
        self._known: dict[int, tuple[Any, NDArray[np.int32], NDArray[np.bool_]]] = {}
        """By column: its last dictionary, the codes of its strings, and which are empty."""

    def batches(self, opened: Any, groups: Sequence[int] | None = None) -> Iterator[Any]:
        """Yield the columns of an open Parquet file, or of some of its groups of rows, some rows at a time."""
        for batch in opened.iter_batches(_ROWS, row_groups=groups, columns=self._names, use_threads=False):
            yield batch.select(self._names)

    def read(self, batches: Iterable[Any], title: str) -> None:
        """Read batches of one source; errors name it, the column and the row."""
        self._edges.extend(map(_in_pages, self.coded(batches, title)))

    def coded(self, batches: Iterable[Any], title: str, row: int = 0) -> Iterator[Edges]:
        """Yield the edges of batches of one source, which begin at a row of it, by codes of vertices."""
        for batch in batches:
            places = [_Place(title, name, row) for name in self._names]
            columns = [_plain(column) for column in batch.columns]
            ends = [_checked(column, place) for column, place in zip(columns[:2], places[:2], strict=True)]
            if self.chosen.kinds is not None:
                of = zip(columns[-2:], ends, places[-2:], strict=True)
                ends = [_with_kind(kind, end, place) for kind, end, place in of]
            codes = [self._codes(i, ends[i], places[i]) for i in (0, 1)]
            weights = None if self.chosen.weight is None else _weights(columns[2], places[2])
            row += len(batch)
            yield Edges(codes[0], codes[1], weights)

    def table(self, title: str) -> EdgeTable:
        """Return what was read, with vertices numbered."""
        names = number_vertices(self._edges, self.strings.part(), self._highest)
        kinds = None if self.chosen.kinds is None else kinds_of_names(names)
        return EdgeTable(title, self._edges, names, kinds=kinds, columns=self.titles)

    def _codes(self, column: int, values: Any, place: "_Place") -> NDArray[np.int32]:
        import pyarrow as pa

        if not self._text:
            return self._codes_of_integers(np.asarray(values))
        if not pa.types.is_dictionary(values.type):
            words, empty = _words(values, place)
            if empty.any():
                raise Any2VecError(f"{place(int(empty.argmax()))}: a vertex is missing (an empty string)")
            return -1 - self.strings.add(words)
        known = self._known.get(column)
        if known is None or not _same(known[0], values.dictionary):
            words, empty = _words(values.dictionary, place)
            known = self._known[column] = values.dictionary, -1 - self.strings.add(words), empty
        indices = np.asarray(values.indices)
        if known[2].any() and (missing := known[2][indices]).any():
            raise Any2VecError(f"{place(int(missing.argmax()))}: a vertex is missing (an empty string)")
        return known[1][indices]

    def _codes_of_integers(self, column: NDArray[Any]) -> NDArray[np.int32]:
        small = (column >= 0) & (column <= self._limit)
        if small.all():
            codes = column.astype(np.int32)
        else:
            codes = np.where(small, column, 0).astype(np.int32)
            values, places = np.unique(column[~small], return_inverse=True)
            words = WordCounts.of([b"%d" % value for value in values.tolist()], np.zeros(len(values), np.int64))
            codes[~small] = -1 - self.strings.add(words)[places]
        self._highest = max(self._highest, int(codes.max(initial=-1)))
        return codes


def _in_pages(edges: Edges) -> Edges:
    """Copy a block that is kept for long to memory that the system gets back with it."""
    pages: list[NDArray[Any]] = []
    for array in edges:
        if array is not None:
            pages.append(zeros(len(array), array.dtype.type, whole=False))
            pages[-1][:] = array
    return Edges(*pages)


class _Place:
    """Where a batch's column is, for errors: ``place(i)`` for row i."""

    def __init__(self, title: str, column: str, first: int) -> None:
        self._title, self._name, self._first = title, shown(column), first
        self.column = f"{title}, column {self._name}"

    def __call__(self, row: int) -> str:
        return f"{self.column}, row {self._first + row:,}"

    def weight(self, row: int) -> str:
        """Return the same as other sources of edges say it of a weight."""
        return f"{self._title}, row {self._first + row:,}, column {self._name}"


def _plain(values: Any) -> Any:
    """Decode a dictionary, unless it is one of strings without a null."""
    import pyarrow as pa

    encoded = pa.types.is_dictionary(values.type)
    if encoded and (not _is_text(values.type.value_type) or values.dictionary.null_count):
        return values.dictionary_decode()
    return values


def _checked(values: Any, place: _Place) -> Any:
    """Return vertices as strings or integers, or raise what is wrong with them."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not _is_text(values.type) and not _is_number(values.type):
        raise Any2VecError(f"{place.column}: is of type {values.type}; vertices are strings or integers")
    if values.null_count:
        row = pc.index(pc.is_null(values), True).as_py()
        raise Any2VecError(f"{place(row)}: a vertex is missing (null)")
    return pa.array(whole_numbers(np.asarray(values), place)) if pa.types.is_floating(values.type) else values


def _with_kind(kinds: Any, values: Any, place: _Place) -> Any:
    """Return the names of vertices with their kinds before them."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not _is_text(kinds.type) and not pa.types.is_integer(kinds.type):
        raise Any2VecError(f"{place.column}: is of type {kinds.type}; kinds are strings")
    kinds, values = kinds.cast(pa.large_string()), values.cast(pa.large_string())
    wrong = pc.or_kleene(pc.is_null(kinds), pc.or_(pc.equal(kinds, ""), pc.match_substring(kinds, ":")))
    if (row := pc.index(wrong, True).as_py()) >= 0:
        raise Any2VecError(f"{place(row)}: the kind is {shown(kinds[row].as_py())}; {NO_COLON}")
    return pc.binary_join_element_wise(kinds, values, pa.scalar(":", pa.large_string()))


def _weights(values: Any, place: _Place) -> NDArray[np.float32]:
    import pyarrow.compute as pc

    if not _is_number(values.type):
        reason = "weights are numbers: convert it, or `weighted=False` ignores weights"
        raise Any2VecError(f"{place.column}: is of type {values.type}; {reason}")
    if values.null_count:
        row = pc.index(pc.is_null(values), True).as_py()
        raise Any2VecError(f"{place.weight(row)}: the weight is missing (null); fill it, or drop this edge")
    return checked_weights(np.asarray(values), place.weight)


def _words(values: Any, place: _Place) -> tuple[WordCounts, NDArray[np.bool_]]:
    """Lay out strings; return which are empty, too."""
    import pyarrow as pa
    import pyarrow.compute as pc

    size = len(values)
    nothing, line_feed = (pa.scalar(text, pa.large_string()) for text in ("", "\n"))
    ended = pc.binary_join_element_wise(values.cast(pa.large_string()), nothing, line_feed)
    _, offsets, content = ended.buffers()
    starts = np.frombuffer(offsets, np.int64)[ended.offset : ended.offset + size + 1]
    text = np.frombuffer(content or b"", np.uint8)[: starts[-1]]
    try:
        str(text.data, "utf-8")
    except UnicodeDecodeError:
        raise Any2VecError(f"{place.column}: holds a text that is not UTF-8; save it as UTF-8") from None
    arena = np.concatenate([text, np.zeros(PADDING, np.uint8)])
    return WordCounts(arena, starts.copy(), np.zeros(size, np.int64)), np.diff(starts) == 1


def _same(one: Any, other: Any) -> bool:
    """Whether two dictionaries are one, without comparing their values."""
    alike = len(one) == len(other) and one.type == other.type and one.offset == other.offset
    return alike and all(
        (a is None) == (b is None) and (a is None or a.address == b.address)
        for a, b in zip(one.buffers(), other.buffers(), strict=True)
    )


def _has_text(kinds: Sequence[Any], chosen: Chosen) -> bool:
    """Whether vertices are told apart as strings: if some are, or if they have kinds."""
    return chosen.kinds is not None or any(map(_is_text, kinds[:2]))


def _is_text(kind: Any) -> bool:
    import pyarrow as pa

    types = pa.types
    kind = kind.value_type if types.is_dictionary(kind) else kind
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def _is_number(kind: Any) -> bool:
    import pyarrow as pa

    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))


def _path(file: InputFile) -> Any:
    if file.path is None:
        raise Any2VecError("a Parquet file cannot be read from standard input; give its path")
    return file.path
