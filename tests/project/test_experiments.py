"""`experiments`: the names, one tiny experiment, and the page that shows the figures."""

import importlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "results" / "papers.md").read_text("utf-8")
sys.path.insert(0, str(ROOT))
KEPT = sorted((ROOT / "experiments" / "results").glob("*.json"))


def run(*arguments):
    command = [sys.executable, "-m", "experiments", *map(str, arguments)]
    env = {name: value for name, value in os.environ.items() if name != "ANY2VEC_DATA"} | {"COLUMNS": "150"}
    return subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)


def test_names_are_listed():
    experiments = importlib.import_module("experiments")
    ran = run()
    assert ran.returncode == 0, ran.stderr
    lines = ran.stdout.splitlines()
    assert [line.split()[0] for line in lines] == list(experiments.EXPERIMENTS)
    assert all(len(line.split()) > 4 for line in lines)  # each says what it repeats


def test_a_tiny_experiment(tmp_path):
    pytest.importorskip("matplotlib")
    text = tmp_path / "text.txt"
    text.write_text("the cat sat on the mat and the dog sat on the rug\n" * 200, "utf-8")
    sizes = ("--dim", 16, "--window", 3, "--negative", 3, "--epochs", 2, "--hosts", 4, "--threads", 1)
    ran = run("orthogonality", "--corpus", text, "--results", tmp_path, *sizes)
    assert ran.returncode == 0, ran.stderr
    found = json.loads((tmp_path / "orthogonality.json").read_text("utf-8"))
    (table,) = found["tables"]
    assert [row[0] for row in table["rows"]] == ["1", "2"]
    assert all(0 <= float(cell) <= 100 for row in table["rows"] for cell in row[1:])
    assert found["settings"]["dim"] == 16
    assert (tmp_path / "orthogonality.svg").read_text("utf-8").count("<path") > 4


@pytest.mark.parametrize(
    ("name", "said"),
    [("nothing", "no experiment 'nothing'"), ("systems", "questions-words.txt: give --data FOLDER")],
)
def test_what_is_missing_is_named(name, said):
    ran = run(name)
    assert ran.returncode == 2
    assert said in ran.stderr
    assert "Traceback" not in ran.stderr


@pytest.mark.parametrize("path", KEPT, ids=lambda path: path.stem)
def test_the_page_has_the_figures(path):
    """Each table of results/NAME.json is on the page, as the program wrote it."""
    pytest.importorskip("gensim")  # benchmarks/machine.py asks for its version
    markdown = importlib.import_module("experiments.found").markdown
    for table in json.loads(path.read_text("utf-8"))["tables"]:
        for line in markdown(table):
            assert line in PAGE
