import re
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from marks import slow, slow_but
from naive_walks import alias, draw, half_draw, mix, order, pass_key
from numba import njit
from scipy.stats import chisquare
from test_walks import KINDS, graph_of, random_graph, walks_of
from typer.testing import CliRunner

from any2vec import DeepWalk, Node2Vec
from any2vec.cli import app
from any2vec.errors import Any2VecError
from any2vec.graph import Kinds, read_graph
from any2vec.graph.readers import GraphWarning
from any2vec.operators.cbow import CBOW
from any2vec.operators.skipgram import SkipGram
from any2vec.operators.targets import BY_KIND
from any2vec.samples.targets import probabilities
from any2vec.samples.windows import Window
from any2vec.training.options import Options
from any2vec.walks.corpus import walk_corpus
from any2vec.walks.walker import Walker
from any2vec.walks.worklist import generate

PATHS = ("a-b-c-b-a", "b-b", "c-a-c")
SIZES = {"dim": 16, "window": 3, "negative": 3, "epochs": 1, "threads": 1}


def typed_graph(**how):
    """Graph of three kinds; in any direction between any two there are edges, but not at all vertices."""
    graph = random_graph(120, 500, **how)
    return replace(graph, kinds=Kinds(("a", "b", "c"), np.arange(len(graph)) * 7 % 11 % 3))


def naive_walks(graph, paths, pass_, *, length, seed, restart=0.0):
    """Walks one step after the other, from the draws of the kernel."""
    cycles = [[graph.kinds.names.index(kind) for kind in path.split("-")][:-1] for path in paths]
    starts = [(v, cycle) for cycle in cycles for v in range(len(graph)) if graph.kinds.of[v] == cycle[0]]
    key = pass_key(seed, pass_)
    for place in order(len(starts), draw(key, len(starts))):
        own = draw(key, place)
        start, cycle = starts[place]
        walk, at = [start], 0
        while len(walk) < length:
            at, k = (at + 1) % len(cycle), len(walk) - 1
            entries = range(graph.indptr[walk[-1]], graph.indptr[walk[-1] + 1])
            entries = [i for i in entries if graph.kinds.of[graph.indices[i]] == cycle[at]]
            if not entries:
                break
            if graph.weights is None:
                column = half_draw(own, k) * len(entries) >> 32
            else:
                bits, n = draw(own, k), len(entries)
                where = (bits >> 32) * n + ((bits & 0xFFFFFFFF) * n >> 32)
                other, share = alias(graph.weights[entries].tolist())[where >> 32]
                column = other if where & 0xFFFFFFFF >= share else where >> 32
            x = int(graph.indices[entries[column]])
            if restart and half_draw(mix(own), k) < round(restart * 2**32):
                x, at = start, 0
            walk.append(x)
        yield walk


@pytest.mark.parametrize(("weighted", "directed"), slow_but([KINDS[0], KINDS[-1]], KINDS, unpacked=True))
@pytest.mark.parametrize("restart", [slow(0.0), 0.2])
def test_naive_walks_along_metapaths(weighted, directed, restart):
    graph = typed_graph(weighted=weighted, directed=directed)
    for paths in (PATHS, PATHS[:1]):
        how = {"length": 13, "seed": 5, "restart": restart}
        walker = Walker(graph, metapaths=paths, **how)
        expected = [list(naive_walks(graph, paths, pass_, **how)) for pass_ in (0, 3)]
        assert [walks_of(walker, pass_, last=walker.per_pass) for pass_ in (0, 3)] == expected
        assert len({len(walk) for walk in expected[0]}) > 2  # some end early
        ids, bounds, _ = generate(walker, 2, first=7, last=walker.per_pass + 9)  # as a host does
        parts = [ids[low:high].tolist() for low, high in pairwise(bounds.tolist())]
        assert parts == [*expected[0][7:], *walks_of(walker, 1, last=9)]


def test_kinds_whose_names_have_the_sign():
    graph = graph_of(3, [(0, 1), (1, 2)])
    graph = replace(graph, kinds=Kinds(("co-author", "paper", "co"), [0, 1, 2]))
    assert Walker(graph, metapaths=["co-author-paper-co-author"]).paths == [(0, 1, 0)]
    assert Walker(graph, metapaths=[("co", "paper", "co")]).paths == [(2, 1, 2)]


def test_vertices_on_no_walk_have_no_vector():
    edges = [("a1", "p1"), ("a2", "p1"), ("p1", "v1"), ("p2", "v1")]
    graph = read_graph(edges, kinds={"a1": "a", "a2": "a", "p1": "p", "p2": "p", "v1": "v"})
    model = DeepWalk(metapath="a-p-a", walks=2, length=5, **SIZES).fit(graph)
    assert set(model.vectors_.words) == {"a1", "a2", "p1"}
    assert (model.vectors_.words[0], model.vectors_.counts[0]) == ("p1", 2 * 2 * 2)
    model.set_params(metapath=[("v", "p", "v")])
    assert set(model.fit(graph, warm_start=True).vectors_.words) == set(graph.names)


def corpus_of(graph, **how):
    return walk_corpus(Walker(graph, length=20, metapaths=PATHS, **how), 3)


@njit
def drawn(edges, words, tables, key, centres):
    """List the targets of windows of three words, whose centres are all words in turn."""
    found, skipped = np.empty((centres, 4), np.int64), np.empty(centres, np.int64)
    sources, labels = np.empty(2, np.int64), np.empty(4, np.int8)
    for i in range(centres):
        centre = 1 + i % (words.size - 2)
        window = Window(words, centre, centre - 1, centre + 2, key + np.uint64(i), 0, 0, 0, 0, words)
        _, skipped[i] = edges(window, i & 1, tables, (3, 4, 0), sources, found[i], labels)
    return found, skipped


@pytest.mark.parametrize("per", ["window", slow("pair")])
def test_negatives_have_the_kind_of_the_target(per):
    corpus = corpus_of(typed_graph())
    how = {"sample": 0.0, "negatives_by_kind": True, "negatives_per": per}
    operator = BY_KIND[SkipGram](Options(**SIZES, **how)).on(corpus)
    counts = corpus.vocabulary.counts
    tables = operator.tables(counts)
    targets, skipped = drawn(operator.edges, np.arange(len(counts)), tables, np.uint64(5), 30_000)
    np.testing.assert_array_equal(skipped, (targets[:, 1:] == targets[:, :1]).sum(axis=1))
    kinds = corpus.kinds[targets]
    assert (kinds == kinds[:, :1]).all()
    names = dict(zip(typed_graph().names, typed_graph().kinds, strict=True))
    assert [names[word] for word in corpus.vocabulary.words] == ["abc"[kind] for kind in corpus.kinds]
    expected = np.zeros(len(counts))
    for kind in range(3):
        of_kind = np.flatnonzero(corpus.kinds == kind)
        seen = np.bincount(targets[kinds[:, 0] == kind, 1:].ravel(), minlength=len(counts))[of_kind]
        assert chisquare(seen, probabilities(counts[of_kind]) * seen.sum()).pvalue > 1e-3
        expected[of_kind] = counts[of_kind].sum() * probabilities(counts[of_kind]) * 3
    contexts = {"window": 1.0, "pair": 2.0}[per]
    np.testing.assert_allclose(operator.updates(counts, 2.0)[1], (counts + expected) * contexts)


@pytest.mark.slow
def test_schemes_give_the_same_bits_by_kind():
    graph = typed_graph()

    def matrix(scheme):
        how = {"negatives_by_kind": True, "walks": 2, "length": 10, "rounds": 2, "hosts": 2}
        return DeepWalk(metapath=list(PATHS), scheme=scheme, **how, **SIZES).fit(graph).vectors_.matrix.tobytes()

    assert matrix("rep-opt") == matrix("pull-opt")


def test_options_that_metapaths_refuse():
    assert type(BY_KIND[CBOW](Options(**SIZES, model="cbow", negatives_by_kind=True))).__name__ == "KindCBOW"
    for how in ({"loss": "hierarchical"}, {"subwords": "3-6"}, {"scheme": "server"}):
        with pytest.raises(Any2VecError, match=r"`negatives_by_kind` is True; that is for|which draws negatives from"):
            DeepWalk(negatives_by_kind=True, **how).check()


MISTAKES = {
    "n1 a\nn2 b\n": r"kinds.txt: 1 of 3 vertices have no kind: 'n3'; give each",
    "n1 a\nn2 b\nn3 b\nn1 b\n": r"kinds.txt, line 4: 'n1' is 'b', but in line 1 it is 'a'; give it one kind",
    "n1 a\nn2\nn3 b\n": r"kinds.txt, line 2: 'n2' has no kind; expected lines of a vertex and its kind",
    "n1 a\nn2 b c\nn3 b\n": r"kinds.txt, line 2: 'n2' has 2 kinds",
    "": r"kinds.txt: has no kinds; expected",
    "# none\n": r"kinds.txt: has no kinds; .*expected",
    '{"n1": "a"}': r"kinds.txt: this is JSON; expected",
    f"n1 a\n{'x' * 5000}\n": r"kinds.txt, line 2: 'x+\.\.\.x+' has no kind",
    f"n1 a\nn2 b\nn1 {'x' * 5000}\n": r"kinds.txt, line 3: 'n1' is 'x+\.\.\.x+', but in line 1 it is 'a'",
}


@pytest.mark.parametrize("text", MISTAKES)
def test_mistakes_in_a_file_of_kinds(tmp_path, text):
    path = tmp_path / "kinds.txt"
    path.write_text(text)
    with pytest.raises(Any2VecError, match=MISTAKES[text]) as caught:
        read_graph(PAIRS, kinds=path)
    assert len(str(caught.value)) < 1000


PAIRS = [("n1", "n2"), ("n2", "n3")]


def test_kinds_of_files_dicts_and_names(tmp_path):
    path = tmp_path / "kinds.csv"
    path.write_text("vertex,kind\nn1,a b\n\nn3,c\nn2,c\nn1,a b\n")
    with pytest.warns(GraphWarning, match=r"1 of 4 vertices are not in the graph, and are ignored: 'vertex' .line 1.$"):
        found = read_graph(PAIRS, kinds=path).kinds
    assert (found.names, found.of.tolist(), repr(found)) == (("a b", "c"), [0, 1, 1], "<Kinds: 2 c, 1 a b>")
    graph = read_graph([(1, 2)], vertices=[3], kinds={1: "a", "2": 7, 3.0: "a"})
    assert list(graph.kinds) == ["a", "7", "a"]
    assert list(read_graph([("a:1", "b:1:2")], kind_prefix=":").kinds) == ["a", "b"]


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"kinds": {"n1": "a"}}, "the dict of kinds: 2 of 3 vertices have no kind: 'n2', 'n3'"),
        ({"kinds": {"n1": "a", "n2": None, "n3": "a"}}, "the dict of kinds, vertex 'n2': a kind is missing"),
        ({"kinds": {"1": "a", 1: "b"}}, "the dict of kinds: '1' is of two kinds, 'a' and 'b'"),
        ({"kinds": 5}, "`kinds` is 5; give a file"),
        ({"kinds": {}, "kind_prefix": ":"}, "`kinds` and `kind_prefix` are given; give one"),
        ({"kind_prefix": ":"}, "the vertex 'n1' has no kind: `kind_prefix` is ':', and names must begin with the kind"),
        ({"kind_prefix": "n"}, "the vertex 'n1' has no kind"),
        ({"kind_prefix": ""}, "`kind_prefix` is empty"),
        ({"kind_prefix": 1}, "`kind_prefix` is 1: give a string"),
    ],
)
def test_mistakes_of_kinds(how, message):
    with pytest.raises(Any2VecError, match=message):
        read_graph(PAIRS, **how)


def test_too_many_kinds():
    with pytest.raises(Any2VecError, match=r"256 kinds, '0', '1', '2' and so on; there may be 255 at most"):
        Kinds.of_vertices(map(str, range(300)))
    graph = random_graph()
    with pytest.raises(Any2VecError, match=r"60 vertices and 2 kinds of vertices: give each its kind"):
        replace(graph, kinds=Kinds(("a",), [0, 0]))


@pytest.mark.parametrize(
    ("metapath", "message"),
    [
        ("a-p", "the metapath a-p does not end as it begins; .* must end with 'a', such as a-p-a$"),
        ("a-b-a", "the metapath a-b-a has 'b', which is no kind of a vertex; there are a, p, v$"),
        ("a-v-a", "no edge follows the metapath a-v-a from 'a' to 'v'; edges from 'a' lead to p$"),
        (["a-p-a", ("v", "v")], "no edge follows the metapath v-v from 'v' to 'v'; edges from 'v' lead to p$"),
        ("a", "`metapath` has 'a'; it needs two kinds or more, such as author-paper-author"),
        (["a", "p", "a"], "`metapath` has 'a'; it needs two kinds or more"),
        ("a--a", "`metapath` has 'a--a'; give kinds with - between them"),
        (7, "`metapath` is 7; give one, such as author-paper-author, or a list of them"),
        ([7], "`metapath` has 7; give kinds"),
    ],
)
def test_mistakes_of_metapaths(metapath, message):
    graph = read_graph([("a:1", "p:1"), ("p:1", "v:1")], kind_prefix=":")
    with pytest.raises(Any2VecError, match=message):
        DeepWalk(metapath=metapath).fit(graph)


def test_metapaths_need_kinds_and_have_no_bias():
    with pytest.raises(Any2VecError, match="`metapath` is 'a-b-a', but vertices have no kinds: read the graph with"):
        DeepWalk(metapath="a-b-a").fit(PAIRS)
    with pytest.raises(Any2VecError, match="`negatives_by_kind` is True, but vertices have no kinds"):
        DeepWalk(negatives_by_kind=True).fit(PAIRS)
    with pytest.raises(Any2VecError, match="`q` is 2, but walks along a `metapath` have no bias: leave out one"):
        Node2Vec(metapath="a-b-a", q=2).check()


def test_commands_have_kinds(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def run(*arguments):
        return CliRunner().invoke(app, list(map(str, arguments)))

    (tmp_path / "g.edges").write_text("a1 p1\na2 p1\na2 p2\n")
    (tmp_path / "g.kinds").write_text("a1 a\na2 a\np1 p\np2 p\n")
    kinds = "--kinds", "g.kinds", "--metapath"
    found = run("walks", "g.edges", "-o", "-", *kinds, "p-a-p", "--metapath", "a-p-a", "--length", 3, "--walks", 1)
    assert sorted(re.sub(r"\d", "", line) for line in found.stdout.splitlines()) == ["a p a"] * 2 + ["p a p"] * 2
    sizes = [part for name, value in SIZES.items() for part in (f"--{name}", value)]
    found = run("nodes", "g.edges", "-o", "v.txt", *sizes, *kinds, "a-p-a", "--negatives-by-kind", "--model", "cbow")
    assert found.exit_code == 0, found.output
    assert "kinds: 2 a, 2 p" in found.stderr
    assert run("nodes", "g.edges", "-o", "g.kinds", *kinds, "a-p-a").exit_code
    assert (tmp_path / "g.kinds").read_text().startswith("a1 a\n")


@pytest.mark.parametrize("kinds", ["node|kind\na x|person\nb y|big dog\n", "a x\tperson\nb y\tbig dog\n"])
def test_the_delimiter_and_header_of_a_graph_are_those_of_its_kinds(tmp_path, kinds):
    (tmp_path / "g").write_text("from|to\na x|b y\n")
    (tmp_path / "k").write_text(kinds)
    graph = read_graph(tmp_path / "g", delimiter="|", header=True, kinds=tmp_path / "k")
    assert list(graph.kinds) == ["person", "big dog"]
