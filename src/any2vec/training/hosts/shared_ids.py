"""Ids of W that all hosts need, from those that have them."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from any2vec.cluster.communicator import DamagedError, checked_counts
from any2vec.corpus import Worklist
from any2vec.samples.windows import EpochDraws, needed_around
from any2vec.sync.channel import Channel

__all__ = ["SharedIds", "share_ids"]

_WHAT = ("inspect", "both", "ids")


class SharedIds(NamedTuple):
    """Consecutive words of W.

    Attributes
    ----------
    ids : int32 array, shape (n,)
        Their ids.
    bounds : int64 array, shape (sentences + 1,)
        Sentence i is ``ids[bounds[i] : bounds[i + 1]]``; of the first and last one, what windows need.
    first : int
        Position in W of ``ids[0]``.
    """

    ids: NDArray[np.int32]
    bounds: NDArray[np.int64]
    first: int


def share_ids(
    worklist: Worklist, low: int, high: int, window: int, draws: EpochDraws, channel: Channel, vertices: int
) -> SharedIds:
    """Gather positions low..high-1 of W, of which `worklist` is this host's part, and what their windows need around.

    All hosts call this, with the epoch's draws for their parts.
    """
    ids, lengths, first = _own(worklist, low - worklist.first, high - worklist.first, window, draws)
    communicator = channel.communicator
    sizes = checked_counts(communicator.allgather(np.array([len(ids), len(lengths), worklist.first + first], np.int64)))
    whole, spans = _gather(ids, sizes[:, 0], channel), _gather(lengths, sizes[:, 1], channel)
    has = np.flatnonzero(sizes[:, 0])
    bounds = np.concatenate([np.zeros(1, np.int64), np.cumsum(spans)])
    if spans.min(initial=0) < 0 or bounds[-1] != len(whole):
        raise DamagedError("lengths of sentences that hosts sent do not add up: messages are damaged on their way")
    if len(whole) and not 0 <= int(whole.min()) <= int(whole.max()) < vertices:
        raise DamagedError("hosts sent ids that do not exist: messages are damaged on their way")
    return SharedIds(whole, bounds, int(sizes[has[0], 2]) if len(has) else low)


def _own(
    worklist: Worklist, low: int, high: int, window: int, draws: EpochDraws
) -> tuple[NDArray[np.int32], NDArray[np.int64], int]:
    """Return ids, lengths of sentences and the first position, in this host's part, of what it has of them."""
    low, high = max(low, 0), min(high, worklist.size)
    ids, lengths, firsts = [np.empty(0, np.int32)], [np.empty(0, np.int64)], [0]
    for words, bounds, at, begin, end in worklist.pieces(low, high) if low < high else ():
        i, j = int(np.searchsorted(bounds, begin, side="right")) - 1, int(np.searchsorted(bounds, end))
        keep, around = draws.ahead(at), (int(bounds[i]), int(bounds[j]))
        first, last = needed_around(words, begin, end, *around, window, keep.keep, keep.keep_key)
        ids.append(words[first:last])
        lengths.append(np.diff(np.clip(bounds[i : j + 1], first, last)).astype(np.int64))
        firsts.append(at + first)
    return np.concatenate(ids), np.concatenate(lengths), firsts[1] if len(firsts) > 1 else 0


def _gather(own: NDArray[Any], sizes: NDArray[np.int64], channel: Channel) -> NDArray[Any]:
    """Gather the arrays of all hosts, of these lengths, on all."""
    out = np.empty(int(sizes.sum()), own.dtype)
    channel.allgather(_WHAT, own, sizes, out)
    return out
