"""Commands in pages run, and blocks of output show what they print."""

import ast
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest
from marks import slow_but
from pages import TEXTS, arguments, check, finish, make_folder, outside, python, script, steps
from ranks import MPIEXEC, OPEN_MPI, VARIABLES, needs_mpi
from shown import AS_SHOWN, differs, differs_json, written_by
from typer.testing import CliRunner

from any2vec import Any2VecError, Classifier, Vectors, Word2Vec, load, save
from any2vec.cli import app, plan, words
from any2vec.cli.help import UsageError, usage
from any2vec.plan.measuring import Speeds

TUTORIALS = Path(__file__).parents[2] / "docs" / "tutorials"
STEPS = {name: steps(text) for name, text in TEXTS.items()}
SHELL = {name: [step for step in found if step.language == "shell"] for name, found in STEPS.items()}
LINES = [step for found in SHELL.values() for step in found]
NOT_RUN = {  # what lines begin with, and why none of them runs here
    "python -m venv": ".ci/run does",
    ". .venv/bin/activate": ".ci/run does",
    "pip install": ".ci/run does",
    "python -m pytest": "this is it",
    "python -m experiments": "test_experiments.py runs a small one",
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
# Training is short, with kernels of other tests, but for lines that train on the speeches: their pages show what
# comes of it.
SHORT = {"--dim": "16", "--window": "3", "--negative": "3", "--epochs": "1", "--hosts": "4"}
SMALL = {
    "words": SHORT,
    "nodes": SHORT,
    "word2vec": {"-size": "16", "-window": "3", "-negative": "3", "-iter": "1"},
    "classify": {"--dim": "16", "--hosts": "4"},
    "map": {"--method": "pca"},
}
SPEEDS = Speeds(581e3, 6.62e6, 36e-9, 134e-9, 8.11e-3, 1.09e-6, 16.3e-3, 9.18e9)  # of an EPYC, measured for plan.md

SESSION = """
from pyspark.sql import SparkSession

spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
reviews = spark.createDataFrame([(line.split(),) for line in ("a good film", "a bad film") * 50], ["words"])
"""


def runs(step):
    return not step.code.startswith(tuple(NOT_RUN))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Go to a folder with the files that pages name, on one core: one thread always gives the same bits."""
    make_folder(tmp_path, dim=16)
    (tmp_path / "shared/models/any2vec-0f1e2d3c4b5a").mkdir(parents=True)
    save(
        Vectors(["good", "bad", "film"], [[1, 2], [2, 1], [1, 1]]),
        tmp_path / "shared/models/any2vec-0f1e2d3c4b5a/vectors",
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(plan, "measure", lambda text, options: SPEEDS)
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cores)})
    yield tmp_path
    os.sched_setaffinity(0, cores)


def run(command, folder, monkeypatch):
    """Run a line of the shell in this process; return what a reader sees, and whether it succeeded."""
    given = [f"{folder}{word}" if word.startswith("/shared/") else word for word in arguments(command)[1]]
    if "presidents.txt.xz" not in given:
        given = smaller(given)
    monkeypatch.setattr(sys, "argv", ["any2vec", *given])  # errors name what was given
    result = CliRunner().invoke(app, given, prog_name="any2vec", standalone_mode=False, env={"COLUMNS": "80"})
    if isinstance(result.exception, UsageError | Any2VecError):
        message = usage(result.exception) if isinstance(result.exception, UsageError) else result.exception
        return f"{result.output}any2vec: {message}\n", False
    if result.exception:
        raise result.exception
    return result.output, not result.return_value


def smaller(given):
    """Give a command small options; `--hosts` only if it is there."""
    given = [*given]
    small = SMALL.get(given[1], SHORT) if given[0] == "tune" else SMALL.get(given[0], {})
    for option, value in small.items():
        if option in given:
            given[given.index(option) + 1] = value
        elif option != "--hosts":
            given += [option, value]
    return given


@pytest.mark.parametrize(
    "name", slow_but(["README.md"], [name for name, found in SHELL.items() if any(map(runs, found))])
)
def test_commands(name, folder, monkeypatch):
    """Run the lines of a page, one after the other, and compare what they print, or write, with what it shows."""
    if not any(step.shown for step in SHELL[name]):
        small = {"dim": 16, "window": 3, "negative": 3, "epochs": 1}
        monkeypatch.setattr(words, "Word2Vec", lambda **given: Word2Vec(**given | small))
    absent, done = set(), {}
    for step in filter(runs, SHELL[name]):
        if step.code not in done:
            done[step.code] = run(step.code, folder, monkeypatch)
        printed, success = done[step.code]
        extra = re.search(r"^any2vec: .*(pip install '[^']+')", printed, re.M)
        if extra and not success:
            absent.add(extra[1])
            continue
        assert success != step.shows_an_error, f"{step.code}: {printed}"
        if success and not AS_SHOWN:
            continue
        if step.form == "json":
            found = differs_json(json.loads("\n".join(step.shown)), written_by(arguments(step.code)[1]))
        else:
            found = step.shown and differs(step.shown, printed)
        assert not found, f"{step.code}: {found}\nprinted:\n{printed}"
    if absent:
        pytest.skip(f"all ran but what needs {', '.join(sorted(absent))}")


@pytest.mark.slow
@needs_mpi
@pytest.mark.mpi
@pytest.mark.parametrize("line", sorted({step.code for step in LINES if step.code.startswith("mpiexec ")}))
def test_ranks(line, tmp_path):
    """Run a line on as many ranks as it says."""
    make_folder(tmp_path)
    before, given = arguments(line)
    inherited = {name: value for name, value in os.environ.items() if name not in VARIABLES}
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    ran = subprocess.run(
        [MPIEXEC, *before[1:], "any2vec", *smaller(given)],
        cwd=tmp_path,
        env=inherited | OPEN_MPI | {"PATH": path},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert not ran.returncode, ran.stderr
    assert f"on {before[before.index('-n') + 1]} hosts of" in ran.stdout + ran.stderr
    (written,) = [tmp_path / name for before, name in pairwise(given) if before == "-o"]
    if given[0] == "classify":
        assert len(Classifier.load(written).classes_) == 2
    else:
        assert len(load(written)) > (100 if given[0] == "words" else 30)


@pytest.mark.slow
def test_spark(tmp_path):
    """Run the Python that needs Spark, of all pages."""
    if importlib.util.find_spec("pyspark") is None or not shutil.which("java"):
        pytest.skip("needs any2vec[spark] and Java")
    found = [step for name in TEXTS for step in python(name)[1]]
    assert any(step.shown for step in found)
    code = (SESSION + script(found)).replace("/shared/models", str(tmp_path / "models"))
    check(found, finish(outside(code, tmp_path), timeout=600))


def test_every_block_is_of_a_step():
    """A block of output follows directly what prints it, or begins with `$` and the command."""
    assert {step.form for name in STEPS for step in STEPS[name] if not step.language} == LOOSE.keys()
    assert sum(bool(step.shown) for name in STEPS for step in STEPS[name]) > 10


def test_every_line_runs_or_says_why_not():
    for step in LINES:
        launcher = arguments(step.code)[0][:1]
        if runs(step):
            assert "any2vec" in step.code.split(), step.code
            assert not launcher or launcher[0] in ALONE, step.code
    for start in [*NOT_RUN, *ALONE]:
        assert any(step.code.startswith(start) for step in LINES), f"no page has {start}"


@pytest.mark.parametrize(
    ("shown", "printed", "found"),
    [
        ("a 1.50\n...\nd 5", "a  1.501\nb\nc\nd 5", None),
        ("...\nd", "a\nd", None),
        ("a\n...", "a\nb", None),
        (
            "12 words/s on 1 thread; scan 0.1 s, peak memory 5 MiB",
            "3,456 words/s on 1 thread; peak memory 78 MiB",
            None,
        ),
        (" combining, s   0.5 1.0", " combining, s   12.5 3.0", None),
        ("a\nd", "a\nb\nd", "d"),
        ("a", "a\nb", "... is missing before 'b'"),
        ("a\n...\nb", "a\nb\nc", "... is missing before 'c'"),
        ("rows changed orthogonally 6.8 %", "rows changed orthogonally  6.7 %", None),
        ("rows changed orthogonally 6.8 %", "rows changed orthogonally  7.8 %", "rows changed orthogonally 6.8 %"),
        ("a 1.50", "a 1.53", "a 1.50"),
        ("a 1,000,001", "a 1,000,002", "a 1,000,001"),
        ("a 1.5 MB", "b 1.5 MB", "a 1.5 MB"),
        ("a", "", "a"),
    ],
)
def test_differences(shown, printed, found):
    assert differs(shown.split("\n"), printed) == found


@pytest.mark.parametrize(
    ("shown", "found"),
    [
        ({"words": 3, "loss": [0.5, 0.401], "seconds": {"train": 99.0}}, None),
        ({"rounds": {"each": [1, "...", 4]}, "...": []}, None),
        ({"words": 4}, ".words"),
        ({"loss": [0.5]}, ".loss"),
        ({"loss": [0.5, 0.41]}, ".loss"),
        ({"rounds": {"each": [1, "...", 5]}}, ".rounds.each"),
        ({"word": 3}, ".word"),
        ({"words": 3.0}, ".words"),
        ({"seconds": {"train": "99"}}, ".seconds.train"),
        ({"seconds": {"read": 1.0}}, ".seconds.read"),
    ],
)
def test_differences_of_json(shown, found):
    written = {"words": 3, "loss": [0.5, 0.4], "seconds": {"train": 1.0}, "rounds": {"each": [1, 2, 3, 4]}, "more": 1}
    assert differs_json(shown, written) == found


@pytest.mark.parametrize("page", sorted(TUTORIALS.glob("*.md")), ids=lambda path: path.stem)
def test_cells_of_tutorials_are_python_or_for_a_shell(page):
    cells = re.findall(r"^```\{code-cell\}\n(.*?)^```$", page.read_text("utf-8"), re.DOTALL | re.MULTILINE)
    for cell in cells:
        if not cell.startswith("%%bash\n"):
            ast.parse(cell)
