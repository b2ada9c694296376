"""DeepWalk and Node2Vec: vectors of the vertices of a graph, from walks on it."""

import os
import time
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass
from typing import Any, ClassVar

from any2vec.cluster.communicator import Communicator, together
from any2vec.cluster.local import alone, simulate
from any2vec.corpus import Corpus, Vocabulary
from any2vec.errors import Any2VecError, counted, shown
from any2vec.graph.graph import Graph
from any2vec.graph.readers import read_graph
from any2vec.graph.shares.build import has_parts, read_share
from any2vec.graph.shares.share import GRAPHS, GraphShare, cut_graph, in_parts
from any2vec.io.memory import size
from any2vec.models.estimator import CheckWords, Estimator
from any2vec.models.transforming import Features
from any2vec.options import changed, documented, option
from any2vec.samples.draws import WALKS, epoch_key
from any2vec.training.options import Options
from any2vec.walks.corpus import joined, share_corpus, walk_corpus
from any2vec.walks.metapaths import check_metapaths
from any2vec.walks.share_walker import ShareWalker
from any2vec.walks.walker import STARTS, Walker, check_walks


@documented
@dataclass(kw_only=True, unsafe_hash=True, repr=False)
class DeepWalk(Estimator):
    """Vectors of vertices: skip-gram, or CBOW, on uniform walks (Perozzi et al. 2014; Vertex2Vec of GraphAny2Vec, 5.1).

    There is no subsampling by default (GraphAny2Vec, A.1).

    `fit` and `read` take a `Graph`, or a source of one (`graph.readers.read_graph`): a file, a folder of parts, pairs,
    a dict, a data frame, a matrix, or a graph of another library. On a cluster, every host has the whole graph if it
    fits, else, or with ``graph="parts"``, a part of it.

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
    epochs: int = changed(Options, "epochs", 5, unset="")
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
    graph: str = option(
        GRAPHS[0],
        "whether each host has the whole graph, or a part of it; with auto, a part if the whole would not fit",
        choices=GRAPHS,
        panel="Many hosts",
    )
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
        group = communicator or alone()
        hosts = self.hosts if communicator is None else communicator.size
        how = {"directed": self.directed, "weighted": self.weighted} | how
        if in_parts(source, self.graph, group, how):
            asked = known, check_words, how
            if communicator:
                return self._walk_share(source, communicator, threads, *asked)
            several = isinstance(source, str | os.PathLike) and has_parts(source, how.get("format", "auto"))
            if not several and not isinstance(source, Graph):  # simulated hosts can share out the whole
                source = read_graph(source, threads=threads, **how)
            own = threads if hosts == 1 else 1
            return joined(simulate(hosts, threads, lambda host: self._walk_share(source, host, own, *asked)))
        began = time.perf_counter()
        with together(group):
            graph = source if isinstance(source, Graph) else read_graph(source, threads=threads, **how)
            self._check_read(graph, check_words)
        self._say_read(graph)
        read_at = time.perf_counter()
        walker = Walker(graph, length=self.length, **self._walking, seed=self._walk_seed(known))
        corpus = walk_corpus(walker, self.walks, hosts=hosts, communicator=communicator, threads=threads, known=known)
        return self._say_walked(corpus, len(graph), known, began, read_at)

    def _walk_share(
        self,
        source: Any,
        host: Communicator,
        threads: int,
        known: Vocabulary | None,
        check_words: CheckWords | None,
        how: dict[str, Any],
    ) -> Corpus:
        """Read and walk as one of the hosts that have shares of the graph."""
        began = time.perf_counter()
        if isinstance(source, Graph):
            share = cut_graph(source, host.size, host.rank)
        else:
            share = read_share(source, host, **how | {"threads": threads})
        with together(host):
            self._check_read(share, check_words)
        if host.rank == 0:
            self._say_read(share)
        read_at = time.perf_counter()
        vertices, read, seed = len(share), share.sent, self._walk_seed(known)
        walker = ShareWalker(share, host, length=self.length, **self._walking, seed=seed, threads=threads)
        del share  # the walker has its own tables
        with closing(walker):
            corpus = share_corpus(walker, self.walks, known, read=read)
        if host.rank == 0:
            self._say_walked(corpus, vertices, known, began, read_at)
            if host.size > 1:
                sent = f"{size(corpus.read_bytes)} to read it, and {size(corpus.walk_bytes)} to walk on it"
                self.display.say(f"the graph is in {host.size} parts: hosts sent {sent}")
        return corpus

    def _walk_seed(self, known: Vocabulary | None) -> int:
        """Return the seed of walks: those on another graph, by which vectors go on, are others."""
        return self.seed if known is None else epoch_key(self.seed, int(known.counts.sum()), WALKS)

    def _check_read(self, graph: Graph | GraphShare, check_words: CheckWords | None) -> None:
        if self.negatives_by_kind and graph.kinds is None:
            lacking = "vertices have no kinds: read the graph with `kinds`"
            raise Any2VecError(f"`negatives_by_kind` is True, but {lacking}")
        if check_words:
            check_words(graph.names)

    def _say_read(self, graph: Graph | GraphShare) -> None:
        kind = f"{'directed' if graph.directed else 'undirected'}, {'un' * (graph.weights is None)}weighted"
        vertices = "vertex" if len(graph) == 1 else "vertices"
        self.display.say(f"{len(graph):,} {vertices}, {counted(graph.edges, 'edge')}, {kind}")
        if graph.kinds is not None:
            self.display.say(f"kinds: {graph.kinds}")

    def _say_walked(
        self, corpus: Corpus, vertices: int, known: Vocabulary | None, began: float, read_at: float
    ) -> Corpus:
        corpus.seconds.update(read=read_at - began, walk=time.perf_counter() - read_at)
        self.display.say(f"{corpus.sentences:,} walks, {corpus.raw_words:,} steps")
        if known is None and (missing := vertices - len(corpus.vocabulary)):
            self.display.say(f"{missing:,} of {vertices:,} vertices are on no walk, and have no vector")
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
