"""How many threads there are by default: cores, quotas and limits of control groups."""

import os
import threading

import pytest

from any2vec.cluster import alone, simulate
from any2vec.cluster import machine as limits
from any2vec.cluster.workers import Workers
from any2vec.errors import Any2VecError


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """Put files of control groups, for a process on 8 cores; return what puts them."""
    monkeypatch.setattr(limits, "_GROUPS", tmp_path / "groups")
    monkeypatch.setattr(limits, "_ROOT", tmp_path / "root")
    monkeypatch.setattr(limits, "core_ids", lambda: list(range(8)))

    def put(lines, **files):
        (tmp_path / "groups").write_text(lines)
        for name, content in files.items():
            path = tmp_path / "root" / name.replace("__", "/").replace("_of_", ".")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content + "\n")

    return put


SECOND = "0::/system.slice/run-1.scope\n"
FIRST = "12:pids:/docker/ab\n4:cpu,cpuacct:/docker/ab\n3:memory:/docker/ab\n"


@pytest.mark.parametrize(
    ("lines", "files", "count"),
    [
        (SECOND, {}, 8),
        (SECOND, {"system.slice__run-1.scope__cpu_of_max": "max 100000"}, 8),
        (SECOND, {"system.slice__run-1.scope__cpu_of_max": "300000 100000"}, 3),
        (SECOND, {"system.slice__run-1.scope__cpu_of_max": "350000 100000"}, 3),
        (SECOND, {"system.slice__run-1.scope__cpu_of_max": "50000 100000"}, 1),
        (SECOND, {"system.slice__run-1.scope__cpu_of_max": "9900000 100000"}, 8),
        (SECOND, {"system.slice__run-1.scope__cpu_of_max": "max 1", "system.slice__cpu_of_max": "20000 10000"}, 2),
        ("0::/\n", {"cpu_of_max": "200000 100000"}, 2),  # in a container
        ("0::/../../other\n", {"cpu_of_max": "200000 100000"}, 2),
        ("0::/gone\n", {"cpu_of_max": "200000 100000"}, 2),
        (SECOND, {"cpu_of_max": "what is this"}, 8),
        (SECOND, {"cpu_of_max": "1 0"}, 8),
        (
            FIRST,
            {
                "cpu,cpuacct__docker__ab__cpu_of_cfs_quota_us": "-1",
                "cpu,cpuacct__docker__ab__cpu_of_cfs_period_us": "1",
            },
            8,
        ),
        (
            FIRST,
            {"cpu__docker__ab__cpu_of_cfs_quota_us": "400000", "cpu__docker__ab__cpu_of_cfs_period_us": "100000"},
            4,
        ),
        (FIRST, {"cpu,cpuacct__cpu_of_cfs_quota_us": "50000", "cpu,cpuacct__cpu_of_cfs_period_us": "100000"}, 1),
        (SECOND, {"pids_of_max": "16", "pids_of_current": "10"}, 3),
        (SECOND, {"pids_of_max": "max", "pids_of_current": "10"}, 8),
        (FIRST, {"pids__docker__ab__pids_of_max": "16", "pids__docker__ab__pids_of_current": "16"}, 1),
    ],
)
def test_cores_that_may_be_used(machine, lines, files, count):
    machine(lines, **files)
    assert limits.usable_cores() == count
    assert limits.host_cores(alone()) == count


def test_hosts_share_a_quota(machine):
    machine(SECOND, **{"system.slice__run-1.scope__cpu_of_max": "600000 100000"})
    assert simulate(3, 1, limits.host_cores) == [2, 2, 2]
    assert simulate(6, 1, limits.host_cores) == [1] * 6
    assert simulate(7, 1, limits.host_cores) == [1] * 7


def test_without_control_groups(tmp_path, monkeypatch):
    monkeypatch.setattr(limits, "_GROUPS", tmp_path / "none")
    assert limits.core_quotas() == {}
    assert limits.usable_cores() == len(limits.core_ids())
    assert limits.usable_cores() <= (os.cpu_count() or 1)


@pytest.fixture
def few(monkeypatch):
    """Let the system start no more than five threads."""
    start, started = threading.Thread.start, []

    def refusing(thread):
        if len(started) == 5:
            raise RuntimeError("can't start new thread")
        started.append(thread)
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", refusing)
    return started


def test_threads_that_the_system_refuses(few):
    with pytest.raises(Any2VecError, match=r"no more than 5 of 8 threads \(ulimit -u.*smaller `threads`"):
        Workers(8, alone())
    for thread in few:
        thread.join(20)
        assert not thread.is_alive()


def test_simulated_hosts_that_the_system_refuses(few):
    with pytest.raises(Any2VecError, match=r"no more than 5 of 8 threads .* smaller `hosts`"):
        simulate(9, 2, lambda host: host.barrier())
    for thread in few:
        assert not thread.is_alive()


def test_all_threads_are_there_before_work_begins():
    with Workers(3, alone()) as workers:
        assert len(workers._pool._threads) == 3
        assert workers.join(workers.start(lambda part: part, 5)) == list(range(5))
