"""What launchers say in the environment: numbers of hosts, and whether this process is one of several."""

import os

from any2vec.errors import Any2VecError, shown

__all__ = ["MEET", "check_launcher", "told", "told_number", "told_size"]

MEET = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
_UNMET = ("HOROVOD_SIZE", "MPIRUN_NPROCS", "LOCAL_WORLD_SIZE")
"""Where launchers store a number of processes that say no more: horovodrun, MVAPICH 1, torchrun."""


def told(name: str) -> str:
    """Return what a variable says; nothing if it is not set."""
    return os.environ.get(name, "").strip()


def told_size(name: str) -> int | None:
    """Return the number that a variable holds; None if it holds none."""
    text = told(name)
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else None


def told_number(name: str, low: int, high: int | None = None, why: str = "") -> int:
    """Return a variable that must be a whole number from `low` to `high`; `why` says where the range comes from."""
    found = told_size(name)
    if found is None or found < low or (high is not None and found > high):
        value = f"{shown(told(name))}" if name in os.environ else "not set"
        wanted = f"{low} or more" if high is None else f"from {low} to {high:,}" if low < high else str(low)
        raise Any2VecError(f"{name} is {value} in the environment; it must be a number, {wanted}{why}")
    return found


def check_launcher() -> None:
    """Raise an Any2VecError if the environment says that this process is one of several, but not how they meet.

    Each would train by itself, and write the same file.
    """
    size = told_size("WORLD_SIZE")
    if size == 1:
        return
    given, lacking = ([name for name in MEET if bool(told(name)) is there] for there in (True, False))
    ranked = told_size("RANK") is not None or {"RANK", "WORLD_SIZE"} <= {*given}
    counted = (size or 0) > 1 and not told("SLURM_JOB_ID")  # scripts of Slurm set it for the steps that follow
    if lacking and (ranked or counted):
        named = [name for name in given if name in ("RANK", "WORLD_SIZE")]
        raise Any2VecError(
            f"{' and '.join(named)} {'is' if len(named) == 1 else 'are'} set in the environment, but not "
            f"{' and '.join(lacking)}: set all four of {', '.join(MEET)}, or WORLD_SIZE=1 to train alone"
        )
    for name in _UNMET:
        if (told_size(name) or 0) > 1:
            raise Any2VecError(
                f"{name} is {told(name)} in the environment: several processes were started, but nothing says where "
                "they meet; start them with torchrun, mpiexec or srun, or set WORLD_SIZE=1 to train alone"
            )
