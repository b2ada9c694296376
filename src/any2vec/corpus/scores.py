"""Scores of pairs of words: word2phrase's, and normalized pointwise mutual information (NPMI; Bouma 2009)."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from any2vec.llvm.compiled import njit

__all__ = ["CONNECTOR", "NPMI", "RARE", "SCORINGS", "WORD2PHRASE", "Rule", "may_be_phrase"]

WORD2PHRASE, NPMI = "word2phrase", "npmi"
SCORINGS = (WORD2PHRASE, NPMI)

CONNECTOR = np.float32(-1)  # the weight of a connector word
RARE = np.float32(np.inf)  # of a word that is in no phrase
SLACK = 1 - 1e-5  # of a bound in float32


@dataclass(frozen=True)
class Rule:
    """Which pairs are phrases: both words and the pair occur `min_count` times, and the score is above `threshold`.

    With `across_lines`, pairs are counted across the ends of sentences too. NPMI has no `delta`.
    """

    threshold: float
    min_count: int
    delta: float
    across_lines: bool = False
    scoring: str = WORD2PHRASE

    def weights(self, counts: NDArray[np.int64], words: int) -> NDArray[np.float32]:
        """Return what `may_be_phrase` takes of words with these counts, in a text of so many words."""
        weights = counts.astype(np.float32)
        if self.scoring == NPMI:
            weights = -np.log(np.maximum(counts, 1) / words).astype(np.float32)
        weights[counts < self.min_count] = RARE
        return weights

    def factor(self, words: int) -> np.float32:
        """Return the factor that `may_be_phrase` takes."""
        bound = max(self.threshold, 0) if self.scoring == NPMI else self.threshold / words
        return np.float32(SLACK * bound)

    def phrases(
        self, counts: NDArray[np.int64], firsts: NDArray[np.int64], seconds: NDArray[np.int64], words: int
    ) -> tuple[NDArray[np.bool], NDArray[np.float32]]:
        """Return which pairs are phrases, by the counts of pairs and of their words, and the scores of all pairs.

        word2phrase's score is rounded to float32 after each operation as there, and NPMI is computed in float64 as in
        gensim: no tie is decided otherwise.
        """
        if self.scoring == NPMI:
            exact = _npmi(counts, firsts, seconds, float(words))
            return exact > self.threshold, exact.astype(np.float32)
        scores = (counts - float(self.delta)).astype(np.float32)
        for ones in (firsts, seconds):
            scores /= ones.astype(np.float32)
        scores *= np.float32(words)
        return scores > np.float32(self.threshold), scores


@njit(nogil=True, cache=True)
def may_be_phrase(a: np.float32, b: np.float32, delta: np.float32, factor: np.float32, npmi: bool) -> bool:
    """Whether two words would be a phrase if the rarer one never occurred without the other, by their weights."""
    if npmi:
        return bool((max(a, b) < RARE) & (min(a, b) >= factor * max(a, b)))
    return bool(min(a, b) - delta >= factor * a * b)


@njit(nogil=True, cache=True)
def _npmi(
    counts: NDArray[np.int64], firsts: NDArray[np.int64], seconds: NDArray[np.int64], words: float
) -> NDArray[Any]:
    scores = np.empty(counts.size, np.float64)
    for i in range(counts.size):
        a, b, both = firsts[i] / words, seconds[i] / words, counts[i] / words
        scores[i] = math.log(both / (a * b)) / -math.log(both)
    return scores
