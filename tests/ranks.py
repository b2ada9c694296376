"""Ranks of MPI, for tests."""

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from any2vec.cluster import machine, mpi

MPIEXEC = shutil.which("mpiexec", path=str(Path(sys.executable).parent)) or shutil.which("mpiexec")
VARIABLES = [  # of launchers
    *mpi._SIZES,
    *mpi._RANKS,
    *machine.MEET,
    *machine._UNMET,
    *(name for name in os.environ if name.startswith("SLURM_")),
]
OPEN_MPI = {  # its launcher asks for these where mpich's does not mind
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
}

needs_mpi = pytest.mark.skipif(
    MPIEXEC is None or importlib.util.find_spec("mpi4py") is None,
    reason="no MPI: pip install '.[mpi]'",
)

needs_torch = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="no torch: pip install torch")


def inherited():
    """Return the environment as it is where no launcher started this process."""
    return {name: value for name, value in os.environ.items() if name not in VARIABLES}


LISTENING = """
def listening():
    \"\"\"Return where this process listens, as hexadecimal addresses.\"\"\"
    names = [f"/proc/self/fd/{fd}" for fd in os.listdir("/proc/self/fd")]
    own = {os.readlink(name) for name in names if os.path.islink(name)}
    lines = [line.split() for name in ("tcp", "tcp6") for line in open(f"/proc/self/net/{name}").readlines()[1:]]
    return {fields[1].partition(":")[0] for fields in lines if fields[3] == "0A" and f"socket:[{fields[9]}]" in own}
"""


def run_python(*arguments, ranks=None, cwd=None, timeout=60, environment=()):
    """Run Python on ranks, or, without `ranks`, in a process that no launcher started; warnings are errors."""
    launcher = [MPIEXEC, "-n", str(ranks)] if ranks else []
    return subprocess.run(
        [*launcher, sys.executable, "-W", "error", *map(str, arguments)],
        cwd=cwd,
        env=inherited() | (OPEN_MPI if ranks else {}) | dict(environment),
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )


def results(folder, program, ranks):
    """Run a test module's function of the communicator on ranks; return what each returns, by JSON."""
    script = folder / "script.py"
    script.write_text(
        f"import json, sys; sys.path = {sys.path!r}\n"
        "import any2vec\n"
        f"from {program.__module__} import {program.__name__}\n"
        "world = any2vec.cluster.connect()\n"
        f"with open({str(folder)!r} + f'/{{world.rank}}.json', 'w') as file:\n"
        f"    json.dump({program.__name__}(world), file)\n",
        "utf-8",
    )
    ran = run_python(script, ranks=ranks)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return [json.loads((folder / f"{rank}.json").read_text()) for rank in range(ranks)]
