import json
import math
import re
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from any2vec import cli
from any2vec.errors import Any2VecError, FileError, UnknownWordError
from any2vec.io.shown import Console
from any2vec.training.progress import Logged, PlainLines, Quiet, warn
from any2vec.vectors import Vectors
from any2vec.vectors.files import save


@pytest.fixture
def run():
    def invoke(*arguments, **more):
        result = CliRunner().invoke(cli.app, [str(argument) for argument in arguments], **more)
        if isinstance(result.exception, Any2VecError):
            raise result.exception
        assert result.exit_code == 0, result.output
        assert "\x1b" not in result.output  # plain when piped
        return [line.rstrip() for line in result.output.splitlines()]

    return invoke


@pytest.fixture
def royal(tmp_path):
    rows = np.array([[1, 0, 0], [1, 1, 0], [0, 0, 1], [0, 1, 1], [1, 1, 1]], np.float32)
    save(Vectors(["man", "king", "woman", "queen", "[bold]:smile:"], rows), tmp_path / "royal")
    return tmp_path / "royal"


def test_similar(run, royal):
    lines = run("similar", royal, "king", "[bold]:smile:", "--topn", 2)
    assert [line.split() for line in lines if line] == [
        ["king"],
        ["[bold]:smile:", "0.816"],
        ["man", "0.707"],
        ["[bold]:smile:"],
        ["king", "0.816"],
        ["queen", "0.816"],
    ]


def test_similar_reads_words_from_standard_input(run, royal):
    assert run("similar", royal, input="king\n\n woman \n") == run("similar", royal, "king", "woman")
    assert run("similar", royal, input="") == []


def test_words_of_standard_input_are_any_tokens(run, tmp_path):
    tokens = ["\u00a0", "\u3000a\u2003", "\x1c", "a"]
    save(Vectors(tokens, np.eye(4, dtype=np.float32)), tmp_path / "v")
    for token in tokens:
        assert run("similar", tmp_path / "v", input=f"\ufeff {token}\t\r\n") == run("similar", tmp_path / "v", token)
    with pytest.raises(Any2VecError, match=r"standard input, line 2: b'\\xff\\xfe' is not UTF-8 text"):
        run("similar", tmp_path / "v", input=b"a\n\xff\xfe\n")


def test_long_words_are_not_cut(run, tmp_path):
    long = "word" * 60
    save(Vectors(["a", long], np.ones((2, 2), np.float32)), tmp_path / "v")
    assert long in "".join(run("similar", tmp_path / "v", "a")).replace(" ", "").replace("1.000", "")


def test_unknown_words_and_files(run, royal, tmp_path):
    with pytest.raises(Any2VecError, match="does not exist"):
        run("similar", tmp_path / "none", "king")
    with pytest.raises(Any2VecError, match=r"no vector for 'kingg'; did you mean 'king'\?"):
        run("analogy", royal, "man", "kingg", "woman")
    mapped = ["map", str(royal), "-o", str(tmp_path / "m.png"), "--words", "man,woman,kingg", "--method", "pca"]
    whole = CliRunner().invoke(cli.app, mapped)
    assert str(whole.exception).count("did you mean") == 1


def test_the_other_words_are_answered(run, royal):
    expected = run("similar", royal, "king", "woman")
    for words, given in ((["king", "kingg", "woman"], None), ([], "king\nkingg\nwoman\n")):
        result = CliRunner().invoke(cli.app, ["similar", str(royal), *words], input=given)
        assert result.exit_code == 1
        assert [line.rstrip() for line in result.stdout.splitlines()] == expected
        assert result.stderr == f"any2vec: {royal}: no vector for 'kingg'; did you mean 'king'?\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["similar", "VECTORS", "king", "--topn", 0], "--topn is 0; it must be a whole number from 1 up"),
        (["analogy", "VECTORS", "man", "king", "woman", "--topn", -1], "--topn is -1; it must"),
        (["evaluate", "analogies", "VECTORS", "q", "--restrict", -1], "--restrict is -1; it must be .* from 0 up"),
        (["evaluate", "nodes", "VECTORS", "l", "--shuffles", 0], "--shuffles is 0; it must"),
        (["evaluate", "nodes", "VECTORS", "l", "--threads", 0], "--threads is 0; it must"),
        (["evaluate", "nodes", "VECTORS", "l", "--seed", -1], "--seed is -1; it must"),
        (["evaluate", "split", "g", "-o", "out", "--share", 50], "--share: 50 is not between 0 and 1"),
        (["evaluate", "links", "VECTORS", "p", "n", "--seed", -1], "--seed is -1; it must"),
    ],
)
def test_numbers_out_of_range(run, royal, arguments, message):
    with pytest.raises(Any2VecError, match=message):
        run(*(royal if argument == "VECTORS" else argument for argument in arguments))


def test_analogy(run, royal):
    lines = run("analogy", royal, "man", "king", "woman", "--topn", 1)
    assert [line.split() for line in lines] == [
        ["man", ":", "king", "=", "woman", ":", "?"],
        ["queen", "0.959"],
    ]


def test_evaluate_analogies(run, royal, tmp_path):
    questions = tmp_path / "q.txt"
    questions.write_text(": family\nman king woman queen\nman king woman x\n: gram1\nx x x x\n")
    lines = run("evaluate", "analogies", royal, questions, "--json", tmp_path / "out.json")
    table = {line.rsplit(maxsplit=5)[0]: line.split()[1:] for line in lines if line}
    assert table["family"] == ["1", "1", "1", "100.00", "%"]
    assert lines[-1] == "skipped questions have a word that is not among the 5 known"
    assert [line.split() for line in lines if line][-6:-1] == [
        ["gram1", "0", "0", "1", "-"],
        ["semantic", "1", "1", "1", "100.00", "%"],
        ["syntactic", "0", "0", "1", "-"],
        ["total", "1", "1", "2", "100.00", "%"],
        ["mean", "of", "sections", "100.00", "%"],
    ]
    assert json.loads((tmp_path / "out.json").read_text())["total"]["right"] == 1
    with pytest.raises(Any2VecError, match="none of the 3 questions has all its words among the 2 most frequent"):
        run("evaluate", "analogies", royal, questions, "--restrict", 2)
    with pytest.raises(Any2VecError, match=r"the folder .* does not exist"):
        run("evaluate", "analogies", royal, questions, "--json", tmp_path / "none" / "out.json")


def test_evaluate_similarity(run, royal, tmp_path):
    pytest.importorskip("scipy")
    pairs = tmp_path / "p.tsv"
    pairs.write_text("man\tking\t9\nman\twoman\t1\nx\ty\t5\nking\tqueen\t8\n")
    lines = run("evaluate", "similarity", royal, pairs, "--json", tmp_path / "out.json")
    assert [line.split()[-1] for line in lines][2:] == ["3", "1"]
    figures = json.loads((tmp_path / "out.json").read_text())
    assert figures["spearman"] == pytest.approx(1.0)
    assert not math.isnan(figures["pearson"])
    pairs.write_text("x\ty\t5\n")
    with pytest.raises(Any2VecError, match="none of the 1 pairs"):
        run("evaluate", "similarity", royal, pairs)


COMMANDING = "\x1b[31mred\x07\x9b1m\u202eevil\u2067\x7f\r\n\x85"
"""What would colour, ring, turn the line around and begin others on a terminal."""
SEEN = r"\x1b[31mred\x07\x9b1m\u202eevil\u2067\x7f\r\n\x85"


@pytest.fixture
def hostile(tmp_path):
    words = [COMMANDING, f"{COMMANDING}s", "good"]
    save(Vectors(words, np.eye(3, dtype=np.float32) + 1, counts=np.array([3, 2, 1])), tmp_path / "hostile")
    return tmp_path / "hostile"


@pytest.mark.parametrize("terminal", [False, True])
@pytest.mark.parametrize(
    "arguments",
    [
        ["info"],
        ["similar", "good"],
        ["similar", COMMANDING],
        ["similar", f"{COMMANDING}z"],
        ["analogy", COMMANDING, "good", f"{COMMANDING}s"],
        ["analogy", f"{COMMANDING}z", "good", "good"],
    ],
)
def test_no_word_commands_the_terminal(hostile, arguments, terminal, monkeypatch, capsys):
    """Neither where output is read by people, nor in a file that they show later."""
    monkeypatch.setattr("sys.argv", ["any2vec", arguments[0], str(hostile), *arguments[1:]])
    monkeypatch.setenv("COLUMNS", "400")
    if terminal:
        monkeypatch.setenv("FORCE_COLOR", "1")
    with pytest.raises(SystemExit):
        cli.main()
    shown = "".join(capsys.readouterr())
    own = re.sub(r"\x1b\[[0-9;]*m", "", shown.replace(COMMANDING, "found"))  # Rich's own colours
    assert "found" not in own
    assert "\x1b[31mred" not in shown
    assert not re.search("[\0-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", own)
    assert SEEN.replace("\\\\", "\\") in own.replace("\\\\", "\\")


def test_what_is_said_commands_no_terminal(capsys, caplog):
    for error in (Any2VecError(COMMANDING), UnknownWordError(COMMANDING), FileError(COMMANDING)):
        assert str(error) == SEEN
    console = Console(width=400)
    PlainLines(console).say(COMMANDING)
    assert capsys.readouterr().out.replace("\n", r"\n").startswith(r"\x1b[31mred")
    warn(Quiet(), COMMANDING)
    assert capsys.readouterr().err == f"{SEEN}\n"
    with caplog.at_level("INFO", "any2vec"):
        Logged(console).say(COMMANDING)
    assert caplog.messages == [SEEN]


def test_one_module_has_rich_s_console():
    sources = Path(cli.__file__).parents[1].rglob("*.py")
    assert [path.name for path in sources if "rich.console" in path.read_text("utf-8")] == ["shown.py"]
