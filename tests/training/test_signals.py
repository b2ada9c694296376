"""The signal to terminate, and Ctrl-C at any moment."""

import os
import re
import signal
import subprocess
import sys
import threading

import pytest
from marks import slow, slow_but
from ranks import needs_mpi, run_python
from typer.testing import CliRunner

from any2vec import signals
from any2vec.cli import app, words
from any2vec.errors import Any2VecError
from any2vec.signals import quit_at_once, raise_interrupts, unterminated
from any2vec.training.ending import Interrupts

TERMINATING = [signal.SIGTERM, signal.SIGHUP]
pytestmark = pytest.mark.skipif(os.name == "nt", reason="no SIGTERM to a process on Windows")


@pytest.fixture(autouse=True)
def _handlers(_signals):
    for number in TERMINATING:
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.mark.parametrize("number", TERMINATING)
def test_terminating_is_as_an_interrupt(number):
    raise_interrupts()
    with pytest.raises(KeyboardInterrupt):
        os.kill(os.getpid(), number)
    quit_at_once()
    assert signal.getsignal(number) == signal.SIG_DFL


@pytest.mark.parametrize("number", TERMINATING)
@pytest.mark.parametrize("handler", [signal.SIG_IGN, lambda *_: None])
def test_what_others_chose_stays(number, handler):
    signal.signal(number, handler)
    raise_interrupts()
    with unterminated():
        assert signal.getsignal(number) == handler
    quit_at_once()
    assert signal.getsignal(number) == handler


@pytest.mark.parametrize("number", TERMINATING)
def test_saving_is_finished_first(number):
    said = []
    raise_interrupts()
    with unterminated(said.append):
        os.kill(os.getpid(), number)
    assert said == [f"{number.name}: what is trained is saved first"]
    with pytest.raises(KeyboardInterrupt):
        os.kill(os.getpid(), number)


def test_a_signal_between_training_and_saving_waits():
    raise_interrupts()
    with Interrupts().handling():
        pass
    os.kill(os.getpid(), signal.SIGTERM)
    raise_interrupts()  # of the next command in this process
    with pytest.raises(KeyboardInterrupt):
        os.kill(os.getpid(), signal.SIGTERM)


def test_signals_while_training_say_which():
    said, interrupts = [], Interrupts()
    interrupts.say = said.append
    raise_interrupts()
    with interrupts.handling():
        os.kill(os.getpid(), signal.SIGHUP)
        assert interrupts.interrupted
        assert interrupts.stopped
        os.kill(os.getpid(), signal.SIGINT)
    assert said == ["SIGHUP: stopping, then saving what is trained"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_second_signal_ends_a_callback():
    said, interrupts = [], Interrupts()
    interrupts.say = said.append
    raise_interrupts()
    seen = []
    with interrupts.handling(), interrupts.catching("the callbacks"):
        for number in (signal.SIGTERM, signal.SIGINT):
            os.kill(os.getpid(), number)
            seen.append(number)
    assert seen == [signal.SIGTERM]
    assert said == ["SIGTERM: waiting for the callbacks, then saving; a second one does not wait"]
    assert interrupts.interrupted


def test_interrupt_while_options_are_checked(tmp_path, monkeypatch):
    def press(*_, **__):
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
    command = ["words", "text", "-o", "v.bin", "--epochs", "1000", "--sample", "0", "--no-cache", *SIZES]
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


@pytest.mark.parametrize("module", slow_but(["any2vec.cli", "numba"], IMPORTED))
def test_ctrl_c_while_importing(tmp_path, module):
    ran = pressed(tmp_path, module)
    assert (ran.returncode, ran.stdout, ran.stderr) == (130, "", "")


@pytest.mark.parametrize("delay", slow_but([0.3], [0.1, 0.3, 0.6, 1.0, 2.0, 4.0]))
@pytest.mark.parametrize("warm", [True, slow(False)])
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
    time.sleep(600)  # the interrupt ends it
except KeyboardInterrupt:
    print("raised")
"""
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    assert ran.stdout == "raised\n"
    assert "ValueError: told" in ran.stderr
    assert "KeyboardInterrupt" not in ran.stderr


@pytest.mark.parametrize(
    ("error", "ignored", "status"), [(RuntimeError, False, 1), (RuntimeError, True, 130), (Any2VecError, True, 1)]
)
def test_an_error_that_an_ignored_interrupt_left_behind_is_an_interrupt(monkeypatch, error, ignored, status):
    def train(self, *_):
        if ignored:
            signals._ignored.set()
        raise error("no compiled object yet")

    monkeypatch.setattr(signals, "_ignored", threading.Event())
    monkeypatch.setattr(words.Word2Vec, "fit", train)
    assert CliRunner().invoke(app, ["demo"]).exit_code == status


ENDED = """
import os, signal, sys
from any2vec.__main__ import main
from any2vec.training import ending
from any2vec.training import row_host

ending._PATIENCE = {patience}
opened, words = row_host.RowHost.open, []

def opening(host):
    opened(host)
    kernel = host._kernel
    def noting(*given):
        words.append(given[3] - given[2])
        if len(words) == {call} and os.environ.get("PMI_RANK", "0") in {ranks!r}:
            os.kill(os.getpid(), signal.{name})
        kernel(*given)
    host._kernel = noting

row_host.RowHost.open = opening
for one in ("SIGTERM", "SIGHUP"):
    signal.signal(getattr(signal, one), signal.{before})
signal.signal(signal.SIGINT, signal.default_int_handler)
main()
"""
SIZES = ["--dim", "16", "--window", "3", "--negative", "3"]
LONG = ["--epochs", "4", "--sample", "0", "--no-cache", *SIZES, "--threads", "1"]


def ended(folder, name, *more, call=4, patience=3.0, before="SIG_DFL", ranks=None, of=("0", "1")):
    """Train in a process, or in ranks, that get a signal in the middle of a round."""
    if not (folder / "text").exists():
        (folder / "text").write_text("a b c a b c d e f g\n" * 4000)
    script = ENDED.format(name=name, call=call, patience=patience, before=before, ranks=of)
    return run_python("-c", script, "words", "text", *LONG, *more, cwd=folder, ranks=ranks, timeout=120)


KEPT = ["--checkpoint", "kept", "--resume", "kept"]


def test_a_process_saves_and_goes_on_to_the_same_bits(tmp_path):
    """After SIGHUP; `test_checkpoint.py::test_signals` and hosts below are sent SIGTERM."""
    whole = ended(tmp_path, "SIGHUP", "-o", "whole.bin", call=0)
    assert whole.returncode == 0, whole.stderr
    ran = ended(tmp_path, "SIGHUP", "-o", "v.bin", *KEPT)
    assert ran.returncode == 130, ran.stderr
    assert "SIGHUP: stopping, then saving what is trained\n" in ran.stderr
    assert (tmp_path / "v.bin").read_bytes() != (tmp_path / "whole.bin").read_bytes()
    again = ended(tmp_path, "SIGHUP", "-o", "v.bin", *KEPT, call=0)
    assert again.returncode == 0, again.stderr
    assert (tmp_path / "v.bin").read_bytes() == (tmp_path / "whole.bin").read_bytes()


def test_under_nohup_a_hangup_is_ignored(tmp_path):
    ran = ended(tmp_path, "SIGHUP", "-o", "v.bin", before="SIG_IGN")
    assert ran.returncode == 0, ran.stderr
    assert "SIGHUP" not in ran.stderr


SAYS = {60: r"finishing the round, (at most 60|about \d+) s, then saving", -1: "it is cut short"}
MPI = [pytest.mark.mpi, pytest.mark.slow, needs_mpi]


@pytest.mark.parametrize(
    ("ranks", "patience"), [(None, 60), pytest.param(2, 60, marks=MPI), pytest.param(2, -1, marks=MPI)]
)
def test_hosts_end_and_go_on(tmp_path, ranks, patience):
    hosts = [] if ranks else ["--hosts", "4"]
    ran = ended(tmp_path, "SIGTERM", "-o", "v.bin", *KEPT, *hosts, patience=patience, ranks=ranks)
    assert ran.returncode == 130, ran.stderr
    assert re.search(SAYS[patience], ran.stderr), ran.stderr
    assert "; go on with --resume kept" in ran.stderr
    again = ended(tmp_path, "SIGTERM", "-o", "v.bin", *KEPT, *hosts, call=0, ranks=ranks)
    assert again.returncode == 0, again.stderr
    assert "going on from kept" in again.stderr


@pytest.mark.slow
@pytest.mark.mpi
@needs_mpi
def test_a_signal_to_one_rank_ends_all(tmp_path):
    ran = ended(tmp_path, "SIGTERM", "-o", "v.bin", *KEPT, ranks=2, of=("1",))
    assert ran.returncode == 130, ran.stderr
    assert "another host was stopped: saving what is trained" in ran.stderr
    assert "; go on with --resume kept" in ran.stderr
