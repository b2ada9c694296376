"""Pages of the documentation: their code, what they show of its output, and the files that they name."""

import itertools
import lzma
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path

import numpy as np
import pyarrow
from markdown_it import MarkdownIt  # Rich brings it
from pyarrow import parquet
from shown import AS_SHOWN, differs

import any2vec
from any2vec.corpus.parts import Subwords
from any2vec.graph import karate_club
from any2vec.vectors.parts import Parts

ROOT = Path(__file__).parent.parent
MADE = {ROOT / line for line in (ROOT / ".gitignore").read_text("utf-8").split()}  # by docs/conf.py
PAGES = [ROOT / "README.md", *sorted({*(ROOT / "docs").glob("**/*.md")} - MADE)]
TEXTS = {path.relative_to(ROOT).as_posix(): path.read_text("utf-8") for path in PAGES}
OTHERS = re.compile(r"\{.*")  # directives of the site, cells that run when it is built among them
SPEECHES = files("any2vec") / "data" / "presidents.txt.xz"
WORDS = ["good", "bad", "film", "story", "terrible", "man", "king", "woman", "great", "awful", "book"]

END = "<end of a block>"
SHAPE = re.compile(r"^(?!.* = )(\S.*)  # (?:float32, shape )?(\([\d, ]+\))$", re.M)
CHECKED = r"""_found = \1
assert getattr(_found, "shape", _found) == \2, _found
assert getattr(_found, "dtype", "float32") == "float32", _found
"""
BEFORE = """
import gc
import os
gc.set_threshold(100_000)  # as the command line does
if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})  # one thread: fewer kernels to compile
"""


@dataclass
class Step:
    """A line of the shell or a block of Python, and what the page shows of its output.

    Other blocks have an empty `code`: nothing says what they show.
    """

    language: str
    code: str
    form: str = ""
    shown: list[str] = field(default_factory=list)

    @property
    def shows_an_error(self):
        return self.form == "text" and self.shown[0].startswith("any2vec: ")


def steps(text):
    """List the steps of a page.

    Indented blocks, and blocks of bash, are lines of the shell. `$` begins a line in a block of console or text, and
    its output follows. A block of text, console or JSON directly after a step is the output of that step; JSON is the
    file that it wrote.
    """
    found, before = [], None  # the step that a block follows directly
    for token in MarkdownIt().parse(text):
        if token.type not in ("fence", "code_block"):
            before = before if token.nesting < 0 else None
            continue
        form, content = token.info.strip() if token.type == "fence" else "bash", token.content.rstrip("\n")
        if OTHERS.fullmatch(form):
            before = None
        elif form == "python":
            found.append(Step(form, token.content))
            before = found[-1]
        elif form == "bash" or content.startswith("$ "):
            for line in content.replace("\\\n", " ").split("\n"):
                if form == "bash" or line.startswith("$ "):
                    found += [Step("shell", code) for code in commands(line.removeprefix("$ "))]
                else:
                    found[-1].form = form
                    found[-1].shown.append(line)
            before = found[-1]
        else:
            step = before if before and not before.shown and form in ("text", "console", "json") else Step("", "")
            if not step.code:
                found.append(step)
            step.form, step.shown, before = form, content.split("\n"), None
    return found


def python(name):
    """List the steps of Python of a page: those that need no Spark, and those that do."""
    found = [step for step in steps(TEXTS[name]) if step.language == "python"]
    spark = [step for step in found if "any2vec.spark" in step.code or "SparkSession" in TEXTS[name]]
    return [step for step in found if step not in spark], spark


def script(found):
    """Write steps of Python as one program, which checks shapes in comments and prints where each step ends."""
    return "\n".join(f"{SHAPE.sub(CHECKED, step.code)}\nprint({END!r}, flush=True)" for step in found)


def check(found, printed):
    """Compare what the program of `script` printed with what pages show."""
    parts = printed.split(f"{END}\n")
    for step, part in zip(found, parts[:-1], strict=True):
        assert not (step.shown and AS_SHOWN and differs(step.shown, part)), part


def commands(line):
    """List the commands of a line of the shell."""
    return [part.strip() for part in re.sub(r"^#.*", "", line).split("&&") if part.strip()]


def arguments(command):
    """Return the words before `any2vec` in a command, and those after it; none without it."""
    words = shlex.split(command, comments=True)
    at = words.index("any2vec") if "any2vec" in words else len(words)
    return words[:at], words[at + 1 :]


def make_folder(path, dim=100):
    """Fill a folder with the files that pages name; return it."""
    with lzma.open(SPEECHES, "rt") as stream:
        lines = [line.rstrip("\n") for line in itertools.islice(stream, 1500)]
    lines += ["a good film of new york", "the king and the woman", "a bad man and a terrible king"] * 60
    lines += ["a great book and an awful story"] * 60
    text = "\n".join(lines) + "\n"
    for name in ("reviews.txt", "new-reviews.txt", "raw.txt", "old.txt", "new.txt", "text.txt", "text8"):
        (path / name).write_text(text, "utf-8")
    (path / "reviews.txt.xz").write_bytes(lzma.compress(text.encode()))
    labelled = ["__label__good a fine film of new york", "__label__bad a dull film and a terrible story"] * 100
    for name in ("reviews.train.txt", "reviews.test.txt"):
        (path / name).write_text("\n".join(labelled) + "\n", "utf-8")
    rows = "".join(f"{label},{text}\n" for label in ("good", "bad") for text in (f"a {label} film", "the story") * 9)
    for name in ("train.csv", "test.csv"):
        (path / name).write_text("label,text\n" + rows, "utf-8")
    (path / "reviews.csv").write_text("text\n" + text.replace(",", " "), "utf-8")
    shutil.copy(SPEECHES, path)
    (path / "questions-words.txt").write_text(": some\nman king woman good\n", "utf-8")
    (path / "wordsim353.tsv").write_text("good\tbad\t5\ngood\tfilm\t1\nking\twoman\t3\n", "utf-8")
    counts = Counter(text.split()).most_common()
    (path / "counts.txt").write_text("".join(f"{word} {count}\n" for word, count in counts), "utf-8")
    brands = {
        f"{brand[0]}{n}": f"brand={brand} category={'desk' if n % 2 else 'lamp'}"
        for brand in ("acme", "bolt")
        for n in range(8)
    }
    (path / "features.tsv").write_text("".join(f"{item}\t{names}\n" for item, names in brands.items()), "utf-8")
    (path / "sessions.txt").write_text(
        "".join(f"{b}{i % 7} {b}{i // 7 % 7}\n" for b in "ab" for i in range(200)), "utf-8"
    )
    (path / "machines").write_text("localhost\n", "utf-8")
    (path / "parts").mkdir()
    (path / "parts" / "1.txt").write_text(text, "utf-8")
    vectors = any2vec.Vectors(WORDS, np.eye(len(WORDS), dim, dtype=np.float32) + 0.1)
    for name in ("glove.txt", "reviews.bin"):
        any2vec.save(vectors, path / name)
    settings = Subwords(3, 6, 2000)
    ids = np.unique(settings.lists(WORDS)[1])
    parts = Parts(settings, vectors.matrix, ids, np.random.default_rng(1).random((len(ids), dim)))
    made = any2vec.Vectors(WORDS, parts.means(WORDS), parts=parts)
    any2vec.save(made, path / "cc.en.bin", format="fasttext")
    karate = karate_club()
    shutil.copy(karate.edges, path / "friends.edges")
    shutil.copy(karate.labels, path / "friends.labels")
    weighted = [f"g{i} g{j} {1 + i * j % 7}\n" for i in range(9) for j in range(i)]
    (path / "genes.edges").write_text("".join(weighted), "utf-8")
    (path / "papers.edges").write_text("ann p1\nbob p1\nbob p2\np1 kdd\np2 kdd\n", "utf-8")
    kinds = {"author": "ann bob", "paper": "p1 p2", "venue": "kdd"}
    lines = [f"{vertex} {kind}\n" for kind, names in kinds.items() for vertex in names.split()]
    (path / "papers.kinds").write_text("".join(lines), "utf-8")
    (path / "ratings").mkdir()
    rated = {"user": [i % 20 for i in range(100)], "item": [(i // 20 * 3 + i) % 25 for i in range(100)]}
    parquet.write_table(pyarrow.table(rated), path / "ratings" / "part-00000.parquet")
    vertices = [str(i) for i in range(1, 35)]
    any2vec.save(any2vec.Vectors(vertices, np.eye(34, 40, dtype=np.float32) + 0.1), path / "friends.bin")
    return path


def outside(code, folder, *given, **environment):
    """Start a program of a reader."""
    script = folder / f"script-{next(NUMBERS)}.py"
    script.write_text(BEFORE + code, "utf-8")
    return subprocess.Popen(
        [sys.executable, script, *given],
        cwd=folder,
        env=os.environ | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(process, timeout=300):
    """Wait for a program, which must succeed; return what it printed."""
    printed, errors = process.communicate(timeout=timeout)
    assert not process.returncode, errors[-2000:]
    return printed


NUMBERS = itertools.count()
