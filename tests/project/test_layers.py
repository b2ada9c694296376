"""The rooms of the house: which way imports run, and that what is said twice is said alike."""

import ast
import inspect
import re
from collections import Counter
from dataclasses import fields
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import any2vec
from any2vec import Word2Vec, models
from any2vec.cli.words import words
from any2vec.options import sentence
from any2vec.sync.combiners import COMBINERS
from any2vec.training.options import Options

SOURCE = Path(any2vec.__file__).parent
FIRST = {"__version__", "errors", "private", "signals"}
OTHERS = (
    "options llvm cluster io corpus samples graph plot report walks operators sync training vectors classify evaluate "
    "models plan spark cli __main__"
)
FLOOR = dict.fromkeys(FIRST, 0) | {room: floor for floor, room in enumerate(OTHERS.split(), 1)}
EXTRA = {"vectors": FIRST | {"options", "llvm", "cluster", "io", "corpus", "plot", "report"}}
"""Of the rooms before it, these only."""


def room_of(path):
    return path.relative_to(SOURCE).with_suffix("").parts[0]


def imports(path, types=True):
    """Names of modules of this package that a file imports, anywhere in it; perhaps without what only types need."""
    tree = ast.parse(path.read_text("utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING" and not types:
            node.body = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: a relative import"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        yield from (name for name in names if name.split(".")[0] == "any2vec")


MODULES = [path for path in sorted(SOURCE.rglob("*.py")) if path.parent != SOURCE or path.stem != "__init__"]


def test_a_room_imports_from_rooms_before_it():
    wrong = []
    for path in MODULES:
        room = room_of(path)
        for name in imports(path):
            other = name.split(".")[1]
            known = other == room or (FLOOR.get(other, 99) < FLOOR[room] and other in EXTRA.get(room, FLOOR))
            wrong += [] if known else [f"{path.relative_to(SOURCE)} imports {name}"]
    assert not wrong


def test_no_circle_of_imports():
    """Functions' imports count, too."""
    names = {path: f"any2vec.{'.'.join(path.relative_to(SOURCE).with_suffix('').parts)}" for path in MODULES}
    known = {name.removesuffix(".__init__") for name in names.values()}
    within = {}
    for path, name in names.items():
        found = {other if other in known else other.rpartition(".")[0] for other in imports(path, types=False)}
        within[name.removesuffix(".__init__")] = found & known
    circle = {"any2vec.report.page", "any2vec.report"}  # a report makes its page
    within["any2vec.report.page"] -= circle
    TopologicalSorter(within).prepare()  # raises a CycleError


SMALL = {  # files below 60 lines, and why
    "__main__.py": "python -m",
    "graph/sources/mat_process.py": "a program of its own",
    "io/shown.py": "Rich, which errors do not need",
}
LONG = {  # functions of more than 120 lines
    "graph/parse.py:parse": "a kernel",
    "graph/readers.py:read_graph": "two thirds are its docstring",
    "operators/columns.py:_column_kernels": "kernels",
    "walks/second_order.py:second_order": "a kernel",
    "walks/second_order.py:walk": "a kernel",
}


def test_rooms_are_few_and_full():
    sizes = {str(path.relative_to(SOURCE)): path.read_text("utf-8").count("\n") for path in SOURCE.rglob("*.py")}
    named = {name for name, lines in sizes.items() if lines < 60 and (name == "__init__.py" or "__init__" not in name)}
    assert named == set(SMALL)
    assert max(sizes.values()) <= 450
    folders = Counter(str(Path(name).parent) for name in sizes)
    assert max(folders.values()) <= 15


def test_functions_are_short():
    long = set()
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.FunctionDef) and node.end_lineno - node.lineno >= 120:
                long.add(f"{path.relative_to(SOURCE)}:{node.name}")
    assert long == set(LONG)


def names_of(tree):
    """Functions and values of a file, but commands."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            if not any("command" in ast.unparse(decorator) for decorator in node.decorator_list):
                yield node.name
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from (part.id for target in targets for part in ast.walk(target) if isinstance(part, ast.Name))


def test_functions_and_values_without_an_underscore_are_for_others():
    """So a file needs no list of what it gives; packages have one."""
    root = Path(__file__).parents[2]
    files = [*SOURCE.rglob("*.py"), *(root / "tests").rglob("*.py"), *(root / "docs/reference").glob("*.md")]
    words = {path: set(re.findall(r"\w+", path.read_text("utf-8"))) for path in files}
    only_here = {}
    for path in SOURCE.rglob("*.py"):
        if path.name not in {"__init__.py", "errors.py"}:
            names = {name for name in names_of(ast.parse(path.read_text("utf-8"))) if len(name) > 1 and name[0] != "_"}
            others = set().union(*(found for other, found in words.items() if other != path))
            if missing := names - others:
                only_here[str(path.relative_to(SOURCE))] = missing
    assert only_here == {}


def test_kernels_are_kept_where_nobody_else_may_write():
    keeping = [path for path in MODULES if "cache=True" in path.read_text("utf-8") and path.name != "compiled.py"]
    assert not [path for path in keeping if "any2vec.llvm.compiled.njit" not in imports(path)]


def test_every_room_is_known():
    found = {room_of(path) for path in MODULES}
    assert found | {"__version__"} == set(FLOOR)


def test_the_command_line_is_made_from_the_fields():
    command = {name: p.default for name, p in inspect.signature(words).parameters.items()}
    declared = [f for cls in (Word2Vec, *COMBINERS.values()) for f in fields(cls) if f.metadata.get("panel")]
    shown = {f.name: f.default for f in declared}
    assert shown.items() <= command.items()
    assert {"dim", "negatives_per", "hosts", "kappa", "min_count"} <= set(shown)
    others = "corpus output force cache questions pairs save_vocabulary format training report quiet verbose"
    assert set(command) - set(shown) == set(others.split())


@pytest.mark.parametrize("name", models.__all__)
def test_estimators_document_their_options(name):
    found = getattr(models, name)
    if not inspect.isclass(found) or not hasattr(found, "fit"):
        pytest.skip("no estimator")
    assert issubclass(found, Options)
    for declared in fields(found):
        assert f"    {declared.name} : " in found.__doc__
        assert sentence(declared.metadata["help"])[:40] in found.__doc__
