"""The signal to terminate, and Ctrl-C where nothing is trained yet."""

import os
import signal

import pytest
from typer.testing import CliRunner

from any2vec.cli import app
from any2vec.cli.signals import terminate_as_interrupt, terminate_at_once, unterminated

pytestmark = pytest.mark.skipif(os.name == "nt", reason="no SIGTERM to a process on Windows")


@pytest.fixture(autouse=True)
def _as_before():
    before = signal.signal(signal.SIGTERM, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGTERM, before)


def test_terminating_is_as_an_interrupt():
    terminate_as_interrupt()
    with pytest.raises(KeyboardInterrupt):
        os.kill(os.getpid(), signal.SIGTERM)
    terminate_at_once()
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL


@pytest.mark.parametrize("handler", [signal.SIG_IGN, lambda *_: None])
def test_what_others_chose_stays(handler):
    signal.signal(signal.SIGTERM, handler)
    terminate_as_interrupt()
    with unterminated():
        assert signal.getsignal(signal.SIGTERM) == handler
    terminate_at_once()
    assert signal.getsignal(signal.SIGTERM) == handler


def test_saving_is_not_ended_by_a_second_one():
    terminate_as_interrupt()
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
