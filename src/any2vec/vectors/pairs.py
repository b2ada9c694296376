"""Pairs of words with human judgements of similarity: WordSim-353, SimLex-999 and the like."""

import math
import os
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from any2vec.errors import Any2VecError, is_installed, missing_extra, shown
from any2vec.io.inputs import split, strip
from any2vec.options import as_path
from any2vec.vectors.word_sets import read_lines

__all__ = ["Pair", "Pairs", "as_pairs", "correlations", "read_pairs", "require_scipy"]

Pair: TypeAlias = tuple[str, str, float]
"""Two words and how similar people find them."""

Pairs: TypeAlias = str | os.PathLike[str] | Sequence[Pair]
"""A file of pairs, or the pairs."""


def read_pairs(path: str | os.PathLike[str], delimiter: str | None = None, encoding: str = "utf-8") -> tuple[Pair, ...]:
    """Read pairs of words with a score, in the order of the file.

    A line is a pair, columns separated by tabs, commas or whitespace, or the `delimiter`: two words, possibly a letter
    for the part of speech, and the score. Empty lines, lines that begin with "#" and a first line of column titles
    (without a number) are skipped. WordSim-353 and SimLex-999 are such files, as published and in gensim.
    """
    path = as_path(path)
    if delimiter is not None and not (isinstance(delimiter, str) and delimiter):
        raise Any2VecError(f"`delimiter` is {shown(delimiter)}; a string such as ',' is expected")
    pairs: list[Pair] = []
    column = None
    titles = False
    for number, line in enumerate(read_lines(path, encoding), 1):
        if not line or line.startswith("#"):
            continue
        cells = _cells(line, delimiter)
        if column is None:
            column = _score_column(cells)
            if column is None and not titles:
                titles = True
                continue
        score = _number(cells[column]) if column is not None and column < len(cells) else None
        if score is None or not math.isfinite(score) or not (cells[0] and cells[1]):
            wrong = f"not two words and a finite number, separated by tabs: {line[:60]!r}"
            raise Any2VecError(f"{path}, line {number:,}: {wrong}")
        pairs.append((cells[0], cells[1], score))
    if not pairs:
        raise Any2VecError(f"{path}: has no pairs of words with a score")
    return tuple(pairs)


def as_pairs(pairs: Pairs, delimiter: str | None = None, encoding: str = "utf-8") -> Sequence[Pair]:
    """Read the pairs if they are in a file; refuse what is neither a file nor pairs."""
    if isinstance(pairs, str | os.PathLike):
        return read_pairs(pairs, delimiter, encoding)
    with suppress(TypeError, ValueError):
        listed = [(a, b, float(score)) for a, b, score in pairs]
        if all(isinstance(a, str) and isinstance(b, str) for a, b, _ in listed):
            return listed
    raise Any2VecError(f"pairs: a file or tuples of two words and a number are expected, not {shown(pairs)}")


def require_scipy() -> None:
    """Raise now if Spearman's correlation could not be computed later, for want of SciPy."""
    if not is_installed("scipy"):
        raise missing_extra("scipy", "evaluate")


def correlations(x: NDArray[np.float64], y: NDArray[np.float64]) -> tuple[Any, Any] | None:
    """Return SciPy's results for Pearson's and Spearman's correlation; None for fewer than two values or equal ones."""
    require_scipy()
    from scipy import stats

    if len(x) < 2 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return None
    return stats.pearsonr(x, y), stats.spearmanr(x, y)


def _cells(line: str, delimiter: str | None) -> list[str]:
    if delimiter is None and "\t" in line:
        delimiter = "\t"
    if delimiter is not None:
        return [strip(cell) for cell in line.split(delimiter)]
    if "," in line:
        return [strip(cell).strip('"') for cell in line.split(",")]
    return split(line)


def _score_column(cells: list[str]) -> int | None:
    """Find the column of the score on the line of the first pair; None on a line of titles."""
    if len(cells) > 2 and _number(cells[2]) is not None:
        return 2
    if len(cells) > 3 and len(cells[2]) == 1 and _number(cells[3]) is not None:
        return 3
    return None


def _number(cell: str) -> float | None:
    try:
        return float(cell)
    except ValueError:
        return None
