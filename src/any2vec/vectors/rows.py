"""What word2vec's formats have in common: the header, words they can hold, rows that are gathered as they come."""

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from any2vec.errors import Any2VecError
from any2vec.vectors.streams import most_bytes
from any2vec.vectors.vectors import Vectors

__all__ = ["Rows", "check_size", "check_words", "parse_header", "shorten"]

BLANKS = frozenset(" \t\n\r\v\f")


class Rows:
    """Words and vectors gathered in a matrix that grows with what was read, not with what a header promised.

    Parameters
    ----------
    dim : int
        D.
    capacity : int
        How many rows to make room for at first; to be checked against the size of the file by the caller.
    """

    def __init__(self, dim: int, capacity: int) -> None:
        self.words: list[str] = []
        self.matrix: NDArray[np.float32] = np.empty((capacity, dim), np.float32)

    def add(self, words: Sequence[str], rows: NDArray[np.float32]) -> None:
        """Add n words.

        Parameters
        ----------
        words : sequence of str
            Length n.
        rows : float32 array, shape (n, D)
            Their vectors.
        """
        start, end = len(self.words), len(self.words) + len(words)
        if end > len(self.matrix):
            self._resize(max(end, len(self.matrix) * 5 // 4))
        self.matrix[start:end] = rows
        self.words.extend(words)

    def vectors(self, path: Path) -> Vectors:
        """Make Vectors of what was gathered.

        Parameters
        ----------
        path : Path
            The file, for errors.

        Returns
        -------
        Vectors
            With counts of zero: the formats have none.

        Raises
        ------
        Any2VecError
            If a word occurs twice.
        """
        self._resize(len(self.words))
        first: dict[str, int] = {}
        for i, word in enumerate(self.words):
            if first.setdefault(word, i) != i:
                twice = f"the word {word!r} occurs twice, as vectors {first[word] + 1:,} and {i + 1:,}"
                raise Any2VecError(f"{path}: {twice}; a word has one vector")
        return Vectors(self.words, self.matrix)

    def _resize(self, rows: int) -> None:
        if rows != len(self.matrix):  # in place: no second copy
            self.matrix.resize((rows, self.matrix.shape[1]), refcheck=False)


def parse_header(line: bytes, path: Path) -> tuple[int, int]:
    """Read word2vec's header: the number of words V and of dimensions D.

    Parameters
    ----------
    line : bytes
        The first line of the file.
    path : Path
        The file, for errors.

    Returns
    -------
    (int, int)
        V and D, both at least 1.

    Raises
    ------
    Any2VecError
        If it is not such a header.
    """
    parts = line.split()
    if len(parts) == 2 and all(part.isdigit() and len(part) < 19 for part in parts):
        words, dim = int(parts[0]), int(parts[1])
        if words and dim:
            return words, dim
    right = "two positive numbers: how many words, how many dimensions"
    raise Any2VecError(f"{path}, line 1: the header {shorten(line)} is not {right}")


def check_size(number: int, dim: int, least: int, path: Path) -> None:
    """Refuse a header that promises more than the file can hold, before room is made for it.

    Parameters
    ----------
    number, dim : int
        V and D of the header.
    least : int
        How many bytes they take at the least.
    path : Path
        The file.

    Raises
    ------
    Any2VecError
        If the file is too short for them.
    """
    if least > most_bytes(path):
        promise = f"{number:,} words of {dim:,} dimensions, at least {least:,} bytes"
        size = f"the file has {path.stat().st_size:,}: it is truncated, or the header wrong"
        raise Any2VecError(f"{path}: the header promises {promise}, but {size}")


def check_words(words: Iterable[str], path: Path) -> None:
    """Refuse words that word2vec's formats cannot hold.

    Parameters
    ----------
    words : iterable of str
        What is to be written.
    path : Path
        Where, for errors.

    Raises
    ------
    Any2VecError
        If a word is empty, has blanks or line ends in it, or is not Unicode text.
    """
    for word in words:
        if not word or not BLANKS.isdisjoint(word) or not _encodable(word):
            reason = "empty, with blanks or line ends, or no text"
            instead = "save to a name without an ending, which makes a folder that can"
            raise Any2VecError(f"{path}: word2vec's formats cannot hold the word {word!r} ({reason}); {instead}")


def shorten(text: bytes) -> str:
    """Quote bytes from a file for an error, on one line and not too long.

    Parameters
    ----------
    text : bytes
        What was found.

    Returns
    -------
    str
        It, or its beginning, in quotes.
    """
    start = text[:40].decode("utf-8", "backslashreplace").rstrip()
    return repr(start + "..." if len(text) > 40 else start)


def _encodable(word: str) -> bool:
    try:
        word.encode()
    except UnicodeEncodeError:  # a lone surrogate
        return False
    return True
