"""From the parts of the edges that hosts read to the shares of the graph.

The edges are read twice. First each host counts what its part adds to each row; hosts number the vertices, and cut them
by these counts. Then they send each entry to the host of its row. So besides its rows, a host holds only the few blocks
of edges that are under way.
"""

import json
from collections.abc import Sequence
from contextlib import closing
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from any2vec.cluster.communicator import Communicator, Counted, allreduce, exchange, from_host, together
from any2vec.errors import Any2VecError
from any2vec.graph.bipartite import mark_used, two_kinds
from any2vec.graph.build import check_edges, extended, header_noted, second_vertex, titled, with_vertices
from any2vec.graph.csr import CSR, Edges, settled
from any2vec.graph.graph import count_loops
from any2vec.graph.kinds import Kinds
from any2vec.graph.own_names import kinds_of_names
from any2vec.graph.reading import Reading
from any2vec.graph.shares.edge_parts import EdgePart
from any2vec.graph.shares.host_vertices import HostVertices
from any2vec.graph.shares.rows import RowBuilder, count_entries, entries_by_host, renumber
from any2vec.graph.shares.share import GraphShare, even_cuts
from any2vec.graph.undirected import both_noted
from any2vec.graph.vertex_kinds import read_kinds
from any2vec.graph.weights import times_noted
from any2vec.io.memory import memory_errors, zeros

__all__ = ["build_share"]

_NO_WEIGHTS = np.zeros(0, np.float32)
_FEW = 1 << 12  # vertices for which there is memory at first


def build_share(part: EdgePart, asked: Reading, communicator: Communicator) -> tuple[GraphShare, list[str]]:
    """Build a host's share, and say what the user should know of how the graph was read; collective."""
    directed, communicator = bool(asked.directed), Counted(communicator)
    with together(communicator), memory_errors(part.title):
        counted = _count(part, asked)
    numbered = _number(part, counted, asked, communicator)
    degrees = allreduce(communicator, numbered.lengths)
    names, kinds, noted = numbered.names, numbered.kinds, numbered.notes
    local = _Local(counted.vertices, numbered.sources, numbered.targets, counted.blocks)
    del counted, numbered
    cuts = even_cuts(degrees, communicator.size)
    with together(communicator), memory_errors(part.title):
        low, high = cuts[communicator.rank : communicator.rank + 2].tolist()
        builder = RowBuilder(low, degrees[low:high], weighted=part.weighted)
        del degrees
    in_order = not asked.merge and part.weighted
    _fill(builder, cuts, part, local, asked, communicator)
    del local
    with together(communicator), memory_errors(part.title), titled(part.title):
        csr = builder.finish(merge=asked.merge, in_order=in_order, threads=asked.options.threads)
    seen = _look(csr, builder.both, low, second_vertex(kinds), communicator)
    with together(communicator):
        check_edges(part.title, seen.entries, loops=asked.loops)
        with titled(part.title):
            csr = settled(csr, *seen.both)
    notes = part.notes(communicator) + noted
    notes += both_noted(part.title, (seen.entries - seen.loops) // 2, csr.once)
    if part.first:
        notes += header_noted(part.title, part.first, names, kinds, seen.rows, seen.into, directed=directed)
    if asked.vertices is not None:
        names = _more_names(part.title, names, kinds, asked, communicator)
        cuts[-1] = len(names)
        if communicator.rank == communicator.size - 1:
            csr = csr._replace(indptr=extended(csr.indptr, len(names) - low))
    if asked.kinds is not None or asked.kind_prefix is not None:
        kinds, more = _read_kinds(names, asked, communicator)
        notes += more
    edges = seen.entries if directed else (seen.entries + seen.loops) // 2
    whole = names, edges, seen.loops, directed, kinds, communicator.sent
    return GraphShare(cuts, communicator.rank, csr.indptr, csr.indices, csr.weights, *whole), notes


class _Counted(NamedTuple):
    """What a host's part has: vertices, and how many entries it adds to the row of each, with n of these."""

    vertices: HostVertices
    lengths: NDArray[np.int64]  # (n, 1), or (n, 2) as source and as target, if these are vertices of two kinds
    used: NDArray[np.bool_]  # then whether it is a source, and a target, shape (n, 2)
    edges: int
    blocks: int
    weights: tuple[float, float]  # the least and the largest


class _Numbered(NamedTuple):
    """Vertices of the graph, and what they are for a host's part."""

    lengths: NDArray[np.int64]  # entries that the part adds to each row, shape (V,)
    sources: NDArray[np.int32]  # the vertex that one of the part is as a source
    targets: NDArray[np.int32]  # and as a target
    names: Sequence[str]
    kinds: Kinds | None
    notes: list[str]  # on the weights


class _Local(NamedTuple):
    """A host's part, when vertices are numbered."""

    vertices: HostVertices
    sources: NDArray[np.int32]  # what each is as a source
    targets: NDArray[np.int32]
    blocks: int


class _Seen(NamedTuple):
    """What all rows have: entries, self loops, the rows of the first edge's ends (cut short), entries into these.

    `both` counts edges that are listed in both directions: with equal weights, and with others.
    """

    entries: int
    loops: int
    into: int
    rows: list[list[int]]
    both: tuple[int, int]


def _apart(part: EdgePart, asked: Reading) -> bool:
    """Whether sources and targets are vertices of two kinds."""
    return bool(asked.options.bipartite) and not part.typed


def _count(part: EdgePart, asked: Reading) -> _Counted:
    """Read a part for the first time."""
    vertices, apart = HostVertices(), _apart(part, asked)
    lengths, used = zeros((_FEW, 1 + apart), np.int64), zeros((_FEW, 2), np.bool_)
    count = number = 0
    low, high = np.inf, 0.0
    with closing(part.blocks()) as blocks:
        for edges in blocks:
            vertices.add(edges, len(part.strings))
            lengths = _grown(lengths, len(vertices))
            count_entries(edges.sources, edges.targets, lengths, apart, not asked.directed, asked.loops)
            if apart:
                used = _grown(used, len(vertices))
                mark_used(edges, used.T)
            if edges.weights is not None and len(edges.weights):
                low, high = min(low, float(edges.weights.min())), max(high, float(edges.weights.max()))
            count += len(edges.sources)
            number += 1
    return _Counted(vertices, lengths[: len(vertices)], used[: len(vertices)], count, number, (low, high))


def _grown(array: NDArray[Any], rows: int) -> NDArray[Any]:
    """Return an array of at least so many rows that begins as another."""
    if rows <= len(array):
        return array
    grown = zeros((max(rows, 2 * len(array)), *array.shape[1:]), array.dtype.type)
    grown[: len(array)] = array
    return grown


def _number(part: EdgePart, counted: _Counted, asked: Reading, communicator: Communicator) -> _Numbered:
    """Give vertices of all hosts their numbers; raise if there are no edges."""
    found = int(allreduce(communicator, np.array([counted.edges]))[0])
    spans = communicator.allgather(np.array(counted.weights))
    with together(communicator):
        if not found:
            raise Any2VecError(f"{part.title}: has no edges; expected at least one")
        notes = times_noted(part.title, float(spans[:, 0].min()), float(spans[:, 1].max()), asked.options.weighted)
    numbers, names = counted.vertices.share(communicator, part.strings)
    if _apart(part, asked):
        used = np.zeros((2, len(names)), np.bool_)
        used[:, numbers] = counted.used.T
        of = asked.options.bipartite or True
        new, names, kinds = two_kinds(names, allreduce(communicator, used), of, part.columns)
        lengths = zeros(len(names), np.int64)
        for side in (0, 1):
            own = counted.used[:, side]
            lengths[new[side, numbers[own]]] = counted.lengths[own, side]
        return _Numbered(lengths, new[0, numbers], new[1, numbers], names, kinds, notes)
    with together(communicator):
        typed = kinds_of_names(names) if part.typed else None
    lengths = zeros(len(names), np.int64)
    lengths[numbers] = counted.lengths[:, 0]
    return _Numbered(lengths, numbers, numbers, names, typed, notes)


def _fill(
    builder: RowBuilder,
    cuts: NDArray[np.int64],
    part: EdgePart,
    local: _Local,
    asked: Reading,
    communicator: Communicator,
) -> None:
    """Read a part again, and send its entries, a block at a time, to the hosts of their rows.

    If equal edges are not merged, their weights stay in the order of the text, so hosts take turns.
    """
    blocks = communicator.allgather(np.array([local.blocks]))[:, 0].tolist()
    in_turn = not asked.merge and part.weighted
    turns = [[host] for host in range(communicator.size)] if in_turn else [list(range(communicator.size))]
    nothing = np.zeros((0, 2 + part.weighted), np.int32), np.zeros(communicator.size, np.int64)
    known = len(local.vertices)
    problem: Any2VecError | None = None
    changed = Any2VecError(f"{part.title}: changed while it was read; start again")
    with closing(part.blocks()) as mine:
        for turn in turns:
            for _ in range(max(blocks[host] for host in turn)):
                sent = nothing
                if communicator.rank in turn and problem is None:
                    try:
                        with memory_errors(part.title):
                            sent = _next_entries(next(mine, None), cuts, part, local, asked) or nothing
                    except Any2VecError as error:
                        problem = error  # the others go on: it is raised on all hosts at the end
                came, _ = exchange(communicator, *sent)
                if not builder.place(came) or len(local.vertices) > known:
                    problem = problem or changed
        with together(communicator):
            if problem is not None:
                raise problem
            if next(mine, None) is not None or not builder.complete():
                raise changed


def _next_entries(
    edges: Edges | None,
    cuts: NDArray[np.int64],
    part: EdgePart,
    local: _Local,
    asked: Reading,
) -> tuple[NDArray[np.int32], NDArray[np.int64]] | None:
    """Return the entries of a block, in the order of the hosts of their rows, and how many there are for each host."""
    if edges is None:
        return None
    known = len(local.vertices)
    local.vertices.add(edges, len(part.strings))
    if len(local.vertices) > known:
        return None
    both = not asked.directed
    entries = np.empty((len(edges.sources) * (1 + both), 2 + part.weighted), np.int32)
    counts = np.zeros(len(cuts) - 1, np.int64)
    weights = _NO_WEIGHTS if edges.weights is None else edges.weights
    renumber(edges.sources, local.sources)
    renumber(edges.targets, local.targets)
    entries_by_host(edges.sources, edges.targets, weights, cuts, both, asked.loops, asked.merge, entries, counts)
    return entries, counts


def _look(csr: CSR, both: NDArray[np.int64], first: int, second: int, communicator: Communicator) -> _Seen:
    """Look at the rows of all hosts, of which this one's are those of vertices `first` on."""
    mine = np.zeros(9, np.int64)
    mine[:3] = len(csr.indices), count_loops(csr.indptr, csr.indices, first), 0
    mine[7:] = both
    for low in range(0, len(csr.indices), 1 << 20):
        some = csr.indices[low : low + (1 << 20)]
        mine[2] += np.count_nonzero((some == 0) | (some == second))
    for place, vertex in ((3, 0), (5, second)):
        if first <= vertex < first + len(csr.indptr) - 1:
            begin, end = csr.indptr[vertex - first : vertex - first + 2].tolist()
            mine[place] = end - begin
            mine[place + 1] = csr.indices[begin] if end > begin else 0
    entries, loops, into, *ends, equal, others = allreduce(communicator, mine).tolist()
    rows = [[neighbour, -1][: min(length, 2)] for length, neighbour in (ends[:2], ends[2:])]
    return _Seen(entries, loops, into, rows, (equal, others))


def _more_names(
    title: str, names: Sequence[str], kinds: Kinds | None, asked: Reading, communicator: Communicator
) -> list[str]:
    """Return the names of vertices with those that host 0 is asked to add."""
    more: list[str] = []
    with together(communicator):
        if communicator.rank == 0 and asked.vertices is not None:
            more = with_vertices(title, names, kinds, asked.vertices)[len(names) :]
    text = from_host(communicator, 0, np.frombuffer(json.dumps(more).encode(), np.uint8))
    return [*names, *json.loads(text.tobytes())]


def _read_kinds(names: Sequence[str], asked: Reading, communicator: Communicator) -> tuple[Kinds, list[str]]:
    """Read the kinds of vertices on host 0, which also says what the user should know."""
    kinds, notes = Kinds((), np.zeros(0, np.uint8)), list[str]()
    with together(communicator), memory_errors("the kinds of vertices"):
        if communicator.rank == 0:
            kinds, notes = read_kinds(names, asked.kinds, asked.kind_prefix, asked.options)
    text = from_host(communicator, 0, np.frombuffer(json.dumps(kinds.names).encode(), np.uint8))
    return Kinds(tuple(json.loads(text.tobytes())), from_host(communicator, 0, kinds.of)), notes
