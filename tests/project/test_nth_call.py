"""What any2vec writes withstands each failing call: here some of them (`benchmarks/nth_call.py` tries all)."""

import errno
import mmap
import os
import resource
import sys
import zlib
from functools import partial
from shutil import rmtree

import numpy as np
import pytest
from fault_operations import BY_C, ENDINGS, GROUPS, vectors
from faults import Bench
from marks import slow, slow_but

from any2vec import Any2VecError, Word2Vec
from any2vec.corpus.corpus import map_file
from any2vec.io import memory
from any2vec.vectors.export import TARGETS

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="what is open is listed in /proc")

SOME = 1  # faults of an operation


def some(faults, name):
    """Choose a few, other ones for each operation."""
    return sorted(faults, key=lambda fault: zlib.crc32(f"{name} {fault}".encode()))[:SOME]


@pytest.mark.parametrize("group", slow_but(["commands"], GROUPS))
def test_some_calls_fail(tmp_path, group):
    for number, operation in enumerate(GROUPS[group]()):
        folder = tmp_path / str(number)
        folder.mkdir()
        with Bench(operation, folder) as bench:
            assert bench.calls
            problems = [bench.check(*fault) for fault in some(bench.faults(), operation.name)]
        assert not any(problems), problems


@pytest.mark.parametrize("name", ["run of a file", slow("phrases, twice"), slow("run of walks")])
def test_no_page_is_given(tmp_path, name):
    """Each map of a run fails, of memory and of a file."""
    operation = next(one for one in GROUPS["runs"]() if one.name == name)
    with Bench(operation, tmp_path) as bench:
        maps = [(number, how) for number, how in bench.faults() if bench.calls[number - 1] == "mmap"]
        assert len(maps) > 20
        problems = [bench.check(*fault) for fault in maps[:: 1 + len(maps) // 8]]
    assert not any(problems), problems
    assert all("memory" in message for message in bench.messages)


def refuse(*_, number=errno.ENOMEM, **__):
    raise OSError(number, os.strerror(number))


def test_pages_that_the_system_refuses(tmp_path, monkeypatch):
    """They are missing memory, as NumPy says it, wherever they were asked for."""
    path = tmp_path / "ids"
    np.arange(5, dtype=np.int32).tofile(path)
    monkeypatch.setattr(mmap, "mmap", refuse)
    with pytest.raises(MemoryError, match="Unable to allocate 8,000 bytes"):
        memory.zeros(1000, np.int64)
    with pytest.raises(Any2VecError, match=r"ids: not enough memory to read it"):
        map_file(path, np.int32, [])
    monkeypatch.setattr(mmap, "mmap", partial(refuse, number=errno.ENOSPC))
    with pytest.raises(Any2VecError, match=r"ids: cannot be read: No space left on device"):
        map_file(path, np.int32, [])


@pytest.fixture
def no_larger():
    """Limit the size of files, which C's writes notice, too."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    yield lambda size: resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


def to_parquet(name, folder, seed=1):
    pytest.importorskip("pyarrow")
    TARGETS[name](vectors(seed), folder / f"v{ENDINGS[name]}")


def cached(folder):
    how = {"dim": 16, "window": 3, "negative": 3, "min_count": 1, "sample": 0, "epochs": 1, "threads": 1}
    return Word2Vec(**how, cache=str(folder / "cache")).fit(str(folder / "text"))


@pytest.mark.parametrize("name", sorted(BY_C & ENDINGS.keys()))
def test_what_c_writes(tmp_path, name, no_larger):
    """Parquet: a full disk is one error, and the file from before stays."""
    to_parquet(name, tmp_path)
    path = tmp_path / f"v{ENDINGS[name]}"
    before = path.read_bytes()
    for most in (1, 4, 500):
        no_larger(most)
        with pytest.raises(Any2VecError, match=r"v\.parquet: cannot be written: ") as raised:
            to_parquet(name, tmp_path, 2)
        no_larger(resource.RLIM_INFINITY)
        assert "\n" not in str(raised.value)
        assert [(one.name, one.read_bytes()) for one in tmp_path.iterdir()] == [(path.name, before)]
    to_parquet(name, tmp_path, 2)
    assert path.read_bytes() != before


def test_a_cache_that_c_writes(tmp_path, no_larger):
    """NumPy's `tofile` of counts is cut short, as is what Python writes."""
    (tmp_path / "text").write_text("a b c\nb c d\n" * 50)
    cached(tmp_path)  # kernels are compiled
    rmtree(tmp_path / "cache")
    for most in (0, 8, 31, 200, 900):
        (tmp_path / "cache").mkdir(exist_ok=True)
        no_larger(most)
        with pytest.raises(Any2VecError, match=r"cache: cannot be written: "):
            cached(tmp_path)
        no_larger(resource.RLIM_INFINITY)
        assert not list((tmp_path / "cache").iterdir())
    assert not cached(tmp_path).report_.cached
    assert cached(tmp_path).report_.cached
