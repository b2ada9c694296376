"""Graphs with kinds of vertices: rectangular matrices, two columns, other libraries' types; pairs without an edge."""

from types import SimpleNamespace as Store

import igraph
import networkx as nx
import numpy as np
import pandas as pd
import pytest
from naive_graph import rows_of_graph
from scipy import io as scipy_io
from scipy import sparse
from typer.testing import CliRunner

from any2vec import Any2VecError
from any2vec.cli import app
from any2vec.evaluate.linksplit import split_links
from any2vec.graph import read_graph
from any2vec.graph.readers import GraphWarning

WEIGHTS = np.array([[5, 0, 1], [0, 3, 0.5]])
PAIRS = [(5, 5, 1), (5, 6, 2), (6, 5, 3)]


def edges(graph):
    """Name the edges of an undirected graph, with weights, those between two kinds from the first."""
    rows = rows_of_graph(graph)
    return {(graph.names[i], graph.names[j], w) for i, row in enumerate(rows) for j, w in row if i <= j}


def kinds(graph):
    return dict(zip(graph.names, graph.kinds, strict=True))


@pytest.mark.parametrize("form", ["csr", "coo", "dense", "npz", "mtx", "mtx, dense"])
def test_rows_and_columns_are_vertices(tmp_path, form):
    options = {}
    if form == "npz":
        sparse.save_npz(tmp_path / "a.npz", sparse.csc_array(WEIGHTS))
    elif form.startswith("mtx"):
        scipy_io.mmwrite(tmp_path / "a.mtx", WEIGHTS if "dense" in form else sparse.coo_array(WEIGHTS))
    elif form == "dense":
        options = {"bipartite": True}
    made = {"csr": sparse.csr_array, "coo": sparse.coo_array, "dense": np.array}.get(form)
    matrix = np.tile(WEIGHTS, (2, 1)) if form == "dense" else WEIGHTS  # (2, 3) could be three edges
    source = made(matrix) if made else tmp_path / f"a.{form[:3]}"
    wanted = {(f"row:{i}", f"column:{j}", matrix[i, j]) for i, j in zip(*np.nonzero(matrix), strict=True)}
    graph = read_graph(source, **options)
    assert edges(graph) == wanted
    assert list(graph.kinds) == ["row"] * len(matrix) + ["column"] * 3
    assert read_graph(source, directed=True, **options).edges == len(wanted)
    called = read_graph(source, bipartite="user,item")
    assert edges(called) == {(a.replace("row", "user"), b.replace("column", "item"), w) for a, b, w in wanted}


def test_names_of_rows_and_columns():
    matrix = sparse.csr_array(WEIGHTS)
    for names in ((["u", "v"], ["x", "y", 7]), {"column": ["x", "y", "7"], "row": np.array(["u", "v"])}):
        graph = read_graph(matrix, names=names)
        assert kinds(graph) == {"u": "row", "v": "row", "x": "column", "y": "column", "7": "column"}
        assert ("v", "7", 0.5) in edges(graph)
    square = sparse.csr_array([[0, 1], [1, 0]])
    assert (read_graph(square, names=["a", "b"]).names, read_graph(square).kinds) == (["a", "b"], None)
    assert edges(read_graph(square, bipartite=True)) == {("row:0", "column:1", 1), ("row:1", "column:0", 1)}
    for source, options, message in (
        (matrix, {"names": (["u"], ["x", "y", "z"])}, "`names` of row: 1 are given; the matrix has 2"),
        (matrix, {"names": (["u", "v"], ["x", "y", "u"])}, "one of row and one of column are called 'u'; .* column:u"),
        (matrix, {"names": (["u", "u"], ["x", "y", "z"])}, "two of row are called 'u'"),
        (matrix, {"names": "abc"}, "the matrix needs 2 lists: 2 of row, 3 of column"),
        (square, {"names": ["a"]}, "`names` of vertex: 1 are given; the matrix has 2"),
        (PAIRS, {"names": ["a"]}, "the list: its vertices have names"),
        (matrix, {"bipartite": False}, r"the shape \(2, 3\); without `bipartite`, the matrix of a graph is square"),
        (np.ones((3, 4)), {}, "or `bipartite=True` if it joins its rows"),
        (sparse.csr_array(np.array([[1, np.nan, 0]])), {}, "row 0, column 1: the weight nan"),
        (matrix, {"vertices": ["z"]}, "`vertices`: 'z' is not in the matrix; .* have none; leave it out"),
    ):
        with pytest.raises(Any2VecError, match=message):
            read_graph(source, **options)


def test_columns_are_kinds(tmp_path):
    (tmp_path / "r.txt").write_text("user item\n5 5\n5 6\n6 5\n")
    with pytest.warns(GraphWarning, match=r"of the first line, 'user item', are in no other"):
        read_graph(tmp_path / "r.txt", bipartite=True)
    wanted = {("user:5", "item:5", 1), ("user:5", "item:6", 2), ("user:6", "item:5", 3)}
    (tmp_path / "r.txt").write_text("".join(f"{a} {b} {w}\n" for a, b, w in PAIRS))
    nested = {5: {5: 1, 6: 2}, 6: {5: 3}}
    for source in (tmp_path / "r.txt", PAIRS, nested, np.array([(5, 5, 1), (5, 6, 2), (6, 5, 3)], "i8,i8,f8")):
        graph = read_graph(source, bipartite=("user", "item"))
        assert list(graph.names) == ["user:5", "user:6", "item:5", "item:6"]
        assert edges(graph) == wanted
        assert set(kinds(graph).items()) == {(name, name[:4]) for name in graph.names}
    assert list(read_graph([(1, 1)], bipartite=True).names) == ["source:1", "target:1"]
    (tmp_path / "a.adj").write_text("a b c\nd\n")
    assert list(read_graph(tmp_path / "a.adj", bipartite="x,y").names) == ["x:a", "x:d", "y:b", "y:c"]
    for wrong in ("user", ("a", "a"), ("a", ""), 5, "a:b,c", "a,b,c"):
        with pytest.raises(Any2VecError, match=r"`bipartite` is .*: give two names of kinds, such as user,item"):
            read_graph(PAIRS, bipartite=wrong)


def test_frames_by_kind():
    ratings = pd.DataFrame({"user": [5, 5], "item": [5, 6]})
    assert list(read_graph(ratings, bipartite=True).names) == ["user:5", "item:5", "item:6"]
    of_kinds = {("user", "item"): ratings, ("item", "has", "tag"): np.array([["5", "new"], ["6", "old"], ["5", "old"]])}
    graph = read_graph(of_kinds)
    assert kinds(graph) == {name: name.split(":")[0] for name in graph.names}
    wanted = "user:5 item:5, user:5 item:6, item:5 tag:new, item:6 tag:old, item:5 tag:old"
    assert {f"{a} {b}" for a, b, _ in edges(graph)} == set(wanted.split(", "))
    columns = {"source_kind": ["user", "item"], "source": [5, 5], "target_kind": ["item", "tag"], "target": [5, "new"]}
    for frame in (pd.DataFrame(columns), pd.DataFrame({**columns, "target": ["5", "new"], "weight": [1, 2]})):
        graph = read_graph(frame)
        assert kinds(graph) == {"user:5": "user", "item:5": "item", "tag:new": "tag"}
    assert list(read_graph({("a", "b"): [("a", "c")]}).names) == ["('a', 'b')", "('a', 'c')"]  # neighbours, as ever
    weighted = ratings.assign(w=[1, 2])
    for source, options, message in (
        ({("user", "item"): weighted, ("item", "tag"): ratings}, {}, "has weights, .* has none"),
        ({("user", "i:t"): ratings}, {}, "key .*: the kind is 'i:t'; expected a name without a colon"),
        ({("user", "item"): ratings.assign(item=[1.5, 2])}, {}, "key .*: the data frame, column 'item', row 0: a vert"),
        (of_kinds, {"bipartite": True}, "says the kinds of its vertices itself"),
        (pd.DataFrame(columns), {"bipartite": True}, "has columns of kinds"),
        (pd.DataFrame({**columns, "target_kind": ["a:b", None]}), {}, "'target_kind', row 0: the kind is 'a:b'"),
    ):
        with pytest.raises(Any2VecError, match=message):
            read_graph(source, **options)


class HeteroData(dict):
    """The part of PyTorch Geometric's HeteroData that is used."""

    @property
    def edge_types(self):
        return [key for key in self if isinstance(key, tuple)]

    @property
    def node_types(self):
        return [key for key in self if isinstance(key, str)]


class DGLGraph:
    """The part of DGL's graphs that is used."""

    def __init__(self, relations, sizes):
        self._relations, self._sizes = relations, sizes
        self.canonical_etypes, self.ntypes = list(relations), list(sizes)

    num_nodes = property(lambda self: self._sizes.get)

    @property
    def edges(self):
        relations = self._relations

        class Edges:
            __call__ = lambda _, etype: relations[etype][:2]  # noqa: E731
            __getitem__ = lambda _, etype: Store(data=relations[etype][2])  # noqa: E731

        return Edges()


WRITES, REVERSE = ("author", "writes", "paper"), ("paper", "rev_writes", "author")
INDEX = np.array([[0, 1, 1], [2, 3, 2]])


def test_types_of_other_libraries():
    data = HeteroData({WRITES: Store(edge_index=INDEX), "author": Store(num_nodes=3), "paper": Store()})
    graph = read_graph(data)
    assert list(graph.names) == [f"author:{i}" for i in range(3)] + [f"paper:{i}" for i in range(4)]
    wanted = {("author:0", "paper:2", 1), ("author:1", "paper:3", 1), ("author:1", "paper:2", 1)}
    assert edges(graph) == wanted
    assert graph.kinds.counts.tolist() == [3, 4]
    assert edges(read_graph(HeteroData({**data, REVERSE: Store(edge_index=INDEX[::-1])}))) == wanted
    names = {"author": ["ann", "bob", "cy"], "paper": list("abcd")}
    assert ("ann", "c", 1) in edges(read_graph(data, names=names))
    dgl = DGLGraph({WRITES: (INDEX[0], INDEX[1], {"weight": np.ones(3) * 2})}, {"author": 3, "paper": 4})
    assert edges(read_graph(dgl)) == {(a, b, 2) for a, b, _ in wanted}
    plain = read_graph(DGLGraph({("_N", "_E", "_N"): (*INDEX, {})}, {"_N": 4}))
    assert (list(plain.names), plain.kinds) == (["0", "1", "2", "3"], None)
    for source, options, message in (
        (HeteroData(), {}, "the HeteroData: has no edges"),
        (data, {"bipartite": True}, "says the kinds of its vertices itself"),
        (data, {"weighted": True}, r"\('author', 'writes', 'paper'\): has no edge_weight"),
        (HeteroData({**data, "author": Store(num_nodes=1)}), {}, "'author': num_nodes is 1; a vertex of edge_index"),
        (HeteroData({WRITES: Store(edge_index=INDEX * 0.5)}), {}, r"expected integers of shape \(2, E\)"),
        (HeteroData({WRITES: Store()}), {}, "has no edge_index"),
        (HeteroData({REVERSE: Store(edge_index=INDEX, edge_weight=INDEX[0])}), {}, "the weight 0 is zero"),
        (PAIRS, {"kind": "type"}, "`kind` is 'type': it names an attribute of vertices of networkx and igraph"),
    ):
        with pytest.raises(Any2VecError, match=message):
            read_graph(source, **options)


def test_attributes_are_kinds():
    graph = nx.Graph([("a", 1), ("b", 1), ("b", 2)])
    nx.set_node_attributes(graph, {"a": 0, "b": 0, 1: 1, 2: 1}, "bipartite")
    assert kinds(read_graph(graph, kind="bipartite")) == {"a": "0", "1": "1", "b": "0", "2": "1"}
    assert read_graph(graph).kinds is None
    graph.add_node("z")
    with pytest.raises(Any2VecError, match=r"vertex 'z', attribute 'bipartite' .`kind`.: its kind is missing"):
        read_graph(graph, kind="bipartite")
    with pytest.raises(Any2VecError, match=r"have no first and second column, .* such as kind='bipartite'"):
        read_graph(graph, bipartite=True)
    other = igraph.Graph.Bipartite([0, 0, 1, 1], [(0, 2), (1, 2), (1, 3)])
    assert list(read_graph(other, kind="type").kinds) == ["False", "False", "True", "True"]
    with pytest.raises(Any2VecError, match=r"no attribute 'kind' .*; they have 'type'"):
        read_graph(other, kind="kind")


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize(("shape", "density"), [((30, 20), 0.2), ((300, 500), 0.01)])  # listed, and drawn
def test_pairs_without_an_edge_join_the_same_kinds(directed, shape, density):
    rng = np.random.default_rng(1)
    users, items = rng.integers(0, shape[0], (2, 3 * shape[0]))
    tags = np.argwhere(rng.random(shape) < density)
    graph = read_graph({("user", "user"): np.stack([users, items], 1), ("user", "tag"): tags}, directed=directed)
    split = split_links(graph, 0.3, 5)
    assert split.train.kinds is graph.kinds
    counts = []
    for pairs in (split.hidden, split.absent):
        assert directed or (pairs[:, 0] < pairs[:, 1]).all()
        found = graph.kinds.of[pairs]
        counts.append(np.unique(found if directed else np.sort(found), axis=0, return_counts=True))
    assert counts[0][0].tolist() == counts[1][0].tolist() == [[0, 0], [0, 1]]
    assert counts[0][1].tolist() == counts[1][1].tolist()
    ends = np.repeat(np.arange(len(graph)), graph.degrees)
    known = set(zip(ends.tolist(), graph.indices.tolist(), strict=True))
    absent = set(map(tuple, split.absent.tolist()))
    assert len(absent) == len(split.absent)
    assert not known & absent
    joined = {pair for pair in known if graph.kinds.of[pair[0]] != graph.kinds.of[pair[1]]}
    seen = {end for pair in joined for end in pair}
    assert all({a, b} <= seen for a, b in absent if graph.kinds.of[a] != graph.kinds.of[b])


def test_a_bipartite_graph_without_absent_pairs():
    with pytest.raises(Any2VecError, match=r"too dense .*: only 1 pairs of row and column have no edge, and 4 are"):
        split_links(read_graph(sparse.csr_array(np.ones((4, 4)) - np.diag([1, 0, 0, 0])), bipartite=True), 0.3)


def test_commands_of_two_kinds(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    (tmp_path / "r").mkdir()
    for i in range(2):
        np.savetxt(tmp_path / "r" / f"part-{i}.csv", rng.integers(0, 20, (60, 2)), "%d", ",")
    (tmp_path / "r" / "_SUCCESS").touch()
    split = CliRunner().invoke(app, ["evaluate", "split", "r", "-o", "s", "--bipartite", "user,item"])
    assert split.exit_code == 0, split.output
    for name in ("hidden", "absent"):
        lines = (tmp_path / "s" / f"{name}.edges").read_text().splitlines()
        assert all(line.startswith("user:") and "\titem:" in line for line in lines)
    walks = CliRunner().invoke(app, ["walks", "r", "-o", "w.txt", "--bipartite", "user,item", "--walks", "1"])
    assert walks.exit_code == 0, walks.output
    first = (tmp_path / "w.txt").read_text().split()[:2]
    assert {vertex[:5] for vertex in first} == {"user:", "item:"}


def weighted(**relations):
    """Return a HeteroData of relations between users and items: 'u_name_i' = (user, item or user, weight) lists."""
    kinds = {"u": "user", "i": "item"}
    data = HeteroData()
    for key, listed in relations.items():
        (source, *_, target), name = key.split("_"), "_".join(key.split("_")[1:-1])
        ends = np.array([edge[:2] for edge in listed]).T
        data[kinds[source], name, kinds[target]] = Store(edge_index=ends, edge_weight=np.array([e[2] for e in listed]))
    return data


@pytest.mark.parametrize(
    ("relations", "wanted"),
    [
        ({"u_rates_i": [(0, 0, 5.0)], "u_watches_i": [(0, 0, 7.0)]}, {("user:0", "item:0", 12)}),
        ({"u_writes_i": [(0, 0, 1.0)], "i_thanks_u": [(0, 0, 1.0)]}, {("user:0", "item:0", 2)}),
        ({"u_writes_i": [(0, 0, 1.0)], "i_thanks_u": [(0, 0, 3.0)]}, {("user:0", "item:0", 4)}),
        ({"u_to_i": [(0, 0, 2.0)], "i_to_u": [(0, 0, 2.0)]}, {("user:0", "item:0", 2)}),
        (
            {"i_rev_rates_u": [(0, 0, 5.0)], "u_rates_i": [(0, 0, 5.0)], "u_watches_i": [(0, 0, 7.0)]},
            {("item:0", "user:0", 12)},
        ),
        (
            {"u_knows_u": [(0, 1, 1.0), (1, 0, 1.0), (1, 2, 4.0)], "u_likes_u": [(1, 0, 1.0)]},
            {("0", "1", 2), ("1", "2", 4)},
        ),
        (
            {"u_knows_u": [(0, 1, 1.0), (1, 0, 1.0), (2, 1, 4.0)], "u_rev_knows_u": [(0, 1, 1.0), (1, 0, 1.0)]},
            {("0", "1", 1), ("1", "2", 4)},
        ),
    ],
)
def test_relations_are_added_up_and_a_reverse_counts_once(relations, wanted):
    assert edges(read_graph(weighted(**relations))) == wanted
    assert read_graph(weighted(**relations), directed=True, merge=False).edges == sum(map(len, relations.values()))


def test_tables_of_a_relation_and_of_its_reverse():
    there, back = [
        pd.DataFrame([row], columns=["source", "target", "weight"]) for row in (("a", "x", 2), ("x", "a", 2))
    ]
    for key, weight in ((("item", "rev_rates", "user"), 2), (("item", "user"), 4), (("item", "thanks", "user"), 4)):
        graph = read_graph({("user", "rates", "item"): there, key: back})
        assert edges(graph) == {("user:a", "item:x", weight)}


def test_numbers_of_relations_that_are_not_read_are_said():
    data = HeteroData({WRITES: Store(edge_index=INDEX, edge_attr=np.ones(3))})
    dgl = DGLGraph({WRITES: (*INDEX, {"w": np.ones(3), "_ID": np.arange(3)})}, {"author": 3, "paper": 4})
    for source, found in ((data, "'edge_attr'"), (dgl, "'w'")):
        with pytest.warns(GraphWarning, match=f"edges have {found}, which is not read"):
            assert read_graph(source).weights is None
