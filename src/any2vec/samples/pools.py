"""Pools of negatives, as DMTK has them: a block of words draws some in advance, and its windows draw from these.

(GraphAny2Vec, section 5.1.) DMTK draws K negatives for each distinct word of the block; the pool is the set of these,
and each is as likely to be drawn from it.
"""

from typing import Any

import numpy as np
from numba import uint64
from numpy.typing import NDArray

from any2vec.corpus import Worklist
from any2vec.llvm.compiled import njit
from any2vec.samples.draws import POOL, draw, epoch_key
from any2vec.samples.negatives import negative
from any2vec.samples.windows import EpochDraws, SampleTables, is_kept

__all__ = ["PooledTables"]


class PooledTables(SampleTables):
    """What samples are drawn from where each round has a pool: `EpochDraws.tables` is that, uint64, rising ids.

    Parameters
    ----------
    counts, sample, tables, seed, first, narrowest
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
    ) -> None:
        super().__init__(counts, sample, tables, seed, first, narrowest)
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
