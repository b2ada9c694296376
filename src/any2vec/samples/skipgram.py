"""Which words subsampling keeps, and which of them lie in a centre's window (skip-gram; Mikolov et al. 2013).

Everything is a function of (seed, epoch, position in the worklist): the words around a position are found by
looking at their neighbours, in the same sentence, wherever a slice begins or ends.
"""

import numpy as np
from numba import int64, njit, uint64
from numpy.typing import NDArray

from any2vec.samples.draws import below, draw

__all__ = ["keep_thresholds", "kept_around", "window_size"]


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
