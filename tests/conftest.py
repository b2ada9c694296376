"""What all tests share: caches of their own, so that none writes in the user's."""

import getpass
import hashlib
import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("any2vec", deadline=None)  # the first example waits for a compiler
settings.load_profile("any2vec")

SOURCE = Path(__file__).parent.parent / "src" / "any2vec"


def kernel_sources():
    """Hash the modules that hold compiled code: Numba's cache does not see edits of what a kernel imports."""
    found = hashlib.sha256()
    for path in sorted(SOURCE.rglob("*.py")):
        text = path.read_bytes()
        if b"numba" in text or b"llvmlite" in text:
            found.update(text)
    return found.hexdigest()[:12]


def pytest_configure():
    base = os.environ.get("NUMBA_CACHE_DIR") or Path(tempfile.gettempdir()) / f"any2vec-tests-{getpass.getuser()}"
    os.environ["NUMBA_CACHE_DIR"] = str(Path(base) / kernel_sources())


@pytest.fixture(autouse=True, scope="session")
def _corpus_cache(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ANY2VEC_CACHE", str(tmp_path_factory.mktemp("corpora")))
        yield
