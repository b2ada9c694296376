"""Hosts that are ranks of MPI: scripts that run under mpiexec."""

import re
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest
from marks import slow
from ranks import LISTENING, MPIEXEC, VARIABLES, inherited, needs_mpi, run_python

from any2vec.cluster import mpi
from any2vec.cluster.communicator import time_limit
from any2vec.errors import Any2VecError

START = f"""
import os, sys, time
sys.path = {sys.path!r}
import numpy as np
from any2vec.cluster import mpi
from any2vec.cluster.communicator import time_limit
from any2vec.cluster.communicator import *
from any2vec.cluster.local import computing, is_simulated, simulate, waiting
world = mpi.world()
def say(text):
    os.write(1, f"{{text}}\\n".encode())  # at once, or it gets mixed with what others say
"""


def start(folder, script, ranks=4, header=START, **environment):
    """Run a script on ranks that have little to say; mpiexec ends them all if it must."""
    path = folder / "script.py"
    path.write_text(header + textwrap.dedent(script), "utf-8")
    return run_python(path, ranks=ranks, environment=environment)


def lines(ran):
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert not ran.stderr
    return sorted(ran.stdout.splitlines())


@needs_mpi
def test_every_call_gives_what_the_local_engine_gives(tmp_path):
    ran = start(
        tmp_path,
        """
        from mpi4py import MPI
        from engine_calls import program

        assert world.size == 4 and not is_simulated(world) and mpi.launched() and mpi.world() is world
        assert MPI.Query_thread() == MPI.THREAD_FUNNELED
        assert simulate(4, 2, program)[world.rank] == program(world)
        say(f"{world.rank} same")
        """,
    )
    assert lines(ran) == [f"{rank} same" for rank in range(4)]


@pytest.mark.slow
@needs_mpi
def test_large_messages_and_late_ranks(tmp_path):
    ran = start(
        tmp_path,
        """
        def program(host):
            ones = np.full(host.size, 5000, np.int64)
            send = np.repeat(np.arange(host.size) + 10 * host.rank, 5000)[:, None] * np.ones(200, np.float32)
            receive = np.empty_like(send)
            sums = []
            for step in range(6):
                if host.rank == step % host.size:
                    time.sleep(0.03)
                if step % 2:
                    host.ialltoallv(send, ones, receive, ones).wait()
                else:
                    request = host.ialltoallv(send, ones, receive, ones)
                    while not request.test():
                        time.sleep(0.002)
                sums.append(receive[::5000, 199].tolist())
                receive[:] = 0
            assert sums == [[10 * h + host.rank for h in range(host.size)]] * 6

        program(world)
        say("done")
        """,
    )
    assert lines(ran) == ["done"] * 4


@pytest.mark.slow
@needs_mpi
def test_counts_over_two_to_the_31(tmp_path):
    ran = start(
        tmp_path,
        """
        from mpi4py import MPI
        from any2vec.errors import Any2VecError

        def program(host, many):
            rows = np.zeros((many, 0), np.float32)  # so many, but no bytes
            counts = np.zeros(host.size, np.int64)
            counts[:] = [many - 5, 5]
            send = counts if host.rank == 0 else counts[::-1] * 0
            came = np.array([counts[host.rank], 0])
            host.ialltoallv(rows, send, rows.copy(), came).wait()

        if MPI.Get_version() >= (4, 0):
            program(world, 2**31 + 7)
        mpi._MOST = 100
        old = {"Get_version": lambda: (3, 1), "get_vendor": lambda: ("Old MPI", ()), "BYTE": MPI.BYTE}
        world._library = type("Old", (), old)
        program(world, 100)
        world.allgather(np.zeros(50))
        for call in (lambda: program(world, 107), lambda: world.allgather(np.zeros(51))):
            try:
                call()
            except Any2VecError as error:
                assert "Old MPI cannot move 10" in str(error), error
            else:
                assert world.rank, "no error"
        """,
        2,
    )
    assert lines(ran) == []


@pytest.mark.slow
@needs_mpi
def test_waiting_burns_no_core(tmp_path):
    ran = start(
        tmp_path,
        """
        ones = np.ones(4, np.int64)
        calls = [
            world.barrier,
            lambda: world.ialltoallv(np.zeros(4), ones, np.zeros(4), ones).wait(),
        ]
        for _ in range(100):
            world.barrier()
        for call in calls:
            start = os.times()
            if world.rank == 0:
                time.sleep(1 if call == world.barrier else 0.6)
            call()
            end = os.times()
            say("quiet" if end.user + end.system - start.user - start.system < 0.5 else "busy")
        """,
    )
    assert lines(ran) == ["quiet"] * 8


@needs_mpi
@pytest.mark.parametrize("how", ["os.kill(os.getpid(), 9)", slow("raise KeyError('odd')"), slow("mpi.end_all()")])
def test_a_rank_that_dies_ends_all(tmp_path, how):
    ran = start(
        tmp_path,
        f"""
        world.barrier()
        if world.rank == 1:
            {how}
        world.barrier()
        world.barrier()
        time.sleep(50)
        """,
    )
    assert ran.returncode
    assert ("KeyError: 'odd'" in ran.stderr) == ("odd" in how)


@pytest.mark.slow
@needs_mpi
def test_a_healthy_end_with_a_status(tmp_path):
    ran = start(tmp_path, "world.barrier()\nsys.exit(2)", 2)
    assert ran.returncode
    assert "Traceback" not in ran.stderr


@pytest.mark.slow
@needs_mpi
def test_a_launcher_of_another_make_is_named(tmp_path):
    script = """
        import sys
        from any2vec.cluster import mpi
        from any2vec.errors import Any2VecError
        mpi.end_all()  # nothing was begun
        try:
            mpi.world()
        except Any2VecError as error:
            print(error)
    """
    path = tmp_path / "script.py"
    path.write_text(textwrap.dedent(script), "utf-8")

    def told(**environment):
        ran = run_python(path, environment=environment)
        assert not ran.stderr
        return ran.stdout

    for name in ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"):
        text = told(**{name: "3"})
        assert text.startswith("3 ranks were launched, but each is alone: mpi4py uses another MPI (")
        assert text.count("\n") == 1
    assert told(SLURM_STEP_NUM_TASKS="1") == ""
    missing = str(tmp_path / "missing")
    text = told(MPI4PY_LIBMPI=missing)
    assert text.startswith(f"mpi4py finds no MPI library ({missing}: ")
    assert text.count("\n") == 1


def test_without_mpi4py(monkeypatch):
    monkeypatch.setitem(sys.modules, "mpi4py", None)
    with pytest.raises(Any2VecError, match=r"needs mpi4py.* pip install 'mpi4py>=4.0' 'mpich>=4.2'"):
        mpi.world()


@pytest.mark.parametrize(
    ("environment", "launched"),
    [
        ({}, False),
        ({"PMI_SIZE": "1", "PMI_RANK": "0"}, False),
        ({"PMI_SIZE": "4", "PMI_RANK": "0"}, True),
        ({"OMPI_COMM_WORLD_SIZE": "2", "PMIX_RANK": "0"}, True),
        ({"OMPI_COMM_WORLD_SIZE": "1", "PMIX_RANK": "0"}, False),
        ({"OMPI_COMM_WORLD_SIZE": "1", "SLURM_STEP_NUM_TASKS": "8"}, False),  # mpiexec in a step of srun
        ({"SLURM_STEP_NUM_TASKS": "8"}, False),  # `slurm` asks for MPI if it is there
        ({"SLURM_STEP_NUM_TASKS": "8", "PMIX_RANK": "3"}, False),
        ({"JSM_NAMESPACE_SIZE": "3", "JSM_NAMESPACE_RANK": "0"}, True),
        ({"PALS_RANKID": "0"}, True),
        ({"SLURM_NTASKS": "8", "SLURM_PROCID": "0"}, False),  # a batch script, not a rank
        ({"MV2_COMM_WORLD_SIZE": "3"}, True),
        ({"PMIX_RANK": "0"}, True),
        ({"PMI_SIZE": "many"}, False),
    ],
)
def test_launched_is_read_from_the_environment(monkeypatch, environment, launched):
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert mpi.launched() is launched


STALLING = """
from any2vec.cluster.communicator import together
from any2vec.errors import Any2VecError
try:
    with together(world), together(world):
        if world.rank == 1:
            {stall}
        world.barrier()
except Any2VecError as error:
    say(f"{{world.rank}}: {{error}}")
    mpi.end_all()
"""


@needs_mpi
@pytest.mark.parametrize("stall", [slow("time.sleep(50)"), "import signal; os.kill(os.getpid(), signal.SIGSTOP)"])
def test_a_stalled_rank_is_named_and_ends_all(tmp_path, stall):
    began = time.monotonic()
    ran = start(tmp_path, STALLING.format(stall=stall), ANY2VEC_TIMEOUT="2")
    assert ran.returncode != 0
    assert time.monotonic() - began < 30
    said = [line for line in ran.stdout.splitlines() if "joined" in line]
    assert len(said) == 1
    found = re.match(r"0: host 1 has not joined in for (\d+) seconds: stopped.*ANY2VEC_TIMEOUT", said[0])
    assert found
    assert int(found[1]) < 4  # one limit, not one more for each block


@pytest.mark.slow
@needs_mpi
def test_a_rank_that_stalls_in_the_middle_of_a_message_ends_all(tmp_path):
    script = """
    import signal
    from any2vec.cli.help import fail
    from any2vec.errors import Any2VecError
    counts = np.full(2, 10_000)
    send, receive = np.ones((20_000, 10_000), np.uint8), np.zeros((20_000, 10_000), np.uint8)
    request = world.ialltoallv(send, counts, receive, counts)
    if world.rank == 1:
        os.kill(os.getpid(), signal.SIGSTOP)
    try:
        request.wait()
    except Any2VecError as error:
        fail(error)
    """
    ran = start(tmp_path, script, 2, ANY2VEC_TIMEOUT="2")
    assert ran.returncode != 0
    assert re.search("^any2vec: host 0: host 1 has not joined in for [234] seconds: stopped, cut off", ran.stderr, re.M)
    assert "Traceback" not in ran.stderr


@pytest.mark.slow
@needs_mpi
def test_ranks_that_wait_are_not_named(tmp_path):
    """They wait for the stalled one in another call, for a shorter time."""
    script = """
    from any2vec.errors import Any2VecError
    counts = np.ones(4, np.int64)
    try:
        if world.rank in (1, 3):
            time.sleep(50)
        time.sleep(world.rank / 2)
        world.allgather(np.zeros(3))
    except Any2VecError as error:
        say(f"{world.rank}: {error}")
        mpi.end_all()
    """
    ran = start(tmp_path, script, ANY2VEC_TIMEOUT="2")
    assert "0: hosts 1, 3 have not joined in" in ran.stdout, ran.stderr


def test_time_limits(monkeypatch):
    monkeypatch.delenv("ANY2VEC_TIMEOUT", raising=False)
    assert time_limit() == 1800
    for bad in ("", "soon", "0", "-1", "nan", "inf"):
        monkeypatch.setenv("ANY2VEC_TIMEOUT", bad)
        with pytest.raises(Any2VecError, match=r"ANY2VEC_TIMEOUT is .* positive number of seconds"):
            time_limit()


@pytest.mark.slow
@needs_mpi
@pytest.mark.skipif(not Path(MPIEXEC or "").with_name("mpiexec.gforker").exists(), reason="no MPICH with gforker")
def test_ranks_that_open_no_port(tmp_path):
    """As SECURITY.md says."""
    script = (
        LISTENING
        + """
assert not listening()
assert world.allgather(np.array([world.rank])).tolist() == [[0], [1], [2]]
"""
    )
    path = tmp_path / "script.py"
    path.write_text(START + script, "utf-8")
    command = [Path(MPIEXEC).with_name("mpiexec.gforker"), "-n", "3", sys.executable, path]
    ran = subprocess.run(
        command, env=inherited() | {"UCX_TLS": "self,sm"}, capture_output=True, text=True, timeout=60, check=False
    )
    assert ran.returncode == 0, ran.stderr


LATE = """
import os, time
if os.environ.get("PMI_RANK", os.environ.get("OMPI_COMM_WORLD_RANK")) == "1":
    time.sleep(60)
from any2vec.cluster import mpi
print("waits", flush=True)
mpi.world()
"""


@pytest.mark.slow
@needs_mpi
def test_a_rank_that_never_comes_to_mpi(tmp_path):
    ran = start(tmp_path, "", ranks=3, header=LATE, ANY2VEC_TIMEOUT="1")
    assert ran.returncode
    assert ran.stderr.count("any2vec: a host has not joined in for 1 seconds: stopped, cut off, or very slow") == 1


@pytest.mark.slow
@needs_mpi
@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGINT])
def test_signals_end_a_rank_that_waits_for_mpi(tmp_path, sent):
    (tmp_path / "script.py").write_text(
        LATE.replace("mpi.world()", f"os.popen(f'sleep 1; kill -{int(sent)} {{os.getpid()}}'); mpi.world()"), "utf-8"
    )
    began = time.monotonic()
    assert run_python(tmp_path / "script.py", ranks=2).returncode
    assert time.monotonic() - began < 50  # of the 60 that the other rank sleeps
