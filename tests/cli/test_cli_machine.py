"""Commands that show what there is: the machine, vectors, caches; and asking for neighbours at a prompt."""

import os
import pty
import re
import select
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from any2vec import Vectors, Word2Vec, save
from any2vec.cli import app, doctor, training
from any2vec.errors import Any2VecError

WORDS = ["north", "south", "east", "west"]


@pytest.fixture
def vectors():
    rows = np.array([[1, 0], [0.9, 0.1], [0, 2], [0, 0]], np.float32)
    return Vectors(WORDS, rows, counts=np.array([9, 5, 3, 1]), t=rows)


def run(*arguments):
    return CliRunner().invoke(app, list(map(str, arguments)), env={"COLUMNS": "200"})


@pytest.mark.parametrize(
    ("name", "kind"), [("v.txt", "text"), ("v.bin", "word2vec's binary format"), ("v", "a folder of any2vec")]
)
def test_info(vectors, tmp_path, name, kind):
    save(vectors, tmp_path / name, training=name == "v")
    result = run("info", tmp_path / name)
    assert result.exit_code == 0, result.output
    facts = {line.split()[0]: line.split(maxsplit=1)[1].strip() for line in result.output.splitlines()}
    assert facts["format"].startswith(kind)
    assert facts["vectors"] == "4 of 2 dimensions, all finite"
    assert facts["norms"].startswith("0.000 to 2.000, mean ")
    assert facts["norms"].endswith("; 1 are zero")
    assert facts["counts"] == ("18 in all, from 1 to 9" if name == "v" else "none")
    assert ("t of the loss negative" in facts["training"]) == (name == "v")
    assert facts["words"] == "north, south, east, west"
    assert "model" not in facts


def test_info_of_a_model_and_of_nothing(tmp_path):
    model = Word2Vec(dim=4, window=3, negative=3, min_count=1, epochs=1, threads=1, cache=None).fit([["a", "b"]] * 50)
    model.save(tmp_path / "m")
    assert "in model.json" in run("info", tmp_path / "m").output
    assert "does not exist" in str(run("info", tmp_path / "none.bin").exception)


def test_info_names_a_vector_that_is_not_finite(tmp_path):
    (tmp_path / "v.txt").write_text("2 2\na 1 2\nb nan 1\n")
    result = run("info", tmp_path / "v.txt")
    assert result.exit_code == 1
    assert "line 3: 'nan' is not a finite" in str(result.exception)


def test_doctor_knows_all_extras():
    """But those of developers."""
    declared = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text("utf-8"))
    extras = declared["project"]["optional-dependencies"]
    assert set(doctor._EXTRAS) == set(extras) - {"bench", "docs", "test"}
    said = run("doctor").stdout
    assert all(extra in said for extra in doctor._EXTRAS)


def test_doctor_finds_nothing_wrong():
    result = run("doctor")
    assert result.exit_code == 0, result.output
    for name in ("any2vec", "libraries", "extras", "cores", "launchers", "kernels", "corpora", "disk"):
        assert re.search(rf"^{name} +\S", result.output, re.M), name
    assert "bits" in result.output
    assert result.output.rstrip().endswith("nothing is wrong")


@pytest.mark.parametrize(
    ("variables", "message"),
    [
        ({"NUMBA_DISABLE_JIT": "1"}, "wrong: libraries: NUMBA_DISABLE_JIT is set"),
        ({"WORLD_SIZE": "2", "RANK": "0"}, "wrong: launchers: "),
        ({"ANY2VEC_CACHE": "/dev/null/cache"}, "wrong: corpora: /dev/null/cache: "),
        ({"ANY2VEC_CACHE_LIMIT": "much"}, "wrong: corpora: ANY2VEC_CACHE_LIMIT is 'much'"),
    ],
)
def test_doctor_says_what_is_wrong(variables, message, monkeypatch):
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    result = run("doctor")
    assert result.exit_code == 1
    assert message in result.output
    assert "nothing is wrong" not in result.output


def test_doctor_says_that_the_disk_is_full(monkeypatch):
    monkeypatch.setattr(doctor, "_LEAST", 10**18)
    result = run("doctor")
    assert result.exit_code == 1
    assert "wrong: disk: " in result.output
    assert "make space" in result.output


def test_words_of_the_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("ANY2VEC_CACHE", str(tmp_path / "cache"))
    (tmp_path / "text").write_text("a b a b\n" * 20)
    Word2Vec(dim=4, window=3, negative=3, min_count=1, epochs=1, threads=1).fit(str(tmp_path / "text"))
    assert run("cache", "list").output == run("cache").output
    assert "1 corpus" in run("cache", "list").output
    assert "1 removed" in run("cache", "clear").output
    assert "0 corpora" in run("cache", "list").output
    assert str(run("cache", "empty").exception) == "'empty': known are list, clear"
    with pytest.raises(Any2VecError, match=r"^clear and --limit are given"):
        CliRunner().invoke(app, ["cache", "clear", "--limit", "1GB"], catch_exceptions=False, standalone_mode=False)


def test_similar_asks_at_a_terminal(vectors, tmp_path):
    save(vectors, tmp_path / "v.txt")
    command = [sys.executable, "-m", "any2vec", "similar", str(tmp_path / "v.txt"), "--topn", "1"]
    mine, theirs = pty.openpty()
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, close_fds=True) as process:
        os.close(theirs)
        said = ""
        for wait, typed in (("> ", "north\n"), ("> ", "nothing\n"), ("> ", "\x04")):
            said += read_until(mine, wait)
            os.write(mine, typed.encode())
        said += read_until(mine, "never")
    os.close(mine)
    assert process.returncode == 0, said  # an unknown word is no failure of a conversation
    assert "a word per line; Ctrl-D ends" in said
    assert "south" in said
    assert "no vector for 'nothing'" in said


def read_until(terminal, wanted):
    said = ""
    while wanted not in said and select.select([terminal], [], [], 60)[0]:
        try:
            said += os.read(terminal, 4096).decode()
        except OSError:  # the other end is closed
            break
    return said


def test_the_end_of_a_run_shows_neighbours(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    chance = np.random.default_rng(1)
    groups = [[f"{letter}{'x' * n}{other}" for n in range(3, 9)] for letter in "abcdef" for other in "gh"]
    lines = [" ".join(chance.permutation(groups[i % len(groups)])) + " the" for i in range(600)]
    (tmp_path / "text").write_text("\n".join(lines) + "\n")
    how = ["words", "text", "-o", "my vectors", "--dim", "16", "--threads", "1", "--no-cache", "--sample", "0"]
    how += ["--window", "3", "--negative", "3"]
    said = run(*how).stderr.splitlines()
    where = said.index("the vectors of 73 words are in my vectors")
    *shown, last = said[where + 1 :]
    assert len(shown) == 3
    for line in shown:
        word, *near = line.replace(",", "").split()
        assert word != "the"
        assert len(near) == 5
    assert last == f"next: any2vec similar 'my vectors' {shown[0].split()[0]}"
    assert run(*how, "-q").output == ""


def test_the_words_shown_say_something():
    words = ["the", "of", "and", "war", "don't", "peace", "19th", "economy", "children"]
    counts = np.array([9_000_000, 5_000_000, 3_000_000, 1000, 900, 800, 700, 600, 500])
    vectors = Vectors(words, np.eye(9, dtype=np.float32), counts=counts)
    assert training._telling(vectors, "words") == ["peace", "economy", "children"]
    assert training._telling(vectors, "vertices") == ["the", "of", "and"]
