"""Communication schemes: how mirrors receive the matrices that a host's rounds touch, and send what changed."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from any2vec.cluster.communicator import Communicator
from any2vec.cluster.workers import Workers
from any2vec.operators.base import RowTable
from any2vec.operators.kernel import Inspector
from any2vec.operators.matrices import Matrices, padded_width
from any2vec.samples.windows import Slice
from any2vec.sync.balance import Balance
from any2vec.sync.channel import Channel, Partition
from any2vec.sync.combiners import Combiner, Round, Touched
from any2vec.sync.masters import Changes, Combined, check_updates, merge
from any2vec.sync.wire import wire_of


@dataclass(frozen=True, eq=False)
class HostContext:
    """A host, as its scheme sees it."""

    communicator: Communicator  # the hosts
    workers: Workers  # this host's threads
    inspector: Inspector  # counts what a slice will touch
    partition: Partition  # which host has the master of each vertex
    dim: int  # D
    copies: int  # rows needed behind the matrices, for the threads' copies of hot and frozen rows
    rebalances: bool  # whether scores stay the same, and nothing is lost, when all rows are rebalanced (`balance`)
    seed: int  # seed of initial rows
    wire: str | None = None  # how rows are sent: one of `wire.WIRES`
    shares: NDArray[np.float64] | None = None  # (V + P,): What rows of e count in the balance, if words have several

    @property
    def vertices(self) -> int:
        """V."""
        return self.partition.vertices


class Scheme(ABC):
    """How hosts synchronize; a new one is a file of this package and a line in `schemes`.

    Parameters
    ----------
    context : HostContext
        This host.

    Attributes
    ----------
    channel : Channel
        Sends, counts and times.
    touched : dict from str to int
        By matrix, rows that this host touched in the last round.
    inspecting, combining : float
        Seconds that its threads spent so far.
    """

    addressing: str  # how kernels find rows (`operators.kernel.operator_kernel`)
    inspects: ClassVar[bool] = False  # whether it inspects slices
    # whether all hosts take every slice, each on its columns; else each takes its own, on whole rows
    by_columns: ClassVar[bool] = False
    # whether a round draws negatives from a pool of its own, at a fixed learning rate (`samples.targets`)
    pools: ClassVar[bool] = False
    of_its_own: ClassVar[bool] = False  # whether vectors differ from those of other schemes, on one host too
    addresses: ClassVar[float] = 1.0  # addresses that a byte of `memory` takes, where they are limited
    matrices: Matrices  # what the operator works on; may change from round to round
    live: int  # rows present in both matrices in this round, from the first on
    rows: RowTable  # the kernel's
    masters: Matrices  # this host's masters
    # the documents that this host touched in the round, if there are some: rows that no other host has
    apart: Touched | None = None

    def __init__(self, context: HostContext) -> None:
        self.context = context
        self.partition = context.partition
        self.channel = Channel(context.communicator)
        self.wire = wire_of(context.wire)(context.dim, context.workers)
        self.touched = {"e": 0, "t": 0}
        self.inspecting = self.combining = 0.0

    @classmethod
    def memory(cls, vertices: int, dim: int, hosts: int, wire: str | None = None, own: int | None = None) -> int:
        """Bytes that a host needs at least: for its masters, `own` rows or an even share; rows are sent by `wire`."""
        return 2 * 4 * padded_width(dim) * (-(-vertices // hosts) if own is None else own)

    @cached_property
    def balance(self) -> Balance:
        """What measures the balance."""
        return Balance(self.masters, self.channel, self.context.shares)

    @property
    def lacks(self) -> bool:
        """Whether merging has changed the balance. Where nothing is merged there is none: it has D x D numbers."""
        return "balance" in vars(self) and bool(self.balance.missing.any())

    def restore(self, masters: Matrices) -> None:
        """Take over rows of masters of an earlier run; all hosts call this before `begin`."""
        self.masters.embedding[:], self.masters.training[:] = masters.embedding, masters.training
        if self.masters.documents is not None and masters.documents is not None:
            self.masters.documents[:, : masters.dim] = masters.documents[:, : masters.dim]

    def begin(self, slice_: Slice) -> None:  # noqa: B027
        """Get ready for the first round, which takes `slice_`."""

    def prefetch(self, slice_: Slice | None) -> None:  # noqa: B027
        """Queue inspection of the next round, None if there is none, behind running work."""

    @abstractmethod
    def synchronize(self, round_: Round, combiner: Combiner) -> Combined:
        """Reduce, combine and broadcast: `masters` become new, and `matrices` ready for the next round."""

    def rows_of_masters(self, *, last: bool = False) -> Matrices:
        """Return the whole rows of this host's range of vertices; if `last`, training has ended."""
        return self.masters

    def stream_rows(self) -> Iterator[tuple[str, NDArray[np.float32]]]:
        """Yield the rows of `rows_of_masters`, matrix by matrix, in parts; all hosts must take all of them."""
        yield "e", self.masters.embedding
        yield "t", self.masters.training

    def prepare(self, here: dict[str, Touched], round_: Round, combiner: Combiner) -> None:
        """Prepare to combine, while rows are on their way; `here` is what this host touched."""
        before = combiner.seconds
        combiner.begin(round_, here if self.apart is None else here | {"apart": self.apart})
        self.combining += (combiner.seconds - before) * self.context.workers.threads  # they wait for it

    def combine(self, changes: dict[str, Changes], round_: Round, combiner: Combiner) -> Combined:
        """Merge what hosts changed into the masters."""
        for change in changes.values():
            check_updates(change)
        balance = self.balance if combiner.keeps_balance and self.context.rebalances else None
        if balance:
            balance.begin(round_.number, changes)
        combined = merge(self.masters, changes, combiner, self.context.workers)
        self.combining += combined.seconds
        if balance:
            combined.rebalancing = balance.end(round_.number)
            self.combining += balance.seconds * self.context.workers.threads
        return combined

    def rebalance(self, combined: Combined, matrices: Matrices) -> None:
        """Rebalance all rows as combining found it needed."""
        if combined.rebalancing:
            rows = {"e": matrices.e[: matrices.vertices], "t": matrices.t[: matrices.vertices]}
            self.combining += combined.rebalancing.apply(rows, self.context.workers)
            if self.masters.documents is not None:
                self.combining += combined.rebalancing.apply({"e": self.masters.documents}, self.context.workers)
