"""The state of training at the end of a round, or in the middle of one: what a checkpoint has to hold."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from any2vec.cluster.communicator import Communicator, allgather_bytes
from any2vec.operators.matrices import Matrices
from any2vec.sync.channel import Partition
from any2vec.training.schedule import Schedule


class MeterState(NamedTuple):
    """What was measured so far."""

    words: int  # positions done, in all epochs, without those of `part`
    seconds: float  # time spent
    losses: tuple[float, ...]  # mean loss of each epoch that has ended
    samples: float  # samples of the current epoch, and the sum of their losses
    loss: float
    # of a round that one host was in the middle of, what it had counted: sums of `operators.base.ThreadStats`
    part: Sequence[float] = ()
    held_out: tuple[float, ...] = ()  # loss on what is held out, after each epoch


@dataclass(frozen=True, eq=False)
class TrainingState:
    """One host's state when a round has ended or was cut; all else follows from options and corpus.

    Parallel hosts have the same values but for `masters`; those of hosts 0, 1, ... are consecutive ranges of vertices.
    """

    hosts: int  # H and S of the run that the state is of
    rounds: int
    epoch: int  # the epoch, from 0, and its rounds that are done; of those of `begun`, if that is not None
    rounds_done: int
    # (k, 2): Positions of W, from and to, that these hosts had to do in the epoch; None for all. In the middle of a
    # round, all that are left
    begun: NDArray[np.int64] | None
    left: NDArray[np.int64]  # (k, 2): Those of them that are left: what another number of hosts needs to go on
    kappa: float  # curvature measured last (`sync.combiners.Round`)
    meter: MeterState  # what was measured so far
    masters: Matrices  # this host's masters: views, which the next round changes; or as they were read
    missing: NDArray[np.float32]  # (D, D): Of them (`sync.balance.Balance`): likewise a view
    version: int | None = None  # of the checkpoint that the state was read from
    # what training set `sample` to, where that of the options leaves nothing; None: as in the options
    sample: float | None = None
    scheme: str | None = None  # what hosts communicated by, which `auto` keeps; None if that is unknown
    wire: str | None = None  # how rows were sent, which a run that is not told keeps; None if that is unknown

    @property
    def within_epoch(self) -> bool:
        """Whether some of its epoch is done."""
        return self.rounds_done > 0 or self.begun is not None

    def partition(self, communicator: Communicator) -> Partition:
        """Return which host has which masters; all hosts call this."""
        sizes = communicator.allgather(np.array([self.masters.vertices], np.int64))[:, 0]
        return Partition(np.append(0, np.cumsum(sizes)))

    def facts(self) -> dict[str, Any]:
        """Describe the state in JSON's types, without its matrices and version."""
        begun = None if self.begun is None else self.begun.tolist()
        known = vars(self) | {"begun": begun, "left": self.left.tolist(), "meter": self.meter._asdict()}
        return {name: value for name, value in known.items() if name not in ("masters", "missing", "version")}

    @classmethod
    def of(cls, facts: dict[str, Any], masters: Matrices, missing: NDArray[np.float32]) -> Self:
        """Make a state of what `facts` returned, and more, and of its matrices."""
        given = {one.name: facts[one.name] for one in fields(cls) if one.name in facts}
        for name in ("begun", "left"):
            given[name] = None if facts[name] is None else np.array(facts[name], np.int64).reshape(-1, 2)
        lists = {name: tuple(facts["meter"].get(name, ())) for name in ("losses", "held_out")}
        given["meter"] = MeterState(**facts["meter"] | lists)
        return cls(**given | {"masters": masters, "missing": missing})


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
