"""Where compiled kernels are kept if neither the package's folder nor the user's is writable."""

import os
import sys
from pathlib import Path

__all__ = ["ensure_numba_cache"]


def ensure_numba_cache() -> None:
    """Point Numba at a cache in the temporary folder if it has no other: without one, our import would fail.

    Numba itself is not imported here, as it is slow.
    """
    if os.environ.get("NUMBA_CACHE_DIR") or _writable(Path(__file__).parent) or _writable(Path.home()):
        return
    import getpass
    import tempfile

    try:
        user = getpass.getuser()
    except (KeyError, OSError):
        user = str(os.getuid())
    folder = Path(tempfile.gettempdir()) / f"any2vec-{user}"
    folder.mkdir(mode=0o700, exist_ok=True)
    os.environ["NUMBA_CACHE_DIR"] = str(folder)
    if "numba" in sys.modules:
        sys.modules["numba"].config.CACHE_DIR = str(folder)


def _writable(folder: Path) -> bool:
    return os.access(folder, os.W_OK)
