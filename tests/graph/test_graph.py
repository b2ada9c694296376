"""Reading graphs: against a naive reader, networkx, igraph and SciPy; what is refused, and how."""

import bz2
import gzip
import io
import lzma
import os
import struct
import sys
import threading
from functools import partial
from unittest.mock import patch

import igraph
import networkx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from naive_graph import edges_of_text, rows_of_edges, rows_of_graph
from scipy import io as scipy_io
from scipy import sparse

from any2vec.errors import Any2VecError
from any2vec.graph import Graph, csr, karate_club, read_graph, read_labels
from any2vec.graph.build import ReadOptions, build_graph
from any2vec.graph.edgelist import read_edge_list
from any2vec.graph.readers import FILE_FORMATS
from any2vec.io.inputs import files_of

IDS = st.one_of(
    st.integers(0, 12).map(str),
    st.sampled_from(["0", "00", "7", "07", "-1", "+1", "999999999", "1000000000", "1048575", "1048576", "4294967297"]),
    st.sampled_from(["a", "b", "é", "日本", "x#y", "C%", "1e3", "1.0", "v" * 15, "v" * 16, "w" * 40, "\x01"]),
)
OTHER_WEIGHTS = ["1", "0.5", ".5", "5.", "+2", "1e3", "1E-3", "1e+05", "16777217", "16777217.0000001", "1e-44"]
WEIGHTS = st.one_of(
    st.floats(1e-37, 1e37).map(repr),
    st.floats(0.001, 1000).map(lambda weight: f"{weight:.3f}"),
    st.integers(1, 2**53).map(str),
    st.integers(2**53, 10**25).map("{}.0".format),
    st.sampled_from(OTHER_WEIGHTS),
)
JUNK = st.sampled_from(["", "", "  ", "\t", "# a comment", "% 1 2", "#", "  # indented"])


def read_text(path, text, *, size=1 << 20, adjacency=False, **options):
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    options = ReadOptions(block=size, **options)
    with patch.object(csr, "_PARALLEL", 1):
        return build_graph(read_edge_list(files_of(path)[0], options, adjacency=adjacency), options)


@st.composite
def texts(draw, weighted, adjacency, separator):
    lines = []
    for _ in range(draw(st.integers(1, 30))):
        lines += draw(st.lists(JUNK, max_size=2)) if separator != "\t" else []
        fields = [draw(IDS), *draw(st.lists(IDS, min_size=0, max_size=5))] if adjacency else [draw(IDS), draw(IDS)]
        fields += [draw(WEIGHTS)] if weighted else []
        lines.append(separator.join(fields))
    end = draw(st.sampled_from(["\n", "\r\n"]))
    return draw(st.sampled_from(["", "\ufeff"])) + end.join(lines) + draw(st.sampled_from(["", end]))


@pytest.mark.slow
@given(st.data())
@settings(max_examples=150)
def test_any_list_is_read_as_the_naive_reader_reads_it(tmp_path_factory, data):
    weighted, adjacency, directed, merge, loops = data.draw(st.tuples(*[st.booleans()] * 5))
    weighted &= not adjacency
    separator = data.draw(st.sampled_from([" ", "  ", "\t", ",", " , ", ";", " \t "]))
    text = data.draw(texts(weighted, adjacency, separator))
    delimiter = separator.strip() or (separator if separator == "\t" else " ")
    names, edges = edges_of_text(
        text, weighted=weighted, adjacency=adjacency, delimiter=None if delimiter == " " else delimiter
    )
    wanted = rows_of_edges(len(names), edges, directed=directed, merge=merge, loops=loops, weighted=weighted)
    path = tmp_path_factory.mktemp("graph") / "edges"
    options = {"directed": directed, "merge": merge, "loops": loops, "delimiter": delimiter, "adjacency": adjacency}
    for threads, size in ((1, 1 << 20), (1, 1), (3, 7), (2, 40)):
        if not any(wanted):
            with pytest.raises(Any2VecError, match="has no edges"):
                read_text(path, text, threads=threads, size=size, weighted=weighted, **options)
            continue
        graph = read_text(path, text, threads=threads, size=size, weighted=weighted, **options)
        assert list(graph.names) == names
        assert [graph.names[i] for i in range(len(graph))] == names
        assert rows_of_graph(graph) == wanted
        assert (graph.weights is not None) == weighted
        count = sum(loops or source != target for source, target, _ in edges)
        pairs = {(s, t) if directed else (min(s, t), max(s, t)) for s, t, _ in edges if loops or s != t}
        assert graph.edges == (len(pairs) if merge else count)


@pytest.mark.filterwarnings("ignore::any2vec.graph.readers.GraphWarning")
@given(st.text('01a. ,;\t\n\r#-e"\x00é', max_size=60), st.booleans(), st.sampled_from([None, True, False]))
def test_any_bytes_are_a_graph_or_one_clear_line(tmp_path_factory, text, adjacency, weighted):
    path = tmp_path_factory.mktemp("graph") / "fuzz"
    for read in (partial(read_text, text=text, size=8, threads=2, adjacency=adjacency, weighted=weighted), read_labels):
        refused = ""
        try:
            found = read(path)
        except Any2VecError as error:
            refused = str(error)
        assert "\n" not in refused
        assert refused or len(set(found.names)) == len(found) > 0


def test_weights_are_the_nearest_float32(tmp_path):
    rng = np.random.default_rng(1)
    values = np.exp(rng.uniform(-80, 80, 20_000))
    singles = values.astype(np.float32)
    middles = (singles.astype(float) + np.nextafter(singles, np.float32(np.inf)).astype(float)) / 2
    written = [repr(float(v)) for v in (*values, *middles, *np.nextafter(middles, 0), *np.nextafter(middles, np.inf))]
    written += [f"{v:.18e}" for v in values] + [f"{v:.6g}" for v in values] + [str(np.float32(v)) for v in values]
    written += [*OTHER_WEIGHTS, *map(str, rng.integers(1, 2**53, 99)), *(f"{n}.0" for n in (2**53 + 1, 10**25 + 7))]
    graph = read_text(tmp_path / "edges", "".join(f"{i} {i} {w}\n" for i, w in enumerate(written)), directed=True)
    np.testing.assert_array_equal(graph.weights, np.array([float(w) for w in written]).astype(np.float32))


def test_matches_networkx_on_random_graphs(tmp_path):
    for seed, directed in ((1, False), (2, True)):
        theirs = networkx.gnp_random_graph(80, 0.1, seed=seed, directed=directed)
        theirs.add_edges_from([(3, 3), (200, 3)])
        theirs.add_node("alone")
        rng = np.random.default_rng(seed)
        for edge in theirs.edges:
            theirs.edges[edge]["weight"] = float(rng.uniform(0.1, 2))
        path = tmp_path / "edges"
        networkx.write_weighted_edgelist(theirs, path)
        for graph in (read_graph(path, directed=directed), read_graph(theirs)):
            order = [node if node == "alone" else int(node) for node in graph.names]
            wanted = networkx.to_numpy_array(theirs, nodelist=order, dtype=np.float32)
            dense = np.zeros_like(wanted)
            rows = np.repeat(np.arange(len(graph)), graph.degrees)
            dense[rows, graph.indices] = graph.weights
            np.testing.assert_array_equal(dense, wanted)
            assert graph.edges == theirs.number_of_edges()
            assert graph.directed == directed
            assert graph.loops == 1
        assert read_graph(theirs).names == [str(node) for node in theirs]
        networkx.write_adjlist(theirs, tmp_path / "graph.adjlist")
        listed = read_graph(tmp_path / "graph.adjlist", directed=directed)
        assert (len(listed), listed.edges, listed.weights) == (len(theirs), theirs.number_of_edges(), None)
        assert listed.degrees[list(listed.names).index("alone")] == 0


def test_networkx_multigraphs_and_what_is_refused():
    many = networkx.MultiGraph([("a", "b"), ("a", "b"), ("b", "c")])
    for view in (many.edges, many.adj, many["a"], many.to_directed().in_edges, networkx.karate_club_graph().edges):
        with pytest.raises(Any2VecError, match=r"^a graph cannot be read from networkx' .*View; give the graph itself"):
            read_graph(view)
    assert len(read_graph(many.edges(keys=False)).names) == 3  # pairs
    assert read_graph(many).edges == 2
    assert read_graph(many, merge=False).edges == 3
    assert read_graph(networkx.DiGraph([(1, 2)])).directed
    assert not read_graph(networkx.DiGraph([(1, 2)]), directed=False).directed
    some = networkx.Graph([(1, 2), (2, 3)])
    some.edges[2, 3]["weight"] = 2
    with pytest.raises(Any2VecError, match="edge '1' to '2': has no weight, as 1 of 2 edges"):
        read_graph(some)
    assert read_graph(some, weighted=False).weights is None
    some.edges[1, 2]["weight"] = "heavy"
    with pytest.raises(Any2VecError, match="edge '1' to '2': the weight 'heavy' is not a number"):
        read_graph(some)
    some.edges[1, 2]["weight"] = 0
    with pytest.raises(Any2VecError, match=r"edge '1' to '2': the weight 0\.0 is zero; drop the edge"):
        read_graph(some)
    with pytest.raises(Any2VecError, match="2 vertices are called '1'"):
        read_graph(networkx.Graph([(1, "1")]))
    with pytest.raises(Any2VecError, match="the networkx graph: has no edges"):
        read_graph(networkx.Graph())
    with pytest.raises(Any2VecError, match="edge '1' to '2': has no weight"):
        read_graph(networkx.Graph([(1, 2)]), weighted=True)


def test_igraph_graphs():
    graph = read_graph(igraph.Graph(n=4, edges=[(0, 1), (2, 1)], directed=True))
    assert (graph.names, graph.directed) == (["0", "1", "2", "3"], True)
    assert rows_of_graph(graph) == [[(1, 1.0)], [], [(1, 1.0)], []]
    named = igraph.Graph(edges=[(0, 1), (1, 2)])
    named.vs["name"], named.es["weight"] = ["x", "y", "z"], [0.5, 2]
    graph = read_graph(named)
    assert (graph.names, graph.directed) == (["x", "y", "z"], False)
    assert rows_of_graph(graph) == [[(1, 0.5)], [(0, 0.5), (2, 2.0)], [(1, 2.0)]]
    named.es["weight"] = [0.5, -2]
    with pytest.raises(Any2VecError, match=r"edge 'y' to 'z': the weight -2.0 is negative"):
        read_graph(named)
    assert read_graph(named, weighted=False).weights is None
    named.vs["name"] = [1.0, "a", "b"]
    assert read_graph(named, weighted=False).names == ["1", "a", "b"]
    named.vs["name"] = [None, "a", "b"]
    with pytest.raises(Any2VecError, match="the igraph graph, vertex 0: its name is missing"):
        read_graph(named)


@pytest.mark.parametrize("kind", [sparse.csr_matrix, sparse.coo_array, sparse.csc_array, sparse.lil_array])
def test_sparse_matrices(kind):
    rng = np.random.default_rng(0)
    half = np.triu((rng.random((40, 40)) < 0.1) * rng.random((40, 40)))
    half[39], half[:, 39] = 0, 0  # a vertex without edges
    whole = np.maximum(half, half.T)
    for matrix in (half, half.T, whole):
        graph = read_graph(kind(matrix))
        with patch.object(csr, "_PARALLEL", 1):
            assert rows_of_graph(read_graph(kind(matrix), threads=3)) == rows_of_graph(graph)
        wanted = [[(int(j), float(np.float32(row[j]))) for j in np.flatnonzero(row)] for row in whole]
        assert rows_of_graph(graph) == wanted
        assert list(graph.names) == [str(i) for i in range(40)]
        assert graph.edges == np.count_nonzero(half)
        assert graph.degrees[39] == 0
    directed = read_graph(kind(half), directed=True)
    assert directed.edges == len(directed.indices) == np.count_nonzero(half)
    assert read_graph(kind((whole > 0) * 1)).weights is None
    assert read_graph(kind(whole), weighted=False).weights is None
    assert read_graph(kind((whole > 0) * 1), weighted=True).weights is not None
    without = read_graph(kind(whole), loops=False)
    assert without.loops == 0 < read_graph(kind(whole)).loops


def test_matrices_that_are_refused(tmp_path):
    for matrix, message in (
        (np.array([[0, 1.0], [2, 0]]), "row 0, column 1 and row 1, column 0 have two different weights"),
        (np.array([[0, -1.0], [-1, 0]]), "row 0, column 1: the weight -1.0 is negative"),
        (np.array([[0, np.nan], [1, 0]]), "row 0, column 1: the weight nan is not a number"),
        (np.array([[0, 1], [np.inf, 0]]), "row 1, column 0: the weight inf is infinite"),
        (np.array([[0, 1], [1e39, 0]]), r"row 1, column 0: the weight 1e\+39 is infinite or more than a float32"),
        (np.array([[0, 1], [1e-50, 0]]), "row 1, column 0: the weight 1e-50 is less than a float32 holds"),
        (np.array([[0, 1j], [1, 0]]), "entries of type complex128; expected real numbers"),
        (np.zeros((3, 3)), "the matrix: has no edges"),
    ):
        with pytest.raises(Any2VecError, match=message):
            read_graph(sparse.coo_array(matrix))
    assert read_graph(sparse.coo_array(np.array([[0, 1.0], [2, 0]])), directed=True).edges == 2
    zero = sparse.coo_array(([1.0, 0.0, 2.0], ([0, 1, 1], [1, 2, 0])), shape=(3, 3))
    with pytest.raises(Any2VecError, match=r"row 1, column 2: the weight 0.0 is zero; drop the edge: eliminate_zeros"):
        read_graph(zero, directed=True)
    assert read_graph(zero, weighted=False).edges == 1
    parts = sparse.coo_array(([1.0, 1.0, 2.0], ([0, 0, 1], [1, 1, 0])), shape=(2, 2))
    for matrix in (parts, sparse.csr_array((parts.data, [1, 1, 0], [0, 2, 3]), shape=(2, 2))):
        assert read_graph(matrix).weights.tolist() == [2, 2]
    huge = sparse.coo_array(([1.0], ([2**31 - 1], [0])), shape=(2**31, 2**31))
    with pytest.raises(Any2VecError, match=r"has 2,147,483,648 vertices; at most 2,147,483,647"):
        read_graph(huge)


def test_matrices_that_fuzzing_found(tmp_path):
    blocks = {"format": b"bsr", "shape": (2, 2), "indptr": [0, 1, 1], "indices": [0], "data": np.ones((1, 1, 0))}
    np.savez(tmp_path / "blocks.npz", **blocks)
    with pytest.raises(Any2VecError, match=r"blocks\.npz: is not a sparse matrix: its blocks have the shape \(1, 0\)"):
        read_graph(tmp_path / "blocks.npz")
    halves = {"format": b"csr", "shape": (2, 2), "indptr": [0, 1, 1], "indices": [1], "data": np.full(1, 0.5, "f2")}
    np.savez(tmp_path / "half.npz", **halves)
    assert read_graph(tmp_path / "half.npz", directed=True).weights.tolist() == [0.5]
    signalling = np.array([0x7FF0000000000001], np.uint64).view(float)  # a NaN of which a cast warns
    entries = {"format": b"coo", "shape": (2, 2), "row": [0], "col": [1], "data": signalling}
    np.savez(tmp_path / "nan.npz", **entries)
    with pytest.raises(Any2VecError, match="the weight nan is not a number"):
        read_graph(tmp_path / "nan.npz")


def test_matlab_files(tmp_path):
    network = sparse.csc_matrix(np.array([[0, 1, 0], [1, 0, 0], [0, 0, 0.0]]))
    group = sparse.csc_matrix(np.array([[1, 0], [1, 1], [0, 0]]))
    path = tmp_path / "blog.mat"
    scipy_io.savemat(path, {"network": network, "group": group, "rest": "text", "wide": np.ones((2, 3))})
    graph = read_graph(path)
    assert (list(graph.names), graph.edges, graph.weights) == (["0", "1", "2"], 1, None)
    labels = read_labels(path)
    assert (labels.names, labels.labels, labels.matrix.tolist()) == (["0", "1"], ["0", "1"], [[1, 0], [1, 1]])
    with pytest.raises(Any2VecError, match=r"blog.mat: has no matrix 'net'; it has 'network', 'group', 'rest', 'wide'"):
        read_graph(path, key="net")
    scipy_io.savemat(tmp_path / "many.mat", {f"m{i}{'x' * 28}": np.ones(1) for i in range(30)})
    with pytest.raises(Any2VecError, match=r"it has 'm0xxxxxxxxxx\.\.\.xxxxx+', .*, \.\.\.$"):
        read_graph(tmp_path / "many.mat")
    with pytest.raises(Any2VecError, match="'rest' is not a matrix of numbers"):
        read_graph(path, key="rest")
    with pytest.raises(Any2VecError, match=r"blog.mat, 'wide': has the shape \(2, 3\)"):
        read_graph(path, key="wide", bipartite=False)
    scipy_io.savemat(path, {"network": network.toarray(), "group": 0 * group.toarray()})
    with pytest.raises(Any2VecError, match="'group': has no labels"):
        read_labels(path)
    assert rows_of_graph(read_graph(path)) == rows_of_graph(graph)
    path.write_bytes(b"1 2\n")
    with pytest.raises(Any2VecError, match=r"blog.mat: is not a Matlab file"):
        read_graph(path)
    with pytest.raises(Any2VecError, match=r"blog.mat: is not a file of scipy.sparse.save_npz"):
        read_graph(path, format="npz")
    np.savez(tmp_path / "other.npz", a=np.ones(3))
    with pytest.raises(Any2VecError, match=r"other.npz: is not a file of scipy.sparse.save_npz"):
        read_graph(tmp_path / "other.npz")


def test_matlab_files_need_scipy(tmp_path):
    (tmp_path / "a.mat").write_bytes(b"x")
    with patch.dict(sys.modules, {"scipy.io": None}), pytest.raises(Any2VecError, match="needs scipy, which is not"):
        read_graph(tmp_path / "a.mat")


def test_arrays():
    edges = np.array([[5, 2], [2, 9], [5, 2]])
    graph = read_graph(edges)
    assert (graph.names, graph.edges) == (["5", "2", "9"], 2)
    assert read_graph(edges.astype(np.uint64) + 2**63, directed=True).names[0] == str(5 + 2**63)
    for wrong in (np.ones((2, 2)), np.ones((3, 4), int), np.ones(4, int)):
        with pytest.raises(Any2VecError, match=r"expected integers or strings of shape \(E, 2\)"):
            read_graph(wrong)
    with pytest.raises(Any2VecError, match=r"row 1: \[3, -1\] has a negative vertex"):
        read_graph(np.array([[1, 2], [3, -1]]))
    with pytest.raises(Any2VecError, match="an array of edges has no weights"):
        read_graph(edges, weighted=True)
    with pytest.raises(Any2VecError, match="the array: has no edges"):
        read_graph(np.zeros((0, 2), int))
    with pytest.raises(Any2VecError, match="from an object of type int; give a path"):
        read_graph(3)


REFUSED = [
    ("1 2\n\n# c\n1\n", {}, "line 4: '1': too few fields; .*two vertices, .* whitespace, as in the first line"),
    ("1 2\n1 2 3\n", {}, "line 2: '1 2 3': too many fields; expected two vertices"),
    ("1 2 3\n1 2\n", {}, "line 2: '1 2': too few fields; expected two vertices and a weight"),
    ("1 2 3\n1 2 3 4\n", {}, "line 2: '1 2 3 4': too many fields"),
    ("1 2\n1\n", {"weighted": False}, "line 2: '1': too few fields; expected two vertices, .* by whitespace"),
    ("1,2\n1,\n", {}, "line 2: '1,': an empty field; expected two vertices, separated by ','"),
    ("1,2\n,1\n", {}, "line 2: ',1': an empty field"),
    ("1\n", {}, "line 1: '1': one field; expected two vertices"),
    ("\n\n1 2 3 4\n", {}, "line 3: '1 2 3 4': 4 fields; .*`weighted=True` .*`format='adjacency'`"),
    ("a b c\n", {}, "line 1: 'a b c': the third field 'c' is not a weight"),
    ("a b {}\n", {}, "the third field '{}' is not a weight.*data="),
    ("New York,Boston\n", {}, r"line 1: 'New York,Boston': has commas and spaces; give .* `delimiter`"),
    ("New York\tBoston\n", {}, "has spaces and tabs"),
    ("1 2 0.5\n1 3 x\n", {}, "line 2: '1 3 x': the weight 'x' is not a number"),
    ("1 2 0.5\n1 3 -0.5\n", {}, "line 2: '1 3 -0.5': the weight '-0.5' is negative"),
    ("1 2 0.5\n1 3 0\n", {}, "line 2: '1 3 0': the weight '0' is zero; drop the edge"),
    ("1 2 nan\n", {}, "line 1: '1 2 nan': the weight 'nan' is not a number; weights must be positive"),
    ("1 2 1\n1 2 -inf\n", {}, "line 2: '1 2 -inf': the weight '-inf' is negative"),
    ("1 2 1\n1 2 Infinity\n", {}, "line 2: '1 2 Infinity': the weight 'Infinity' is infinite"),
    ("1 2 1\n1 2 1e39\n", {}, "line 2: '1 2 1e39': the weight '1e39' is infinite or more than a float32"),
    ("1 2 1\n1 2 1e-60\n", {}, "line 2: '1 2 1e-60': the weight '1e-60' is less than a float32 holds"),
    ("1 2 1\n1 2 1_0\n", {}, "the weight '1_0' is not a number"),
    ("1 2 3e38\n1 2 3e38\n", {}, "the weights of an edge .* add up to more than a float32 holds"),
    ("1 2\n1 \x002\n", {}, r"line 2: .*: a NUL byte; is this UTF-16 .*; tr -d '\\0' < FILE leaves such bytes out"),
    ("1 2\n1 " + "x" * 70_000 + "\n", {}, r"line 2: '1 x{38}...': an id longer than 65,536 bytes"),
    (b"1 2\na\xff b\n", {}, "line 2: 'a\ufffd b': is not UTF-8; save the file as UTF-8"),
    ("", {}, "has no edges; .*expected lines of two vertices"),
    ("# nothing\n\n", {}, "has no edges; .*expected lines of two vertices"),
    ("a a\n", {"loops": False}, "has no edges other than self loops, which `loops=False` drops"),
    ("a\nb\n", {"format": "adjacency"}, "has no edges"),
    ("a b\n", {"format": "adjacency", "weighted": True}, "an adjacency list has no weights"),
    ("a b\n", {"comments": "§"}, "comments '§': give ASCII characters"),
    ("a b\n", {"threads": -1}, "`threads` is -1: must be at least 1"),
    ("a b\n", {"format": "metis"}, "`format` is 'metis'; known are auto, edges"),
    ("a b\n", {"delimiter": "::"}, "`delimiter` is '::'; give one character"),
    ("%%MatrixMarket matrix coordinate\n3 3 1\n1 2 1\n", {}, "this is a Matrix Market file"),
    ("a b\n", {"vertices": "c"}, "`vertices` 'c': is a string; give a list"),
]


@pytest.mark.parametrize(("text", "options", "message"), REFUSED)
def test_what_cannot_be_read_is_named(tmp_path, text, options, message):
    path = tmp_path / "graph.txt"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    for threads in (1, 2):
        with pytest.raises(Any2VecError, match=message) as caught:
            read_graph(path, **{"threads": threads, **options})
        assert "\n" not in str(caught.value)


def test_the_first_wrong_line_is_named_whatever_the_blocks(tmp_path):
    lines = [f"{i} {i + 1} 0.25" for i in range(500)]
    lines[321], lines[322], lines[400] = "1 2 -3", "1", "\x00"
    for threads, size in ((1, 1 << 20), (3, 5), (4, 50)):
        with pytest.raises(Any2VecError, match="line 322: '1 2 -3': the weight '-3' is negative"):
            read_text(tmp_path / "edges", "\n".join(lines), threads=threads, size=size)
        with pytest.raises(Any2VecError, match=r"line 101: .*NUL byte"):
            read_text(tmp_path / "edges", b"1 2\n" * 100 + struct.pack("<4I", 1, 2, 0, 10), threads=threads, size=size)


def test_files_that_are_not_there(tmp_path):
    with pytest.raises(Any2VecError, match=r"nothing.txt: no such file"):
        read_graph(tmp_path / "nothing.txt")
    with pytest.raises(Any2VecError, match=r": the directory has no files"):
        read_graph(tmp_path)
    with pytest.raises(Any2VecError, match=r": is a directory; give a file"):
        read_labels(tmp_path)
    (tmp_path / "cut.gz").write_bytes(gzip.compress(b"1 2\n" * 1000)[:-9])
    with pytest.raises(Any2VecError, match=r"cut.gz: not a complete gz file"):
        read_graph(tmp_path / "cut.gz")


def test_packed_files_pipes_and_standard_input(tmp_path):
    text = "".join(f"{i} v{i * i % 101}\n" for i in range(20_000)).encode()  # more than a pipe holds at once
    (tmp_path / "plain").write_bytes(text)
    wanted = read_graph(tmp_path / "plain")
    for ending, pack in ((".gz", gzip.compress), (".bz2", bz2.compress), (".XZ", lzma.compress)):
        path = tmp_path / f"edges{ending}"
        path.write_bytes(pack(text))
        graph = read_graph(str(path))
        assert (list(graph.names), rows_of_graph(graph)) == (list(wanted.names), rows_of_graph(wanted))
    with patch.object(sys, "stdin", io.TextIOWrapper(io.BytesIO(text))):
        assert rows_of_graph(read_graph("-")) == rows_of_graph(wanted)
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=(tmp_path / "pipe").write_bytes, args=[text])
    writer.start()
    assert rows_of_graph(read_graph(tmp_path / "pipe")) == rows_of_graph(wanted)
    writer.join()


def test_a_long_line_and_sparse_numbers(tmp_path):
    others = [str(i * 1000) for i in range(300_000)]
    graph = read_text(tmp_path / "a", " ".join(["hub", *others]), adjacency=True, size=100, threads=2)
    assert len(graph) == graph.degrees[0] + 1 == 300_001
    assert list(graph.names) == ["hub", *others]


def test_vertices_without_edges_can_be_named(tmp_path):
    (tmp_path / "edges").write_text("a b\nb c\n")
    graph = read_graph(tmp_path / "edges", vertices=["z", "a", "y", "z"])
    assert graph.names == ["a", "b", "c", "z", "y"]
    assert graph.degrees.tolist() == [1, 2, 1, 0, 0]
    assert len(graph) == 5
    assert graph.ids["y"] == 4


def test_a_graph_cannot_be_changed():
    graph = read_graph(karate_club().edges)
    for array in (graph.indptr, graph.indices):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
    with pytest.raises(AttributeError):
        graph.directed = True
    assert repr(graph) == "<Graph: 34 vertices, 78 edges, undirected, unweighted>"
    assert isinstance(graph, Graph)
    assert graph.names[-1] == list(graph.names)[33]
    assert graph.names[1:3] == ["2", "3"]
    assert repr(graph.names) == "<34 names>"
    with pytest.raises(IndexError):
        graph.names[34]


def test_the_karate_club_is_networkx_s():
    theirs = networkx.karate_club_graph()
    club = karate_club()
    graph, labels = read_graph(club.edges), read_labels(club.labels)
    numbers = [int(name) - 1 for name in graph.names]
    ours = {(numbers[v], numbers[u]) for v, row in enumerate(rows_of_graph(graph)) for u, _ in row}
    assert ours == {pair for u, v in theirs.edges for pair in ((u, v), (v, u))}
    assert labels.labels == ["hi", "officers"]
    clubs = [labels.names[vertex] for vertex in np.flatnonzero(labels.matrix[:, 0])]
    assert {int(name) - 1 for name in clubs} == {v for v, club in theirs.nodes(data="club") if club == "Mr. Hi"}


def test_labels(tmp_path):
    path = tmp_path / "labels"
    path.write_text("# c\nv1 10\n\nv2 9 10 9\r\nv1 2\n")
    labels = read_labels(path)
    assert (labels.names, labels.labels) == (["v1", "v2"], ["2", "9", "10"])
    assert labels.matrix.tolist() == [[True, False, True], [False, True, True]]
    assert len(labels) == 2
    assert labels.where(1) == "'v2' (line 4)"
    with pytest.raises(Any2VecError, match="`delimiter` is ''; give one character"):
        read_labels(path, delimiter="")
    path.write_text("a b\n\nb c\n\n")
    labels = read_labels(path, format="labels")
    assert (labels.names, labels.labels) == (["a", "b", "c"], ["0", "1", "2"])
    assert labels.matrix.tolist() == [[1, 0, 0], [1, 0, 1], [0, 0, 1]]
    path.write_text("a\u00a0b x\n")
    assert read_labels(path).names == ["a\u00a0b"]
    path.write_text("New York,big,old\n")
    assert read_labels(path, delimiter=",").labels == ["big", "old"]


@pytest.mark.parametrize(
    ("indptr", "indices", "weights", "names", "message"),
    [
        ([0, 1, 2], [1, 10**9], None, "ab", "1,000,000,000 is not"),
        ([0, 1, 2], [1, -1], None, "ab", "-1 is not"),
        ([0, 2, 1], [1, 0], None, "ab", "indptr must rise"),
        ([0, 1, 3], [1, 0], None, "ab", "indptr must rise"),
        ([0, 1, 2], [1, 0], [1.0], "ab", "as many weights"),
        ([0, 1, 2], [1, 0], None, "abc", "as many names"),
    ],
)
def test_arrays_that_are_no_graph(indptr, indices, weights, names, message):
    weights = None if weights is None else np.array(weights, np.float32)
    with pytest.raises(Any2VecError, match=message):
        Graph(np.array(indptr), np.array(indices, np.int32), weights, names)


@pytest.mark.parametrize("name", ["g.edges", "g.edges.gz", "folder"])
def test_a_graph_that_changes_while_it_is_read(tmp_path, monkeypatch, name):
    path = tmp_path / name
    files = [path]
    if name == "folder":
        path.mkdir()
        files = [path / "one.edges", path / "two.edges"]
    for file in files:
        file.write_bytes(gzip.compress(b"a b\nb c\n") if name.endswith("gz") else b"a b\nb c\n")
    form = FILE_FORMATS["edges"]

    def changing(read):
        def then(*arguments):
            table = read(*arguments)
            files[-1].write_bytes(b"a c\nb c\n")
            return table

        return then

    changes = form._replace(read=changing(form.read), read_parts=changing(form.read_parts))
    monkeypatch.setitem(FILE_FORMATS, "edges", changes)
    with pytest.raises(Any2VecError, match=f"{files[-1]}: changed while it was read; start again"):
        read_graph(path)
