"""DeepWalk and Node2Vec: vectors of the vertices of a graph, from walks on it."""

import time
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from any2vec.cluster.communicator import Communicator, together
from any2vec.cluster.local import alone
from any2vec.corpus import Corpus
from any2vec.errors import Any2VecError
from any2vec.graph.graph import Graph
from any2vec.graph.readers import read_graph
from any2vec.models.estimator import Estimator
from any2vec.walks.corpus import walk_corpus
from any2vec.walks.walker import Walker, check_walks

__all__ = ["DeepWalk", "Node2Vec"]


@dataclass
class DeepWalk(Estimator):
    """Vectors of vertices: skip-gram on uniform walks (Perozzi et al. 2014; GraphVertex2Vec of the papers, 5.1).

    Parameters
    ----------
    walks : int
        Walks from each vertex.
    length : int
        Vertices in a walk.
    restart : float
        Probability that a step goes back to the walk's start.
    directed, weighted : bool, optional
        Of a graph that is read from a file; see `graph.readers.read_graph`.
    dim, window, negative, sample, alpha, epochs, threads, seed, schedule, hosts, rounds, scheme, combine, kappa
        See `Estimator`; there is no subsampling by default (GraphAny2Vec, A.1).
    callbacks, display
        See `Estimator`.

    Examples
    --------
    >>> from any2vec.graph import karate_club
    >>> DeepWalk(dim=8, epochs=1, threads=1).fit(karate_club().edges).vectors_["34"].shape
    (8,)
    """

    kind: ClassVar[str] = "vertices"

    dim: int = 128
    sample: float = 0.0
    walks: int = 10
    length: int = 40
    restart: float = 0.0
    directed: bool | None = None
    weighted: bool | None = None

    def fit(self, source: Any, communicator: Communicator | None = None) -> Self:
        """Walk on a graph and train on the walks.

        Parameters
        ----------
        source : Graph, or str, Path, object, function
            A graph; a function that gives one, of how many threads it may use; or what `graph.readers.read_graph` makes
            one of: a file; a graph of networkx or igraph; a matrix of SciPy; an array of edges.
        communicator : Communicator, optional
            On a cluster, where each host calls this, ``any2vec.cluster.mpi.world()``. Every host has the whole graph.

        Returns
        -------
        DeepWalk
            This estimator, with `vectors_`, `loss_` and `report_`. On a cluster `vectors_` are those of the vertices
            whose masters are on this host.

        Raises
        ------
        Any2VecError
            If an option is out of range, the graph cannot be used, or values stop being finite.
        """
        self.check()
        return self._fit(source, communicator)

    def check(self) -> None:
        """Raise now what `fit` would raise of the options."""
        super().check()
        check_walks(self.walks, self.length, *self._biases, self.restart)
        if self.length == 1:
            raise Any2VecError("`length` is 1, so no vertex is beside another; 40 is usual")

    @property
    def _biases(self) -> tuple[float, float]:
        return 1.0, 1.0

    def _walker(self, graph: Graph) -> Walker:
        return Walker(graph, length=self.length, restart=self.restart, seed=self.seed)

    def _read(self, source: Any, threads: int, communicator: Communicator | None) -> Corpus:
        began = time.perf_counter()
        graph = source
        with together(communicator or alone()):
            if callable(source):
                graph = source(threads)
            elif not isinstance(source, Graph):
                graph = read_graph(source, directed=self.directed, weighted=self.weighted, threads=threads)
        say = self.display.say
        how = f"{'directed' if graph.directed else 'undirected'}, {'un' * (graph.weights is None)}weighted"
        say(f"{len(graph):,} vertices, {graph.edges:,} edges, {how}")
        read = time.perf_counter()
        hosts = self.hosts if communicator is None else communicator.size
        corpus = walk_corpus(self._walker(graph), self.walks, hosts=hosts, communicator=communicator, threads=threads)
        corpus.seconds.update(read=read - began, walk=time.perf_counter() - read)
        say(f"{corpus.sentences:,} walks, {corpus.raw_words:,} steps")
        return corpus


@dataclass
class Node2Vec(DeepWalk):
    """Vectors of vertices: skip-gram on biased walks (Grover and Leskovec 2016).

    Parameters
    ----------
    p : float
        Return parameter: the way back to the last vertex counts 1 / p.
    q : float
        In-out parameter: the way to a vertex that is no neighbour of the last one counts 1 / q.
    walks, length, restart, directed, weighted
        See `DeepWalk`.
    dim, window, negative, sample, alpha, epochs, threads, seed, schedule, hosts, rounds, scheme, combine, kappa
        See `Estimator`.
    callbacks, display
        See `Estimator`.
    """

    p: float = 1.0
    q: float = 1.0

    @property
    def _biases(self) -> tuple[float, float]:
        return self.p, self.q

    def _walker(self, graph: Graph) -> Walker:
        return Walker(graph, length=self.length, p=self.p, q=self.q, restart=self.restart, seed=self.seed)
