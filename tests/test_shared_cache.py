"""Whether threads share a cache, and what a run makes of it."""

import math

import pytest

from any2vec import Word2Vec
from any2vec.cluster import shared_cache
from any2vec.cluster.cores import usable_cores
from any2vec.cluster.local import alone
from any2vec.cluster.shared_cache import SharedCache, message_time
from any2vec.cluster.workers import Workers
from any2vec.training import row_host


@pytest.fixture
def workers():
    with Workers(2, alone()) as workers:
        yield workers


@pytest.mark.skipif(usable_cores() < 2, reason="threads take turns on one core")
def test_time_of_a_message(workers):
    assert 1 < min(message_time(workers) for _ in range(20)) < 1e6


def test_one_thread_waits_for_nobody():
    with Workers(1, alone()) as workers:
        assert message_time(workers) == 0


def test_a_thread_that_does_not_answer(workers, monkeypatch):
    monkeypatch.setattr(shared_cache, "_PATIENCE", 10)
    monkeypatch.setattr(workers, "start", lambda task, parts: Workers.start(workers, task, 1))
    assert message_time(workers) == math.inf


def test_measured_every_half_second(workers, monkeypatch):
    found, now = [], [100.0]
    monkeypatch.setattr(shared_cache, "message_time", lambda _: found.pop(0))
    monkeypatch.setattr(shared_cache.time, "monotonic", lambda: now[0])
    cache = SharedCache(workers)
    for seconds, answers, shared in (
        (0, [math.inf], False),
        (1, [200.0], False),
        (1, [60.0], True),
        (0.2, [], True),
        (1, [math.inf], True),
        (1, [200.0], False),
    ):
        now[0] += seconds
        found[:] = answers
        assert cache.is_shared() is shared
        assert not found


@pytest.mark.parametrize("shared", [False, True])
def test_rows_are_copied_unless_threads_share_a_cache(shared, monkeypatch):
    opened = []
    usual = row_host.open_copies

    def noting(e, t, hot, dim):
        opened.append(hot.rows)
        usual(e, t, hot, dim)

    monkeypatch.setattr(row_host, "open_copies", noting)
    monkeypatch.setattr(SharedCache, "is_shared", lambda _: shared)
    text = [[f"w{k * k % 97}" for k in range(start, start + 20)] for start in range(3000)]
    model = Word2Vec(dim=16, threads=2, epochs=2, min_count=1, sample=0, cache=None).fit(text)
    assert model.report_.threads == 2
    assert any(opened) is not shared
    assert model.report_.loss[-1] < model.report_.loss[0]
