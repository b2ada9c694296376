"""The papers' results, repeated: ``python -m experiments NAME``. Texts and tables are those of `benchmarks`."""

import sys
from pathlib import Path

__all__ = ["EXPERIMENTS"]

sys.path.insert(0, str(Path(__file__).parent.parent / "benchmarks"))

EXPERIMENTS = (
    "systems",
    "by-epoch",
    "orthogonality",
    "rounds",
    "schemes",
    "cluster",
    "glint",
    "tensorflow",
    "one-host",
    "graphs",
)
"""Names, in the order of `all`; each is a module with `measure`."""
