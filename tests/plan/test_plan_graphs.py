"""The plan of walks on a graph, whole or in parts: bytes and tables beside those of runs, memory, the command."""

import json
import re
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from marks import slow_but
from test_plan import NETWORK, SMALL, SPEEDS, run
from test_share_walks import WALKS
from test_walks import random_graph
from typer.testing import CliRunner

from any2vec import Any2VecError, DeepWalk, Node2Vec
from any2vec.cli import app
from any2vec.cli.help import usage
from any2vec.cluster.local import simulate
from any2vec.graph.shares.share import cut_graph
from any2vec.plan.measuring import measure_walks
from any2vec.plan.planning import Estimator, make_plan
from any2vec.plan.quantities import PROGRAM, Cluster
from any2vec.plan.text import Text
from any2vec.plan.walking import Sizes, WalkedGraph, WalkSpeeds
from any2vec.walks.share_walker import ShareWalker
from any2vec.walks.walker import Walker

GRAPH = random_graph(300, 3000)
HOW = {"dim": 16, "window": 3, "negative": 3, "epochs": 1, "walks": 3, "length": 20, "threads": 1}
KNOWN = WalkSpeeds(4e6, 1e6, 20.0, 100.0)


def planned(model, graph=GRAPH, place="parts"):
    """Return what is walked on, and its text and options."""
    walked = replace(WalkedGraph.of(graph, model), place=place)
    return walked, Text.of_corpus(model.read(graph), 1, walked), model.training_options()


@pytest.mark.parametrize(
    ("kind", "how"), slow_but(WALKS[:1], [WALKS[0], WALKS[2], WALKS[4], WALKS[7], WALKS[8]], unpacked=True)
)
def test_bytes_are_those_that_simulated_hosts_send(kind, how):
    graph, how = random_graph(300, 3000, **kind), HOW | {"q": 0.25} | how
    walked, text, options = planned(Node2Vec(**how, verbose=False), graph)
    speeds = replace(SPEEDS, walks=measure_walks(walked))
    for hosts in (2, 4):
        report = Node2Vec(**how, hosts=hosts, graph="parts", verbose=False).fit(graph).report_
        for one in Estimator(text, options, NETWORK, speeds).estimates(hosts):
            assert one.walking.sent == pytest.approx(report.walk_bytes, rel=0.03), one.scheme


@pytest.mark.parametrize(("weighted", "question"), [(False, 8), (True, 12)])
def test_a_step_of_the_first_order_is_a_question_and_an_answer(weighted, question):
    walked = planned(DeepWalk(**HOW), random_graph(300, 3000, weighted=weighted))[0]
    found = measure_walks(walked)
    stay = 1 / HOW["length"]  # a walk's last vertex asks nothing
    assert found.asked == pytest.approx((question + 4) * (1 - stay))
    assert found.rounds == 2 * HOW["length"]  # of two crews; in the last, none has a question
    assert min(found.whole, found.parts) > 0


@pytest.mark.parametrize(("kind", "how"), WALKS)
def test_tables_are_those_of_walkers(kind, how):
    graph = random_graph(130, 700, **kind)
    walked = WalkedGraph(graph, {"length": 9, **how}, 2)

    def program(host):
        walker = ShareWalker(cut_graph(graph, 3, host.rank), host, length=9, **how)
        return walker.nbytes + walker._starts.nbytes, np.diff(walker.owners._cuts)

    found = simulate(3, 2, program)
    cuts = np.append(0, np.cumsum(found[0][1]))
    entries = np.diff(graph.indptr[cuts])
    assert walked.tables(np.diff(cuts), entries, parts=True).tolist() == pytest.approx(
        [nbytes for nbytes, _ in found], abs=100
    )
    sizes = Sizes(2 * 9 * 130, 2 * 130, 1)
    walking = replace(walked, place="whole").walking(1, sizes, NETWORK, None)
    walks, names = 4 * sizes.positions + 8 * sizes.walks, sum(map(len, graph.names)) + 9 * len(graph)
    beside = PROGRAM + walks + names + 140 * len(graph) + sum(map(len, graph.names))
    assert walking.memory - beside == pytest.approx(Walker(graph, length=9, **how).nbytes, abs=100)


def test_hosts_have_parts_if_the_whole_does_not_fit():
    walked = planned(DeepWalk(**HOW), place="auto")[0]
    sizes = Sizes(1e6, 1e5, 1)
    whole, parts = (replace(walked, place=place).walking(4, sizes, NETWORK, KNOWN) for place in ("whole", "parts"))
    assert (whole.graph, whole.sent, parts.graph) == ("whole", 0.0, "parts")
    needs = max(whole.reading, whole.memory)
    for memory, graph in ((needs, "whole"), (needs - 1, "parts")):
        found = walked.walking(4, sizes, replace(NETWORK, memory=memory), KNOWN)
        assert found == replace({"whole": whole, "parts": parts}[graph], memory=found.memory, held=found.held)
    assert walked.walking(1, sizes, replace(NETWORK, memory=needs / 2), KNOWN).graph == "whole"  # one reads it all


def test_walks_that_are_not_kept():
    walked = planned(DeepWalk(**HOW), place="whole")[0]
    few, many = (walked.walking(2, Sizes(20.0 * walks, walks, 3), NETWORK, KNOWN) for walks in (1e6, 1e8))
    assert few.held == (4 * 20e6 + 8e6) / 2
    assert many.held < 1e6  # the graph, from which they are generated again
    assert many.seconds == pytest.approx(4 * 100 * few.seconds)  # once to count them, and in each epoch
    parts = replace(walked, place="parts").walking(2, Sizes(2e9, 1e8, 3), NETWORK, KNOWN)
    assert parts.held == 8e8 / 2  # they are in a file, but for where each begins


def test_more_hosts_need_less_memory_for_a_graph_in_parts():
    random = np.random.default_rng(1)
    graph = random_graph(2000, 1000)
    degrees = random.integers(1000, 3000, 2000)
    large = replace(
        graph,
        indptr=np.append(0, np.cumsum(degrees)),
        indices=random.integers(0, 2000, int(degrees.sum()), dtype=np.int32),
    )
    walked = WalkedGraph(large, {"length": 20}, 1, "parts")
    sizes = Sizes(40_000, 2000, 1)
    found = [walked.walking(hosts, sizes, NETWORK, None) for hosts in (1, 2, 4, 8)]
    assert all(b.reading < a.reading for a, b in pairwise(found))
    rows = [one.reading - PROGRAM for one in found]
    assert rows[0] / rows[3] > 4
    assert {one.sent for one in found} == {0.0}  # nothing is known of questions


@pytest.mark.parametrize("latency", [0.0, 1e-3])
def test_the_slowest_of_work_and_network_decides(latency):
    walked = planned(DeepWalk(**HOW), place="parts")[0]
    sizes, waited = Sizes(4e7, 2e6, 1), 100 * 2e6 / 2 / 65536 / 2 * 3 * 2 * latency
    fast, slow = (walked.walking(2, sizes, Cluster((2,), 2, rate, latency), KNOWN) for rate in (1e15, 1e6))
    assert fast.seconds == pytest.approx(max(2e7 / 2e6, 2e7 / 4e6 + waited))
    assert slow.seconds == pytest.approx(slow.sent / 2 / 1e6 * 1538 / 1448)
    assert slow.sent == pytest.approx(0.5 * 20.0 * 4e7, rel=1e-3)
    assert walked.walking(1, sizes, Cluster((1,), 2, 1e6, latency), KNOWN).sent == 0.0


def test_totals_have_the_walks():
    _, text, options = planned(DeepWalk(**HOW), place="parts")
    plan = make_plan(text, options, NETWORK, replace(SPEEDS, walks=KNOWN))
    for one in plan.estimates:
        assert one.total == pytest.approx(sum(one.seconds.values()) + one.walking.seconds)
        assert one.memory == max(one.walking.reading, one.walking.memory, one.training)
    figures = next(one for one in plan.as_dict()["estimates"] if one["hosts"] == 8)
    assert figures["walking"]["graph"] == "parts"
    assert figures["walking"]["sent"] > 0
    tight = replace(NETWORK, memory=0.9 * PROGRAM)
    with pytest.raises(Any2VecError, match=r"that is the least; that much memory would do$"):  # it reads the graph
        make_plan(text, options, tight, replace(SPEEDS, walks=KNOWN))
    whole = replace(text, graph=replace(text.graph, place="whole"))
    with pytest.raises(Any2VecError, match=r"the least; that much memory or `graph='parts'` would do$"):
        make_plan(whole, options, tight, replace(SPEEDS, walks=KNOWN))


def test_a_corpus_of_walks_needs_its_graph():
    corpus = DeepWalk(**HOW, verbose=False).read(GRAPH)
    with pytest.raises(Any2VecError, match="give the graph too"):
        Text.of_corpus(corpus)


@pytest.fixture
def ring(tmp_path):
    path = tmp_path / "ring.edges"
    path.write_text("".join(f"{i} {(i + 1) % 50}\n" for i in range(50)))
    return path


WALKED = (*SMALL[:6], "--epochs", 1, "--hosts", "1,2", "--walks", 2, "--length", 10, "--quiet")


@pytest.mark.parametrize("graph", ["auto", "whole", "parts"])
def test_command_of_a_graph(graph, ring, tmp_path):
    how = ("--graph", graph, "--price", "2.5EUR/h", "--json", tmp_path / "plan.json")
    result = run(ring, "--nodes", *WALKED, *how)
    assert result.exit_code == 0, result.output
    table = re.search(r"^hosts scheme.*?(?=^measured)", result.output, re.M | re.S)[0]
    assert len(table.splitlines()) == 8
    assert max(map(len, table.splitlines())) <= 120
    assert "1,000 words, 50 of them different" in result.output
    assert f"graph: {'whole' if graph == 'auto' else graph};" in result.output
    assert ("in parts" in result.output) == (graph == "parts")
    found = json.loads((tmp_path / "plan.json").read_text())
    sent = {one["walking"]["sent"] for one in found["estimates"] if one["hosts"] == 2}
    assert (max(sent) > 0) == (graph == "parts")


def test_command_of_a_graph_with_kinds(ring, tmp_path):
    kinds = tmp_path / "kinds"
    kinds.write_text("".join(f"{i} {'user' if i % 2 else 'item'}\n" for i in range(50)))
    given = ("--nodes", *WALKED, "--json", tmp_path / "plan.json", "--kinds", kinds)
    result = run(ring, *given, "--metapath", "user-item-user")
    assert result.exit_code == 0, result.output
    assert "500 words, 50 of them different" in result.output  # walks of users alone, half of those without a metapath
    assert "take one host: 0.0 s; to start more takes as long" in result.output
    result = run(ring, *given, "--metapath", "user-shop-user")
    assert "has 'shop', which is no kind of a vertex; there are item, user" in str(result.exception)


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("ring.edges", "--graph", "parts"), "--graph is for graphs: give --nodes, or leave it out"),
        (("--graph", "ring.edges"), "must be auto, whole or parts; that CORPUS is a graph is said by --nodes"),
        (("ring.edges", "--graph", "--quiet"), "--graph is '--quiet'; it must be auto, whole or parts; that CORPUS"),
        (("ring.edges", "ring.edges", "--nodes"), "2 files are given, but a graph is one file, or a folder"),
        (("--nodes",), "--nodes is given, but no CORPUS, the graph's file"),
        (("none.edges", "--nodes"), "none.edges"),
        (("ring.edges", "--kinds", "kinds"), "--kinds is for graphs: give --nodes, or leave it out"),
    ],
)
def test_mistakes(arguments, why, ring, monkeypatch):
    monkeypatch.chdir(ring.parent)
    result = run(*arguments)
    assert result.exit_code == 1
    assert why in str(result.exception)


def test_an_option_without_its_value_says_what_it_is(ring, monkeypatch):
    monkeypatch.setattr("sys.argv", ["any2vec", "plan", str(ring), "--graph"])
    result = CliRunner().invoke(app, ["plan", str(ring), "--graph"], prog_name="any2vec", standalone_mode=False)
    said = usage(result.exception)
    assert said.startswith("option '--graph' requires an argument: with --nodes, what a host has of the graph")
    assert said.endswith("auto, whole or parts; see any2vec plan --help")
