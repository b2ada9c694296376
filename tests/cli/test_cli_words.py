import json
import os
import signal
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from any2vec import Any2VecError, Word2Vec, load
from any2vec.cli import COMMANDS, app, main
from any2vec.cli.help import in_options
from any2vec.training.progress import COMPILING

SIZES = ["--dim", "16", "--window", "3", "--negative", "3"]  # the kernel of test_training
LINES = ["the cat sat on the mat", "the dog sat on the log", "", "a cat and a dog"] * 50
MAIN = "from any2vec.cli import main; main()"


@pytest.fixture
def text(tmp_path):
    path = tmp_path / "text.txt"
    path.write_text("\n".join(LINES))
    return path


@pytest.fixture
def run(monkeypatch, tmp_path):
    """Run `any2vec words` in this process; its result, the error that `main` would show among it."""
    monkeypatch.chdir(tmp_path)

    def invoke(*arguments, sizes=SIZES, **more):
        return CliRunner().invoke(app, ["words", *map(str, arguments), *sizes, "--threads", "1"], **more)

    return invoke


def command(*arguments):
    return [sys.executable, "-W", "error", "-c", MAIN, "words", *map(str, arguments), *SIZES, "--threads", "1"]


def in_a_process(*command, **more):
    """Run the command line, or other Python after ``-c``."""
    script = [] if command[0] == "-c" else ["-c", MAIN]
    how = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "timeout": 300}
    return subprocess.run([sys.executable, *script, *map(str, command)], check=False, **how | more)


@pytest.mark.parametrize("name", ["v.txt.gz", "v.bin", "v"])
def test_formats(run, text, tmp_path, name):
    result = run(text, "-o", name)
    assert result.exit_code == 0, result.output
    expected = Word2Vec(dim=16, window=3, negative=3, threads=1, cache=None).fit(text).vectors_
    found = load(tmp_path / name)
    assert list(found.words) == list(expected.words)
    assert found.words[0] == "the"
    np.testing.assert_allclose(found.matrix, expected.matrix, rtol=1e-5, atol=1e-8)

    assert {path.name for path in tmp_path.iterdir()} == {"text.txt", name}


def test_training_vectors(run, text, tmp_path):
    assert run(text, "-o", "v", "--training").exit_code == 0
    assert load(tmp_path / "v").t.shape == (9, 16)
    result = run(text, "-o", "v.txt", "--training")
    assert result.exit_code == 1
    assert isinstance(result.exception, Any2VecError)


def test_what_it_says(run, text):
    result = run(text, "-o", "v.txt", "--epochs", "2")
    assert result.stdout == ""
    lines = [line for line in result.stderr.splitlines() if line != COMPILING]
    first, *epochs, speed, last = lines
    assert first == "850 words, 9 in the vocabulary (850 of the words)"
    assert [line[:16] for line in epochs] == ["epoch 1/2  loss ", "epoch 2/2  loss "]
    assert "words/s on 1 thread;" in speed
    assert "peak memory" in speed
    assert last == "the vectors of 9 words are in v.txt"
    assert "taken from the cache" in run(text, "-o", "v.txt").stderr
    assert "taken from the cache" not in run(text, "-o", "v.txt", "--no-cache").stderr


@pytest.mark.parametrize(("combine", "kappa"), [("adasum", None), ("curvature", 0.2)])
def test_options_reach_training(run, text, tmp_path, combine, kappa):
    options = [
        *("--sample", "0", "--alpha", "0.1", "--epochs", "3", "--negatives-per", "pair", "--seed", "7"),
        *("--min-count", "60", "--max-size", "4", "--dim", "100", "--window", "1", "--negative", "1"),
        *("--full-windows", "--ns-exponent", "-0.5", "--min-alpha", "0.01"),
        *("--scheme", "rep-opt", "--combine", combine, "--rounds", "3", *(("--kappa", str(kappa)) if kappa else ())),
    ]
    result = run(text, "-o", "v", *options, "--report", "r.json", sizes=[])
    assert result.exit_code == 0, result.output
    report = json.loads((tmp_path / "r.json").read_text())
    given = {"sample": 0.0, "alpha": 0.1, "epochs": 3, "negatives_per": "pair", "seed": 7, "min_count": 60}
    given |= {"max_size": 4, "dim": 100, "window": 1, "negative": 1, "shrink_windows": False, "ns_exponent": -0.5}
    given |= {"min_alpha": 0.01, "scheme": "rep-opt", "rounds": 3, "threads": 1}
    usual = {"operator": "skipgram", "hosts": 1, "cache": "auto", "wire": None, "resume": None, "vocabulary": None}
    given["combine"] = f"Curvature(kappa={kappa})" if kappa else combine
    assert report["options"] == report["options"] | given | usual
    assert report["options"].keys() >= {f.name for f in fields(Word2Vec) if f.metadata and f.metadata["panel"]}
    assert report["vocabulary"] == len(load(tmp_path / "v")) == 4
    assert (report["words"], len(report["loss"]), report["interrupted"]) == (850, 3, False)
    assert report["peak_memory"] > 0


def test_models_reach_training(run, text, tmp_path):
    chosen = ["--model", "cbow", "--loss", "hierarchical", "--context", "sum", "--dim", "20", "--window", "3"]
    result = run(text, "-o", "v", *chosen, "--training", "--report", "r.json", sizes=[])
    assert result.exit_code == 0, result.output
    options = json.loads((tmp_path / "r.json").read_text())["options"]
    expected = {"model": "cbow", "loss": "hierarchical", "context": "sum", "operator": "cbow-hierarchical"}
    assert options == options | expected | {"alpha": 0.025, "negative": 0}
    vectors = load(tmp_path / "v")
    assert (vectors.loss, vectors.t.shape) == ("hierarchical", (9, 20))


def test_checks_after_each_epoch(run, text, tmp_path):
    (tmp_path / "q.txt").write_text(": animals\ncat mat dog log\n")
    (tmp_path / "p.tsv").write_text("cat\tdog\t9\nmat\tlog\t8\ncat\tlog\t1\n")
    arguments = ("--epochs", "2", "--questions", "q.txt", "--pairs", "p.tsv", "--report", "r.json")
    result = run(text, "-o", "v", *arguments)
    assert result.exit_code == 0, result.output
    checks = json.loads((tmp_path / "r.json").read_text())["checks"]
    assert [check["epoch"] for check in checks] == [1, 2]
    assert all(len(check) >= 3 for check in checks)


def test_vocabularies(run, text, tmp_path):
    assert run(text, "-o", "one.bin", "--save-vocabulary", "v.txt", "--max-size", "5").exit_code == 0
    assert (tmp_path / "v.txt").read_text().splitlines() == [
        "</s> 150",
        "the 200",
        "a 100",
        "cat 100",
        "dog 100",
        "on 100",
    ]
    again = run(text, "-o", "two.bin", "--vocabulary", "v.txt", "--report", "r.json")
    assert again.exit_code == 0, again.output
    assert (tmp_path / "one.bin").read_bytes() == (tmp_path / "two.bin").read_bytes()
    assert json.loads((tmp_path / "r.json").read_text())["options"]["vocabulary"] == "v.txt"
    assert "of the words are not in the vocabulary given" in again.stderr
    (tmp_path / "out").mkdir()
    for arguments, message in (
        (("--vocabulary", "v.txt", "--min-count", "150"), "--min-count 150 leaves 1 of two words or more: the vocab"),
        (("--vocabulary", "v.txt", "--save-vocabulary", "v.txt"), "v.txt: is, or lies in, what is read, v.txt"),
        (("--report", "w.txt", "--save-vocabulary", "w.txt"), "w.txt: cannot be both the report and the vocabulary"),
        (("--save-vocabulary", "x.bin"), "x.bin: cannot be both the vectors and the vocabulary; give two names"),
        (("--checkpoint", "x.bin"), "x.bin: cannot be both the vectors and the checkpoints; give two names"),
        (("-o", "out", "--log", "out/l"), "out/l: the log cannot lie in the vectors, out; give a name elsewhere"),
        (("-o", "out", "--checkpoint", "out/k"), "out/k: the checkpoints cannot lie in the vectors, out"),
        (("-o", "out", "--report", "out/r"), "out/r: the report cannot lie in the vectors, out"),
        (("-o", "k/out", "--checkpoint", "k"), "k/out: the vectors cannot lie in the checkpoints, k"),
        (("--log", "k/l", "--checkpoint", "k"), "k/l: the log cannot lie in the checkpoints, k"),
        (("--from", "out", "--log", "out/l"), "out/l: is, or lies in, what is read, out"),
        (("--questions", "v.txt", "--report", "v.txt"), "v.txt: is, or lies in, what is read, v.txt"),
        (("--pairs", "v.txt", "--save-vocabulary", "v.txt"), "v.txt: is, or lies in, what is read, v.txt"),
        (("--from", "one.bin", "--report", "one.bin"), "one.bin: is, or lies in, what is read, one.bin"),
        (("--pretrained", "one.bin", "--report", "one.bin"), "one.bin: is, or lies in, what is read, one.bin"),
        (("--pretrained", "one.bin", "--frozen", "v.txt", "--report", "v.txt"), "v.txt: is, or lies in, what is read"),
        (("--save-vocabulary", "no/w.txt"), "no/w.txt: the folder "),
        (("--vocabulary", "text.txt"), "text.txt, line 1: 'the cat sat on the mat' is not a word and its count"),
    ):
        result = run(text, "-o", "x.bin", *arguments)
        assert str(result.exception).startswith(message)
    assert not {"x.bin", "w.txt"} & {path.name for path in tmp_path.iterdir()}


def test_several_inputs(run, text, tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "more.txt").write_text("the bird sat\n" * 5)
    assert run(text, "folder", "-o", "v").exit_code == 0
    assert "bird" in load(tmp_path / "v")
    piped = run("-", "-o", "w", input=text.read_bytes())
    assert piped.exit_code == 0, piped.output
    assert run(text, "-o", "x").exit_code == 0
    assert (load(tmp_path / "w").matrix == load(tmp_path / "x").matrix).all()


ERRORS = {
    "missing corpus": (["missing.txt", "-o", "v.txt"], "missing.txt"),
    "over the corpus": (["text.txt", "-o", "text.txt"], "text.txt: is, or lies in, "),
    "one file twice": (["text.txt", "-o", "v.txt", "--report", "v.txt"], "both the vectors and the report"),
    "standard output": (["text.txt", "-o", "-"], "name a file"),
    "unknown ending": (["text.txt", "-o", "v.xyz"], "v.xyz"),
    "no output folder": (["text.txt", "-o", "no/v.txt"], "no does not exist"),
    "no report folder": (["text.txt", "-o", "v.txt", "--report", "no/r.json"], "no does not exist"),
    "scheme": (["text.txt", "-o", "v.txt", "--scheme", "push"], "known are rep-naive, rep-opt, pull-base, pull-opt"),
    "kappa of another combiner": (
        ["text.txt", "-o", "v.txt", "--combine", "sum", "--kappa", "0.2"],
        "--kappa is for the combiner 'curvature'; 'sum' has no such option",
    ),
    "two losses": (
        ["text.txt", "-o", "v.txt", "--loss", "hierarchical", "--negative", "3"],
        "--loss is 'hierarchical', and --negative 3",
    ),
    "no questions": (["text.txt", "-o", "v.txt", "--questions", "q.txt"], "q.txt"),
    "no pairs": (["text.txt", "-o", "v.txt", "--pairs", "p.txt"], "p.txt"),
    "output is a folder of other things": (["text.txt", "-o", "folder.txt"], "folder.txt: the folder holds other"),
    "output is a file": (["text.txt", "-o", "file"], "file: "),
    "report is a folder": (["text.txt", "-o", "v.txt", "--report", "folder.txt"], "folder.txt: "),
}


@pytest.fixture
def inputs(text, tmp_path):
    (tmp_path / "folder.txt").mkdir()
    (tmp_path / "folder.txt" / "thesis.tex").touch()
    (tmp_path / "file").touch()
    return set(tmp_path.iterdir())


@pytest.mark.parametrize("name", ERRORS)
def test_mistakes_are_one_line(run, inputs, tmp_path, capsys, monkeypatch, name):
    arguments, message = ERRORS[name]
    monkeypatch.setattr(sys, "argv", ["any2vec", "words", *SIZES, *arguments, "--threads", "1"])
    with pytest.raises(SystemExit) as exit_:
        main()
    shown = capsys.readouterr()
    assert exit_.value.code == 1
    assert shown.out == ""
    (error,) = [line for line in shown.err.splitlines() if line != COMPILING]
    assert error.startswith("any2vec: ")
    assert message in error
    assert set(tmp_path.iterdir()) == inputs


@pytest.mark.skipif(os.name == "nt", reason="no folder that refuses writing")
def test_folder_that_refuses_writing(run, text, tmp_path):
    folder = tmp_path / "locked"
    folder.mkdir(mode=0o500)
    if os.geteuid() == 0:  # only the kernel's own folder refuses root
        folder = Path("/sys")
        if not folder.is_dir():
            pytest.skip("no folder here refuses root")
    result = run(text, "-o", folder / "v.txt")
    assert result.exit_code == 1
    assert f"cannot write in {folder}: " in str(result.exception)


@pytest.mark.parametrize(("output", "said"), [("v.txt", True), ("v", False)])
def test_an_output_without_n_grams_is_said_before_training(output, said, run, text):
    result = run(text, "-o", output, "--min-count", 1, "--epochs", 1, "--subwords", "3-4")
    assert result.exit_code == 0
    assert ("v.txt will hold no n-grams" in result.stderr) == said


def test_an_old_file_survives_a_mistake(run, text, tmp_path):
    (tmp_path / "v.txt").write_text("1 1\nold 1\n")
    assert run(text, "-o", "v.txt", "--alpha", "7").exit_code == 1
    assert (tmp_path / "v.txt").read_text() == "1 1\nold 1\n"
    assert run(text, "-o", "v.txt").exit_code == 0
    assert (tmp_path / "v.txt").read_text().startswith("9 16\n")


def test_in_a_process(text, tmp_path):
    ran = command(text, "-o", "v.bin", "--quiet")
    result = subprocess.run(ran, capture_output=True, text=True, check=False, timeout=300, cwd=tmp_path)
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")
    assert len(load(tmp_path / "v.bin")) == 9


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="no SIGINT to a process on Windows")
@pytest.mark.parametrize(("sent", "hosts"), [("INT", 1), ("INT INT INT", 1), ("TERM", 3), ("INT TERM INT", 2)])
def test_interrupt_saves(text, tmp_path, sent, hosts):
    text.write_text("\n".join(LINES * 500))  # 425,000 words
    arguments = (text, "-o", "v.txt", "--report", "r.json", "--epochs", "20", "--sample", "0", "--hosts", hosts)
    with subprocess.Popen(
        command(*arguments),
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509 (it may be ignored here)
    ) as process:
        try:
            shown = []
            for line in process.stderr:
                shown.append(line)
                if line.startswith("epoch 1/20"):
                    for name in sent.split():
                        process.send_signal(getattr(signal, f"SIG{name}"))
            status = process.wait(timeout=60)
        finally:
            process.kill()
    assert status == 130, shown
    assert "Traceback" not in "".join(shown)
    assert shown[-1] == "stopped early; the partly trained vectors of 9 words are in v.txt\n"
    assert len(load(tmp_path / "v.txt")) == 9
    report = json.loads((tmp_path / "r.json").read_text())
    assert report["interrupted"]
    assert 1 <= len(report["loss"]) < 20
    assert {path.name for path in tmp_path.iterdir()} == {"text.txt", "v.txt", "r.json"}


@pytest.mark.parametrize("checkpoints", [(), ("--checkpoint", "kept")])
def test_interrupt_after_training_before_there_are_vectors(run, text, monkeypatch, checkpoints):
    def press(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("any2vec.models.estimator.vectors_of", press)
    result = run(text, "-o", "v.txt", *checkpoints)
    assert result.exit_code == 130
    advice = "; --resume kept goes on from the last checkpoint, if there is one" if checkpoints else ""
    assert result.stderr.splitlines()[-1] == f"stopped twice: no vectors were written{advice}"


def test_interrupt_before_training(run, text, tmp_path, monkeypatch):
    def press(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("any2vec.models.words.read_corpus", press)
    result = run(text, "-o", "v.txt")
    assert result.exit_code == 130
    assert result.stderr == "stopped before training began: nothing was written\n"
    assert list(tmp_path.iterdir()) == [text]


def test_messages_name_options_as_the_command_line_does(run, text, tmp_path):
    result = run(text, "-o", "v.txt", "--min-count", "10000")
    assert str(result.exception).startswith("--min-count 10000 leaves no word: ")
    assert str(result.exception).endswith("; lower --min-count")
    with pytest.raises(Any2VecError, match=r"^`min_count=10000` leaves no word: .*; lower `min_count`$"):
        Word2Vec(min_count=10000).fit(text)

    params = typer.main.get_command(app).load("nodes").params
    for python, command_line in (
        ("`weighted=False` or `weighted=True`", "--unweighted or --weighted"),
        ("give `directed=True`", "give --directed"),
        ("`format='adjacency'`; `p`", "--format adjacency; --p"),
        ("`max_size` and `group`", "`max_size` and `group`"),  # not options of this command
        ("one ` alone, `no name`, `Alpha`", "one ` alone, `no name`, `Alpha`"),
    ):
        assert in_options(python, params) == command_line
    assert in_options("`cache=None`", typer.main.get_command(app).load("words").params) == "--no-cache"


def test_options_of_nested_commands(tmp_path):
    (tmp_path / "v.txt").write_text("2 1\na 1\nb 1\n")
    (tmp_path / "labels").write_text("a 1\nb 2\nc 1\n")
    result = CliRunner().invoke(app, ["evaluate", "nodes", str(tmp_path / "v.txt"), str(tmp_path / "labels")])
    assert str(result.exception).endswith("; --skip-unknown leaves them out")


def test_the_list_of_commands_has_the_first_line_of_each():
    group = typer.main.get_command(app)
    for name, listed in COMMANDS.items():
        assert group.load(name).help.split("\n\n")[0].replace("\n", " ") == listed.help


def test_the_list_of_commands_needs_none_of_them():
    asked = "import sys, any2vec.cli as cli; sys.argv = ['any2vec', '--help']; cli.app(standalone_mode=False); "
    asked += "print('numpy' in sys.modules, 'numba' in sys.modules)"
    shown = in_a_process("-c", asked).stdout
    assert "word2vec" in shown
    assert shown.endswith("False False\n")


def test_completion_can_be_installed():
    result = CliRunner().invoke(app, ["--help-all"], env={"COLUMNS": "200"})
    assert "--install-completion" in result.output
    shell = {"_ANY2VEC_COMPLETE": "complete_bash", "COMP_WORDS": "any2vec eval", "COMP_CWORD": "1"}
    script = "import sys; sys.argv = ['any2vec']; from any2vec.__main__ import main; main()"
    ran = in_a_process("-c", script, env=os.environ | shell)
    assert ran.stdout.split() == ["evaluate"], ran.stderr


def test_too_little_memory_is_one_line(run, text, monkeypatch):
    def fit(*_, **__):
        return np.zeros((1 << 40, 1 << 20), np.int8)

    monkeypatch.setattr(Word2Vec, "fit", fit)
    result = run(text, "-o", "v.bin")
    assert isinstance(result.exception, Any2VecError)
    assert str(result.exception).startswith("not enough memory: unable to allocate 1.00 EiB")


def test_standard_output_that_cannot_be_written():
    with Path("/dev/full").open("w") as full:
        ran = in_a_process("--version", stdout=full)
    assert ran.returncode == 1
    assert ran.stderr == "any2vec: standard output: cannot be written: No space left on device\n"


def test_names_that_the_terminal_cannot_show_are_escaped(tmp_path):
    Path(tmp_path, "v.txt").write_text("2 1\nsmile 1\n\U0001f642 2\n", encoding="utf-8")
    latin = os.environ | {"PYTHONIOENCODING": "latin-1"}
    ran = in_a_process("similar", tmp_path / "v.txt", "smile", env=latin, text=False)
    assert ran.returncode == 0, ran.stderr
    assert rb"\U0001f642" in ran.stdout


def test_training_goes_on_where_standard_error_cannot_be_written(text, tmp_path):
    with Path("/dev/full").open("w") as full:
        ran = in_a_process("words", text, "-o", tmp_path / "v.bin", *SIZES, "--epochs", "1", stderr=full)
    assert ran.returncode == 0
    assert Path(tmp_path, "v.bin").exists()


def test_an_empty_name_is_not_the_current_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("text.txt").write_text("a b c\n")
    result = CliRunner().invoke(app, ["words", "", "-o", "v.bin"])
    assert str(result.exception) == "'' is not the name of a file or directory"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["words", "text.txt", "-o", "v.bin", "--dim", "abc"], "--dim is 'abc': "),
        (["words", "text.txt", "-o", "v.bin", "--dim=1.5"], "--dim is '1.5': "),
        (["words", "text.txt"], "missing option '--output'"),
        (["words", "-o", "v.bin"], "missing argument"),
        (["words", "text.txt", "--nope"], "no such option: --nope"),
        (["node"], "no such command 'node'"),
        ([], None),
    ],
)
def test_a_command_line_that_cannot_be_parsed_is_one_line(arguments, message, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["any2vec", *arguments])
    with pytest.raises(SystemExit) as exit_:
        main()
    assert exit_.value.code == 2
    shown = capsys.readouterr()
    if message is None:  # the help is shown
        assert "Commands" in shown.out + shown.err
        assert "any2vec: " not in shown.err
        return
    (line,) = shown.err.splitlines()
    assert line.lower().startswith(f"any2vec: {message}".lower())
    assert "--help" in line
