"""Parquet files, tables of Arrow, and folders of parts as sources of edges."""

import gzip

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from naive_graph import rows_of_graph
from scipy import sparse

from any2vec import Any2VecError
from any2vec.graph import read_graph


def same(one, other):
    return list(one.names) == list(other.names) and rows_of_graph(one) == rows_of_graph(other)


def write(path, table, **options):
    pq.write_table(pa.table(table), path, **options)
    return path


@pytest.mark.parametrize(
    "kind", ["int8", "uint64", "float64", "string", "large_string", "string_view", "dictionary", "mixed", "large"]
)
def test_columns_are_read_as_pairs_are(tmp_path, kind, monkeypatch):
    monkeypatch.setattr("any2vec.graph.sources.arrow._ROWS", 30)
    ends = np.random.default_rng(1).integers(0, 25, (200, 2)) - (kind in ("large", "mixed"))  # with negative ones
    ends = ends * (2**55 if kind == "large" else 1)
    weights = np.arange(1, 201) / 4
    names = ends.tolist()
    if kind == "dictionary":
        columns = [pa.array(map(str, column)).dictionary_encode() for column in ends.T.tolist()]
    elif kind == "mixed":
        columns = [pa.array(ends[:, 0]), pa.array(map(str, ends[:, 1].tolist()))]
    elif "string" in kind:
        names = [[f"é{a}", f"é{b}"] for a, b in names]
        columns = [pa.array(column).cast(getattr(pa, kind)()) for column in zip(*names, strict=True)]
    else:
        columns = [pa.array(column, pa.int64() if kind == "large" else getattr(pa, kind)()) for column in ends.T]
    table = pa.table({"s": columns[0], "t": columns[1], "w": weights})
    wanted = read_graph([(a, b, w) for (a, b), w in zip(names, weights.tolist(), strict=True)])
    file = write(tmp_path / "edges.parquet", table, row_group_size=70)
    sources = [table, file]
    if kind != "string_view":
        sources += [table.to_pandas(), pa.RecordBatch.from_arrays([*columns, pa.array(weights)], names=list("stw"))]
    for source in sources:
        assert same(read_graph(source), wanted)
    assert read_graph(file, weighted=False).weights is None
    (tmp_path / "parts").mkdir()
    for i in range(3):
        write(tmp_path / "parts" / f"part-{i}.snappy.parquet", table.slice(70 * i, 70))
    (tmp_path / "parts" / "_SUCCESS").touch()
    assert same(read_graph(tmp_path / "parts"), wanted)
    assert same(
        read_graph(tmp_path / "parts", bipartite="a,b"),
        read_graph(list(zip(*zip(*names, strict=True), weights.tolist(), strict=True)), bipartite="a,b"),
    )


def test_which_columns_are_read(tmp_path):
    table = {"id": [0, 1], "dst": ["b", "c"], "src": ["a", "b"], "user": ["x", "y"], "weight": [2, 3]}
    path = write(tmp_path / "edges.parquet", table)
    for source in (path, pa.table(table)):
        assert same(read_graph(source), read_graph([("a", "b", 2), ("b", "c", 3)]))
        for columns in ("user,dst", ("user", "dst")):
            assert same(read_graph(source, columns=columns), read_graph([("x", "b"), ("y", "c")]))
        assert read_graph(source, columns="user,dst,id", weighted=False).edges == 2
        with pytest.raises(Any2VecError, match=r"has no column 'z' .`columns`.; it has 'id', 'dst'"):
            read_graph(source, columns="user,z")
    typed = pa.table({"source": [1, 1], "target": [1, 2], "source_kind": ["u", "u"], "target_kind": ["i", "u"]})
    for source in (typed, write(tmp_path / "typed.pq", typed)):
        assert list(read_graph(source).names) == ["u:1", "i:1", "u:2"]
        assert list(read_graph(source).kinds) == ["u", "i", "u"]
    (tmp_path / "e.txt").write_text("a b\n")
    for source in (tmp_path / "e.txt", [("a", "b")]):
        with pytest.raises(Any2VecError, match=r"has no columns with names, as `columns` needs; give a"):
            read_graph(source, columns="a,b")
    for wrong in ("a", "a,a", 5, ["a", 5], "a,b,c,d"):
        with pytest.raises(Any2VecError, match=r"`columns` is .*: give two names of columns"):
            read_graph(path, columns=wrong)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"s": ["a", None], "t": ["b", "c"]}, "column 's', row 1: a vertex is missing .null"),
        ({"s": ["a", ""], "t": ["b", "c"]}, "column 's', row 1: a vertex is missing .an empty string"),
        ({"s": pa.array(["a", ""]).dictionary_encode(), "t": ["b", "c"]}, "column 's', row 1: a vertex is missing"),
        ({"s": [1.0, 1.5], "t": [1, 2]}, "column 's', row 1: a vertex is 1.5, not a whole number"),
        ({"s": [True, False], "t": [1, 2]}, "column 's': is of type bool; vertices are strings or integers"),
        ({"s": [1, 2], "t": [2, 3], "w": ["a", "b"]}, "column 'w': is of type string; weights are numbers"),
        ({"s": [1, 2], "t": [2, 3], "w": [1, None]}, "row 1, column 'w': the weight is missing"),
        ({"s": [1, 2], "t": [2, 3], "w": [1, -1]}, "row 1, column 'w': the weight -1 is negative"),
        ({"s": [1]}, "has 1 columns; expected the two ends .*: it has 's'; choose them by `columns`"),
        ({key: [1] for key in "abcd"}, "has 4 columns; .*: it has 'a', 'b', 'c', 'd'; choose"),
        ({"s": pa.array([], pa.int64()), "t": pa.array([], pa.int64())}, "has no edges"),
    ],
)
def test_parquet_files_that_are_refused(tmp_path, table, message):
    path = write(tmp_path / "bad.parquet", table)
    with pytest.raises(Any2VecError, match=f"bad.parquet.*{message}"):
        read_graph(path)


def test_parquet_files_that_are_none(tmp_path):
    whole = write(tmp_path / "a.parquet", {"s": [1], "t": [2]}).read_bytes()
    (tmp_path / "a.parquet").write_bytes(whole[:40])
    with pytest.raises(Any2VecError, match=r"a.parquet: not a complete parquet file"):
        read_graph(tmp_path / "a.parquet")
    (tmp_path / "a.txt").write_bytes(whole)
    with pytest.raises(Any2VecError, match=r"this is a Parquet file; give its name the ending .parquet, or `format="):
        read_graph(tmp_path / "a.txt")
    assert read_graph(tmp_path / "a.txt", format="parquet").edges == 1
    with pytest.raises(Any2VecError, match=r"from standard input; give its path"):
        read_graph("-", format="parquet")


def test_folders_of_text(tmp_path):
    (tmp_path / "part-0.csv").write_text("a,b\nb,3\n")
    (tmp_path / "part-1.csv").touch()
    (tmp_path / "part-2.csv.gz").write_bytes(gzip.compress(b"3;d\nd;7\n"))
    (tmp_path / ".part-0.csv.crc").write_bytes(b"\0\1")
    (tmp_path / "_SUCCESS").touch()
    assert same(read_graph(tmp_path), read_graph([("a", "b"), ("b", 3), (3, "d"), ("d", 7)]))
    (tmp_path / "part-3.csv").write_text("a,b,2\n")
    with pytest.raises(Any2VecError, match=r"part-3.csv: its lines have weights, but those of .*part-0.csv have none"):
        read_graph(tmp_path)
    assert read_graph(tmp_path, weighted=False).edges == 4
    (tmp_path / "part-3.csv").write_text("a,b\nx\n")
    with pytest.raises(Any2VecError, match=r"part-3.csv, line 2: 'x': too few fields"):
        read_graph(tmp_path)
    sparse.save_npz(tmp_path / "part-4.npz", sparse.csr_array(np.ones((2, 2))))
    with pytest.raises(
        Any2VecError, match=r"part-3.csv is of the format edges, .*part-4.npz of npz; give parts of one"
    ):
        read_graph(tmp_path)


def test_other_folders(tmp_path):
    (tmp_path / "_SUCCESS").touch()
    with pytest.raises(Any2VecError, match=r"has no files of edges"):
        read_graph(tmp_path)
    (tmp_path / "a.txt").write_text("# a\n")
    (tmp_path / "b.txt").touch()
    with pytest.raises(Any2VecError, match=r"has no edges; 1 line begins with #"):
        read_graph(tmp_path)
    matrices = tmp_path / "matrices"
    matrices.mkdir()
    sparse.save_npz(matrices / "a.npz", sparse.csr_array(np.ones((2, 2))))
    assert read_graph(matrices).edges == 3
    sparse.save_npz(matrices / "b.npz", sparse.csr_array(np.ones((2, 2))))
    with pytest.raises(Any2VecError, match=r"is a directory of 2 files of the format npz; give one of them"):
        read_graph(matrices)
    parts = tmp_path / "parts"
    parts.mkdir()
    write(parts / "0.parquet", {"s": [1], "t": ["a"]})
    write(parts / "1.parquet", {"t": ["b"], "s": ["1"]})
    assert list(read_graph(parts).names) == ["1", "a", "b"]
    write(parts / "2.parquet", {"u": [1], "s": ["a"]})
    with pytest.raises(Any2VecError, match=r"2.parquet: has no column 't', which .*0.parquet has"):
        read_graph(parts)
    pq.write_table(pa.table([["a"], ["b"], [1.0]], ["s", "s", "w"]), tmp_path / "twice.parquet")
    with pytest.raises(Any2VecError, match=r"twice.parquet: has more than one column 's'; rename one of them"):
        read_graph(tmp_path / "twice.parquet")


def test_matrix_market_or_edges(tmp_path):
    path = tmp_path / "a.mtx"
    path.write_text("%%MatrixMarket matrix coordinate pattern symmetric\n% c\n3 3 2\n2 1\n3 2\n")
    assert same(read_graph(path), read_graph([(0, 1), (1, 2)]))
    path.write_text("a b\nb c\n")
    assert same(read_graph(path), read_graph([("a", "b"), ("b", "c")]))
    path.write_text("%%MatrixMarket matrix coordinate real general\n3 2 1\n9 9 9\n")
    with pytest.raises(Any2VecError, match=r"a.mtx: is not a Matrix Market file: Line 3: Row index out of bounds"):
        read_graph(path)
