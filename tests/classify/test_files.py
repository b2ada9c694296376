"""Labels of files and tables."""

import gzip
import io
import json
import sys

import numpy as np
import pytest
from test_predict import model_of

from any2vec.classify import texts
from any2vec.errors import Any2VecError

LINES = [f"the cat w{i} x" if i % 3 else "__label__z größe" for i in range(500)] + [""]


@pytest.fixture
def model():
    return model_of("ova", word_ngrams=2, buckets=30)


@pytest.fixture
def text(tmp_path):
    path = tmp_path / "lines.txt"
    path.write_text("\n".join(LINES) + "\n")
    return path


def expected(model, k=1, threshold=0.0, lines=LINES):
    labels, p = model.predict(lines, k, threshold)
    rows = [
        " ".join(f"__label__{label} {q:.6f}" for label, q in zip(*row, strict=True) if label)
        for row in zip(labels, p, strict=True)
    ]
    return "".join(f"{row}\n" for row in rows)


@pytest.mark.parametrize("how", [{}, {"k": 3}, {"k": -1, "threshold": 0.4, "threads": 3}, {"threshold": 1.0}])
def test_lines(model, text, tmp_path, how, monkeypatch):
    monkeypatch.setattr(texts, "_READ", 100)  # also less than some lines
    assert model.predict_file(text, tmp_path / "out", **how) == len(LINES)
    how.pop("threads", None)
    assert (tmp_path / "out").read_text() == expected(model, **how)


def test_compressed_files_several_and_standard_output(model, text, tmp_path, capfdbinary, monkeypatch):
    (tmp_path / "b.gz").write_bytes(gzip.compress(b"\xef\xbb\xbfthe cat\nx"))  # the last line has no end
    assert model.predict_file([text, tmp_path / "b.gz"], tmp_path / "out.gz") == len(LINES) + 2
    whole = expected(model, lines=[*LINES, "the cat", "x"])
    assert gzip.decompress((tmp_path / "out.gz").read_bytes()).decode() == whole
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"the cat\nx\n")))
    assert model.predict_file("-", "-") == 2
    assert capfdbinary.readouterr().out.decode() == expected(model, lines=["the cat", "x"])


def test_json(model, text, tmp_path):
    model.predict_file(text, tmp_path / "out.jsonl", k=2, threshold=0.3)
    rows = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    labels, p = model.predict(LINES, 2, 0.3)
    assert [row["labels"] for row in rows] == [[label for label in row if label] for row in labels]
    assert np.allclose([sum(row["probabilities"]) for row in rows], p.sum(axis=1), atol=1e-5)
    assert [[row["known"], row["words"]] for row in rows] == model.known(LINES).tolist()


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("to", ["csv", "parquet"])
@pytest.mark.parametrize("k", [1, 2])
def test_tables(model, tmp_path, kind, to, k):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    table = pandas.DataFrame({"n": range(len(LINES)), "text": LINES, "note": ["a, b\nc"] * len(LINES)})
    path, out = tmp_path / f"in.{kind}", tmp_path / f"out.{to}"
    table.to_csv(path, index=False) if kind == "csv" else table.to_parquet(path)
    assert model.predict_file(path, out, k=k, threshold=0.5, column="text") == len(LINES)
    found = pandas.read_csv(out, keep_default_na=False, dtype=str) if to == "csv" else pandas.read_parquet(out)
    assert found.columns.tolist() == ["n", "text", "note", "label", "probability"]
    assert (found.text == LINES).all()
    assert (found.note == "a, b\nc").all()
    assert found.n.astype(int).tolist() == list(range(len(LINES)))
    labels, p = model.predict(LINES, k, 0.5)
    for i, row in enumerate(zip(labels, p, strict=True)):
        names = [label for label in row[0] if label]
        if to == "csv":
            assert found.label[i] == " ".join(names)
        else:
            assert (found.label[i] if k == 1 else found.label[i].tolist()) == (names if k > 1 else (names or [None])[0])
            assert np.allclose(found.probability[i], row[1][: len(names)]) or not names
    assert model.predict_file(path, tmp_path / "lines", column="text") == len(LINES)
    assert (tmp_path / "lines").read_text() == expected(model)


def test_what_is_refused(model, text, tmp_path):
    pytest.importorskip("pyarrow")
    (tmp_path / "t.csv").write_text("label,text\n1,the cat\n")
    (tmp_path / "mine").write_text("mine")
    (tmp_path / "bad.csv").write_text("a,b\n1,2,3\n")
    for source, to, how, message in (
        (text, "mine", {}, "exists"),
        (tmp_path / "missing", "out", {}, "no such file"),
        (text, "out.csv", {}, "give the `column`"),
        (tmp_path / "t.csv", "out.csv", {"column": "txt"}, "has no column 'txt'"),
        (tmp_path / "t.csv", "out", {}, "t.csv: is a table; give the `column` of its texts"),
        (
            tmp_path / "t.csv",
            "out.csv.gz",
            {"column": "text"},
            "a table is not compressed; give a name that ends in .csv",
        ),
        (tmp_path / "bad.csv", "out.csv", {"column": "a"}, "cannot be read as CSV"),
        ([text, text], "out", {"column": "text"}, "is of one table"),
        (text, "out", {"k": 0}, "`k` is 0"),
    ):
        with pytest.raises(Any2VecError, match=message):
            model.predict_file(source, tmp_path / to, **how)
        assert not (tmp_path / "out").exists()
        assert not (tmp_path / "out.csv").exists()
    assert (tmp_path / "mine").read_text() == "mine"


def test_tables_that_have_labels_or_no_rows(model, tmp_path):
    pd = pytest.importorskip("pandas")
    (tmp_path / "t.csv").write_text("label,text\n1,the cat\n")
    (tmp_path / "none.csv").write_text("id,text\n")
    model.predict_file(tmp_path / "t.csv", tmp_path / "out.csv", column="text")
    found = pd.read_csv(tmp_path / "out.csv")
    assert found.columns.tolist() == ["label", "text", "predicted_label", "predicted_probability"]
    model.predict_file(tmp_path / "t.csv", tmp_path / "out.jsonl.gz", column="text")
    row = json.loads(gzip.decompress((tmp_path / "out.jsonl.gz").read_bytes()))
    assert list(row) == ["label", "text", "labels", "probabilities", "known", "words"]
    assert model.predict_file(tmp_path / "t.csv", tmp_path / "out.tsv", column="text") == 1
    assert (tmp_path / "out.tsv").read_text().splitlines()[0].split("\t")[2] == '"predicted_label"'
    for ending in ("csv", "parquet"):
        assert model.predict_file(tmp_path / "none.csv", tmp_path / f"no.{ending}", column="text") == 0
    assert pd.read_parquet(tmp_path / "no.parquet").columns.tolist() == ["id", "text", "label", "probability"]
