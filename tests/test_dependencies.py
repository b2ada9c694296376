"""What any2vec stands on: bounds of the compilers that its kernels are made with, and the versions that were tried."""

import re
import tomllib
from importlib.metadata import requires, version
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
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
