"""Which host has the master of which vertex."""

import numpy as np
import pytest
from marks import slow
from simulated import options, read, text, train

from any2vec.sync.channel import MOST, Channel, Partition
from any2vec.training import trainer


def zipf(vertices, scale=1e3):
    return -np.expm1(-scale / np.arange(1, vertices + 1))


def shares(partition, use):
    """What each host has of the use, and of the vertices, in even shares."""
    done = np.append(0, np.cumsum(use))[partition.bounds]
    return np.diff(done) / done[-1] * partition.hosts, partition.sizes / partition.vertices * partition.hosts


@pytest.mark.parametrize(("vertices", "hosts"), [(20_000, 2), (20_000, 4), (100_003, 8)])
def test_each_host_has_as_much_of_the_use(vertices, hosts):
    use = zipf(vertices, vertices / 4)
    used, owned = shares(Partition.by_use(use, hosts), use)
    assert used == pytest.approx(np.ones(hosts), abs=0.01)
    assert owned.max() < MOST
    assert (np.diff(owned) > 0).all()
    assert shares(Partition.even(vertices, hosts), use)[0].max() > 1.15


USES = [zipf(50_000), zipf(50_000)[::-1], np.ones(1000), np.zeros(1000), np.eye(1, 1000)[0], np.eye(1, 1000, 999)[0]]


@pytest.mark.parametrize("hosts", [2, 3, 5, 32, 128])
@pytest.mark.parametrize("use", [*USES, *(zipf(vertices) for vertices in range(4))])
def test_no_host_has_more_than_twice_its_share_of_the_vertices(use, hosts):
    partition = Partition.by_use(use, hosts)
    assert partition.bounds[0] == 0
    assert partition.vertices == len(use)
    assert partition.sizes.min() >= 0
    assert partition.sizes.max() <= -(-MOST * len(use) // hosts)


def test_groups_of_vertices_are_cut_as_vertices_are():
    counts, many = np.array([1.0, 0.5, 0.25, 0.01]), np.array([10, 20, 40, 100_000])
    one, other = Partition.by_use(np.repeat(counts, many), 8), Partition.by_use(counts, 8, many)
    assert np.abs(one.bounds - other.bounds).max() <= 1
    assert len(np.unique(other.bounds)) == 9


@pytest.mark.parametrize("more", [{}, slow({"model": "cbow"}), slow({"loss": "hierarchical", "negative": None})])
def test_hosts_send_as_much_of_their_masters(monkeypatch, more):
    sent, count = np.zeros((2, 4)), Channel.count

    def noting(channel, what, send_counts, size):
        rank = channel.communicator.rank
        if what[0] == "broadcast" and what[2] == "values":
            sent[even, rank] += send_counts.sum() - send_counts[rank]
        count(channel, what, send_counts, size)

    monkeypatch.setattr(Channel, "count", noting)
    corpus = read(text(3000, words=2000), 4)
    how = options(scheme="pull-opt", combine="average", rounds=6, epochs=2, **more)
    for even in (0, 1):
        if even:
            monkeypatch.setattr(trainer, "partition_of", lambda *_: Partition.even(len(corpus.vocabulary), 4))
        train(corpus, how)
    most, usual = sent.max(axis=1) / sent.mean(axis=1)
    assert most < 1.25
    assert usual > 1.4
