"""Whether the memory of all hosts suffices, before training, and what would fit where it does not."""

from collections.abc import Callable

import numpy as np

from any2vec.cluster.communicator import Communicator, SharedError, together
from any2vec.cluster.machine import hosts_here
from any2vec.errors import Any2VecError
from any2vec.io.memory import available
from any2vec.io.shown import size
from any2vec.operators.matrices import padded_width
from any2vec.sync.partition import Partition
from any2vec.sync.scheme import Scheme

__all__ = ["check_memory", "memory_of_a_host"]


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
