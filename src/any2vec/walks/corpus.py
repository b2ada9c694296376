"""Walks as a corpus: V is the vertices by decreasing visits, W the walks."""

import hashlib
import weakref
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from any2vec.cluster.communicator import Communicator, SharedError, allreduce, first_other, together
from any2vec.cluster.local import alone
from any2vec.corpus.cache_folder import for_large_files
from any2vec.corpus.corpus import Corpus
from any2vec.corpus.vocabulary import Vocabulary, check_sum
from any2vec.corpus.worklist import IDS, Worklist, open_worklist
from any2vec.io.disk import disk_errors
from any2vec.io.memory import memory_errors
from any2vec.io.temporary import temporary_folder
from any2vec.walks.walker import Walker
from any2vec.walks.worklist import generate

__all__ = ["walk_corpus"]

_LARGE = 1 << 30  # bytes of walks from which they are kept in a file
_CHUNK = 1 << 22  # ids renumbered at a time


def walk_corpus(
    walker: Walker,
    walks: int,
    *,
    hosts: int = 1,
    communicator: Communicator | None = None,
    threads: int = 1,
    known: Vocabulary | None = None,
    large: int = _LARGE,
) -> Corpus:
    """Generate the walks of all hosts, or on a cluster of this one, as a corpus.

    Every host has the whole graph; walks are cut evenly for `hosts`, in their order. From `large` bytes on they are
    kept in a temporary file, where corpora are cached. The vocabulary has all vertices, by decreasing visits, ties in
    the graph's order; `known` vertices of earlier graphs too, and their visits are added.
    """
    vertices = len(walker.graph)
    total = walks * vertices
    communicator = communicator or alone()
    several = communicator.size > 1
    if several:
        _check_same(walker, walks, communicator)
    ends = [total * h // hosts for h in range(hosts + 1)]
    held = range(communicator.rank, communicator.rank + 1) if several else range(hosts)
    first, last = ends[held.start], ends[held.stop]
    temporary = None
    with together(communicator):
        if (last - first) * walker.length * 4 >= large:
            temporary = temporary_folder(for_large_files())
    folder = temporary.path if temporary else None
    try:
        with together(communicator), memory_errors("the walks"), _writing(folder):
            ids, bounds, visits = generate(walker, walks, threads=threads, first=first, last=last, folder=folder)
        visits = allreduce(communicator, visits)
        names, visits = _with_known(walker.graph.names, visits, known)
        order = np.argsort(-visits, kind="stable")
        new = np.empty(len(order), np.int32)
        new[order] = np.arange(len(order), dtype=np.int32)
        with together(communicator), _writing(folder):
            worklist = _renumber(ids, bounds, new, folder)
    except BaseException:
        if temporary:
            temporary.remove()
        raise
    lengths = communicator.allgather(np.array([len(ids)], np.int64))[:, 0]
    if several:
        cuts = np.concatenate([[0], np.cumsum(lengths)])
        worklist = Worklist(worklist.ids, worklist.bounds, int(cuts[communicator.rank]), worklist._maps)
    else:
        cuts = bounds[ends]
    vocabulary = Vocabulary([names[i] for i in order.tolist()], visits[order])
    positions = int(cuts[-1])
    corpus = Corpus(vocabulary, worklist, positions, total, 0, cuts, held, False, {}, folder or Path())
    if temporary:
        weakref.finalize(corpus, temporary.remove)
    return corpus


def _writing(folder: Path | None) -> AbstractContextManager[None]:
    return disk_errors(folder, "a step of a walk takes 4 bytes") if folder else nullcontext()


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


def _check_same(walker: Walker, walks: int, communicator: Communicator) -> None:
    """Raise on all hosts if their graphs or the options of their walks differ."""
    graph = walker.graph
    how = walker.p, walker.q, walker.restart, walker.extend, walker.gamma, walker.starts
    digest = hashlib.sha256(repr((walks, walker.length, *how, walker.seed)).encode())
    digest.update("\n".join(graph.names).encode("utf-8", "surrogateescape"))
    for array in (graph.indptr, graph.indices, graph.weights):
        if array is not None:
            digest.update(np.ascontiguousarray(array).data)
    other = first_other(communicator, digest.digest())
    if other is not None:
        raise SharedError(f"hosts 0 and {other} have different graphs or options of walks; give all hosts the same")


def _renumber(
    ids: NDArray[np.int32], bounds: NDArray[np.int64], new: NDArray[np.int32], folder: Path | None
) -> Worklist:
    """Replace vertices by their ids in V."""
    if folder is None:
        for at in range(0, len(ids), _CHUNK):
            ids[at : at + _CHUNK] = new[ids[at : at + _CHUNK]]
        return Worklist(ids, bounds)
    with (folder / IDS).open("r+b") as file:
        for at in range(0, len(ids), _CHUNK):
            file.seek(4 * at)
            file.write(new[ids[at : at + _CHUNK]].data)
    return open_worklist(folder)
