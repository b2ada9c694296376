"""What all tests share: caches of their own, so that none writes in the user's, and markers."""

import ast
import gc
import getpass
import hashlib
import os
import re
import shutil
import signal
import tempfile
import time
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("any2vec", deadline=None)  # the first example waits for a compiler
settings.load_profile("any2vec")
gc.set_threshold(50_000)  # allocations: collecting tests, and compiling, leave little garbage

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # in a shell's background, where tests of Ctrl-C would fail
    signal.signal(signal.SIGINT, signal.default_int_handler)

SOURCE = Path(__file__).parents[1] / "src" / "any2vec"
WEEK = 7 * 24 * 3600  # seconds


def kernel_sources():
    """Hash the code of modules that hold kernels: Numba's cache does not see edits of what a kernel imports."""
    found = hashlib.sha256()
    for path in sorted(SOURCE.rglob("*.py")):
        text = path.read_bytes()
        if b"numba" in text or b"llvm" in text:
            tree = ast.parse(text)  # has no comments
            for node in ast.walk(tree):
                if isinstance(getattr(node, "body", None), list):  # no docstrings either
                    node.body = [part for part in node.body if not is_text(part)]
            found.update(ast.dump(tree).encode())
    return found.hexdigest()[:12]


def is_text(node):
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def numba_cache(base):
    """Make the folder for kernels compiled from today's sources; remove those not used for a week."""
    folder = base / kernel_sources()
    folder.mkdir(parents=True, exist_ok=True)
    os.utime(folder)
    for other in base.iterdir():
        if re.fullmatch("[0-9a-f]{12}", other.name) and other.stat().st_mtime < time.time() - WEEK:
            shutil.rmtree(other, ignore_errors=True)
    return folder


def pytest_configure(config):
    if config.option.markexpr == "not slow" and all("::" in argument for argument in config.args):
        config.option.markexpr = ""  # a test that is named runs
    if not hasattr(config, "workerinput"):  # workers of pytest-xdist inherit it
        base = os.environ.get("NUMBA_CACHE_DIR") or Path(tempfile.gettempdir(), f"any2vec-tests-{getpass.getuser()}")
        os.environ["NUMBA_CACHE_DIR"] = str(numba_cache(Path(base)))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config):
    """Run tests that are named one by one in this process: workers take seconds to start."""
    return 0 if all("::" in argument for argument in config.args) else None


def pytest_collection_finish():
    """Let the garbage collector pass over libraries and tests: it took an eighth of the time of each compilation."""
    gc.collect()
    gc.freeze()


def pytest_collection_modifyitems(items):
    for item in items:
        if item.path.name.startswith("test_mpi_"):
            item.add_marker("mpi")


@pytest.fixture(autouse=True, scope="session")
def _corpus_cache(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ANY2VEC_CACHE", str(tmp_path_factory.mktemp("corpora")))
        yield


@pytest.fixture(autouse=True)
def _signals():
    """Handlers of signals stay as they were where a test runs the command line in this process."""
    numbers = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
    before = {number: signal.getsignal(number) for number in numbers}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)
