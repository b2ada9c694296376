"""Texts to what is predicted for them, in memory and in files; and which words speak for a label."""

import json
import sys
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from contextlib import closing
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from any2vec.classify.predict import Answers
from any2vec.classify.quantized import rows_of
from any2vec.cluster.local import alone
from any2vec.cluster.machine import usable_cores
from any2vec.cluster.workers import ordered
from any2vec.corpus.blocks import Span
from any2vec.corpus.lines import first_gram, longer_gram, word_hash
from any2vec.corpus.parts import Subwords, encoded_word, joined_words
from any2vec.corpus.raw_text import RawText
from any2vec.corpus.sentences import tokens_in
from any2vec.corpus.vocabulary import LINE_END
from any2vec.corpus.word_table import PADDING
from any2vec.errors import Any2VecError, library, shown
from any2vec.io.inputs import BOM, InputFile, Source, files_of, naming, open_stream
from any2vec.io.memory import read_only
from any2vec.io.outputs import check_writable, marked, refusals, replacing_file, write_in_host_order
from any2vec.io.tables import CSV, PARQUET, check_columns, lines_of, open_table, table_ending
from any2vec.llvm.compiled import njit
from any2vec.options import as_path, plain_number, whole_number

if TYPE_CHECKING:
    from any2vec.classify.model import LabelModel, LineSettings

_TEXTS = 1 << 12  # taken at a time
_SPACES = b" " * (1 + PADDING)

Text = tuple[NDArray[np.uint8], int, int, int]
"""Bytes, where lines begin and end in them, and how many lines there are: what a Predictor takes."""


def checked(k: object, threshold: object, labels: int) -> tuple[int, float]:
    """Return how many labels are asked for, and what probability they have at least."""
    number = whole_number("k", k, -1)
    least = plain_number(threshold)
    if number == 0:
        raise Any2VecError("`k` is 0; it must be the number of labels for a text, or -1 for all")
    if least is None or not 0 <= least <= 1:
        raise Any2VecError(f"`threshold` is {shown(threshold)}; it must be a probability, from 0 to 1")
    return (labels if number < 0 else min(number, labels)), least


def text_of(texts: list[Any], how: "LineSettings", first: int = 0) -> Text:
    """Return texts, of which the first is number `first`, as lines."""
    try:
        joined = "\n".join(texts)
    except TypeError:
        texts = [_line(text, i) for i, text in enumerate(texts, first)]
        joined = "\n".join(texts)
    if joined.count("\n") != len(texts) - 1:
        joined = "\n".join([text.replace("\n", " ") for text in texts])
    return prepared(encoded_word(joined) + b"\n", len(texts), how)


def prepared(lines: bytes, number: int, how: "LineSettings") -> Text:
    """Return lines, each with its end, as settings want them before they are split."""
    text = np.frombuffer(lines + _SPACES, np.uint8)
    if not (how.lowercase or how.tokenize):
        return text, 0, len(lines), number
    span = RawText(how.lowercase, how.tokenize, how.prefix).span(Span(text, 0, len(lines)), {})
    return read_only(span.text), span.begin, span.end, number


def _line(text: Any, i: int) -> str:
    if isinstance(text, str):
        return text
    try:
        return " ".join(map(str, tokens_in(i, text)))
    except Any2VecError:
        kind = type(text).__name__
        raise Any2VecError(f"text {i:,} is of type {kind} ({shown(text)}); give strings, or lists of them") from None


def answers_of(
    model: "LabelModel", texts: Iterable[Any], k: int, threshold: float, threads: int | None, *, means: bool = False
) -> Answers:
    """Predict for texts, in order; or find the means of their rows."""
    if isinstance(texts, str) or not isinstance(texts, Iterable):
        raise Any2VecError(f"texts are {shown(texts)}; give a list of strings, or of lists of tokens")
    number = usable_cores() if threads is None else whole_number("threads", threads, 1)
    predictor = model.predictor

    def work(piece: tuple[int, list[Any]]) -> Answers:
        return predictor.answers(*text_of(piece[1], model.settings, piece[0]), k, threshold, means)

    found = list(ordered(work, _pieces(texts), number)) or [predictor.answers(*_NONE, k, threshold, means)]
    return found[0] if len(found) == 1 else Answers(*map(np.concatenate, zip(*found, strict=True)))


_NONE = np.frombuffer(_SPACES, np.uint8), 0, 0, 0


def _pieces(texts: Iterable[Any]) -> Iterator[tuple[int, list[Any]]]:
    left, first = iter(texts), 0
    while piece := list(islice(left, _TEXTS)):
        yield first, piece
        first += len(piece)


def explain(model: "LabelModel", text: str, label: str) -> list[tuple[str, float]]:
    """Do what `LabelModel.explain` says."""
    how = model.settings
    if how.loss == "hierarchical":
        raise Any2VecError("the loss is hierarchical: labels have no rows for which words speak; `predict` says labels")
    if label not in model.labels:
        raise Any2VecError(f"{shown(label)} is no label of the model; it has {shown(list(model.labels))}")
    if not isinstance(text, str):
        text = " ".join(tokens_in(0, text))
    words = RawText(how.lowercase, how.tokenize, how.prefix).words(text)
    words = [word for word in words if not how.prefix or not word.startswith(how.prefix)] + [LINE_END]
    asked = set(words)
    own = {word: row for row, word in enumerate(model.words) if word in asked}
    scores: defaultdict[str, float] = defaultdict(float)
    size, t = 0, rows_of(model.t, [list(model.labels).index(label)])[0]
    for name, buckets in _parts(model, words):
        places = np.searchsorted(model.ids, buckets)
        places = places[model.ids[np.minimum(places, len(model.ids) - 1)] == buckets] if len(model.ids) else places[:0]
        rows = [*([own[name]] if name in own else []), *(places + len(model.words)).tolist()]
        size += len(rows) if not how.counts_unknown else len(buckets) + (name in own)
        if rows:
            scores[name] += float(rows_of(model.e, rows).sum(axis=0) @ t)
    return sorted(((name, score / size) for name, score in scores.items()), key=lambda item: -abs(item[1]))


def _parts(model: "LabelModel", words: list[str]) -> Iterator[tuple[str, NDArray[np.integer]]]:
    """Yield each word and n-gram of words, and the buckets of its n-grams of characters or its own."""
    how = model.settings
    hashes = []
    for word in words:
        none = np.zeros(0, np.int32)
        yield word, Subwords(how.least, how.most, how.buckets).lists([word])[1] if how.most else none
        text = np.frombuffer(encoded_word(word), np.uint8)
        hashes.append(word_hash(text, 0, len(text)))
    for i in range(len(words)):
        gram = first_gram(hashes[i])
        for j in range(i + 1, min(i + how.word_ngrams, len(words))):
            gram = longer_gram(np.uint64(gram), hashes[j])
            yield " ".join(words[i : j + 1]), np.array([gram % how.buckets])


_READ = 1 << 19  # bytes of lines that a thread takes at once
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
    files, ending = _checked_files(source, to, column, force)
    table, as_json = bool(ending), to is not None and ".jsonl" in to.suffixes[-2:]
    rows = 0

    def work(piece: tuple[bytes, int, Any]) -> tuple[Any, int]:
        lines, count, batch = piece
        found = model.predictor.answers(*prepared(lines, count, model.settings), k, threshold)
        if table:
            return _with_labels(batch, found, model.labels, k, ending), count
        return _json_of(found, model, batch) if as_json else _text_of(found, model), count

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


def _checked_files(source: Source, to: Path | None, column: str | None, force: bool) -> tuple[list[InputFile], str]:
    """Return what is read, and the ending of the table that is written, if it is one."""
    ending = table_ending(to) if to else ""
    if ending and column is None:
        raise Any2VecError(f"{to}: a table is written of a table only: give the `column` of its texts")
    if to and ending and to.suffix.lower() != ending:
        raise Any2VecError(f"{to}: a table is not compressed; give a name that ends in {ending}")
    if to:
        check_writable(to, _KIND, force=force)
    files = files_of(source)
    for file in files:
        if column is None and file.path and table_ending(file.path):
            raise Any2VecError(f"{file.name}: is a table; give the `column` of its texts")
    return files, ending


def _lines_of(file: InputFile) -> Iterator[tuple[bytes, int, None]]:
    """Yield whole lines of a file, many at a time, and their number; the last one may lack its end."""
    with open_stream(file) as (stream, _), naming(file):
        lines = (stream.read(_READ) + stream.readline()).removeprefix(BOM)
        while lines:
            lines += b"" if lines.endswith(b"\n") else b"\n"
            yield lines, lines.count(b"\n"), None
            lines = stream.read(_READ) + stream.readline()


def _rows_of(files: list[InputFile], column: str) -> Iterator[tuple[bytes, int, Any]]:
    """Yield the texts of a table's rows as lines, many at a time, their number, and the rows."""
    if len(files) != 1 or files[0].path is None or not table_ending(files[0].path):
        raise Any2VecError(f"column={shown(column)} is of one table, a file that ends in .parquet, .csv or .tsv")
    path, first = files[0].path, 0
    with open_table(path) as (batches, _):
        for batch in batches:
            check_columns(path, batch.schema.names, [column])
            yield lines_of(path, batch, column, first), len(batch), batch
            first += len(batch)


def _with_labels(batch: Any, found: Answers, labels: Any, k: int, ending: str) -> Any:
    """Return rows of a table with labels and probabilities behind their columns."""
    pa = library("pyarrow", "arrow")
    names, some = pa.array(list(labels), pa.string()), found.labels >= 0
    if k == 1:
        none = ~some[:, 0]
        columns = [names.take(pa.array(found.labels[:, 0], mask=none)), pa.array(found.probabilities[:, 0], mask=none)]
    else:
        offsets = pa.array(np.append(0, np.cumsum(some.sum(axis=1))).astype(np.int32))
        both = names.take(pa.array(found.labels[some])), pa.array(found.probabilities[some])
        columns = [pa.ListArray.from_arrays(offsets, values) for values in both]
    table = pa.Table.from_batches([batch])
    for name, values in zip(_names_for(table.column_names, "label", "probability"), columns, strict=True):
        table = table.append_column(name, values)
    return table if ending == PARQUET else _without_lists(table)


def _without_lists(table: Any) -> Any:
    """Return a table that CSV can hold: the items of a list become one text, separated by spaces."""
    pa, compute = library("pyarrow", "arrow"), library("pyarrow.compute", "arrow")
    for place, field in enumerate(table.schema):
        if pa.types.is_nested(field.type):
            try:
                lists = table.column(place).cast(pa.list_(pa.string()))
            except pa.ArrowException:
                raise Any2VecError(
                    f"column {shown(field.name)} is of type {field.type}; write .parquet or .jsonl"
                ) from None
            table = table.set_column(place, field.name, compute.binary_join(lists, " "))
    return table


def _names_for(taken: Collection[str], *names: str) -> list[str]:
    """Return names of new columns, with a word before them where one is taken."""
    while not set(names).isdisjoint(taken):
        names = tuple(f"predicted_{name}" for name in names)
    return list(names)


def _write_table(to: Path, tables: Iterator[Any], ending: str) -> None:
    first = next(tables, None)
    if first is None:
        raise Any2VecError(f"{to}: not written: the table has no rows")
    with replacing_file(to, _KIND) as file, refusals(to):
        module = library("pyarrow.parquet" if ending == PARQUET else "pyarrow.csv", "arrow")
        kind = module.ParquetWriter if ending == PARQUET else module.CSVWriter
        how = {} if ending in (PARQUET, CSV) else {"write_options": module.WriteOptions(delimiter="\t")}
        with kind(file, first.schema, **how) as writer:
            for table in chain([first], tables):
                writer.write_table(table)


def _json_of(found: Answers, model: "LabelModel", batch: Any) -> bytes:
    names, lines = [*model.labels, ""], []
    rows = [{}] * len(found.labels) if batch is None else batch.to_pylist()
    keys = _names_for(() if batch is None else batch.schema.names, "labels", "probabilities", "known", "words")
    for row, labels, p, (known, words) in zip(rows, *(part.tolist() for part in found), strict=True):
        n = sum(label >= 0 for label in labels)
        values = [names[label] for label in labels[:n]], [round(x, _DECIMALS) for x in p[:n]], known, words
        lines.append(json.dumps(row | dict(zip(keys, values, strict=True)), default=str) + "\n")
    return "".join(lines).encode()


def _text_of(found: Answers, model: "LabelModel") -> bytes:
    names, starts = joined_words([encoded_word(model.settings.prefix + label) for label in model.labels])
    longest = int(np.diff(starts).max()) + _DECIMALS + 4
    out = np.empty(found.labels.size * longest + len(found.labels), np.uint8)
    return out[: _write(found.labels, found.probabilities, names, starts, out)].tobytes()


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
