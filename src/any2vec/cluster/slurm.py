"""Hosts that are the tasks of a step of Slurm: ``srun any2vec words ...``.

If srun prepared MPI and mpi4py is there, they meet through MPI, else over gloo on the first node of the step. A batch
script, or a shell that salloc opened, is one process, whatever SLURM_NTASKS says: only srun sets the number of a step.
"""

import re
from functools import cache

from any2vec.cluster import gloo, mpi
from any2vec.cluster.communicator import Communicator
from any2vec.cluster.machine import told, told_number, told_size
from any2vec.errors import Any2VecError, installing, is_installed

_SPECIAL = 1 << 31  # from here on, numbers of "steps" that are batch scripts and interactive shells
_FIRST_PORT, _PORTS = 20_000, 12_000  # below those that Linux gives to connections
_LOOPBACK = "127.0.0.1"


def launched() -> bool:
    """Return whether srun started this process, as one of several tasks, and nothing else did since."""
    tasks = _tasks()
    if tasks < 2 or told("WORLD_SIZE") == "1":
        return False
    name, ranks = mpi.told_ranks()
    return name is None or (name == "PMI_SIZE" and ranks == tasks)  # srun --mpi=pmi2 sets it, too


def _tasks() -> int:
    """Return the number of tasks of the step; 1 outside of one."""
    step = next((number for name in ("SLURM_STEP_ID", "SLURM_STEPID") if (number := _number(name)) is not None), None)
    if step is not None and step >= _SPECIAL:
        return 1
    names = ("SLURM_STEP_NUM_TASKS",) if step is None else ("SLURM_STEP_NUM_TASKS", "SLURM_NTASKS", "SLURM_NPROCS")
    return next((size for name in names if (size := told_size(name)) is not None), 1)


def _number(name: str) -> int | None:
    text = told(name)
    return int(text) if text.isascii() and text.isdecimal() else None


def check_environment() -> None:
    """Raise an Any2VecError if this is a task of several, but what srun said of the step did not come through."""
    tasks, rank = told_size("SLURM_NTASKS") or 1, told_size("SLURM_PROCID") or 0
    if tasks > 1 and rank > 0 and not told("SLURM_STEP_NUM_TASKS") and told("WORLD_SIZE") != "1":
        raise Any2VecError(
            f"SLURM_PROCID is {rank} and SLURM_NTASKS is {tasks} in the environment, but SLURM_STEP_ID and "
            "SLURM_STEP_NUM_TASKS are not set: pass on all that srun sets, or set WORLD_SIZE=1 to train alone"
        )


@cache
def world() -> Communicator:
    """Return the communicator of all tasks of the step, the same one each time."""
    size = _tasks()
    rank = told_number("SLURM_PROCID", 0, size - 1, f": the step has {size:,} tasks")
    has_torch, has_mpi = is_installed("torch"), is_installed("mpi4py")
    if has_mpi and (mpi.told_rank() is not None or not has_torch):
        try:
            return mpi.world()
        except mpi.OtherMpiError as error:  # on all hosts
            if not has_torch:
                raise Any2VecError(
                    f"{error}, or let srun start hosts that need no MPI: {installing('torch', 'torch')}"
                ) from None
    if not has_torch:
        raise Any2VecError(
            f"srun started {size:,} tasks, which meet through torch or mpi4py, and neither is installed: "
            f"{installing('torch', 'torch')}; or set WORLD_SIZE=1, and each trains alone"
        )
    return gloo.world_of(rank, size, _address(), _port())


def _address() -> str:
    """Return where the first task listens."""
    if given := told("MASTER_ADDR"):
        return given
    nodes = next((told(f"SLURM_{of}NODELIST") for of in ("STEP_", "JOB_", "") if told(f"SLURM_{of}NODELIST")), "")
    first = first_node(nodes)
    if told("SLURM_STEP_NUM_NODES") == "1" or (first == nodes if nodes else told("SLURM_NNODES") == "1"):
        return _LOOPBACK
    if not first:
        raise Any2VecError(
            "SLURM_STEP_NODELIST is not set in the environment: set MASTER_ADDR, to the first node of the step"
        )
    return first


def first_node(nodes: str) -> str:
    """Return the first name of a list of nodes as Slurm writes it: node007 of ``node[007-009,12],login1``."""
    first = re.match(r"(?:[^,\[]|\[[^\]]*\])*", nodes)
    return re.sub(r"\[([^\],-]*)[^\]]*\]", r"\1", first[0] if first else "")


def _port() -> int:
    if told("MASTER_PORT"):
        return gloo.told_port()
    return port_of(_number("SLURM_JOB_ID") or 0, _number("SLURM_STEP_ID") or 0)


def port_of(job: int, step: int) -> int:
    """Return the port of a step, the same on all its hosts, and others for steps at the same time."""
    return _FIRST_PORT + (101 * job + step) % _PORTS
