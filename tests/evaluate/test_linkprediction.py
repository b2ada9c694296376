import json
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from any2vec import DeepWalk
from any2vec.errors import Any2VecError
from any2vec.evaluate import linksplit
from any2vec.evaluate.linkprediction import OPERATORS, compare_operators, evaluate_links
from any2vec.evaluate.linksplit import split_links
from any2vec.graph.graph import Graph
from any2vec.graph.readers import karate_club, read_graph
from any2vec.vectors import Vectors
from any2vec.vectors.files import save

pytest.importorskip("sklearn")


def graph_of(number, edges, directed=False, weights=None):
    """Make rows of a graph, an edge at a time."""
    rows = [[] for _ in range(number)]
    for i, (a, b) in enumerate(edges):
        weight = 1.0 if weights is None else weights[i]
        rows[a].append((b, weight))
        if not directed and a != b:
            rows[b].append((a, weight))
    entries = [entry for row in rows for entry in sorted(row)]
    indptr = np.cumsum([0] + [len(row) for row in rows])
    held = None if weights is None else np.array([weight for _, weight in entries], np.float32)
    indices = np.array([other for other, _ in entries], np.int32)
    return Graph(indptr, indices, held, [f"v{i}" for i in range(number)], directed)


def split_inputs(graph):
    """List the edges, those of an undirected graph in both directions, with weights."""
    weights = np.ones(len(graph.indices)) if graph.weights is None else graph.weights
    heads = np.repeat(np.arange(len(graph)), np.diff(graph.indptr))
    return list(zip(heads.tolist(), graph.indices.tolist(), weights.tolist(), strict=True))


def components(number, edges):
    parent = list(range(number))

    def root(v):
        while parent[v] != v:
            v = parent[v]
        return v

    for a, b, *_ in edges:
        parent[root(a)] = root(b)
    roots = [root(v) for v in range(number)]
    return {frozenset(v for v in range(number) if roots[v] == r) for r in roots}


@st.composite
def graphs(draw):
    number = draw(st.integers(3, 14))
    vertex = st.integers(0, number - 1)
    parallel = draw(st.booleans())
    edges = draw(st.lists(st.tuples(vertex, vertex), max_size=40, unique_by=None if parallel else lambda e: e))
    directed = draw(st.booleans())
    if not directed and not parallel:
        edges = list({(min(e), max(e)) for e in edges})
    weights = [float(i + 1) for i in range(len(edges))] if draw(st.booleans()) else None
    return graph_of(number, edges, directed, weights)


@settings(max_examples=300)
@given(graph=graphs(), share=st.sampled_from([0.01, 0.3, 0.5, 0.99]), seed=st.integers(0, 5))
def test_split(graph, share, seed):
    whole = split_inputs(graph)
    pairs = {(a, b) for a, b, _ in whole if a != b}
    links = {(min(pair), max(pair)) for pair in pairs}  # an edge and its reverse are one
    joined = {v for link in links for v in link}
    connected = components(len(graph), whole)
    try:
        split = split_links(graph, share, seed)
    except Any2VecError as error:
        needed = len(graph) - len(connected)
        possible = len(joined) * (len(joined) - 1) // 2
        hidden = min(max(1, round(share * len(links))), len(links) - needed)
        if "nothing to hide" in str(error):
            assert len(links) == needed
        else:
            assert possible - len(links) < hidden
        return
    train = split_inputs(split.train)
    hidden = {tuple(pair) for pair in split.hidden.tolist()}
    absent = {tuple(pair) for pair in split.absent.tolist()}
    both = hidden | {(b, a) for a, b in hidden}
    assert sorted(train + [e for e in whole if e[:2] in both]) == sorted(whole)
    assert not both & {(a, b) for a, b, _ in train}
    assert hidden == (both & pairs if graph.directed else both & links)
    assert components(len(graph), train) == connected
    many = min(max(1, round(share * len(links))), len(links) - (len(graph) - len(connected)))
    assert len({frozenset(pair) for pair in hidden}) == len({frozenset(pair) for pair in absent}) == many
    assert len(absent) == len(split.absent) == len(split.hidden) == len(hidden)
    assert not (absent | {(b, a) for a, b in absent}) & pairs
    assert all(a != b and {a, b} <= joined and (graph.directed or a < b) for a, b in absent)
    for found in (split.hidden, split.absent):
        assert sorted(map(tuple, found.tolist())) == list(map(tuple, found.tolist()))
    again = split_links(graph, share, seed)
    assert np.array_equal(again.hidden, split.hidden)
    assert np.array_equal(again.absent, split.absent)
    assert (split.train.weights is None) == (graph.weights is None)
    assert split.train.directed == graph.directed
    assert split.train.names == graph.names


@pytest.mark.parametrize("sparse", [False, True])
def test_draws_are_even(sparse):
    ring = [(i, (i + 1) % 6) for i in range(6)]
    graph = graph_of(6, ring) if not sparse else graph_of(40, [(i, (i + 1) % 40) for i in range(40)])
    seen_hidden, seen_absent = np.zeros(len(graph)), np.zeros((len(graph), len(graph)))
    for seed in range(600):
        split = split_links(graph, 0.01, seed)  # one edge: a ring has one too many
        (a, b), (c, d) = split.hidden[0], split.absent[0]
        seen_hidden[a if b == a + 1 else b] += 1
        seen_absent[c, d] += 1
    expected = 600 / len(graph)
    assert np.abs(seen_hidden - expected).max() < 5 * np.sqrt(expected)
    possible = len(graph) * (len(graph) - 3) // 2
    drawn = seen_absent[seen_absent > 0]
    assert len(drawn) > 0.5 * min(possible, 600)
    assert drawn.max() < 600 / possible + 6 * np.sqrt(600 / possible) + 2


@pytest.mark.parametrize(
    ("graph", "share", "message"),
    [
        (graph_of(4, [(0, 1), (1, 2)]), 0.5, "4 vertices and 2 edges has nothing to hide: removing any"),
        (graph_of(2, [(0, 0)]), 0.5, "nothing to hide: no edge joins two vertices"),
        (graph_of(0, []), 0.5, "nothing to hide"),
        (graph_of(3, [(0, 1), (1, 2), (0, 2)]), 0.5, "too dense .* only 0 pairs of vertices have no edge, and 1 "),
        (graph_of(4, [(0, 1), (1, 2), (0, 2)]), 0.0, "share: 0 is not between 0 and 1"),
        (graph_of(4, [(0, 1), (1, 2), (0, 2)]), 50, "share: 50 is not"),
        (graph_of(4, [(0, 1), (1, 2), (0, 2)]), "half", "share: 'half' is not a number"),
        ("g.edges", 0.5, "graph: a Graph is expected, such as read_graph returns, not 'g.edges'"),
    ],
)
def test_what_cannot_be_split(graph, share, message):
    with pytest.raises(Any2VecError, match=message):
        split_links(graph, share)


def blocks(number=60, seed=0):
    """Make two groups whose members lie together, pairs within and pairs between them."""
    random = np.random.default_rng(seed)
    rows = np.repeat([[1.0, 0.2], [-1.0, 0.2]], number // 2, axis=0) + 0.1 * random.standard_normal((number, 2))
    words = [f"v{i}" for i in range(number)]
    same = [(a, b) for a in range(number) for b in range(a) if (a < number // 2) == (b < number // 2)]
    other = [(a, b) for a in range(number) for b in range(a) if (a < number // 2) != (b < number // 2)]
    named = [
        [(words[pairs[i][0]], words[pairs[i][1]]) for i in random.permutation(len(pairs))[:300]]
        for pairs in (same, other)
    ]
    return Vectors(words, rows.astype(np.float32)), *named


@pytest.mark.parametrize("operator", OPERATORS)
def test_figures_by_hand(operator):
    random = np.random.default_rng(3)
    words = [f"v{i}" for i in range(30)]
    rows = random.standard_normal((30, 4)).astype(np.float32)
    rows[7] = 0  # has no direction
    vectors = Vectors(words, rows)
    drawn = {
        frozenset(pair): pair for pair in random.integers(0, 30, (100, 2)).tolist()
    }  # a pair and its reverse are one
    pairs = [(words[a], words[b]) for a, b in drawn.values()]
    linked = sorted(pairs, key=lambda p: -float(vectors[p[0]] @ vectors[p[1]]) + 4 * random.random())
    positives, negatives = linked[:41], linked[41:]
    scored = naive_scores(vectors, positives, negatives, operator, 5)
    wins = [(a > b) + (a == b) / 2 for a, truth in scored for b, other in scored if truth and not other]
    precisions = [np.mean([other for b, other in scored if b >= a]) for a, truth in scored if truth]
    again = [(b, a) for a, b in positives[:9]]
    result = evaluate_links(vectors, positives + again, negatives, operator, seed=5)
    assert result.auc == pytest.approx(np.mean(wins), abs=1e-3)
    assert result.average_precision == pytest.approx(np.mean(precisions), abs=1e-2)
    assert result.tested == len(scored)
    assert result.trained == (0 if operator in {"dot", "cosine"} else len(pairs) - len(scored))
    assert result.as_dict()["operator"] == operator


def naive_scores(vectors, positives, negatives, operator, seed):
    """Score pairs one at a time."""
    from scipy.optimize import minimize

    alone = {
        "dot": lambda a, b: float(a @ b),
        "cosine": lambda a, b: float(a @ b) / (float(np.linalg.norm(a) * np.linalg.norm(b)) or 1),
    }
    both = {
        "hadamard": lambda a, b: a * b,
        "average": lambda a, b: (a + b) / 2,
        "l1": lambda a, b: abs(a - b),
        "l2": lambda a, b: (a - b) ** 2,
    }
    kinds = [(positives, True), (negatives, False)]
    double = {word: vectors[word].astype(np.float64) for word in vectors.words}
    if operator in alone:
        return [(alone[operator](double[a], double[b]), truth) for pairs, truth in kinds for a, b in pairs]
    random = np.random.default_rng(seed)
    train, test = [], []
    for pairs, truth in kinds:
        examples = [(both[operator](double[a], double[b]), truth) for a, b in pairs]
        order = random.permutation(len(pairs))
        train += [examples[i] for i in order[: len(pairs) // 2]]
        test += [examples[i] for i in order[len(pairs) // 2 :]]
    x = np.array([row for row, _ in train])
    mean, std = x.mean(axis=0), x.std(axis=0)
    signs = np.array([1 if truth else -1 for _, truth in train])
    ones = np.column_stack([(x - mean) / std, np.ones(len(x))])
    best = minimize(lambda w: w[:-1] @ w[:-1] / 2 + np.logaddexp(0, -signs * (ones @ w)).sum(), np.zeros(5)).x
    return [(float((row - mean) / std @ best[:-1]), truth) for row, truth in test]


def test_files_and_graphs_are_as_good_as_pairs(tmp_path):
    vectors, positives, negatives = blocks()
    (tmp_path / "p").write_text("".join(f"{a}\t{b}\t0.5\n" for a, b in positives))
    (tmp_path / "n").write_text("# none\n" + "".join(f"{a} {b}\n" for a, b in negatives))
    expected = evaluate_links(vectors, positives, negatives, "dot")
    assert evaluate_links(vectors, tmp_path / "p", str(tmp_path / "n"), "dot") == expected
    both_ways = read_graph(tmp_path / "p", weighted=False)  # undirected: each edge in two rows
    assert evaluate_links(vectors, both_ways, negatives, "dot") == expected


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"operator": "concat"}, "'concat' is unknown; known are hadamard, average, l1, l2, dot, cosine"),
        (
            {"negatives": [("v1", f"x{i}") for i in range(5)]},
            r"negatives: 5 of 6 vertices have no vector: 'x0', 'x1', 'x2', \.\.\.",
        ),
        ({"positives": []}, "positives: there are no pairs"),
        ({"negatives": [("v1", "v2")]}, "two or more of each kind"),
        ({"negatives": [(["v1"], "v2")]}, "negatives, pair 0: a vertex is a list"),
        ({"negatives": [("v1", None)]}, "negatives, pair 0: a vertex is missing"),
        ({"negatives": 5}, "negatives: a file, a Graph or pairs of names are expected, not"),
        ({"negatives": [("v1", "v2", "v3")]}, "negatives: a file, a Graph or pairs"),
        ({"negatives": ["v1"]}, "negatives: a file, a Graph or pairs"),
        ({"seed": -1}, "`seed` is -1; it must"),
        ({"vectors": "v.bin"}, "Vectors are expected, not str"),
        ({"positives": "damaged"}, "line 2"),
        ({"vectors": Vectors([f"v{i}" for i in range(60)], np.full((60, 2), np.nan))}, "'v0' holds nan"),
    ],
)
def test_wrong_links(how, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "damaged").write_text("v1 v2\nv3\n")
    vectors, positives, negatives = blocks()
    given = {"vectors": vectors, "positives": positives, "negatives": negatives, **how}
    with pytest.raises(Any2VecError, match=message):
        evaluate_links(**given)


def test_without_the_extra(monkeypatch):
    vectors, positives, negatives = blocks()
    monkeypatch.setitem(sys.modules, "sklearn.metrics", None)
    with pytest.raises(Any2VecError, match="needs scikit-learn, which is not installed"):
        evaluate_links(vectors, positives, negatives)
    monkeypatch.setitem(sys.modules, "scipy", None)
    with pytest.raises(Any2VecError, match="needs scipy, which is not installed"):
        split_links(graph_of(4, [(0, 1), (1, 2), (0, 2)]))


def test_commands(run, tmp_path):
    club = karate_club().edges
    lines = run("split", club, "-o", tmp_path / "links", "--share", 0.4)
    assert [line[-1] for line in lines] == ["47", "31", "%", "31"]
    assert "fewer than 60.00 %: the other edges keep" in " ".join(
        run("split", club, "-o", tmp_path / "most", "--share", 0.6)[-1]
    )
    split = split_links(read_graph(club), 0.4)
    train = read_graph(tmp_path / "links" / "train.edges")
    assert (len(train), train.edges) == (34, 47)
    for name, pairs in [("hidden", split.positives), ("absent", split.negatives)]:
        text = (tmp_path / "links" / f"{name}.edges").read_text()
        assert [tuple(line.split("\t")) for line in text.splitlines()] == pairs
    random = np.random.default_rng(0)
    vectors = Vectors(list(train.names), random.standard_normal((34, 4)).astype(np.float32))
    save(vectors, tmp_path / "v")
    files = [tmp_path / "links" / "hidden.edges", tmp_path / "links" / "absent.edges"]
    lines = run("links", tmp_path / "v", *files, "--operator", "all", "--json", tmp_path / "out.json")
    assert lines[0] == ["operator", "AUC", "average", "precision", "tested", "pairs"]
    assert [line[0] for line in lines[1:]] == list(OPERATORS)
    figures = json.loads((tmp_path / "out.json").read_text())
    assert f"{figures['l2']['auc']:.4f}" == lines[4][1]
    assert run("links", tmp_path / "v", *files)[1] == lines[1]
    with pytest.raises(Any2VecError, match=r"--operator is 'mean'; known are .*, all$"):
        run("links", tmp_path / "v", *files, "--operator", "mean")
    with pytest.raises(Any2VecError, match=r"hidden.edges: is the file of the POSITIVES"):
        run("links", tmp_path / "v", files[0], files[0])
    for source in files:
        before = source.read_bytes()
        with pytest.raises(Any2VecError, match="is, or lies in, what is read"):
            run("links", tmp_path / "v", *files, "--json", source)
        assert source.read_bytes() == before


def test_a_split_does_not_take_the_place_of_other_files(run, tmp_path):
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "thesis.tex").write_text("work")
    (folder / "club.edges").write_bytes(karate_club().edges.read_bytes())
    for graph in (karate_club().edges, folder / "club.edges"):
        with pytest.raises(Any2VecError, match=f"{folder}: (the folder holds other files, such|is, or lies in)"):
            run("split", graph, "-o", folder)
    assert {path.name for path in folder.iterdir()} == {"thesis.tex", "club.edges"}
    run("split", karate_club().edges, "-o", tmp_path / "parts")
    run("split", karate_club().edges, "-o", tmp_path / "parts", "--seed", 2)
    assert {path.name for path in (tmp_path / "parts").iterdir()} == set(linksplit.PARTS)


def test_weights_and_directions_are_kept(run, tmp_path):
    edges = [(0, 1, 0.1), (1, 0, 2.0), (1, 2, 1e-9), (2, 0, 3.5), (2, 2, 7.0), (0, 3, 1.0), (3, 4, 1.0)]
    (tmp_path / "g").write_text("".join(f"v{a}\tv{b}\t{w}\n" for a, b, w in edges))
    run("split", tmp_path / "g", "-o", tmp_path / "out", "--directed", "--share", 0.2)
    whole = read_graph(tmp_path / "g", directed=True)
    train = read_graph(tmp_path / "out" / "train.edges", directed=True)
    named = {(train.names[a], train.names[b]): weight for a, b, weight in split_inputs(train)}
    assert len(named) == 5  # both directions of an edge are hidden
    assert named.items() <= {(whole.names[a], whole.names[b]): weight for a, b, weight in split_inputs(whole)}.items()


def test_directions_do_not_give_hidden_edges_away(run, tmp_path):
    """On random edges, of which half have their reverse, nothing can be predicted."""
    rng = np.random.default_rng(3)
    ends = rng.integers(0, 400, (2400, 2))
    ends = np.concatenate([ends, ends[::2, ::-1]])
    np.savetxt(tmp_path / "g", ends[rng.permutation(len(ends))], "v%d")
    run("split", tmp_path / "g", "-o", tmp_path / "out", "--directed", "--share", 0.3)
    model = DeepWalk(dim=16, window=3, negative=3, walks=5, length=10, threads=1, seed=2, verbose=False)
    vectors = model.fit(tmp_path / "out" / "train.edges").vectors_
    hidden, absent = (tmp_path / "out" / f"{name}.edges" for name in ("hidden", "absent"))
    for result in compare_operators(vectors, hidden, absent):
        assert abs(result.auc - 0.5) < 0.08, result
        assert abs(result.average_precision - 0.5) < 0.08, result


@pytest.mark.parametrize("name", ["New York", "a,b", "#1", "%"])
def test_names_that_text_cannot_hold(name, tmp_path):
    graph = graph_of(4, [(0, 1), (1, 2), (0, 2), (2, 3)])
    graph.names[1] = name
    split = split_links(graph, 0.2)
    with pytest.raises(Any2VecError, match=f"the vertex '{name}' holds"):
        split.save(tmp_path / "out")
    assert not (tmp_path / "out").exists()
