"""Walks as a corpus: V is the vertices by decreasing visits, W the walks."""

import hashlib
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from any2vec.cluster.communicator import Communicator, SharedError, allreduce, first_other, together
from any2vec.cluster.local import alone
from any2vec.cluster.machine import hosts_here
from any2vec.corpus.corpus import NO_KIND, Corpus, Piece, StoredWorklist, Worklist
from any2vec.corpus.vocabulary import Vocabulary, check_sum
from any2vec.graph.graph import Kinds, Names
from any2vec.io.memory import available, memory_errors, read_only
from any2vec.walks.share_walker import ShareWalker, walk_shares
from any2vec.walks.walker import Walker
from any2vec.walks.worklist import WalkBlock, compact, count, generate, spacing, walk_blocks

_PIECE = 1 << 16  # positions: they stay in the caches until they are trained on


@dataclass(frozen=True, eq=False)
class GeneratedWorklist(Worklist):
    """A worklist of walks, which are generated when they are read, on the thread that reads them."""

    walker: Walker
    walks: range  # numbers of the walks whose positions are known, the passes one after the other
    positions: NDArray[np.int64]  # of every `spacing`-th of them, and the end (`worklist.count`)
    new_ids: NDArray[np.int32]  # the id of each vertex of the graph
    first: int  # position in W of this worklist's first
    begin: int  # what it has of the positions
    end: int
    _seconds: list[float] = field(default_factory=list, repr=False)  # CPU seconds of each piece, by any thread

    @property
    def size(self) -> int:
        """Number of vertices in the walks."""
        return self.end - self.begin

    @property
    def nbytes(self) -> int:
        """Bytes of the known positions, and of the ids of vertices."""
        return self.positions.nbytes + self.new_ids.nbytes

    @property
    def seconds(self) -> float:
        """CPU seconds in which threads have generated walks."""
        return sum(self._seconds)

    def pieces(self, low: int, high: int) -> Iterator[Piece]:
        """Generate the walks at positions low..high-1, some at a time."""
        low, high, starts = self.begin + low, self.begin + high, self.positions
        last, at = int(np.searchsorted(starts, high)), low
        while True:
            began = time.thread_time()
            i = min(int(np.searchsorted(starts, at, side="right")) - 1, last)
            j = min(last, max(i + 1, int(np.searchsorted(starts, starts[i] + _PIECE, side="right")) - 1))
            ids, bounds = self._walked(i, j)
            begin, end = int(starts[i]), int(starts[j])
            self._seconds.append(time.thread_time() - began)
            yield Piece(ids, bounds, begin - self.begin, max(low, begin) - begin, min(high, end) - begin)
            at = end
            if at >= high:
                return

    def lengths(self, most: int) -> NDArray[np.int64]:
        """Return the lengths of the first walks."""
        first, last = self._walk_at(self.begin), self._walk_at(self.end)
        return self._measured(first, min(last, first + most)).astype(np.int64)

    def between(self, low: int, high: int) -> "GeneratedWorklist":
        """Return the worklist of some walks."""
        return replace(self, first=self.first + low, begin=self.begin + low, end=self.begin + high)

    def position_of(self, walk: int) -> int:
        """Return the position of a walk, counted from 0, or of the end."""
        i, after = divmod(walk, spacing(self.walker.length))
        last = self.walks.start + walk
        return int(self.positions[i] + self._measured(last - after, last).sum())

    def _walk_at(self, position: int) -> int:
        """Return the number of the walk that begins at a position, or ends the last one there."""
        i = int(np.searchsorted(self.positions, position, side="right")) - 1
        first, last = self._numbers(i, i + 1)
        ends = np.cumsum(self._measured(first, last))
        return first + int(np.searchsorted(ends, position - self.positions[i], side="right"))

    def _numbers(self, i: int, j: int) -> tuple[int, int]:
        """Return the walks, from and to, between two of the known positions."""
        every = spacing(self.walker.length)
        return tuple(min(self.walks.start + every * k, self.walks.stop) for k in (i, j))  # type: ignore[return-value]

    def _blocks(self, first: int, last: int) -> Iterator[tuple[WalkBlock, slice]]:
        for block in walk_blocks(self.walker, 1, first, last):
            yield block, slice(block.number, block.number + block.last - block.first)

    def _measured(self, first: int, last: int) -> NDArray[np.int32]:
        lengths = np.empty(last - first, np.int32)
        for block, here in self._blocks(first, last):
            self.walker.measure(block.pass_, block.first, block.last, lengths[here])
        return lengths

    def _walked(self, i: int, j: int) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Generate the walks between two of the known positions: ids and bounds."""
        first, last = self._numbers(i, j)
        out, lengths = np.empty((last - first, self.walker.length), np.int32), np.empty(last - first, np.int32)
        for block, here in self._blocks(first, last):
            self.walker.walk(block.pass_, block.first, block.last, out[here], lengths[here])
        ids, bounds = compact(out, lengths), np.append(0, np.cumsum(lengths, dtype=np.int64))
        _renumber(ids, self.new_ids)
        return read_only(ids), read_only(bounds)


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
    how = {"threads": threads, "first": first, "last": last}
    kept = None
    with together(communicator), memory_errors("the walks"):
        if (last - first) * walker.length * 4 < (_most_kept(communicator) if large is None else large):
            kept = generate(walker, walks, **how)
            visits = kept.visits
        else:
            positions, visits = count(walker, walks, **how)
    visits = allreduce(communicator, visits)
    with together(communicator), memory_errors("the names of vertices"):
        v = _vertices(walker.graph.names, walker.graph.kinds, bool(walker.paths), visits, known)
    own = [end - first for end in ends[held.start : held.stop + 1]]
    worklist: StoredWorklist | GeneratedWorklist
    if kept:
        _renumber(kept.ids, v.ids)
        worklist, cuts = StoredWorklist(kept.ids, kept.bounds), kept.bounds[own]
    else:
        worklist = GeneratedWorklist(walker, range(first, last), positions, v.ids, 0, 0, int(positions[-1]))
        cuts = np.array([worklist.position_of(walk) for walk in own])
    if several:
        cuts = np.append(0, np.cumsum(communicator.allgather(cuts[-1:])[:, 0]))
    names = 0 if kept else _bytes_of(walker.graph.names)  # else the graph goes before training
    return _corpus(v, worklist, cuts, held, total, walker.nbytes, names)


def share_corpus(
    walker: ShareWalker, walks: int, known: Vocabulary | None = None, large: int | None = None, read: int = 0
) -> Corpus:
    """Do what `walk_corpus` does, on a cluster whose hosts have shares of the graph; all hosts call this together.

    Walks are kept: those of `large` bytes or more in a file, as a text is. `read` are the bytes that this host has sent
    to read the graph.
    """
    communicator, total = walker.communicator, walks * walker.per_pass
    _check_alike(communicator, repr((walks, walker.options)).encode(), "options of walks")
    large = _most_kept(communicator) if large is None else large
    kept = walk_shares(walker, walks, large)
    visits = allreduce(communicator, kept.visits)
    with together(communicator), memory_errors("the names of vertices"):
        v = _vertices(walker.names, walker.kinds, bool(walker.paths), visits, known)
    _renumber(kept.ids, v.ids)
    cuts = np.append(0, np.cumsum(communicator.allgather(kept.bounds[-1:])[:, 0]))
    held = range(communicator.rank, communicator.rank + 1)
    corpus = _corpus(v, StoredWorklist(kept.ids, kept.bounds), cuts, held, total, walker.nbytes)
    to_read, to_walk = allreduce(communicator, np.array([read, walker.owners.sent])).tolist()
    return replace(corpus, read_bytes=to_read, walk_bytes=to_walk)


def joined(parts: Sequence[Corpus]) -> Corpus:
    """Return the corpus of simulated hosts, of those that each has."""
    ids, lists = [], list[NDArray[np.int64]]()
    for part in parts:
        worklist = part.worklist
        assert isinstance(worklist, StoredWorklist)
        ids.append(worklist.ids)
        lists.append(worklist.bounds[1:] + worklist.first)
    worklist = StoredWorklist(np.concatenate(ids), np.concatenate([np.zeros(1, np.int64), *lists]))
    memory = {
        "graph": sum(part.memory["graph"] for part in parts),
        "names": parts[0].memory["names"],
        "walks": worklist.nbytes,
    }
    return replace(parts[0], worklist=worklist, held=range(len(parts)), memory=memory)


class _Vertices(NamedTuple):
    """V of walks, and the id in it of each vertex of the graph."""

    vocabulary: Vocabulary
    ids: NDArray[np.int32]
    kinds: NDArray[np.uint8] | None


def _most_kept(communicator: Communicator) -> int:
    return min(MOST_KEPT, available(*hosts_here(communicator)) // _SHARE)


def _vertices(
    names: Sequence[str], kinds: Kinds | None, typed: bool, visits: NDArray[np.int64], known: Vocabulary | None
) -> _Vertices:
    """Order vertices by decreasing visits; of walks along metapaths, those that walks come to."""
    own = len(names)
    names, visits = _with_known(names, visits, known)
    order = np.argsort(-visits, kind="stable")
    new = np.empty(len(order), np.int32)
    if typed:
        order = order[_kept(names, visits, known)[order]]
    new[order] = np.arange(len(order), dtype=np.int32)
    of = None if kinds is None else np.append(kinds.of, np.full(len(names) - own, NO_KIND, np.uint8))[order]
    words = names.arranged(order) if isinstance(names, Names) else [names[i] for i in order.tolist()]
    return _Vertices(Vocabulary(words, visits[order]), new, of)


def _corpus(
    v: _Vertices,
    worklist: StoredWorklist | GeneratedWorklist,
    cuts: NDArray[np.int64],
    held: range,
    walks: int,
    graph_bytes: int,
    names_bytes: int = 0,
) -> Corpus:
    worklist = replace(worklist, first=int(cuts[held.start]))
    names_bytes += _bytes_of(v.vocabulary.words) + v.vocabulary.counts.nbytes
    memory = {"graph": graph_bytes, "names": names_bytes, "walks": worklist.nbytes}
    given = False, dict[str, float](), Path()
    return Corpus(v.vocabulary, worklist, int(cuts[-1]), walks, 0, cuts, held, *given, kinds=v.kinds, memory=memory)


def _bytes_of(names: Sequence[str]) -> int:
    """Return what names take in memory."""
    return names.nbytes if isinstance(names, Names) else sys.getsizeof(names) + sum(map(sys.getsizeof, names))


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
    digest = hashlib.sha256(repr((walks, walker.options)).encode())
    if graph.kinds is not None:
        digest.update(repr(graph.kinds.names).encode() + graph.kinds.of.tobytes())
    digest.update("\n".join(graph.names).encode("utf-8", "surrogateescape"))
    for array in (graph.indptr, graph.indices, graph.weights):
        if array is not None:
            digest.update(np.ascontiguousarray(array).data)
    hint = ", or `graph='parts'` if each gives a part of the edges"
    _check_alike(communicator, digest.digest(), "graphs or options of walks", hint)


def _check_alike(communicator: Communicator, what: bytes, called: str, hint: str = "") -> None:
    """Raise on all hosts if they do not have the same."""
    other = first_other(communicator, hashlib.sha256(what).digest())
    if other is not None:
        raise SharedError(f"hosts 0 and {other} have different {called}; give all hosts the same{hint}")


def _renumber(ids: NDArray[np.int32], new: NDArray[np.int32]) -> None:
    """Replace vertices by their ids in V."""
    for at in range(0, len(ids), _CHUNK):
        ids[at : at + _CHUNK] = new[ids[at : at + _CHUNK]]
