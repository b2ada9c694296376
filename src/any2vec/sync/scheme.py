"""Communication schemes: how mirrors receive the matrices that a host's rounds touch, and send what changed.

What a scheme needs before the first round is here, too: memory on all hosts, and compiled kernels.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from any2vec.cluster.communicator import Communicator, SharedError, together
from any2vec.cluster.local import alone
from any2vec.cluster.machine import hosts_here
from any2vec.cluster.workers import Workers
from any2vec.errors import Any2VecError
from any2vec.io.memory import available, size
from any2vec.operators.base import RowTable
from any2vec.operators.kernel import Inspector
from any2vec.operators.matrices import Matrices, new_matrices, padded_width
from any2vec.samples.windows import Slice
from any2vec.sync.balance import Balance
from any2vec.sync.channel import Channel, Partition
from any2vec.sync.combiners import COMBINERS, Combiner, Round, Touched
from any2vec.sync.masters import Changes, Combined, Rebalancing, check_updates, merge
from any2vec.sync.wire import Wire, wire_of


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
    scale: float = 1.0  # of initial rows of e (`operators.base.Operator`)
    wire: str | None = None  # how rows are sent: one of `wire.WIRES`
    shares: NDArray[np.float64] | None = None  # (V + P,): What rows of e count in the balance, if words have several

    @property
    def vertices(self) -> int:
        """V."""
        return self.partition.vertices


class Scheme(ABC):
    """How hosts synchronize; a new one is a file and a line of this package.

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

    def __init__(self, context: HostContext) -> None:
        self.context = context
        self.partition = context.partition
        self.channel = Channel(context.communicator)
        self.wire = wire_of(context.wire)(context.dim, context.workers)
        self.touched = {"e": 0, "t": 0}
        self.met: dict[str, Touched] = {}  # documents or lines that t met in the round (`Combiner.begin`)
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

    def visit(self, slice_: Slice | None) -> None:  # noqa: B027
        """Have the rows that a slice reads, between two rounds; the one before the next round is the round's."""

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
        combiner.begin(round_, here | self.met)
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


def memory_of_a_host(communicator: Communicator, addresses: float = 1.0) -> int:
    """Return the bytes that each host can have, the least of all; all hosts call this before any takes its share.

    Of a limit of addresses (``ulimit -v``), a byte takes `addresses`.
    """
    mine = available(*hosts_here(communicator), addresses=addresses)
    return int(communicator.allgather(np.array([mine], np.int64)).min())


def check_memory(
    scheme: type[Scheme],
    partition: Partition,
    dim: int,
    communicator: Communicator,
    threads: int = 1,
    more: Callable[[int, int], int] = lambda dim, threads: 0,
    *,
    wire: str | None = None,
    gathers: bool = False,
) -> int:
    """Raise an error on all hosts if what training needs is more than one of them has; all hosts call this.

    A host needs what the scheme does with that `wire`, and `more` for so many dimensions and threads: these bytes are
    returned. If one `gathers`, the first host gets the vectors of all after each epoch.
    """
    vertices, own = partition.vertices, int(partition.sizes.max())
    hosts, has = communicator.size, memory_of_a_host(communicator, scheme.addresses)

    def needs(dim: int, threads: int) -> int:
        return scheme.memory(vertices, dim, hosts, wire, own) + more(dim, threads)

    need = needs(dim, threads)
    needed = communicator.allgather(np.array([need, threads], np.int64))
    need = int(needed[:, 0].max())  # threads may differ
    if need <= has:
        if gathers and hosts > 1:
            _check_gathering(scheme, vertices, dim, communicator, wire)
        return need
    threads, least = int(needed[:, 1].max()), hosts if scheme.by_columns else 1
    fits = [f"`threads` {n:,}" for n in range(threads - 1, 0, -1) if needs(dim, n) <= has][:1]
    fits += [f"`dim` {d:,}" for d in range(dim - 1, least - 1, -1) if needs(d, threads) <= has][:1]
    if hosts > hosts_here(communicator)[0]:  # else they would share what this machine has
        fits += [f"{n:,} hosts" for n in range(hosts + 1, dim + 1) if scheme.memory(vertices, dim, n, wire) <= has][:1]
    on = f" on {threads:,} threads" if threads > 1 else ""
    where = f"on each of {hosts} hosts, and one" if hosts > 1 else "and this machine"
    raise SharedError(
        f"{vertices:,} words of {dim:,} dimensions{on} need {size(need, memory=True)} of memory "
        f"{where} has {size(has, memory=True)} left: "
        f"{' or '.join([*fits, 'fewer words (`min_count`, `max_size`)'])} would fit"
    )


def _check_gathering(
    scheme: type[Scheme], vertices: int, dim: int, communicator: Communicator, wire: str | None
) -> None:
    """Raise an error on all hosts if the vectors of all do not fit on the first, where callbacks judge them."""
    hosts, rows, here = communicator.size, 4 * padded_width(dim) * vertices, hosts_here(communicator)[0]
    need, has = here * scheme.memory(vertices, dim, hosts, wire) + rows, available(addresses=scheme.addresses)
    with together(communicator):
        if communicator.rank == 0 and need > has:
            raise Any2VecError(
                f"to judge vectors after each epoch, the first host gets all, {size(rows, memory=True)}, and needs "
                f"{size(need, memory=True)} with what training takes, where it has {size(has, memory=True)} left: "
                "train without callbacks (`questions`, `pairs`), and evaluate the saved vectors"
            )


def warm_up(combiner: Combiner, wire: Wire) -> None:
    """Compile merging by merging two vertices on one host; `combiner` is copied, and not called if it is a user's."""
    channel, rows, twice = Channel(alone()), np.arange(2, dtype=np.int32), np.array([0, 1, 0, 1], np.int32)
    masters = new_matrices(0, 2, combiner.context.masters.dim)
    wire.hold("e", masters.e)
    wire.put("e", masters.e, rows, wire.gather("pull e", masters.e, rows))
    wire.changed("e", masters.e, rows)
    wire.changed("e", masters.e)
    if type(combiner) not in COMBINERS.values():
        return
    here = {which: Touched(masters.e, rows, np.ones(2, np.int32)) for which in "et"}
    ends, ones = np.array([0, 2, 4]), np.ones(4, np.int32)
    changes = {which: Changes(twice, ends, wire.rows("receive e", 4), ones) for which in "et"}
    other = combiner.bind(replace(combiner.context, masters=masters, channel=channel))
    other.begin(Round(0, 0.025, 0.25), here)
    with Workers(1, channel.communicator) as workers:
        merge(masters, changes, other, workers)
        if other.keeps_balance:
            Balance(masters, channel).begin(0, changes)
            warm_up_balance(masters, workers)


def warm_up_balance(masters: Matrices, workers: Workers) -> None:
    """Compile rebalancing, by doing it to nothing."""
    Balance(masters, Channel(alone())).end(0)
    padded = masters.e.shape[1]
    for n in (1, masters.dim):  # few directions, and many
        nothing = np.zeros((n, masters.dim), np.float32)
        Rebalancing.of(nothing[:, 0], nothing, padded).apply({"e": masters.e}, workers)
