"""Where compiled kernels are kept: nobody else may write there, and what is damaged is compiled again."""

import errno
import hashlib
import importlib
import importlib.util
import itertools
import math
import os
import pickle
import re
import shutil
import sys

import numpy as np
import pytest
from numba import config, njit
from other_user import ATTACKER, ROOT, VICTIM, needs_root, run_python

from any2vec.errors import Any2VecWarning
from any2vec.llvm import compiled
from any2vec.llvm.compiled import NOWHERE
from any2vec.private import distrust_way_to

posix = pytest.mark.skipif(os.name == "nt", reason="no owners and modes on Windows")

SOURCE = """
from any2vec.llvm.compiled import njit

@njit(cache=True)
def twice(x):
    return 2 * x
"""


CALLER = """
from any2vec.llvm.compiled import njit
import called

@njit(cache=True)
def outer(x):
    return called.inner(x)
"""


def abs_of(x):
    return abs(x)


@pytest.fixture(autouse=True)
def _as_in_a_new_process(monkeypatch, tmp_path):
    monkeypatch.setattr(compiled, "_said", set())
    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path / "kernels"))
    forget = compiled.kernel_folder.cache_clear  # a test may put something else there
    forget()
    yield
    forget()


def kernel(folder):
    """Import a module with a kernel anew: nothing of it is compiled yet."""
    path = folder / "doubled.py"
    path.write_text(SOURCE)
    spec = importlib.util.spec_from_file_location("doubled", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.twice


def loaded(folder):
    """Call the kernel; whether it came from the cache."""
    twice = kernel(folder)
    assert twice(3) == 6
    return sum(twice.stats.cache_hits.values()) == 1


def files(folder, ending):
    return sorted((folder / "kernels").rglob(f"*.{ending}"))


def test_a_kernel_is_kept(tmp_path):
    assert not loaded(tmp_path)
    assert loaded(tmp_path)
    assert files(tmp_path, "nbi")
    assert files(tmp_path, "nbc")


CLOSING = """
from any2vec.llvm.compiled import njit
import called

def made(inner):
    @njit(cache=True)
    def outer(x):
        return inner(x)

    return outer

outer = made(called.inner)
"""

CALLED = """
import numba

@numba.njit
def inner(x):
    return {factor} * x
"""

OVERLOADED = """
from numba.extending import overload

def inner(x):
    raise NotImplementedError

@overload(inner)
def _inner(x):
    return _times

def _times(x):
    return {factor} * x
"""


@pytest.mark.parametrize(
    ("caller", "called"),
    [(CALLER, CALLED), (CALLER, OVERLOADED), (CLOSING, CALLED)],
    ids=["global", "overload", "closure"],
)
def test_an_edit_of_what_a_kernel_calls_is_noticed(tmp_path, monkeypatch, caller, called):
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    (tmp_path / "caller.py").write_text(caller)
    found = []
    for factor in (2, 2, 3):
        (tmp_path / "called.py").write_text(called.format(factor=factor))
        for name in ("called", "caller"):
            monkeypatch.delitem(sys.modules, name, raising=False)
        outer = importlib.import_module("caller").outer
        found.append((outer(5), sum(outer.stats.cache_hits.values())))
    assert found == [(10, 0), (10, 1), (15, 0)]


DAMAGE = {
    "emptied": lambda data: b"",
    "cut": lambda data: data[: len(data) // 2],
    "longer": lambda data: data + b"\0",
    "zeros": lambda data: bytes(len(data)),
    "first": lambda data: bytes([data[0] ^ 1]) + data[1:],
    "last": lambda data: data[:-1] + bytes([data[-1] ^ 128]),
}


@pytest.mark.parametrize("ending", ["nbi", "nbc"])
@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_kernel_is_compiled_again(tmp_path, ending, damage):
    assert not loaded(tmp_path)
    (file,) = files(tmp_path, ending)
    file.write_bytes(DAMAGE[damage](file.read_bytes()))
    with pytest.warns(Any2VecWarning, match="damaged") as said:
        assert not loaded(tmp_path)
    assert len(said) == 1
    assert file.name in str(said[0].message)
    assert loaded(tmp_path)


@pytest.mark.filterwarnings("ignore::any2vec.errors.Any2VecWarning")
def test_no_flipped_bit_is_loaded(tmp_path):
    names = compiled._CheckedFiles(str(tmp_path), "kernel", "stamp")
    names.save("key", b"machine code")
    assert names.load("key") == b"machine code"
    for path in (tmp_path / "kernel.nbi", tmp_path / "kernel.1.nbc"):
        whole = path.read_bytes()
        for bit in range(8 * len(whole)):
            other = bytearray(whole)
            other[bit // 8] ^= 1 << bit % 8
            path.write_bytes(other)
            assert names.load("key") is None, (path.name, bit)
        path.write_bytes(whole)
    assert names.load("key") == b"machine code"


@pytest.mark.parametrize("gone", ["class", "module"])
def test_kernels_of_a_class_that_another_version_had_are_compiled_again(tmp_path, monkeypatch, gone):
    (tmp_path / "earlier.py").write_text("class Row:\n    pass\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "earlier", raising=False)
    earlier = importlib.import_module("earlier")
    names = compiled._CheckedFiles(str(tmp_path), "kernel", "stamp")
    names.save(earlier.Row, b"machine code")
    assert names.load(earlier.Row) == b"machine code"
    if gone == "class":
        monkeypatch.delattr(earlier, "Row")
    else:
        monkeypatch.setitem(sys.modules, "earlier", None)
    assert names.load("key") is None
    names.save("key", b"other code")
    assert names.load("key") == b"other code"


def test_processes_that_write_at_once_do_not_swap_kernels(tmp_path):
    """Numba numbers the files of a function's kernels: two processes may take one number for two kernels."""
    one, other = (compiled._CheckedFiles(str(tmp_path), "kernel", "stamp") for _ in range(2))
    one.save("key", b"one")
    (tmp_path / "kernel.nbi").unlink()
    other.save("other key", b"other")  # as if it had read the index before the first one wrote it
    one._save_data("kernel.1.nbc", ("key", b"one"))
    assert other.load("other key") is None


def test_a_full_disk_is_no_error(tmp_path, monkeypatch):
    def full(self, path):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(compiled._CheckedFiles, "_open_for_write", full)
    with pytest.warns(Any2VecWarning, match="No space left"):
        assert not loaded(tmp_path)
    assert not loaded(tmp_path)  # without a warning, which would be an error


def test_without_a_folder_kernels_are_compiled_in_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(compiled, "kernel_folder", lambda sources: NOWHERE)
    twice = kernel(tmp_path)  # defining it says nothing: it may be `--help` that imports it
    with pytest.warns(Any2VecWarning, match="NUMBA_CACHE_DIR"):
        assert twice(3) == 6
    assert twice(1.5) == 3.0  # without a warning, which would be an error
    assert not loaded(tmp_path)
    twice.recompile()


def places(folder, monkeypatch, *, chosen="", temporary=None):
    """Choose where kernels of sources in a folder are kept, without a home, and return the place."""
    monkeypatch.setattr(config, "CACHE_DIR", str(chosen))
    monkeypatch.setattr(compiled, "AppDirs", lambda **_: type("Nowhere", (), {"user_cache_dir": "~/.cache"}))
    monkeypatch.setattr(compiled.tempfile, "tempdir", str(temporary or folder))
    compiled.kernel_folder.cache_clear()
    return compiled.kernel_folder(folder / "sources")


@pytest.fixture
def shared(tmp_path):
    """Make a temporary folder that all users share, as /tmp; sources beside it have a file for a folder of bytecode."""
    (tmp_path / "sources").mkdir()
    (tmp_path / "sources" / "__pycache__").touch()
    folder = tmp_path / "tmp"
    folder.mkdir()
    folder.chmod(0o1777)
    return folder


def ours(shared):
    return shared / (f"any2vec-{os.getuid()}" if hasattr(os, "getuid") else "any2vec")


def test_the_package_folder_comes_first(tmp_path, monkeypatch):
    (tmp_path / "sources").mkdir()
    assert places(tmp_path, monkeypatch).path == tmp_path / "sources" / "__pycache__"


@posix
def test_the_temporary_folder_is_made_private(tmp_path, monkeypatch, shared):
    found = places(tmp_path, monkeypatch, temporary=shared)
    assert found.path.parent == ours(shared)
    assert not found.remark
    assert ours(shared).stat().st_mode & 0o777 == found.path.stat().st_mode & 0o777 == 0o700


def made(shared, mode=0o700, user=None):
    """Make our folder, perhaps as another user's."""
    if user and not ROOT:
        pytest.skip("needs root")
    ours(shared).mkdir()
    ours(shared).chmod(mode)
    if user:
        os.chown(ours(shared), user, user)


def linked(shared):
    (shared / "elsewhere").mkdir(mode=0o700)
    ours(shared).symlink_to(shared / "elsewhere")


def replaceable(shared):
    made(shared)
    shared.chmod(0o777)  # not sticky: others may rename what is there


def in_a_folder_of_another(shared):
    if not ROOT:
        pytest.skip("needs root")
    os.chown(shared, ATTACKER, ATTACKER)


WAYS = {
    "writable": lambda shared: made(shared, 0o777),
    "writable by a group": lambda shared: made(shared, 0o770),
    "linked": linked,
    "dangling": lambda shared: ours(shared).symlink_to(shared / "nothing"),
    "looped": lambda shared: ours(shared).symlink_to(ours(shared)),
    "file": lambda shared: ours(shared).touch(),
    "replaceable": replaceable,
    "of another": lambda shared: made(shared, user=ATTACKER),
    "in a folder of another": in_a_folder_of_another,
}


@posix
@pytest.mark.parametrize("prepare", WAYS.values(), ids=WAYS)
def test_a_folder_that_others_may_write_is_not_used(tmp_path, monkeypatch, shared, prepare):
    prepare(shared)
    assert places(tmp_path, monkeypatch, temporary=shared) == NOWHERE
    for link in ("elsewhere", "nothing"):
        assert not (shared / link).exists() or not any((shared / link).iterdir())


@posix
def test_bytecode_that_others_may_write_is_not_used(tmp_path, monkeypatch, shared):
    cache = tmp_path / "sources" / "__pycache__"
    cache.unlink()
    cache.mkdir()
    cache.chmod(0o777)
    assert places(tmp_path, monkeypatch, temporary=shared).path.parent == ours(shared)


@posix
def test_what_the_user_chose_is_used_if_nobody_else_may_write_it(tmp_path, monkeypatch):
    (tmp_path / "sources").mkdir()
    chosen = tmp_path / "chosen"
    chosen.mkdir()
    assert not places(tmp_path, monkeypatch, chosen=chosen).remark
    chosen.chmod(0o777)
    found = places(tmp_path, monkeypatch, chosen=chosen)
    assert found.path == tmp_path / "sources" / "__pycache__"
    assert re.search("NUMBA_CACHE_DIR, .*chosen, is not used: .*other users may write to it", found.remark)


def test_a_choice_that_cannot_be_written_falls_back(tmp_path, monkeypatch):
    (tmp_path / "sources").mkdir()
    (tmp_path / "chosen").touch()
    assert places(tmp_path, monkeypatch, chosen=tmp_path / "chosen").path == tmp_path / "sources" / "__pycache__"
    assert places(tmp_path, monkeypatch, chosen="\0").path == tmp_path / "sources" / "__pycache__"


def test_without_any_folder(tmp_path, monkeypatch, shared):
    def none():
        raise FileNotFoundError(errno.ENOENT, "No usable temporary directory found")

    monkeypatch.setattr(compiled.tempfile, "gettempdir", none)
    assert places(tmp_path, monkeypatch, temporary=shared) == NOWHERE


@posix
def test_ways_to_a_folder(tmp_path):
    inner = tmp_path / "outer" / "inner"
    inner.mkdir(parents=True)
    assert distrust_way_to(inner) == ""
    inner.parent.chmod(0o777)
    assert distrust_way_to(inner) == f"{inner.parent}: other users may write to it"
    inner.parent.chmod(0o1777)
    assert distrust_way_to(inner) == ""


class Evil:
    """What runs a command when it is unpickled."""

    def __init__(self, command):
        self.command = command

    def __reduce__(self):
        return os.system, (self.command,)


CALL = "import numpy as np; from any2vec.samples.targets import alias_table; print(len(alias_table(np.ones(2) / 2)))"


@pytest.mark.slow
@needs_root
def test_a_planted_kernel_is_not_run(tmp_path, shared):
    """Another user knows our folder's name in /tmp, makes it first, and puts there what we would unpickle."""
    marker = shared / "marker"
    plant = shared / "plant"
    assert run_python("-c", CALL, user=ATTACKER, folder=shared, NUMBA_CACHE_DIR=plant).returncode == 0
    found = list(plant.rglob("*.nb[ic]"))
    assert found
    for path in found:
        evil = pickle.dumps(Evil(f"touch {marker}"))
        digest = hashlib.blake2b(evil, digest_size=32).digest() if "checked" in path.name else b""
        path.write_bytes(digest + evil)
    for name in (f"any2vec-{VICTIM}", "any2vec-victim"):  # by number, and by name as it was
        shutil.copytree(plant, shared / name)
    for path in itertools.chain(*(folder.rglob("*") for folder in shared.glob("any2vec-*")), shared.glob("any2vec-*")):
        os.chown(path, ATTACKER, ATTACKER)
        path.chmod(0o777)  # the victim must be able to write: Numba asks for that
    ran = run_python("-c", CALL, folder=shared, TMPDIR=shared, HOME="/nonexistent", LOGNAME="victim")
    assert not marker.exists()
    assert (ran.returncode, ran.stdout) == (0, "2\n")
    assert "kernels are compiled anew in each run" in ran.stderr


@pytest.mark.slow
@needs_root
def test_a_kernel_planted_where_the_user_chose_is_not_run(shared):
    """The attack is one: in a folder that only the user could have written, it works."""
    plant, marker = shared / "plant", shared / "marker"
    assert run_python("-c", CALL, folder=shared, NUMBA_CACHE_DIR=plant).returncode == 0
    for path in plant.rglob("*.nb[ic]"):
        evil = pickle.dumps(Evil(f"touch {marker}"))
        path.write_bytes(hashlib.blake2b(evil, digest_size=32).digest() + evil)
    os.chown(plant, ATTACKER, ATTACKER)
    ran = run_python("-c", CALL, folder=shared, NUMBA_CACHE_DIR=plant)
    assert (ran.returncode, ran.stdout) == (0, "2\n")
    assert not marker.exists()
    assert "is not used: others could put code there" in ran.stderr
    os.chown(plant, VICTIM, VICTIM)
    run_python("-c", CALL, folder=shared, NUMBA_CACHE_DIR=plant)
    assert marker.exists()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (math.sin, math.cos),
        (np.sin, np.cos),
        (1j, 2j),
        (njit(fastmath=True)(abs_of), njit(abs_of)),
        (njit(inline="always")(abs_of), njit(abs_of)),
    ],
)
def test_kernels_that_reach_other_things_are_others(one, other):
    def make(reached):
        return lambda x: reached(x) if callable(reached) else reached

    assert compiled.fingerprint(make(one)) == compiled.fingerprint(make(one))
    assert compiled.fingerprint(make(one)) != compiled.fingerprint(make(other))
