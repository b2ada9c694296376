"""Walks that are not kept: training generates them again where it reads them."""

import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from any2vec.corpus.corpus import Piece, Worklist
from any2vec.io.memory import read_only
from any2vec.llvm.compiled import njit
from any2vec.walks.walker import Walker
from any2vec.walks.worklist import WalkBlock, spacing, walk_blocks

__all__ = ["GeneratedWorklist"]

_PIECE = 1 << 16  # positions: they stay in the caches until they are trained on


class _Clock:
    """Adds up what threads take."""

    def __init__(self) -> None:
        self.seconds, self._lock = 0.0, threading.Lock()

    def add(self, seconds: float) -> None:
        with self._lock:
            self.seconds += seconds


@dataclass(frozen=True, eq=False)
class GeneratedWorklist(Worklist):
    """A worklist of walks, which are generated when they are read, on the thread that reads them.

    Attributes
    ----------
    walker : Walker
        Walks on the graph.
    walks : range
        Numbers of the walks whose positions are known, the passes one after the other.
    positions : int64 array
        Of every `spacing`-th of them, and the end (`worklist.count`).
    new_ids : int32 array, shape (V,)
        The id of each vertex of the graph.
    first : int
        Position in W of this worklist's first.
    begin, end : int
        What it has of the positions.
    """

    walker: Walker
    walks: range
    positions: NDArray[np.int64]
    new_ids: NDArray[np.int32]
    first: int
    begin: int
    end: int
    _clock: _Clock = field(default_factory=_Clock, repr=False)

    @property
    def size(self) -> int:
        """Number of vertices in the walks."""
        return self.end - self.begin

    @property
    def nbytes(self) -> int:
        """Bytes of the known positions, and of the ids of vertices."""
        return self.positions.nbytes + self.new_ids.nbytes

    @property
    def seconds(self) -> float:
        """CPU seconds in which threads have generated walks."""
        return self._clock.seconds

    def pieces(self, low: int, high: int) -> Iterator[Piece]:
        """Generate the walks at positions low..high-1, some at a time."""
        low, high, starts = self.begin + low, self.begin + high, self.positions
        last, at = int(np.searchsorted(starts, high)), low
        while True:
            began = time.thread_time()
            i = min(int(np.searchsorted(starts, at, side="right")) - 1, last)
            j = min(last, max(i + 1, int(np.searchsorted(starts, starts[i] + _PIECE, side="right")) - 1))
            ids, bounds = self._walked(i, j)
            begin, end = int(starts[i]), int(starts[j])
            self._clock.add(time.thread_time() - began)
            yield Piece(ids, bounds, begin - self.begin, max(low, begin) - begin, min(high, end) - begin)
            at = end
            if at >= high:
                return

    def lengths(self, most: int) -> NDArray[np.int64]:
        """Return the lengths of the first walks."""
        first, last = self._walk_at(self.begin), self._walk_at(self.end)
        return self._measured(first, min(last, first + most)).astype(np.int64)

    def between(self, low: int, high: int) -> "GeneratedWorklist":
        """Return the worklist of some walks."""
        return replace(self, first=self.first + low, begin=self.begin + low, end=self.begin + high)

    def position_of(self, walk: int) -> int:
        """Return the position of a walk, counted from 0, or of the end."""
        i, after = divmod(walk, spacing(self.walker.length))
        last = self.walks.start + walk
        return int(self.positions[i] + self._measured(last - after, last).sum())

    def _walk_at(self, position: int) -> int:
        """Return the number of the walk that begins at a position, or ends the last one there."""
        i = int(np.searchsorted(self.positions, position, side="right")) - 1
        first, last = self._numbers(i, i + 1)
        ends = np.cumsum(self._measured(first, last))
        return first + int(np.searchsorted(ends, position - self.positions[i], side="right"))

    def _numbers(self, i: int, j: int) -> tuple[int, int]:
        """Return the walks, from and to, between two of the known positions."""
        every = spacing(self.walker.length)
        return tuple(min(self.walks.start + every * k, self.walks.stop) for k in (i, j))  # type: ignore[return-value]

    def _blocks(self, first: int, last: int) -> Iterator[tuple[WalkBlock, slice]]:
        for block in walk_blocks(self.walker, 1, first, last):
            yield block, slice(block.number, block.number + block.last - block.first)

    def _measured(self, first: int, last: int) -> NDArray[np.int32]:
        lengths = np.empty(last - first, np.int32)
        for block, here in self._blocks(first, last):
            self.walker.measure(block.pass_, block.first, block.last, lengths[here])
        return lengths

    def _walked(self, i: int, j: int) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Generate the walks between two of the known positions: ids and bounds."""
        first, last = self._numbers(i, j)
        out, lengths = np.empty((last - first, self.walker.length), np.int32), np.empty(last - first, np.int32)
        for block, here in self._blocks(first, last):
            self.walker.walk(block.pass_, block.first, block.last, out[here], lengths[here])
        ids, bounds = out.reshape(-1), np.zeros(last - first + 1, np.int64)
        _renumber(out, lengths, self.new_ids, ids, bounds)
        return read_only(ids[: bounds[-1]]), read_only(bounds)


@njit(nogil=True, cache=True)
def _renumber(
    out: NDArray[np.int32],
    lengths: NDArray[np.int32],
    new: NDArray[np.int32],
    ids: NDArray[np.int32],
    bounds: NDArray[np.int64],
) -> None:
    """Replace vertices by their ids, and close the gaps between walks, in place; note where each begins."""
    end = 0
    for i in range(lengths.size):
        for k in range(lengths[i]):
            ids[end + k] = new[out[i, k]]
        end += lengths[i]
        bounds[i + 1] = end
