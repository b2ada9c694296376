"""The samples of skip-gram: which words subsampling keeps, their windows, their negatives (Mikolov et al. 2013).

Everything is a function of (seed, epoch, position in the worklist): the words around a position are found by
looking at their neighbours, in the same sentence, wherever a slice begins or ends. The operator and PullModel's
inspection list the samples of a slice with the same few functions.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import int64, njit, uint64
from numpy.typing import NDArray

from any2vec.samples.draws import KEEP, NEGATIVES, below, draw, epoch_key, shifted
from any2vec.samples.negatives import alias_table, negative, probabilities

__all__ = [
    "CHUNK",
    "SampleTables",
    "Samples",
    "first_draw",
    "keep_thresholds",
    "kept_around",
    "negatives_of",
    "window_size",
]

CHUNK = 512
"""Positions listed at once: bounds the memory that a sentence of any length needs."""


class Samples(NamedTuple):
    """What the samples of an epoch are drawn from.

    Attributes
    ----------
    keep : uint32 array, shape (V,)
        Thresholds of subsampling (`keep_thresholds`).
    negatives : uint64 array, shape (V,)
        Alias table (`samples.negatives.alias_table`).
    keep_key, sample_key : uint64
        The epoch's keys (`samples.draws.epoch_key`).
    """

    keep: NDArray[np.uint32]
    negatives: NDArray[np.uint64]
    keep_key: np.uint64
    sample_key: np.uint64


class SampleTables:
    """Tables that the samples of all epochs are drawn from.

    Parameters
    ----------
    counts : int64 array, shape (V,)
        How often each vertex occurs.
    sample : float
        Share of the corpus above which a vertex is thinned out; 0 for no subsampling.
    seed : int
        The user's seed.
    first : int
        Position in W of this host's part, whose positions count from 0.
    """

    def __init__(self, counts: NDArray[np.int64], sample: float, seed: int, first: int = 0) -> None:
        self._keep = keep_thresholds(counts, sample)
        self._negatives = alias_table(probabilities(counts))
        self._seed, self._first = seed, first

    def samples(self, epoch: int) -> Samples:
        """Give what the samples of an epoch, from 0, are drawn from."""
        keys = [np.uint64(shifted(epoch_key(self._seed, epoch, s), self._first)) for s in (KEEP, NEGATIVES)]
        return Samples(self._keep, self._negatives, keys[0], keys[1])


def keep_thresholds(counts: NDArray[np.int64], sample: float) -> NDArray[np.uint32]:
    """How likely subsampling is to keep each vertex, as a threshold on 32 random bits.

    word2vec's formula: with f the share of the vertex in the corpus, it stays with probability
    ``sqrt(sample / f) + sample / f`` (at most 1).

    Parameters
    ----------
    counts : int64 array, shape (V,)
        How often each vertex occurs.
    sample : float
        Share of the corpus above which a vertex is thinned out; 0 keeps everything.

    Returns
    -------
    uint32 array, shape (V,)
        Occurrences whose 32 bits are not above it are kept.
    """
    if sample <= 0:
        return np.full(counts.size, 0xFFFFFFFF, np.uint32)
    share = sample * counts.sum() / counts
    return np.clip(2.0**32 * (np.sqrt(share) + share) - 1, 0, 2.0**32 - 1).astype(np.uint32)


@njit(inline="always")
def is_kept(word: int, position: int, keep: NDArray[np.uint32], key: int) -> bool:
    """Whether subsampling keeps the occurrence of `word` at `position`."""
    return (draw(key, position) >> uint64(32)) <= uint64(keep[word])


@njit(inline="always")
def window_size(key: int, window: int) -> int:
    """Reach of the centre with this key, 1 to `window` words each side, evenly (word2vec's dynamic window)."""
    return 1 + int64(below(draw(key, 0), window))


@njit(nogil=True, error_model="numpy")
def kept_around(
    ids: NDArray[np.int32],
    low: int,
    high: int,
    begin: int,
    end: int,
    window: int,
    keep: NDArray[np.uint32],
    key: int,
    words: NDArray[np.int64],
    positions: NDArray[np.int64],
) -> tuple[int, int, int]:
    """List the kept words at low..high-1 and, in the same sentence, up to `window` kept ones on each side.

    Parameters
    ----------
    ids : int32 array
        The worklist.
    low, high, begin, end : int
        Positions wanted, and the sentence they lie in: begin <= low < high <= end.
    window : int
        Words wanted on each side.
    keep, key
        Thresholds of subsampling, and the epoch's key of its draws.
    words, positions : int64 array, length high - low + 2 * window or more
        Where the kept words and their positions are listed.

    Returns
    -------
    first, last, size : int
        ``words[first:last]`` are those at low..high-1, ``words[:size]`` are all.
    """
    first = 0
    position = low
    while position > begin and first < window:
        position -= 1
        word = int64(ids[position])
        if is_kept(word, position, keep, key):
            first += 1
            words[window - first] = word
            positions[window - first] = position
    if first < window:  # rare: close up what was listed backwards from `window` on
        for i in range(first):
            words[i] = words[window - first + i]
            positions[i] = positions[window - first + i]
    size = first
    for position in range(low, high):
        word = int64(ids[position])
        words[size] = word
        positions[size] = position
        size += int64(is_kept(word, position, keep, key))  # no branch: which are kept cannot be predicted
    last = size
    position = high
    while position < end and size < last + window:
        word = int64(ids[position])
        words[size] = word
        positions[size] = position
        size += int64(is_kept(word, position, keep, key))
        position += 1
    return first, last, size


@njit(inline="always")
def first_draw(distance: int, window: int, negatives: int) -> int:
    """Where the draws of a pair's own negatives begin; those of a whole window begin at 0.

    `distance` is from the centre to the context word, in kept words: -window to window.
    """
    return (distance + window) * negatives


@njit(inline="always")
def negatives_of(y: Any, key: int, first: int, table: Any, targets: int) -> None:
    """List the negatives of a centre with this key in ``y[1:targets]``."""
    for k in range(1, targets):
        y[k] = negative(draw(key, first + k), table)
