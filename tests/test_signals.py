"""The signal to terminate, and Ctrl-C at any moment."""

import os
import signal
import subprocess
import sys
import threading

import pytest
from typer.testing import CliRunner

from any2vec import signals
from any2vec.cli import app, demo
from any2vec.errors import Any2VecError
from any2vec.signals import quit_at_once, raise_interrupts, unterminated

pytestmark = pytest.mark.skipif(os.name == "nt", reason="no SIGTERM to a process on Windows")


@pytest.fixture(autouse=True)
def _as_before():
    before = signal.signal(signal.SIGTERM, signal.SIG_DFL), signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGTERM, before[0])
    signal.signal(signal.SIGINT, before[1])


def test_terminating_is_as_an_interrupt():
    raise_interrupts()
    with pytest.raises(KeyboardInterrupt):
        os.kill(os.getpid(), signal.SIGTERM)
    quit_at_once()
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL


@pytest.mark.parametrize("handler", [signal.SIG_IGN, lambda *_: None])
def test_what_others_chose_stays(handler):
    signal.signal(signal.SIGTERM, handler)
    raise_interrupts()
    with unterminated():
        assert signal.getsignal(signal.SIGTERM) == handler
    quit_at_once()
    assert signal.getsignal(signal.SIGTERM) == handler


def test_saving_is_not_ended_by_a_second_one():
    raise_interrupts()
    with unterminated():
        os.kill(os.getpid(), signal.SIGTERM)
    assert signal.getsignal(signal.SIGTERM) is signal.default_int_handler


def test_interrupt_while_options_are_checked(tmp_path, monkeypatch):
    def press(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("any2vec.cli.training.check_output", press)
    (tmp_path / "text").write_text("a b\n")
    result = CliRunner().invoke(app, ["words", str(tmp_path / "text"), "-o", str(tmp_path / "v.bin")])
    assert (result.exit_code, result.stderr) == (130, "stopped before training began: nothing was written\n")
    assert [path.name for path in tmp_path.iterdir()] == ["text"]


def test_interrupts_quit_only_where_nothing_can_be_lost():
    quit_at_once()
    assert signal.getsignal(signal.SIGINT) is not signal.default_int_handler
    raise_interrupts()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # as in the background of a script
    quit_at_once()
    raise_interrupts()
    assert signal.getsignal(signal.SIGINT) == signal.SIG_IGN


def test_the_command_line_runs_in_a_thread():
    results = []
    thread = threading.Thread(target=lambda: results.append(CliRunner().invoke(app, ["similar", "no.bin", "a"])))
    thread.start()
    thread.join()
    assert str(results[0].exception) == "no.bin: does not exist"


PRESSED = """
import os, signal, sys, threading, time
from any2vec.__main__ import main

def press(event, arguments):
    if event == "import" and arguments[0] == {module!r} or event == {module!r}:
        os.kill(os.getpid(), signal.SIGINT)

def later():
    time.sleep({delay})
    os.kill(os.getpid(), signal.SIGINT)

signal.signal(signal.SIGINT, signal.default_int_handler)  # it may be ignored here
sys.addaudithook(press)
if {delay}:
    threading.Thread(target=later, daemon=True).start()
main()
"""


def pressed(tmp_path, module="", delay=0.0, **environment):
    """Run training in a process that gets Ctrl-C when it imports a module, or some time after it began."""
    (tmp_path / "text").write_text("a b c a b c\n" * 200_000)
    command = ["words", "text", "-o", "v.bin", "--epochs", "1000", "--sample", "0", "--no-cache", "--dim", "20"]
    return subprocess.run(
        [sys.executable, "-c", PRESSED.format(module=module, delay=delay), *command],
        cwd=tmp_path,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


IMPORTED = [
    "any2vec.cli",
    "typer",
    "rich.console",
    "numpy",
    "numba",
    "llvmlite",
    "any2vec.models",
    "any2vec.cli.training",
]


@pytest.mark.parametrize("module", IMPORTED)
def test_ctrl_c_while_importing(tmp_path, module):
    ran = pressed(tmp_path, module)
    assert (ran.returncode, ran.stdout, ran.stderr) == (130, "", "")


@pytest.mark.parametrize("delay", [0.1, 0.3, 0.6, 1.0, 2.0, 4.0])
@pytest.mark.parametrize("warm", [True, False])
def test_ctrl_c_at_any_moment(tmp_path, delay, warm):
    ran = pressed(tmp_path, delay=delay, **({} if warm else {"NUMBA_CACHE_DIR": str(tmp_path / "kernels")}))
    assert ran.returncode == 130, ran.stderr
    assert "Traceback" not in ran.stderr
    assert "Exception ignored" not in ran.stderr
    assert {path.name for path in tmp_path.iterdir()} <= {"text", "v.bin", "kernels"}


def test_ctrl_c_where_exceptions_are_ignored_is_raised_again():
    script = """
import sys, time
from any2vec.signals import quit_at_once, raise_interrupts
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
quit_at_once()
raise_interrupts()
class Deleted:
    def __init__(self, error): self.error = error
    def __del__(self): raise self.error
Deleted(ValueError("told"))
try:
    Deleted(KeyboardInterrupt())
    time.sleep(30)
except KeyboardInterrupt:
    print("raised")
"""
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    assert ran.stdout == "raised\n"
    assert "ValueError: told" in ran.stderr
    assert "KeyboardInterrupt" not in ran.stderr


@pytest.mark.parametrize(
    ("error", "ignored", "status"),
    [(RuntimeError, False, 1), (RuntimeError, True, 130), (Any2VecError, True, 1)],
)
def test_an_error_that_an_ignored_interrupt_left_behind_is_an_interrupt(monkeypatch, error, ignored, status):
    def train(self, *_):
        if ignored:
            signals._ignored.set()
        raise error("no compiled object yet")

    monkeypatch.setattr(signals, "_ignored", threading.Event())
    monkeypatch.setattr(demo.Word2Vec, "fit", train)
    assert CliRunner().invoke(app, ["demo"]).exit_code == status
