"""Words whose vector is the mean of several rows: a row of their own, and those of their parts.

Parts are n-grams (Bojanowski et al. 2017, "Enriching word vectors with subword information", section 3.2), features of
items, or what an operator of a user's own makes of a word.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

__all__ = ["WordRows"]


@dataclass(frozen=True, eq=False)
class WordRows:
    """Which rows of e make each word's vector: V rows of words and P rows of parts, the most frequent ones first.

    Attributes
    ----------
    bounds : int64 array, shape (V + 1,)
        Word w has the rows ``rows[bounds[w] : bounds[w + 1]]``.
    rows : int32 array
        Each word's own row first, then those of its parts; a part that a word has twice is there twice.
    ids : int64 array, shape (P,)
        Rising numbers of the parts that words have.
    parts : int32 array, shape (P,)
        Row of each part.
    """

    bounds: NDArray[np.int64]
    rows: NDArray[np.int32]
    ids: NDArray[np.int64]
    parts: NDArray[np.int32]

    @classmethod
    def of(
        cls, counts: NDArray[np.int64], bounds: NDArray[np.int64], parts: Sequence[int] | NDArray[np.integer]
    ) -> Self:
        """Give rows to words that have the parts ``parts[bounds[w] : bounds[w + 1]]``, by the counts of words."""
        sizes = np.diff(bounds)
        ids, places = np.unique(np.asarray(parts, np.int64), return_inverse=True)
        used = np.concatenate([counts, np.bincount(places, np.repeat(counts, sizes), len(ids))])
        numbers = np.empty(len(used), np.int32)
        numbers[np.argsort(-used, kind="stable")] = np.arange(len(used), dtype=np.int32)
        begins = bounds + np.arange(len(bounds))
        is_own = np.zeros(begins[-1], np.bool_)
        is_own[begins[:-1]] = True
        rows = np.empty(begins[-1], np.int32)
        rows[is_own], rows[~is_own] = numbers[: len(counts)], numbers[len(counts) :][places]
        return cls(begins, rows, ids, numbers[len(counts) :])

    @property
    def own(self) -> NDArray[np.int32]:
        """The row of each word's own; shape (V,)."""
        return self.rows[self.bounds[:-1]]

    @property
    def number(self) -> int:
        """V + P, the rows of e."""
        return len(self.bounds) - 1 + len(self.ids)

    @property
    def nbytes(self) -> int:
        """Bytes of the lists."""
        return self.bounds.nbytes + self.rows.nbytes + self.ids.nbytes + self.parts.nbytes

    @property
    def most(self) -> int:
        """Rows of the word that has most."""
        return int(np.diff(self.bounds).max())

    def spread(self, of_words: NDArray[np.float64]) -> NDArray[np.float64]:
        """Sum up, for each row of e, what words have of something; shape (V,) to shape (V + P,)."""
        weights = np.repeat(np.asarray(of_words, np.float64), np.diff(self.bounds))
        return np.bincount(self.rows, weights, self.number).astype(np.float64, copy=False)

    def shares(self, counts: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return what a row is of a word, 1/n of one with n rows, in the mean over words by their counts."""
        return self.spread(counts / np.diff(self.bounds)) / self.spread(counts)
