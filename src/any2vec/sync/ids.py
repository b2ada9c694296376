"""Which rows a message is about: a bit-vector or a sorted list of ids, whichever is smaller."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from any2vec.cluster.communicator import DamagedError, checked_counts, exchange
from any2vec.llvm.compiled import njit
from any2vec.sync.channel import Channel
from any2vec.sync.partition import Partition

__all__ = ["RowsByHost", "broadcast_ids", "send_ids"]

_LISTED = 4  # bytes of an id in a list


class RowsByHost(NamedTuple):
    """Rows that each host named: those of host 0, rising, then those of host 1, ...; `counts`, shape (H,), of each."""

    rows: NDArray[np.int32]
    counts: NDArray[np.int64]


def send_ids(ids: NDArray[np.int32], partition: Partition, channel: Channel, phase: str, which: str) -> RowsByHost:
    """Send the ids of some vertices, in rising order, to their masters; return the masters here that hosts named."""
    message, lengths = _encode(ids, partition.bounds)
    channel.count((phase, which, "ids"), lengths, 1)
    with channel.timed():
        received, counts = exchange(channel.communicator, message, lengths)
    low, high = partition.range(channel.communicator.rank)
    sizes, starts = np.full(partition.hosts, high - low), np.zeros(partition.hosts, np.int64)
    return _decoded(received, counts, sizes, starts)


def broadcast_ids(
    rows: NDArray[np.int32], partition: Partition, channel: Channel, phase: str, which: str
) -> RowsByHost:
    """Name some masters here, in rising order, to every host; return the vertices that all hosts named."""
    low, high = partition.range(channel.communicator.rank)
    message, lengths = _encode(rows, np.array([0, high - low]))
    with channel.timed():
        counts = checked_counts(channel.communicator.allgather(lengths)[:, 0])
    received = np.empty(int(counts.sum()), np.uint8)
    channel.allgather((phase, which, "ids"), message, counts, received)
    return _decoded(received, counts, partition.sizes, partition.bounds[:-1])


def _decoded(
    data: NDArray[np.uint8], lengths: NDArray[np.int64], sizes: NDArray[np.int64], starts: NDArray[np.int64]
) -> RowsByHost:
    """Decode messages of hosts; raise a DamagedError if one names rows that are not in its range, or do not rise."""
    found = RowsByHost(*_decode(data, lengths, sizes, starts))
    if found.counts.min() < 0:
        raise DamagedError.of(int(np.argmin(found.counts)), "ids of rows that do not exist")
    return found


@njit(nogil=True, cache=True)
def _encode(ids: Any, bounds: Any) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Encode the ids of each range, as a list if that is shorter than a bit per vertex; return the lengths too."""
    cuts = np.searchsorted(ids, bounds)
    lengths = np.empty(bounds.size - 1, np.int64)
    for h in range(lengths.size):
        lengths[h] = min(_LISTED * (cuts[h + 1] - cuts[h]), _bits(bounds[h + 1] - bounds[h]))
    data = np.zeros(lengths.sum(), np.uint8)
    begin = 0
    for h in range(lengths.size):
        listed = lengths[h] < _bits(bounds[h + 1] - bounds[h])
        for i in range(cuts[h], cuts[h + 1]):
            row = np.int64(ids[i]) - bounds[h]
            if listed:
                for k in range(_LISTED):
                    data[begin + _LISTED * (i - cuts[h]) + k] = (row >> (8 * k)) & 255
            else:
                data[begin + row // 8] |= 1 << (row % 8)
        begin += lengths[h]
    return data, lengths


@njit(nogil=True, cache=True)
def _decode(data: Any, lengths: Any, sizes: Any, starts: Any) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Decode what `_encode` wrote, for ranges that begin at `starts`; return the ids per range too, -1 if damaged."""
    counts = np.zeros(lengths.size, np.int64)
    ids = np.empty(8 * data.size, np.int32)
    begin = n = 0
    for h in range(lengths.size):
        part = data[begin : begin + lengths[h]]
        if part.size < _bits(sizes[h]):
            counts[h] = _listed(part, starts[h], sizes[h], ids[n:])
        else:
            counts[h] = _marked(part, starts[h], sizes[h], ids[n:])
        if counts[h] < 0:
            break
        begin += part.size
        n += counts[h]
    return ids[:n].copy(), counts


@njit(inline="always")
def _listed(data: Any, start: int, size: int, ids: Any) -> int:
    n, last = data.size // _LISTED, np.int64(-1)
    if data.size % _LISTED:
        return -1
    for i in range(n):
        row = np.int64(0)
        for k in range(_LISTED):
            row |= np.int64(data[_LISTED * i + k]) << (8 * k)
        if row <= last or row >= size:
            return -1
        ids[i], last = start + row, row
    return n


@njit(inline="always")
def _marked(data: Any, start: int, size: int, ids: Any) -> int:
    n = 0
    if data.size != _bits(size) or (size % 8 and data[data.size - 1] >> (size % 8)):
        return -1
    for i in range(data.size):
        for bit in range(8):
            if data[i] >> bit & 1:
                ids[n] = start + 8 * i + bit
                n += 1
    return n


@njit(inline="always")
def _bits(size: int) -> int:
    return (size + 7) // 8
