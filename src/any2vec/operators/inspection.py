"""Inspection: which rows a slice will touch, and how often (GraphAny2Vec, section 3.2)."""

import time
from collections.abc import Callable
from concurrent.futures import Future

import numpy as np
from numpy.typing import NDArray

from any2vec.cluster.workers import Workers
from any2vec.corpus import Worklist
from any2vec.operators.base import Operator
from any2vec.operators.kernel import inspection_kernel
from any2vec.samples.slices import Slice
from any2vec.samples.windows import EpochDraws, SampleTables

__all__ = ["Inspector"]

_AT_A_TIME = 1 << 18  # positions
_MOST = np.iinfo(np.int32).max  # that is counted


class Inspector:
    """Inspects slices of a host's part of the worklist; its matrices have `vertices` rows.

    Attributes
    ----------
    draws : EpochDraws
        What the samples of the last slice are drawn from.
    """

    draws: EpochDraws

    def __init__(
        self,
        worklist: Worklist,
        tables: SampleTables,
        operator: Operator,
        vertices: int,
    ) -> None:
        self._worklist, self._tables = worklist, tables
        self._operator, self._vertices = operator, vertices
        self._skips = False
        self._counts: tuple[NDArray[np.int32], NDArray[np.int32]] | None = None

    def begin(self, slice_: Slice, workers: Workers) -> "list[Future[float]]":
        """Queue inspection behind running work; futures return CPU seconds."""
        if self._counts is None:  # only PullModel inspects
            self._counts = np.zeros(self._vertices, np.int32), np.zeros(self._vertices, np.int32)
        for counts in self._counts:
            counts[:] = 0
        draws, window = self._tables.round(slice_.epoch, slice_.ranges), self._operator.options.window
        most = self._operator.sources
        self.draws = draws
        sources, destinations = self._counts  # threads may lose a count to each other, but not the last one
        kernel = inspection_kernel(self._operator)

        def run(begin: int, end: int) -> float:
            began = time.thread_time()
            for first in range(begin, max(end, begin + 1), _AT_A_TIME):  # nothing, too: to compile
                for low, high in slice_.part(first, min(first + _AT_A_TIME, end)).ranges:
                    if not self._skips:
                        for ids, bounds, at, *ends in self._worklist.pieces(low, high):
                            kernel(ids, bounds, *ends, window, most, draws.ahead(at), sources, destinations)
            return time.thread_time() - began

        return workers.spread(run, slice_.size, 1000)

    def sums(self, workers: Workers, wants_to_stop: Callable[[], bool]) -> "NDArray[np.int64] | None":
        """Count the updates of a whole epoch, shape (2, V), as `counts` does; None if that was stopped."""
        sums = np.zeros((2, self._vertices), np.int64)
        most = 2 * self._operator.options.window * self._operator.targets  # of a row, by a position
        each = max(1, _MOST // most)

        def look() -> None:
            if wants_to_stop():
                self.skip()

        look()
        size = self._worklist.size
        for begin in range(0, size, each):
            if not self._skips:
                slice_ = Slice(0, ((begin, min(begin + each, size)),))
                workers.join(self.begin(slice_, workers), look)
                sums += self.counts()
        return None if self._skips else sums

    def skip(self) -> None:
        """Return early from here on: what is counted is no longer needed."""
        self._skips = True

    def counts(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Return each vertex's updates as a source and as a destination, shapes (V,), once the futures are done."""
        assert self._counts is not None
        return self._counts
