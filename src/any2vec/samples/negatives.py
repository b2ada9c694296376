"""The distribution of negative samples: unigram counts to a power, drawn in one table look-up."""

from typing import Any

import numpy as np
from numba import int64, uint64
from numpy.typing import NDArray

from any2vec.corpus import Worklist
from any2vec.llvm.compiled import njit
from any2vec.samples.draws import POOL, draw, epoch_key
from any2vec.samples.windows import EpochDraws, SampleTables, is_kept

POWER = 0.75
"""Usual exponent of the counts (Mikolov et al. 2013, "Distributed representations of words and phrases", 2.2)."""


def probabilities(counts: NDArray[Any], power: float = POWER, many: Any = 1) -> NDArray[np.float64]:
    """Return each vertex's probability of being drawn as a negative; shape (V,).

    It grows with the `power` of the counts; a vertex without any is never drawn. If `counts` are those of groups,
    `many` has the number of vertices of each, and the probabilities are those of the groups.
    """
    weights = np.where(counts > 0, counts, 1.0) ** power * many
    weights[counts == 0] = 0  # of an earlier text, in which it is not known how often it occurred
    return weights / weights.sum()


def alias_table(p: NDArray[np.float64]) -> NDArray[np.uint64]:
    """Make Walker's alias table of V < 2^32 probabilities, of 8 bytes each: it fits in L2 where word2vec's has 40 MB.

    Entry i has its alias in the low half, and in the high half the threshold up to which column i is i's own. Each
    column's share is exact to 2^-32 / V.
    """
    threshold, alias, order = np.empty(p.size), np.empty(p.size, np.int64), np.empty(p.size, np.int64)
    share_columns(p * p.size, threshold, alias, order)
    high = np.minimum(threshold * 2.0**32, 2.0**32 - 1).astype(np.uint64)
    return (high << np.uint64(32)) | alias.astype(np.uint64)


@njit(nogil=True, cache=True)
def share_columns(left: Any, threshold: Any, alias: Any, order: Any) -> None:
    """Make n columns of height 1 of n shares, `left`, whose mean is 1 (Vose's method); `left` and `order` are scratch.

    Column i is i's own up to ``threshold[i]``, and that of ``alias[i]`` from there on.
    """
    smalls, larges = 0, left.size  # in `order`, small ones from the front, large ones from the back
    for i in range(left.size):
        threshold[i], alias[i] = 1.0, i
        if left[i] < 1.0:
            order[smalls] = i
            smalls += 1
        else:
            larges -= 1
            order[larges] = i
    while smalls > 0 and larges < left.size:
        smalls -= 1
        low, high = order[smalls], order[larges]
        threshold[low], alias[low] = left[low], high
        left[high] -= 1.0 - left[low]
        if left[high] < 1.0:
            larges += 1
            order[smalls] = high
            smalls += 1


@njit(inline="always")
def negative(bits: int, table: NDArray[np.uint64]) -> int:
    """Draw an id from 64 random bits, whose fraction times V is a column and a height in it."""
    size = uint64(table.size)
    place = (bits >> uint64(32)) * size + (((bits & uint64(0xFFFFFFFF)) * size) >> uint64(32))
    column = int64(place >> uint64(32))
    entry = table[column]
    aliased = int64((place & uint64(0xFFFFFFFF)) > (entry >> uint64(32)))  # no branch: it could not be predicted
    return column + aliased * (int64(entry & uint64(0xFFFFFFFF)) - column)


class PooledTables(SampleTables):
    """What samples are drawn from where each round has a pool: `EpochDraws.tables` is that, uint64, rising ids.

    Parameters
    ----------
    counts, sample, tables, seed, first, narrowest, held_out, part
        As of `SampleTables`; `tables` is the alias table of negatives.
    worklist : Worklist
        This host's part.
    negatives : int
        K.
    """

    def __init__(
        self,
        counts: NDArray[np.int64],
        sample: float,
        tables: Any,
        seed: int,
        first: int,
        narrowest: int,
        worklist: Worklist,
        negatives: int,
        held_out: float = 0.0,
        part: float = 1.0,
    ) -> None:
        super().__init__(counts, sample, tables, seed, first, narrowest, held_out, part)
        self._worklist, self._negatives = worklist, negatives
        self._known: dict[tuple[Any, ...], EpochDraws] = {}

    def round(self, epoch: int, ranges: tuple[tuple[int, int], ...]) -> EpochDraws:
        """Return what samples of some positions of an epoch are drawn from."""
        key = epoch, ranges
        if key not in self._known:
            if len(self._known) > 1:  # the round that computes, and the next one
                del self._known[next(iter(self._known))]
            draws = self.epoch(epoch)
            seen = np.zeros(len(self._keep), np.bool_)
            for low, high in ranges:
                for piece in self._worklist.pieces(low, high):
                    _see(piece.ids, piece.low, piece.high, draws.keep, draws.ahead(piece.at).keep_key, seen)
            stream = draw(np.uint64(epoch_key(self._seed, epoch, POOL)), self._first + ranges[0][0])
            words = np.flatnonzero(seen)
            pool = np.zeros(len(self._keep), np.bool_)
            _fill(pool, self._tables, np.uint64(stream), len(words) * self._negatives)
            self._known[key] = draws._replace(tables=np.flatnonzero(pool).astype(np.uint64))
        return self._known[key]


@njit(nogil=True, cache=True)
def _see(ids: Any, low: int, high: int, keep: Any, key: int, seen: Any) -> None:
    for position in range(low, high):
        seen[ids[position]] |= is_kept(ids[position], position, keep, key)


@njit(nogil=True, cache=True)
def _fill(pool: Any, table: Any, key: int, draws: int) -> None:
    for k in range(draws):
        pool[negative(draw(uint64(key), k), table)] = True
