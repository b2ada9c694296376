"""Chunks that a slice takes whole: what neighbouring windows share is then read once (`Operator.chunked`)."""

from typing import Any

import numpy as np
from numba import int64
from numpy.typing import NDArray

from any2vec.llvm.compiled import njit
from any2vec.samples.windows import CHUNK, Windows

__all__ = ["first_chunk", "follow_words"]


@njit(nogil=True, error_model="numpy")
def follow_words(windows: Windows, count: int) -> None:
    """Fill `first`, `fresh` and `uses` of the `count` windows that are listed; the last one keeps no word."""
    reached = int64(0)
    for i in range(count):
        windows.fresh[i] = reached
        reached = max(reached, windows.end[i])
    first = reached
    windows.first[count] = reached
    for i in range(count - 1, -1, -1):
        first = min(first, windows.begin[i])
        windows.first[i] = first
    if count:
        windows.fresh[0] = first
    uses = windows.uses
    for word in range(first, reached + 1):
        uses[word] = 0
    for i in range(count):
        uses[windows.begin[i]] += 1
        uses[windows.end[i]] -= 1
    for word in range(first + 1, reached):
        uses[word] += uses[word - 1]
    for i in range(count):
        uses[windows.centre[i]] -= 1


@njit(nogil=True, error_model="numpy")
def first_chunk(bounds: NDArray[np.int64], low: int, high: int, whole: bool) -> tuple[int, int]:
    """Find the sentence and the position where the first chunk of a slice begins.

    If chunks are taken whole, they begin at every `CHUNK` positions of a sentence, and a slice has those that begin in
    it: so they do not depend on where slices begin and end.
    """
    sentence: Any = np.searchsorted(bounds, low, side="right") - 1
    position = low
    if whole and low < high:
        begin, end = bounds[sentence], bounds[sentence + 1]
        position = min(begin + (low - begin + CHUNK - 1) // CHUNK * CHUNK, end)
        sentence += int64(position == end)
    return sentence, position
