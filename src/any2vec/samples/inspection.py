"""Inspection: which labels the samples of a slice will read and change, and how often (GraphAny2Vec, section 3.2)."""

import time
from concurrent.futures import Future
from typing import Any, NamedTuple

import numpy as np
from numba import int64, njit
from numpy.typing import NDArray

from any2vec.cluster.workers import Workers
from any2vec.samples.draws import draw
from any2vec.samples.skipgram import CHUNK, Samples, SampleTables, first_draw, kept_around, negatives_of, window_size

__all__ = ["Inspector", "Slice", "inspect"]


class Slice(NamedTuple):
    """What a host takes of its part of the worklist in a round.

    Attributes
    ----------
    epoch : int
        From 0.
    low, high : int
        Positions low..high-1.
    """

    epoch: int
    low: int
    high: int


class Inspector:
    """Inspects slices of a host's part of the worklist.

    Parameters
    ----------
    ids, bounds
        The part.
    drawing : SampleTables
        What its samples are drawn from.
    vertices, window, negative : int
        V, and options of training.
    exact : bool
        Whether the schedule is ``exact``.

    """

    def __init__(
        self,
        ids: NDArray[np.int32],
        bounds: NDArray[np.int64],
        drawing: SampleTables,
        vertices: int,
        window: int,
        negative: int,
        exact: bool,
    ) -> None:
        self._ids, self._bounds, self._drawing = ids, bounds, drawing
        self._vertices, self._how = vertices, (window, negative, exact)
        self._counts: tuple[NDArray[np.int32], NDArray[np.int32]] | None = None

    def begin(self, slice_: Slice, workers: Workers) -> "list[Future[float]]":
        """Begin to inspect a slice, after what the threads do now; the futures give the seconds it took."""
        if self._counts is None:  # only PullModel inspects
            self._counts = np.zeros(self._vertices, np.int32), np.zeros(self._vertices, np.int32)
        for counts in self._counts:
            counts[:] = 0
        samples = self._drawing.samples(slice_.epoch)
        sources, destinations = self._counts  # threads may lose a count to each other, but not the last one

        def run(low: int, high: int) -> float:
            began = time.thread_time()
            low, high = slice_.low + low, slice_.low + high
            inspect(self._ids, self._bounds, low, high, samples, *self._how, sources, destinations)
            return time.thread_time() - began

        return workers.spread(run, slice_.high - slice_.low, 1000)

    def counts(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Give the updates of each vertex as a source and as a destination, shapes (V,), when all that is done."""
        assert self._counts is not None
        return self._counts


@njit(nogil=True, error_model="numpy", cache=True)
def inspect(
    ids: NDArray[np.int32],
    bounds: NDArray[np.int64],
    low: int,
    high: int,
    samples: Samples,
    window: int,
    negatives: int,
    exact: bool,
    sources: NDArray[np.int32],
    destinations: NDArray[np.int32],
) -> None:
    """Count the updates that the operator will make for positions low..high-1: it draws the same samples.

    Parameters
    ----------
    ids, bounds
        The worklist.
    low, high : int
        The slice.
    samples : Samples
        What the epoch's samples are drawn from.
    window, negatives : int
        Options of training.
    exact : bool
        Whether each pair draws its own negatives (schedule ``exact``).
    sources : int32 array, shape (V,)
        Gains, at each vertex, the pairs that it is the source of.
    destinations : int32 array, shape (V,)
        Gains, at each vertex, the samples that it is the destination of.
    """
    words = np.empty(CHUNK + 2 * window, np.int64)
    positions = np.empty(CHUNK + 2 * window, np.int64)
    y = np.empty(negatives + 1, np.int64)
    sentence = np.searchsorted(bounds, low, side="right") - 1
    position = low
    while position < high:
        stop = min(position + CHUNK, bounds[sentence + 1], high)
        first, last, size = kept_around(
            ids,
            position,
            stop,
            bounds[sentence],
            bounds[sentence + 1],
            window,
            samples.keep,
            samples.keep_key,
            words,
            positions,
        )
        for centre in range(first, last):
            key = draw(samples.sample_key, positions[centre])
            reach = window_size(key, window)
            begin, end = max(centre - reach, 0), min(centre + reach + 1, size)
            n = end - begin - 1
            if n < 1:
                continue
            word = words[centre]
            destinations[word] += n
            for context in range(begin, end):
                if context != centre:
                    sources[words[context]] += 1
                    if exact:
                        first_of_pair = first_draw(context - centre, window, negatives)
                        _count(y, word, key, first_of_pair, samples.negatives, negatives + 1, 1, destinations)
            if not exact:
                _count(y, word, key, 0, samples.negatives, negatives + 1, n, destinations)
        position = stop
        sentence += int64(stop == bounds[sentence + 1])


@njit(inline="always")
def _count(y: Any, centre: int, key: int, first: int, table: Any, targets: int, n: int, destinations: Any) -> None:
    negatives_of(y, key, first, table, targets)
    for k in range(1, targets):
        destinations[y[k]] += n * int64(y[k] != centre)
