"""What is shown while training runs."""

import ast
import copy
import io
import os
import pickle
import subprocess
import sys

import pytest
from kernels import copy_kernels
from numba import njit
from rich.console import Console
from simulated import Said

from any2vec import Word2Vec
from any2vec.training import progress
from any2vec.training.progress import (
    COMPILING,
    Logged,
    PlainLines,
    Quiet,
    RichLine,
    announcing_compilation,
    display_for,
    display_of,
    too_many_hosts,
    warn,
)

SHORT = {"dim": 16, "window": 3, "negative": 3, "min_count": 1, "sample": 0, "epochs": 1, "threads": 1, "cache": None}


def test_a_display_for_each_console():
    assert isinstance(display_for(Console(file=io.StringIO())), PlainLines)
    assert isinstance(display_for(Console(file=io.StringIO(), force_terminal=True)), RichLine)
    assert isinstance(display_for(Console(force_terminal=True), quiet=True), Quiet)


def test_plain_lines_begin_when_there_is_something_to_say(monkeypatch):
    text = io.StringIO()
    display = PlainLines(Console(file=text, width=120))
    monkeypatch.setattr(progress, "_SECONDS_BETWEEN_LINES", 0.0)
    display.training(0.0, 5, 0.0, 0.025, 0.0, 0.0)
    assert text.getvalue() == ""
    display.training(0.5, 5, 1e6, 0.025, 1.5, 3661.0)
    assert text.getvalue() == "epoch 0.50/5  1,000,000 words/s  rate 0.02500  loss 1.5000  1:01:01 left\n"
    display.reading(5_000_000, 10_000_000)
    assert text.getvalue().endswith("\nread 5 of 10 MB\n")
    display.close()


def test_plain_lines_do_not_count_compilation(monkeypatch):
    clock, text = iter([0.0, 15.0, 20.0, 26.0]), io.StringIO()
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(clock))
    display = PlainLines(Console(file=text, width=120))
    display.compiling()
    for done in (0.25, 0.5):
        display.training(done, 5, 1e6, 0.025, 1.5, 3661.0)
    assert text.getvalue() == ""
    display.training(0.75, 5, 1e6, 0.025, 1.5, 3661.0)
    assert text.getvalue().startswith("epoch 0.75/5")


def test_the_moving_line_begins_without_figures():
    text = io.StringIO()
    display = RichLine(Console(file=text, width=120, force_terminal=True))
    display.compiling()
    display.training(0.0, 5, 0.0, 0.025, 0.0, 0.0)
    display.say("a line")
    display._bar.refresh()
    assert "epoch 1/5" in text.getvalue()
    assert "words/s" not in text.getvalue()
    display.training(0.5, 5, 1e6, 0.025, 1.5, 60.0)
    display._bar.refresh()
    assert "1,000,000 words/s" in text.getvalue()
    display.close()
    assert "a line\n" in text.getvalue().replace("\r", "")


def test_compilation_is_announced_once():
    said = []
    with announcing_compilation(said.append):
        assert not said
        for _ in range(2):
            assert njit(lambda x: x + 1)(1) == 2
    njit(lambda x: x + 2)(1)
    assert said == [COMPILING]


COUNTING = """
import gc
from itertools import cycle
from numba.core import event
from any2vec.cli import main
from any2vec.training.host import Copying

gc.set_threshold(100_000)  # as any2vec.__main__ does
answers = cycle([False, True])  # what threads do depends on them
Copying.wanted = lambda self: next(answers)
listener = event.RecordingListener()
event.register("numba:compile", listener)
try:
    main()
finally:
    print([e.data["dispatcher"].py_func.__name__ for _, e in listener.buffer if e.is_start])
"""


@pytest.mark.slow
def test_kernels_are_compiled_once_and_the_next_run_compiles_nothing(tmp_path):
    def compiled(how):
        """Names of the functions that a run compiles."""
        options = f"words text -o v.bin --force --dim 16 --window 2 --epochs 1 --sample 0 --no-cache {how}".split()
        ran = subprocess.run(
            [sys.executable, "-c", COUNTING, *options],
            cwd=tmp_path,
            env=os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "kernels")},
            capture_output=True,
            text=True,
            check=True,
        )
        names = ast.literal_eval(ran.stdout)
        assert ran.stderr.splitlines().count(COMPILING) == bool(names), ran.stderr
        assert "0 words/s," not in ran.stderr
        return names

    copy_kernels(tmp_path / "kernels", without=("kernel.", "merging."))
    (tmp_path / "text").write_text("a b c a b c\n" * 5000)
    assert "merge_due" not in compiled("--threads 1")
    names = compiled("--threads 2")
    assert names.count("merge_due") == names.count("_merge_block") == names.count("kernel") == 1
    names = compiled("--threads 2 --model cbow --loss hierarchical --dim 32")
    assert names.count("kernel") == 1
    assert "merge_due" not in names  # serves all kernels and dimensions
    assert compiled("--hosts 2 --threads 1").count("kernel") <= 1
    for how in ("--threads 2", "--hosts 2 --threads 1"):
        assert compiled(how) == []


def test_too_many_hosts_are_named():
    assert too_many_hosts(900, 1, 1) is too_many_hosts(2_000_000, 16, 24) is None
    said = Said()
    Word2Vec(**SHORT, hosts=2, verbose=said).fit([list("abcabc")] * 50)
    begins = "Too many hosts for this corpus: 300 words for 2 hosts and 3 rounds per epoch are 50 "
    assert sum(line.startswith(begins) for line in said.lines) == 1


def test_fit_is_logged_where_there_is_no_terminal(capsys, caplog):
    with caplog.at_level("INFO", logger="any2vec"):
        Word2Vec(**SHORT).fit([list("abcabc")] * 50)
        Word2Vec(**SHORT, verbose=False).fit([list("abcabc")] * 50)
    assert capsys.readouterr() == ("", "")
    lines = [record.message for record in caplog.records if record.message != COMPILING]
    assert [line[:12] for line in lines] == ["300 words, 3", "epoch 1/1  l"] * 2


def test_fit_prints_nothing_unless_asked(capsys):
    Word2Vec(**SHORT).fit([list("abcabc")] * 50)
    assert capsys.readouterr() == ("", "")
    Word2Vec(**SHORT, verbose=True).fit([list("abcabc")] * 50)
    out, err = capsys.readouterr()
    assert out == ""
    assert "epoch 1/1  loss " in err


def test_fit_shows_progress_on_a_terminal_and_in_notebooks(monkeypatch):
    monkeypatch.setattr(Console, "is_terminal", True)
    assert isinstance(display_of(None), RichLine)
    assert isinstance(display_of(False), Logged)
    monkeypatch.setattr(Console, "is_terminal", False)
    assert isinstance(display_of(None), Logged)
    assert isinstance(display_of(True), PlainLines)
    notebook = lambda: Console(file=io.StringIO(), force_jupyter=True)  # noqa: E731
    monkeypatch.setattr(progress, "Console", lambda **_: notebook())
    for there, kind in ((True, RichLine), (False, PlainLines)):
        monkeypatch.setattr(progress, "is_installed", lambda module, there=there: there)
        assert type(display_of(None)) is kind
    own = Quiet()
    assert display_of(own) is own


def test_an_estimator_that_has_shown_progress_can_be_copied(capsys):
    model = Word2Vec(**SHORT, verbose=True).fit([list("abcabc")] * 50)
    assert pickle.loads(pickle.dumps(model)) == copy.deepcopy(model) == model


def test_what_must_be_seen_is_a_warning(caplog):
    warn(Logged(), "a line")
    assert [(record.levelname, record.message) for record in caplog.records] == [("WARNING", "a line")]
