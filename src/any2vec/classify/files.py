"""Files of texts to files of labels, piece by piece and in order."""

import json
import sys
from collections.abc import Iterator
from contextlib import closing
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from any2vec.classify.predict import Answers
from any2vec.classify.texts import prepared
from any2vec.cluster.local import alone
from any2vec.cluster.machine import usable_cores
from any2vec.cluster.workers import ordered
from any2vec.corpus.parts import encoded_word
from any2vec.errors import Any2VecError, library, shown
from any2vec.io.inputs import InputFile, Source, files_of
from any2vec.io.outputs import check_writable, marked, refusals, replacing_file, write_in_host_order
from any2vec.io.streams import naming, open_stream
from any2vec.io.tables import CSV, PARQUET, lines_of, open_table, table_ending
from any2vec.llvm.compiled import njit
from any2vec.options import as_path, whole_number

if TYPE_CHECKING:
    from any2vec.classify.model import LabelModel

_READ = 1 << 19  # bytes of lines that a thread takes at once
_BOM = b"\xef\xbb\xbf"
_KIND = marked("labels of texts")
_DECIMALS = 6
_STANDARD_OUTPUT = "-"


def predict_file(
    model: "LabelModel",
    source: Source,
    output: Any,
    k: int,
    threshold: float,
    column: str | None,
    threads: int | None,
    force: bool,
) -> int:
    """Do what `LabelModel.predict_file` says."""
    number = usable_cores() if threads is None else whole_number("threads", threads, 1)
    to = None if output == _STANDARD_OUTPUT else as_path(output)
    ending = to.suffix if to else ""
    table = column is not None and ending in (PARQUET, CSV)
    if ending in (PARQUET, CSV) and column is None:
        raise Any2VecError(f"{to}: a table is written of a table only: give the `column` of its texts")
    if to:
        check_writable(to, _KIND, force=force)
    files = files_of(source)
    rows = 0

    def work(piece: tuple[bytes, int, Any]) -> tuple[Any, int]:
        lines, count, batch = piece
        found = model.predictor.answers(*prepared(lines, count, model.settings), k, threshold)
        if table:
            return _with_labels(batch, found, model.labels, k, ending), count
        return (_json_of if ending == ".jsonl" else _text_of)(found, model), count

    def counted() -> Iterator[Any]:
        nonlocal rows
        pieces = chain.from_iterable(map(_lines_of, files)) if column is None else _rows_of(files, column)
        with closing(ordered(work, pieces, number)) as results:
            for result, count in results:
                rows += count
                yield result

    if table:
        assert to is not None
        _write_table(to, counted(), ending)
    elif to is None:
        for chunk in counted():
            sys.stdout.buffer.write(chunk)
        sys.stdout.buffer.flush()
    else:
        write_in_host_order(to, counted(), alone(), _KIND)
    return rows


def _lines_of(file: InputFile) -> Iterator[tuple[bytes, int, None]]:
    """Yield whole lines of a file, many at a time, and their number; the last one may lack its end."""
    begun: list[bytes] = []
    with open_stream(file) as (stream, _), naming(file):
        text = stream.read(_READ).removeprefix(_BOM)
        while text:
            cut = text.rfind(b"\n") + 1
            if cut:
                lines = b"".join([*begun, text[:cut]])
                begun = []
                yield lines, lines.count(b"\n"), None
            if text[cut:]:
                begun.append(text[cut:])
            text = stream.read(_READ)
    if begun:
        yield b"".join([*begun, b"\n"]), 1, None


def _rows_of(files: list[InputFile], column: str) -> Iterator[tuple[bytes, int, Any]]:
    """Yield the texts of a table's rows as lines, many at a time, their number, and the rows."""
    if len(files) != 1 or files[0].path is None or not table_ending(files[0].path):
        raise Any2VecError(f"column={shown(column)} is of one table, a file that ends in .parquet, .csv or .tsv")
    path, first = files[0].path, 0
    with open_table(path) as (batches, _):
        for batch in batches:
            if batch.schema.names.count(column) != 1:
                has = ", ".join(batch.schema.names[:10])
                raise Any2VecError(f"{path}: has no column {shown(column)}, or several; it has {has}")
            yield lines_of(path, batch, column, first), len(batch), batch
            first += len(batch)


def _with_labels(batch: Any, found: Answers, labels: Any, k: int, ending: str) -> Any:
    """Return rows of a table with labels and probabilities behind their columns."""
    pa = library("pyarrow", "arrow")
    some = found.labels >= 0
    offsets = pa.array(np.append(0, np.cumsum(some.sum(axis=1))).astype(np.int32))
    names = pa.array(list(labels), pa.string()).take(pa.array(found.labels[some].astype(np.int32)))
    p = pa.array(found.probabilities[some])
    columns = [pa.ListArray.from_arrays(offsets, names), pa.ListArray.from_arrays(offsets, p)]
    if k == 1:
        none = ~some[:, 0]
        names = pa.array(list(labels), pa.string()).take(pa.array(found.labels[:, 0], mask=none))
        columns = [names, pa.array(found.probabilities[:, 0], mask=none)]
    elif ending == CSV:
        compute = library("pyarrow.compute", "arrow")
        columns = [compute.binary_join(column.cast(pa.list_(pa.string())), " ") for column in columns]
    table = pa.Table.from_batches([batch])
    for name, values in zip(("label", "probability"), columns, strict=True):
        if name in table.column_names:
            raise Any2VecError(f"the table has a column {name!r} already, which would be written; rename it")
        table = table.append_column(name, values)
    return table


def _write_table(to: Path, tables: Iterator[Any], ending: str) -> None:
    first = next(tables, None)
    if first is None:
        raise Any2VecError(f"{to}: not written: the table has no rows")
    with replacing_file(to, _KIND) as file, refusals(to):
        module = library("pyarrow.parquet" if ending == PARQUET else "pyarrow.csv", "arrow")
        kind = module.ParquetWriter if ending == PARQUET else module.CSVWriter
        with kind(file, first.schema) as writer:
            for table in chain([first], tables):
                writer.write_table(table)


def _json_of(found: Answers, model: "LabelModel") -> bytes:
    names = [*model.labels, ""]
    rows = []
    for labels, p, (known, words) in zip(*(part.tolist() for part in found), strict=True):
        n = sum(label >= 0 for label in labels)
        row = {"labels": [names[label] for label in labels[:n]], "probabilities": [round(x, _DECIMALS) for x in p[:n]]}
        rows.append(json.dumps(row | {"known": known, "words": words}) + "\n")
    return "".join(rows).encode()


def _text_of(found: Answers, model: "LabelModel") -> bytes:
    names, starts = _names_of(model)
    longest = int(np.diff(starts).max()) + _DECIMALS + 4
    out = np.empty(found.labels.size * longest + len(found.labels), np.uint8)
    return out[: _write(found.labels, found.probabilities, names, starts, out)].tobytes()


def _names_of(model: "LabelModel") -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return labels with their prefix, one after the other, and where each begins."""
    names = [encoded_word(model.settings.prefix + label) for label in model.labels]
    return np.frombuffer(b"".join(names), np.uint8), np.append(0, np.cumsum([len(name) for name in names]))


@njit(nogil=True, cache=True)
def _write(labels: Any, probabilities: Any, names: Any, starts: Any, out: Any) -> int:
    """Write lines of labels and probabilities, with spaces between them; return their bytes."""
    size = 0
    for i in range(labels.shape[0]):
        for j in range(labels.shape[1]):
            label = labels[i, j]
            if label < 0:
                break
            if j:
                out[size] = 32
                size += 1
            for at in range(starts[label], starts[label + 1]):
                out[size] = names[at]
                size += 1
            out[size] = 32
            scaled = int(np.float64(probabilities[i, j]) * 10**_DECIMALS + 0.5)
            for digit in range(_DECIMALS + 2, 0, -1):
                if digit == 2:
                    out[size + digit] = 46
                else:
                    out[size + digit] = 48 + scaled % 10
                    scaled //= 10
            size += _DECIMALS + 3
        out[size] = 10
        size += 1
    return size
