"""Hosts that each read their part of a graph have what `cut_graph` makes of the whole graph."""

import bz2
import gzip
import lzma
import os
import re
import warnings
from itertools import pairwise
from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from ranks import needs_mpi, results
from scipy import sparse
from test_graph import REFUSED
from test_graph_text import REFUSED as REFUSED_TEXTS
from test_graph_text import SEPARATED

from any2vec import Any2VecError
from any2vec.cluster.local import simulate
from any2vec.graph import read_graph
from any2vec.graph.build import ReadOptions
from any2vec.graph.numbering import HostVertices
from any2vec.graph.readers import GraphWarning
from any2vec.graph.shares.build import has_parts, read_share
from any2vec.graph.shares.edge_parts import TextPart
from any2vec.graph.shares.share import cut_graph
from any2vec.io.inputs import files_of

HOSTS = (1, 2, 5)


@pytest.fixture(params=["blocks", "small blocks"])
def blocks(request, monkeypatch):
    """Read in blocks of the usual size, and in blocks of a few lines."""
    sizes = {"shares.edge_parts": {"_LEAST": 16, "_MOST": 16, "_UNPACKED": 16, "_EDGES": 3}}
    sizes |= {"numbering": {"_SENT": 3, "_FEW": 2}, "shares.build": {"_FEW": 2}}
    sizes |= {"shares.share": {"_COPIED": 5, "_LONG": 4}}
    for module, names in sizes.items() if request.param != "blocks" else ():
        for name, size in names.items():
            monkeypatch.setattr(f"any2vec.graph.{module}.{name}", size)


def outcome(read):
    """Return what is read, an error's text, and the texts of warnings."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        try:
            result, error = read(), None
        except Any2VecError as raised:
            result, error = None, raised
    assert all(issubclass(warning.category, GraphWarning) for warning in found)
    return result, error, [str(warning.message) for warning in found]


def shares(source, hosts, **options):
    """Read the share of each host."""
    own = isinstance(source, Own)
    return simulate(hosts, 2, lambda host: read_share(source[host.rank] if own else source, host, **options))


class Own(list):
    """A source for each host."""


def check_shares(found, graph):
    """Compare shares with the whole graph: the cuts may be any."""
    cuts = found[0].cuts
    assert cuts[0] == 0
    assert cuts[-1] == len(graph)
    assert len(cuts) == len(found) + 1
    assert (np.diff(cuts) >= 0).all()
    for rank, share in enumerate(found):
        low, high = cuts[rank : rank + 2]
        begin, end = graph.indptr[[low, high]]
        wanted = {"cuts": cuts, "indptr": graph.indptr[low : high + 1] - begin, "indices": graph.indices[begin:end]}
        wanted["weights"] = None if graph.weights is None else graph.weights[begin:end]
        for name, array in wanted.items():
            one, other = getattr(share, name), getattr(cut_graph(graph, len(found), rank), name)
            assert (one is None) == (array is None)
            if array is not None:
                assert one.tobytes() == array.tobytes()
                assert (one.dtype, one.flags.writeable) == (other.dtype, other.flags.writeable)
        assert list(share.names) == list(graph.names)
        of = [(one.edges, one.loops, one.directed, one.kinds and list(one.kinds)) for one in (share, graph)]
        assert of[0] == of[1]
        assert share.rank == rank


def check(source, hosts=HOSTS, whole=None, **options):
    """Compare what hosts read with what one reads; return the graph, or the error's text."""
    graph, error, warned = outcome(lambda: read_graph(source if whole is None else whole, threads=1, **options))
    for count in hosts:
        found, raised, noted = outcome(lambda count=count: shares(source, count, **options))
        assert (count, raised and str(raised)) == (count, error and str(error))
        if graph is None:
            assert isinstance(raised, FileNotFoundError) == isinstance(error, FileNotFoundError)
            continue
        assert noted == warned
        check_shares(found, graph)
    return str(error) if graph is None else graph


def test_bytes_sent_to_read_are_counted():
    """Weights cost four bytes for each entry that goes to another host, and nothing else."""
    ends = np.random.default_rng(7).integers(0, 40, (300, 2)).tolist()
    edges = {2: [(a, b) for a, b in ends], 3: [(a, b, 1.5) for a, b in ends]}
    plain, weighted = (shares(Own([one[:90], one[90:100], one[100:]]), 3) for one in edges.values())
    cuts, number = plain[0].cuts, {int(name): i for i, name in enumerate(plain[0].names)}
    assert (cuts == weighted[0].cuts).all()
    moved = np.zeros(3, np.int64)
    for i, (a, b) in enumerate(ends):
        reader = int(np.searchsorted([90, 100], i, side="right"))
        for row in {number[a], number[b]}:  # one of a self loop
            moved[reader] += np.searchsorted(cuts, row, side="right") - 1 != reader
    assert moved.min() > 0
    assert [more.sent - less.sent for more, less in zip(weighted, plain, strict=True)] == (4 * moved).tolist()
    assert all(share.sent > 8 * entries for share, entries in zip(plain, moved.tolist(), strict=True))
    assert shares(edges[2], 1)[0].sent == 0


NUMBERS = "".join(f"{a} {b}\n" for a, b in np.random.default_rng(0).integers(0, 30, (100, 2)))
WEIGHTED = "".join(f"{a} v{b} {w / 7}\n" for a, b, w in np.random.default_rng(1).integers(1, 12, (120, 3)))
GOOD = [
    (NUMBERS, {}),
    (NUMBERS, {"directed": True}),
    (NUMBERS, {"merge": False}),
    (NUMBERS, {"loops": False, "directed": True, "merge": False}),
    (NUMBERS, {"weighted": False, "vertices": ["x", 3, "y"]}),
    (WEIGHTED, {}),
    (WEIGHTED, {"directed": True}),
    (WEIGHTED, {"merge": False}),
    (WEIGHTED, {"merge": False, "directed": True, "loops": False}),
    (WEIGHTED, {"weighted": False}),
    (WEIGHTED, {"bipartite": True}),
    (WEIGHTED, {"bipartite": "user,item", "directed": True, "merge": False}),
    (NUMBERS, {"bipartite": ("a", "b"), "loops": False}),
    (NUMBERS, {"format": "adjacency"}),
    ("a b c\nd\nb a a\n\ne e\nf a d e b\n", {"format": "adjacency"}),
    ("a b c\nd\nb a a\n\ne e\nf a d e b\n", {"format": "adjacency", "bipartite": "x,y"}),
    ("a b c\nd\nb a a\n\ne e\nf a d e b\n", {"format": "adjacency", "directed": True, "loops": False}),
    ("a b", {}),
    ("a b\n", {"vertices": ["c"]}),
    ("a a\nb c", {}),
    ("# c\n\n% d\n1 2\n# e\n2 3\n\n% f\n3 1\n# g\n", {}),
    ("# a\n" * 20 + "1 2\n2 3\n" + "# b\n" * 20 + "3 4\n", {}),
    ("# a\n" * 20 + "1 2\n2 3\n" + "# b\n" * 20 + "3 4\n", {"comments": ""}),
    ("source,target\n1,2\n2,3\n3,4\n", {"header": True}),
    ("# c\nsource,target\n# d\n1,2\n2,3\n3,4\n", {"header": True}),
    ("source,target\n1,2\n2,3\n3,4\n", {}),
    ("source,target\n1,2\n2,3\n3,4\n", {"directed": True}),
    ("from to\nalice bob\nbob carol\n", {"bipartite": True}),
    ("from to\nalice bob\nfrom to\nbob carol\n", {}),
    ("b a\n1 2\n2 b\n3 4\n", {"directed": True}),
    ('"a,1","b"\n"b","c ""x"""\n"#x",b\nb,"a,1"\n# c\nc,b\n', {}),
    ("1e3 1.0\n1.0 007\n7 007\n0 00\n-1 1\n999999999 1000000000\n1000000000 1234567890123\n", {}),
    ("1 2 0.5 x\n2 3 1e-3 y\n1 2 3 z\n2 1 0.1 z\n", {"weighted": True}),
    ("é ö\nö " + "x" * 300 + "\n", {}),
    ("a\tb c\t1\nb c\td\t2\n", {"delimiter": "\t"}),
    ("author:1 paper:1\nauthor:2 paper:1\n", {"kind_prefix": ":"}),
    ("a b\n" * 50, {}),
    ("a b 16777216\nb a 1\na b 1\na b 1\n", {}),
    ("a b 0.1\n" + "b a 0.7\n" * 9 + "a b 1e-8\n" * 7 + "a b 3e7\n", {}),
    *(case[:2] for case in SEPARATED),
]


@pytest.mark.parametrize("number", range(len(GOOD)))
def test_lines_of_all_dialects(tmp_path, blocks, number):
    text, options = GOOD[number]
    (tmp_path / "edges").write_text(text, newline="")
    assert not isinstance(check(tmp_path / "edges", **options), str)


BAD = [
    ("a a\nb b\n", {"loops": False}),
    ("a b\n" * 30 + "c\n" + "a b\n" * 30, {}),
    ("a b\n" * 30 + "c\n" + "d e f\n" * 30 + "\0", {}),
    ("# c\na b\n" + "\n# d\n" * 9 + "c d e\n", {}),
    ("1 2 3\n" * 30 + "1 2 -1\n3 4\n", {}),
    ("1 2 3e38\n2 1 3e38\n1 3 1\n3 1 2\n", {}),
    ("3 3 1\n2 1 3 1\n1 1\n1 1\n", {}),
    ("x y\n" * 9 + '"a",b\n', {"delimiter": ","}),
    ("a b\n" * 20 + "a\x00 b\n", {}),
    ("1 2 1082040961\n2 3 1092040961\n" * 9, {}),
    ("a b\n", {"kind": "x"}),
    ("a b\n", {"columns": "x,y"}),
    ("a b\n", {"names": ["x", "y"]}),
    ("a b\n", {"kinds": "no such file"}),
    ("a b\n", {"kind_prefix": ":"}),
    ("a b\n", {"bipartite": "x"}),
    ("a b\n", {"bipartite": "x,y", "vertices": ["c"]}),
    ("a b\n", {"vertices": [None]}),
]
BAD += [case[:2] for case in [*REFUSED, *REFUSED_TEXTS] if "threads" not in case[1]]


@pytest.mark.parametrize("number", range(len(BAD)))
def test_errors_are_those_of_one_reader(tmp_path, blocks, number):
    text, options = BAD[number]
    (tmp_path / "edges").write_bytes(text if isinstance(text, bytes) else text.encode())
    assert isinstance(check(tmp_path / "edges", hosts=(2,) if number % 3 else HOSTS, **options), str)


def test_times_for_weights(tmp_path, blocks):
    (tmp_path / "edges").write_text("1 2 1082040961\n2 3 1092040961\n" * 9)
    assert check(tmp_path / "edges", weighted=True).weights is not None
    assert check(tmp_path / "edges", weighted=False).weights is None


@pytest.mark.parametrize(
    ("text", "weight"),
    [
        ("a a 1\na b 1\nb a 1\n", 1),
        ("b a 1\na b 1\na c 2\n", 1),
        ("a b 1\nb a 1\na c 2\nc a 3\n", 2),
        ("a b 1\na b 2\nb a 1\nb a 2\na b 2\nb a 2\n", 5),
        ("a b 1\na b 1\nb a 1\n", 3),
    ],
)
def test_edges_listed_both_ways(tmp_path, blocks, text, weight):
    (tmp_path / "edges").write_text(text)
    assert weight in check(tmp_path / "edges").weights
    check(tmp_path / "edges", merge=False)
    check(tmp_path / "edges", directed=True)


def test_too_many_kinds(tmp_path):
    (tmp_path / "edges").write_text("".join(f"k{i}:a k{i}:b\n" for i in range(300)))
    assert "vertices have 256 kinds" in check(tmp_path / "edges", hosts=[3], kind_prefix=":")


def test_bytes_that_are_no_text(tmp_path, blocks):
    path = tmp_path / "edges"
    path.write_bytes(b"a b\n" * 20 + b"c \xff\nc\n")
    assert "line 21: 'c \ufffd': is not UTF-8" in check(path)
    path.write_bytes(b"a,b\n" * 20 + b'c\n"c\n')
    assert "line 21: 'c': too few fields" in check(path)
    path.write_bytes(gzip.compress(b"a b\n"))
    assert "compressed with gzip" in check(path)
    assert "no such file" in check(tmp_path / "none")


def test_folders_of_parts(tmp_path, blocks):
    (tmp_path / "part-0.csv").write_text("# x\n")
    (tmp_path / "part-1.csv").write_text("a,b\nb,3\n" * 9 + "# y\n")
    (tmp_path / "part-2.csv").touch()
    (tmp_path / "part-3.csv").write_text("# c\n3;d\nd;7\n# d\n\n# e\n7;b\n")
    (tmp_path / "_SUCCESS").touch()
    (tmp_path / "part-4.csv.gz").write_bytes(gzip.compress(b"# z\n7 8\n" + b"8 a\n" * 9 + b"# e\n"))
    (tmp_path / "part-5").write_text("d b")
    assert len(check(tmp_path)) == 6
    (tmp_path / "part-6").write_text("d b\n" * 9 + "c\n")
    assert "part-6, line 10: 'c': too few fields" in check(tmp_path)
    (tmp_path / "part-5").write_text("d b 1\n")
    assert "part-5: its lines have weights, but those of" in check(tmp_path)
    assert len(check(tmp_path / "part-1.csv")) == 3
    (tmp_path / "part-5").write_text("d b c d\n")
    assert "part-5, line 1: 'd b c d': 4 fields" in check(tmp_path)


@pytest.mark.parametrize(
    ("ending", "compress"), [(".gz", gzip.compress), (".bz2", bz2.compress), (".xz", lzma.compress)]
)
def test_compressed_text(tmp_path, monkeypatch, ending, compress):
    monkeypatch.setattr("any2vec.graph.shares.edge_parts._UNPACKED", 1 << 14)
    rng = np.random.default_rng(3)
    lines = [f"{a} n{b}\n" for a, b in rng.integers(0, 10**6, (50_000, 2))]
    path = tmp_path / f"edges.txt{ending}"
    path.write_bytes(compress("".join(["# c\n", *lines, "# d\n", *lines[:9]]).encode()))
    assert len(check(path, hosts=[3])) > 90_000

    def listed(host):  # hosts may have different numbers of threads
        part = TextPart(files_of(path), ReadOptions(threads=1 + 20 * host.rank), "edges", host)
        return sum(len(edges.sources) for edges in part.blocks())

    counts = simulate(3, 2, listed)
    assert sum(counts) == 50_009
    assert ending == ".bz2" or min(counts) > 9000  # bzip2 unpacks large blocks at once
    path.write_bytes(compress("".join([*lines, "x\n", *lines]).encode()))
    assert "line 50,001: 'x': too few fields" in check(path, hosts=[3])


def test_random_lists(tmp_path, blocks):
    rng = np.random.default_rng(4)
    path = tmp_path / "edges"
    for _ in range(12):
        weighted, directed, merge, loops, text = (rng.random(5) < 0.5).tolist()
        names = [f"é{i}" if text and i % 3 else str(i) for i in range(int(rng.integers(2, 40)))]
        separator = rng.choice([" ", "\t", ",", ";"])
        lines = []
        for a, b in rng.integers(0, len(names), (int(rng.integers(1, 60)), 2)):
            weight = [str(np.float32(rng.random() + 0.1))] if weighted else []
            lines += [separator.join([names[a], names[b], *weight]), *["", "# c"][: rng.choice([0, 0, 0, 1, 2])]]
        path.write_text("\n".join(lines))
        check(path, hosts=(1, int(rng.integers(2, 7))), directed=directed, merge=merge, loops=loops)


def test_cuts_are_those_of_the_whole_graph_if_no_edge_is_listed_twice(tmp_path):
    pairs = np.unique(np.sort(np.random.default_rng(5).integers(0, 60, (400, 2))), axis=0)
    (tmp_path / "edges").write_text("".join(f"{a} {b}\n" for a, b in pairs))
    graph = read_graph(tmp_path / "edges")
    for hosts in HOSTS:
        for rank, share in enumerate(shares(tmp_path / "edges", hosts)):
            assert (share.cuts == cut_graph(graph, hosts, rank).cuts).all()


def test_kinds_of_vertices(tmp_path, blocks):
    (tmp_path / "edges").write_text("a b\nb c\nc d\nd a\n")
    kinds = tmp_path / "kinds"
    kinds.write_text("a x\nb y\nc x\nd z\ne z\n")
    assert list(check(tmp_path / "edges", kinds=kinds).kinds) == ["x", "y", "x", "z"]
    check(tmp_path / "edges", kinds={"a": "x", "b": "y", "c": "x", "d": "é"})
    kinds.write_text("a x\nb y\nc x\n")
    assert "1 of 4 vertices have no kind" in check(tmp_path / "edges", kinds=kinds)


def test_parquet(tmp_path, blocks, monkeypatch):
    monkeypatch.setattr("any2vec.graph.sources.arrow._ROWS", 7)
    ends = np.random.default_rng(6).integers(0, 25, (200, 2))
    names = [[f"é{a}" for a in column] for column in ends.T.tolist()]
    weights = np.arange(1, 201) / 8
    path = tmp_path / "edges.parquet"
    for columns in (
        ends.T.tolist(),
        (ends.T * 2**40).tolist(),
        names,
        [names[0], pa.array(names[1]).dictionary_encode()],
        [ends[:, 0], names[1]],
    ):
        for table in (pa.table(columns, ["s", "t"]), pa.table([*columns, weights], ["s", "t", "w"])):
            pq.write_table(table, path, row_group_size=30)
            check(path, hosts=(1, 3))
            check(path, hosts=[7], directed=True, merge=False, columns="s,t", weighted=False)
            check(path, hosts=[2], bipartite=True)
            folder = tmp_path / "folder"
            folder.mkdir(exist_ok=True)
            for i in range(3):
                pq.write_table(table.slice(70 * i, 70), folder / f"{i}.parquet")
            check(folder, hosts=[4])
    typed = {"source": [1, 1, 2], "target": [1, 2, 1], "source_kind": ["u", "u", "i"], "target_kind": ["i", "u", "u"]}
    pq.write_table(pa.table(typed), path)
    assert list(check(path).kinds) == ["u", "i", "u", "i"]
    for table, message in (
        ({"s": ["a"] * 20 + [None], "t": ["b"] * 21}, "column 's', row 20: a vertex is missing"),
        ({"s": [1] * 21, "t": [2] * 21, "w": [1] * 20 + [-1]}, "row 20, column 'w': the weight -1 is negative"),
    ):
        pq.write_table(pa.table(table), path, row_group_size=8)
        assert message in check(path)
    path.write_bytes(b"PAR1")
    assert "not a complete parquet file" in check(path)


def test_hosts_give_their_own_edges(blocks):
    ends = np.random.default_rng(7).integers(0, 20, (90, 2))
    pairs = [(f"n{a}", b) for a, b in ends.tolist()]
    triples = [(a, b, w) for (a, b), w in zip(pairs, (np.arange(90) / 7 + 1).tolist(), strict=True)]
    for edges in (ends, pairs, triples):
        for cuts in ((0, 90), (0, 30, 31, 90), (0, 0, 50, 90, 90)):
            parts = Own([edges[a:b] for a, b in pairwise(cuts)])
            for options in ({}, {"directed": True, "merge": False}, {"bipartite": "x,y"}, {"vertices": ["z"]}):
                check(parts, hosts=[len(parts)], whole=edges, **options)


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ([[("a", "b")], [("a", "b", 1)]], "the list: that of host 1 has weights, that of host 0 has none; give parts"),
        ([[("a", "b", 2)], [], [("a", "b")]], "the list: that of host 0 has weights, that of host 2 has none"),
        ([[("a", "b")]] * 3, "the list: all 3 hosts give the same edges; each gives its own part"),
        ([np.array([[0, 1]])] * 2, "the array: all 2 hosts give the same edges"),
        ([[], []], "the list: has no edges; expected at least one"),
        ([[("a", "b")], [("a",)]], "the list, item 0: ('a',) has 1 field"),
        ([[("a", "b")], [("a", None)]], "the list, item 0: a vertex is missing (None)"),
        ([{"a": ["b"]}, {}], "an object of type dict cannot be read in parts; give its edges as a text or Parquet, or"),
        ([5, 5], "a graph cannot be read from an object of type int"),
    ],
)
def test_edges_that_hosts_do_not_have_alike(parts, message):
    with pytest.raises(Any2VecError, match=re.escape(message)):
        shares(Own(parts), len(parts))


def test_frames_of_hosts():
    frame = pd.DataFrame({"user": [1, 2, 3, 1], "item": ["a", "b", "a", "b"], "w": [1.0, 2, 3, 4]})
    check(Own([frame[:1], frame[1:]]), hosts=[2], whole=frame, bipartite=True)
    check(Own([frame[:0], frame[:3], frame[3:]]), hosts=[3], whole=frame, columns="user,item")
    with pytest.raises(Any2VecError, match=r"hosts 0 and 1 give columns of other names"):
        shares(Own([frame[:2], frame[2:].rename(columns={"user": "x"})]), 2)


def test_what_has_no_parts(tmp_path):
    sparse.save_npz(tmp_path / "a.npz", sparse.csr_array(np.ones((2, 2))))
    for source, what in (
        (tmp_path / "a.npz", "a.npz: the format npz cannot be read in parts"),
        ("-", "standard input: cannot be read in parts, as it is no regular file"),
        (nx.path_graph(3), "an object of type Graph cannot be read in parts"),
        (sparse.csr_array(np.ones((2, 2))), "an object of type csr_array cannot be read in parts"),
        (np.ones((3, 3)), r"an object of type ndarray cannot be read in parts"),
    ):
        options = {"bipartite": True} if isinstance(source, np.ndarray) else {}
        how = "give a file" if isinstance(source, str) else "give its edges as a text or Parquet, or `graph='whole'`"
        with pytest.raises(Any2VecError, match=f"{what}.*; {how}"):
            shares(source, 2, **options)
    (tmp_path / "a.txt").write_text("a b\n")
    assert has_parts(tmp_path / "a.txt")
    assert not has_parts(tmp_path / "a.npz")
    assert not has_parts("-")


def test_a_file_that_one_host_lacks(tmp_path):
    (tmp_path / "edges").write_text("a b\nb c\n" * 50)
    with pytest.raises(FileNotFoundError, match="none: no such file"):
        shares(Own([tmp_path / "edges", tmp_path / "edges", tmp_path / "none"]), 3)


def test_hosts_that_see_different_graphs(tmp_path):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "edges").write_text("a b\nb c\n")
    paths = [tmp_path / name / "edges" for name in ("one", "one", "two")]
    with pytest.raises(Any2VecError, match=r"hosts 0 and 2 see different graphs: .*one/edges on host 0, .*two/edges"):
        shares(Own(paths), 3)
    with pytest.raises(Any2VecError, match=r"different graphs: the source is files on host 0, sentences in memory on"):
        shares(Own([paths[0], [("a", "b")]]), 2)
    with pytest.raises(Any2VecError, match=r"different graphs: loops is True on host 0, False on host 1"):
        simulate(2, 2, lambda host: read_share(paths[0], host, loops=host.rank == 0))


def read_changing(path, monkeypatch, other):
    """Let hosts read a list of edges that becomes another between the two times."""
    path.write_text("a b\nb c\n" * 75)
    before = HostVertices.share

    def changing(*arguments):
        path.write_text(other)
        return before(*arguments)

    monkeypatch.setattr(HostVertices, "share", changing)
    shares(path, 3)


@pytest.mark.parametrize("other", ["a b\nb x\nx y\n" * 50, "a b\n" * 50, "a b\nc\n" * 75, "a a\na b\n" * 75])
def test_a_file_that_changes_meanwhile(tmp_path, monkeypatch, other):
    with pytest.raises(Any2VecError, match=r"changed while it was read; start again|too few fields"):
        read_changing(tmp_path / "edges", monkeypatch, other)


def test_a_file_whose_names_change_meanwhile(tmp_path, monkeypatch):
    with pytest.raises(Any2VecError, match="edges: changed while it was read; start again"):
        read_changing(tmp_path / "edges", monkeypatch, "a c\nb c\n" * 75)  # vertices that are known


def memory_of_rank(host):
    """Return by how many bytes reading lets memory grow at its peak, and the bytes of the rows."""
    folder = Path(os.environ["SHARES"])
    read_share(folder / "small", host, threads=1)  # compiles
    host.barrier()
    Path("/proc/self/clear_refs").write_text("5")  # the peak is that from here on
    before = resident("VmRSS")
    warnings.simplefilter("ignore")  # some edges are listed in both directions
    share = read_share(folder / "edges", host, threads=1)
    host.barrier()
    return resident("VmHWM") - before, share.indptr.nbytes + share.indices.nbytes + share.weights.nbytes


def resident(name):
    """Return what the system says of this process's memory, in bytes."""
    return 1024 * int(re.search(rf"^{name}:\s*(\d+) kB", Path("/proc/self/status").read_text(), re.MULTILINE)[1])


@pytest.mark.slow
@needs_mpi
@pytest.mark.mpi
@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="the system does not say")
def test_memory_is_that_of_a_hosts_rows(tmp_path, monkeypatch):
    monkeypatch.setenv("SHARES", str(tmp_path))
    edges, rng = 6_000_000, np.random.default_rng(9)
    text = np.full((edges, 16), ord(" "), np.uint8)
    for column, digits in ((0, 5), (6, 5), (12, 3)):  # 30,000 vertices: few edges are listed twice
        text[:, column] = rng.integers(49, 52, edges)
        text[:, column + 1 : column + digits] = rng.integers(48, 58, (edges, digits - 1))
    text[:, -1] = ord("\n")
    text.tofile(tmp_path / "edges")
    (tmp_path / "small").write_text("1 a 2\na 3 1\n1 a 3\n1 a 3\n")
    try:
        found = results(tmp_path, memory_of_rank, 2)
    finally:
        (tmp_path / "edges").unlink()
    wanted = 16 * edges // 2  # bytes of the rows of either host
    for grown, rows in found:
        assert 0.97 * wanted < rows < 1.03 * wanted
        assert grown < 1.3 * rows + (32 << 20)
