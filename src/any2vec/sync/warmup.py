"""Compile what rounds need before the first one: it takes seconds, which would count as combining."""

from dataclasses import replace

import numpy as np

from any2vec.cluster.local import alone
from any2vec.cluster.workers import Workers
from any2vec.operators.matrices import Matrices, new_matrices
from any2vec.sync.balance import Balance
from any2vec.sync.channel import Channel
from any2vec.sync.combiners import COMBINERS, Combiner, Round, Touched
from any2vec.sync.ids import broadcast_ids, send_ids
from any2vec.sync.masters import Changes, merge
from any2vec.sync.partition import Partition
from any2vec.sync.rebalancing import Rebalancing
from any2vec.sync.wire import Wire

__all__ = ["warm_up", "warm_up_balance"]


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
