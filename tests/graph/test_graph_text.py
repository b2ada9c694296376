"""Edge lists and labels as people write them: separators, quotes, headers, comments; and files of other formats."""

import gzip
import io
import pickle
import subprocess
import zipfile

import numpy as np
import pytest
from naive_graph import rows_of_graph
from scipy import io as scipy_io
from scipy import sparse

from any2vec import Any2VecError
from any2vec.graph import read_graph, read_labels
from any2vec.graph.readers import GraphWarning


@pytest.fixture
def read(tmp_path):
    path = tmp_path / "graph.txt"

    def reader(text, **options):
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return read_graph(path, threads=1, **options)

    return reader


SEPARATED = [
    ("a;b\nb;c\n", {}, "abc", None),
    ("a|b|1\nb|c|2\n", {}, "abc", [1, 1, 2, 2]),
    ("a ; b\nb;c\n", {}, "abc", None),
    ("\ufeffa;b\r\nb;c\r\n", {}, "abc", None),
    ("New York;Los Angeles\nLos Angeles;a\n", {}, ["New York", "Los Angeles", "a"], None),
    ("sp|P1|X sp|Q2|Y\n", {}, ["sp|P1|X", "sp|Q2|Y"], None),
    ("a|x,b|y\n", {}, ["a|x", "b|y"], None),
    ("a;x,b;y\n", {}, ["a;x", "b;y"], None),
    ("a;1\tb;2\n", {}, ["a;1", "b;2"], None),
    ("1e3 1.0\n1.0 007\n", {}, ["1e3", "1.0", "007"], None),
    ('"a,1","b"\n"b","c ""x"""\n', {}, ["a,1", "b", 'c "x"'], None),
    ('Paris,London\nLondon,"Washington, DC"\n', {}, ["Paris", "London", "Washington, DC"], None),
    ('\ufeff"a";"b";"1.5"\r\n"b";"c";"2"\r\n', {}, "abc", [1.5, 1.5, 2, 2]),
    ('"New York" "Boston"\n"Boston" c\n', {}, ["New York", "Boston", "c"], None),
    ('" a\na b\n" b\n', {}, '"ab', None),
    ('"\ta\na\tb\n', {}, '"ab', None),
    ('"Al"-Yankovic\tb\n', {}, ['"Al"-Yankovic', "b"], None),
    ('"#a",b\nb,"%c"\n', {}, ["#a", "b", "%c"], None),
    ('"1","2"\n2,"007"\n', {}, ["1", "2", "007"], None),
    ("a b\n", {}, "ab", None),
    ("a ,b\n", {}, "ab", None),
    ("a\tb\nNew York\tBoston\n", {}, ["a", "b", "New York", "Boston"], None),
    ("a \t b\n", {}, "ab", None),
    ("New York|Paris\nx | y\n", {"delimiter": "|"}, ["New York", "Paris", "x", "y"], None),
    ("a b 2\nb c 3\n", {"directed": True}, "abc", [2, 3]),
    ("a b {}\nb c {'weight': 3}\n", {"weighted": False}, "abc", None),
    ("% sym\n1 2 1 99\n", {"weighted": True, "directed": True}, "12", [1]),
    ("1 2 3 4\n1\n3 9\n", {"format": "adjacency"}, "12349", None),
    ("// c\n1 2\n", {"comments": "/"}, "12", None),
    ("#a b\n%c d\n", {"comments": ""}, ["#a", "b", "%c", "d"], None),
]


@pytest.mark.parametrize(("text", "options", "names", "weights"), SEPARATED)
def test_what_separates_and_quotes_fields(read, text, options, names, weights):
    graph = read(text, **options)
    assert list(graph.names) == list(names)
    assert (graph.weights is None) if weights is None else graph.weights.tolist() == weights


REFUSED = [
    ("a;b;1,5\n", {}, "has commas and semicolons; .* `delimiter`: ',' for 'a;b;1', '5'; ';' for 'a', 'b', '1,5'"),
    ("a;b;1,234.5\nb;c;2,345.6\n", {}, "has commas and semicolons"),
    ("a;b;1,5;\n", {}, "has commas and semicolons"),
    ("1;a;b;1,5\n", {}, "has commas and semicolons"),
    ("a|b|,5\n", {}, "has bars and commas"),
    ("a;b;1,5e3\n", {}, "has commas and semicolons"),
    ("a;b;1,5%\n", {}, "has commas and semicolons"),
    ("a;b;$1,500.25\n", {}, "has commas and semicolons"),
    ("#a #b\n\n#b #c\n", {}, "has no edges; 2 lines begin with # or %, .*`comments` '' reads them.; expected"),
    ("\n", {}, "has no edges; expected"),
    ("a;b;1,5\n", {"delimiter": ";"}, "the third field '1,5' has a comma; weights are written as 1234.5"),
    ("a;b;1\na;c;1.234,5\n", {}, "line 2: .*the weight '1.234,5' is not a number; .*nothing between thousands"),
    ('a,b,5\nb,c,"1,234"\n', {}, "line 2: 'b,c,\"1,234\"': the weight '1,234' is not a number"),
    ("1;2 3\n", {}, "has semicolons and spaces"),
    ("1|2,3\n", {}, "has bars and commas"),
    ('a,b\n"b,c\n', {}, "line 2: '\"b,c': a quote is not closed on its line"),
    ('a,"b\nc",d\n', {}, "line 1: 'a,\"b': a quote is not closed"),
    ('"a",b\n"b",c,d\n', {}, "line 2: '\"b\",c,d': too many fields; .*separated by ','"),
    ('"a",""\n', {}, "an empty field"),
    ("source,target,weight\n1,2,1\n", {}, "the third field 'weight' is not a weight; .*`header=True` skips it"),
    ("a,b\n", {"header": True}, "has no edges after the header"),
    ("h,h\n\na,b\nc\n", {"header": True}, "line 4: 'c': too few fields"),
    ("a b\n", {"comments": 5}, "`comments` is 5: give a string"),
    ("a b\n", {"delimiter": 5}, "`delimiter` is 5: give a string"),
    ("a b 1600000000000000000\n", {}, r"is an integer beyond 2\^53"),
    ("a,,c\n", {"weighted": False}, "an empty field"),
    ("a,,c\n", {"format": "adjacency"}, "an empty field"),
]


@pytest.mark.parametrize(("text", "options", "message"), REFUSED)
def test_what_is_asked_for(read, text, options, message):
    with pytest.raises(Any2VecError, match=message) as caught:
        read(text, **options)
    assert "\n" not in str(caught.value)


def test_headers(read):
    assert list(read("source,target\n1,2\n2,3\n", header=True).names) == ["1", "2", "3"]
    assert list(read("# c\n\na,b,weight\n# d\n1,2,1\n", header=True).names) == ["1", "2"]
    assert list(read('"s t";b\n"1";2\n', header=True).names) == ["1", "2"]
    for text in ("source,target\n1,2\n2,3\n", "from to\nalice bob\nbob carol\n", "a;b;1\n1;2;1\n2;3;1\n"):
        for directed in (False, True):
            with pytest.warns(GraphWarning, match=r"of the first line, .*, are in no other; .*`header=True` skips it"):
                read(text, directed=directed)
    read("a b\nb c\nc d\n")  # no warning
    read("1 2\n3 4\n4 5\n")
    read("b a\n1 2\n2 b\n", directed=True)


def test_comments_after_the_first_edge(read):
    text = "# c\na b\n#love #hate\n\n#x b\nb c\n"
    with pytest.warns(GraphWarning, match=r"2 lines after the first edge begin with # or % \(line 3\), and were"):
        assert list(read(text).names) == ["a", "b", "c"]
    for none in ("", None):
        assert list(read(text.removeprefix("# c\n"), comments=none).names) == ["a", "b", "#love", "#hate", "#x", "c"]
    with pytest.warns(GraphWarning, match=r"1 line after the first edge begins with # or % \(line 3\), and was skip"):
        read('# x\n"a",b\n# y\nb,c\n')
    read("# a\n% b\na b\nb c\n")  # no warning


def test_comments_in_later_blocks(tmp_path):
    path = tmp_path / "edges"
    path.write_text("a b\n" * 300_000 + "# c\nb c\n" + "% d\n" * 3)
    with pytest.warns(GraphWarning, match=r"4 lines after the first edge begin"):
        read_graph(path, threads=2)


def test_empty_last_fields(read):
    text = "a\tb\tinteraction\t\nb\tc\tinteraction\t\n"
    assert list(read(text, weighted=False).names) == ["a", "b", "c"]
    assert read("a\tb\t0.5\t\nb\tc\t2\t\n", weighted=True).weights.tolist() == [0.5, 0.5, 2, 2]
    assert list(read("a,b,\nb,c,\n", weighted=False).names) == ["a", "b", "c"]
    padded = read("a,b,c\nb,,\nc,d ,\n", format="adjacency")
    assert rows_of_graph(padded) == rows_of_graph(read("a,b,c\nb\nc,d\n", format="adjacency"))


def pickled():
    return pickle.dumps({"a": ["b"]})


def npy(save=np.save):
    out = io.BytesIO()
    save(out, np.arange(4).reshape(2, 2))
    return out.getvalue()


def workbook():
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as file:
        file.writestr("[Content_Types].xml", "<Types/>")
    return out.getvalue()


FOREIGN = {
    "GML": 'Creator "x"\ngraph [\n  directed 0\n  node [\n id 1\n ]\n]\n',
    "GraphML": '<?xml version="1.0"?>\n<graphml xmlns="x">',
    "GEXF": '<?xml version="1.0"?>\n<gexf>',
    "XML": '<?xml version="1.0"?>\n<x>',
    "a web page": "<!DOCTYPE html>\n<html>",
    "a Pajek file": '*Vertices 3\n1 "a"\n*Edges\n1 2\n',
    "JSON": '{"directed": false,\n "nodes": [], "links": []}',
    "JSON, not": '{"a": 1}\n{"a": 2}\n',
    "JSON, ": "[[1, 2], [2, 3]]",
    "Graphviz": "digraph G {\n a -> b;\n}",
    "Graphviz ": "// a\nstrict graph g\n{ a -- b }",
    "a METIS file": "4 4\n2 4\n1 3\n2 4\n3 1\n",
    "a DIMACS file": "c x\np edge 3 2\ne 1 2\ne 2 3\n",
    "a text of Python's tuples": "('a', 'b')\n('b', 'c')\n",
    "a Matrix Market file": "%%MatrixMarket matrix coordinate\n3 3 1\n1 2 1\n",
    "a PDF file": b"%PDF-1.4\n%\xe2\xe3\n1 0 obj\n",
    "an array of NumPy": npy(),
    "a .npz file": npy(np.savez),
    "a pickle of Python": pickled(),
    "a file of Excel": workbook(),
    "a Parquet file": b"PAR1\x15\x04",
    "compressed with gzip": gzip.compress(b"a b\n"),
    "a model of fastText": b"\xba\x16\x4f\x2f\x0c\0\0\0",
    "an HDF5 file": b"\x89HDF\r\n\x1a\n\0",
    "a SQLite database": b"SQLite format 3\0",
    "a file of safetensors": (20).to_bytes(8, "little") + b'{"e":{}}',
}


@pytest.mark.parametrize("what", FOREIGN)
def test_files_that_are_no_edge_lists(read, what):
    with pytest.raises(Any2VecError, match=rf"graph.txt: this is {what.split(',')[0].strip()}.*; \w+") as caught:
        read(FOREIGN[what])
    assert "delimiter" not in str(caught.value)


LIKE = ["graph paper\npaper pen\n", "p q\nq r\n", "(a) (b)\n(b) c\n", "a b\nc (b,d)\n", "[a] [b]\n", "4 4\n4 1\n"]
LIKE += ["% " * 2000 + "\na b\n"]


@pytest.mark.parametrize("text", LIKE)
def test_edge_lists_that_look_like_others(read, text):
    assert read(text).edges


def test_metis_is_guessed(read):
    with pytest.raises(Any2VecError, match=r"line 2: .*too many fields.*; if this is a METIS file"):
        read("3 3 1\n2 1 3 1\n1 1\n1 1\n")


def test_labels_of_many_words(tmp_path):
    path = tmp_path / "labels"

    def labels(text, **options):
        path.write_text(text)
        found = read_labels(path, **options)
        return found.names, found.labels

    assert labels("5\tclass 0\n6\tclass 1\n") == (["5", "6"], ["class 0", "class 1"])
    assert labels("5;class\n") == (["5"], ["class"])
    assert labels('"New York",big,old\n') == (["New York"], ["big", "old"])
    assert labels('a,"b, c"\n') == (["a"], ["b, c"])
    assert labels("#a x\n", comments="") == labels("#a x\n", comments=None) == (["#a"], ["x"])
    with pytest.warns(GraphWarning, match=r"1 line after the first begins with # or %, and was skipped"):
        labels("a x\n#b y\n")


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("5;class 0\n", {}, "has semicolons and spaces; give what separates"),
        ("New York,big\n", {}, "has commas and spaces; give what separates"),
        ("a x\nb\tclass 1\n", {}, "line 2: .*has spaces and tabs, the first line only one"),
        ('a,"x\n', {}, "line 1: .*a quote is not closed"),
        ("a\0x", {}, "has NUL bytes"),
        ("<html>", {}, "this is a web page"),
        ("a x\nb\n", {}, "line 2: 'b' has no label"),
        ("", {}, "has no labels"),
        ('{"5": "a"}', {}, "this is JSON; expected lines of a vertex and its labels; read it with json.load"),
        ("\n\n", {"format": "labels"}, "has no labels"),
        (b"a x\n\xff y\n", {}, "line 2: '\ufffd y': is not UTF-8"),
        ("a x\n", {"format": "csv"}, "`format` is 'csv'; known are"),
        ("a x\n", {"comments": 5}, "`comments` is 5: give a string"),
        (3, {}, "labels are read from a file, not from 3"),
    ],
)
def test_labels_that_are_refused(tmp_path, text, options, message):
    path = text if text == 3 else tmp_path / "labels"
    if text != 3:
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(Any2VecError, match=message):
        read_labels(path, **options)


def test_matrices_that_unpack_to_too_much(tmp_path, monkeypatch):
    sparse.save_npz(tmp_path / "a.npz", sparse.coo_array(np.ones((3, 3))))
    monkeypatch.setattr("any2vec.graph.sources.matrices.available", lambda: 400)
    with pytest.raises(Any2VecError, match=r"a.npz: not enough memory: 0.0 GB for its arrays"):
        read_graph(tmp_path / "a.npz")
    wide = sparse.coo_array(([1.0], ([0], [1])), shape=(2**31 - 1, 2**31 - 1))
    with pytest.raises(Any2VecError, match=r"the matrix: not enough memory: 64.4 GB for a graph of 2,147,483,647 vert"):
        read_graph(wide)


def test_a_matlab_file_that_does_not_fit(tmp_path, monkeypatch):
    scipy_io.savemat(tmp_path / "a.mat", {"network": np.ones((2, 2))})
    for status in (3, -9):
        ended = subprocess.CompletedProcess([], status, b"", b"")
        monkeypatch.setattr("any2vec.graph.sources.matrices.subprocess.run", lambda *_, ended=ended, **__: ended)
        with pytest.raises(Any2VecError, match=r"a.mat: not enough memory to read it"):
            read_graph(tmp_path / "a.mat")
