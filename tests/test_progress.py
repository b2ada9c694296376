"""What is shown while training runs."""

import ast
import io
import os
import subprocess
import sys

import pytest
from numba import njit
from rich.console import Console

from any2vec import Word2Vec
from any2vec.training.shown import progress
from any2vec.training.shown.progress import (
    COMPILING,
    PlainLines,
    Quiet,
    RichLine,
    announcing_compilation,
    display_for,
    too_many_hosts,
)


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


def test_compilation_is_announced_at_the_first_run_only(tmp_path):
    (tmp_path / "text").write_text("a b c a b c\n" * 50)
    command = [sys.executable, "-m", "any2vec", "words", "text", "-o", "v.bin", "--dim", "16", "--window", "2"]
    for first in (True, False):
        ran = subprocess.run(
            [*command, "--negative", "2", "--epochs", "1", "--sample", "0", "--no-cache"],
            cwd=tmp_path,
            env=os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "kernels")},
            capture_output=True,
            text=True,
            check=True,
        )
        assert ran.stderr.splitlines().count(COMPILING) == first, ran.stderr
        assert "0 words/s," not in ran.stderr


COUNTING = """
from itertools import cycle
from numba.core import event
from any2vec.cli import main
from any2vec.training.hosts.copying import Copying

answers = cycle([False, True])  # what threads do depends on them
Copying.wanted = lambda self: next(answers)
listener = event.RecordingListener()
event.register("numba:compile", listener)
try:
    main()
finally:
    print([e.data["dispatcher"].py_func.__name__ for _, e in listener.buffer if e.is_start])
"""


@pytest.mark.parametrize(
    "how",
    [
        "--threads 2",
        "--threads 2 --negatives-per pair",
        "--threads 2 --model cbow --loss hierarchical",
        "--hosts 2 --threads 1",
    ],
)
def test_a_run_compiles_its_kernel_once_and_the_next_one_nothing(tmp_path, how):
    first, second = (compiled(tmp_path, how) for _ in range(2))
    assert first.count("kernel") == 1
    assert second == []


def test_merging_is_compiled_once_for_all_dimensions_and_not_for_one_thread(tmp_path):
    assert "merge_due" not in compiled(tmp_path, "--threads 1")
    names = compiled(tmp_path, "--threads 2")
    assert names.count("merge_due") == names.count("_merge_block") == 1
    names = compiled(tmp_path, "--threads 2 --dim 32")
    assert "kernel" in names
    assert "merge_due" not in names


def compiled(folder, how):
    """Names of the functions that a run compiles."""
    (folder / "text").write_text("a b c a b c\n" * 5000)
    options = f"words text -o v.bin --dim 16 --window 2 --epochs 1 --sample 0 --no-cache -q {how}".split()
    ran = subprocess.run(
        [sys.executable, "-c", COUNTING, *options],
        cwd=folder,
        env=os.environ | {"NUMBA_CACHE_DIR": str(folder / "kernels")},
        capture_output=True,
        text=True,
        check=True,
    )
    return ast.literal_eval(ran.stdout)


@pytest.mark.parametrize(
    ("words", "hosts", "rounds", "each"), [(51_000, 64, 96, 8), (900, 1, 1, None), (2_000_000, 16, 24, None)]
)
def test_too_many_hosts_are_named(words, hosts, rounds, each):
    line = too_many_hosts(words, hosts, rounds)
    assert (line is None) == (each is None)
    if each:
        assert line.startswith(
            "64 hosts are many for 51,000 words: in 96 rounds per epoch, a host has 8 per round, and"
        )


def test_training_names_too_many_hosts():
    class Lines(Quiet):
        def say(self, line):
            lines.append(line)

    lines = []
    how = {"dim": 16, "window": 3, "negative": 3, "min_count": 1, "sample": 0, "epochs": 1, "threads": 1}
    Word2Vec(**how, hosts=2, display=Lines()).fit([list("abcabc")] * 50)
    assert sum(line.startswith("2 hosts are many for 300 words: in 3 rounds per epoch, ") for line in lines) == 1
