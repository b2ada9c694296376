"""What any2vec stands on: bounds of its compilers, the versions that were tried, and what is loaded when."""

import re
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions, requires, version
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DECLARED = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
TESTED = dict(line.split("==") for line in (ROOT / "constraints.txt").read_text("utf-8").split("\n") if "==" in line)
COMPILERS = ["numba", "llvmlite"]


def numbers(text):
    return tuple(map(int, re.findall(r"\d+", text)[:2]))


def bounds(name):
    """Return the lowest version, and the first that is too new."""
    (declared,) = (one for one in DECLARED["dependencies"] if re.match(rf"{name}\b", one))
    low, high = re.fullmatch(rf"{name}>=([\d.]+),<([\d.]+)", declared).groups()
    return numbers(low), numbers(high)


@pytest.mark.parametrize("name", COMPILERS)
def test_the_bound_is_the_release_after_the_one_that_was_tried(name):
    low, high = bounds(name)
    major, minor = numbers(TESTED[name])
    assert low <= (major, minor)
    assert high == (major, minor + 1)


@pytest.mark.parametrize("name", COMPILERS)
def test_what_is_installed_was_tried(name):
    found = numbers(version(name))
    assert found < bounds(name)[1], (
        f"{name} {version(name)} is newer than {TESTED[name]}, which was tried last: run all tests, compare golden "
        "hashes and speed (CONTRIBUTING.md), then raise the bound in pyproject.toml and the version in constraints.txt"
    )


def test_numba_takes_the_llvmlite_of_its_bounds():
    (taken,) = (one for one in requires("numba") if one.startswith("llvmlite"))
    assert max(numbers(one) for one in re.findall(r"<([\d.]+)", taken)) == bounds("llvmlite")[1]


def test_all_that_is_required_has_a_version_that_was_tried():
    extras = DECLARED["optional-dependencies"]
    declared = [DECLARED["dependencies"], *(extras[name] for name in ("test", "arrow", "docs", "mpi", "zstd"))]
    names = [one for part in declared for one in part]
    for name in {re.match(r"[\w-]+", one)[0].lower() for one in names} - {"any2vec"}:
        assert name in TESTED, f"constraints.txt has no {name}"


LOADING = """
import sys, numba  # which loads some of SciPy
before = set(sys.modules)
import any2vec
from any2vec.cli import app
found = [getattr(any2vec, name) for name in any2vec.__all__]
for command in ([], ["words"]):
    sys.argv = ["any2vec", *command, "--help"]
    app(standalone_mode=False)
print("loaded:", *set(sys.modules) - before)
"""


def test_the_package_and_its_help_load_no_library_of_an_extra():
    listed = [one for extra in DECLARED["optional-dependencies"].values() for one in extra]
    optional = {re.match(r"[\w-]+", one)[0].lower() for one in listed} - {"any2vec"}
    modules = {
        module
        for module, names in packages_distributions().items()
        if {n.lower().replace("_", "-") for n in names} & optional
    }
    assert "pytest" in modules
    shown = subprocess.run([sys.executable, "-c", LOADING], capture_output=True, text=True, check=True).stdout
    loaded = {name.split(".")[0] for name in shown.rpartition("loaded:")[2].split()}
    assert {"any2vec", "typer"} <= loaded
    assert sorted(loaded & modules) == []
