"""Matrices that one host solves: how they reach it and come back."""

import time
from types import SimpleNamespace

import numpy as np
import pytest
from simulated import options, read, text, train

from any2vec.cluster import simulate
from any2vec.report import Report
from any2vec.report.rounds import KEYS
from any2vec.sync.channel import Channel


class Receiving:
    """Counts the bytes that a host sends to others, and receives from them."""

    def __init__(self, inner):
        self.inner, self.rank, self.size = inner, inner.rank, inner.size
        self.sent = self.received = 0

    def __getattr__(self, name):
        return getattr(self.inner, name)

    def ialltoallv(self, send, send_counts, receive, counts, starts=None):
        self.sent += (send_counts.sum() - send_counts[self.rank]) * send[:1].nbytes
        self.received += (counts.sum() - counts[self.rank]) * receive[:1].nbytes
        return self.inner.ialltoallv(send, send_counts, receive, counts, starts)


@pytest.mark.parametrize("hosts", [1, 2, 3, 8, 24])
@pytest.mark.parametrize(("shape", "kind"), [((13, 10), np.float64), ((3, 10, 10), np.float32), ((1, 7), np.float32)])
def test_sums_and_copies_are_those_of_one_host_that_gets_all(hosts, shape, kind):
    def program(communicator):
        channel = Channel(Receiving(communicator))
        own = np.random.default_rng(communicator.rank).standard_normal(shape).astype(kind)
        every = communicator.allgather(own)
        total = channel.reduce(("reduce", "e", "moments"), own)
        assert (total is None) == (communicator.rank != 0)
        if total is not None:
            expected = every[0].astype(np.float64)
            for one in every[1:]:
                expected += one
            assert total.tobytes() == expected.tobytes()
        found = channel.distribute(("broadcast", "t", "moments"), own)
        taken = channel.take()
        assert taken.sum() == channel.communicator.sent
        assert set(np.flatnonzero(taken)) <= {
            KEYS.index(("reduce", "e", "moments")),
            KEYS.index(("broadcast", "t", "moments")),
        }
        return found

    expected = np.random.default_rng(0).standard_normal(shape).astype(kind)
    assert all(found.tobytes() == expected.tobytes() for found in simulate(hosts, 2, program))


def test_what_a_host_sends_and_receives_of_moments_does_not_grow_with_the_number_of_hosts():
    dim = 40

    def traffic(hosts):
        def program(communicator):
            channel = Channel(Receiving(communicator))
            channel.reduce(("reduce", "e", "moments"), np.ones((dim + 3, dim)))
            channel.distribute(("broadcast", "e", "moments"), np.ones((dim + 2, dim), np.float32))
            return channel.communicator.sent + channel.communicator.received

        return max(simulate(hosts, 2, program))

    assert traffic(20) < 1.25 * traffic(5)


def test_rounds_do_not_send_the_moments_of_all_hosts_to_one():
    def received(hosts):
        seen = []

        def wrap(communicator):
            seen.append(Receiving(communicator))
            return seen[-1]

        report = Report({})
        how = options(combine="curvature", rounds=2)
        train(read(text(60, words=10), hosts), how, wrap=wrap, report=report)
        return max(one.received for one in seen) / len(report.rounds)

    assert received(12) < 2 * received(3)  # with all of them at host 0: 5 times


def test_what_is_hidden_ends_when_rows_have_come():
    class Request:
        done = False

        def test(self):
            return self.done

        def wait(self):
            time.sleep(0.02)

    requests = [Request(), Request()]
    given = iter(requests)
    channel = Channel(SimpleNamespace(rank=0, size=2, ialltoallv=lambda *_: next(given)))
    nothing, none = np.zeros((0, 1)), np.zeros(2, np.int64)
    for _ in requests:
        channel.begin(("reduce", "e", "values"), nothing, none, nothing, none)
    time.sleep(0.05)
    channel.progress()
    first = channel.hidden
    assert first >= 0.05
    for request in requests:
        request.done = True
    channel.progress()
    before = channel.hidden
    time.sleep(0.05)
    channel.wait(requests)
    time.sleep(0.05)
    channel.progress()
    assert channel.hidden == before >= first
    assert channel.seconds >= 0.04
