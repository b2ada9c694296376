"""The pass over sentences that a Python program gives: lists of tokens."""

from array import array
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from any2vec.corpus.build_vocabulary import pack
from any2vec.corpus.scan import Piece, Scan
from any2vec.errors import Any2VecError
from any2vec.io.disk import disk_errors, write_all

__all__ = ["scan_sentences"]

PIECE = 1 << 20  # ids written at a time


class _Ids(dict[str, int]):
    """Numbers tokens in the order of their first occurrence."""

    def __missing__(self, token: object) -> int:
        if not isinstance(token, str):
            raise _NotAStringError
        self[token] = number = len(self)
        return number


class _NotAStringError(TypeError):
    pass


def scan_sentences(sentences: Iterable[Sequence[str]], folder: Path, *, size: int = PIECE) -> Scan:
    """Count the tokens of sentences in one pass; write their provisional ids.

    Parameters
    ----------
    sentences : iterable of sequences of str
        Each is a sentence; tokens may hold blanks. A generator is drawn once, and never held in memory.
    folder : Path
        Where the file of provisional ids is made.
    size : int
        Ids written at a time.

    Returns
    -------
    Scan
        The counts and the ids, one part.

    Raises
    ------
    Any2VecError
        If a sentence is not a sequence of str.
    """
    if not isinstance(sentences, Iterable):
        kind = type(sentences).__name__
        raise Any2VecError(f"the corpus is of type {kind}; give a path, paths, or lists of tokens")
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
            found = np.bincount(written[written >= 0], minlength=len(ids))
            found[: len(counts)] += counts
            counts = found
            words += int(np.count_nonzero(written >= 0))
            pieces.append(Piece(0, offset, len(written)))
            with disk_errors(folder):  # only here: an OSError of the caller's iterable is the caller's
                write_all(file, written)
            offset += written.nbytes
            entries = array("i")

        for i, sentence in enumerate(sentences):
            if isinstance(sentence, str | bytes):
                kind = type(sentence).__name__
                raise Any2VecError(f"sentence {i} is a {kind} ({sentence[:40]!r}); give lists of tokens")
            try:
                entries.extend(map(number, sentence))
            except TypeError as error:
                raise _not_tokens(i, sentence, error) from error
            entries.append(-1)
            if len(entries) >= size:
                flush()
        if entries:
            flush()
    tokens = [token.encode("utf-8", "surrogatepass") for token in ids]
    return Scan([pack(tokens, counts)], [path], pieces, words)


def _not_tokens(i: int, sentence: Any, error: TypeError) -> Any2VecError | TypeError:
    """Say what is wrong with a sentence; an error of the user's own code stays what it is."""
    try:
        tokens = list(sentence)
    except TypeError:
        kind = type(sentence).__name__
        return Any2VecError(f"sentence {i} is of type {kind} ({str(sentence)[:40]}); give lists of tokens")
    for j, token in enumerate(tokens):
        if not isinstance(token, str):
            kind, shown = type(token).__name__, str(token)[:40]
            return Any2VecError(f"sentence {i}, token {j} is of type {kind} ({shown}); use str(token)")
    return error
