"""Numbers from other hosts that cannot be: one error, before they are used as places in memory."""

from types import SimpleNamespace

import numpy as np
import pytest

from any2vec.cluster import simulate
from any2vec.cluster.communicator import DamagedError, allgather_bytes, exchange
from any2vec.sync import channel
from any2vec.sync.channel import Channel, Partition
from any2vec.sync.masters import Changes, check_updates


def message(rows, size, *, listed):
    """Encode rows as `ids` does, whether or not they can be."""
    if listed:
        return np.array(rows, np.int64).astype(np.uint32).view(np.uint8)
    data = np.zeros(-(-size // 8), np.uint8)
    for row in rows:
        data[row // 8] |= 1 << row % 8
    return data


@pytest.mark.parametrize("call", ["send", "broadcast"])
@pytest.mark.parametrize(
    ("rows", "listed"),
    [([2**31 - 1], True), ([100], True), ([2**32 - 1], True), ([3, 3], True), ([5, 2], True), ([0, 103], False)],
)
def test_ids_out_of_range(monkeypatch, call, rows, listed):
    size, encode = 100, channel._encode

    def program(communicator):
        partition, sending = Partition.even(2 * size, 2), Channel(communicator)

        def damaged(given, bounds):
            if communicator.rank == 0:
                return encode(given, bounds)
            wrong = message(rows, size, listed=listed)
            return wrong, np.array([len(wrong), 0])[: len(bounds) - 1]

        monkeypatch.setattr(channel, "_encode", damaged)
        own = np.arange(3, dtype=np.int32) + size * communicator.rank * (call == "send")
        give = channel.send_ids if call == "send" else channel.broadcast_ids
        return give(own, partition, sending, "inspect", "e")

    with pytest.raises(DamagedError, match="host 1 sent ids of rows that do not exist"):
        simulate(2, 1, program)


def test_a_list_that_ends_within_an_id():
    with pytest.raises(DamagedError, match="host 0 sent ids of rows that do not exist"):
        channel._decode(np.zeros(3, np.uint8), np.array([3]), np.array([100]), np.array([0]))


@pytest.mark.parametrize("wrong", [-1, 2**62])
def test_counts(wrong):
    def program(communicator):
        class Wrong:
            rank, size = communicator.rank, communicator.size
            allgather = staticmethod(lambda values: np.array([[3], [wrong]]))

            @staticmethod
            def ialltoallv(send, send_counts, receive, counts, starts=None):
                receive[:] = [0, wrong]
                return SimpleNamespace(wait=lambda: None)

        with pytest.raises(DamagedError, match=f"host 1 sent {wrong} as a number of rows"):
            exchange(Wrong(), np.zeros(2), np.array([1, 1]))
        with pytest.raises(DamagedError, match=f"host 1 sent {wrong} as a length"):
            allgather_bytes(Wrong(), b"abc")

    simulate(2, 1, program)


def test_updates():
    updates = np.array([1, 0, -3], np.int32)
    changes = Changes(np.arange(3, dtype=np.int32), np.array([0, 2, 3]), np.zeros((3, 16), np.float32), updates)
    with pytest.raises(DamagedError, match="host 1 sent a number of updates below 0"):
        check_updates(changes)
