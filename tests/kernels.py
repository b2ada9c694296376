"""Kernels that tests before have compiled."""

import os
import shutil
from pathlib import Path

from any2vec.private import make_private


def copy_kernels(to, without):
    """Copy what was compiled before, but for what is to be compiled again: files or folders that begin so."""
    compiled = Path(os.environ["NUMBA_CACHE_DIR"])
    for found in compiled.rglob("*.nb?"):
        inside = found.relative_to(compiled)
        if not any(part.startswith(without) for part in inside.parts):
            make_private((to / inside).parent)
            shutil.copyfile(found, to / inside)
