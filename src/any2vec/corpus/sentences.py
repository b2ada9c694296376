"""The pass over sentences in memory: the twin of `scan`, for tokens that a Python program gives."""

import math
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from numbers import Integral
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from any2vec.corpus.raw_text import AS_IT_IS, RawText
from any2vec.corpus.scan import Piece, Scan
from any2vec.corpus.word_table import WordCounts
from any2vec.errors import Any2VecError, shown
from any2vec.io.memory import disk_errors, write_all

_ROWS = 1000  # of a table, taken at a time
_BYTES = 1 << 24  # of a table's column, likewise
_FEW = 10  # columns named in a message


def sentences_of(source: Any, column: str | None, raw: RawText = AS_IT_IS) -> Iterable[Any]:
    """Return the sentences of what the user gave: an iterable of them, or of rows, or a data frame."""
    values = values_of(source, column)
    return _tokens_of_rows(values, raw) if column is None else _split(values, column, raw)


def values_of(source: Any, column: str | None) -> Iterable[Any]:
    """Return what a column of rows or of a table holds; without a column, the items themselves."""
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
        return _of_table(what, source, names, column)
    if hasattr(source, "columns") and hasattr(source, "__getitem__"):  # pandas, polars: its items are its columns
        return _of_frame(what, source, column)
    if not isinstance(source, Iterable):
        raise Any2VecError(f"the corpus is of type {type(source).__name__}; give a path, paths, or lists of tokens")
    if hasattr(source, "to_pylist") and hasattr(source, "null_count"):  # a column of Arrow
        if column is not None:
            raise Any2VecError(f"{what}, which has no columns; leave out `column`")
        return _of_array(source)
    return source if column is None else _values(source, column)


def _no_column(what: str, columns: Iterable[Any], column: str | None) -> Any2VecError:
    """Make the error for rows without the column that is asked for, or asked for none."""
    names = [str(name) for name in columns]
    example = "text" if "text" in names or not names else names[0]
    wrong = "" if column is None else f", not {shown(column)}"
    had = f"the columns {_names(names)}" if names else "no columns"
    return Any2VecError(f"{what} with {had}{wrong}; say which holds the sentences: column={shown(example)}")


def _of_frame(what: str, source: Any, column: str | None) -> Any:
    """Return a column of a data frame."""
    if column is None or column not in list(source.columns):
        raise _no_column(what, source.columns, column)
    values = source[column]
    if hasattr(values, "columns"):
        raise _twice(what, column)
    return values


def _of_table(what: str, source: Any, names: Any, column: str | None) -> Iterable[Any]:
    """Return a column of a table: of Arrow, or of a data set of Hugging Face, whose other columns are not looked at."""
    transformed = hasattr(source, "format") and source.format.get("type") == "custom"
    if column is None or (names is not None and column not in names and not transformed):
        raise _no_column(what, names, column)
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
            raise _no_column("the transformed corpus has rows", rows, column)
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
            raise _no_column(f"item {i} of the corpus is a {type(row).__name__}", row, column)
        yield row[column]


def _tokens_of_rows(sentences: Iterable[Any], raw: RawText) -> Iterable[Any]:
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


class _Tags:
    """The tags of items, of which all have one or none has."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self._items: dict[str, int] = {}

    def take(self, i: int, item: Any) -> Any:
        """Keep the tag of item `i`, and return its tokens."""
        tag, tokens = taken_apart(i, item)
        if i and (tag is None) == bool(self.names):
            has, others = ("no tag", "have one") if tag is None else (f"the tag {tag!r}", "have none")
            raise Any2VecError(f"item {i} has {has}, and those before {others}; give all documents a tag, or none")
        if tag is not None:
            if (first := self._items.setdefault(tag, i)) != i:
                twice = f"items {first} and {i} both have the tag {shown(tag)}"
                raise Any2VecError(f"{twice}; a tag is the name of one document: give each its own")
            self.names.append(tag)
        return tokens


def taken_apart(i: int, item: Any) -> tuple[str | None, Any]:
    """Return the tag and the tokens of item `i`: tokens alone, (tag, tokens), or a TaggedDocument of gensim's."""
    if hasattr(item, "words") and hasattr(item, "tags"):
        return _tag(i, item.tags), item.words
    if isinstance(item, tuple) and len(item) == 2:
        if isinstance(item[1], str):  # of one word, it could be the second of two tokens
            expected = "a list of its words, (tag, tokens), or a list of tokens is expected"
            raise Any2VecError(f"item {i} is {shown(item)}, a pair with the text {shown(item[1])}; {expected}")
        if not isinstance(item[1], bytes | Integral):
            return _tag(i, item[0]), item[1]
    return None, item


def _tag(i: int, given: Any) -> str:
    """Return a tag, which may be the only one of a list; integers stand for their digits, as tokens do."""
    if isinstance(given, list | tuple | set | frozenset):
        if len(given) != 1:
            has = f"{len(given)} tags, {shown(given)}" if given else "no tag"
            raise Any2VecError(f"item {i} has {has}; a document has one, the name of its vector")
        (given,) = given
    if isinstance(given, str):
        return given
    if isinstance(given, Integral) and not isinstance(given, bool):
        return str(int(given))
    raise Any2VecError(f"item {i} has the tag {shown(given)}; a string or an integer is expected")


_PIECE = 1 << 20  # ids written at a time
_MANY = 1 << 16  # tokens of a sentence that is no list, taken at a time


class _Ids(dict[Any, int]):
    """Numbers tokens in the order of their first occurrence; an integer is its decimal string."""

    def __init__(self, raw: RawText) -> None:
        self.tokens: list[str] = []
        self._raw = raw

    def __missing__(self, token: object) -> int:
        if isinstance(token, str):
            read = self._raw.token(token)
            number = len(self.tokens)
            if read != token:
                number = self[read]
            else:
                self.tokens.append(token)
        elif isinstance(token, Integral) and not isinstance(token, bool):
            number = self[str(int(token))]
        else:
            raise TypeError("not a token")
        self[token] = number
        return number


class Numbered(NamedTuple):
    """Many sentences in one item of a source, whose words are numbered."""

    words: list[str]  # distinct, in the order of their first occurrence
    tokens: NDArray[np.int32]  # the sentences' words, one sentence after the other, as positions in `words`
    lengths: NDArray[np.int64]  # words of each sentence

    def entries(self, number: Callable[[str], int]) -> NDArray[np.int32]:
        """Return the numbers of all words, and -1 after each sentence."""
        numbers = np.fromiter(map(number, self.words), np.int32, len(self.words))
        return np.insert(numbers[self.tokens], np.cumsum(self.lengths), np.int32(-1))


def scan_sentences(
    sentences: Iterable[Any],
    folder: Path,
    *,
    column: str | None = None,
    raw: RawText = AS_IT_IS,
    host: int = 0,
    size: int = _PIECE,
    documents: bool = False,
) -> Scan:
    """Count the tokens of sentences, drawn once, as `host`'s part; write their ids to `folder`. Documents have tags."""
    tags = _Tags() if documents and column is None else None
    sentences = sentences_of(sentences, column, raw)
    ids = _Ids(raw)
    counts = np.zeros(0, np.int64)
    pieces: list[Piece] = []
    path = folder / "provisional-0"
    entries, words, offset, ended = array("i"), 0, 0, 0
    number = ids.__getitem__
    with disk_errors(folder):
        file = path.open("wb", buffering=0)
    with file:

        def flush() -> None:
            nonlocal counts, entries, offset, words, ended
            written: NDArray[np.int32] = np.frombuffer(entries, np.int32)
            found = np.bincount(written[written >= 0], minlength=len(ids.tokens))
            found[: len(counts)] += counts
            counts = found
            words += int(np.count_nonzero(written >= 0))
            pieces.append(Piece(0, offset, len(written), host, ended))
            ended += int(np.count_nonzero(written < 0))
            with disk_errors(folder):  # only here: an OSError of the caller's iterable is the caller's
                write_all(file, written)
            offset += written.nbytes
            entries = array("i")

        for i, sentence in enumerate(sentences):
            if isinstance(sentence, Numbered):
                entries.frombytes(sentence.entries(number).tobytes())
                if len(entries) >= size:
                    flush()
                continue
            seen = 0
            for tokens in _pieces(i, tags.take(i, sentence) if tags else sentence):
                try:
                    entries.extend(map(number, tokens))
                except TypeError:  # not a token, or one without a hash
                    _check_tokens(i, seen, tokens)
                    raise
                seen += len(tokens)
                if len(entries) >= size:
                    flush()
            entries.append(-1)
            if len(entries) >= size:
                flush()
        if entries:
            flush()
        with disk_errors(folder):
            file.close()
    # A lone surrogate becomes bytes that are not UTF-8: counted and replaced as those of files are.
    tokens = [token.encode("utf-8", "surrogatepass") for token in ids.tokens]
    return Scan(
        [WordCounts.of(tokens, counts)], [path], pieces, words, documents=ended, tags=tags.names if tags else ()
    )


def tokens_in(i: int, sentence: Any) -> list[Any]:
    """Return the tokens of sentence `i`, strings and integers; raise an error if it has others."""
    found: list[Any] = []
    for tokens in _pieces(i, sentence):
        if not all(isinstance(token, str) for token in tokens):
            _check_tokens(i, len(found), tokens)
        found += tokens
    return found


def _pieces(i: int, sentence: Any) -> Iterator[list[Any]]:
    """Yield the tokens of a sentence, many at a time; errors of the user's own iterator stay what they are."""
    if type(sentence) is list:
        yield sentence
        return
    tokens = _tokens(i, sentence)
    try:
        iterator = iter(tokens)
    except TypeError:
        kind = type(sentence).__name__
        raise Any2VecError(f"sentence {i} is of type {kind} ({shown(sentence)}); give lists of tokens") from None
    try:
        while piece := list(islice(iterator, _MANY)):
            yield piece
    except Exception as error:
        error.add_note(f"raised by sentence {i}, as its tokens were read")
        raise


def _tokens(i: int, sentence: Any) -> Any:
    """Return the tokens of a sentence that is no list."""
    if isinstance(sentence, str | bytes):
        kind = type(sentence).__name__
        raise Any2VecError(
            f"sentence {i} is a {kind} ({shown(sentence)}); give lists of tokens, for text such as sentence.split()"
        )
    if isinstance(sentence, Mapping):
        raise _no_column(f"item {i} of the corpus is a {type(sentence).__name__}", sentence, None)
    if hasattr(sentence, "columns"):
        raise Any2VecError(f"sentence {i} is a {type(sentence).__name__}; give lists of tokens")
    return sentence.tolist() if hasattr(sentence, "tolist") else sentence  # NumPy, pandas: plain str and int


def _check_tokens(i: int, first: int, tokens: list[Any]) -> None:
    """Raise an error about the first of some tokens, from number `first` of sentence `i` on, that is none."""
    for j, token in enumerate(tokens, first):
        if isinstance(token, str) or (isinstance(token, Integral) and not isinstance(token, bool)):
            continue
        kind = type(token).__name__
        advice = "token.decode()" if isinstance(token, bytes) else "str(token)"
        raise Any2VecError(f"sentence {i}, token {j} is of type {kind} ({shown(token)}); use {advice}")
