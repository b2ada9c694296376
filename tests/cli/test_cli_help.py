"""Asking for help and for the version, as users of other programs do; and what to install."""

import importlib.metadata
import re
import shlex
import sys

import pytest
import typer
from typer.testing import CliRunner

from any2vec import __version__
from any2vec.cli import COMMANDS, app
from any2vec.cli.help import SCREENS, usage
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


@pytest.mark.parametrize("command", ALL, ids=" ".join)
def test_the_first_screen_is_a_screen_with_an_example(command):
    found = CliRunner().invoke(app, [*command, "--help"], env={"COLUMNS": "80"}).output
    lines = found.strip("\n").splitlines()
    assert len(lines) <= 40
    assert max(map(len, lines)) <= 80
    assert re.search(rf"^ *any2vec {' '.join(command)}.*", found, re.M)


@pytest.mark.parametrize("command", ["words", "nodes", "walks", "phrases", "evaluate split"])
def test_help_all_has_everything(command):
    loaded = typer.main.get_command(app)
    for name in command.split():
        loaded = loaded.load(name) if hasattr(loaded, "load") else loaded.commands[name]
    brief, whole = (shown(*command.split(), how) for how in ("--help", "--help-all"))
    for param in loaded.params:
        if not getattr(param, "hidden", False) and param.param_type_name == "option":
            assert re.search(rf"{param.opts[0]}\b", whole), param.name
    assert "--help-all" in brief
    assert len(brief.splitlines()) < len(whole.splitlines())
    assert shown(*command.split(), "--help") == brief  # showing everything leaves nothing behind


def test_screens_are_of_commands_and_options_that_exist():
    root = typer.main.get_command(app)
    for path, screen in SCREENS.items():
        loaded = root
        for name in path.split():
            loaded = loaded.load(name) if loaded is root else loaded.commands[name]
        assert set(screen.options.split()) <= {param.name for param in loaded.params}, path
        for example in screen.examples:
            words = shlex.split(example.partition("<")[0])
            if not hasattr(loaded, "commands"):
                context = loaded.make_context(path, [], resilient_parsing=True)
                loaded.make_parser(context).parse_args(words)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("words --model ", "skipgram cbow"),
        ("words --scheme pull", "pull-base pull-opt"),
        ("nodes --combine a", "average adasum"),
        ("walks --format e", "edges"),
        ("evaluate links --operator h", "hadamard"),
        ("cache c", "clear"),
    ],
)
def test_values_complete(line, expected, monkeypatch):
    monkeypatch.setenv("COMP_WORDS", f"any2vec {line}")
    monkeypatch.setenv("COMP_CWORD", str(len(line.split(" "))))
    monkeypatch.setenv("_ANY2VEC_COMPLETE", "complete_bash")
    found = CliRunner().invoke(app, [], prog_name="any2vec")
    assert found.output.split() == expected.split()


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        ("words x -o y --vector-size 100", "--dim"),
        ("words x -o y --size=100", "--dim"),
        ("words x -o y -size 100", "--dim"),
        ("words x -o y --workers 4", "--threads"),
        ("words x -o y --iter 4", "--epochs"),
        ("words x -o y --sg 1", "--model skipgram"),
        ("words x -o y -cbow 1", "--model cbow"),
        ("words x -o y --hs 1", "--loss hierarchical"),
        ("words x -o y --min_count 4", "--min-count"),
        ("words x -o y --windwo 4", "--window"),
        ("words x -o y -minn 3", "--subwords minn-maxn"),
        ("classify x -o y -wordNgrams 2", "--word-ngrams"),
        ("classify x -o y -lr 0.5", "--alpha"),
        ("classify x -o y -cutoff 100", "`any2vec quantize` has it"),
        ("words x -o y -wordNgrams 2", "`any2vec classify` have it"),
        ("documents x -o y --subwords 3-6", "no parts here"),
        ("similar x --features a", "perhaps --feature is"),
        ("words -o y --train x", "after the command"),
        ("words x -o y --max-vocab-size 9", "--max-size"),
        ("nodes x -o y --num-walks 4", "--walks"),
        ("nodes x -o y --walk-length 4", "--length"),
        ("nodes x -o y --representation-size 4", "--dim"),
        ("words x -o y --extend", "`any2vec nodes` have it"),
        ("nodes x -o y --strat v", "no such option: --strat"),
        ("phrases x -o y --delimiter _", "--joiner"),
        ("similar x --binary", "the ending says the format"),
    ],
)
def test_options_of_other_programs_are_answered_by_ours(line, meant, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["any2vec", *line.split()])
    result = CliRunner().invoke(app, line.split(), standalone_mode=False)
    said = usage(result.exception)
    assert meant in said
    assert said.startswith("no such option: -")
    assert len(said.splitlines()) == 1


def test_help_of_a_group():
    assert shown("evaluate", "help", "nodes") == shown("evaluate", "nodes", "--help")


@pytest.mark.parametrize("arguments", [["version"], *([*command, "--version"] for command in ALL)], ids=" ".join)
def test_version(arguments):
    assert shown(*arguments) == f"any2vec {__version__}\n"


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
