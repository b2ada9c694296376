"""Which rows a message is about: a bit-vector or a sorted list of ids, whichever is smaller (DESIGN, section 5)."""

import numpy as np
from numpy.typing import NDArray

from any2vec.cluster.communicator import exchange
from any2vec.sync.partition import Partition
from any2vec.sync.wire import Wire

__all__ = ["send_ids", "tell_ids"]

Told = tuple[NDArray[np.int32], NDArray[np.int64]]


def send_ids(ids: NDArray[np.int32], partition: Partition, wire: Wire, phase: str, label: str) -> Told:
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
    bounds = partition.bounds.tolist()
    cuts = np.searchsorted(ids, bounds).tolist()
    messages = [
        _encode(ids[cuts[h] : cuts[h + 1]] - np.int32(bounds[h]), bounds[h + 1] - bounds[h])
        for h in range(partition.hosts)
    ]
    lengths = np.array([len(message) for message in messages], np.int64)
    wire.count((phase, label, "ids"), lengths, 1)
    with wire.timed():
        came, counts = exchange(wire.communicator, np.concatenate(messages), lengths)
    low, high = partition.range(wire.communicator.rank)
    return _decode_all(came, counts.tolist(), [high - low] * partition.hosts)


def tell_ids(rows: NDArray[np.int32], partition: Partition, wire: Wire, phase: str, label: str) -> Told:
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
    message = _encode(rows, high - low)
    lengths = np.full(partition.hosts, len(message), np.int64)
    wire.count((phase, label, "ids"), lengths, 1)
    with wire.timed():
        counts = communicator.allgather(lengths[:1])[:, 0]
        came = np.empty(int(counts.sum()), np.uint8)
        communicator.alltoallv(message, lengths, came, counts, np.zeros_like(lengths))
    bounds = partition.bounds
    ids, told = _decode_all(came, counts.tolist(), np.diff(bounds).tolist())
    ids += np.repeat(bounds[:-1], told).astype(np.int32)
    return ids, told


def _encode(rows: NDArray[np.int32], size: int) -> NDArray[np.uint8]:
    """Write some of 0..size-1: a list if that is shorter than a bit for each of them."""
    if rows.nbytes < _bits(size):
        return np.ascontiguousarray(rows).view(np.uint8)
    present = np.zeros(size, np.bool_)
    present[rows] = True
    return np.packbits(present)


def _decode_all(data: NDArray[np.uint8], lengths: list[int], sizes: list[int]) -> Told:
    parts, begin = [], 0
    for length, size in zip(lengths, sizes, strict=True):
        parts.append(_decode(data[begin : begin + length], size))
        begin += length
    return np.concatenate(parts), np.array([len(part) for part in parts], np.int64)


def _decode(data: NDArray[np.uint8], size: int) -> NDArray[np.int32]:
    if len(data) < _bits(size):
        return np.frombuffer(data.tobytes(), np.int32)
    return np.flatnonzero(np.unpackbits(data, count=size)).astype(np.int32)


def _bits(size: int) -> int:
    return -(-size // 8)
