import io
import math
import time
from functools import partial
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from marks import slow, slow_but
from naive_walks import NaiveWalker
from scipy.sparse import coo_array
from scipy.stats import chisquare

from any2vec import DeepWalk
from any2vec.errors import Any2VecError
from any2vec.graph.graph import Graph
from any2vec.walks.second_order import second_order
from any2vec.walks.tables import starts_of
from any2vec.walks.walker import Walker, first_order
from any2vec.walks.worklist import count, generate, walk_blocks, write_text

BIASES = [(1.0, 1.0), (0.25, 4.0), (4.0, 0.25), (0.25, 0.25), (4.0, 4.0), (0.5, 1.0), (2.0, 1.0)]


def graph_of(vertices, edges, *, weights=None, directed=False):
    """Graph of pairs, each once, with both directions unless it is directed."""
    a, b = np.array(edges, np.int64).reshape(-1, 2).T
    w = np.ones(len(a)) if weights is None else np.array(weights, np.float64)
    if not directed:
        other = a != b
        a, b, w = np.r_[a, b[other]], np.r_[b, a[other]], np.r_[w, w[other]]
    matrix = coo_array((w, (a, b)), (vertices, vertices)).tocsr()
    matrix.sort_indices()
    names = [f"v{i}" for i in range(vertices)]
    kept = None if weights is None else matrix.data.astype(np.float32)
    return Graph(matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32), kept, names, directed)


def random_graph(vertices=60, edges=400, *, weighted=False, directed=False, seed=1):
    """Graph with hubs, self loops and (directed) vertices that nothing leaves."""
    rng = np.random.default_rng(seed)
    ends = np.sort((vertices * rng.random((edges, 2)) ** 2).astype(int), axis=1)
    if directed:
        ends = rng.permuted(ends, axis=1)
        ends = ends[ends[:, 0] < vertices - 3]
    ends = np.unique(ends, axis=0)
    weights = rng.exponential(size=len(ends)) + 0.01 if weighted else None
    return graph_of(vertices, ends, weights=weights, directed=directed)


def walks_of(walker, pass_=0, first=0, last=None):
    last = len(walker.graph) if last is None else last
    out, lengths = np.full((last - first, walker.length), -9, np.int32), np.empty(last - first, np.int32)
    walker.walk(pass_, first, last, out, lengths)
    return [row[:n].tolist() for row, n in zip(out, lengths, strict=True)]


KINDS = [(weighted, directed) for weighted in (False, True) for directed in (False, True)]
CASES = [(*kind, *bias) for kind in KINDS for bias in BIASES]
QUICK = [(False, False, 1.0, 1.0), (True, True, 1.0, 1.0), (False, False, 0.25, 4.0), (True, True, 4.0, 0.25)]
all_cases = pytest.mark.parametrize(("weighted", "directed", "p", "q"), slow_but(QUICK, CASES, unpacked=True))


@all_cases
@pytest.mark.parametrize("restart", [slow(0.0), 0.2])
def test_naive_walks(weighted, directed, p, q, restart):
    graph = random_graph(130, 700, weighted=weighted, directed=directed)
    for settings_ in ({"length": 17, "seed": 5}, {"length": 2, "seed": -1}, {"length": 1}):
        walker = Walker(graph, p=p, q=q, restart=restart, **settings_)
        naive = NaiveWalker(graph, p=p, q=q, restart=restart, **settings_)
        for pass_ in (0, 3):
            assert walks_of(walker, pass_) == list(naive.walks(pass_))


@pytest.fixture
def soon_exact(monkeypatch):
    """Let steps be drawn exactly after two refusals."""
    monkeypatch.setattr("any2vec.walks.walker.second_order", partial(second_order, bound=2))


@pytest.mark.parametrize("directed", [slow(False), True])
@pytest.mark.parametrize(("p", "q"), slow_but([(4.0, 0.25)], BIASES[1:5], unpacked=True))
def test_naive_walks_of_node2vec_plus(directed, p, q, soon_exact):
    graph = random_graph(130, 700, weighted=True, directed=directed)
    how = {"length": 17, "p": p, "q": q, "restart": 0.1, "extend": True, "gamma": 0.5, "seed": 3}
    naive = NaiveWalker(graph, **how, bound=2)
    assert walks_of(Walker(graph, **how)) == list(naive.walks(0))
    assert naive.exact_draws


@pytest.mark.parametrize(("weighted", "directed"), slow_but(KINDS[-1:], KINDS, unpacked=True))
def test_naive_walks_that_start_by_degree(weighted, directed):
    graph = random_graph(130, 700, weighted=weighted, directed=directed)
    how = {"length": 9, "q": 2.0, "restart": 0.2, "starts": "degree", "seed": 3}
    walker = Walker(graph, **how)
    for pass_ in (0, 2):
        assert walks_of(walker, pass_) == list(NaiveWalker(graph, **how).walks(pass_))
    assert walks_of(walker, 2, 7, 51) == walks_of(walker, 2)[7:51]


@pytest.mark.parametrize("weighted", [slow(False), True])
def test_starts_are_in_proportion_to_weights(weighted):
    graph = random_graph(40, 60, weighted=weighted)  # with isolated vertices
    walker = Walker(graph, length=3, starts="degree")
    ids, bounds, _ = generate(walker, 500)
    assert (np.diff(bounds) == 3).all()
    seen = np.bincount(ids[bounds[:-1]], minlength=40)
    rows = np.repeat(np.arange(40), np.diff(graph.indptr))
    strength = np.bincount(rows, None if graph.weights is None else graph.weights, 40)
    assert not strength.all()
    assert not seen[strength == 0].any()
    assert chisquare(seen[strength > 0], strength[strength > 0] / strength.sum() * seen.sum()).pvalue > 0.01


EXTREME = [(1000.0, 0.001), (0.001, 1000.0), (1000.0, 1000.0), (0.001, 0.001), (4.0, 0.25), (0.25, 4.0)]


@pytest.mark.parametrize(("weighted", "directed"), slow_but(KINDS[:1], KINDS, unpacked=True))
def test_many_refusals_end_in_an_exact_draw(weighted, directed, soon_exact):
    graph = random_graph(40, 110, weighted=weighted, directed=directed, seed=2)
    drawn = 0
    for p, q in EXTREME:
        options = {"length": 9, "p": p, "q": q, "restart": 0.1}
        naive = NaiveWalker(graph, **options, bound=2)
        assert walks_of(Walker(graph, **options)) == list(naive.walks(0))
        drawn += naive.exact_draws
    assert drawn > 30


@pytest.mark.parametrize("kernel", [first_order(1, 1), second_order(1, 1)])
def test_kernels_are_found_again_by_the_next_process(kernel):
    """A compiled function in a closure is part of the key of Numba's cache, and another one in each process."""
    assert not [cell for cell in kernel.py_func.__closure__ if hasattr(cell.cell_contents, "py_func")]


@pytest.mark.slow
def test_walks_on_a_star_end():
    star = graph_of(3001, [(0, leaf) for leaf in range(1, 3001)])
    for p, q in EXTREME[:4]:
        walker = Walker(star, length=40, p=p, q=q)
        walks_of(walker, last=1)  # compiles
        began = time.process_time()
        walks = walks_of(walker, last=64)
        assert time.process_time() - began < 5  # tries alone: a million at each leaf, 20 s
        assert all((walk[0] == 0) != (walk[1] == 0) for walk in walks)


def exact(graph, p, q, w, c, gamma=None):
    """Probability of each vertex after w, c; w = None: of the first step. With gamma as PecanPy has it."""
    dense = np.zeros((len(graph), len(graph)))
    rows = np.repeat(np.arange(len(graph)), np.diff(graph.indptr))
    np.add.at(dense, (rows, graph.indices), 1.0 if graph.weights is None else graph.weights)
    chance = dense[c].copy()
    if w is not None:
        if gamma is None:
            chance *= np.where(dense[w] > 0, 1.0, 1 / q)
        else:
            rows = [row[row > 0] for row in dense]
            noise = np.array([max(0, row.mean() + gamma * row.std()) if len(row) else np.inf for row in rows])
            out = dense[w] < noise
            factor = 1 / q + (1 - 1 / q) * dense[w] / noise
            chance[out] *= np.where(dense[c] < noise[c], min(1, 1 / q), factor)[out]
        chance[w] = dense[c, w] / p
    return chance / chance.sum()


def transitions(walker, passes):
    ids, bounds, _ = generate(walker, passes)
    seen = {}
    for low, high in pairwise(bounds.tolist()):
        walk = ids[low:high].tolist()
        for before, c, x in zip([None, *walk[:-2]], walk[:-1], walk[1:], strict=True):
            seen.setdefault((before, c), []).append(x)
    return seen


def check_steps(graph, walker, passes, p, q, gamma=None):
    """Compare the steps from each pair of vertices with their exact probabilities."""
    found = p_values(graph, walker, passes, p, q, gamma)
    assert len(found) > 15
    assert found.min() > 0.01 / len(found)
    assert 0.3 < found.mean() < 0.7


def p_values(graph, walker, passes, p, q, gamma=None):
    found = []
    for (w, c), steps in transitions(walker, passes).items():
        chance = exact(graph, p, q, w, c, gamma)
        seen = np.bincount(steps, minlength=len(graph))
        assert not seen[chance == 0].any()
        keep = chance * len(steps) >= 5
        if not keep.any():
            continue
        rest = ~keep & (chance > 0)
        observed, expected = seen[keep], chance[keep] * len(steps)
        if rest.any():
            observed, expected = np.r_[observed, seen[rest].sum()], np.r_[expected, chance[rest].sum() * len(steps)]
        if len(observed) > 1:
            found.append(chisquare(observed, expected).pvalue)
    return np.array(found)


LOOPS = [(0, 1), (0, 2), (1, 2), (2, 3), (3, 4), (4, 0), (2, 2), (1, 4), (5, 2), (5, 3), (6, 5), (0, 6), (6, 6)]
RETURNS = [(b, a) for a, b in LOOPS[::2] if a != b]


@all_cases
def test_steps_have_the_exact_probabilities(weighted, directed, p, q):
    edges = LOOPS + (RETURNS if directed else [])
    weights = [0.1 + (i * 7 % 5) for i in range(len(edges))] if weighted else None
    graph = graph_of(7, edges, weights=weights, directed=directed)
    check_steps(graph, Walker(graph, p=p, q=q, length=50, seed=11), 400, p, q)


@pytest.mark.parametrize("directed", [slow(False), True])
@pytest.mark.parametrize(("p", "q"), slow_but([(4.0, 0.25)], BIASES[1:5], unpacked=True))
@pytest.mark.parametrize("gamma", [slow(0.0), 0.5])
def test_steps_of_node2vec_plus_have_the_exact_probabilities(directed, p, q, gamma, soon_exact):
    edges = [(a, b) for a in range(7) for b in range(a, 7) if (3 * a + b) % 5] + ([(5, 1), (6, 2)] if directed else [])
    weights = np.random.default_rng(1).exponential(size=len(edges))
    graph = graph_of(7, edges, weights=weights, directed=directed)
    check_steps(graph, Walker(graph, p=p, q=q, length=50, extend=True, gamma=gamma), 400, p, q, gamma)
    assert p_values(graph, Walker(graph, p=p, q=q, length=50), 400, p, q, gamma).min() < 1e-9


@pytest.mark.slow
@pytest.mark.parametrize(("weighted", "directed"), KINDS)
@pytest.mark.parametrize(("p", "q"), [(4.0, 0.25), (8.0, 8.0), (5.0, 1.0)])
def test_bounded_steps_have_the_exact_probabilities(weighted, directed, p, q, soon_exact):
    test_steps_have_the_exact_probabilities(weighted, directed, p, q)


@pytest.mark.parametrize("q", [slow(0.25), 4.0])
def test_edges_that_are_there_twice_weigh_twice(q):
    twice = Graph(
        np.array([0, 4, 8, 11, 13]), np.array([1, 1, 2, 3, 0, 0, 2, 2, 0, 1, 1, 0, 2], np.int32), None, "abcd", True
    )
    found = p_values(twice, Walker(twice, p=0.5, q=q, length=50), 300, 0.5, q)
    assert found.min() > 0.01 / len(found)


@pytest.mark.slow
def test_large_tables_with_full_buckets():
    rng = np.random.default_rng(3)
    hub = np.stack([np.zeros(5000, int), np.arange(1, 5001)], 1)
    graph = graph_of(6000, np.unique(np.r_[hub, np.sort(rng.integers(1, 6000, (20000, 2)), axis=1)], axis=0))
    for p, q in BIASES[1:3]:
        walker, naive = Walker(graph, p=p, q=q, length=10), NaiveWalker(graph, p=p, q=q, length=10)
        assert walks_of(walker) == list(naive.walks(0))


@given(vertices=st.integers(1, 400), seed=st.integers(), pass_=st.integers(0, 10))
@settings(deadline=None, max_examples=50)
def test_a_pass_starts_once_at_every_vertex(vertices, seed, pass_):
    walker = Walker(graph_of(vertices, []), length=3, seed=seed)
    walks = walks_of(walker, pass_)
    assert sorted(walks) == [[v] for v in range(vertices)]
    assert walks == list(NaiveWalker(walker.graph, length=3, seed=seed).walks(pass_))


def test_orders_are_random():
    walker = Walker(graph_of(20, []), length=1)
    places = np.zeros((20, 20))
    after = np.zeros((20, 20))
    for pass_ in range(4000):
        starts = [v for (v,) in walks_of(walker, pass_)]
        places[np.arange(20), starts] += 1
        np.add.at(after, (starts[:-1], starts[1:]), 1)
    assert chisquare(places.ravel()).pvalue > 0.001
    assert chisquare(after[~np.eye(20, dtype=bool)]).pvalue > 0.001
    keys = [starts_of(seed, range(2), 1, np.zeros(0, np.uint64)).keys.tolist() for seed in (1, 2)]
    assert keys[0][0] != keys[0][1] != keys[1][1]


@pytest.mark.parametrize(("weighted", "directed"), slow_but(KINDS[:1], KINDS, unpacked=True))
def test_worklists(weighted, directed, monkeypatch):
    monkeypatch.setattr("any2vec.walks.worklist._BLOCK", 13)
    monkeypatch.setattr("any2vec.walks.worklist._SPACING", 40)
    graph = random_graph(70, 200, weighted=weighted, directed=directed)
    walker = Walker(graph, length=8, p=0.5, q=2.0, restart=0.1)
    ids, bounds, visits = generate(walker, 3, threads=2)
    expected = [walk for pass_ in range(3) for walk in walks_of(walker, pass_)]
    assert [ids[a:b].tolist() for a, b in pairwise(bounds.tolist())] == expected
    assert {len(walk) for walk in expected} >= ({1, 8} if weighted else {8})
    assert (ids.dtype, bounds.dtype, visits.dtype) == (np.int32, np.int64, np.int64)
    assert visits.tolist() == np.bincount(ids, minlength=70).tolist()
    for one, other in zip(generate(walker, 3, threads=3), (ids, bounds, visits), strict=True):
        assert np.array_equal(one, other)
    assert walks_of(walker, 2, 5, 5) == []
    for first, last in ((0, 210), (33, 171), (5, 5)):
        some = generate(walker, 3, first=first, last=last)
        assert (some.bounds + bounds[first]).tolist() == bounds[first : last + 1].tolist()
        positions, counted = count(walker, 3, threads=2, first=first, last=last)
        low, high = bounds[[first, last]]
        assert positions.tolist() == [*(bounds[first:last:5] - low), high - low]
        assert counted.tolist() == np.bincount(ids[low:high], minlength=70).tolist()
    parts = [generate(walker, 3, first=a, last=b) for a, b in pairwise((0, 42, 43, 210))]  # of hosts
    assert np.array_equal(np.concatenate([part.ids for part in parts]), ids)
    assert np.array_equal(sum(part.visits for part in parts), visits)


def test_text(monkeypatch):
    monkeypatch.setattr("any2vec.walks.worklist._BLOCK", 9)
    graph = random_graph(directed=True)
    names = [f"vertex-{'é' * (i % 4)}{i}" for i in range(len(graph))]
    walker = Walker(Graph(graph.indptr, graph.indices, None, names, True), length=7, p=2.0)
    expected = [[names[v] for v in walk] for pass_ in range(2) for walk in walks_of(walker, pass_)]
    for threads in (1, 3):
        file = io.BytesIO()
        write_text(walker, 2, file, threads=threads)
        assert file.getvalue().decode() == "".join(" ".join(walk) + "\n" for walk in expected)


@pytest.mark.parametrize("name", ["a b", "", "a\n"])
def test_names_with_blanks_have_no_text(name):
    graph = Graph(np.array([0, 1, 2]), np.array([1, 0], np.int32), None, ["a", name])
    with pytest.raises(Any2VecError, match="is empty or has whitespace"):
        write_text(Walker(graph), 1, io.BytesIO())


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        *(
            ({name: value}, f"`{name}` is .*; it must be a number above 0")
            for name in "pq"
            for value in (0, -1, math.nan, math.inf)
        ),
        *(({name: value}, f"`{name}` is .*from 0.001 to 1000") for name in "pq" for value in (1e-5, 1e6)),
        *(({"length": value}, "walks must have from 1 to 1,000,000 vertices") for value in (0, -3, 2.5, "x", 10**12)),
        ({"extend": True, "gamma": math.inf}, "`gamma` is inf; it must be a finite number"),
        ({"gamma": 0.5}, "only node2vec. has it: give `extend`"),
        ({"starts": "all"}, "`starts` is 'all'; known are every, degree"),
        *(({"restart": value}, "`restart` is .*from 0 to below 1") for value in (-0.1, 1, 2, math.nan)),
    ],
)
def test_arguments_that_make_no_sense(wrong, message):
    with pytest.raises(Any2VecError, match=message) as error:
        Walker(random_graph(), **wrong)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("weight", [0, -1, math.nan, math.inf])
def test_weights_that_make_no_sense(weight):
    graph = Graph(np.array([0, 1, 2]), np.array([1, 0], np.int32), np.array([1, weight], np.float32), "ab")
    with pytest.raises(Any2VecError, match="positive"):
        Walker(graph)


def test_parallel_edges_that_add_up_to_too_much():
    graph = Graph(np.array([0, 2, 4]), np.array([1, 1, 0, 0], np.int32), np.full(4, 3e38, np.float32), "ab")
    Walker(graph)
    with pytest.raises(Any2VecError, match="an edge listed more than once add up"):
        Walker(graph, p=0.5)


def test_long_walks_are_done_in_smaller_blocks(monkeypatch):
    whole = generate(Walker(random_graph(), length=50), 2)
    monkeypatch.setattr("any2vec.walks.worklist._ENTRIES", 300)
    parts = generate(Walker(random_graph(), length=50), 2)
    assert all((one == other).all() for one, other in zip(whole, parts, strict=True))
    assert max(b.last - b.first for b in walk_blocks(Walker(random_graph(), length=50), 2)) == 6


def test_graphs_of_self_loops_are_not_walked():
    walker = Walker(graph_of(2, [(0, 0), (1, 1)]))
    for use in (generate, walk_blocks, lambda walker, walks: write_text(walker, walks, io.BytesIO())):
        with pytest.raises(Any2VecError, match="no edge between two vertices"):
            use(walker, 1)
    with pytest.raises(Any2VecError, match="no edge between two vertices"):
        DeepWalk(walks=1).fit([("a", "a")])
