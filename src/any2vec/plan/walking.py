"""Walks on a graph before training, with the graph whole on each host or in parts: memory, bytes and seconds."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from any2vec.graph.graph import Graph
from any2vec.graph.shares.share import GRAPHS, even_cuts
from any2vec.models import DeepWalk
from any2vec.plan.quantities import PROGRAM, Cluster, seconds_of
from any2vec.walks.corpus import MOST_KEPT
from any2vec.walks.metapaths import check_metapaths
from any2vec.walks.walker import STARTS

WALKS = 1 << 16
"""Walks under way on a host at a time, on a graph in parts."""

_AUTO, _WHOLE, _PARTS = GRAPHS
_CALLS = 3  # of all hosts, for a round of questions: how many, the questions, the answers
_CREWS = 2  # of walks: messages of one are under way while the other is stepped
_COUNTS = 16  # bytes that a host sends another in the first of these calls

# Bytes, measured (benchmarks/README.md); of a vertex, besides its name:
_NAMES = 9  # where the name begins
_NUMBERED = 34  # while the whole graph is read: numbers, and how often it is listed
_MET = 20  # the same of those in a host's part
_SOUGHT = 24  # while a graph is read whose vertices are no numbers
_ORDERED = 140  # while vertices are ordered by visits: a word, visits of this host and of all, orders
_BLOCKS = 33 << 20  # of edges under way while a graph is read in parts, at most
_EDGE = 8  # of an edge of them
_ASKING = 448  # of a walk under way in parts, with questions and answers
_WALKED = 1 << 26  # of walks that are written at a time, at most
_SHARE = 8  # of the memory: walks that take less are kept
_LOOKED_AT, _FEW = 100_000, 100  # names


@dataclass(frozen=True)
class WalkSpeeds:
    """What one thread does on this machine with walks on the graph."""

    whole: float  # positions of W a second, on the whole graph
    parts: float  # and by questions to hosts that have parts of it
    asked: float  # bytes of questions and answers for a position, those that stay at home included
    rounds: float  # of questions, for the walks under way at a time (`WALKS`, or all that there are)


class Sizes(NamedTuple):
    """Positions of W, walks, and epochs of training."""

    positions: float
    walks: float
    epochs: int


@dataclass(frozen=True)
class Walking:
    """What a host needs, and all send, to read a graph and walk on it."""

    graph: str  # what each host has of it
    sent: float  # bytes that all hosts send
    seconds: float  # to walk; and of a graph whose walks are not kept, to generate them again in training
    reading: float  # bytes that a host needs while it reads, and walks
    memory: float
    held: float  # bytes of the walks, and of the graph if they are generated again, in training


@dataclass(frozen=True, eq=False)
class WalkedGraph:
    """A graph, and the walks that training reads."""

    graph: Graph  # the whole graph
    how: Mapping[str, Any]  # options of `Walker`, but for the seed
    walks: int  # walks from each vertex
    # where hosts have the graph, as of `DeepWalk`. With auto, it is in parts if the whole does not fit into a host's
    # memory while it is read, or walked on
    place: str = _AUTO
    seed: int = 1  # of walks

    @classmethod
    def of(cls, graph: Graph, model: DeepWalk) -> Self:
        """Take the walks of an estimator."""
        names = ("length", "p", "q", "restart", "extend", "gamma", "starts")
        how = {name: getattr(model, name) for name in names if hasattr(model, name)}
        if model.metapath:
            how["metapaths"] = check_metapaths(model.metapath)
        return cls(graph, how, model.walks, model.graph, model.seed)

    @property
    def weighted(self) -> bool:
        """Whether edges have weights."""
        return self.graph.weights is not None

    @property
    def second(self) -> bool:
        """Whether walks are of the second order."""
        return (self.how.get("p", 1) != 1 or self.how.get("q", 1) != 1) and self.how["length"] > 1

    @property
    def extended(self) -> bool:
        """Whether walks are those of node2vec+."""
        return self.weighted and self.second and bool(self.how.get("extend")) and self.how.get("q", 1) != 1

    def tables(
        self, vertices: NDArray[np.float64], entries: NDArray[np.float64], *, parts: bool
    ) -> NDArray[np.float64]:
        """Return the bytes that walks look up at the rows of some vertices, of each host (`walks.tables`).

        A row has a number of 8 bytes. An entry is an int32; with weights, 16 bytes of an alias table. node2vec's walks
        look for neighbours in a hash table. It has a bucket for every three entries, and one more for each row, of 32
        bytes, or 64 with weights. node2vec+ has two float32 for each row; if hosts have parts, of all vertices besides.
        Starts that are drawn take 16 bytes for each vertex with edges. Metapaths are taken to have as many entries as
        the graph.
        """
        found = 8 * (vertices + 2) + (16 if self.weighted else 4) * entries
        if self.second:
            found += (64 if self.weighted else 32) * (entries // 3 + vertices + 2)
            found += 4 * (vertices + 1) * self.weighted + 8 * vertices * self.extended
        if self.how.get("starts", STARTS[0]) != STARTS[0]:
            found += 16 * np.count_nonzero(self.graph.degrees)
        return found + 8 * len(self.graph) * (self.extended and parts)

    @cached_property
    def _text(self) -> float:
        """Bytes of the names of all vertices."""
        names = self.graph.names
        some = [names[i] for i in np.linspace(0, len(names) - 1, min(len(names), _LOOKED_AT)).astype(int).tolist()]
        return sum(len(name.encode("utf-8", "surrogateescape")) for name in some) / len(some) * len(names)

    @cached_property
    def _sought(self) -> float:
        """Bytes of a table of names, in which they are looked up while a graph is read, unless they are numbers."""
        names = self.graph.names
        numbers = all(names[i].isdecimal() for i in np.linspace(0, len(names) - 1, _FEW).astype(int).tolist())
        return 0.0 if numbers else self._text + _SOUGHT * len(names)

    def walking(self, hosts: int, sizes: Sizes, cluster: Cluster, speeds: WalkSpeeds | None) -> Walking:
        """Return what it takes; without `speeds`, no bytes and no time."""
        if self.place == _WHOLE:
            return self._whole(hosts, sizes, cluster, speeds)
        if self.place == _AUTO:
            whole = self._whole(hosts, sizes, cluster, speeds)
            if hosts == 1 or max(whole.reading, whole.memory) <= cluster.memory:
                return whole
        return self._parts(hosts, sizes, cluster, speeds)

    def _whole(self, hosts: int, sizes: Sizes, cluster: Cluster, speeds: WalkSpeeds | None) -> Walking:
        """Every host reads all edges, and walks alone.

        While it reads, a host has the edges, two int32 each, and the rows that it makes of them; weights are float32.
        Walks take 4 bytes a position and 8 each. If that is too much, they are counted, and generated in each epoch.
        """
        graph, vertices, entries = self.graph, len(self.graph), len(self.graph.indices)
        row = 4 + 4 * self.weighted
        rows = row * entries + 8 * (vertices + 1)
        named, ordering = self._text + _NAMES * vertices, self._text + _ORDERED * vertices
        reading = (row + 4) * graph.edges + rows + named + self._sought + _NUMBERED * vertices
        tables = float(rows - (0 if self.weighted else 4 * entries))
        tables += float(self.tables(*np.array([[vertices], [entries]], float), parts=False)[0])
        kept, held = self._kept(hosts, sizes, cluster)
        if not kept:
            held = tables + named + 4 * vertices
        memory = tables + named + ordering + (held if kept else 0.0)
        times = 1 if kept else 1 + sizes.epochs
        seconds = times * sizes.positions / hosts / (speeds.whole * cluster.cores) if speeds else 0.0
        return Walking(_WHOLE, 0.0, seconds, PROGRAM + reading, PROGRAM + memory, held)

    def _parts(self, hosts: int, sizes: Sizes, cluster: Cluster, speeds: WalkSpeeds | None) -> Walking:
        """Every host reads a part of the edges, has the rows of some vertices, and asks the others for steps.

        While it reads, a host has its entries (with weights 8 bytes), two numbers for each of its rows, and names of
        all vertices. It has numbers of those in its part: of the vertices with d edges, ``(1 - 1/H)^d`` are only in
        other parts. Weighted rows are there beside the tables made of them. Larger walks are in a file.

        A walk's vertex is on another host with probability ``1 - 1/H``, whatever these have: walks are cut evenly, in
        random order. So hosts send that share of the bytes of all questions and answers. A step of the first order is
        one question, of 8 bytes, with weights or kinds 4 more each, and an answer of 4. A step of node2vec is as many
        as the graph lets candidates be refused or looked up; these are counted in walks on it. In a round of questions
        a host tells each other one how many there are.

        Questions are asked and answered while others are under way. So walking takes the longest of three: stepping,
        the network, and half of both with what the calls of half of the rounds wait.
        """
        graph, vertices = self.graph, len(self.graph)
        cuts = even_cuts(graph.degrees, hosts)
        own, entries = np.diff(cuts).astype(float), np.diff(graph.indptr[cuts]).astype(float)
        met = float((1 - (1 - 1 / hosts) ** self._listed).sum())
        row = 4 + 4 * self.weighted
        rows = row * entries + 8 * own
        named, ordering = self._text + _NAMES * vertices, self._text + _ORDERED * vertices
        reading = float((rows + 8 * own).max()) + named + 16 * vertices + _MET * met
        reading += self._sought * met / vertices + min(_BLOCKS, _EDGE * graph.edges / hosts)
        tables = self.tables(own, entries, parts=True)
        most, beside = float(tables.max()), float((tables + rows * self.weighted).max())
        kept, held = self._kept(hosts, sizes, cluster)
        held = held if kept else 8 * sizes.walks / hosts
        asking = 16 * vertices + min(_WALKED, 4 * sizes.positions / hosts)
        asking += _ASKING * min(WALKS, sizes.walks / hosts)
        memory = named + max(beside, most + held + max(ordering, asking))
        sent, seconds = _asking(hosts, sizes, cluster, speeds) if speeds else (0.0, 0.0)
        return Walking(_PARTS, sent, seconds, PROGRAM + reading, PROGRAM + memory, held)

    @cached_property
    def _listed(self) -> NDArray[np.int64]:
        """How many edges have each vertex, shape (V,)."""
        into = np.bincount(self.graph.indices, minlength=len(self.graph)) if self.graph.directed else 0
        return np.asarray(self.graph.degrees + into)

    def _kept(self, hosts: int, sizes: Sizes, cluster: Cluster) -> tuple[bool, float]:
        """Return whether a host keeps its walks in memory, and their bytes (`walks.corpus`)."""
        room = 4.0 * self.how["length"] * sizes.walks / hosts
        return room < min(MOST_KEPT, cluster.memory / _SHARE), (4 * sizes.positions + 8 * sizes.walks) / hosts


def _asking(hosts: int, sizes: Sizes, cluster: Cluster, speeds: WalkSpeeds) -> tuple[float, float]:
    """Return the bytes that all hosts send to walk, and the seconds that it takes."""
    rounds = speeds.rounds * max(1.0, sizes.walks / hosts / WALKS)
    sent = (1 - 1 / hosts) * speeds.asked * sizes.positions + _COUNTS * hosts * (hosts - 1) * rounds
    network = seconds_of(sent / hosts, cluster)
    stepped = sizes.positions / hosts / (speeds.parts * cluster.cores)
    waited = rounds / _CREWS * _CALLS * 2 * cluster.latency if hosts > 1 else 0.0
    return sent, max(stepped, network, (stepped + network) / _CREWS + waited)
