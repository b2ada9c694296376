"""Whether threads copy the hottest rows: what is faster where cores share a cache."""

import pytest

from any2vec.cluster.workers import SharedCache
from any2vec.training import host
from any2vec.training.host import Copying


class Machine:
    """Two threads on a processor of known speeds, looked at every tenth of a second."""

    def __init__(self, monkeypatch, with_copies, without):
        self.now, self.shared, self.speeds = 0.0, True, {True: with_copies, False: without}
        monkeypatch.setattr(SharedCache, "is_shared", lambda *_: self.shared)
        monkeypatch.setattr(host.time, "monotonic", lambda: self.now)
        self.copying, self.copies = Copying(2), True
        self.seconds = {True: 0.0, False: 0.0}

    def run(self, looks, first=1.0):
        """Run for some looks, after a switch the first one at `first` times the speed; return what was last."""
        for _ in range(looks):
            before, self.copies = self.copies, self.copying.wanted()
            speed = self.speeds[self.copies] * (1 if before == self.copies else first)
            for _ in range(2):
                self.copying.done(self.copies, 0.1 * speed, 0.1)
            self.seconds[self.copies] += 0.1
            self.now += 0.1
        return self.copies


def test_without_a_shared_cache_rows_are_copied(monkeypatch):
    machine = Machine(monkeypatch, 1.0, 2.0)
    machine.shared = False
    assert machine.run(1000)
    assert machine.seconds[False] == 0


@pytest.mark.parametrize("without", [1.1, 0.9])
def test_with_one_what_is_faster_is_found(monkeypatch, without):
    machine = Machine(monkeypatch, 1.0, without)
    assert machine.run(95)  # begins with copies
    machine.run(3000, first=0.2)
    fast, slow = machine.seconds[without < 1], machine.seconds[without > 1]
    assert 0 < slow < 0.1 * fast


def test_the_cache_is_looked_at_more_often_without_copies(monkeypatch):
    machine, asked = Machine(monkeypatch, 1.0, 1.3), []

    def is_shared(_, age):
        asked.append((machine.copies, age))
        return True

    monkeypatch.setattr(SharedCache, "is_shared", is_shared)
    machine.run(300)
    assert {*asked} == {(True, host._SELDOM), (False, host._OFTEN)}


def test_trials_are_added_up(monkeypatch):
    machine = Machine(monkeypatch, 1.0, 1.3)
    assert not machine.run(120)
    machine.speeds[False] = 0.95  # 5 % slower, where it was 30 % faster
    machine.run(800)
    assert not machine.run(1)
    machine.speeds[False] = 0.5
    machine.run(2000)
    assert machine.run(1)


def test_a_trial_ends_where_the_cache_is_no_longer_shared(monkeypatch):
    machine = Machine(monkeypatch, 1.0, 1.1)
    while not machine.seconds[False]:
        machine.run(1)
    machine.shared = False
    assert machine.run(50)
    machine.shared = True
    assert machine.run(1)
    before = machine.seconds[False]
    machine.run(120)
    assert machine.seconds[False] > before  # another one


def test_what_was_found_is_forgotten_where_the_cache_is_no_longer_shared(monkeypatch):
    machine = Machine(monkeypatch, 1.0, 1.3)
    assert not machine.run(120)
    machine.shared = False
    machine.run(1)
    machine.shared = True
    assert machine.run(95)
    assert not machine.run(30)


def test_no_chunk_may_end_between_two_looks(monkeypatch):
    machine = Machine(monkeypatch, 1.0, 2.0)
    for _ in range(300):
        assert machine.copying.wanted()
        machine.now += 0.1
