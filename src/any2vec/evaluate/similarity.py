"""Correlation of cosines with human judgements of similarity."""

import math
from dataclasses import dataclass

import numpy as np

from any2vec.vectors.questions import Pairs, as_pairs, correlations, folded_ids, meant_word
from any2vec.vectors.vectors import Vectors, check_vectors

__all__ = ["SimilarityResult", "evaluate_similarity"]


@dataclass(frozen=True)
class SimilarityResult:
    """How well cosines agree with human judgements.

    Attributes
    ----------
    spearman, pearson : float
        Correlations over the pairs used, -1 to 1; NaN for fewer than two, or if all scores or cosines are equal.
    used, skipped : int
        Pairs whose words both have vectors, and the other pairs.
    """

    spearman: float
    pearson: float
    used: int
    skipped: int

    def as_dict(self) -> dict[str, float | int | None]:
        """Return all figures for JSON; None for an undefined correlation."""
        correlations = {"spearman": self.spearman, "pearson": self.pearson}
        known = {name: None if math.isnan(value) else value for name, value in correlations.items()}
        return {**known, "used": self.used, "skipped": self.skipped}


def evaluate_similarity(vectors: Vectors, pairs: Pairs) -> SimilarityResult:
    """Correlate the cosines of pairs of words with human scores.

    Case is ignored: of words that differ only in case, the most frequent is meant. Pairs with an unknown word are
    skipped, unless it has a vector from its parts.

    Parameters
    ----------
    vectors : Vectors
        Words by descending count.
    pairs : path or sequence of (str, str, float)
        A file for `read_pairs`, or what it returns.

    Returns
    -------
    SimilarityResult
        Spearman's and Pearson's correlations, and over how many pairs.

    Raises
    ------
    Any2VecError
        If the file cannot be read, a vector is not finite, an argument is invalid, or SciPy is not installed.
    """
    check_vectors(vectors)
    pairs = as_pairs(pairs)
    ids = folded_ids(vectors.words)
    meant = [(meant_word(a, vectors, ids), meant_word(b, vectors, ids), score) for a, b, score in pairs]
    known = [(a, b, score) for a, b, score in meant if a is not None and b is not None]
    cosines = np.array([vectors.similarity(a, b) for a, b, _ in known])
    found = correlations(np.array([score for *_, score in known]), cosines)
    pearson, spearman = (math.nan, math.nan) if found is None else (float(result.statistic) for result in found)
    return SimilarityResult(spearman, pearson, len(known), len(pairs) - len(known))
