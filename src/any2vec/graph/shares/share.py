"""`GraphShare`: a graph in parts, of which a host has the rows of some vertices; how rows are built.

Edges come in any order: entries are placed, then sorted and merged where they are. An entry is its column, and in a
weighted graph above the bits of its weight, in one integer of 64 bits: as weights are positive, these are in order, so
a sorted row does not depend on the order in which entries came. Weights with a sign (see `entries_by_host`) follow
those without. No second copy of the entries is in memory.
"""

import math
import os
import warnings
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from any2vec.cluster.communicator import Communicator, SharedError, together
from any2vec.cluster.machine import hosts_here
from any2vec.errors import Any2VecError
from any2vec.graph.build import ReadOptions
from any2vec.graph.csr import CSR, NONE, Floats, Ints, Longs, merged
from any2vec.graph.graph import Graph, Kinds
from any2vec.graph.parse import read_blocks
from any2vec.graph.readers import FILE_FORMATS, GraphWarning, checked_format, files_of_graph, title_of
from any2vec.io.inputs import InputFile
from any2vec.io.memory import available, memory_errors, release, size, zeros
from any2vec.llvm.compiled import njit


@dataclass(frozen=True, eq=False, repr=False)
class GraphShare:
    """A host's share of a graph: the rows of a range of vertices, as `Graph` has them."""

    cuts: NDArray[np.int64]  # host h has vertices cuts[h] to cuts[h + 1] - 1
    rank: int  # this host
    indptr: NDArray[np.int64]  # of this host's vertices, counted from 0
    indices: NDArray[np.int32]  # neighbours, vertices of the whole graph
    weights: NDArray[np.float32] | None
    names: Sequence[str]  # of all vertices
    edges: int  # of the whole graph, an undirected one counted once
    loops: int  # self loops among them
    directed: bool = False
    kinds: Kinds | None = None  # of all vertices
    sent: int = 0  # bytes that this host sent to others while they read the graph

    def __len__(self) -> int:
        return int(self.cuts[-1])

    def __repr__(self) -> str:
        low, high = self.cuts[self.rank : self.rank + 2].tolist()
        return f"<GraphShare: {high - low:,} of {len(self):,} vertices, from {low:,} on>"


def even_cuts(degrees: NDArray[np.int64], hosts: int) -> NDArray[np.int64]:
    """Cut vertices so that each host has about as many neighbours, counting one more for each vertex."""
    ends = np.append(0, np.cumsum(degrees + 1))
    cuts = np.searchsorted(ends, ends[-1] * np.arange(hosts + 1) / hosts).astype(np.int64)
    cuts[-1] = len(degrees)
    return cuts


def cut_graph(graph: Graph, hosts: int, rank: int) -> GraphShare:
    """Return a host's share of a graph that it has as a whole."""
    cuts = even_cuts(graph.degrees, hosts)
    low, high = cuts[rank : rank + 2].tolist()
    begin, end = graph.indptr[[low, high]].tolist()
    indptr, indices = graph.indptr[low : high + 1] - begin, graph.indices[begin:end].copy()
    weights = None if graph.weights is None else graph.weights[begin:end].copy()
    whole = graph.names, graph.edges, graph.loops, graph.directed, graph.kinds
    return GraphShare(cuts, rank, indptr, indices, weights, *whole)


GRAPHS = ("auto", "whole", "parts")
"""Where a graph is; the first is usual."""

_LOOKED_AT = 1 << 20  # bytes of a file
_PACKED = 4  # times the bytes of a compressed text
_WHOLE, _PART = 2.5, 1.3  # times its rows: what a host takes that reads a whole graph, or a part
_REPEATED = 2  # times that edges are usually listed, at most: once in each direction


def in_parts(source: Any, graph: str, communicator: Communicator, options: Mapping[str, Any]) -> bool:
    """Return whether hosts are to have parts of the graph; collective. Warn if it may not fit, raise if it cannot."""
    hosts, needs, has = communicator.size, 0, available(*hosts_here(communicator))
    with together(communicator), memory_errors(title_of(source)):
        if isinstance(source, str | os.PathLike):
            needs = _estimated(source, options, hosts)
    found = communicator.allgather(np.array([needs, has]))
    needs, has = int(found[:, 0].max()), int(found[:, 1].min())
    parts = graph == "parts" or (graph == "auto" and hosts > 1 and _WHOLE * needs > has)
    takes = needs // hosts if parts else needs
    needed = int((_PART if parts else _WHOLE) * takes)
    if needed > has:
        enough = math.ceil(_PART * needs / max(1, has))
        where = f"on each of {hosts} hosts, which have" if hosts > 1 else "of memory, and there are"
        what = f"{source}: the graph needs about {size(needed, memory=True)} {where} {size(has, memory=True)}"
        more = "with as much" if parts else "with `graph='parts'`"
        what += f"; {enough:,} hosts {more} would do"
        if takes > _REPEATED * has:
            raise SharedError(what)
        if communicator.rank == 0:
            warnings.warn(what, GraphWarning, stacklevel=2)
    return parts


def _estimated(path: str | os.PathLike[str], options: Mapping[str, Any], hosts: int) -> int:
    """Estimate the bytes of a graph's rows from the size of its files and the first lines; 0 if nothing is known."""
    name, files = files_of_graph(path, ReadOptions(checked_format(options.get("format", "auto"))))
    for file in files:
        if hosts > 1 and file.size is None:
            raise Any2VecError(f"{file.name}: each host of a cluster reads the graph, which needs a file; give a file")
    if FILE_FORMATS[name].part is None:
        return 0
    ends = 1 if options.get("directed") or options.get("bipartite") else 2
    count = _edges_of_parquet if name == "parquet" else partial(_edges_of_text, adjacency=name == "adjacency")
    twice = options.get("weighted") is not False  # weights take as much as neighbours
    return 4 * ends * sum(edges * (2 if weighted and twice else 1) for edges, weighted in map(count, files))


def _edges_of_text(file: InputFile, *, adjacency: bool) -> tuple[int, bool]:
    """Estimate the edges of a file; return also whether they seem to have weights."""
    if file.size is None:
        return 0, False
    with closing(read_blocks(file, _LOOKED_AT)) as blocks:
        block = next(blocks, None)
    if block is None:
        return 0, False
    text = block.text[block.begin : block.end].tobytes()
    lines = text.split(b"\n")[:-1]
    fields = [max(len(line.split()), line.count(b",") + 1) for line in lines]
    edges = sum(fields) - len(lines) if adjacency else len(lines)
    unpacked = file.size * (_PACKED if file.compression else 1)
    return int(unpacked * edges / len(text)), not adjacency and fields[-1] > 2


def _edges_of_parquet(file: InputFile) -> tuple[int, bool]:
    try:
        from pyarrow.parquet import read_metadata

        found = read_metadata(file.path)
        return int(found.num_rows), found.num_columns > 2
    except (ImportError, OSError, ValueError):  # whoever reads the file says so
        return 0, False


_LONG = 1 << 14  # entries of a row from which NumPy sorts it: never in quadratic time
_COPIED = 1 << 20  # entries copied at a time
_LOW, _HIGH = np.uint64(0xFFFFFFFF), np.uint64(32)
_MINUS = np.int32(-(2**31))


class RowBuilder:
    """Collects the entries of the rows of vertices `first` on, of which it is known how many each row gets."""

    def __init__(self, first: int, lengths: Longs, *, weighted: bool) -> None:
        self._first, self._weighted = first, weighted
        self._indptr = zeros(len(lengths) + 1, np.int64)
        np.cumsum(lengths, out=self._indptr[1:])
        self._cursor = self._indptr[:-1].copy()
        self._entries = zeros(int(self._indptr[-1]), np.uint64 if weighted else np.int32)

    def place(self, rows: Ints) -> bool:
        """Place entries: row, column and, if there are weights, the bits of one; return whether there can be such."""
        return bool(_place(rows, self._first, self._cursor, self._entries))

    def complete(self) -> bool:
        """Return whether each row got as many entries as it was to get."""
        return bool((self._cursor == self._indptr[1:]).all())

    def finish(self, *, merge: bool, in_order: bool, threads: int) -> CSR:
        """Sort the rows, and merge equal entries (`both` is then that of `merged`) or keep them, perhaps `in_order`."""
        del self._cursor
        indptr, entries = self._indptr, self._entries
        del self._entries
        if in_order:
            _sort_stably(indptr, entries)
        else:
            _sort_rows(indptr, entries, threads)
        csr = _unpacked(indptr, entries) if self._weighted else CSR(indptr, entries, None)
        self.both = np.zeros(2, np.int64)
        if merge:
            csr, self.both = merged(csr, self._first)
        return csr


def _unpacked(indptr: Longs, entries: NDArray[np.uint64]) -> CSR:
    """Take entries apart, giving back their memory."""
    indices, weights = zeros(len(entries), np.int32), zeros(len(entries), np.float32)
    for low in range(0, len(entries), _COPIED):
        some = entries[low : low + _COPIED]
        weights[low : low + _COPIED] = (some & _LOW).astype(np.uint32).view(np.float32)
        indices[low : low + _COPIED] = some >> _HIGH
        release(entries, 0, low + len(some))
    return CSR(indptr, indices, weights)


def _sort_rows(indptr: Longs, entries: NDArray[Any], threads: int) -> None:
    """Sort each row, on threads: ranges of rows with about as many entries each."""
    cuts = np.searchsorted(indptr, np.linspace(0, len(entries), 8 * threads + 1)[1:-1]).tolist()
    ranges = zip([0, *cuts], [*cuts, len(indptr) - 1], strict=True)
    work = [partial(_sort, indptr, entries, *some) for some in ranges]
    long = np.flatnonzero(np.diff(indptr) >= _LONG).tolist()
    work += [partial(entries[indptr[row] : indptr[row + 1]].sort) for row in long]
    if threads == 1 or len(entries) < _COPIED:
        for sort in work:
            sort()
        return
    with ThreadPoolExecutor(threads, thread_name_prefix="any2vec-graph") as executor:
        for done in [executor.submit(sort) for sort in work[::-1]]:  # long rows first
            done.result()


@njit(nogil=True, cache=True)
def _sort(indptr: Longs, entries: NDArray[Any], low: int, high: int) -> None:
    """Sort the rows `low` to ``high - 1`` that are not long."""
    for row in range(low, high):
        begin, end = indptr[row], indptr[row + 1]
        if 1 < end - begin < _LONG:
            entries[begin:end].sort()


@njit(nogil=True, cache=True)
def _sort_stably(indptr: Longs, entries: NDArray[np.uint64]) -> None:
    """Sort each row by column alone."""
    for row in range(indptr.size - 1):
        some = entries[indptr[row] : indptr[row + 1]]
        some[:] = some[np.argsort(some >> _HIGH, kind="mergesort")]


@njit(nogil=True, cache=True)
def _place(rows: Ints, first: int, cursor: Longs, entries: NDArray[Any]) -> bool:
    for i in range(rows.shape[0]):
        row = rows[i, 0] - first
        if row < 0 or row >= cursor.size or cursor[row] >= entries.size:
            return False
        if rows.shape[1] == 3:
            entries[cursor[row]] = (np.uint64(rows[i, 1]) << _HIGH) | (np.uint64(rows[i, 2]) & _LOW)
        else:
            entries[cursor[row]] = rows[i, 1]
        cursor[row] += 1
    return True


@njit(nogil=True, cache=True)
def count_entries(sources: Ints, targets: Ints, lengths: Longs, apart: bool, both: bool, loops: bool) -> None:
    """Count the entries that edges make in the rows of their sources (column 0) and targets (column 0, or 1 if apart).

    If sources and targets are vertices `apart`, no edge is a self loop; else one counts once. `both` ends get an entry,
    or only the source.
    """
    other = 1 if apart else 0
    for i in range(sources.size):
        source, target = sources[i], targets[i]
        loop = not apart and source == target
        if target == NONE or (loop and not loops):
            continue
        lengths[source, 0] += 1
        if both and not loop:
            lengths[target, other] += 1


@njit(nogil=True, cache=True)
def _host_of(row: int, cuts: Longs) -> int:
    """Return the host that has a row: the last whose cut is not after it."""
    low, high = 0, cuts.size - 1
    while high - low > 1:
        middle = (low + high) // 2
        if cuts[middle] <= row:
            low = middle
        else:
            high = middle
    return low


@njit(nogil=True, cache=True)
def entries_by_host(
    sources: Ints,
    targets: Ints,
    weights: Floats,
    cuts: Longs,
    both: bool,
    loops: bool,
    merge: bool,
    entries: Ints,
    counts: Longs,
) -> None:
    """Write the entries of edges, as `RowBuilder` takes them, in the order of the hosts of their rows; count these.

    A host has the vertices from its cut to the next. Weights of edges that `merge` will take together get a sign if an
    undirected edge is listed from its larger end.
    """
    bits = weights.view(np.int32)
    for i in range(sources.size):
        loop = sources[i] == targets[i]
        if targets[i] != NONE and (loops or not loop):
            counts[_host_of(sources[i], cuts)] += 1
            if both and not loop:
                counts[_host_of(targets[i], cuts)] += 1
    starts = np.zeros(counts.size, np.int64)
    for host in range(1, counts.size):
        starts[host] = starts[host - 1] + counts[host - 1]
    for i in range(sources.size):
        row, column = sources[i], targets[i]
        loop = row == column
        if column == NONE or (loop and not loops):
            continue
        for _ in range(2 if both and not loop else 1):
            host = _host_of(row, cuts)
            place = starts[host]
            starts[host] = place + 1
            entries[place, 0], entries[place, 1] = row, column
            if bits.size > 0:
                entries[place, 2] = bits[i] ^ _MINUS if both and merge and sources[i] > targets[i] else bits[i]
            row, column = column, row


@njit(nogil=True, cache=True)
def renumber(codes: Ints, numbers: Ints) -> None:
    """Replace vertices by their numbers, in place."""
    for i in range(codes.size):
        if codes[i] != NONE:
            codes[i] = numbers[codes[i]]
