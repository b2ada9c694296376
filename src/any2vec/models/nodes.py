"""DeepWalk and Node2Vec: vectors of the vertices of a graph, from walks on it."""

import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

from any2vec.cluster.communicator import Communicator, together
from any2vec.cluster.local import alone
from any2vec.corpus import Corpus, Vocabulary
from any2vec.errors import Any2VecError, counted, shown
from any2vec.graph.graph import Graph
from any2vec.graph.readers import read_graph
from any2vec.models.estimator import CheckWords, Estimator
from any2vec.models.transforming import Features
from any2vec.options import changed, documented, option
from any2vec.samples.draws import WALKS, epoch_key
from any2vec.training.options import Options
from any2vec.walks.corpus import walk_corpus
from any2vec.walks.metapaths import check_metapaths
from any2vec.walks.walker import STARTS, Walker, check_walks

__all__ = ["DeepWalk", "Node2Vec"]


@documented
@dataclass(kw_only=True, unsafe_hash=True, repr=False)
class DeepWalk(Estimator):
    """Vectors of vertices: skip-gram, or CBOW, on uniform walks (Perozzi et al. 2014; Vertex2Vec of GraphAny2Vec, 5.1).

    There is no subsampling by default (GraphAny2Vec, A.1).

    `fit` and `read` take a `Graph`, or a source of one (`graph.readers.read_graph`): a file, a folder of parts, pairs,
    a dict, a data frame, a matrix, or a graph of another library. On a cluster, every host gives the whole graph.

    Examples
    --------
    >>> from any2vec.graph import karate_club
    >>> DeepWalk(dim=8, epochs=1, threads=1).fit(karate_club().edges).vectors_["34"].shape
    (8,)
    """

    kind: ClassVar[str] = "vertices"

    dim: int = changed(Options, "dim", 128)
    sample: float = changed(
        Options, "sample", 0.0, help="subsampling threshold for frequent vertices; 0 for none", usual=""
    )
    walks: int = option(10, "walks from each vertex", panel="Walks")
    length: int = option(40, "vertices in a walk", panel="Walks")
    restart: float = option(0.0, "probability that a step returns to the walk's start", panel="Walks")
    starts: str = option(
        STARTS[0],
        "where walks start: at every vertex, or as many at vertices drawn by the weights of their edges (degree)",
        choices=STARTS,
        panel="Walks",
    )
    metapath: list[str] | None = option(
        None,
        "kinds of a walk's vertices, such as author-paper-author: metapath2vec. Walks begin it again at its end; there "
        "may be several, with walks along each",
        unset="walks go to any neighbour",
        panel="Walks",
        hashed=False,
    )
    negatives_by_kind: bool = changed(Options, "negatives_by_kind", False, panel="Walks")
    directed: bool | None = option(None, "whether a graph read from a file is directed", unset="as it says", panel="")
    weighted: bool | None = option(None, "whether a graph read from a file has weights", unset="as it says", panel="")

    def check(self) -> None:
        """Raise now what `fit` would raise of the parameters."""
        super().check()
        check_walks(self.walks, self.length, **self._walking)
        if self.length == 1:
            raise Any2VecError("`length` is 1, so no vertex is beside another; 40 is usual")

    def transform(self, vertices: Any) -> Features:
        """Return the vectors of vertices.

        Parameters
        ----------
        vertices : sequence of str or int
            Names of n vertices, or their integers.

        Returns
        -------
        float32 array, shape (n, D)
            After `set_output`, a data frame.

        Raises
        ------
        Any2VecError
            If there are no vectors yet, or `vertices` are no list.
        UnknownWordError
            If a vertex has none.
        """
        if isinstance(vertices, str) or not isinstance(vertices, Iterable):
            raise Any2VecError(f"vertices: a list of their names is expected, not {shown(vertices)}")
        return self._as_output(self._trained()[list(vertices)], vertices)

    def _check_texts(self, texts: Any) -> None:
        pass  # there are none

    def fit_transform(self, graph: Any, y: Any = None) -> Features:
        """Train on a graph, and return the vectors of its vertices, in the order of ``vectors_.words``.

        Parameters
        ----------
        graph : any
            As of `fit`.
        y : None
            There can be no labels: their order would not be that of the vertices.

        Returns
        -------
        float32 array, shape (V, D)
            After `set_output`, a data frame; that of pandas has the vertices as its index.

        Raises
        ------
        Any2VecError
            If there are labels, and whatever `fit` raises.
        """
        if y is not None:
            how = "fit on the graph first, then give a classifier `transform(vertices)` of those with labels"
            raise Any2VecError(f"labels say nothing of the order of a graph's vertices: {how}")
        self._output()  # which may raise: before training
        vectors = self.fit(graph).vectors_
        return self._as_output(vectors.matrix, names=vectors.words)

    @property
    def _walking(self) -> dict[str, Any]:
        """Options of walks: arguments of `Walker`."""
        paths = check_metapaths(self.metapath)
        return {"p": 1.0, "q": 1.0, "restart": self.restart, "starts": self.starts, "metapaths": paths}

    def _read(
        self,
        source: Any,
        threads: int,
        communicator: Communicator | None,
        known: Vocabulary | None,
        check_words: CheckWords | None = None,
        **how: Any,
    ) -> Corpus:
        began = time.perf_counter()
        graph = source
        with together(communicator or alone()):
            if not isinstance(source, Graph):
                as_it_says = {"directed": self.directed, "weighted": self.weighted}
                graph = read_graph(source, threads=threads, **as_it_says | how)
            if self.negatives_by_kind and graph.kinds is None:
                lacking = "vertices have no kinds: read the graph with `kinds`"
                raise Any2VecError(f"`negatives_by_kind` is True, but {lacking}")
            if check_words:
                check_words(graph.names)
        say = self.display.say
        kind = f"{'directed' if graph.directed else 'undirected'}, {'un' * (graph.weights is None)}weighted"
        vertices = "vertex" if len(graph) == 1 else "vertices"
        say(f"{len(graph):,} {vertices}, {counted(graph.edges, 'edge')}, {kind}")
        if graph.kinds is not None:
            say(f"kinds: {graph.kinds}")
        read = time.perf_counter()
        hosts = self.hosts if communicator is None else communicator.size
        seed = self.seed if known is None else epoch_key(self.seed, int(known.counts.sum()), WALKS)  # other walks
        walker = Walker(graph, length=self.length, **self._walking, seed=seed)
        corpus = walk_corpus(walker, self.walks, hosts=hosts, communicator=communicator, threads=threads, known=known)
        corpus.seconds.update(read=read - began, walk=time.perf_counter() - read)
        say(f"{corpus.sentences:,} walks, {corpus.raw_words:,} steps")
        if known is None and (missing := len(graph) - len(corpus.vocabulary)):
            say(f"{missing:,} of {len(graph):,} vertices are on no walk, and have no vector")
        return corpus


@documented
@dataclass(kw_only=True, unsafe_hash=True, repr=False)
class Node2Vec(DeepWalk):
    """Vectors of vertices: skip-gram, or CBOW, on biased walks (Grover and Leskovec 2016).

    With `extend`, those of node2vec+ (Liu et al. 2023).
    """

    p: float = option(
        1.0, "return parameter: going back to the last vertex counts 1/p", above=0, flag="--p", panel="Walks"
    )
    q: float = option(
        1.0,
        "in-out parameter: going to a vertex that is no neighbour of the last one counts 1/q",
        above=0,
        flag="--q",
        panel="Walks",
    )
    extend: bool = option(
        False, "node2vec+: on weighted graphs, whether two vertices are neighbours goes by weights", panel="Walks"
    )
    gamma: float = option(
        0.0,
        "with extend, how many standard deviations above the mean of a vertex's weights an edge must be to count fully",
        panel="Walks",
    )

    @property
    def _walking(self) -> dict[str, Any]:
        biased = {"p": self.p, "q": self.q, "extend": self.extend, "gamma": self.gamma}
        return super()._walking | biased
