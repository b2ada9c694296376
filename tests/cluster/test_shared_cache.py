"""Whether cores share a cache, and what a run makes of it."""

import math
import time

import numpy as np
import pytest

from any2vec import Word2Vec
from any2vec.cluster import workers
from any2vec.cluster.local import alone
from any2vec.cluster.machine import core_ids
from any2vec.cluster.workers import SharedCache, message_time
from any2vec.corpus import read_corpus
from any2vec.operators.base import Rate
from any2vec.operators.kernel import Slice
from any2vec.training import row_host
from any2vec.training.host import Copying, Task
from any2vec.training.options import Options


@pytest.mark.skipif(len(core_ids()) < 2, reason="threads take turns on one core")
def test_time_of_a_message():
    found, tries = math.inf, 0
    while found == math.inf and tries < 20:  # on a busy machine a core may not answer for a while
        time.sleep(tries and 1)
        found, tries = min(message_time(core_ids()) for _ in range(20)), tries + 1
    assert 1 < found < 1e6


def test_one_core_waits_for_nobody():
    assert message_time(core_ids()[:1]) == 0


def test_a_core_that_does_not_answer(monkeypatch):
    monkeypatch.setattr(workers, "_PATIENCE", 0)
    assert message_time([0, 0]) == math.inf


def test_measured_now_and_then(monkeypatch):
    """As often as is asked for or, if it takes long, so rarely that it takes a hundredth of the time."""
    found, now = [], [100.0]

    def answer(_):
        nanoseconds, seconds = found.pop(0)
        now[0] += seconds
        return nanoseconds

    monkeypatch.setattr(workers, "message_time", answer)
    monkeypatch.setattr(workers.time, "monotonic", lambda: now[0])
    cache = SharedCache()
    for seconds, age, answers, shared in (
        (0, 0.5, [(math.inf, 0.001)], False),
        (1, 0.5, [(200.0, 0.001)], False),
        (0.4, 0.5, [], False),
        (0.2, 5.0, [], False),
        (0, 0.5, [(60.0, 0.001)], True),
        (1, 0.5, [(math.inf, 0.02)], True),
        (1, 0.5, [], True),
        (2, 0.5, [(200.0, 0.001)], False),
    ):
        now[0] += seconds
        found[:] = answers
        assert cache.is_shared(age) is shared
        assert not found


@pytest.mark.parametrize("wanted", [False, True])
def test_rows_are_copied_if_that_is_wanted(wanted, monkeypatch):
    opened = []
    usual = row_host.open_copies

    def noting(e, t, hot, dim):
        opened.append(hot.rows)
        usual(e, t, hot, dim)

    monkeypatch.setattr(row_host, "open_copies", noting)
    monkeypatch.setattr(Copying, "wanted", lambda _: wanted)
    text = [[f"w{k * k % 97}" for k in range(start, start + 20)] for start in range(3000)]
    model = Word2Vec(dim=16, window=3, negative=3, threads=2, epochs=2, min_count=1, sample=0, cache=None).fit(text)
    assert model.report_.threads == 2
    assert any(opened) is wanted
    assert model.report_.loss[-1] < model.report_.loss[0]


def test_threads_take_and_merge_copies_as_cores_are_moved(monkeypatch):
    calls = []
    for name in ("open_copies", "merge"):
        usual = getattr(row_host, name)

        def noting(e, t, hot, *given, name=name, usual=usual):
            calls.append((name, hot.rows))
            usual(e, t, hot, *given)

        monkeypatch.setattr(row_host, name, noting)
    monkeypatch.setattr(row_host, "_LONGEST", 1000)
    corpus = read_corpus([[f"w{k}" for k in range(20)]] * 1000, min_count=1, cache=None)
    host = row_host.RowHost(corpus, Options(dim=16, window=3, negative=3, threads=2, sample=0, epochs=1), alone())
    host.open()
    stats = host.thread_stats()
    task = Task(Slice(0, ((0, 20_000),)), Rate(0.1, 1e-4, 0.0, 1.0, 20_000.0), None, stats)
    with host.workers:
        for copying, _ in zip(
            [False, True, True, False, False, True] + [False] * 3,
            host.take_chunks(task, host.chunks(9000, 2), 0),
            strict=True,
        ):
            host._copying = copying  # from the next chunk on
    one, other = ("merge", 0), ("open_copies", 0)
    begun, merged = ("open_copies", 20), ("merge", 20)
    assert calls == 3 * [one, begun, merged, other]
    assert np.abs(host.scheme.masters.training).max() > 0.01
    assert stats[0].words[0] == 9000
