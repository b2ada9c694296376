"""A cache and temporary folders of a test's own: `pytestmark = pytest.mark.usefixtures("cache")`."""

import errno
import tempfile

import pytest


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("ANY2VEC_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("ANY2VEC_CACHE_LIMIT", raising=False)
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    return tmp_path / "cache"


@pytest.fixture
def clean_cache(cache):
    """Check after a test that nothing half-written is left."""
    yield cache
    assert not cache.is_dir() or not [path for path in cache.iterdir() if path.name.startswith(".")]


@pytest.fixture
def full():
    """A function that finds the disk full."""

    def write(*_arguments):
        raise OSError(errno.ENOSPC, "No space left on device")

    return write
