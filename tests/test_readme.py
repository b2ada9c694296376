"""README.md holds: Python blocks import, commands and options exist, defaults are those of the code."""

import ast
import re
import shlex
import tomllib
from dataclasses import fields
from pathlib import Path

import pytest
import typer

import any2vec
from any2vec.cli import app

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text("utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```", README, re.M | re.S)
INDENTED = re.findall(r"^    (.+)", re.sub(r"^```.*?^```", "", README, flags=re.M | re.S), re.M)
LINES = [part for line in INDENTED for part in line.split("&&") if re.search(r"(^|\s)any2vec(\s|$)", part)]
QUOTED = re.findall(r"`(any2vec [^`]+)`", README)
ROWS = re.findall(r"^\| (`--.*?) \| *(.*?) *\|", README, re.M)
OPTIONS = [(name, default) for cell, default in ROWS for name in re.findall("`--([^`]+)`", cell)]
COMMAND = typer.main.get_command(app)


def command_of(line):
    """Find the command that a line calls; return it with the arguments after its name."""
    words = shlex.split(line, comments=True)
    words, command = words[words.index("any2vec") + 1 :], COMMAND
    while words and hasattr(command, "commands"):
        name = words.pop(0)
        assert name in command.commands, line
        command = command.load(name) if command is COMMAND else command.commands[name]
    return command, words


def parse(command, arguments):
    """Parse without looking at values: files in README need not exist."""
    context = command.make_context(command.name, [], resilient_parsing=True)
    return command.make_parser(context).parse_args(arguments)


def test_there_is_something_to_check():
    assert all((BLOCKS, LINES, QUOTED, OPTIONS))


@pytest.mark.parametrize("block", BLOCKS)
def test_python(block):
    imports = [node for node in ast.walk(ast.parse(block)) if isinstance(node, ast.Import | ast.ImportFrom)]
    assert imports
    if "any2vec.spark" in block:
        pytest.importorskip("pyspark")
    exec(compile(ast.Module(imports, []), "README.md", "exec"), {})


@pytest.mark.parametrize("line", LINES)
def test_commands(line):
    command, arguments = command_of(line)
    given, rest, _ = parse(command, arguments)
    assert not rest
    assert not [param.name for param in command.params if param.required and not given.get(param.name)]


@pytest.mark.parametrize("line", QUOTED)
def test_mentioned_commands(line):
    parse(*command_of(line))


@pytest.mark.parametrize(("name", "default"), OPTIONS)
def test_options_and_defaults(name, default):
    command, _ = command_of("any2vec words")
    assert f"--{name}" in {option for param in command.params for option in param.opts}
    known = {field.name: field.default for field in fields(any2vec.Word2Vec)}.get(name.replace("-", "_"))
    if isinstance(known, str):
        assert default == known
    elif isinstance(known, int | float) and re.fullmatch(r"[\d.]+", default):
        assert float(default) == known


def test_folders_and_extras():
    folders = re.findall(r"^\| `(\w+)/` \|", README, re.M)
    assert set(folders) <= {path.name for path in Path(any2vec.__file__).parent.iterdir()}
    assert len(folders) > 8
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    assert set(re.findall(r"(?:\.|any2vec)\[(\w+)\]", README)) <= set(extras)
