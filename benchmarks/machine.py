"""The machine that the benchmarks run on."""

import os
import platform
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

import any2vec

__all__ = ["cores", "description"]


def cores() -> list[int]:
    """List the cores this process may run on; empty where the system does not support choosing."""
    return sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_setaffinity") else []


def description() -> dict[str, Any]:
    """Return date, machine, processor, cores and versions, to write beside figures."""
    cpuinfo = Path("/proc/cpuinfo")
    model = [line for line in cpuinfo.read_text().splitlines() if "model name" in line] if cpuinfo.exists() else []
    known = {"python": platform.python_version(), "any2vec": any2vec.__version__}
    return {
        "date": time.strftime("%Y-%m-%d %H:%M:%S"),
        "machine": platform.platform(),
        "processor": model[0].partition(":")[2].strip() if model else platform.processor(),
        "cores": len(cores()) or os.cpu_count(),
        "versions": known | {name: version(name) for name in ("gensim", "numpy", "numba", "llvmlite")},
    }
