"""README.md, docs/ and CONTRIBUTING.md hold: Python runs, options exist, with these defaults; links lead somewhere."""

import csv
import re
import runpy
import shlex
import sys
import time
import tomllib
from dataclasses import fields
from pathlib import Path

import pytest
import typer
from marks import slow_but
from pages import PAGES, ROOT, TEXTS, check, finish, make_folder, outside, python, script, steps
from standin_hub import TOKEN, standin

import any2vec
from any2vec.cli import app

ALL = [*ROOT.glob("*.md"), *PAGES[1:], *ROOT.glob("benchmarks/**/*.md")]
TEXT = "\n".join(TEXTS.values())
README = TEXTS["README.md"]
QUOTED = re.findall(r"`(any2vec [^`]+)`", TEXT)
ROWS = re.findall(r"^\| (`--.*?) \| *(.*?) *\|", TEXTS["docs/options.md"], re.M)
OPTIONS = [(name, default) for cell, default in ROWS for name in re.findall("`--([^`]+)`", cell)]
NAMED = sorted(set(re.findall(r"`--([a-z][a-z-]*)", TEXT)))
PEERS = re.findall(
    r"^\| (.*)\|(.*)\|$", TEXTS["docs/from-pecanpy.md"].split("\n## ")[1], re.M
)  # their options, and ours
FOREIGN = {"max-restarts", "mpi", "data", "corpus", "questions"}  # options of torchrun, srun and experiments
FOREIGN |= set.difference(
    *(set(re.findall(r"`--([a-z][a-z-]*)", " ".join(cells))) for cells in zip(*PEERS, strict=True))
)
COMMAND = typer.main.get_command(app)
RECIPES = {  # of CONTRIBUTING.md, by their headings
    part.partition("\n")[0]: part for part in (ROOT / "CONTRIBUTING.md").read_text("utf-8").split("\n### ")[1:]
}

AFTER = {  # that what a recipe has made does what it says
    "A graph source": """
from any2vec.graph import read_graph
from pathlib import Path
Path("tiny.metis").write_text("3 2\\n2\\n1 3\\n2\\n")
assert (len(read_graph("tiny.metis")), read_graph("tiny.metis").edges) == (3, 2)
""",
    "A file format of vectors": """
from any2vec import load, save
save(Vectors(["a", "b"], np.eye(2, dtype=np.float32)), "tiny.jsonl")
assert (load("tiny.jsonl")["b"] == [0, 1]).all()
""",
    "A target of export": """
from pathlib import Path
assert Path("tiny.csv").read_text() == "a,1.0,2.0\\nb,3.0,4.0\\n"
Vectors(["a"], [[5]]).to_csv("tiny.csv")
""",
    "An engine": """
import sys
import any2vec
from any2vec import Word2Vec, save
hosts = any2vec.cluster.connect() if "TOY_RANK" in os.environ else None
how = {} if hosts else {"hosts": 2}
model = Word2Vec(min_count=1, sample=0, cache=None, threads=1, **how).fit("text.txt", communicator=hosts)
save(model.vectors_, sys.argv[1], communicator=hosts)
""",
}


def leaves(command=COMMAND):
    """Yield all commands."""
    if not hasattr(command, "commands"):
        yield command
        return
    for name in command.commands:
        yield from leaves(command.load(name) if command is COMMAND else command.commands[name])


def command_of(line):
    """Find the command that a line calls; return it with the arguments after its name."""
    words = shlex.split(line, comments=True)
    words, command = words[words.index("any2vec") + 1 :], COMMAND
    while words and hasattr(command, "commands") and not words[0].startswith("-"):
        name = words.pop(0)
        assert name in command.commands, line
        command = command.load(name) if command is COMMAND else command.commands[name]
    return command, [word for word in words if word != "--help-all"]  # found before the others are parsed


def parse(command, arguments):
    """Parse without looking at values: files in a page need not exist."""
    context = command.make_context(command.name, [], resilient_parsing=True)
    return command.make_parser(context).parse_args(arguments)


@pytest.fixture
def folder(tmp_path):
    """Make a folder with the files that pages name."""
    return make_folder(tmp_path)


def test_there_is_something_to_check():
    assert len(PAGES) > 9
    assert all((QUOTED, OPTIONS, NAMED))
    assert sum(len(python(name)[0]) for name in TEXTS) > 9
    assert README.count("\n") <= 153


@pytest.mark.parametrize("name", slow_but(["README.md"], [name for name in TEXTS if python(name)[0]]))
def test_python(name, folder):
    """Run the blocks of a page, one after the other; test_pages.py has those for Spark."""
    found, _ = python(name)
    code = script(found)
    if "push_to_hub" in code:
        pytest.importorskip("huggingface_hub")
        with standin() as server:
            hub = {"HF_ENDPOINT": server.endpoint, "HF_TOKEN": TOKEN, "HF_HOME": str(folder / "home")}
            check(found, finish(outside(code, folder, **hub)))
    else:
        check(found, finish(outside(code, folder)))


def test_examples_for_gensim(folder, monkeypatch, capsys):
    """The tutorials of gensim, rewritten, run and answer well."""
    pytest.importorskip("gensim")
    monkeypatch.chdir(folder)
    answered = {}
    for name, arguments in (
        ("word2vec", ["reviews.txt", "--questions", "questions-words.txt"]),
        ("soft_cosine", []),
        ("similarity_queries", ["reviews.txt", "--query", "a terrible king and a bad man"]),
    ):
        monkeypatch.setattr(sys, "argv", [name, *arguments])
        runpy.run_path(str(ROOT / "examples" / "gensim" / f"{name}.py"), run_name="__main__")
        answered[name] = capsys.readouterr().out
    assert "'xylophone' has no vector\n" in answered["word2vec"]
    assert re.search(r"^analogies: .*% of 1$", answered["word2vec"], re.M)
    assert (folder / "speeches.png").stat().st_size > 10_000
    near, far = (float(line.split()[0]) for line in answered["soft_cosine"].splitlines()[1:])
    assert near > far + 0.1
    assert "a bad man and a terrible king" in answered["similarity_queries"].splitlines()[0]


@pytest.mark.parametrize("name", ["word2vec", "soft_cosine", "similarity_queries"])
def test_examples_for_gensim_without_their_file(name, folder, monkeypatch, capsys):
    """One error names the file, and nothing is trained."""
    pytest.importorskip("gensim")
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "argv", [name, "nofile"])
    with pytest.raises(SystemExit) as raised:
        runpy.run_path(str(ROOT / "examples" / "gensim" / f"{name}.py"), run_name="__main__")
    said = capsys.readouterr().err + str(raised.value.code)
    assert raised.value.code != 0
    assert re.search(r"error: nofile: (no such file|does not exist)", said, re.I)


@pytest.mark.parametrize(
    "name", slow_but(["An option"], [name for name, text in RECIPES.items() if "```python" in text])
)
def test_recipes(name, folder):
    """Run a recipe of CONTRIBUTING.md, and use what it makes."""
    code = "\n".join(step.code for step in steps(RECIPES[name]) if step.language == "python")
    code = f"from any2vec.options import option\n{code}" if name == "An option" else code
    code += AFTER.get(name, "")
    if name != "An engine":
        finish(outside(code, folder))
        return
    toy = {"TOY_SIZE": "2", "TOY_SOCKET": str(folder / "toy")}
    first = outside(code, folder, "two.bin", TOY_RANK="0", **toy)
    while not (folder / "toy").exists() and first.poll() is None:
        time.sleep(0.05)
    finish(outside(code, folder, "two.bin", TOY_RANK="1", **toy))
    finish(first)
    finish(outside(code, folder, "simulated.bin"))
    assert (folder / "two.bin").read_bytes() == (folder / "simulated.bin").read_bytes()


@pytest.mark.parametrize("line", QUOTED)
def test_mentioned_commands(line):
    parse(*command_of(line))


def test_mentioned_options():
    known = {
        option for command in leaves() for param in command.params for option in (*param.opts, *param.secondary_opts)
    }
    known |= {option for param in COMMAND.params for option in param.opts} | {"--help-all"}
    assert {f"--{name}" for name in NAMED} - {f"--{name}" for name in FOREIGN} <= known


@pytest.mark.parametrize(("name", "default"), OPTIONS)
def test_options_and_defaults(name, default):
    command, _ = command_of("any2vec words")
    assert f"--{name}" in {option for param in command.params for option in (*param.opts, *param.secondary_opts)}
    known = {field.name: field.default for field in fields(any2vec.Word2Vec)}.get(name.replace("-", "_"))
    if isinstance(known, str) and known != "auto":
        assert default == known
    elif isinstance(known, int | float) and re.fullmatch(r"[\d.]+", default):
        assert float(default) == known


def test_all_options_are_described():
    """An option of `any2vec words` that users see is on the page of options."""
    command, _ = command_of("any2vec words")
    shown = {param.opts[0] for param in command.params if param.opts[0].startswith("--") and not param.hidden}
    others = "--cache --blend --shrink-windows --output --help --help-all --version"
    assert shown <= {f"--{name}" for name, _ in OPTIONS} | set(others.split())


@pytest.mark.parametrize("path", ALL, ids=lambda path: str(path.relative_to(ROOT)))
def test_links(path):
    """What a page links to, or shows, is there."""
    for found in re.findall(r"\]\(([^)\s]+)\)|src=\"([^\"]+)\"", path.read_text("utf-8")):
        target, _, anchor = "".join(found).partition("#")
        if not target.startswith("http"):
            other = (path.parent / target) if target else path
            assert other.exists(), target
            heads = re.findall(r"^#+ (.*)", other.read_text("utf-8"), re.M) if anchor else []
            assert not anchor or anchor in {re.sub(r"[^\w -]", "", head).lower().replace(" ", "-") for head in heads}


def test_scripts():
    """The scripts that pages name exist."""
    text = TEXT + (ROOT / "benchmarks" / "README.md").read_text("utf-8")
    for name in set(re.findall(r"(?:benchmarks|docs|examples)/[\w/]+\.(?:py|csv)", text)):
        assert (ROOT / name).exists(), name
    for name in set(re.findall(r"`(\w+\.py)`", (ROOT / "benchmarks" / "README.md").read_text("utf-8"))):
        assert (ROOT / "benchmarks" / name).exists(), name


def test_figures_of_the_picture():
    """The figures that `benchmarks/chart.py` draws are those of README.md or of the results page."""
    with (ROOT / "benchmarks" / "results.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) > 5
    pages = README + (ROOT / "benchmarks" / "README.md").read_text("utf-8")
    for row in rows:
        assert re.search(rf"\b{re.escape(row['times'])}(x|\b)", pages), row


def test_citation():
    cited = (ROOT / "CITATION.cff").read_text("utf-8")
    assert re.search(r"^version: (.*)", cited, re.M)[1] == any2vec.__version__
    assert "Distributed Training of Embeddings using Graph Analytics" in cited


def test_cited_tests():
    """Tests that ARCHITECTURE.md names exist."""
    cited = re.findall(r"(\w+/test_\w+\.py)::(test_\w+)", (ROOT / "ARCHITECTURE.md").read_text("utf-8"))
    assert len(cited) > 20
    for file, test in cited:
        assert f"def {test}(" in (ROOT / "tests" / file).read_text("utf-8"), test


def test_pictures_are_small():
    pictures = list((ROOT / "docs" / "images").glob("*.svg"))
    assert len(pictures) >= 3
    assert all(path.stat().st_size < 100_000 for path in pictures)


def test_folders_and_extras():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    assert set(re.findall(r"(?:\.|any2vec)\[(\w+)\]", TEXT)) <= set(extras)
    table = re.findall(r"^\| (`\w+`.*?) \|", TEXTS["docs/install.md"].split("## Extras")[1].split("\n## ")[0], re.M)
    assert set(re.findall(r"`(\w+)`", " ".join(table))) == set(extras)
    folders = re.findall(r"^\| `(\w+)/` \|", (ROOT / "ARCHITECTURE.md").read_text("utf-8"), re.M)
    assert set(folders) <= {path.name for path in Path(any2vec.__file__).parent.iterdir()}
    assert len(folders) > 8
