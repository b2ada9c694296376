"""Hosts that talk: the engine in one process, and what is made of the protocol."""

import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from any2vec import Word2Vec, cluster
from any2vec.cli import app
from any2vec.cluster import ENGINES, Engine, connect, machine
from any2vec.cluster.communicator import SharedError, allgather_bytes, allreduce, exchange, from_host, together
from any2vec.cluster.local import alone, clock_of, computing, is_simulated, simulate, waiting
from any2vec.cluster.workers import Workers
from any2vec.errors import Any2VecError
from any2vec.models import Node2Vec
from any2vec.models.words import Doc2Vec

DTYPES = [np.bool_, np.uint8, np.int32, np.int64, np.uint64, np.float32, np.float64]
SIZES = [1, 2, 5]


@pytest.fixture(autouse=True)
def _no_thread_is_left():
    before = threading.active_count()
    yield
    assert threading.active_count() == before


def several(*counts):
    return np.array(counts, np.int64)


def test_hosts_know_themselves_and_results_come_in_their_order():
    assert simulate(5, 2, lambda host: (host.rank, host.size, is_simulated(host))) == [(h, 5, True) for h in range(5)]
    assert simulate(1, 2, lambda host: (host.rank, host.size, is_simulated(host))) == [(0, 1, False)]
    assert (alone().rank, alone().size, is_simulated(alone())) == (0, 1, False)
    for bad in ((0, 1), (1, 0)):
        with pytest.raises(ValueError, match="hosts on"):
            simulate(*bad, print)


def test_the_first_host_is_in_the_calling_thread_and_one_alone_starts_none():
    names = simulate(3, 1, lambda _: threading.current_thread().name)
    assert names == [threading.current_thread().name, "host-1", "host-2"]
    assert simulate(1, 1, lambda _: threading.active_count()) == [threading.active_count()]


@pytest.mark.parametrize(
    ("machines", "shares"),
    [
        ([("a", [0, 1, 2, 3])] * 3 + [("b", [0, 1])], [1, 1, 1, 2]),  # not bound; another machine's are not shared
        ([("a", [0, 1, 2, 3])] * 2, [2, 2]),
        ([("a", [0, 1]), ("a", [2, 3])], [2, 2]),  # bound by the launcher
        ([("a", [0])] * 3, [1, 1, 1]),  # more hosts than cores
        ([("a", list(range(10)))] * 10, [1] * 10),
    ],
)
def test_hosts_share_the_cores_of_their_machine(machines, shares, monkeypatch):
    here = threading.local()
    monkeypatch.setattr(machine, "_machine", lambda: here.machine)
    monkeypatch.setattr(machine, "core_ids", lambda: here.cores)

    def program(host):
        here.machine, here.cores = machines[host.rank]
        return machine.host_cores(host)

    assert simulate(len(machines), 1, program) == shares


def test_one_host_has_all_cores():
    assert machine.host_cores(alone()) == machine.usable_cores() >= 1


@pytest.mark.parametrize("hosts", SIZES)
def test_nobody_leaves_a_barrier_before_all_have_come(hosts):
    came = []

    def program(host):
        seen = []
        for _ in range(20):
            came.append(host.rank)
            host.barrier()
            seen.append(len(came))
            host.barrier()
        return seen

    assert simulate(hosts, 2, program) == [list(range(hosts, 20 * hosts + 1, hosts))] * hosts


@pytest.mark.parametrize("hosts", SIZES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_allgather(hosts, dtype):
    for shape in [(), (3,), (2, 2), (0,)]:
        values = [np.full(shape, h % 2, dtype) for h in range(hosts)]

        def program(host, values=values):
            mine = values[host.rank].copy()
            got = host.allgather(mine)
            mine[...] = 7  # its buffer is its own again
            host.barrier()
            copy = got.copy()
            host.barrier()
            got[...] = 0  # and what it got is its own too
            return copy

        for got in simulate(hosts, 2, program):
            assert got.dtype == dtype
            np.testing.assert_array_equal(got, np.stack(values))


def deal(rng, hosts, width, shared, dtype):
    """Draw counts, rows and starts for all hosts, and what each host must get, by a plain loop."""
    counts = rng.integers(0, 4, (hosts, hosts)) * rng.integers(0, 2, (hosts, hosts))
    sends, starts = [], []
    for h in range(hosts):
        rows = int(counts[h].sum()) + int(rng.integers(0, 3))
        sends.append(rng.integers(0, 1000, (rows, width, 2)).astype(dtype))
        one_by_one = np.cumsum(counts[h]) - counts[h]
        starts.append(rng.integers(0, rows - counts[h] + 1) if shared else one_by_one)
    expected = [
        [row.tolist() for a in range(hosts) for row in sends[a][starts[a][b] : starts[a][b] + counts[a, b]]]
        for b in range(hosts)
    ]
    return counts, sends, starts, expected


@settings(max_examples=100)
@given(
    st.integers(0, 2**32), st.integers(1, 6), st.integers(0, 3), st.booleans(), st.booleans(), st.sampled_from(DTYPES)
)
def test_alltoallv_is_what_a_plain_loop_does(seed, hosts, width, shared, later, dtype):
    counts, sends, starts, expected = deal(np.random.default_rng(seed), hosts, width, shared, dtype)

    def program(host):
        h = host.rank
        send, mine = sends[h].copy(), counts[:, h].copy()
        receive = np.ones((mine.sum() + 1, width, 2), dtype)
        given = (send, counts[h], receive, mine, starts[h] if shared else None)
        if later:
            request = host.ialltoallv(*given)
            while not request.test():
                time.sleep(0)
            request.wait()
        else:
            host.ialltoallv(*given).wait()
        send[:] = 0  # its buffer is its own again
        assert (receive[-1] == 1).all()
        return receive[:-1].tolist()

    assert simulate(hosts, 2, program) == expected


@pytest.mark.parametrize("hosts", SIZES)
def test_several_requests_are_under_way_and_may_be_finished_in_any_order(hosts):
    def program(host):
        ones = np.ones(host.size, np.int64)
        sends = [np.full((host.size, 2), 10 * host.rank + k, np.float32) for k in range(3)]
        got = [np.empty_like(send) for send in sends]
        requests = [host.ialltoallv(send, ones, to, ones) for send, to in zip(sends, got, strict=True)]
        total = allreduce(host, several(1))  # other calls go on meanwhile
        for k in np.roll([0, 1, 2], host.rank):
            requests[k].wait()
            requests[k].wait()
        assert all(request.test() for request in requests)
        return int(total[0]), [to[:, 0].tolist() for to in got]

    whole = [[10 * h + k for h in range(hosts)] for k in range(3)]
    assert simulate(hosts, 2, program) == [(hosts, whole)] * hosts


def test_a_request_gets_done_while_another_host_is_in_another_call():
    def program(host):
        ones = several(1, 1)
        got = np.zeros(2)
        request = host.ialltoallv(np.full(2, host.rank + 1.0), ones, got, ones)
        if host.rank:
            while not request.test():
                time.sleep(0.001)
        host.barrier()
        request.wait()
        return got.tolist()

    assert simulate(2, 2, program) == [[1, 2]] * 2


def test_test_does_not_wait():
    def program(host):
        if host.rank == 0:
            request = host.ialltoallv(np.zeros(2), several(1, 1), np.zeros(2), several(1, 1))
            answers.append(request.test())
            asked.set()
        else:
            with waiting(host):
                assert asked.wait(30)
            request = host.ialltoallv(np.zeros(2), several(1, 1), np.zeros(2), several(1, 1))
        request.wait()

    answers, asked = [], threading.Event()
    simulate(2, 1, program)
    assert answers == [False]


def test_a_request_that_nobody_waits_for_harms_nobody():
    def program(host):
        got = np.zeros(3)
        host.ialltoallv(np.arange(3.0), several(1, 1, 1), got, several(1, 1, 1))
        return got

    assert [got.tolist() for got in simulate(3, 1, program)] == [[0, 0, 0], [1, 1, 1], [2, 2, 2]]


def wait_for_company(most, cores):
    """Stay until as many as there are cores have been here together; then a moment, for one that is too many."""
    until = time.monotonic() + 60
    while max(most) < cores and time.monotonic() < until:
        time.sleep(0.001)
    time.sleep(0.003)


@pytest.mark.parametrize("cores", [1, 2])
def test_so_many_blocks_work_at_once(cores):
    lock, now, most = threading.Lock(), set(), []

    def work(host, key):
        with computing(host):
            with lock:
                now.add(key)
                most.append(len(now))
            wait_for_company(most, cores)
            with lock:
                now.remove(key)

    def program(host):
        threads = [threading.Thread(target=work, args=(host, (host.rank, k))) for k in range(4)]
        with waiting(host):
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        host.barrier()

    simulate(4, cores, program)
    assert len(most) == 4 * 4
    assert max(most) == cores


@pytest.mark.parametrize("cores", [1, 2])
def test_so_many_hosts_run_at_once(cores):
    lock, now, most = threading.Lock(), set(), []

    def program(host):
        for _ in range(3):
            with lock:
                now.add(host.rank)
                most.append(len(now))
            wait_for_company(most, cores)
            with lock:
                now.remove(host.rank)
            host.allgather(np.zeros(1))
            with waiting(host):
                time.sleep(0.001)

    simulate(5, cores, program)
    assert len(most) == 15
    assert max(most) == cores


def test_a_host_looks_after_its_threads_while_others_have_the_cores():
    def program(host):
        looks = []
        with Workers(1, host) as workers:
            workers.join(workers.start(lambda _: time.sleep(0.5), 1), lambda: looks.append(0), 0.01)
        return len(looks)

    assert min(simulate(3, 1, program)) > 2  # their turns last 0.5 s each, and they look every 0.1 s


def test_one_alone_works_when_it_likes():
    host = alone()
    with computing(host), waiting(host):
        host.barrier()
    clock = clock_of(host)
    assert clock() <= clock()


def test_the_clock_of_a_simulated_host_stands_while_it_waits():
    def program(host):
        clock = clock_of(host)
        start = clock()
        if host.rank == 0:
            time.sleep(0.3)
        host.barrier()
        return clock() - start

    assert max(simulate(4, 2, program)) < 0.15


@pytest.mark.parametrize("where", [0, 2])
@pytest.mark.parametrize("error", [ZeroDivisionError, KeyboardInterrupt, SystemExit, Any2VecError])
@pytest.mark.parametrize("call", ["barrier", "allgather", "wait", "test", "working"])
def test_an_error_ends_all_hosts(where, error, call):
    ended = []

    def program(host):
        try:
            if host.rank == where:
                time.sleep(0.01)
                raise error("here")
            wait_somehow(host, call)
        except Exception as caught:  # an except clause of the program does not see the release
            ended.append(caught)
            raise

    def wait_somehow(host, call):
        if call == "barrier":
            host.barrier()
        elif call == "allgather":
            host.allgather(np.zeros(3))
        else:
            ones = np.ones(host.size, np.int64)
            request = host.ialltoallv(np.zeros(host.size), ones, np.zeros(host.size), ones)
            while call == "test" and not request.test():
                time.sleep(0.001)
            with Workers(1, host) as workers:
                while call == "working":
                    workers.join(workers.start(lambda _: time.sleep(0.001), 1))
            request.wait()

    with pytest.raises(error, match="here"):
        simulate(4, 1, program)
    assert len(ended) <= 1


def test_of_several_errors_the_first_hosts_is_told():
    def program(host):
        if host.rank:
            raise ValueError(f"host {host.rank}")
        host.barrier()

    for _ in range(10):
        with pytest.raises(ValueError, match="host 1") as told:
            simulate(2, 1, program)
        assert told.value.__traceback__ is not None

    def all_fail(host):
        host.barrier()
        raise ValueError(f"host {host.rank}")

    for _ in range(10):
        with pytest.raises(ValueError, match="host 0"):
            simulate(8, 1, all_fail)


@pytest.mark.parametrize("where", ["waiting", "ended"])
def test_ctrl_c_ends_all_hosts(where):
    def program(host):
        if host.rank == 1:
            time.sleep(0.05)
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.2)
        if host.rank or where == "waiting":
            host.barrier()

    with pytest.raises(KeyboardInterrupt):
        simulate(2, 1, program)


def test_a_mistake_in_the_program_is_told_and_hangs_nobody():
    def leaves(host):
        if host.rank != 1:
            host.barrier()

    with pytest.raises(RuntimeError, match="ended"):
        simulate(3, 1, leaves)

    def differs(host):
        if host.rank:
            host.barrier()
        else:
            host.allgather(np.zeros(1))

    with pytest.raises(RuntimeError, match="where others call"):
        simulate(3, 1, differs)

    with pytest.raises(ValueError, match="different dtypes"):
        simulate(2, 1, lambda host: host.allgather(np.zeros(1, [np.int32, np.int64][host.rank])))
    with pytest.raises(ValueError, match="same shape"):
        simulate(2, 1, lambda host: host.allgather(np.zeros(host.rank)))

    def rows_differ(host):
        rows = np.zeros((2, 1 + host.rank), np.float32)
        host.ialltoallv(rows, several(1, 1), rows.copy(), several(1, 1)).wait()

    with pytest.raises(ValueError, match="different rows"):
        simulate(2, 1, rows_differ)


@pytest.mark.parametrize("hosts", [1, 2])
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"send_counts": 4}, "are not in"),
        ({"counts": 7}, "are not in"),
        ({"counts": 2}, "which expects 2"),
        ({"counts": -1}, "are not in"),
        ({"starts": 3}, "are not in"),
        ({"starts": -1}, "are not in"),
        ({"receive": np.zeros((6, 2), np.float64)}, "cannot be received"),
        ({"receive": np.zeros((6, 3), np.float32)}, "cannot be received"),
        ({"send": np.zeros((2, 6), np.float32).T}, "contiguous"),
        ({"send_counts": np.ones(3, np.int64)}, "one per host"),
    ],
)
def test_sizes_that_do_not_fit_are_refused(hosts, change, message):
    def program(host):
        call = {"send": np.zeros((3, 2), np.float32), "send_counts": 1, "receive": np.zeros((6, 2), np.float32)}
        call |= {"counts": 1} | change
        for name, value in call.items():
            if isinstance(value, int):
                call[name] = np.full(host.size, value, np.int64)
        host.ialltoallv(**call).wait()

    with pytest.raises(ValueError, match=message):
        simulate(hosts, 1, program)


def test_many_hosts():
    hosts = 128

    def program(host):
        for step in range(5):
            got, counts = exchange(host, np.full(hosts, host.rank + step), np.ones(hosts, np.int64))
            assert got.tolist() == [h + step for h in range(hosts)]
            assert counts.tolist() == [1] * hosts
            assert allreduce(host, several(host.rank))[0] == hosts * (hosts - 1) // 2
        return True

    assert all(simulate(hosts, 2, program))


def test_numpy_treats_overflow_as_it_does_in_the_caller():
    with np.errstate(over="raise"), pytest.raises(FloatingPointError):
        simulate(2, 1, lambda host: host.rank and np.float32([3e38]) * np.float32(10))


@pytest.mark.parametrize("hosts", SIZES)
@pytest.mark.parametrize("at_a_time", [None, 4])
def test_allreduce_adds_in_host_order(hosts, at_a_time, monkeypatch):
    if at_a_time:
        monkeypatch.setattr("any2vec.cluster.communicator._GATHERED", 4 * hosts * at_a_time)
    values = np.random.default_rng(0).standard_normal((hosts, 3, 300)).astype(np.float32) * 1e4
    total = values[0].copy()
    for h in range(1, hosts):
        total = total + values[h]
    for got in simulate(hosts, 2, lambda host: allreduce(host, values[host.rank])):
        assert (got.dtype, got.shape) == (np.float32, (3, 300))
        assert got.tobytes() == total.tobytes()
    for shape in ((), (0,), (5, 0)):
        assert simulate(hosts, 2, lambda host, shape=shape: allreduce(host, np.ones(shape, bool)))[0].shape == shape


@pytest.mark.parametrize("hosts", SIZES)
def test_rows_of_one_host_for_all(hosts):
    def program(host):
        rows = [from_host(host, sender, np.full((host.rank, 2), host.rank, np.int16)) for sender in range(hosts)]
        return [(array.shape, set(array.ravel().tolist())) for array in rows]

    for got in simulate(hosts, 2, program):
        assert got == [((h, 2), {h} if h else set()) for h in range(hosts)]


@pytest.mark.parametrize("hosts", SIZES)
def test_exchange_tells_how_many_rows_came(hosts):
    def program(host):
        counts = (np.arange(hosts) + host.rank) % 3
        rows, came = exchange(host, np.full((counts.sum(), 2), host.rank, np.int32), counts)
        return rows[:, 1].tolist(), came.tolist()

    for h, (rows, came) in enumerate(simulate(hosts, 2, program)):
        assert came == [(h + a) % 3 for a in range(hosts)]
        assert rows == [a for a in range(hosts) for _ in range((h + a) % 3)]


@pytest.mark.parametrize("hosts", SIZES)
def test_bytes_of_any_length(hosts):
    told = [b"\0x" * (h % 3 * 5) for h in range(hosts)]
    assert simulate(hosts, 2, lambda host: allgather_bytes(host, told[host.rank])) == [told] * hosts
    assert simulate(hosts, 2, lambda host: allgather_bytes(host, b"")) == [[b""] * hosts] * hosts


@pytest.mark.parametrize("hosts", SIZES)
def test_together_all_fail_or_none(hosts):
    def program(host):
        with together(host):
            pass
        try:
            with together(host):
                if host.rank >= hosts // 2:
                    raise Any2VecError(f"host {host.rank}: \udcff")
        except SharedError as error:
            return str(error), isinstance(error.__cause__, Any2VecError)

    told = [(rf"host {hosts // 2}: \udcff", h >= hosts // 2) for h in range(hosts)]
    assert simulate(hosts, 2, program) == told


class FiveMembers:
    """What an engine has to have, and nothing else."""

    def __init__(self, inner):
        self.rank, self.size = inner.rank, inner.size
        self.barrier, self.allgather, self.ialltoallv = inner.barrier, inner.allgather, inner.ialltoallv


@pytest.mark.parametrize("hosts", [1, 3])
def test_a_class_with_these_five_members_can_train(tmp_path, hosts):
    rng = np.random.default_rng(0)
    path = tmp_path / "text"
    path.write_text("\n".join(" ".join(f"w{i}" for i in rng.integers(0, 20, 8)) for _ in range(300)))

    def fit(host):
        model = Word2Vec(dim=16, window=3, negative=3, min_count=1, epochs=1, threads=1, cache=None)
        return model.fit(path, communicator=host).vectors_.matrix.tobytes()

    assert simulate(hosts, 2, lambda host: fit(FiveMembers(host))) == simulate(hosts, 2, fit)


def test_engines_by_name(monkeypatch):
    aborted = []
    toy = FiveMembers(alone())
    monkeypatch.setitem(ENGINES, "toy", Engine(lambda: True, lambda: toy, lambda: aborted.append(True)))
    monkeypatch.setitem(ENGINES, "mpi", Engine(lambda: False, alone, lambda: None))
    assert connect() is connect("toy") is toy
    assert connect("mpi").size == 1
    cluster.abort()
    assert aborted == [True]
    with pytest.raises(Any2VecError, match="engine 'spark' is unknown; known are gloo, slurm, mpi, toy"):
        connect("spark")


def test_without_a_launcher_there_is_one_host(monkeypatch):
    monkeypatch.setattr(cluster, "ENGINES", {"mpi": Engine(lambda: False, alone, lambda: None)})
    assert cluster.detected() is None
    assert connect().size == 1
    cluster.abort()


def test_the_command_line_trains_on_a_detected_engine(tmp_path, monkeypatch):
    connected = []
    toy = Engine(lambda: True, lambda: connected.append(alone()) or connected[-1], lambda: None)
    monkeypatch.setitem(ENGINES, "mpi", toy)
    (tmp_path / "text").write_text("a b c a b c\n" * 50)
    command = ["words", str(tmp_path / "text"), "-o", str(tmp_path / "v.txt"), "--dim", "16", "--window", "3"]
    result = CliRunner().invoke(app, [*command, "--negative", "3", "--epochs", "1", "--sample", "0", "--no-cache"])
    assert result.exit_code == 0, result.output
    assert len(connected) == 1


def test_mpi_is_there_after_importing_the_package_but_mpi4py_is_not_imported():
    script = "import sys, any2vec; assert callable(any2vec.cluster.mpi.world); assert 'mpi4py' not in sys.modules"
    subprocess.run([sys.executable, "-c", script], check=True)


def unlike(name, usual):
    """Another value of an option; none has to be right, as options are compared first."""
    if name in ("callbacks", "cache"):
        return [print] if name == "callbacks" else None
    if isinstance(usual, bool):
        return not usual
    return usual + 1 if isinstance(usual, int | float) else "another"


@pytest.mark.parametrize("kind", [Word2Vec, Doc2Vec, Node2Vec])
def test_all_options_that_hosts_must_share_are_compared_before_a_call_depends_on_one(kind):
    of_a_host = {"threads", "verbose", "log", "on_round"}
    for declared in fields(kind):
        if declared.name in of_a_host:
            continue
        other = {declared.name: unlike(declared.name, getattr(kind(), declared.name))}

        def host(communicator, other=other):
            model = kind(**(other if communicator.rank else {}))
            model.fit([["a", "b"]], communicator=communicator)

        name = "checks after each epoch" if declared.name == "callbacks" else declared.name
        with pytest.raises(Any2VecError, match=f"given different options: `{name}` is .* on host 0, .* on host 1$"):
            simulate(2, 2, host)


def test_options_of_reading_a_graph_are_compared():
    def host(communicator):
        Node2Vec().read("g.edges", communicator, **({"delimiter": ","} if communicator.rank else {}))

    with pytest.raises(Any2VecError, match="`delimiter` is None on host 0, ',' on host 1"):
        simulate(2, 2, host)
