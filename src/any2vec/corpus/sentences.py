"""The pass over sentences in memory: the twin of `scan`, for tokens that a Python program gives."""

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from numbers import Integral
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from any2vec.corpus.documents import Tags
from any2vec.corpus.raw_text import AS_IT_IS, RawText
from any2vec.corpus.rows import no_column, sentences_of
from any2vec.corpus.scan import Piece, Scan
from any2vec.corpus.word_table import WordCounts
from any2vec.errors import Any2VecError, shown
from any2vec.io.memory import disk_errors, write_all

__all__ = ["Numbered", "scan_sentences", "tokens_in"]

PIECE = 1 << 20  # ids written at a time
MANY = 1 << 16  # tokens of a sentence that is no list, taken at a time


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
    sentences: Iterable[Any],
    folder: Path,
    *,
    column: str | None = None,
    raw: RawText = AS_IT_IS,
    host: int = 0,
    size: int = PIECE,
    documents: bool = False,
) -> Scan:
    """Count the tokens of sentences in one pass, as `host`'s part; write their ids to a file in `folder`.

    A generator is drawn once, and never held in memory. With `documents`, items may have tags (`documents.Tags`).
    """
    tags = Tags() if documents and column is None else None
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
        while piece := list(islice(iterator, MANY)):
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
        raise no_column(f"item {i} of the corpus is a {type(sentence).__name__}", sentence, None)
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
