"""Walks as a corpus: V is the vertices by decreasing visits, W the walks."""

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from any2vec.cluster.communicator import Communicator, SharedError, allreduce, first_other, together
from any2vec.cluster.local import alone
from any2vec.cluster.machine.cores import hosts_here
from any2vec.corpus.corpus import NO_KIND, Corpus
from any2vec.corpus.vocabulary import Vocabulary, check_sum
from any2vec.corpus.worklist import StoredWorklist
from any2vec.io.memory import available, memory_errors
from any2vec.walks.generated import GeneratedWorklist
from any2vec.walks.walker import Walker
from any2vec.walks.worklist import count, generate

__all__ = ["MOST_KEPT", "walk_corpus"]

MOST_KEPT = 1 << 30
"""Bytes of walks that a host keeps, at most."""

_SHARE = 8  # of the memory that is left: so much of it, at most
_CHUNK = 1 << 22  # ids renumbered at a time


def walk_corpus(
    walker: Walker,
    walks: int,
    *,
    hosts: int = 1,
    communicator: Communicator | None = None,
    threads: int = 1,
    known: Vocabulary | None = None,
    large: int | None = None,
) -> Corpus:
    """Generate the walks of all hosts, or on a cluster of this one, as a corpus.

    Every host has the whole graph; walks are cut evenly for `hosts`, in their order. Walks of `large` bytes or more, by
    default 1 GiB or an eighth of the memory that is left, are not kept: training generates them again, to the same
    bits. The vocabulary has all vertices, by decreasing visits, ties in the graph's order; `known` vertices of earlier
    graphs too, and their visits are added. Vertices that no walk along a metapath comes to are left out.
    """
    total = walks * walker.per_pass
    communicator = communicator or alone()
    several = communicator.size > 1
    if several:
        _check_same(walker, walks, communicator)
    ends = [total * h // hosts for h in range(hosts + 1)]
    held = range(communicator.rank, communicator.rank + 1) if several else range(hosts)
    first, last = ends[held.start], ends[held.stop]
    if large is None:
        large = min(MOST_KEPT, available(*hosts_here(communicator)) // _SHARE)
    how = {"threads": threads, "first": first, "last": last}
    kept = None
    with together(communicator), memory_errors("the walks"):
        if (last - first) * walker.length * 4 < large:
            kept = generate(walker, walks, **how)
            visits = kept.visits
        else:
            positions, visits = count(walker, walks, **how)
    visits = allreduce(communicator, visits)
    names, visits = _with_known(walker.graph.names, visits, known)
    order = np.argsort(-visits, kind="stable")
    new = np.empty(len(order), np.int32)
    if walker.paths:
        order = order[_kept(names, visits, known)[order]]
    new[order] = np.arange(len(order), dtype=np.int32)
    own = [end - first for end in ends[held.start : held.stop + 1]]
    worklist: StoredWorklist | GeneratedWorklist
    if kept:
        _renumber(kept.ids, new)
        worklist, cuts = StoredWorklist(kept.ids, kept.bounds), kept.bounds[own]
    else:
        worklist = GeneratedWorklist(walker, range(first, last), positions, new, 0, 0, int(positions[-1]))
        cuts = np.array([worklist.position_of(walk) for walk in own])
    if several:
        cuts = np.append(0, np.cumsum(communicator.allgather(cuts[-1:])[:, 0]))
    worklist = replace(worklist, first=int(cuts[communicator.rank]))
    vocabulary = Vocabulary([names[i] for i in order.tolist()], visits[order])
    memory = {"graph": walker.nbytes, "walks": worklist.nbytes}
    kinds = None
    if walker.graph.kinds is not None:
        gone = np.full(len(names) - len(walker.graph), NO_KIND, np.uint8)
        kinds = np.append(walker.graph.kinds.of, gone)[order]
    given = False, dict[str, float](), Path()
    return Corpus(vocabulary, worklist, int(cuts[-1]), total, 0, cuts, held, *given, kinds=kinds, memory=memory)


def _with_known(
    names: Sequence[str], visits: NDArray[np.int64], known: Vocabulary | None
) -> tuple[Sequence[str], NDArray[np.int64]]:
    """Append the known vertices that a graph lacks to its own; add up visits."""
    if known is None:
        return names, visits
    ids = known.ids
    places = np.array([ids.get(name, -1) for name in names], np.int64)
    absent = np.ones(len(known), bool)
    absent[places[places >= 0]] = False
    check_sum(known.counts, "the known vertices and the walks", visits)
    visits = visits + np.where(places >= 0, known.counts[places], 0)
    gone = np.flatnonzero(absent)
    return [*names, *(known.words[i] for i in gone.tolist())], np.append(visits, known.counts[gone])


def _kept(names: Sequence[str], visits: NDArray[np.int64], known: Vocabulary | None) -> NDArray[np.bool_]:
    """Find the vertices that walks come to, or that are known."""
    kept = visits > 0
    if known is not None:
        for i in np.flatnonzero(~kept).tolist():
            kept[i] = names[i] in known.ids
    return kept


def _check_same(walker: Walker, walks: int, communicator: Communicator) -> None:
    """Raise on all hosts if their graphs or the options of their walks differ."""
    graph = walker.graph
    how = walker.p, walker.q, walker.restart, walker.extend, walker.gamma, walker.starts, walker.paths
    digest = hashlib.sha256(repr((walks, walker.length, *how, walker.seed)).encode())
    if graph.kinds is not None:
        digest.update(repr(graph.kinds.names).encode() + graph.kinds.of.tobytes())
    digest.update("\n".join(graph.names).encode("utf-8", "surrogateescape"))
    for array in (graph.indptr, graph.indices, graph.weights):
        if array is not None:
            digest.update(np.ascontiguousarray(array).data)
    other = first_other(communicator, digest.digest())
    if other is not None:
        raise SharedError(f"hosts 0 and {other} have different graphs or options of walks; give all hosts the same")


def _renumber(ids: NDArray[np.int32], new: NDArray[np.int32]) -> None:
    """Replace vertices by their ids in V."""
    for at in range(0, len(ids), _CHUNK):
        ids[at : at + _CHUNK] = new[ids[at : at + _CHUNK]]
