"""`any2vec classify`, `predict`, `quantize` and `evaluate labels`: outputs, errors, and nothing half-written."""

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from any2vec import Any2VecError, Classifier, Vectors
from any2vec.classify import load
from any2vec.cli import app
from any2vec.training.progress import COMPILING
from any2vec.vectors.files import save

SIZES = ["--dim", "20", "--epochs", "10", "--alpha", "0.5", "--threads", "1"]  # the kernel of test_classifier
HOW = {"dim": 20, "epochs": 10, "alpha": 0.5, "threads": 1}
PAIRS = [("good", "a fine film"), ("bad", "a dull film"), ("good", "so fine"), ("bad", "very dull")] * 15
LINES = "".join(f"__label__{label} {text}\n" for label, text in PAIRS)


@pytest.fixture
def run(monkeypatch, tmp_path):
    """Run a command in a folder with a text; its result, with the error that `main` would show."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text").write_text(LINES)

    def invoke(*arguments, **more):
        result = CliRunner().invoke(app, [*map(str, arguments)], **more)
        if result.exception and not isinstance(result.exception, SystemExit | Any2VecError):
            raise result.exception
        return result

    return invoke


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """Save a model in all formats."""
    folder = tmp_path_factory.mktemp("saved")
    model = Classifier(**HOW).fit([["__label__" + label, *text.split()] for label, text in PAIRS])
    for name in ("m", "m.bin", "m.ftz"):
        model.save(folder / name)
    return folder


def files(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("name", ["m", "m.bin", "m.ftz"])
def test_classify_saves_what_python_learns(name, run, tmp_path, saved):
    result = run("classify", "text", "-o", name, *SIZES, "--report", "r.json")
    assert result.exit_code == 0, result.output
    assert result.stdout == ""
    lines = [line for line in result.stderr.splitlines() if line != COMPILING]
    assert "60 lines with labels; 2 labels" in lines
    assert lines[-1] == f"the classifier of 2 labels is in {name}"
    found, expected = load(tmp_path / name), load(saved / name)
    assert (list(found.words), list(found.labels)) == (list(expected.words), list(expected.labels))
    assert (found.scores(["a fine film"]) == expected.scores(["a fine film"])).all()
    assert {path.name for path in tmp_path.iterdir()} == {"text", name, "r.json"}
    report = json.loads((tmp_path / "r.json").read_text())
    assert (report["words"], len(report["loss"])) == (sum(len(text.split()) + 1 for _, text in PAIRS), 10)


def test_a_classifier_is_replaced_only_by_a_whole_one(run, tmp_path):
    assert run("classify", "text", "-o", "m", *SIZES, "--quiet").exit_code == 0
    before = files(tmp_path)
    assert run("classify", "text", "-o", "m", *SIZES, "--min-count", "0").exit_code == 1
    assert files(tmp_path) == before
    assert run("classify", "text", "-o", "m", *SIZES, "--seed", "2").exit_code == 0
    assert files(tmp_path).keys() == before.keys()
    assert files(tmp_path) != before


def test_spaces_of_windows_and_long_lines(run, tmp_path):
    """A mark of the byte order, tabs, line ends of Windows, and a line of 100,000 words change nothing."""
    text = "\ufeff" + LINES.replace(" ", "\t").replace("\n", "\r\n")
    (tmp_path / "other").write_bytes(text.encode())
    for name in ("text", "other"):
        run("classify", name, "-o", f"m-{name}", *SIZES)
    one, two = load(tmp_path / "m-text"), load(tmp_path / "m-other")
    assert (one.e == two.e).all()
    assert run("predict", "m-text", "text").stdout == run("predict", "m-text", "other").stdout
    (tmp_path / "long").write_text("__label__a " + "w " * 100_000 + "\n__label__b " + "v " * 100_000)
    assert run("classify", "long", "-o", "m-long", *SIZES).exit_code == 0
    assert load(tmp_path / "m-long").predict("w")[0] == ["a"]


def test_lines_of_labels_alone(run, tmp_path):
    (tmp_path / "labels").write_text("__label__a\n__label__b\n__label__a\n" * 5)
    assert run("classify", "labels", "-o", "m", *SIZES).exit_code == 0
    assert run("predict", "m", "-", input="what\n\n").stdout.split()[::2] == ["__label__a"] * 2  # the more frequent


@pytest.mark.parametrize(
    ("text", "arguments", "message"),
    [
        ("", (), "text: empty"),
        ("a b c\n" * 9, (), "no line has a label, a word that begins with '__label__', such as '__label__good a film'"),
        ("__label__a b c\n__label__b\n" * 9, ("--min-count", "10"), "--min-count 10 leaves no word; lower it"),
        ("__label__a b c\n" * 9, (), "all lines have the label 'a'; two labels are needed"),
        (LINES, ("--label-prefix", "#"), "begins with '#', such as '#good a film'"),
        (LINES, ("--label-prefix", ""), "--label-prefix is ''; it must be a text without whitespace"),
        (LINES, ("--loss", "hinge"), "--loss is 'hinge'; known are softmax, hierarchical, negative, ova"),
        (LINES, ("--scheme", "columns"), "--scheme is 'columns', which is not for labels"),
        ("__label__a b\n__label__b c\n", ("--hosts", "3"), "3 hosts, but the corpus has 2 sentences"),
        (LINES, ("--pretrained", "nowhere"), "nowhere"),
        (LINES, ("-o", "text"), "text: is, or lies in, what is read, text"),
        (LINES, ("-o", "nowhere/m"), "the folder .*nowhere does not exist"),
        (LINES, ("-o", "other"), "other: "),
        (LINES, ("-o", "other.bin"), "other.bin: "),
    ],
)
def test_classify_refuses(text, arguments, message, run, tmp_path):
    (tmp_path / "text").write_text(text)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "poem").write_text("o")
    (tmp_path / "other.bin").write_text("a poem")
    before = files(tmp_path)
    result = run("classify", "text", *([] if "-o" in arguments else ["-o", "m"]), *SIZES, *arguments)
    assert result.exit_code == 1
    with pytest.raises(Any2VecError, match=message):
        raise result.exception
    assert files(tmp_path) == before


@pytest.mark.parametrize("option", ["--window", "--sample", "--operator", "--features"])
def test_options_of_words_are_none_of_labels(option, run):
    assert run("classify", "text", "-o", "m", option, "1").exit_code == 2


def test_interrupt_in_training_saves(run, tmp_path, monkeypatch):
    def press(self, corpus, *_, **__):
        fit(self, corpus)
        self.report_.interrupted = True
        raise KeyboardInterrupt

    fit = Classifier.fit
    monkeypatch.setattr(Classifier, "fit", press)
    result = run("classify", "text", "-o", "m", *SIZES)
    assert result.exit_code == 130
    assert result.stderr.splitlines()[-1] == "stopped early; the partly trained classifier of 2 labels is in m"
    assert sorted(load(tmp_path / "m").labels) == ["bad", "good"]


def test_interrupt_before_training(run, tmp_path, monkeypatch):
    def press(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("any2vec.models.words.read_corpus", press)
    result = run("classify", "text", "-o", "m", *SIZES)
    assert (result.exit_code, result.stderr) == (130, "stopped before training began: nothing was written\n")
    assert set(files(tmp_path)) == {"text"}


def test_pretrained_rows_begin_there(run, tmp_path):
    words = ["fine", "dull", "unseen"]
    given = Vectors(words, np.eye(3, 20, dtype=np.float32))
    save(given, tmp_path / "given.bin")
    result = run(
        "classify", "text", "-o", "m", *SIZES[:4], "--alpha", "1e-6", "--threads", "1", "--pretrained", "given.bin"
    )
    assert result.exit_code == 0, result.output
    found = load(tmp_path / "m")
    for row, word in enumerate(words[:2]):
        np.testing.assert_allclose(found.e[list(found.words).index(word)], given.matrix[row], atol=1e-4)
    assert "unseen" not in found.words


@pytest.mark.parametrize("name", ["m", "m.bin", "m.ftz"])
def test_predict(name, run, saved):
    result = run("predict", saved / name, "-", input="so fine\n\n__label__good very dull\nunknown words only")
    assert (result.exit_code, result.stderr) == (0, "")
    rows = [line.split() for line in result.stdout.splitlines()]
    assert [label for label, _ in rows][::2] == ["__label__good", "__label__bad"]
    assert rows[1] == rows[3]  # the end of a line alone
    both = run("predict", saved / name, "text", "-k", "-1").stdout.splitlines()
    assert len(both) == 60
    assert all(len(line.split()) == 4 for line in both)
    assert run("predict", saved / name, "text", "--threshold", "1").stdout == "\n" * 60


def test_predict_for_tables(run, tmp_path, saved):
    (tmp_path / "t.csv").write_text('id,text\n1,"a fine, fine film"\n2,very dull\n')
    for name in ("o.csv", "o.parquet"):
        result = run("predict", saved / "m", "t.csv", "--column", "text", "-o", name)
        assert result.exit_code == 0
        assert result.stderr == f"labels of 2 lines are in {name}\n"
    pq.write_table(pa.table({"text": ["fine", "dull"], "tags": [["x", "y"], []]}), tmp_path / "lists.parquet")
    assert run("predict", saved / "m", "lists.parquet", "--column", "text", "-o", "lists.csv").exit_code == 0
    assert [*pd.read_csv("lists.csv", keep_default_na=False).tags] == ["x y", ""]
    pq.write_table(pa.table({"text": ["fine"], "more": [{"a": 1}]}), tmp_path / "more.parquet")
    result = run("predict", saved / "m", "more.parquet", "--column", "text", "-o", "more.csv")
    assert "column 'more' is of type struct<a: int64>; write .parquet or .jsonl" in str(result.exception)
    table = pq.read_table(tmp_path / "o.parquet").to_pydict()
    assert table | {"probability": 0} == {"id": ["1", "2"], "text": ["a fine, fine film", "very dull"]} | {
        "label": ["good", "bad"],
        "probability": 0,
    }
    first, row, _ = (tmp_path / "o.csv").read_text().splitlines()
    assert first.replace('"', "") == "id,text,label,probability"
    assert row.startswith('"1","a fine, fine film","good",0.')
    run("predict", saved / "m", "text", "-o", "o.jsonl")
    (first, *_) = map(json.loads, (tmp_path / "o.jsonl").read_text().splitlines())
    assert first | {"probabilities": 0} == {"labels": ["good"], "probabilities": 0, "known": 3, "words": 3}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("m", "nowhere"), "nowhere: no such file"),
        (("nowhere", "text"), "nowhere: does not exist; a classifier is a folder"),
        (("text", "text"), "text: "),
        (("words", "text"), "words: not a folder of a classifier"),
        (("m", "text", "-k", "0"), "`?-*k`? is 0"),
        (("m", "text", "--threshold", "2"), "threshold`? is 2.0; it must be a probability"),
        (("m", "text", "-o", "text"), "text: is, or lies in, what is read"),
        (("m", "text", "-o", "m"), "m: is, or lies in, what is read"),
        (("m", "text", "-o", "nowhere/o"), "the folder .*nowhere does not exist"),
        (("m", "text", "-o", "o.csv"), "a table is written of a table only"),
        (("m", "text", "--threads", "0"), "--threads is 0"),
    ],
)
def test_predict_refuses(arguments, message, run, tmp_path, saved):
    (tmp_path / "m").symlink_to(saved / "m")
    save(Vectors(["a", "b"], np.eye(2, dtype=np.float32)), tmp_path / "words")
    before = files(tmp_path)
    result = run("predict", *arguments)
    assert result.exit_code == 1
    with pytest.raises(Any2VecError, match=message):
        raise result.exception
    assert files(tmp_path) == before


def test_quantize(run, tmp_path, saved):
    result = run("quantize", saved / "m", "-o", "q.ftz", "--cutoff", "5", "--dsub", "100", "--no-norms")
    assert result.exit_code == 0
    assert result.stderr == "q.ftz: 21 kB, 5 rows\n"
    found = load(tmp_path / "q.ftz")
    assert found.e.shape == (5, 20)
    assert found.e.codes.shape == (5, 1)  # a part has all columns
    assert found.predict("fine")[0] == ["good"]
    run("quantize", saved / "m.bin", "-o", "again.ftz")
    run("quantize", saved / "m", "-o", "twice.ftz", "--threads", "1")
    assert (tmp_path / "again.ftz").read_bytes() == (tmp_path / "twice.ftz").read_bytes()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("m.ftz", "-o", "q.ftz"), "the model is quantized already"),
        (("m", "-o", "q.bin"), "q.bin: give a name that ends in .ftz"),
        (("m", "-o", "q.ftz", "--cutoff", "0"), "--cutoff is 0"),
        (("m", "-o", "q.ftz", "--dsub", "0"), "--dsub is 0"),
        (("m", "-o", "q.ftz", "--seed", "-1"), "--seed is -1"),
        (("m", "-o", "q.ftz", "--size", "1kB"), "a .ftz of this model has .* bytes at least, not 1,000"),
        (("m", "-o", "q.ftz", "--size", "big"), "--size is 'big'; it must be a size"),
        (("m", "-o", "q.ftz", "--size", "1MB", "--cutoff", "9"), "--size and --cutoff are given"),
        (("m", "-o", "q.ftz", "--retrain", "text"), "say by --cutoff or --size"),
        (("nowhere", "-o", "q.ftz"), "nowhere: does not exist"),
        (("m", "-o", "nowhere/q.ftz"), "the folder .*nowhere does not exist"),
        (("m", "-o", "poem.ftz"), "poem.ftz: "),
    ],
)
def test_quantize_refuses(arguments, message, run, tmp_path, saved):
    (tmp_path / "poem.ftz").write_text("a poem")
    before = files(tmp_path)
    place = saved / arguments[0]
    result = run("quantize", place, *arguments[1:])
    assert result.exit_code == 1
    with pytest.raises(Any2VecError, match=message):
        raise result.exception
    assert files(tmp_path) == before


def test_evaluate_labels(run, tmp_path, saved):
    (tmp_path / "more").write_text(f"{LINES}__label__new so fine\n__label__good so dull dull\nno label\n")
    result = run("evaluate", "labels", saved / "m", "more", "--json", "r.json", "--page", "p.html")
    assert result.exit_code == 0, result.output
    rows = [line.split() for line in result.stdout.splitlines()]
    assert rows[1:5] == [
        ["good", "96.77", "%", "96.77", "%", "96.77", "%", "31"],
        ["bad", "96.77", "%", "100.00", "%", "98.36", "%", "30"],
        ["new", "0.00", "%", "0.00", "%", "0.00", "%", "1"],
        ["all", "labels", "96.77", "%", "96.77", "%", "96.77", "%", "62"],
    ]
    assert result.stdout.splitlines()[5:] == [
        "new taken for good 1 time",
        "good taken for bad 1 time",
        "1 line without a label",
        "1 label unknown to the model",
    ]
    found = json.loads((tmp_path / "r.json").read_text())
    assert found["precision"] == found["recall"] == 60 / 62
    assert {"label": "good", "predicted": "bad", "lines": 1} in found["confusion"]
    assert "<svg" in (tmp_path / "p.html").read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("none",), "no line has a label, a word that begins with '__label__', such as '__label__"),
        (("nowhere",), "nowhere: no such file"),
        (("text", "-k", "0"), "k`? is 0"),
        (("text", "--page", "p.txt"), "p.txt"),
        (("text", "--page", "text.html", "--json", "text.html"), "text.html"),
        (("text", "--json", "text"), "text: is, or lies in, what is read"),
    ],
)
def test_evaluate_labels_refuses(arguments, message, run, tmp_path, saved):
    (tmp_path / "none").write_text("a fine film\n")
    before = files(tmp_path)
    result = run("evaluate", "labels", saved / "m", *arguments)
    assert result.exit_code == 1
    with pytest.raises(Any2VecError, match=message):
        raise result.exception
    assert files(tmp_path) == before


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "tsv"])
def test_labels_in_a_column(ending, run, tmp_path):
    """What is trained, evaluated and predicted is that of lines with their labels."""
    rows = [{"text": text + "\nof old", "mark": {"good": "very good"}.get(label, label)} for label, text in PAIRS]
    pd.DataFrame(rows).to_csv(f"t.{ending}", sep="\t" if ending == "tsv" else ",")
    columns = ["--column", "text", "--label-column", "mark"]
    assert run("classify", f"t.{ending}", "-o", "m", *SIZES, *columns).exit_code == 0
    same = [f"__label__{row['mark']} {row['text']}".replace("y g", "y_g").replace("\n", " ") for row in rows]
    (tmp_path / "lines").write_text("\n".join(same))
    assert run("classify", "lines", "-o", "same", *SIZES).exit_code == 0
    found, same = load(tmp_path / "m"), load(tmp_path / "same")
    assert found.labels == same.labels == ["bad", "very_good"]
    assert (found.e == same.e).all()
    shown = run("evaluate", "labels", "m", f"t.{ending}", *columns).stdout
    assert shown == run("evaluate", "labels", "m", "lines").stdout
    result = run("evaluate", "labels", "m", f"t.{ending}", "--label-column", "mark")
    assert "give the --column" in str(result.exception)


def test_an_output_is_no_file_of_another_kind(run, tmp_path):
    result = run("classify", "text", "-o", "m.txt", *SIZES)
    assert "m.txt: a classifier is a folder, whose name has no such ending" in str(result.exception)
    assert not (tmp_path / "m.txt").exists()


def test_a_classifier_goes_on(run, tmp_path, saved):
    (tmp_path / "more").write_text("__label__good a grand film\n__label__odd so odd\n" * 20)
    result = run("classify", "more", "-o", "n", "--from", saved / "m", *SIZES)
    assert result.exit_code == 0, result.output
    assert "4 of 6 rows go on from the earlier classifier, of 2 labels" in result.stderr
    earlier, found = load(saved / "m"), load(tmp_path / "n")
    assert sorted(found.labels) == ["bad", "good", "odd"]
    assert set(earlier.words) < set(found.words)
    at = [model.words.index("dull") for model in (earlier, found)]
    assert (earlier.e[at[0]] == found.e[at[1]]).all()
    assert found.predict("so odd")[0] == ["odd"]


def test_a_size_and_rows_that_are_trained_again(run, tmp_path, saved):
    result = run("quantize", saved / "m", "-o", "q.ftz", "--size", "26kB", "--dsub", "1")
    assert result.exit_code == 0, result.output
    whole = run("quantize", saved / "m", "-o", "whole.ftz", "--dsub", "1")
    assert whole.exit_code == 0
    assert (tmp_path / "q.ftz").stat().st_size <= 26_000
    result = run("quantize", saved / "m", "-o", "r.ftz", "--cutoff", "4", "--retrain", "text", "--threads", "1")
    assert result.exit_code == 0, result.output
    assert "4 of 4 rows go on from the earlier classifier" in result.stderr
    found = load(tmp_path / "r.ftz")
    assert found.e.shape == (4, 20)
    assert not found.settings.counts_unknown


@pytest.mark.parametrize("to", ["bin", "ftz"])
def test_export(to, run, tmp_path, saved):
    result = run("export", saved / "m", "--to", to, "-o", f"x.{to}")
    assert result.output == f"the classifier is in x.{to}\n"
    assert (tmp_path / f"x.{to}").read_bytes() == (saved / f"m.{to}").read_bytes()
    for given, message in (
        (("m", "--to", to, "-o", "x.vec"), f"x.vec: give a name that ends in .{to}"),
        (("m", "--to", to, "-o", f"y.{to}", "--neighbours", "3"), "--neighbours is for --to embedding-atlas only"),
        (("m", "--to", to, "-o", f"y.{to}", "--top", "3"), "--top is for vectors; `any2vec quantize --cutoff` keeps"),
        (("m", "--to", "onnx", "-o", "y"), "--to is 'onnx'; it must be one of"),
        (("nowhere", "--to", to, "-o", f"y.{to}"), "nowhere: does not exist"),
    ):
        result = run("export", saved / given[0], *given[1:])
        assert message in str(result.exception)


@pytest.mark.parametrize("name", ["m", "m.bin", "m.ftz"])
def test_commands_of_vectors_say_what_reads_a_classifier(name, run, saved):
    result = run("similar", saved / name, "fine")
    assert result.exit_code == 1
    assert "classifier" in str(result.exception)
