"""Walks as a corpus: V is the vertices by falling visits, W the walks."""

import hashlib
import shutil
import tempfile
import weakref
from pathlib import Path

import numpy as np
from numba import njit
from numpy.typing import NDArray

from any2vec.cluster.communicator import Communicator, SharedError, allreduce, first_other, together
from any2vec.cluster.local import alone
from any2vec.corpus.corpus import Corpus
from any2vec.corpus.vocabulary import Vocabulary
from any2vec.corpus.worklist import IDS, Worklist, open_worklist
from any2vec.io.disk import disk_errors
from any2vec.walks.walker import Walker
from any2vec.walks.worklist import generate

__all__ = ["walk_corpus"]

_LARGE = 1 << 30  # bytes of walks from which they are kept in a file
_PIECE = 1 << 22  # ids renamed at a time


def walk_corpus(
    walker: Walker,
    walks: int,
    *,
    hosts: int = 1,
    communicator: Communicator | None = None,
    threads: int = 1,
    large: int = _LARGE,
) -> Corpus:
    """Do the walks of all hosts, or of this one of a cluster.

    Parameters
    ----------
    walker : Walker
        Does them; on a cluster every host has the whole graph, and walks its part of the walks.
    walks : int
        Walks from each vertex.
    hosts : int
        H, to cut the walks for: evenly, in their order.
    communicator : Communicator, optional
        The cluster.
    threads : int
        They change the time, not the walks.
    large : int
        Bytes of walks from which they are kept in a file in the system's folder of temporary files.

    Returns
    -------
    Corpus
        Its vocabulary has all vertices, by falling visits, ties in the graph's order.

    Raises
    ------
    Any2VecError
        If `walks` is not 1 or more, there is no room to write, or hosts of a cluster have different graphs.
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
    folder = None
    if (last - first) * walker.length * 4 >= large:
        folder = Path(tempfile.mkdtemp(prefix=".any2vec-", suffix=".part"))
    place = folder or Path(tempfile.gettempdir())
    try:
        with together(communicator), disk_errors(place):
            ids, bounds, visits = generate(walker, walks, threads=threads, first=first, last=last, folder=folder)
        visits = allreduce(communicator, visits)
        order = np.argsort(-visits, kind="stable")
        new = np.empty(vertices, np.int32)
        new[order] = np.arange(vertices, dtype=np.int32)
        with together(communicator), disk_errors(place):
            worklist = _renamed(ids, bounds, new, folder)
    except BaseException:
        if folder:
            shutil.rmtree(folder, ignore_errors=True)
        raise
    lengths = communicator.allgather(np.array([len(ids)], np.int64))[:, 0]
    if several:
        cuts = np.concatenate([[0], np.cumsum(lengths)])
        worklist = Worklist(worklist.ids, worklist.bounds, int(cuts[communicator.rank]), worklist._maps)
    else:
        cuts = bounds[ends]
    names = walker.graph.names
    vocabulary = Vocabulary([names[i] for i in order.tolist()], visits[order])
    positions = int(cuts[-1])
    corpus = Corpus(vocabulary, worklist, positions, total, 0, cuts, held, False, {}, folder or Path())
    if folder:
        weakref.finalize(corpus, shutil.rmtree, folder, ignore_errors=True)
    return corpus


def _check_same(walker: Walker, walks: int, communicator: Communicator) -> None:
    """Raise on all hosts if one has another graph, or is to walk otherwise."""
    graph = walker.graph
    digest = hashlib.sha256(repr((walks, walker.length, walker.p, walker.q, walker.restart, walker.seed)).encode())
    digest.update("\n".join(graph.names).encode("utf-8", "surrogateescape"))
    for array in (graph.indptr, graph.indices, graph.weights):
        if array is not None:
            digest.update(np.ascontiguousarray(array).data)
    other = first_other(communicator, digest.digest())
    if other is not None:
        raise SharedError(
            f"hosts 0 and {other} have different graphs, or were told to walk otherwise; give all hosts the same"
        )


def _renamed(
    ids: NDArray[np.int32], bounds: NDArray[np.int64], new: NDArray[np.int32], folder: Path | None
) -> Worklist:
    """Give vertices their ids in V."""
    if folder is None:
        _rename(ids, new)
        ids.flags.writeable = bounds.flags.writeable = False  # as mapped files are: kernels are compiled for one kind
        return Worklist(ids, bounds)
    with (folder / IDS).open("r+b") as file:
        for at in range(0, len(ids), _PIECE):
            piece = np.array(ids[at : at + _PIECE])
            _rename(piece, new)
            file.seek(4 * at)
            file.write(piece.data)
    return open_worklist(folder)


@njit(nogil=True, cache=True)
def _rename(ids: NDArray[np.int32], new: NDArray[np.int32]) -> None:
    for i in range(ids.size):
        ids[i] = new[ids[i]]
