"""The rooms of the house: which way imports run, and that what is said twice is said alike."""

import ast
import inspect
from dataclasses import MISSING, fields
from pathlib import Path

import pytest

import any2vec
from any2vec import Word2Vec, models
from any2vec.cli.words import words
from any2vec.training.options import Options

SOURCE = Path(any2vec.__file__).parent
ROOMS = [
    {"errors", "signals", "version"},
    {"llvm"},
    {"cluster"},
    {"io"},
    {"corpus"},
    {"samples"},
    {"graph"},
    {"walks"},
    {"operators"},
    {"sync"},
    {"training"},
    {"vectors"},
    {"evaluate"},
    {"models"},
    {"cli"},
    {"__main__"},
]
FLOOR = {room: floor for floor, rooms in enumerate(ROOMS) for room in rooms}
EXTRA = {"vectors": {"errors", "signals", "version", "cluster", "io", "corpus"}}  # of rooms before it, these only


def room_of(path):
    return path.relative_to(SOURCE).with_suffix("").parts[0]


def imports(path):
    """Names of modules of this package that a file imports, anywhere in it."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: a relative import"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        yield from (name for name in names if name.split(".")[0] == "any2vec")


MODULES = [path for path in sorted(SOURCE.rglob("*.py")) if path.parent != SOURCE or path.stem != "__init__"]


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_a_room_imports_from_rooms_before_it(path):
    room = room_of(path)
    for name in imports(path):
        other = name.split(".")[1]
        assert other in FLOOR, name
        assert other == room or FLOOR[other] < FLOOR[room], f"{room} imports {name}"
        assert other == room or other in EXTRA.get(room, FLOOR), f"{room} imports {name}"


def test_every_room_is_known():
    found = {room_of(path) for path in MODULES}
    assert found == set(FLOOR)


def test_defaults_agree():
    options = {f.name: f.default for f in fields(Options)}
    model = {f.name: f.default for f in fields(Word2Vec) if f.default is not MISSING}
    assert options == {name: model[name] for name in options}
    command = {
        name: parameter.default
        for name, parameter in inspect.signature(words).parameters.items()
        if parameter.default is not inspect.Parameter.empty
    }
    assert command.pop("cache") is True
    for name in ("questions", "pairs", "training", "report", "quiet"):
        command.pop(name)
    others = {"cache", "callbacks", "display"}
    assert command == {name: default for name, default in model.items() if name not in others}


def test_models_share_the_options():
    shared = {f.name for f in fields(Options)} | {"hosts", "callbacks", "display"}
    for name in models.__all__:
        found = getattr(models, name)
        if inspect.isclass(found) and hasattr(found, "fit"):
            assert shared <= {f.name for f in fields(found)}
