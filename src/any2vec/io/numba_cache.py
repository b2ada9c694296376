"""A folder for compiled kernels where neither the package's nor the user's can be written."""

import getpass
import os
import tempfile
from pathlib import Path

import numba

__all__ = ["ensure_numba_cache"]


def ensure_numba_cache() -> None:
    """Point Numba's cache at the temporary folder if it has no other: without one it refuses to define kernels."""
    if os.environ.get("NUMBA_CACHE_DIR") or _writable(Path(__file__).parent) or _writable(Path.home()):
        return
    try:
        user = getpass.getuser()
    except (KeyError, OSError):
        user = str(os.getuid())
    folder = Path(tempfile.gettempdir()) / f"any2vec-{user}"
    folder.mkdir(mode=0o700, exist_ok=True)
    numba.config.CACHE_DIR = str(folder)


def _writable(folder: Path) -> bool:
    return os.access(folder, os.W_OK)
