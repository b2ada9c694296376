"""Machines without POSIX, and such where homes, caches and temporary folders are missing or read-only."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from marks import slow_but
from other_user import VICTIM, needs_user, run_python

IMPORTS = """
import sys
for name in ("fcntl", "grp", "posix_ipc", "pwd", "resource", "syslog", "termios"):
    sys.modules[name] = None  # importing it is an ImportError, as on Windows

import any2vec
from importlib import import_module
from pathlib import Path

root = Path(any2vec.__file__).parent
for path in sorted(root.rglob("*.py")):
    parts = ["any2vec", *path.relative_to(root).with_suffix("").parts]
    if "spark" not in parts:  # whose library asks for POSIX itself
        import_module(".".join(part for part in parts if part != "__init__"))
        print(".".join(parts))
"""

KERNEL = """
from any2vec.operators.base import Rate, learning_rate

print(learning_rate(Rate(1.0, 0.0, 0.0, 1.0, 2.0), 1))
"""

TRAINING = """
from any2vec import DeepWalk, Word2Vec

model = Word2Vec(dim=8, min_count=1, epochs=1, threads=1).fit([["to", "be", "or", "not", "to", "be"]])
print(model.vectors_["be"].shape)
"""


def test_no_module_needs_posix_to_be_imported():
    ran = subprocess.run([sys.executable, "-c", IMPORTS], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert "any2vec.training.checkpoints.checkpoint\n" in ran.stdout


@pytest.fixture
def places(tmp_path):
    """Make what variables may name: a file, a folder that cannot be written, one that can, and none."""
    (tmp_path / "file").touch()
    (tmp_path / "sealed").mkdir(mode=0o555)
    (tmp_path / "free").mkdir()
    (tmp_path / "free").chmod(0o1777)
    (tmp_path / "corpus.txt").write_text("to be or not to be\n" * 3)
    return tmp_path


SETTINGS = {
    "nothing is set": {},
    "HOME is missing": {"HOME": "missing"},
    "HOME is read-only": {"HOME": "sealed"},
    "HOME is a file": {"HOME": "file"},
    "HOME is empty": {"HOME": ""},
    "XDG_CACHE_HOME is a file": {"HOME": "free", "XDG_CACHE_HOME": "file"},
    "XDG_CACHE_HOME is read-only": {"HOME": "free", "XDG_CACHE_HOME": "sealed"},
    "XDG_CACHE_HOME is no absolute path": {"HOME": "free", "XDG_CACHE_HOME": "relative"},
    "TMPDIR is missing": {"HOME": "free", "TMPDIR": "missing"},
    "TMPDIR is read-only": {"HOME": "free", "TMPDIR": "sealed"},
    "NUMBA_CACHE_DIR is read-only": {"HOME": "free", "NUMBA_CACHE_DIR": "sealed"},
    "NUMBA_CACHE_DIR is a file": {"HOME": "missing", "NUMBA_CACHE_DIR": "file"},
}
ALL = {"HOME": "sealed", "XDG_CACHE_HOME": "file", "TMPDIR": "missing", "NUMBA_CACHE_DIR": "sealed"}


@pytest.fixture(scope="module", autouse=True)
def _nothing_is_left():
    """Remove what is kept for the other user where Python's `tempfile` knows no better place."""
    left = Path("/tmp", f"any2vec-{VICTIM}")
    before = left.exists()
    yield
    if not before:
        shutil.rmtree(left, ignore_errors=True)


def variables(places, setting):
    return {name: value if value in ("", "relative") else places / value for name, value in setting.items()}


@needs_user
@pytest.mark.parametrize("setting", slow_but(["nothing is set"], SETTINGS))
def test_import_and_kernels(places, setting):
    ran = run_python("-c", KERNEL, folder=places / "sealed", **variables(places, SETTINGS[setting]))
    assert (ran.returncode, ran.stdout) == (0, "0.5\n"), ran.stderr
    assert "Traceback" not in ran.stderr


@needs_user
def test_help_without_any_place(places):
    ran = run_python("-m", "any2vec", "words", "--help", folder=places / "sealed", **variables(places, ALL))
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "Usage" in ran.stdout


@pytest.mark.slow
@needs_user
def test_training_without_any_place(places):
    """What cannot be kept is said once each: kernels, and corpora."""
    ran = run_python("-c", TRAINING, folder=places / "sealed", **variables(places, ALL))
    assert (ran.returncode, ran.stdout) == (0, "(8,)\n"), ran.stderr
    assert ran.stderr.count("corpora are not kept") == 1


@pytest.mark.slow
@needs_user
def test_a_command_without_a_home(places):
    output = places / "free" / "vectors.bin"
    small = ["--dim", "8", "--min-count", "1", "--epochs", "1", "--threads", "1"]
    command = ["-m", "any2vec", "words", places / "corpus.txt", "-o", output, *small]
    ran = run_python(*command, folder=places / "sealed", HOME=places / "missing", TMPDIR=places / "free")
    assert ran.returncode == 0, ran.stderr
    assert output.exists()
    assert ran.stderr.startswith("any2vec: corpora are not kept for the next run")
    assert list((places / "free").glob("any2vec-*")), "kernels are kept in the temporary folder"
