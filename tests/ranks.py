"""Ranks of MPI, for tests."""

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

MPIEXEC = shutil.which("mpiexec", path=str(Path(sys.executable).parent)) or shutil.which("mpiexec")
VARIABLES = (  # of launchers
    "OMPI_COMM_WORLD_SIZE",
    "PMI_SIZE",
    "MV2_COMM_WORLD_SIZE",
    "SLURM_STEP_NUM_TASKS",
    "PMIX_RANK",
)
OPEN_MPI = {  # its launcher asks for these where mpich's does not mind
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
}

needs_mpi = pytest.mark.skipif(
    MPIEXEC is None or importlib.util.find_spec("mpi4py") is None,
    reason="no MPI: pip install 'any2vec[mpi]'",
)


def run_python(*arguments, ranks=None, cwd=None, timeout=60, environment=()):
    """Run Python on ranks, or, without `ranks`, in a process that no launcher started; warnings are errors."""
    inherited = {name: value for name, value in os.environ.items() if name not in VARIABLES}
    launcher = [MPIEXEC, "-n", str(ranks)] if ranks else []
    return subprocess.run(
        [*launcher, sys.executable, "-W", "error", *map(str, arguments)],
        cwd=cwd,
        env=inherited | (OPEN_MPI if ranks else {}) | dict(environment),
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
