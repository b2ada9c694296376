"""What a run begins with, where not all rows are new, and its state after a round: what a checkpoint has to hold."""

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from any2vec.cluster.communicator import Communicator, DamagedError, allgather_bytes, exchange
from any2vec.corpus.parts import WordRows
from any2vec.operators.base import Operator
from any2vec.operators.matrices import Matrices
from any2vec.samples.draws import INITIAL, epoch_key
from any2vec.samples.windows import total_of
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


_BLOCK = 1 << 16  # rows copied at a time


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of a matrix, all on every host, or each host's own."""

    matrix: NDArray[np.float32]  # (n, D): The rows that are here
    # (H + 1,): Host h has rows ``bounds[h]`` to ``bounds[h + 1] - 1``; None if every host has all
    bounds: NDArray[np.int64] | None = None

    def put(self, places: NDArray[np.int32], out: NDArray[np.float32], communicator: Communicator) -> None:
        """Copy row ``places[i]`` to ``out[i, :D]`` where that is not -1; if hosts have their own, all call this."""
        wanted = np.flatnonzero(places >= 0)
        dim = self.matrix.shape[1]
        if self.bounds is None:
            for begin in range(0, len(wanted), _BLOCK):
                block = wanted[begin : begin + _BLOCK]
                out[block, :dim] = self.matrix[places[block]]
            return
        wanted = wanted[np.argsort(places[wanted], kind="stable")]  # in the order of the hosts that have them
        asked = places[wanted].astype(np.int64)
        of_mine, counts = exchange(communicator, asked, np.diff(np.searchsorted(asked, self.bounds)))
        places = of_mine - self.bounds[communicator.rank]
        if len(wrong := np.flatnonzero((places < 0) | (places >= len(self.matrix)))):
            raise DamagedError.of(int(np.searchsorted(np.cumsum(counts), wrong[0], "right")), "ids that do not exist")
        sent = self.matrix[places]
        out[wanted, :dim], _ = exchange(communicator, sent, counts)


@dataclass(frozen=True, eq=False)
class Start:
    """Where the rows of a run begin; rows that nothing is said of begin as in any run."""

    # (V0,): Counts of the vertices of an earlier run that this one goes on from; empty if there is none
    before: NDArray[np.int64]
    places: NDArray[np.int32]  # (V,): Id in that run of each vertex, or -1
    e: Rows | None  # the matrices it ended with
    t: Rows | None
    given: Rows | None  # rows of e given for some vertices
    given_places: NDArray[np.int32]  # (V,): Row of `given` of each vertex, or -1; -1 where `places` is not
    frozen: NDArray[np.uint8]  # (V,): 1 where the row of e must not change; empty if all may
    # the rows of e that make a word's vector, if they are several: places are those of words then
    rows: WordRows | None = None
    # (P0,): Numbers of the parts whose rows lie behind the V0 rows of words in `e`
    earlier_parts: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))

    @property
    def freezes(self) -> bool:
        """Whether rows are frozen."""
        return bool(len(self.frozen))

    @property
    def goes_on(self) -> bool:
        """Whether it has the matrices of an earlier run."""
        return self.e is not None

    @property
    def seen(self) -> int:
        """Positions of the earlier run's worklists, from which those of W are counted on."""
        return total_of(self.before)

    def seed(self, seed: int) -> int:
        """Return the seed of new rows: another than the earlier run's, which gave these rows to other vertices."""
        return epoch_key(seed, self.seen + len(self.before), INITIAL) if len(self.before) else seed

    def share(self, counts: NDArray[np.int64]) -> float:
        """Return the share of this run's text in all texts, whose counts are given."""
        return 1 - self.seen / max(total_of(counts), 1)

    def shares(self, counts: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return, for each vertex, the share of this run's text in its counts; shape (V,)."""
        earlier = np.zeros(len(counts), np.int64)
        old = self.places >= 0
        earlier[old] = self.before[self.places[old]]
        return 1 - earlier / np.maximum(counts, 1)

    def carried(self, operator: Operator, counts: NDArray[np.int64]) -> NDArray[np.int32]:
        """Return the earlier run's row that each row of t goes on from, or -1; shape (V,)."""
        return operator.carried(self.before, counts, self.places)

    def fill(
        self, masters: Matrices, operator: Operator, counts: NDArray[np.int64], communicator: Communicator
    ) -> None:
        """Write the rows that are not new into a host's masters; all hosts call this."""
        mine = slice(masters.first, masters.first + masters.vertices)
        if self.given is not None:
            self.given.put(self._of_e(self.given_places)[mine], masters.e, communicator)
        if self.e is not None and self.t is not None:
            self.e.put(self._of_e(self.places, parts=True)[mine], masters.e, communicator)
            carried = self.carried(operator, counts)
            if self.rows is not None:  # e has more rows than t
                carried = np.pad(carried, (0, self.rows.number - len(carried)), constant_values=-1)
            self.t.put(carried[mine], masters.t, communicator)

    def _of_e(self, places: NDArray[np.int32], *, parts: bool = False) -> NDArray[np.int32]:
        """Return the place of each row of e, of those of words, and perhaps of their parts."""
        rows = self.rows
        if rows is None:
            return places
        found = rows.of_words(places)
        if parts and len(self.earlier_parts):
            order = np.argsort(self.earlier_parts, kind="stable")
            at = np.minimum(np.searchsorted(self.earlier_parts, rows.ids, sorter=order), len(order) - 1)
            known = self.earlier_parts[order[at]] == rows.ids
            found[rows.parts[known]] = len(self.before) + order[at[known]]
        return found
