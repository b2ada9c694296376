"""Hosts that srun starts: processes with the variables that Slurm sets."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from ranks import VARIABLES, inherited, needs_torch, run_python
from typer.testing import CliRunner

from any2vec import cluster
from any2vec.cli import app
from any2vec.cluster import connect, slurm
from any2vec.errors import Any2VecError

TRAIN = ["words", "text.txt", "--dim", "8", "--window", "3", "--negative", "3", "--min-count", "1", "--threads", "1"]
TRAIN += ["--epochs", "1", "--no-cache"]


def job(tasks=4, nodes="node[001-004]", number=4711):
    """Variables of a batch script, which srun's steps inherit."""
    return {
        "SLURM_JOB_ID": str(number),
        "SLURM_JOBID": str(number),
        "SLURM_JOB_NODELIST": nodes,
        "SLURM_NODELIST": nodes,
        "SLURM_NTASKS": str(tasks),
        "SLURM_NPROCS": str(tasks),
        "SLURM_NNODES": "4",
        "SLURM_PROCID": "0",
        "SLURM_LOCALID": "0",
        "SLURM_NODEID": "0",
        "SLURM_GTIDS": "0",
        "ENVIRONMENT": "BATCH",
    }


def step(rank=0, tasks=4, number=0, nodes="node001", **more):
    """Variables of a task of a step."""
    own = {
        "SLURM_STEP_ID": str(number),
        "SLURM_STEPID": str(number),
        "SLURM_STEP_NUM_TASKS": str(tasks),
        "SLURM_STEP_NUM_NODES": str(nodes.count(",") + 1),
        "SLURM_STEP_NODELIST": nodes,
        "SLURM_STEP_TASKS_PER_NODE": str(tasks),
        "SLURM_LAUNCH_NODE_IPADDR": "10.0.0.9",
        "SLURM_PROCID": str(rank),
        "SLURM_LOCALID": str(rank),
        "SLURM_GTIDS": ",".join(map(str, range(tasks))),
    }
    return job(tasks) | own | more


@pytest.fixture
def environment(monkeypatch):
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)

    def put(given):
        for name, value in given.items():
            monkeypatch.setenv(name, value)

    return put


@pytest.mark.parametrize(
    ("given", "engine"),
    [
        (step(), "slurm"),
        (step(3), "slurm"),
        (step(PMIX_RANK="0", PMIX_NAMESPACE="slurm.pmix.1.0"), "slurm"),  # srun --mpi=pmix
        (step(2, PMI_RANK="2", PMI_SIZE="4", PMI_FD="7"), "slurm"),  # srun --mpi=pmi2
        (step(tasks=1), None),
        (step(tasks=1, PMIX_RANK="0"), None),
        (job(), None),  # the script of sbatch: one process
        ({name: value for name, value in job().items() if name != "SLURM_PROCID"}, None),  # a shell of salloc
        (step(tasks=1, number=2**32 - 6) | {"SLURM_NTASKS": "4"}, None),  # a shell that salloc starts as a step
        (step(number=2**32 - 6), None),  # one that inherited the number of tasks
        (step(WORLD_SIZE="1"), None),
        (step(WORLD_SIZE="1", PMIX_RANK="0"), None),
        (step(WORLD_SIZE="1", PMI_RANK="0", PMI_SIZE="4"), None),
        (step(RANK="0", WORLD_SIZE="1", MASTER_ADDR="a", MASTER_PORT="1"), None),  # torchrun of one in each
        (step(RANK="5", WORLD_SIZE="8", MASTER_ADDR="a", MASTER_PORT="1"), "gloo"),  # torchrun of two in each
        (step(WORLD_SIZE="4", MASTER_ADDR="a", MASTER_PORT="1"), "slurm"),
        (step(tasks=1, PMI_RANK="3", PMI_SIZE="4"), "mpi"),  # mpiexec in a job, by a step of its own
        (step(tasks=2, PMI_RANK="3", PMI_SIZE="4"), "mpi"),
        (step(tasks=2, OMPI_COMM_WORLD_SIZE="8", OMPI_COMM_WORLD_RANK="3"), "mpi"),
        (step(tasks=8, OMPI_COMM_WORLD_SIZE="1", OMPI_COMM_WORLD_RANK="0"), None),
        (job() | {"PMI_RANK": "3", "PMI_SIZE": "4"}, "mpi"),
        (step(tasks=2, FLUX_JOB_SIZE="4", FLUX_TASK_RANK="1"), "mpi"),
    ],
)
def test_who_started_this_process(environment, given, engine):
    environment(given)
    found = cluster.detected()
    assert found is (engine and cluster.ENGINES[engine])
    if not engine:
        assert connect().size == 1


@pytest.mark.parametrize(
    ("nodes", "first"),
    [
        ("node001", "node001"),
        ("node[001-003,7],login1", "node001"),
        ("login1,node[001-003]", "login1"),
        ("node[7,001-003]", "node7"),
        ("rack[2-3]n[08-10].example.org,rack9n1", "rack2n08.example.org"),
        ("n[5]", "n5"),
        ("", ""),
    ],
)
def test_first_of_a_list_of_nodes(nodes, first):
    assert slurm.first_node(nodes) == first


def test_where_tasks_meet(environment):
    environment(step(nodes="node[3-4],x"))
    assert slurm._address() == "node3"
    environment({"SLURM_STEP_NODELIST": "node3", "SLURM_STEP_NUM_NODES": "1"})
    assert slurm._address() == "127.0.0.1"
    environment({"MASTER_ADDR": "10.1.2.3"})
    assert slurm._address() == "10.1.2.3"
    ports = [slurm.port_of(job, step) for job in range(4_294_000_000, 4_294_000_100) for step in range(100)]
    assert len({*ports}) == len(ports)
    assert 1024 < min(ports) < max(ports) < 32768
    environment({"SLURM_JOB_ID": "12", "SLURM_STEP_ID": "3"})
    assert slurm._port() == slurm.port_of(12, 3)
    environment({"MASTER_PORT": "99"})
    assert slurm._port() == 99


def srun(*arguments, tasks=4, **more):
    """Start four processes as ``srun python ...`` does; return what they say, if they end well."""
    number = os.getpid() % 1000
    hosts = [
        subprocess.Popen(
            [sys.executable, "-W", "error", *arguments],
            env=inherited() | step(rank, tasks, number) | {k: v.format(rank=rank) for k, v in more.items()},
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(tasks)
    ]
    said = [host.communicate(timeout=120)[1] for host in hosts]
    assert [host.returncode for host in hosts] == [0] * tasks, said
    return "".join(said)


@needs_torch
@pytest.mark.parametrize("more", [{}, {"PMIX_RANK": "{rank}"}])
def test_srun_writes_what_simulated_hosts_write(corpus, more):
    """Also where srun has prepared for MPI, but for another one than mpi4py's."""
    assert srun("-m", "any2vec", *TRAIN, "-o", "run.bin", **more).count("the vectors of 30 words are in run.bin") == 1
    same = CliRunner().invoke(app, [*TRAIN, "--hosts", "4", "-o", "simulated.bin"])
    assert same.exit_code == 0, same.output
    assert (corpus / "run.bin").read_bytes() == (corpus / "simulated.bin").read_bytes()


@needs_torch
def test_tasks_may_train_alone(corpus):
    script = (
        "import os, sys; sys.argv.append(os.environ['SLURM_PROCID'] + '.bin'); from any2vec.cli import main; main()"
    )
    assert srun("-c", script, *TRAIN, "-q", "-o", tasks=2, WORLD_SIZE="1") == ""
    assert (corpus / "0.bin").read_bytes() == (corpus / "1.bin").read_bytes()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"SLURM_NTASKS": "4", "SLURM_PROCID": "1"}, "SLURM_PROCID is 1 and SLURM_NTASKS is 4 .* WORLD_SIZE=1"),
        (step(4), r"SLURM_PROCID is '4' in the environment; it must be a number, from 0 to 3: the step has 4 tasks"),
        (step() | {"SLURM_PROCID": ""}, "SLURM_PROCID is '' in the environment"),
        (step(MASTER_PORT="99999999"), "MASTER_PORT is '99999999' in the environment; it must be a number, from 1 to"),
    ],
)
def test_what_srun_cannot_mean(environment, monkeypatch, given, message):
    monkeypatch.setattr(slurm, "is_installed", lambda module: module == "torch")
    slurm.world.cache_clear()
    environment(given)
    with pytest.raises(Any2VecError, match=message):
        connect()


def test_nothing_to_meet_through(environment, monkeypatch):
    monkeypatch.setattr(slurm, "is_installed", lambda module: False)
    slurm.world.cache_clear()
    environment(step())
    with pytest.raises(Any2VecError, match=r"4 tasks, which meet through torch or mpi4py.*pip install 'torch>=2.4'"):
        connect()
    environment(
        {"SLURM_STEP_NODELIST": "", "SLURM_STEP_NUM_NODES": "2", "SLURM_JOB_NODELIST": "", "SLURM_NODELIST": ""}
    )
    with pytest.raises(Any2VecError, match="SLURM_STEP_NODELIST is not set in the environment: set MASTER_ADDR"):
        slurm._address()


@pytest.mark.parametrize(
    "given",
    [
        {"RANK": "1"},
        {"RANK": "1", "WORLD_SIZE": "2"},
        {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29500"},
        {"HOROVOD_SIZE": "2", "HOROVOD_RANK": "1"},
        {"LOCAL_WORLD_SIZE": "2", "LOCAL_RANK": "1"},
        {"OMPI_COMM_WORLD_SIZE": "2", "OMPI_COMM_WORLD_RANK": "0"},
        {"PMI_SIZE": "2", "PMI_RANK": "0"},
        {"PMIX_RANK": "0"},
        {"PMIX_RANK": "1"},
        {"MPI_LOCALNRANKS": "2", "MPI_LOCALRANKID": "0"},
        {"PALS_RANKID": "1"},
        {"ALPS_APP_PE": "1"},
        {"JSM_NAMESPACE_SIZE": "2", "JSM_NAMESPACE_RANK": "0"},
        {"FLUX_JOB_SIZE": "2", "FLUX_TASK_RANK": "0"},
        step(3, MPI4PY_LIBMPI="/nowhere", PMIX_RANK="3"),
    ],
)
def test_no_launcher_starts_hosts_that_do_not_know_of_each_other(corpus, given):
    """With another MPI than the launcher's, or without mpi4py: one line, and no file."""
    ran = run_python("-m", "any2vec", *TRAIN, "-o", "v.bin", environment=given)
    assert ran.returncode == 1
    assert re.search("set all four|each is alone|where they meet|finds no MPI library", ran.stderr)
    assert ran.stderr.count("\n") == 1
    assert not Path("v.bin").exists()
    if not {"MPI4PY_LIBMPI", "RANK", "WORLD_SIZE"} & {*given} and "where they meet" not in ran.stderr:
        hidden = "import sys; sys.modules['mpi4py'] = None; from any2vec.cli import main; main()"
        ran = run_python("-c", hidden, *TRAIN, "-o", "v.bin", environment=given)
        assert ran.returncode == 1
        assert "a launcher of MPI started this process: this needs mpi4py" in ran.stderr
        assert ran.stderr.count("\n") == 1
