"""Graphs from Python's own objects, and sparse matrices whose arrays are corrupt."""

import subprocess
import sys
import warnings
from collections import deque
from types import SimpleNamespace as Data  # the part of PyTorch Geometric's that is used

import igraph
import networkx as nx
import numpy as np
import pandas as pd
import pytest
from naive_graph import rows_of_graph
from scipy import io as scipy_io
from scipy import sparse

from any2vec.errors import Any2VecError
from any2vec.graph import read_graph, read_labels
from any2vec.graph.readers import GraphWarning


class Frame:
    """The part of a pandas or polars data frame that is used."""

    def __init__(self, **columns):
        self.columns = list(columns)
        self._arrays = {name: np.asarray(values) for name, values in columns.items()}

    def __getitem__(self, name):
        class Column:
            to_numpy = lambda _: self._arrays[name]  # noqa: E731

        return Column()

    def to_numpy(self):
        raise AssertionError("columns have different types")


PATH = [("a", "b"), ("b", "c")]
WEIGHTED = [("a", "b", 2), ("b", "c", 0.5)]
FORMS = {
    "list": (PATH, WEIGHTED),
    "tuple": (tuple(PATH), tuple(WEIGHTED)),
    "lists": ([list(pair) for pair in PATH], [list(triple) for triple in WEIGHTED]),
    "deque": (deque(map(deque, PATH)), deque(map(deque, WEIGHTED))),
    "neighbours": ({"a": ["b"], "b": ["c"]}, {"a": {"b": 2}, "b": {"c": 0.5}}),
    "neighbours both ways": (
        {"a": {"b"}, "b": ("a", "c"), "c": ["b"]},
        {"a": {"b": 2}, "b": {"a": 2.0, "c": 0.5}, "c": {"b": 0.5}},
    ),
    "frame": (Frame(s=["a", "b"], t=["b", "c"]), Frame(s=["a", "b"], t=["b", "c"], w=[2, 0.5])),
    "strings": (np.array(PATH), np.array(WEIGHTED, object)),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("generator", [False, True])
def test_forms_of_edges(form, generator):
    for source, weights in zip(FORMS[form], ([1.0, 1.0], [2.0, 0.5]), strict=True):
        if generator and form not in ("list", "lists"):
            continue
        graph = read_graph((edge for edge in source) if generator else source)
        assert graph.names == ["a", "b", "c"]
        assert rows_of_graph(graph) == [
            [(1, weights[0])],
            [(0, weights[0]), (2, weights[1])],
            [(1, weights[1])],
        ]
        assert (graph.weights is None) == (weights == [1, 1])
        assert not graph.directed


def test_forms_of_edges_and_options():
    for source in (WEIGHTED, {"a": {"b": 2}, "b": {"c": 0.5}}, Frame(s=["a", "b"], t=["b", "c"], w=[2, 0.5])):
        assert read_graph(source, weighted=False).weights is None
        assert read_graph(source, directed=True).degrees.tolist() == [1, 1, 0]
        assert read_graph(source, vertices=["z"]).names == ["a", "b", "c", "z"]
    assert read_graph([(1, 2), ("2", 3), (np.int64(3), 1)]).names == ["1", "2", "3"]
    assert read_graph([((0, 1), (0, 2))]).names == ["(0, 1)", "(0, 2)"]
    assert read_graph([("a", "b", 1), ("a", "b")], weighted=False).edges == 1
    assert read_graph([("a", "b"), ("a", "b")], merge=False).edges == 2
    assert read_graph([("a", "b", 1), ("b", "a", 2)]).weights.tolist() == [3, 3]
    ways = read_graph({"a": {"b": 1}, "b": {"a": 2}}, directed=True)
    assert (ways.weights.tolist(), ways.edges) == ([1, 2], 2)
    alone = read_graph({"a": ["b", "b"], "c": []})
    assert (alone.names, alone.edges) == (["a", "b", "c"], 1)
    assert read_graph(Frame(s=[5, 2], t=[2, 9])).names == ["5", "2", "9"]
    assert read_graph(np.array([["x", "y"], ["y", "x"]])).names == ["x", "y"]


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (["ab", "bc"], r"the list, item 0: 'ab' is a str; expected a pair \(source, target\) or a triple"),
        ([("a", "b"), "bc"], "the list, item 1: 'bc' is a str"),
        ([{"a": 1, "b": 2}], "item 0: .* is a dict; expected a pair"),
        ([3, 4], "item 0: 3 is a int; expected a pair"),
        ([("a", "b"), ("b", "c", 1)], r"item 1: \('b', 'c', 1\) has 3 fields; expected .*, as item 0"),
        ([("a", "b", 1), ("b", "c")], r"item 1: \('b', 'c'\) has 2 fields"),
        ([("a",)], "item 0: .* has 1 field;"),
        ([["x"] * 10_000], "item 0: .{,80} has 10,000 fields"),
        ([("a", "b", "heavy")], "item 0: the weight 'heavy' is not a number"),
        ([("a", "b", None), ("b", "c", 1)], "item 0: has no weight, as 1 of 2 edges"),
        ([("a", "b", -1)], "item 0: the weight -1.0 is negative"),
        ([("a", "b", 10**400)], "item 0: the weight .{,60} is not a number"),
        ([("a", None)], "item 0: a vertex is missing"),
        ([("a", float("nan"))], "item 0: a vertex is missing"),
        ([("a", b"b")], "item 0: a vertex is a bytes"),
        ([], "the list: has no edges"),
        (iter([]), "the list_iterator: has no edges"),
        ({}, "the dict: has no edges"),
        ({"a": "bc"}, "the dict, vertex 'a': 'bc' is a str; expected a list of neighbours"),
        ({"a": 3}, "the dict, vertex 'a': 3 is a int; expected a list of neighbours"),
        ({"a": {"b": 1}, "b": {"a": 2}}, "vertex 'b': the edge to 'a' has two different weights, 1.0 and 2.0"),
        ({"a": {"b": {}}}, "vertex 'a': the weight {} is not a number"),
        ({"a": {"b": 1}, "b": ["c"]}, "edge 'b' to 'c': has no weight"),
        (dict, "cannot be read from the class dict; give a path, pairs"),
        ({"source": ["a"], "target": ["b"]}, "keys 'source', 'target', as a table has columns; .* give a data frame"),
        ({"Src": ["a"], "dst": ["b"], "weight": [2]}, "keys 'Src', 'dst', 'weight', as a table has columns"),
        (Frame(a=["x"], b=["y"], c=[1], d=[2]), "has 4 columns; expected the two ends"),
        (Frame(a=["x"]), "has 1 columns"),
        (Frame(a=["x"], b=["y"], c=["z"]), "the data frame, row 0, column 'c': the weight 'z' is not a number"),
        (Frame(a=["x"], b=[np.nan]), "the data frame, column 'b', row 0: a vertex is missing"),
        (np.ones((2, 3)), "is the third column weights"),
        (np.ones((2, 3), int), "is the third column weights"),
        (b"path", "an object of type bytes"),
        (object(), "an object of type object; give a path"),
    ],
)
def test_edges_that_are_refused(source, message):
    with pytest.raises(Any2VecError, match=message) as caught:
        read_graph(source)
    assert len(str(caught.value)) < 400


def save_corrupt(path, kind, name, value):
    sparse.save_npz(path, kind(sparse.csr_array(np.array([[0, 1, 1], [1, 0, 1], [1, 1, 0.0]]))))
    with np.load(path) as saved:
        arrays = dict(saved)
    np.savez(path, **arrays | {name: np.array(value)})


CSR, CSC, COO, DIA = sparse.csr_array, sparse.csc_array, sparse.coo_array, sparse.dia_array


def BSR(matrix):  # noqa: N802
    return sparse.bsr_array(matrix, blocksize=(1, 1))


COMPRESSED = [
    ("indptr", [[0, 100, -5, 6], [0, 10**9, 0, 0], [0, 2, 4, 7], [1, 2, 4, 6], [0, 4, 2, 6], [0, 6], [[0, 2, 4, 6]]]),
    ("indptr", [[0, -(10**9), 2, -1], [0, 2, 4, 2**62]]),
    ("indices", [[5, 10**9, 0, 1, 0, 1], [1, 2, -(10**9), 1, 0, 1], [1, 2, 0, 1, 0, 2**62], [1, 2]]),
    ("data", [[1.0, 2.0]]),
    ("shape", [[3, 2**31], [3], [-3, -3], [10**9, 10**9]]),
]
COORDINATES = [
    ("row", [[0, 1, 2, 3, 4, 5], [0, 1], [0.5, np.nan, 1, 2, 0, 10**12]]),
    ("col", [[0, 1, 2, 0, 1, -7]]),
    ("coords", [[[0, 1, 2, 0, 1, 10**9], [0, 1, 2, 0, 1, 2]], [[0, 1, 2, 0, 1, -4], [0, 1, 2, 0, 1, 2]]]),
    ("shape", [[2, 2]]),
]
OUTSIDE = [[10**9, -(10**9), 3, -3], [2**31 - 1, -(2**31), 2**31 - 2, -4]]  # no entries
DIAGONALS = [("offsets", [[0], [1, 1, 2, 2], *OUTSIDE]), ("data", [[1.0]]), ("shape", [[2]])]

READ = """
import sys
from any2vec.graph import read_graph
for path in sys.argv[1:]:
    print(path, flush=True)
    try:
        print(read_graph(path))
    except Exception as error:
        print(type(error).__name__, str(error), flush=True)
"""


@pytest.mark.parametrize(
    ("kind", "cases"), [(CSR, COMPRESSED), (CSC, COMPRESSED), (BSR, COMPRESSED), (COO, COORDINATES), (DIA, DIAGONALS)]
)
def test_corrupt_matrices_in_files(tmp_path, kind, cases):
    cases = [(name, value) for name, values in cases for value in values]
    paths = [str(tmp_path / f"{i}.npz") for i in range(len(cases))]
    for path, (name, value) in zip(paths, cases, strict=True):
        save_corrupt(path, kind, name, value)
    done = subprocess.run([sys.executable, "-c", READ, *paths], capture_output=True, text=True, check=False)
    lines = done.stdout.splitlines()  # of another process, which a crash would end
    assert (done.returncode, lines[::2]) == (0, paths), cases[len(lines) // 2 - 1]
    for case, path, line in zip(cases, paths, lines[1::2], strict=True):
        assert line.startswith(f"Any2VecError {path}: "), case


@pytest.mark.parametrize("kind", [CSR, CSC, BSR])
def test_corrupt_matrices_in_memory(kind):
    matrix = kind(sparse.csr_array(np.array([[0, 1], [1, 0.0]])))
    matrix.indptr = np.array([0, 2**20, 0], matrix.indptr.dtype)
    with pytest.raises(Any2VecError, match="the matrix: is not a sparse matrix: indptr does not rise"):
        read_graph(matrix)
    assert matrix.indptr.tolist() == [0, 2**20, 0]


def test_corrupt_labels_of_matlab(tmp_path):
    group = sparse.csc_matrix(np.array([[1, 0], [1, 1], [0, 0]]))
    group.indices[0] = 99
    scipy_io.savemat(tmp_path / "a.mat", {"group": group, "network": group})
    for read in (read_labels, lambda path: read_graph(path, key="group")):
        with pytest.raises(Any2VecError, match=r"a.mat, 'group': has the (index 99|shape)"):
            read(tmp_path / "a.mat")


@pytest.mark.parametrize("kind", [CSR, CSC, COO, BSR, DIA])
def test_forms_of_npz(tmp_path, kind):
    matrix = sparse.csr_array(np.array([[0, 1, 0], [1, 0, 3], [0, 3, 0.0]]))
    sparse.save_npz(tmp_path / "graph.npz", kind(matrix))
    assert rows_of_graph(read_graph(tmp_path / "graph.npz")) == rows_of_graph(read_graph(matrix))


BOTH_WAYS = {  # lists in which edges stand both ways: the weights of a's row (if all agree), and how many are said
    "a a 1, a b 1, b a 1": ([("a", 1), ("b", 1)], 0),
    "b a 2, a b 2, a c 3, c a 3, c c 1": ([("b", 2), ("c", 3)], 0),
    "a b 1, b a 1, c a 2": ([("b", 1), ("c", 2)], 1),
    "a b 1, b c 1, c b 1, a a 4": ([("a", 4), ("b", 1)], 1),
    "a b 1, a c 2": ([("b", 1), ("c", 2)], 0),
}
LISTED = {  # lists of lines that say different things, or the same several times: each counts
    "a b 1, b a 3, a c 2, c a 2": [("b", 4), ("c", 4)],
    "a b 1, a b 1, b a 1": [("b", 3)],
    "a b 1, b a 1, a b 2, b a 2": [("b", 3)],
    "b a 1, b a 2, b a 4": [("b", 7)],
}


def sources_of(lines, folder):
    """Yield a list of weighted edges in the ways in which it can be given."""
    edges = [(a, b, float(weight)) for a, b, weight in map(str.split, lines.split(", "))]
    frame = pd.DataFrame(edges, columns=["source", "target", "weight"])
    for name, text in (("edges", lines.replace(", ", "\n")), ("csv", lines.replace(", ", "\n").replace(" ", ","))):
        (folder / name).write_text(f"{text}\n")
        yield folder / name
    frame.to_parquet(folder / "graph.parquet")
    yield from (edges, frame, folder / "graph.parquet")


def row_of_a(read, said):
    """Return the row of vertex a, of a graph that is read; check how many edges a warning says."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        graph = read()
    assert [str(one.message).rpartition(": ")[2].split()[0] for one in found] == [str(said)] * bool(said)
    names = list(graph.names)
    return sorted((names[other], weight) for other, weight in rows_of_graph(graph)[names.index("a")])


@pytest.mark.parametrize("lines", [*BOTH_WAYS, *LISTED])
def test_edges_listed_both_ways_weigh_the_same_from_every_source(tmp_path, lines):
    wanted, said = BOTH_WAYS.get(lines) or (LISTED[lines], 0)
    for source in sources_of(lines, tmp_path):
        assert row_of_a(lambda source=source: read_graph(source), said) == wanted
    if lines not in BOTH_WAYS:
        return
    edges = [(a, b, float(weight)) for a, b, weight in map(str.split, lines.split(", "))]
    graph = nx.Graph()
    graph.add_weighted_edges_from(edges)
    assert row_of_a(lambda: read_graph(graph), 0) == wanted
    names = sorted({vertex for edge in edges for vertex in edge[:2]})
    places = [[names.index(edge[end]) for edge in edges] for end in (0, 1)]
    weights = np.array([edge[2] for edge in edges])
    matrix = sparse.coo_array((weights, places), shape=(len(names), len(names)))
    if (weights != 1).any():
        assert row_of_a(lambda: read_graph(matrix, names=names), said) == wanted
        data = Data(edge_index=np.array(places), edge_weight=weights)
        assert row_of_a(lambda: read_graph(data, names=names), said) == wanted


@pytest.mark.parametrize("number", [1, 2, 3, 5])
def test_frames_that_are_matrices(number):
    for names in ("abcde"[:number], range(number)):
        graph = nx.relabel_nodes(nx.path_graph(number), dict(enumerate(names)))
        graph.add_edge(names[0], names[-1])
        for made in (graph, nx.DiGraph(graph)):
            frame, directed = nx.to_pandas_adjacency(made), made.is_directed()
            found = read_graph(frame, directed=directed)
            assert found.names == [str(name) for name in names]
            assert rows_of_graph(found) == rows_of_graph(read_graph(made))
            turned = read_graph(frame.iloc[:, ::-1], directed=directed)
            assert rows_of_graph(turned) == rows_of_graph(found)
    for kind in (object, str):
        with pytest.raises(Any2VecError, match=r"^the data frame: has entries of type .*; expected real numbers$"):
            read_graph(frame.astype(int).astype(kind))
    assert read_graph(pd.DataFrame([(1, 2), (2, 3)])).edges == 2  # of numbers that pandas gives: a row is an edge
    assert read_graph(pd.DataFrame([("a", "b")], columns=["x", "y"], index=["x"])).names == ["a", "b"]


def test_numbers_of_edges_that_are_not_read_are_said():
    index = np.array([[0, 1], [1, 2]])
    named = nx.Graph()
    named.add_edge("a", "b", value=3, label="x")
    sources = [
        (Data(edge_index=index, edge_attr=np.ones((2, 1))), "'edge_attr'.*called 'edge_weight'"),
        (named, "the networkx graph: edges have 'value'.*called 'weight'"),
        (igraph.Graph(n=2, edges=[(0, 1)], edge_attrs={"value": [3]}), "the igraph graph: edges have 'value'"),
    ]
    for source, message in sources:
        with pytest.warns(GraphWarning, match=message):
            assert read_graph(source).weights is None
        assert read_graph(source, weighted=False).weights is None
    assert read_graph(Data(edge_index=index, edge_attr=np.ones(2), edge_weight=np.array([2, 3]))).weights.max() == 3
    named.add_edge("a", "b", weight=2)
    assert read_graph(named).weights.max() == 2
