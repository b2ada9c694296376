"""Walks on a graph in shares have the bits of those on the whole graph, and train to the same vectors."""

import gzip
import re
import tempfile
from dataclasses import replace
from functools import partial
from itertools import pairwise

import numpy as np
import pytest
from marks import slow, slow_but
from ranks import needs_mpi, run_python
from test_metapaths import PATHS, typed_graph
from test_walks import random_graph
from typer.testing import CliRunner

from any2vec import DeepWalk, Node2Vec
from any2vec.cli import app
from any2vec.cluster.local import simulate
from any2vec.errors import Any2VecError
from any2vec.graph import Graph, read_graph
from any2vec.graph.readers import GraphWarning
from any2vec.graph.shares.share import _estimated, cut_graph, in_parts
from any2vec.report.page import facts
from any2vec.walks.corpus import joined, share_corpus, walk_corpus
from any2vec.walks.second_order import second_order
from any2vec.walks.share_walker import ShareWalker
from any2vec.walks.walker import Walker
from any2vec.walks.worklist import generate

SIZES = {"dim": 16, "window": 3, "negative": 3, "epochs": 1, "walks": 2, "length": 9}
PLAIN, WEIGHTED = {}, {"weighted": True}
DIRECTED = {"directed": True}
WALKS = [  # a graph, and walks on it
    (PLAIN, {}),
    (WEIGHTED | DIRECTED, {"restart": 0.2, "starts": "degree"}),
    (PLAIN, {"p": 0.25, "q": 4.0, "restart": 0.2}),
    (DIRECTED, {"p": 0.25, "q": 0.25, "starts": "degree"}),
    (WEIGHTED, {"p": 4.0, "q": 0.25}),
    (WEIGHTED | DIRECTED, {"p": 0.25, "q": 4.0}),
    (PLAIN, {"p": 0.5}),
    (PLAIN, {"p": 4.0, "q": 0.25, "restart": 0.2}),
    (WEIGHTED, {"q": 4.0, "extend": True, "gamma": 0.5}),
    (WEIGHTED | DIRECTED, {"p": 0.25, "q": 0.25, "extend": True}),
]


def lists(walks):
    return [walks.ids[a:b].tolist() for a, b in pairwise(walks.bounds)]


def walk(graph, hosts, passes, *, threads=1, **how):
    """Walks of all hosts, one after the other, and what each of them sent."""

    def program(host):
        walker = ShareWalker(cut_graph(graph, hosts, host.rank), host, threads=threads, **how)
        total = passes * walker.per_pass
        first, last = total * host.rank // hosts, total * (host.rank + 1) // hosts
        out, lengths = np.full((last - first, walker.length), -9, np.int32), np.empty(last - first, np.int32)
        walker.walk(first, last, out, lengths)
        walker.close()
        return [row[:n].tolist() for row, n in zip(out, lengths, strict=True)], walker.owners.sent

    found = simulate(hosts, 2, program)
    return [one for walks, _ in found for one in walks], [sent for _, sent in found]


@pytest.mark.parametrize(("kind", "how"), slow_but([WALKS[0], WALKS[2], WALKS[4]], WALKS, unpacked=True))
@pytest.mark.parametrize("hosts", slow_but([3], [1, 2, 3, 4, 8]))
def test_walks_have_the_bits_of_the_whole_graph(kind, how, hosts, monkeypatch):
    monkeypatch.setattr("any2vec.walks.share_walker._LANES", 16)  # lanes take other walks, and are left without
    graph = random_graph(130, 700, **kind)
    for more in ({"length": 17, "seed": 5}, {"length": 2, "seed": -1}, {"length": 1}):
        walks, sent = walk(graph, hosts, 2, **how, **more)
        assert walks == lists(generate(Walker(graph, **how, **more), 2))
        assert (min(sent) > 0) == (hosts > 1)


@pytest.mark.parametrize("kind", [PLAIN, slow(WEIGHTED)])
@pytest.mark.parametrize("q", [slow(0.25), 4.0])
@pytest.mark.parametrize("extend", [False, slow(True)])
def test_exact_steps(kind, q, extend, monkeypatch):
    monkeypatch.setattr("any2vec.walks.walker.second_order", partial(second_order, bound=2))
    monkeypatch.setattr("any2vec.walks.share_walker.REFUSALS", 2)
    graph, how = random_graph(20, 120, **kind), {"p": 100.0, "q": q, "extend": extend, "length": 30}
    assert walk(graph, 3, 4, **how)[0] == lists(generate(Walker(graph, **how), 4))


@pytest.mark.parametrize("weighted", [slow(False), True])
def test_walks_along_metapaths(weighted):
    graph = typed_graph(weighted=weighted)
    for paths in (PATHS, PATHS[:1]):
        how = {"metapaths": paths, "length": 11, "restart": 0.1}
        walker = Walker(graph, **how)
        assert walk(graph, 3, 2, **how)[0] == lists(generate(walker, 2))


def test_threads_change_nothing(monkeypatch):
    monkeypatch.setattr("any2vec.walks.share_walker._FEW", 8)
    graph = random_graph(130, 700)
    how = {"length": 9, "q": 4.0}
    assert walk(graph, 1, 3, threads=3, **how)[0] == lists(generate(Walker(graph, **how), 3))


def test_edges_listed_twice():
    graph = random_graph(60, 300)
    indptr, indices = 2 * graph.indptr, np.repeat(graph.indices, 2)
    twice = Graph(indptr, indices, None, graph.names)
    for q in (1.0, 0.25):
        assert walk(twice, 3, 2, length=9, q=q)[0] == lists(generate(Walker(twice, length=9, q=q), 2))


def test_bytes_are_those_of_questions_and_answers():
    graph = random_graph(130, 700)
    cuts = cut_graph(graph, 2, 0).cuts
    walks, sent = walk(graph, 2, 2, length=9)
    half = len(walks) // 2
    left = [[v for one in mine for v in one[:-1]] for mine in (walks[:half], walks[half:])]
    other = [sum(cuts[1 - host] <= v < cuts[2 - host] for v in left[host]) for host in (0, 1)]
    rounds = 2 * 9  # of two crews: a question per step, and the last time none; their number goes first
    assert sent == [8 * other[host] + 4 * other[1 - host] + 16 * rounds for host in (0, 1)]


@pytest.mark.parametrize("large", [0, 1 << 30])
@pytest.mark.parametrize("directed", [False, slow(True)])
def test_corpus_of_shares(large, directed, tmp_path, monkeypatch):
    monkeypatch.setenv("ANY2VEC_CACHE", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    graph = random_graph(130, 300, directed=directed)

    def program(host):
        walker = ShareWalker(cut_graph(graph, 3, host.rank), host, length=9)
        return share_corpus(walker, 2, large=large)

    corpus, whole = joined(simulate(3, 2, program)), walk_corpus(Walker(graph, length=9), 2, hosts=3)
    assert not list(tmp_path.iterdir())
    assert corpus.vocabulary.words == whole.vocabulary.words
    assert (corpus.vocabulary.counts == whole.vocabulary.counts).all()
    for name in ("ids", "bounds"):
        assert (getattr(corpus.worklist, name) == getattr(whole.worklist, name)).all()
    assert (corpus.cuts == whole.cuts).all()
    assert (corpus.held, corpus.raw_words, corpus.sentences) == (whole.held, whole.raw_words, whole.sentences)


def same_both_ways(source, then=None, **how):
    """Train on a graph as a whole and in parts, and perhaps go on with another; the vectors are the same."""
    models = []
    for way in ("whole", "parts"):
        model = Node2Vec(**SIZES | {"hosts": 2, "threads": 1} | how, graph=way).fit(source)
        models.append(model if then is None else model.fit(then, warm_start=True))
    whole, parts = (model.vectors_ for model in models)
    assert parts.words == whole.words
    assert (parts.matrix == whole.matrix).all()
    return models


@pytest.mark.parametrize("hosts", [slow(1), 3])
@pytest.mark.parametrize(("kind", "how"), [WALKS[0], slow(*WALKS[-2])])
def test_vectors_have_the_bits_of_the_whole_graph(kind, how, hosts):
    how = how | {"hosts": hosts, "threads": 2 if hosts > 1 else 1}
    _, parts = same_both_ways(random_graph(130, 700, **kind), **how)
    assert parts.report_.memory["graph"] > 0
    assert parts.report_.walking == 0


def test_vectors_of_kinds_of_more_graphs_and_of_more_hosts_than_vertices():
    same_both_ways(typed_graph(), metapath=list(PATHS), negatives_by_kind=True)
    same_both_ways(random_graph(50, 200, seed=1), random_graph(60, 200, seed=2))  # what is known keeps its vectors
    same_both_ways(read_graph([("a", "b"), ("b", "c")]), hosts=8)


def test_checkpoints_do_not_mind_where_the_graph_is(tmp_path):
    graph, more = random_graph(50, 200), {"hosts": 2, "threads": 1}
    DeepWalk(**SIZES, **more, checkpoint=tmp_path / "run").fit(graph)
    longer = SIZES | more | {"epochs": 2}
    whole = DeepWalk(**longer).fit(graph).vectors_
    parts = DeepWalk(**longer, graph="parts", resume=tmp_path / "run").fit(graph).vectors_
    assert (parts.matrix != whole.matrix).any()  # the rate fell to its end in the first epoch
    again = DeepWalk(**longer, resume=tmp_path / "run").fit(graph).vectors_
    assert (parts.matrix == again.matrix).all()


def test_errors_are_those_of_the_whole_graph():
    graph = typed_graph()
    one_way = replace(graph, kinds=replace(graph.kinds, of=np.zeros(len(graph), np.uint8)))
    for given, how in (
        (random_graph(), {"metapath": "a-b-a"}),
        (graph, {"metapath": "a-d-a"}),
        (one_way, {"metapath": "a-b-a"}),
        (random_graph(), {"negatives_by_kind": True}),
        (Graph(np.zeros(4, np.int64), np.zeros(0, np.int32), None, ["a", "b", "c"]), {}),
    ):
        said = []
        for way in ("whole", "parts"):
            with pytest.raises(Any2VecError) as error:
                DeepWalk(**SIZES, hosts=2, threads=1, graph=way, **how).fit(given)
            said.append(str(error.value))
        assert said[0] == said[1]


def test_simulated_hosts_share_out_what_cannot_be_read_in_parts(tmp_path):
    pairs = [("a", "b"), ("b", "c"), ("c", "d")]
    (tmp_path / "graph.edges").write_text("a b\nb c\nc d\n")
    for source in (pairs, str(tmp_path / "graph.edges")):
        whole, parts = same_both_ways(source)
        assert (parts.report_.walk_bytes > 0, whole.report_.walk_bytes) == (True, 0)
        read = dict(facts(parts.report_)).get("sent to read")
        assert (parts.report_.read_bytes > 0) == (read is not None) == isinstance(source, str)  # else one host read all
        assert whole.report_.read_bytes == 0


def test_a_graph_that_fits_nowhere(tmp_path, monkeypatch):
    path = tmp_path / "graph.edges"
    path.write_text("".join(f"{i} {i + 1} 2.5\n" for i in range(1000)))  # 16 bytes of rows each

    def placed(memory, graph, hosts, **options):
        monkeypatch.setattr("any2vec.graph.shares.share.available", lambda *_: memory)
        return simulate(hosts, 2, lambda host: in_parts(str(path), graph, host, options))

    with pytest.raises(Any2VecError, match=r"graph.edges: the graph needs about 39.1 KiB of memory, and there are 2.9 K"
                       r"iB; 7 hosts with `graph='parts'` would do"):  # fmt: skip
        placed(3000, "auto", 1)
    with pytest.raises(Any2VecError, match=r"about 6.8 KiB on each of 3 hosts, which have 1,000 B; 21 hosts with"):
        placed(1000, "auto", 3)
    with pytest.warns(GraphWarning, match="about 6.8 KiB on each of 3 hosts, which have 5.9 KiB; 4 hosts with"):
        assert placed(6000, "auto", 3) == [True] * 3  # perhaps, if edges are listed twice
    assert placed(3000, "auto", 8) == [True] * 8
    assert placed(50_000, "auto", 3) == [False] * 3
    assert placed(50_000, "parts", 3) == [True] * 3
    assert placed(25_000, "auto", 3) == [True] * 3
    assert placed(25_000, "auto", 3, directed=True) == [False] * 3
    assert placed(25_000, "auto", 3, weighted=False) == [False] * 3


def test_sizes_of_graphs_are_estimated(tmp_path):
    (tmp_path / "graph.adj").write_text("a b c d\nb c d e\n" * 1000)
    frame = pytest.importorskip("pandas").DataFrame({"source": [1, 2], "target": [2, 3], "weight": [0.5, 1.5]})
    frame.to_parquet(tmp_path / "graph.parquet")
    with gzip.open(tmp_path / "graph.gz", "wt") as file:
        file.write("a,b,1\n" * 10)
    packed = 4 * (tmp_path / "graph.gz").stat().st_size // 6
    for name, options, expected in (
        ("graph.adj", {"format": "adjacency"}, 6000 * 8),
        ("graph.parquet", {}, 2 * 16),
        ("graph.parquet", {"directed": True, "weighted": False}, 2 * 4),
        ("graph.gz", {}, packed * 16),
        ("graph.gz", {"bipartite": "user,item"}, packed * 8),
    ):
        assert _estimated(tmp_path / name, options, 1) == expected
    with pytest.raises(Any2VecError, match="standard input: each host of a cluster reads the graph, which needs a f"):
        simulate(2, 1, lambda host: in_parts("-", "whole", host, {}))


COMMAND = ["nodes", "graph.edges", "-o", "v.bin", "--dim", "16", "--window", "3", "--negative", "3", "--epochs", "1"]
COMMAND += ["--walks", "2", "--length", "9", "--threads", "1"]


@needs_mpi
@pytest.mark.parametrize("how", [[], slow(["--q", "4", "--weighted"])])
def test_ranks_write_what_one_process_writes(how, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    graph = random_graph(130, 700, weighted=True)
    rows = np.repeat(np.arange(130), np.diff(graph.indptr))
    lines = [f"v{a} v{b} {w}\n" for a, b, w in zip(rows, graph.indices, graph.weights, strict=True) if a <= b]
    (tmp_path / "graph.edges").write_text("".join(lines))
    how = how or ["--unweighted"]
    result = CliRunner().invoke(app, [*COMMAND, *how, "--hosts", "3", "--graph", "whole"])
    assert result.exit_code == 0, result.output
    whole = (tmp_path / "v.bin").read_bytes()
    main = "from any2vec.cli import main; main()"
    ran = run_python("-c", main, *COMMAND, *how, "--graph", "parts", "--force", ranks=3, cwd=tmp_path, timeout=120)
    assert ran.returncode == 0, ran.stderr
    assert re.search(r"in 3 parts: hosts sent [\d.]+ kB to read it, and [\d.]+ kB to walk on it", ran.stderr)
    assert (tmp_path / "v.bin").read_bytes() == whole
