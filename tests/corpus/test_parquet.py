"""Columns of Parquet files, of Arrow tables and of data sets of Hugging Face."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from naive_corpus import found
from typer.testing import CliRunner

from any2vec import Phrases, Word2Vec
from any2vec.cli import app
from any2vec.corpus import read_corpus
from any2vec.errors import Any2VecError

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

LINES = ["the cat sat", "", "  on\tthe  mat ", "wörd\nof two lines", "the cat\r\nsat"]
ROWS = [line.replace("\n", " ") for line in LINES]
MORE = [f"word{i % 7} word{i % 11} the cat" for i in range(500)]


def read(source, **options):
    return found(read_corpus(source, min_count=1, cache=None, **options))


def write(path, columns, **options):
    pq.write_table(pa.table(columns), path, **options)
    return path


def refused(source, column, **options):
    with pytest.raises(Any2VecError) as caught:
        read_corpus(source, column=column, cache=None, **options)
    message = str(caught.value)
    assert "\n" not in message
    return message


@pytest.mark.parametrize(
    "kind", ["string", "large_string", "string_view", "dictionary", "list", "large_list", "list of string_view"]
)
def test_a_column_is_what_its_rows_are_in_memory(tmp_path, kind):
    rows = ROWS + MORE
    if "list" in kind:
        values = pa.array([row.split() for row in rows])
        values = values.cast(pa.list_(pa.string_view())) if kind.endswith("string_view") else values
        values = values.cast(pa.large_list(pa.string())) if kind == "large_list" else values
    elif kind == "dictionary":
        values = pa.array(rows).dictionary_encode()
    else:
        values = pa.array(LINES + MORE).cast(getattr(pa, kind)())
    path = write(tmp_path / "text.parquet", {"id": range(len(rows)), "text": values}, row_group_size=100)
    assert read(path, column="text") == read([row.split() for row in rows])
    assert read(path, column="text", hosts=3)[0] == read([row.split() for row in rows])[0]


def test_folders_as_spark_writes_them(tmp_path):
    folder = tmp_path / "out"
    folder.mkdir()
    write(folder / "part-0.snappy.parquet", {"text": ROWS})
    write(folder / "part-1.parquet", {"text": MORE}, compression="zstd")
    (folder / "_SUCCESS").touch()
    (folder / ".part-0.crc").write_bytes(b"\xff")
    assert read(folder, column="text") == read([row.split() for row in ROWS + MORE])


def test_the_cache_knows_columns(tmp_path):
    path = write(tmp_path / "text.parquet", {"a": ["x y"] * 9, "b": ["x z"] * 9})
    corpora = [read_corpus(path, min_count=1, column=name, cache=tmp_path / "cache") for name in "aba"]
    assert [list(corpus.vocabulary.words) for corpus in corpora] == [["x", "y"], ["x", "z"], ["x", "y"]]
    assert [corpus.cached for corpus in corpora] == [False, False, True]


def test_words_and_phrases(tmp_path):
    path = write(tmp_path / "text.parquet", {"text": MORE})
    how = ["--dim", "16", "--min-count", "1", "--threads", "1", "--epochs", "1", "--no-cache"]
    how += ["--window", "3", "--negative", "3"]
    done = CliRunner().invoke(app, ["words", str(path), "--column", "text", "-o", str(tmp_path / "v.bin"), *how])
    assert done.exit_code == 0, done.output
    given = {"dim": 16, "min_count": 1, "threads": 1, "epochs": 1, "cache": None, "window": 3, "negative": 3}
    same = Word2Vec(**given).fit([row.split() for row in MORE]).vectors_
    found = Word2Vec(**given, column="text").fit(path).vectors_
    assert found.words == same.words
    assert (found.matrix == same.matrix).all()
    phrases = Phrases(min_count=1, threshold=0.1, column="text").fit_transform(path)
    assert list(phrases) == list(Phrases(min_count=1, threshold=0.1).fit_transform([row.split() for row in MORE]))


def test_what_is_wrong_is_named(tmp_path):
    path = write(tmp_path / "t.parquet", {"text": ["a b"] * 20_000 + [None], "n": range(20_001), "u": ["x"] * 20_001})
    assert refused(path, "words") == f"{path}: has no column 'words'; it has 'text', 'n', 'u'"
    assert refused(path, None) == f"{path}: give the `column` that has the text; it has 'text', 'n', 'u'"
    assert refused(path, "text") == f"{path}: column 'text': row 20,000 is null"
    assert refused(path, "n").endswith("column 'n': is of type int64; it must hold strings, or lists of strings")
    tokens = write(tmp_path / "l.parquet", {"text": [["a"], ["b", "c d"]]})
    assert "row 1 has the token 'c d': null, empty, or with whitespace" in refused(tokens, "text")
    pq.write_table(pa.table([["a b"], ["c d"]], ["text", "text"]), tmp_path / "twice.parquet")
    assert "has more than one column 'text'; it has 'text', 'text'" in refused(tmp_path / "twice.parquet", "text")
    ids = write(tmp_path / "i.parquet", {"text": [[1], [2, 3]]})
    assert "is of type list<element: int64>" in refused(ids, "text")
    (tmp_path / "x.txt").write_text("a b\n")
    assert "x.txt is text; it is for files that end in .parquet, .csv or .tsv, and rows" in refused(
        [path, tmp_path / "x.txt"], "text"
    )
    whole = path.read_bytes()
    for damaged in (whole[: len(whole) // 2], b"", b"PAR1", bytes(np.frombuffer(whole, np.uint8) ^ 255)):
        path.write_bytes(damaged)
        for column in ("u", None):
            assert f"{path}: not a complete parquet file: " in refused(path, column)
    (tmp_path / "only").mkdir()
    (tmp_path / "only" / "_SUCCESS").touch()
    assert "has no table" in refused(tmp_path / "only", "text")


@pytest.mark.parametrize("absent", [["pyarrow.parquet"], ["pyarrow", "pyarrow.parquet"]])
def test_without_pyarrow(tmp_path, monkeypatch, absent):
    path = write(tmp_path / "t.parquet", {"text": ["a b"]})
    for module in absent:
        monkeypatch.setitem(__import__("sys").modules, module, None)
    assert "pip install 'pyarrow>=" in refused(path, "text")
    assert "pip install 'pyarrow>=" in refused(path, None)


@pytest.mark.parametrize("kind", ["table", "batch", "dataset", "shuffled", "streamed"])
def test_tables_and_data_sets(kind):
    table = pa.table({"text": ROWS, "id": range(len(ROWS))})
    rows = [row.split() for row in ROWS]
    if kind == "batch":
        table = table.to_batches()[0]
    elif kind != "table":
        if importlib.util.find_spec("datasets") is None:
            pytest.skip("needs datasets")
        from datasets import Dataset

        table = Dataset(table)
        if kind == "shuffled":
            table, rows = table.select([3, 0, 1]), [rows[i] for i in (3, 0, 1)]
        if kind == "streamed":
            table = table.to_iterable_dataset()
    assert read(table, column="text") == read(rows)
    assert "with the columns 'text', 'id', not 'words'" in refused(table, "words")
    assert "with the columns 'text', 'id'; say which" in refused(table, None) or kind == "streamed"


def test_a_transform_is_applied_and_other_columns_are_not_looked_at():
    datasets = pytest.importorskip("datasets")
    rows = datasets.Dataset.from_dict({"text": ["a b", "c d e", "f"], "other": [None, [], None]})
    upper = read([["A", "B"], ["C", "D", "E"], ["F"]])
    shouted = rows.with_transform(lambda some: {"text": [text.upper() for text in some["text"]]})
    assert read(shouted, column="text") == upper
    assert read(shouted.select([2, 0]), column="text") == read([["F"], ["A", "B"]])
    tokens = rows.with_transform(lambda some: {"tokens": [text.upper().split() for text in some["text"]]})
    assert read(tokens, column="tokens") == upper
    assert "the transformed corpus has rows with the columns 'tokens', not 'text'" in refused(tokens, "text")
    plain = read([["a", "b"], ["c", "d", "e"], ["f"]])
    for kind in ("numpy", "torch", "pandas", "polars", "arrow"):
        if importlib.util.find_spec(kind) or kind == "arrow":
            assert read(rows.with_format(kind), column="text") == plain, kind
            assert read(rows.with_format(kind, columns=["other"]), column="text") == plain, kind
    assert read(rows.map(lambda row: {"text": row["text"].upper()}), column="text") == upper


def test_streams_whose_columns_do_not_fit_into_one_table():
    datasets = pytest.importorskip("datasets")

    def made():
        for text, other, tokens in (("a b", None, []), ("c d e", [], ["x"]), ("f", [1.5], ["y", "z"])):
            yield {"text": text, "other": other, "tokens": tokens}

    stream = datasets.IterableDataset.from_generator(made)
    assert read(stream, column="text") == read([["a", "b"], ["c", "d", "e"], ["f"]])
    assert read(stream, column="tokens") == read([[], ["x"], ["y", "z"]])
    upper = stream.map(lambda row: {"text": row["text"].upper()})
    assert read(upper, column="text") == read([["A", "B"], ["C", "D", "E"], ["F"]])
    assert read(stream.with_format("numpy"), column="tokens") == read([[], ["x"], ["y", "z"]])
    null = datasets.Dataset.from_dict({"text": ["a", None]})
    for source in (null, null.to_iterable_dataset()):
        assert "row 1 of the column 'text' is null" in refused(source, "text")


@pytest.mark.parametrize("kind", [pa.large_string(), pa.dictionary(pa.int32(), pa.string()), pa.string_view()])
def test_arrow_of_many_kinds(tmp_path, kind):
    import pyarrow.dataset

    rows = [row.split() for row in ROWS]
    column = pa.array(ROWS).cast(kind)
    table = pa.Table.from_batches([pa.record_batch({"text": column}), pa.record_batch({"text": column.slice(1)})])
    expected = read([*rows, *rows[1:]])
    assert read(table, column="text") == expected
    assert read(table.to_reader(), column="text") == expected
    assert read(pyarrow.dataset.dataset(table), column="text") == expected
    assert "the columns 'text', not 'words'" in refused(table.to_reader(), "words")
    lists = pa.chunked_array([pa.array([["a", "b"]]), pa.array([["c"]])])
    assert read(lists) == read([["a", "b"], ["c"]])
    assert "has no columns" in refused(lists, "text")
    assert "sentence 0 is a str" in refused(column, None)
    twice = pa.Table.from_arrays([column, column], names=["text", "text"])
    assert "more than one column 'text'" in refused(twice, "text")


def test_data_frames():
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    rows = [row.split() for row in ROWS]
    frame = pandas.DataFrame({"text": ROWS, "tokens": rows}, index=[7 * i for i in range(len(ROWS))])
    assert read(frame, column="text") == read(frame.set_index("text", drop=False), column="text") == read(rows)
    assert read(frame, column="tokens") == read(frame["tokens"]) == read(rows)
    for null in (None, float("nan"), pandas.NA):
        broken = pandas.DataFrame({"text": ["a", null]})
        assert "row 1 of the column 'text' is null" in refused(broken, "text")
    assert "more than one column 'text'" in refused(pandas.concat([frame, frame], axis=1), "text")
    frame = polars.DataFrame({"text": ROWS, "tokens": rows})
    assert read(frame, column="text") == read(frame, column="tokens") == read(rows)
    assert "the corpus is a LazyFrame, whose rows are not computed yet; give" in refused(frame.lazy(), "text")
    assert "item 1 of the corpus is a dict with the columns 'b', not 'a'" in refused(
        iter([{"a": "x"}, {"b": "y"}]), "a"
    )


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="measuring memory needs Linux")
@pytest.mark.parametrize("same", [True, False])  # Parquet writes equal rows once
def test_large_rows_take_little_memory(tmp_path, same):
    row = "x " * 250_000
    rows = pa.table({"text": [row + ("" if same else str(i)) for i in range(1200)]})
    pq.write_table(rows, tmp_path / "t.parquet", write_batch_size=16)  # pages, which are decoded whole, of 16 rows
    program = """
import sys
from pathlib import Path
from any2vec.io.tables import open_column

def peak():
    return int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0])

before, size = peak(), 0
with open_column(Path(sys.argv[1]), "text") as (file, _):
    while some := file.read(1 << 20):
        size += len(some)
print(size, peak() - before)
"""
    command = [sys.executable, "-c", program, str(tmp_path / "t.parquet")]
    size, memory = map(int, subprocess.run(command, check=True, capture_output=True, text=True).stdout.split())
    assert size >= 1200 * len(row)
    assert memory < 700_000  # kB; at once, they and their text would take 1,800,000


def test_too_little_memory_is_called_that(tmp_path, monkeypatch):
    pq.write_table(pa.table({"text": ["a b"]}), tmp_path / "t.parquet")

    def none(*_):
        raise pa.ArrowMemoryError("malloc of size 4294967296 failed")

    monkeypatch.setattr("any2vec.io.tables._texts", none)
    assert f"{tmp_path}/t.parquet: not enough memory to read its rows" in refused(tmp_path / "t.parquet", "text")
