"""The pass over sentences in memory: the twin of `scan`, for tokens that a Python program gives."""

import re
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping
from numbers import Integral
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from any2vec.corpus.scan import Piece, Scan
from any2vec.corpus.word_table import WordCounts
from any2vec.errors import Any2VecError, shown
from any2vec.io.disk import disk_errors, write_all

__all__ = ["Numbered", "scan_sentences", "sentences_of", "tokens_in"]

PIECE = 1 << 20  # ids written at a time
ROWS = 10_000  # of a data set, taken at a time
FEW = 10  # columns named in a message
tokens_of = re.compile(r"[^ \t\n\v\f\r]+").findall  # as words of files; str.split would cut at other characters too


class _Ids(dict[Any, int]):
    """Numbers tokens in the order of their first occurrence; an integer is its decimal string."""

    def __init__(self) -> None:
        self.tokens: list[str] = []

    def __missing__(self, token: object) -> int:
        if isinstance(token, str):
            number = len(self.tokens)
            self.tokens.append(token)
        elif isinstance(token, Integral) and not isinstance(token, bool):
            number = self[str(int(token))]
        else:
            raise _NotATokenError
        self[token] = number
        return number


class _NotATokenError(TypeError):
    pass


class Numbered(NamedTuple):
    """Many sentences in one item of a source, whose words are numbered.

    Attributes
    ----------
    words : list of str
        Distinct, in the order of their first occurrence.
    tokens : int32 array, shape (n,)
        The sentences' words, one sentence after the other, as positions in `words`.
    lengths : int64 array, shape (m,)
        Words of each sentence.
    """

    words: list[str]
    tokens: NDArray[np.int32]
    lengths: NDArray[np.int64]

    def entries(self, number: Callable[[str], int]) -> NDArray[np.int32]:
        """Return the numbers of all words, and -1 after each sentence."""
        numbers = np.fromiter(map(number, self.words), np.int32, len(self.words))
        return np.insert(numbers[self.tokens], np.cumsum(self.lengths), np.int32(-1))


def scan_sentences(
    sentences: Iterable[Any], folder: Path, *, column: str | None = None, host: int = 0, size: int = PIECE
) -> Scan:
    """Count the tokens of sentences in one pass, as `host`'s part; write their ids to a file in `folder`.

    A generator is drawn once, and never held in memory.
    """
    sentences = sentences_of(sentences, column)
    ids = _Ids()
    counts = np.zeros(0, np.int64)
    pieces: list[Piece] = []
    path = folder / "provisional-0"
    entries, words, offset = array("i"), 0, 0
    number = ids.__getitem__
    with disk_errors(folder):
        file = path.open("wb", buffering=0)
    with file:

        def flush() -> None:
            nonlocal counts, entries, offset, words
            written: NDArray[np.int32] = np.frombuffer(entries, np.int32)
            found = np.bincount(written[written >= 0], minlength=len(ids.tokens))
            found[: len(counts)] += counts
            counts = found
            words += int(np.count_nonzero(written >= 0))
            pieces.append(Piece(0, offset, len(written), host))
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
            try:
                entries.extend(map(number, sentence if type(sentence) is list else _tokens(i, sentence)))
            except TypeError as error:
                raise _not_tokens(i, sentence, error) from error
            entries.append(-1)
            if len(entries) >= size:
                flush()
        if entries:
            flush()
    # A lone surrogate becomes bytes that are not UTF-8: counted and replaced as those of files are.
    tokens = [token.encode("utf-8", "surrogatepass") for token in ids.tokens]
    return Scan([WordCounts.of(tokens, counts)], [path], pieces, words)


def sentences_of(source: Any, column: str | None) -> Iterable[Any]:
    """Return the sentences of what the user gave: an iterable of them, or of rows, or a data frame."""
    kind = type(source).__name__
    if isinstance(source, Mapping):
        raise Any2VecError(f"the corpus is a {kind} with the keys {_names(source)}; give the sentences in one of them")
    if hasattr(source, "column_names"):  # of Arrow, Hugging Face
        if source.column_names is not None and column not in source.column_names:
            raise _no_column(f"the corpus is a {kind}", source.column_names, column)
        if column is not None:
            tables = source.with_format("arrow").iter(ROWS) if hasattr(source, "with_format") else [source]
            return _split(_in_tables(tables, column))
    if hasattr(source, "columns") and hasattr(source, "__getitem__"):  # pandas, polars: its items are its columns
        if column is None or column not in list(source.columns):
            raise _no_column(f"the corpus is a {kind}", source.columns, column)
        return _split(source[column])
    if not isinstance(source, Iterable):
        raise Any2VecError(f"the corpus is of type {kind}; give a path, paths, or lists of tokens")
    return source if column is None else _split(_values(source, column))


def tokens_in(i: int, sentence: Any) -> list[Any]:
    """Return the tokens of sentence `i`, strings and integers; raise an error if it has others."""
    try:
        tokens = sentence if type(sentence) is list else list(_tokens(i, sentence))
    except TypeError as error:
        raise _not_tokens(i, sentence, error) from error
    if not all(isinstance(token, str) for token in tokens):
        wrong = _not_tokens(i, tokens, TypeError())
        if isinstance(wrong, Any2VecError):
            raise wrong
    return tokens


def _in_tables(tables: Iterable[Any], column: str) -> Iterator[Any]:
    """Yield a column of Arrow tables, or of record batches."""
    for table in tables:
        if column not in table.column_names:  # a stream's may not be known before
            raise _no_column("the corpus is a data set", table.column_names, column)
        values = table.column(column)
        for part in getattr(values, "chunks", [values]):
            yield from part.to_pylist()


def _values(rows: Iterable[Any], column: str) -> Iterator[Any]:
    for i, row in enumerate(rows):
        if not isinstance(row, Mapping):
            kind = type(row).__name__
            raise Any2VecError(f"item {i} of the corpus is of type {kind}; column={shown(column)} needs dicts")
        if column not in row:
            raise _no_column(f"item {i} of the corpus is a {type(row).__name__}", row, column)
        yield row[column]


def _split(values: Iterable[Any]) -> Iterator[Any]:
    for value in values:
        yield tokens_of(value) if isinstance(value, str) else value


def _tokens(i: int, sentence: Any) -> Iterable[Any]:
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


def _not_tokens(i: int, sentence: Any, error: TypeError) -> Any2VecError | TypeError:
    """Say what is wrong with a sentence; an error of the user's own code stays what it is."""
    try:
        tokens = list(sentence)
    except TypeError:
        kind = type(sentence).__name__
        return Any2VecError(f"sentence {i} is of type {kind} ({shown(sentence)}); give lists of tokens")
    for j, token in enumerate(tokens):
        if isinstance(token, str) or (isinstance(token, Integral) and not isinstance(token, bool)):
            continue
        kind = type(token).__name__
        advice = "token.decode()" if isinstance(token, bytes) else "str(token)"
        return Any2VecError(f"sentence {i}, token {j} is of type {kind} ({shown(token)}); use {advice}")
    return error


def _no_column(what: str, columns: Iterable[Any], column: str | None) -> Any2VecError:
    names = [str(name) for name in columns]
    example = "text" if "text" in names or not names else names[0]
    wrong = "" if column is None else f", not {shown(column)}"
    had = f"the columns {_names(names)}" if names else "no columns"
    return Any2VecError(f"{what} with {had}{wrong}; say which holds the sentences: column={shown(example)}")


def _names(columns: Iterable[Any]) -> str:
    names = [shown(name) for name in columns]
    return ", ".join([*names[:FEW], "..."] if len(names) > FEW else names)
