"""Walks on a graph in shares, kept: in memory, or in a file where a text's ids would be."""

import mmap
import os

import numpy as np
from numpy.typing import NDArray

from any2vec.cluster.communicator import together
from any2vec.corpus.cache import place_of
from any2vec.io.memory import disk_errors, memory_errors, zeros
from any2vec.io.temporary import temporary_folder
from any2vec.walks.shares.walker import ShareWalker
from any2vec.walks.worklist import Walks, compact, count_visits

__all__ = ["walk_shares"]

_ENTRIES = 1 << 24  # vertices walked to at a time


def walk_shares(walker: ShareWalker, walks: int, large: int) -> Walks:
    """Generate this host's walks, in the order of their numbers; all hosts call this together.

    Those of `large` bytes or more are in a file, which ends with the process.
    """
    rank, size = walker.communicator.rank, walker.communicator.size
    total = walks * walker.per_pass
    first, last = total * rank // size, total * (rank + 1) // size
    at_once = max(1, _ENTRIES // walker.length)
    with together(walker.communicator), memory_errors("the walks"):
        room = (last - first) * walker.length
        ids = _file(room) if room and 4 * room >= large else zeros(room, np.int32, whole=False)
        bounds, visits = np.zeros(last - first + 1, np.int64), zeros(walker.vertices, np.int64)
        most = min(at_once, last - first)
        out, lengths = np.empty((most, walker.length), np.int32), np.empty(most, np.int32)
    end = 0
    for start in range(0, -(-total // size), at_once):
        low, high = (min(first + start + more, last) for more in (0, at_once))
        walker.walk(low, high, out, lengths)
        done = compact(out[: high - low], lengths[: high - low])
        count_visits(done, visits)
        ids[end : end + len(done)] = done
        bounds[low - first + 1 : high - first + 1] = end + np.cumsum(lengths[: high - low])
        end += len(done)
    return Walks(ids[:end], bounds, visits)


def _file(entries: int) -> NDArray[np.int32]:
    """Map a file of int32, whose disk is taken now, as a full one could not be told of later."""
    temporary = temporary_folder(place_of("auto").folder)
    path = temporary.path / "walks.int32"
    try:
        with disk_errors(temporary.path, f"walks take {4 * entries:,} bytes"), path.open("w+b") as file:
            os.posix_fallocate(file.fileno(), 0, 4 * entries)
            with memory_errors("the walks"):
                mapped = mmap.mmap(file.fileno(), 4 * entries)
    finally:
        temporary.remove()
    return np.frombuffer(mapped, np.int32)
