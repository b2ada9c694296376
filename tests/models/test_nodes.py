"""DeepWalk and Node2Vec, `any2vec nodes` and `any2vec walks`, and how walks become the worklists of hosts."""

import io
import json
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.sparse import csr_array
from simulated import NAMES
from typer.testing import CliRunner

from any2vec import Any2VecError, DeepWalk, Node2Vec, load
from any2vec.cli import app, main
from any2vec.cluster.local import alone, simulate
from any2vec.evaluate.classification import evaluate_nodes
from any2vec.graph import karate_club, read_graph, read_labels
from any2vec.plan.text import Text
from any2vec.plan.walking import WalkedGraph
from any2vec.training.checkpoints.resume import corpus_facts
from any2vec.training.progress import COMPILING
from any2vec.walks.corpus import walk_corpus
from any2vec.walks.walker import Walker
from any2vec.walks.worklist import write_text

SIZES = {"dim": 16, "window": 3, "negative": 3}  # the kernel of test_training
QUICK = SIZES | {"walks": 2, "length": 10, "epochs": 1, "threads": 1}
OPTIONS = [part for name, value in QUICK.items() for part in (f"--{name}", str(value))]
KARATE = karate_club()


def fit(source=KARATE.edges, make=DeepWalk, **options):
    return make(**(QUICK | options)).fit(source)


def bits(model):
    return model.vectors_.words, model.vectors_.matrix.tobytes(), model.loss_


@pytest.fixture
def run(monkeypatch, tmp_path):
    """Run a command in this process, in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    return lambda *arguments, **more: CliRunner().invoke(app, [*map(str, arguments)], **more)


MODELS = {
    "DeepWalk": DeepWalk,
    "q > 1": lambda **more: Node2Vec(p=0.5, q=2, **more),
    "q < 1": lambda **more: Node2Vec(p=2, q=0.5, **more),
    "hosts": lambda **more: DeepWalk(hosts=4, **more),
}


@pytest.mark.parametrize("name", MODELS)
def test_factions_of_the_karate_club(name):
    vectors = MODELS[name](**SIZES, epochs=10, threads=1, seed=3).fit(KARATE.edges).vectors_
    assert sorted(vectors.words, key=int) == [str(v) for v in range(1, 35)]
    assert vectors.matrix.shape == (34, 16)
    assert np.isfinite(vectors.matrix).all()
    labels = read_labels(KARATE.labels)
    faction = dict(zip(labels.names, labels.matrix.argmax(axis=1), strict=True))
    near = [faction[v] == faction[other] for v in vectors.words for other, _ in vectors.most_similar(v, topn=4)]
    assert np.mean(near) > 0.8  # 0.5 by chance
    assert evaluate_nodes(vectors, labels, [0.5], shuffles=5, threads=1).mean("micro")[0] > 85


def test_node2vec_without_bias_is_deepwalk():
    assert bits(fit(make=Node2Vec)) == bits(fit())
    assert bits(fit(make=Node2Vec, p=4)) != bits(fit())
    assert bits(fit(make=Node2Vec, q=4)) != bits(fit())
    assert bits(fit(seed=2)) != bits(fit())


def test_forms_of_a_graph():
    reference = bits(fit())
    assert bits(fit(str(KARATE.edges))) == reference
    assert bits(fit(read_graph(KARATE.edges))) == reference
    edges = np.loadtxt(KARATE.edges, np.int64)
    assert bits(fit(edges)) == reference
    assert bits(fit(csr_array((np.ones(78), tuple(edges.T - 1)), (34, 34)))) != reference  # it has an order of its own


def test_how_a_file_is_read(tmp_path):
    path = tmp_path / "path.edges"
    path.write_text("a b 9\nb c 9\n")
    assert fit(path).report_.words == 2 * 3 * 10
    assert fit(path, directed=True).report_.words == 2 * (3 + 2 + 1)
    path.write_text("".join(f"hub {v} {10**9 if v == 7 else 1}\n" for v in range(20)))
    assert fit(path).vectors_.counts[1] > 5 * fit(path, weighted=False).vectors_.counts[1]


def test_parameters():
    model = DeepWalk(walks=3)
    assert (model.sample, model.walks, model.length, model.restart) == (0, 3, 40, 0)  # no subsampling
    assert {"p": 1.0, "q": 1.0, "walks": 10}.items() <= Node2Vec().get_params().items()
    assert model.set_params(length=7).length == 7
    report = fit(make=Node2Vec, q=2, restart=0.5).report_
    assert {"walks": 2, "length": 10, "p": 1, "q": 2, "restart": 0.5}.items() <= report.options.items()
    assert (report.words, report.kept_words, report.vocabulary) == (680, 680, 34)
    assert {"read", "walk", "train"} <= report.seconds.keys()


@pytest.fixture(scope="module")
def four_hosts():
    return bits(fit(hosts=4, epochs=2))


@pytest.mark.parametrize("scheme", NAMES)
def test_threads_and_schemes_do_not_change_hosts(four_hosts, scheme):
    assert bits(fit(hosts=4, epochs=2, scheme=scheme, threads=2)) == four_hosts


@pytest.mark.parametrize("hosts", [2, 3])
def test_cluster_is_what_one_process_simulates(hosts):
    expected = fit(hosts=hosts, make=Node2Vec, q=2)
    parts = simulate(hosts, 2, lambda one: Node2Vec(**QUICK, q=2).fit(KARATE.edges, communicator=one).vectors_)
    assert [word for part in parts for word in part.words] == list(expected.vectors_.words)
    assert np.concatenate([part.matrix for part in parts]).tobytes() == expected.vectors_.matrix.tobytes()


def random_graph(directed):
    ends = np.random.default_rng(5).integers(0, 50, (200, 2))
    return read_graph(ends[ends[:, 0] < 40], directed=directed, vertices=["far", "away"])


def test_edges_as_walks():
    graph = random_graph(False)
    vectors = fit(graph, starts="degree", length=2).vectors_
    assert vectors.counts.sum() == 2 * 2 * len(graph)
    assert vectors.counts[vectors.vocabulary.ids["far"]] == 0  # it has no edge, and a vector all the same
    assert np.isfinite(vectors.matrix).all()
    assert bits(fit(make=Node2Vec, q=2, extend=True)) == bits(fit(make=Node2Vec, q=2))  # without weights


def content(worklist, low=0, high=None):
    """Ids at positions low..high-1, and the bounds of sentences of the pieces that have them, from `low` on."""
    high = worklist.size if high is None else high
    found, bounds, at = [], [], low
    for piece in worklist.pieces(low, high):
        assert piece.at + piece.low == at
        at = piece.at + piece.high
        found += piece.ids[piece.low : piece.high].tolist()
        bounds += [bound for bound in (piece.at + piece.bounds).tolist() if low <= bound <= high]
    assert at == high
    return found, sorted(set(bounds))


@pytest.fixture
def few(monkeypatch):
    """Let pieces of walks, and the distance of known positions, be as small as the graphs of tests."""
    monkeypatch.setattr("any2vec.walks.corpus._PIECE", 50)
    monkeypatch.setattr("any2vec.walks.worklist._SPACING", 30)


@pytest.mark.parametrize("directed", [False, True])  # with it, walks end early
@pytest.mark.parametrize("hosts", [1, 2, 3])
@pytest.mark.parametrize("large", [0, 1 << 30], ids=["generated", "kept"])
def test_worklists_of_hosts(few, directed, hosts, large):
    walker = Walker(random_graph(directed), length=9, seed=2)
    whole = walk_corpus(walker, 3, hosts=hosts)
    names = np.array(whole.vocabulary.words)
    walks = [names[whole.worklist.ids[a:b]].tolist() for a, b in pairwise(whole.worklist.bounds)]
    text = io.BytesIO()
    write_text(walker, 3, text)
    assert walks == [line.split() for line in text.getvalue().decode().splitlines()]
    assert whole.raw_words == whole.cuts[-1] == len(whole.worklist.ids) == whole.vocabulary.counts.sum()
    assert whole.vocabulary.counts.tolist() == np.bincount(whole.worklist.ids, minlength=len(names)).tolist()
    assert (np.diff(whole.vocabulary.counts) <= 0).all()
    assert sorted(names) == sorted(walker.graph.names)

    again = walk_corpus(walker, 3, hosts=hosts, threads=2, large=large)
    parts = simulate(hosts, 2, lambda one: walk_corpus(walker, 3, hosts=hosts, communicator=one, large=large))
    assert content(again.worklist) == content(whole.worklist)
    assert corpus_facts(again, alone()) == corpus_facts(whole, alone())
    for host, part in enumerate(parts):
        assert list(part.vocabulary.words) == list(again.vocabulary.words) == list(whole.vocabulary.words)
        assert part.vocabulary.counts.tolist() == whole.vocabulary.counts.tolist()
        assert part.cuts.tolist() == again.cuts.tolist() == whole.cuts.tolist()
        assert (part.raw_words, part.sentences) == (whole.raw_words, whole.sentences)
        expected = whole.part(host)
        n = expected.size
        for one in (part.part(host), again.part(host)):
            assert (one.size, one.first) == (n, whole.cuts[host])
            for most in (1, 17, 1000):
                assert one.lengths(most).tolist() == expected.lengths(most).tolist()
            for low, high in ((0, n), (5, n - 7), (n // 2, n // 2 + 1), (n, n)):
                assert content(one, low, high) == content(expected, low, high)


WAYS = ({}, {"hosts": 3}, {"hosts": 2, "scheme": "server"}, {"hosts": 2, "scheme": "columns"})


@pytest.mark.parametrize("directed", [False, True])
def test_generated_walks_train_to_the_same_bits(few, tmp_path, monkeypatch, directed):
    monkeypatch.setenv("ANY2VEC_CACHE", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    graph = random_graph(directed)
    kept = [fit(graph, epochs=2, **how) for how in WAYS]
    monkeypatch.setitem(walk_corpus.__kwdefaults__, "large", 0)
    generated = [fit(graph, epochs=2, **how) for how in WAYS]
    assert list(map(bits, generated)) == list(map(bits, kept))
    assert all(model.report_.walking > 0 for model in generated)
    assert not any(model.report_.walking for model in kept)
    assert not list(tmp_path.iterdir())
    memory = generated[0].report_.memory
    assert memory.keys() == {"graph", "names", "walks", "model"}
    assert memory["model"] >= 2 * 4 * 16 * len(graph)


def test_plans_of_generated_walks(few):
    walker = Walker(random_graph(True), length=9, seed=2)
    graph = WalkedGraph(walker.graph, {"length": 9}, 3)
    one, other = (Text.of_corpus(walk_corpus(walker, 3, large=large), graph=graph) for large in (0, 1 << 30))
    assert one.lengths.tolist() == other.lengths.tolist()
    lengths = np.array([3.0, 40.0, 700.0])
    assert one.absent(lengths, 0.01).tolist() == other.absent(lengths, 0.01).tolist()


@pytest.mark.parametrize("hosts", [1, 3])
def test_vertex_without_edges(hosts):
    graph = read_graph(KARATE.edges, vertices=["lonely"])
    model = fit(graph, hosts=hosts)
    assert len(model.vectors_) == 35
    assert model.vectors_.words[-1] == "lonely"
    assert model.vectors_.counts[-1] == 2  # its two walks are of one vertex
    assert np.isfinite(model.vectors_["lonely"]).all()
    assert model.vectors_["lonely"].any()


def test_nodes(run):
    result = run("nodes", KARATE.edges, "-o", "v.txt", *OPTIONS, "--report", "r.json")
    assert (result.exit_code, result.stdout) == (0, ""), result.output
    expected = fit(make=Node2Vec)
    found = load("v.txt")
    assert list(found.words) == list(expected.vectors_.words)
    np.testing.assert_allclose(found.matrix, expected.vectors_.matrix, rtol=1e-5, atol=1e-8)
    lines = [line for line in result.stderr.splitlines() if line != COMPILING]
    first, second, *_, where, one, _, _, last = lines
    assert first == "34 vertices, 78 edges, undirected, unweighted"
    assert second == "68 walks, 680 steps"
    assert where == "the vectors of 34 vertices are in v.txt"
    word, *near = one.replace(",", "").split()
    assert near == [other for other, _ in found.most_similar(word, topn=5)]
    assert last == f"next: any2vec similar v.txt {word}"
    assert json.loads(Path("r.json").read_text())["options"]["walks"] == 2


def test_options_of_nodes(run):
    chosen = {"walks": 3, "length": 7, "p": 0.5, "q": 2.0, "restart": 0.25, "epochs": 2, "alpha": 0.1, "seed": 7}
    chosen |= {
        "sample": 0.01,
        "hosts": 2,
        "rounds": 2,
        "scheme": "rep-opt",
        "combine": "gradient",
        "threads": 1,
    } | SIZES
    options = [part for name, value in chosen.items() for part in (f"--{name}", str(value))]
    result = run("nodes", "-", "-o", "v", *options, "--quiet", "--report", "r.json", input=KARATE.edges.read_bytes())
    assert (result.exit_code, result.output) == (0, "")
    report = json.loads(Path("r.json").read_text())
    assert chosen.items() <= report["options"].items()
    assert (report["hosts"], report["words"]) == (2, 3 * 34 * 7)
    expected = Node2Vec(**chosen).fit(KARATE.edges).vectors_
    assert load("v").matrix.tobytes() == expected.matrix.tobytes()
    help_ = run("nodes", "--help-all", env={"COLUMNS": "200"}).output
    assert all(f"--{name}" in help_ for name in [*chosen, "directed", "weighted", "format", "negatives-per", "kappa"])


def test_walks(run, tmp_path):
    result = run("walks", KARATE.edges, "-o", "walks.txt")
    assert (result.exit_code, result.output) == (0, "")
    text = (tmp_path / "walks.txt").read_bytes()
    walks = [line.split() for line in text.decode().splitlines()]
    assert [len(walk) for walk in walks] == [40] * 340
    edges = {tuple(line.split()) for line in KARATE.edges.read_text().splitlines() if line[0] != "#"}
    assert len(edges) == 78
    steps = {step for walk in walks for step in pairwise(walk)}
    assert steps == edges | {(b, a) for a, b in edges}
    for pass_ in range(10):
        assert len({walk[0] for walk in walks[34 * pass_ : 34 * pass_ + 34]}) == 34
    piped = run("walks", "-", "-o", "-", "--threads", "2", input=KARATE.edges.read_bytes())
    assert piped.stdout_bytes == text
    for option, value in (("--seed", 2), ("--p", 4), ("--q", 4), ("--restart", 0.5)):
        assert run("walks", KARATE.edges, "-o", "-", option, value).stdout_bytes != text
    assert run("walks", KARATE.edges, "-o", "-", "--walks", 1, "--length", 2).stdout.count("\n") == 34


def test_walks_are_written_by_one_process(run, monkeypatch):
    monkeypatch.setattr("any2vec.cluster.connect", lambda: SimpleNamespace(rank=0, size=2))
    result = run("walks", KARATE.edges, "-o", "walks.txt")
    assert "start any2vec walks without mpiexec, torchrun or srun" in str(result.exception)
    assert not Path("walks.txt").exists()


@pytest.fixture
def inputs(run, tmp_path):
    (tmp_path / "good.edges").write_text("a b\nb c\n")
    (tmp_path / "cycle.edges").write_text("a b\nb c\nc a\n")
    (tmp_path / "blanks.edges").write_text("New York\tBoston\nBoston\tSalem\n")
    (tmp_path / "bad.edges").write_text("a b\nc\n")
    return set(tmp_path.iterdir())


ERRORS = {
    "missing": (["missing.edges"], "missing.edges"),
    "line": (["bad.edges"], "bad.edges, line 2"),
    "format": (["good.edges", "--format", "csv"], "--format is 'csv'"),
    "p": (["good.edges", "--p", "0"], "--p is 0.0; it must be a number above 0"),
    "p is no number": (["good.edges", "--p", "nan"], "--p is nan; it must be a number above 0"),
    "q": (["good.edges", "--q", "-1"], "--q is -1.0; it must be a number above 0"),
    "restart": (["good.edges", "--restart", "1"], "--restart is 1.0; it must be from 0 to below 1"),
    "walks": (["good.edges", "--walks", "0"], "walks is 0; each vertex must have from 1 to 1,000,000"),
    "length": (["good.edges", "--length", "0"], "--length is 0; walks must have from 1 to 1,000,000"),
    "too long": (["good.edges", "--length", "3000000000"], "--length is 3000000000; walks must have from 1 to"),
    "too many": (["good.edges", "--walks", "1000000000000000000"], "each vertex must have from 1 to 1,000,000"),
    "p too small": (["cycle.edges", "--directed", "--p", "1e-8"], "p is 1e-08; it must be from 0.001 to 1000"),
    "q too large": (["good.edges", "--q", "1e5"], "q is 100000; it must be from 0.001 to 1000"),
    "threads": (["good.edges", "--threads", "0"], "threads"),
    "no folder": (["good.edges", "-o", "no/v.txt"], "no does not exist"),
}


@pytest.mark.parametrize("command", ["nodes", "walks"])
@pytest.mark.parametrize("name", ERRORS)
def test_mistakes_are_one_line(inputs, tmp_path, capsys, monkeypatch, command, name):
    arguments, message = ERRORS[name]
    monkeypatch.setattr(sys, "argv", ["any2vec", command, "-o", "v.txt", *arguments])
    with pytest.raises(SystemExit) as exit_:
        main()
    shown = capsys.readouterr()
    assert (exit_.value.code, shown.out) == (1, "")
    *before, error = [line for line in shown.err.splitlines() if line != COMPILING]
    assert before in ([], ["3 vertices, 2 edges, undirected, unweighted"])
    assert error.startswith("any2vec: ")
    assert message in error
    assert set(tmp_path.iterdir()) == inputs


def test_walks_are_not_packed(run, inputs, tmp_path):
    result = run("walks", "good.edges", "-o", "w.txt.gz")
    assert "plain text" in str(result.exception)
    assert set(tmp_path.iterdir()) == inputs


def test_options_are_checked_before_the_graph_is_read(run, inputs, monkeypatch):
    monkeypatch.setattr(sys.modules["any2vec.cli.words"], "read_graph", None)
    for option in (["--dim", "0"], ["--p", "0"], ["--length", "1"], ["--alpha", "3"]):
        result = run("nodes", "good.edges", "-o", "v.txt", *option)
        assert isinstance(result.exception, Any2VecError)
        assert option[0].strip("-") in str(result.exception)


def test_names_that_the_output_cannot_hold_are_told_before_walking(run, inputs, tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr("any2vec.models.nodes.walk_corpus", None)
        result = run("nodes", "blanks.edges", "-o", "v.txt", "--delimiter", r"\t")
        assert "word2vec's formats cannot hold the word 'New York'" in str(result.exception)
    assert run("nodes", "blanks.edges", "-o", "folder", "--delimiter", "\t", *OPTIONS).exit_code == 0
    assert "New York" in load(tmp_path / "folder").words


def test_seconds_of_reading_are_told(run, inputs, tmp_path, monkeypatch):
    monkeypatch.setattr(
        sys.modules["any2vec.models.nodes"], "read_graph", lambda *a, **k: (time.sleep(0.2), read_graph(*a, **k))[1]
    )
    assert run("nodes", "good.edges", "-o", "v.txt", "--report", "r.json", *OPTIONS).exit_code == 0
    assert json.loads((tmp_path / "r.json").read_text())["seconds"]["read"] >= 0.2


@pytest.mark.parametrize("command", ["nodes", "walks"])
def test_graph_is_not_written_over(run, inputs, tmp_path, command):
    result = run(command, "good.edges", "-o", "good.edges")
    assert (tmp_path / "good.edges").read_text() == "a b\nb c\n"
    assert result.exit_code == 1
    assert isinstance(result.exception, Any2VecError)
