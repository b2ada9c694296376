"""Asking for help and for the version, as users of other programs do; and what to install."""

import importlib.metadata
import re

import pytest
from typer.testing import CliRunner

from any2vec import __version__
from any2vec.cli import app
from any2vec.cli.commands import COMMANDS
from any2vec.errors import installing

EVALUATE = ["analogies", "similarity", "nodes", "links", "split"]
ALL = [[], *([name] for name in COMMANDS), *(["evaluate", name] for name in EVALUATE)]


def shown(*arguments):
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    return result.output


@pytest.mark.parametrize("command", ALL, ids=" ".join)
def test_help(command):
    expected = shown(*command, "--help")
    assert "Usage" in expected or "word2vec" in expected
    assert shown(*command, "-h") == expected
    assert shown("help", *command) == expected
    assert shown("help", "help", *command) == expected


def test_help_of_a_group():
    assert shown("evaluate", "help", "nodes") == shown("evaluate", "nodes", "--help")


@pytest.mark.parametrize("command", ALL, ids=" ".join)
def test_version(command):
    assert shown(*command, "--version") == f"any2vec {__version__}\n"


def test_version_as_a_command():
    assert shown("version") == f"any2vec {__version__}\n"


def test_help_of_no_command():
    result = CliRunner().invoke(app, ["help", "noodles"], standalone_mode=False)
    assert "no such command 'noodles'" in str(result.exception).lower()


def test_what_to_install_needs_no_distribution_of_ours(monkeypatch):
    """There may be none on PyPI: the requirements of an extra can be installed anywhere."""
    for extra in importlib.metadata.metadata("any2vec").get_all("Provides-Extra"):
        command = installing(extra, "module")
        assert re.match(r"pip install '\S+[<>=]+\S+'( '\S+[<>=]+\S+')*$", command), command
        assert "any2vec" not in command
    assert "pyspark" in installing("spark", "")
    assert "pyarrow" in installing("spark", "")  # an extra that it names

    def nothing(name):
        raise importlib.metadata.PackageNotFoundError

    monkeypatch.setattr(importlib.metadata, "requires", nothing)
    assert installing("zstd", "zstandard") == "pip install zstandard"
