"""Commands in pages run, and blocks of output show what they print."""

import functools
import importlib.util
import json
import os
import re
import shutil
import sys
from pathlib import Path

import pytest
from click.testing import Result
from pages import TEXTS, Step, arguments, finish, make_folder, outside, steps
from ranks import needs_mpi, run_python
from shown import differs, differs_json, written_by
from typer.testing import CliRunner

from any2vec import Any2VecError, Vectors, Word2Vec, save
from any2vec.cli import app, demo, plan
from any2vec.cli.errors import UsageError, usage
from any2vec.plan.measuring import Speeds

STEPS = {name: steps(text) for name, text in TEXTS.items()}
SHELL = {name: [step for step in found if step.language == "shell"] for name, found in STEPS.items()}
NOT_RUN = {  # what lines begin with, and why none of them runs here
    "python -m venv": ".ci/run does",
    ". .venv/bin/activate": ".ci/run does",
    "pip install": ".ci/run does",
    "python -m pytest": "this is it",
    "tensorboard": "a server, of another program",
    "embedding-atlas": "a server, of another program",
    "memory =": "a formula",
}
ALONE = {  # launchers whose lines run any2vec in one process, and why
    "mpiexec": "test_ranks runs the line",
    "torchrun": "test_gloo.py starts as many processes; here are not four machines",
    "srun": "no Slurm here; test_slurm.py has its variables",
}
LOOSE = {"py": "needs spaCy, which the tests do not bring; test_export.py has a stand-in"}  # forms of other blocks
# The last of an option wins: training is short, and kernels are those of other tests. Lines that train on the speeches
# are of pages that show what comes of it: they run as they are.
SMALL = {
    "words": "--dim 16 --window 3 --negative 3 --epochs 1",
    "nodes": "--dim 16 --window 3 --negative 3 --epochs 1",
    "word2vec": "-size 16 -window 3 -negative 3 -iter 1",
    "map": "--method pca",
}
SPEEDS = Speeds(581e3, 6.62e6, 36e-9, 134e-9, 8.11e-3, 1.09e-6, 16.3e-3, 9.18e9)  # of an EPYC, measured for plan.md


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Go to a folder with the files that pages name, on one core: one thread always gives the same bits."""
    make_folder(tmp_path, dim=16)
    (tmp_path / "shared/models/any2vec-0f1e2d3c4b5a").mkdir(parents=True)
    save(Vectors(["good", "bad", "film"], [[1, 2], [2, 1], [1, 1]]), tmp_path / "shared/models/any2vec-0f1e2d3c4b5a/vectors")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(plan, "measure", lambda text, options: SPEEDS)
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cores)})
    yield tmp_path
    os.sched_setaffinity(0, cores)


def run(command, folder, monkeypatch):
    """Run a line of the shell in this process; return what a reader sees, and whether it succeeded."""
    given = arguments(command)[1]
    if "presidents.txt.xz" not in given:
        given += SMALL.get(given[0], "").split()
    given = [f"{folder}{word}" if word.startswith("/shared/") else word for word in given]
    monkeypatch.setattr(sys, "argv", ["any2vec", *given])  # errors name what was given
    result = CliRunner().invoke(app, given, prog_name="any2vec", standalone_mode=False, env={"COLUMNS": "80"})
    if isinstance(result.exception, UsageError | Any2VecError):
        message = usage(result.exception) if isinstance(result.exception, UsageError) else result.exception
        return f"{result.output}any2vec: {message}\n", False
    if result.exception:
        raise result.exception
    return result.output, not result.return_value


@pytest.mark.parametrize("name", [name for name, found in SHELL.items() if any("any2vec" in step.code for step in found)])
def test_commands(name, folder, monkeypatch):
    """Run the lines of a page, one after the other."""
    if not any(step.shown for step in SHELL[name]):
        monkeypatch.setattr(demo, "Word2Vec", lambda **given: Word2Vec(**given | {"dim": 16, "window": 3, "negative": 3, "epochs": 1}))
    absent, done = [], {}
    for step in SHELL[name]:
        if step.code.startswith(tuple(NOT_RUN)):
            continue
        if step.code not in done:
            done[step.code] = run(step.code, folder, monkeypatch)
        printed, success = done[step.code]
        wants = re.search(r"pip install '[^']+'", printed)
        if wants and not success:
            absent.append(wants[0])
            continue
        assert success != (step.shown[:1] or [""])[0].startswith("any2vec: "), printed
        if step.form == "json":
            found = differs_json(json.loads("\n".join(step.shown)), written_by(arguments(step.code)[1]))
        else:
            found = step.shown and differs(step.shown, printed)
        assert not found, f"{step.code}: {found}\nprinted:\n{printed}"
    if absent:
        pytest.skip(f"all but what needs {', '.join(absent)}")
