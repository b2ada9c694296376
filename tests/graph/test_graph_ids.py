"""One reader of ids from outside: what a vertex is called, in every source."""

from collections import deque
from datetime import date, timedelta
from decimal import Decimal
from http import HTTPStatus
from pathlib import PurePath
from types import SimpleNamespace

import networkx as nx
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from naive_graph import rows_of_graph
from scipy import sparse

from any2vec import Any2VecError, DeepWalk, Vectors
from any2vec.errors import is_installed
from any2vec.evaluate.classification import evaluate_nodes
from any2vec.evaluate.linkprediction import compare_operators
from any2vec.graph import VertexLabels, read_graph
from any2vec.graph.readers import GraphWarning


class Data(SimpleNamespace):
    """The part of PyTorch Geometric's Data that is used; it can be called, too."""

    def __call__(self, *names):
        return iter(self.__dict__.items())

    def __iter__(self):
        return self()


class Tensor:
    """An array of another library."""

    def __init__(self, values):
        self._values = np.asarray(values)

    def __array__(self, dtype=None, copy=None):
        return self._values


class Device:
    def __array__(self, dtype=None, copy=None):
        raise TypeError("can't convert cuda:0 device type tensor to numpy.")


class Named(str):
    __slots__ = ()

    def __str__(self):
        return "another"


@pytest.mark.parametrize(
    ("vertex", "name"),
    [
        ("007", "007"),
        ("1.0", "1.0"),
        (7, "7"),
        (-7, "-7"),
        (2**70, str(2**70)),
        (np.int8(7), "7"),
        (np.uint64(2**63 + 1), str(2**63 + 1)),
        (7.0, "7"),
        (1e3, "1000"),
        (-0.0, "0"),
        (np.float32(7), "7"),
        (np.float16(7), "7"),
        (Decimal("7.00"), "7"),
        (np.array(7.0), "7"),
        (np.str_("a"), "a"),
        (pa.scalar("a"), "a"),
        (pa.scalar(7.0), "7"),
        (Named("one"), "one"),
        (HTTPStatus.OK, "200"),
        ((0, 1), "(0, 1)"),
        ((np.int64(0), 1.0, ("a", np.float32(0.5))), "(0, 1, ('a', 0.5))"),
        (PurePath("shown"), "shown"),
    ],
)
def test_what_a_vertex_is_called(vertex, name):
    sources = [[(vertex, "b")], [["b", vertex]], [("b", "c", 1), (vertex, "b", 1)], {"b": [vertex]}]
    for source in sources:
        assert name in read_graph(source).names
    assert read_graph([("a", "b")], vertices=[vertex]).names == list(dict.fromkeys(["a", "b", name]))
    if getattr(vertex, "__hash__", None):
        assert VertexLabels.of({vertex: "x", "b": "y"}).names[0] == name
        graph = nx.Graph()
        graph.add_edge(vertex, "b")
        assert read_graph(graph).names == [name, "b"]


@pytest.mark.parametrize(
    ("vertex", "message"),
    [
        (None, "is missing"),
        (float("nan"), "is missing"),
        (np.float32("nan"), "is missing"),
        (np.datetime64("NaT"), "datetime64"),
        ("", "is missing"),
        (Decimal("nan"), "is missing"),
        (np.ma.masked, "is missing"),
        (1.5, "1.5, not a whole number"),
        (float("inf"), "inf, not a whole number"),
        (Decimal("1.5"), "not a whole number"),
        (1j, "not a whole number"),
        (np.float32(2**24), "several integers are one"),
        (2.0**53, "several integers are one"),
        (True, "is a bool"),
        (np.bool_(True), "is a bool"),
        (b"a", "is a bytes"),
        ([1], "is a list"),
        ({1}, "is a set"),
        (frozenset([1]), "is a frozenset"),
        (np.array([1]), "is a ndarray"),
        (date(2020, 1, 1), "is a date"),
        (timedelta(1), "is a timedelta"),
        (np.timedelta64(1, "s"), "is a timedelta64"),
        (object(), "is a object, which has no text of its own"),
        (print, "is a builtin_function_or_method"),
        ("\ud800", "is not valid Unicode"),
    ],
)
def test_what_is_no_vertex(vertex, message):
    for read, where in (
        (lambda: read_graph([("a", "b"), ("a", vertex)]), "item 1: a vertex"),
        (lambda: read_graph({"a": [vertex]}), "the dict, vertex 'a': a vertex"),
        (lambda: read_graph([("a", "b")], vertices=[vertex]), "`vertices`, item 0: a vertex"),
    ):
        with pytest.raises(Any2VecError, match=message) as caught:
            read()
        assert where in str(caught.value)
        assert "\n" not in str(caught.value)


def test_whole_floats_in_columns():
    holed = pd.DataFrame({"s": [1, 2, None], "t": [2, 3, 4]})
    assert read_graph(holed.dropna()).names == ["1", "2", "3"]
    with pytest.raises(Any2VecError, match="the data frame, column 's', row 2: a vertex is missing"):
        read_graph(holed)
    with pytest.raises(Any2VecError, match=r"the data frame, column 's', row 1: a vertex is 2\.5, not a whole number"):
        read_graph(pd.DataFrame({"s": [1, 2.5], "t": [2, 3]}))
    with pytest.raises(Any2VecError, match=r"column 's', row 1: .*\(float32\) several integers are one"):
        read_graph(pd.DataFrame({"s": np.array([1, 2**24 + 2], np.float32), "t": [2, 3]}))
    mixed = pd.DataFrame({"s": [1, "1", 1.0], "t": [2, "3", 4.0]})
    assert read_graph(mixed).names == ["1", "2", "3", "4"]
    nullable = pd.DataFrame({"s": pd.array([1, 2], "Int64"), "t": pd.array([2, 3], "Float64")})
    assert read_graph(nullable).names == ["1", "2", "3"]
    twice = pd.DataFrame([[1, 2], [2, 3]], columns=["a", "a"])
    assert read_graph(twice).names == ["1", "2", "3"]
    categories = pd.DataFrame({"s": pd.Categorical(["a", "b"]), "t": pd.Categorical([1, 2])})
    assert read_graph(categories).names == ["a", "1", "b", "2"]
    index = pd.MultiIndex.from_tuples([("a", 1.0), ("b", 2.0)])
    assert read_graph(index).names == ["a", "1", "b", "2"]
    with pytest.raises(Any2VecError, match="reset_index"):
        read_graph(pd.DataFrame({"w": [1, 2]}, index=index))
    for column in ([True, False], pd.to_datetime(["2020-01-01"] * 2)):
        with pytest.raises(Any2VecError, match=r"column 's': is of type .*; vertices are strings or integers"):
            read_graph(pd.DataFrame({"s": column, "t": [1, 2]}))


def test_whole_floats_in_tables_of_arrow_and_polars():
    columns = {"s": [1.0, 2.0], "t": ["a", "b"], "w": [1, 2]}
    tables = [pa.table(columns), pa.RecordBatch.from_pydict(columns)]
    if is_installed("polars"):
        import polars

        tables.append(polars.DataFrame(columns))
        with pytest.raises(Any2VecError, match=r"from a LazyFrame, .*; give .collect\(\)"):
            read_graph(polars.LazyFrame(columns))
    for table in tables:
        graph = read_graph(table)
        assert graph.names == ["1", "a", "2", "b"]
        assert graph.weights.tolist() == [1, 1, 2, 2]
    with pytest.raises(Any2VecError, match="column 's', row 1: a vertex is missing"):
        read_graph(pa.table({"s": [1, None], "t": ["a", "b"]}))


def test_what_is_no_weight():
    times = pd.to_datetime(["2020-01-01"] * 2)
    for weights in (times, times - times, times.astype("datetime64[s]"), [True, True]):
        frame = pd.DataFrame({"s": [1, 2], "t": [2, 3], "w": weights})
        with pytest.raises(Any2VecError, match=r"column 'w': is of type .*; weights are numbers"):
            read_graph(frame)
        assert read_graph(frame, weighted=False).names == ["1", "2", "3"]
    for weights in (["1", "2"], times.tz_localize("UTC"), [10**18, 1], [np.timedelta64(1, "s")] * 2):
        frame = pd.DataFrame({"s": [1, 2], "t": [2, 3], "w": pd.Series(weights, dtype=object)})
        with pytest.raises(Any2VecError, match=r"row 0, column 'w': the weight .* (is not a number|beyond 2\^53)"):
            read_graph(frame)
    records = np.array([(1, 2, 3), (2, 3, 1)], [("s", int), ("t", float), ("w", "m8[s]")])
    with pytest.raises(Any2VecError, match=r"the structured array, column 'w': is of type timedelta64"):
        read_graph(records)
    assert read_graph(records.astype([("s", int), ("t", float), ("w", int)])).weights.tolist() == [3, 3, 1, 1]
    for weight in (2**53 + 2, True, "1", np.timedelta64(1, "s")):
        with pytest.raises(Any2VecError, match="item 0: the weight"):
            read_graph([("a", "b", weight)])
    matrix = sparse.coo_array(np.array([[0, 2**60], [2**60, 0]]))
    with pytest.raises(Any2VecError, match=r"row 0, column 1: the weight 1152921504606846976 .* beyond 2\^53"):
        read_graph(matrix)


def test_vertices_that_are_named():
    for vertices in (range(4), np.arange(4), np.arange(4.0), Tensor(np.arange(4)), [0, 1.0, "2", np.int8(3)]):
        graph = read_graph([(0, 1)], vertices=vertices)
        assert graph.names == ["0", "1", "2", "3"]
    for vertices, message in (
        (4, "`vertices` 4: is a int; give a list"),
        (b"ab", "is a bytes; give a list"),
        (np.ones((2, 2)), r"an array of shape \(2, 2\)"),
        (np.array(["2020-01-01"], "M8[D]"), "is of type datetime64"),
        (np.ma.array([1, 2], mask=[0, 1]), "item 1: a vertex is missing"),
    ):
        with pytest.raises(Any2VecError, match=message):
            read_graph([(0, 1)], vertices=vertices)


def edges(graph):
    return {(graph.names[i], graph.names[j], w) for i, row in enumerate(rows_of_graph(graph)) for j, w in row}


@pytest.mark.parametrize("make", [Tensor, lambda values: pytest.importorskip("torch").tensor(values)])
def test_tensors(make):
    index = make([[0, 1, 2, 3], [1, 2, 3, 0]])
    wanted = edges(read_graph([(0, 1), (1, 2), (2, 3), (3, 0)]))
    assert edges(read_graph(index)) == edges(read_graph(make(np.asarray(index).T))) == wanted
    assert edges(read_graph(np.asarray(index))) == wanted
    assert edges(read_graph(make(np.asarray(index, np.float32)))) == wanted
    if make is not Tensor:
        assert edges(read_graph(list(make(np.asarray(index).T.tolist())))) == wanted
    three = read_graph(make([[0, 1, 2], [1, 2, 3]]))
    assert (three.names, three.weights) == (["0", "1", "2", "3"], None)
    with pytest.raises(Any2VecError, match=r"0 to 1 and 2 to 3 by rows, or 0 to 2 and 1 to 3 if .*; give .tolist\(\)"):
        read_graph(make([[0, 1], [2, 3]]))
    assert read_graph(make([[0, 1], [1, 2]])).names == ["0", "1", "2"]
    with pytest.raises(Any2VecError, match="is the third column weights"):
        read_graph(make(np.ones((2, 3))))
    with pytest.raises(Any2VecError, match="negative vertex"):
        read_graph(make([[0, 1, 2, 3], [1, 2, 3, -1]]))


def test_arrays_that_are_refused():
    with pytest.raises(Any2VecError, match=r"does not become an array of NumPy \(can't convert cuda:0 .*\.cpu\(\)"):
        read_graph(Device())
    with pytest.raises(Any2VecError, match="item 0: an array of three: is the third its weight"):
        read_graph([np.array([0, 1, 2]), np.array([1, 2, 3])])
    with pytest.raises(Any2VecError, match="masked"):
        read_graph(np.ma.array([[1, 2], [2, 3]], mask=[[0, 0], [0, 1]]))
    with pytest.raises(Any2VecError, match="edge 1: a vertex is missing"):
        read_graph(np.array([[1, 2], [2, np.nan], [1, 2]]))
    for array in (np.ones((3, 2), bool), np.array([[b"a", b"b"]]), np.ones((3, 2), "M8[s]"), np.ones((3, 3))):
        with pytest.raises(Any2VecError, match="the array has the shape"):
            read_graph(array)


def test_columns_and_tables_are_no_vertices():
    frame = pd.DataFrame({"s": [1, 2], "t": [2, 3]})
    with pytest.raises(Any2VecError, match="item 0: a vertex is a Series"):
        read_graph(frame.iterrows())
    with pytest.raises(Any2VecError, match=r"item 0: .* is a DataFrame; expected a pair"):
        read_graph([frame, frame])  # as read_csv gives with `chunksize`
    table = pa.Table.from_pandas(frame)
    for batches in (table.to_batches(), table.to_reader()):
        with pytest.raises(Any2VecError, match=r"item 0: .* is a RecordBatch; expected a pair"):
            read_graph(batches)
    rows = [row for _, row in frame.set_axis([1, 0], axis=1).iterrows()]  # labelled so, but read by position
    assert read_graph(rows, directed=True).names == ["1", "2", "3"]


@pytest.mark.parametrize("several", [deque("ab"), iter("ab"), (name for name in "ab"), {"a": 1}.values(), np.ones(2)])
def test_collections_are_no_vertices(several):
    what = type(several).__name__
    with pytest.raises(Any2VecError, match=f"item 0: a vertex is a {what}"):
        read_graph([(several, "c")])
    with pytest.raises(Any2VecError, match=f"vertex 'c': a label is a {what}"):
        VertexLabels.of({"c": [several]})
    with pytest.raises(Any2VecError, match=r"labels: a dict .* is expected, not"):
        VertexLabels.of([several])


def test_flags_that_are_no_flags():
    for name in ("directed", "weighted", "merge", "loops", "header"):
        with pytest.raises(Any2VecError, match=f"`{name}` is 'no': give True"):
            read_graph([(0, 1)], **{name: "no"})
    with pytest.raises(Any2VecError, match="`merge` is None: give True or False"):
        read_graph([(0, 1)], merge=None)


def test_data_of_pytorch_geometric():
    index = np.array([[0, 1, 1, 2], [1, 0, 2, 1]])
    graph = read_graph(Data(x=np.ones((5, 2)), edge_index=Tensor(index), num_nodes=5))
    assert (list(graph.names), graph.edges, graph.weights) == (["0", "1", "2", "3", "4"], 2, None)
    weights = Tensor([2.0, 2, 3, 3])
    for merge in (True, False):
        graph = read_graph(Data(edge_index=index, edge_weight=weights), merge=merge)
        assert rows_of_graph(graph) == [[(1, 2.0)], [(0, 2.0), (2, 3.0)], [(1, 3.0)]]
    once = Data(edge_index=index[:, :3], edge_weight=np.array([2.0, 2, 3]))
    with pytest.warns(GraphWarning, match="the Data: 1 of 2 edges are listed in both directions"):
        assert rows_of_graph(read_graph(once)) == rows_of_graph(graph)
    assert read_graph(once, directed=True).edges == 3
    assert read_graph(once, weighted=False).weights is None
    twice = Data(edge_index=np.tile(index, 2), edge_weight=np.ones(8))
    assert rows_of_graph(read_graph(twice)) == [[(1, 2.0)], [(0, 2.0), (2, 2.0)], [(1, 2.0)]]
    vectors = DeepWalk(dim=16, window=3, negative=3, walks=2, length=5, epochs=1, threads=1).fit(graph).vectors_
    assert isinstance(vectors.words, list)
    assert vectors.words == vectors.index_to_key == list(vectors.vocabulary.words)
    assert sorted(vectors.words) == ["0", "1", "2"]


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({"edge_index": None}, "has no edge_index"),
        ({"edge_index": np.ones((3, 4), int)}, r"expected integers of shape \(2, E\)"),
        ({"edge_index": np.ones((2, 4))}, r"expected integers of shape \(2, E\)"),
        ({"edge_index": -np.ones((2, 4), int)}, "edge_index holds -1"),
        ({"edge_index": np.full((2, 4), 2**31)}, r"at most 2\^31 - 1"),
        ({"edge_index": np.ones((2, 4), int), "num_nodes": 1}, "num_nodes is 1; a vertex of edge_index"),
        ({"edge_index": np.ones((2, 4), int), "num_nodes": "x"}, "num_nodes is 'x'"),
        ({"edge_index": np.ones((2, 4), int), "edge_weight": np.ones(3)}, "edge_weight has the shape"),
        ({"edge_index": np.array([[0, 1], [1, 0]]), "edge_weight": np.array([1, 2])}, "two different weights"),
        ({"edge_index": np.ones((2, 4), int), "is_bipartite": lambda: True}, "vertices of two types"),
        ({"edge_types": [], "node_types": []}, "the Data: has no edges"),
        ({"adj_t": 1}, "has no edge_index"),
    ],
)
def test_data_that_is_refused(attributes, message):
    with pytest.raises(Any2VecError, match=message):
        read_graph(Data(**attributes))


def test_ids_of_evaluations():
    rng = np.random.default_rng(1)
    vectors = Vectors([str(i) for i in range(8)], rng.normal(size=(8, 4)).astype(np.float32))
    labels = VertexLabels.of({0: "a", 1.0: ["b", 1], np.int64(2): {True}, "3": np.array([1, 2])})
    assert labels.names == ["0", "1", "2", "3"]
    assert labels.labels == ["1", "2", "True", "a", "b"]
    assert evaluate_nodes(vectors, {i: "ab"[i % 2] for i in range(8)}, [0.5], 1, threads=1).vertices == 8
    for wrong in ([("0", "a")], 3, None, np.arange(3)):
        with pytest.raises(Any2VecError, match="labels: a file, a dict of labels, or what read_labels returns"):
            evaluate_nodes(vectors, wrong)
    with pytest.raises(Any2VecError, match="the dict, vertex 0: a label is missing"):
        evaluate_nodes(vectors, {0: None})
    links, others = [(0, 1.0), ("2", np.int64(3))], np.array([[4, 5], [6, 7]])
    assert compare_operators(vectors, links, others, ("dot",))[0].tested == 4
    with pytest.raises(Any2VecError, match="positives, pair 0: a vertex is missing"):
        compare_operators(vectors, [(0, None)], others, ("dot",))
    for wrong in ({0: 1}, ["ab"], 3, [(1, 2, 3)]):
        with pytest.raises(Any2VecError, match="positives: a file, a Graph or pairs of names are expected"):
            compare_operators(vectors, wrong, others, ("dot",))


def test_names_in_another_order(tmp_path):
    (tmp_path / "graph.edges").write_text("é b\nb long-name\nc 12\n")
    names = read_graph(tmp_path / "graph.edges").names
    assert list(names) == ["é", "b", "long-name", "c", "12"]
    arranged = names.arranged(np.array([4, 0, 2]))
    assert list(arranged) == [arranged[i] for i in range(3)] == ["12", "é", "long-name"]
    assert names[1:3] == ["b", "long-name"]
    assert (names[:0], names[3:99], names[3:1]) == ([], ["c", "12"], [])
    assert names[::-2] == ["12", "long-name", "é"]
    assert arranged.nbytes == len("12 é long-name ".encode()) + 4 * 8


TIMES = {  # third columns, and what they are taken for
    "1082040961 1098777142": "times in seconds since 1970, 2004-04-15 to 2004-10-26",
    "1082040961.5 1098777142": "times in seconds since 1970",
    "1082040961000 1098777142000": "times in milliseconds since 1970, 2004-04-15 to 2004-10-26",
    "1082040961000000 1098777142000000": "times in microseconds",
    "1.082040961e18 1.098777142e18": "times in nanoseconds",
}


@pytest.mark.parametrize("times", TIMES)
def test_times_are_no_weights(tmp_path, times):
    (tmp_path / "g.txt").write_text("".join(f"a {i} {time}\n" for i, time in enumerate(times.split())))
    edges = [("a", i, float(time)) for i, time in enumerate(times.split())]
    for source in (tmp_path / "g.txt", edges, pd.DataFrame(edges), {"a": {b: time for _, b, time in edges}}):
        with pytest.raises(Any2VecError, match=f"the weights look like {TIMES[times]}.*`weighted=False` ignores them"):
            read_graph(source)
        assert read_graph(source, weighted=False).weights is None
        with pytest.warns(GraphWarning, match=f"the weights look like {TIMES[times]}"):
            assert read_graph(source, weighted=True).weights.min() == np.float32(edges[0][2])


@pytest.mark.parametrize("weights", ["1082040961 3", "2.5 1", "99999900 99999800", "5e9 1e10", "20040415 20040416"])
def test_large_weights_are_no_times(tmp_path, weights):
    (tmp_path / "g.txt").write_text("".join(f"a {i} {weight}\n" for i, weight in enumerate(weights.split())))
    assert len(read_graph(tmp_path / "g.txt").weights) == 4
