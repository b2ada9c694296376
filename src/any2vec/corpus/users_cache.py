"""The user's cache of corpora, where it can be used."""

import os
import warnings
from functools import cache
from pathlib import Path

import numpy as np

from any2vec.cluster.communicator import Communicator
from any2vec.corpus.cache import default_cache
from any2vec.errors import Any2VecWarning
from any2vec.private import make_private

__all__ = ["users_cache"]


def users_cache(communicator: Communicator) -> Path | None:
    """Return the default cache; None if the user chose no other and it cannot be written, here or on another host."""
    folder, why = _usable(os.environ.get("ANY2VEC_CACHE", ""))
    if why and communicator.rank == 0:
        warnings.warn(why, Any2VecWarning, stacklevel=2)
    return folder if communicator.allgather(np.array([folder is not None])).all() else None


@cache
def _usable(chosen: str) -> tuple[Path | None, str]:
    """Return the folder, or why there is none; one that the user chose is taken as it is: it has errors of its own."""
    try:
        folder = default_cache()
        if not chosen:
            make_private(folder)
            if not os.access(folder, os.W_OK | os.X_OK):
                raise PermissionError(None, "no permission to write")
    except (OSError, RuntimeError) as error:  # RuntimeError: there is no home
        why = error.strerror if isinstance(error, OSError) and error.strerror else error
        where = getattr(error, "filename", None) or "the user's cache folder"
        return None, f"corpora are not kept for the next run: {where}: {why}; set ANY2VEC_CACHE to another folder"
    return folder, ""
