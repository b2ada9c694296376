"""Tables in files: columns of CSV and Parquet as lines, labels before them."""

import gzip

import pytest

from any2vec.corpus import read_corpus
from any2vec.errors import Any2VecError
from any2vec.io.tables import Labels, open_column, open_table, table_ending

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

CSV = 'id,text,label\n1,"a ""fine"", film\nof old",very  good\n2,,\n3,__label__x dull x__label__y __label__,bad\n'
LINES = '__label__very_good a "fine", film of old\n \n__label__bad  dull x__label__y \n'


def lines(path, column="text", labels=None):
    with open_column(path, column, labels) as (stream, done):
        found = stream.read().decode()
        assert done() == path.stat().st_size
    return found


def test_a_column_of_csv(tmp_path):
    (tmp_path / "t.csv").write_text(CSV)
    (tmp_path / "t.tsv").write_text("text\tlabel\na b\tc\n")
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(CSV.encode("utf-8-sig")))
    assert lines(tmp_path / "t.csv") == 'a "fine", film of old\n\n__label__x dull x__label__y __label__\n'
    for name in ("t.csv", "t.csv.gz"):
        assert lines(tmp_path / name, "text", Labels("label", "__label__")) == LINES
    assert lines(tmp_path / "t.tsv", "text", Labels("label", "#")) == "#c a b\n"
    assert lines(tmp_path / "t.csv", "id") == "1\n2\n3\n"  # numbers are texts


@pytest.mark.parametrize("kind", ["string", "dictionary", "int64", "bool", "list", "large_list"])
def test_labels_of_parquet(kind, tmp_path):
    given = {"int64": [3, None, 5], "bool": [True, None, False], "list": [["a b", "c"], [], None]}
    given["large_list"] = given["list"]
    values = pa.array(given.get(kind, ["a b", None, "c"]))
    values = values.dictionary_encode() if kind == "dictionary" else values
    values = values.cast(pa.large_list(pa.string())) if kind == "large_list" else values
    wanted = {"int64": ["#3", "", "#5"], "bool": ["#true", "", "#false"], "list": ["#a_b #c", "", ""]}
    wanted = wanted.get(kind.removeprefix("large_"), ["#a_b", "", "#c"])
    texts = pa.array([["x", "y"], [], ["z"]])
    pq.write_table(pa.table({"l": values, "t": texts}), tmp_path / "t.parquet", row_group_size=2)
    expected = "".join(f"{label} {text}\n" for label, text in zip(wanted, ("x y", "", "z"), strict=True))
    assert lines(tmp_path / "t.parquet", "t", Labels("l", "#")) == expected


def test_many_rows_come_in_pieces(tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n" + "".join(f"{i},x{i}\n" for i in range(20_000)))
    with open_table(tmp_path / "t.csv") as (batches, _):
        found = list(batches)
    assert len(found) > 2
    assert [value for batch in found for value in batch.column("b").to_pylist()] == [f"x{i}" for i in range(20_000)]
    assert found[0].schema.names == ["a", "b"]


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        (CSV, "txt", "t.csv: has no column 'txt'; it has 'id', 'text', 'label'"),
        ("a,a\n1,2\n", "a", "t.csv: has more than one column 'a'"),
        ("a,b\n1\n", "a", "t.csv: cannot be read as CSV: .*Expected 2 columns"),
        ("", "a", "t.csv: cannot be read as CSV: Empty CSV file"),
        (b"a,b\n\xff\xfe,c\n", "a", "t.csv: cannot be read as CSV: .*UTF8"),
    ],
)
def test_what_is_wrong_is_named(text, column, message, tmp_path):
    (tmp_path / "t.csv").write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(Any2VecError, match=message) as caught:
        read_corpus(tmp_path / "t.csv", column=column, cache=None)
    assert "\n" not in str(caught.value)


def test_labels_are_no_lists_of_numbers(tmp_path):
    pq.write_table(pa.table({"l": [1.5], "t": ["a"]}), tmp_path / "t.parquet")
    with pytest.raises(Any2VecError, match="column 'l': is of type double; labels are strings, integers, or lists"):
        lines(tmp_path / "t.parquet", "t", Labels("l", "#"))


def test_a_damaged_compressed_table(tmp_path):
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(CSV.encode() * 999)[:-20])
    with pytest.raises(Any2VecError, match=r"t.csv.gz: not a complete gz file"):
        read_corpus(tmp_path / "t.csv.gz", column="text", cache=None)


def test_which_files_are_tables(tmp_path):
    names = {"a.csv": ".csv", "a.CSV.gz": ".csv", "a.tsv.xz": ".tsv", "a.parquet": ".parquet", "a.parquet.gz": ""}
    names |= {"a.txt": "", "csv": "", "a.gz": ""}
    assert {name: table_ending(tmp_path / name) for name in names} == names
