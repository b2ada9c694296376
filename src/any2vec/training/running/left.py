"""What is left of an epoch when its round was cut short."""

import numpy as np
from numpy.typing import NDArray

from any2vec.cluster.communicator import Communicator, allgather_bytes
from any2vec.training.running.schedule import Schedule

__all__ = ["what_is_left"]


def what_is_left(
    schedule: Schedule, number: int, part: int, left: list[tuple[int, int]], communicator: Communicator
) -> NDArray[np.int64]:
    """Return the positions of W, from and to, rising, that all hosts have left in the epoch of a round; all call this.

    `part` is the part that this host takes slices of, as others may, and `left` what it has left of its slice.
    """
    slice_ = schedule.slice(part, number)
    assert slice_ is not None
    first = schedule.first(part)
    here = [(first + low, first + high) for begin, end in left for low, high in slice_.part(begin, end).ranges]
    ranges = {
        (low, high)
        for found in allgather_bytes(communicator, np.array(here, np.int64).tobytes())
        for low, high in np.frombuffer(found, np.int64).reshape(-1, 2).tolist()
    }
    if number + 1 < schedule.numbers(schedule.epoch(number)).stop:
        ranges |= {(low, high) for low, high in schedule.left(number + 1).tolist()}
    joined: list[list[int]] = []
    for low, high in sorted(ranges):
        if joined and joined[-1][1] == low:
            joined[-1][1] = high
        elif low < high:
            joined.append([low, high])
    return np.array(joined, np.int64).reshape(-1, 2)
