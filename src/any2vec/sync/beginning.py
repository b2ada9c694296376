"""Before the first round: whether the memory of all hosts suffices, and the kernels that rounds need."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from any2vec.cluster.communicator import Communicator, SharedError, together
from any2vec.cluster.local import alone
from any2vec.cluster.machine import hosts_here
from any2vec.cluster.workers import Workers
from any2vec.errors import Any2VecError
from any2vec.io.memory import available, size
from any2vec.operators.matrices import Matrices, new_matrices, padded_width
from any2vec.sync.balance import Balance
from any2vec.sync.channel import Channel, Partition, broadcast_ids, send_ids
from any2vec.sync.combiners import COMBINERS, Combiner, Round, Touched
from any2vec.sync.masters import Changes, merge
from any2vec.sync.rebalancing import Rebalancing
from any2vec.sync.scheme import Scheme
from any2vec.sync.wire import Wire


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
    channel, partition = Channel(alone()), Partition.even(2, 1)
    rows, twice = np.arange(2, dtype=np.int32), np.array([0, 1, 0, 1], np.int32)
    send_ids(rows, partition, channel, "inspect", "e")
    broadcast_ids(rows, partition, channel, "broadcast", "e")
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
