"""Which rows a message is about: a bit-vector or a sorted list of ids, whichever is smaller (DESIGN, section 5)."""

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from any2vec.cluster.communicator import exchange
from any2vec.sync.channel import Channel
from any2vec.sync.partition import Partition

__all__ = ["send_ids", "tell_ids"]

_LISTED = 4  # bytes of an id in a list

Told = tuple[NDArray[np.int32], NDArray[np.int64]]


def send_ids(ids: NDArray[np.int32], partition: Partition, wire: Channel, phase: str, label: str) -> Told:
    """Tell the masters of some vertices about them.

    Parameters
    ----------
    ids : int32 array
        Vertices, in rising order.
    partition : Partition
        Where their masters are.
    wire, phase, label
        Where to send, and as what to count it.

    Returns
    -------
    rows : int32 array, shape (m,)
        What the hosts told about masters here, in host order, rising for each host: places among this host's masters.
    counts : int64 array, shape (H,)
        How many each host told.
    """
    message, lengths = _encode(ids, partition.bounds)
    wire.count((phase, label, "ids"), lengths, 1)
    with wire.timed():
        came, counts = exchange(wire.communicator, message, lengths)
    low, high = partition.range(wire.communicator.rank)
    return _decode(came, counts, np.full(partition.hosts, high - low), np.zeros(partition.hosts, np.int64))


def tell_ids(rows: NDArray[np.int32], partition: Partition, wire: Channel, phase: str, label: str) -> Told:
    """Tell every host about some of the masters here.

    Parameters
    ----------
    rows : int32 array
        Places among this host's masters, in rising order.
    partition, wire, phase, label
        As for `send_ids`.

    Returns
    -------
    ids : int32 array, shape (m,)
        The vertices that all hosts told, in rising order.
    counts : int64 array, shape (H,)
        How many each host told.
    """
    communicator = wire.communicator
    low, high = partition.range(communicator.rank)
    message, _ = _encode(rows, np.array([0, high - low]))
    lengths = np.full(partition.hosts, len(message), np.int64)
    wire.count((phase, label, "ids"), lengths, 1)
    with wire.timed():
        counts = communicator.allgather(lengths[:1])[:, 0]
        came = np.empty(int(counts.sum()), np.uint8)
        communicator.alltoallv(message, lengths, came, counts, np.zeros_like(lengths))
    bounds = partition.bounds
    return _decode(came, counts, np.diff(bounds), bounds[:-1])


@njit(nogil=True, cache=True)
def _encode(ids: Any, bounds: Any) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Write the ids of each range: a list if that is shorter than a bit for each vertex; and how long each is."""
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
def _decode(data: Any, lengths: Any, sizes: Any, starts: Any) -> Told:
    """Read what `_encode` wrote, of ranges that begin at `starts`; and how many ids each has."""
    counts = np.empty(lengths.size, np.int64)
    ids = np.empty(8 * data.size, np.int32)
    begin = n = 0
    for h in range(lengths.size):
        part = data[begin : begin + lengths[h]]
        if part.size < _bits(sizes[h]):
            counts[h] = _listed(part, starts[h], ids[n:])
        else:
            counts[h] = _marked(part, starts[h], ids[n:])
        begin += part.size
        n += counts[h]
    return ids[:n].copy(), counts


@njit(inline="always")
def _listed(data: Any, start: int, ids: Any) -> int:
    n = data.size // _LISTED
    for i in range(n):
        row = np.int64(0)
        for k in range(_LISTED):
            row |= np.int64(data[_LISTED * i + k]) << (8 * k)
        ids[i] = start + row
    return n


@njit(inline="always")
def _marked(data: Any, start: int, ids: Any) -> int:
    n = 0
    for i in range(data.size):
        for bit in range(8):
            if data[i] >> bit & 1:
                ids[n] = start + 8 * i + bit
                n += 1
    return n


@njit(inline="always")
def _bits(size: int) -> int:
    return (size + 7) // 8
