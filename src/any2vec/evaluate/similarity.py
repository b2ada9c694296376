"""Correlation of cosines with how alike people find words: WordSim-353, SimLex-999 and the like."""

import math
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from any2vec.errors import Any2VecError, missing_extra
from any2vec.evaluate.folding import fold, folded_ids
from any2vec.evaluate.lines import read_lines
from any2vec.vectors.vectors import Vectors

__all__ = ["Pair", "SimilarityResult", "evaluate_similarity", "read_pairs", "require_scipy"]

Pair: TypeAlias = tuple[str, str, float]
"""Two words and how alike people find them."""


@dataclass(frozen=True)
class SimilarityResult:
    """How well cosines agree with people.

    Attributes
    ----------
    spearman, pearson : float
        Correlations over the pairs used, -1 to 1; NaN for fewer than two or where all are equally alike.
    used, skipped : int
        Pairs whose words both have vectors, and the others.
    """

    spearman: float
    pearson: float
    used: int
    skipped: int

    def as_dict(self) -> dict[str, float | int | None]:
        """Give all figures as JSON can hold them.

        Returns
        -------
        dict
            None for a correlation that does not exist.
        """
        correlations = {"spearman": self.spearman, "pearson": self.pearson}
        known = {name: None if math.isnan(value) else value for name, value in correlations.items()}
        return {**known, "used": self.used, "skipped": self.skipped}


def read_pairs(path: str | os.PathLike[str]) -> tuple[Pair, ...]:
    """Read pairs of words with a score.

    Parameters
    ----------
    path : str or path
        A file with a pair a line, columns parted by tabs, commas or blanks: two words and the score,
        between them perhaps a letter for the part of speech. Lines that begin with "#", empty lines and a
        first line of titles are passed over. WordSim-353 and SimLex-999 are such files, as published and as
        gensim's tests have them.

    Returns
    -------
    tuple of (str, str, float)
        The pairs in the order of the file.

    Raises
    ------
    Any2VecError
        If a line is no pair, or there are none; file and line are named.
    """
    path = Path(path)
    pairs: list[Pair] = []
    column = None
    titles = False
    for number, line in enumerate(read_lines(path), 1):
        if not line or line.startswith("#"):
            continue
        cells = _cells(line)
        if column is None:
            column = _score_column(cells)
            if column is None and not titles:
                titles = True
                continue
        score = _number(cells[column]) if column is not None and column < len(cells) else None
        if score is None or not (cells[0] and cells[1]):
            wrong = f"not two words and a finite number, parted by tabs: {line[:60]!r}"
            raise Any2VecError(f"{path}, line {number:,}: {wrong}")
        pairs.append((cells[0], cells[1], score))
    if not pairs:
        raise Any2VecError(f"{path}: has no pairs of words with a score")
    return tuple(pairs)


def evaluate_similarity(vectors: Vectors, pairs: str | os.PathLike[str] | Sequence[Pair]) -> SimilarityResult:
    """Correlate the cosines of pairs of words with people's scores.

    Upper and lower case are the same; of words that differ in it the most frequent is meant. Pairs with an
    unknown word are skipped.

    Parameters
    ----------
    vectors : Vectors
        Words in the order of falling counts.
    pairs : path or sequence of (str, str, float)
        A file for `read_pairs`, or what it gives.

    Returns
    -------
    SimilarityResult
        Spearman's and Pearson's correlations and how many pairs they are over.

    Raises
    ------
    Any2VecError
        If the file cannot be read, a vector is not finite, or scipy is not installed.
    """
    if isinstance(pairs, str | os.PathLike):
        pairs = read_pairs(pairs)
    ids = folded_ids(vectors.words)
    known = [(ids[fold(a)], ids[fold(b)], score) for a, b, score in pairs if fold(a) in ids and fold(b) in ids]
    cosines = np.array([vectors.similarity(vectors.words[a], vectors.words[b]) for a, b, _ in known])
    spearman, pearson = _correlations(cosines, np.array([score for *_, score in known]))
    return SimilarityResult(spearman, pearson, len(known), len(pairs) - len(known))


def require_scipy() -> None:
    """Raise now if Spearman's correlation could not be computed later.

    Raises
    ------
    Any2VecError
        If scipy is not installed.
    """
    if find_spec("scipy") is None:
        raise missing_extra("scipy", "evaluate")


def _correlations(x: NDArray[np.float64], y: NDArray[np.float64]) -> tuple[float, float]:
    require_scipy()
    from scipy import stats

    if len(x) < 2 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return math.nan, math.nan
    return float(stats.spearmanr(x, y).statistic), float(np.corrcoef(x, y)[0, 1])


def _cells(line: str) -> list[str]:
    if "\t" in line:
        return [cell.strip() for cell in line.split("\t")]
    if "," in line:
        return [cell.strip().strip('"') for cell in line.split(",")]
    return re.split(r"\s+", line)


def _score_column(cells: list[str]) -> int | None:
    """Find the score on the line of the first pair; None if this is a line of titles."""
    if len(cells) > 2 and _number(cells[2]) is not None:
        return 2
    if len(cells) > 3 and len(cells[2]) == 1 and _number(cells[3]) is not None:
        return 3
    return None


def _number(cell: str) -> float | None:
    try:
        value = float(cell)
    except ValueError:
        return None
    return value if math.isfinite(value) else None
