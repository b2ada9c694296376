"""From the parts of the edges that hosts read to the shares of the graph.

The edges are read twice. First each host counts what its part adds to each row; hosts number the vertices, and cut them
by these counts. Then they send each entry to the host of its row. So besides its rows, a host holds only the few blocks
of edges that are under way.
"""

import json
import os
import warnings
from collections.abc import Callable, Sequence
from contextlib import closing
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from any2vec.cluster.communicator import Communicator, Counted, allreduce, exchange, from_host, together
from any2vec.cluster.local import is_simulated
from any2vec.cluster.machine import host_cores
from any2vec.corpus.blocks import check_same_fingerprint, corpus_fingerprint
from any2vec.errors import Any2VecError
from any2vec.graph import readers
from any2vec.graph.build import (
    EdgeTable,
    ReadOptions,
    check_edges,
    extended,
    first_edge_seen,
    header_noted,
    second_vertex,
    times_noted,
    titled,
    with_vertices,
)
from any2vec.graph.csr import NO_WEIGHTS, Edges, both_noted, settled
from any2vec.graph.graph import Kinds, count_loops
from any2vec.graph.numbering import HostVertices, given_names, grown, kinds_of_names
from any2vec.graph.reading import checked_options, mark_used, two_kinds
from any2vec.graph.shares.edge_parts import WHOLE, EdgePart, MemoryPart
from any2vec.graph.shares.share import GraphShare, RowBuilder, count_entries, entries_by_host, even_cuts, renumber
from any2vec.graph.sources.objects import from_array, from_pairs, from_table, refuse_lazy, refuse_view
from any2vec.graph.vertex_kinds import read_kinds
from any2vec.io.inputs import InputFile, check_unchanged
from any2vec.io.memory import memory_errors, zeros

_FEW = 1 << 12  # vertices for which there is memory at first


def _build_share(part: EdgePart, asked: ReadOptions, communicator: Communicator) -> tuple[GraphShare, list[str]]:
    """Build a host's share, and say what the user should know of how the graph was read; collective."""
    directed, communicator = bool(asked.directed), Counted(communicator)
    with together(communicator), memory_errors(part.title):
        counted = _count(part, asked)
    found = int(allreduce(communicator, np.array([counted.edges]))[0])
    spans = communicator.allgather(np.array(counted.weights))
    with together(communicator):
        if not found:
            raise Any2VecError(f"{part.title}: has no edges; expected at least one")
        noted = times_noted(part.title, float(spans[:, 0].min()), float(spans[:, 1].max()), asked.weighted)
    numbered = _number(part, counted, asked, communicator)
    degrees = allreduce(communicator, numbered.lengths)
    names, kinds = numbered.names, numbered.kinds
    known, ends, blocks = counted.vertices, (numbered.sources, numbered.targets), counted.blocks
    del counted, numbered
    cuts = even_cuts(degrees, communicator.size)
    with together(communicator), memory_errors(part.title):
        low, high = cuts[communicator.rank : communicator.rank + 2].tolist()
        builder = RowBuilder(low, degrees[low:high], weighted=part.weighted)
        del degrees
    in_order = not asked.merge and part.weighted
    to_hosts = partial(_entries, cuts=cuts, part=part, known=known, ends=ends, asked=asked)
    _fill(builder, to_hosts, blocks, part, in_order, communicator)
    del to_hosts, known, ends
    with together(communicator), memory_errors(part.title), titled(part.title):
        csr = builder.finish(merge=asked.merge, in_order=in_order, threads=asked.threads)
    mine = len(csr.indices), count_loops(csr.indptr, csr.indices, low), *builder.both
    of_all = allreduce(communicator, np.append(mine, first_edge_seen(csr, second_vertex(kinds), low)))
    entries, loops, *seen = of_all[[0, 1, 4, 5, 6, 7]].tolist()
    with together(communicator):
        check_edges(part.title, entries, loops=asked.loops)
        with titled(part.title):
            csr = settled(csr, of_all[2:4])
    notes = part.notes(communicator) + noted
    notes += both_noted(part.title, (entries - loops) // 2, csr.once)
    if part.first:
        notes += header_noted(part.title, part.first, names, kinds, seen, directed=directed)
    if asked.vertices is not None:
        names = _more_names(part.title, names, kinds, asked, communicator)
        cuts[-1] = len(names)
        if communicator.rank == communicator.size - 1:
            csr = csr._replace(indptr=extended(csr.indptr, len(names) - low))
    if asked.has_kinds:
        kinds, more = _read_kinds(names, asked, communicator)
        notes += more
    edges = entries if directed else (entries + loops) // 2
    whole = names, edges, loops, directed, kinds, communicator.sent
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


def _apart(part: EdgePart, asked: ReadOptions) -> bool:
    """Whether sources and targets are vertices of two kinds."""
    return bool(asked.bipartite) and not part.typed


def _count(part: EdgePart, asked: ReadOptions) -> _Counted:
    """Read a part for the first time."""
    vertices, apart = HostVertices(), _apart(part, asked)
    lengths, used = zeros((_FEW, 1 + apart), np.int64), zeros((_FEW, 2), np.bool_)
    count = number = 0
    low, high = np.inf, 0.0
    with closing(part.blocks()) as blocks:
        for edges in blocks:
            vertices.add(edges, len(part.strings))
            lengths = grown(lengths, len(vertices))
            count_entries(edges.sources, edges.targets, lengths, apart, not asked.directed, asked.loops)
            if apart:
                used = grown(used, len(vertices))
                mark_used(edges, used.T)
            if edges.weights is not None and len(edges.weights):
                low, high = min(low, float(edges.weights.min())), max(high, float(edges.weights.max()))
            count += len(edges.sources)
            number += 1
    return _Counted(vertices, lengths[: len(vertices)], used[: len(vertices)], count, number, (low, high))


def _number(part: EdgePart, counted: _Counted, asked: ReadOptions, communicator: Communicator) -> _Numbered:
    """Give vertices of all hosts their numbers."""
    numbers, names = counted.vertices.share(communicator, part.strings)
    if _apart(part, asked):
        used = np.zeros((2, len(names)), np.bool_)
        used[:, numbers] = counted.used.T
        of = asked.bipartite or True
        new, names, kinds = two_kinds(names, allreduce(communicator, used), of, part.columns)
        lengths = zeros(len(names), np.int64)
        for side in (0, 1):
            own = counted.used[:, side]
            lengths[new[side, numbers[own]]] = counted.lengths[own, side]
        return _Numbered(lengths, new[0, numbers], new[1, numbers], names, kinds)
    with together(communicator):
        typed = kinds_of_names(names) if part.typed else None
    lengths = zeros(len(names), np.int64)
    lengths[numbers] = counted.lengths[:, 0]
    return _Numbered(lengths, numbers, numbers, names, typed)


def _fill(
    builder: RowBuilder,
    entries: Callable[[Edges], tuple[NDArray[np.int32], NDArray[np.int64]]],
    own_blocks: int,
    part: EdgePart,
    in_turn: bool,
    communicator: Communicator,
) -> None:
    """Read a part again, and send its entries, a block at a time, to the hosts of their rows.

    Hosts take turns if weights must stay in the order of the text (`in_turn`), as equal edges are not merged.
    """
    blocks = communicator.allgather(np.array([own_blocks]))[:, 0].tolist()
    turns = [[host] for host in range(communicator.size)] if in_turn else [list(range(communicator.size))]
    nothing = np.zeros((0, 2 + part.weighted), np.int32), np.zeros(communicator.size, np.int64)
    problem: Any2VecError | None = None
    changed = _changed(part)
    with closing(part.blocks()) as mine:
        for turn in turns:
            for _ in range(max(blocks[host] for host in turn)):
                sent = nothing
                if communicator.rank in turn and problem is None:
                    try:
                        with memory_errors(part.title):
                            sent = nothing if (edges := next(mine, None)) is None else entries(edges)
                    except Any2VecError as error:
                        problem = error  # the others go on: it is raised on all hosts at the end
                came, _ = exchange(communicator, *sent)
                if not builder.place(came):
                    problem = problem or changed
        with together(communicator):
            if problem is not None:
                raise problem
            if next(mine, None) is not None or not builder.complete():
                raise changed


def _changed(part: EdgePart) -> Any2VecError:
    return Any2VecError(f"{part.title}: changed while it was read; start again")


def _entries(
    edges: Edges,
    cuts: NDArray[np.int64],
    part: EdgePart,
    known: HostVertices,
    ends: tuple[NDArray[np.int32], NDArray[np.int32]],
    asked: ReadOptions,
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return the entries of a block, in the order of the hosts of their rows, and how many there are for each host."""
    many = len(known)
    known.add(edges, len(part.strings))
    if len(known) > many:
        raise _changed(part)
    both = not asked.directed
    entries = np.empty((len(edges.sources) * (1 + both), 2 + part.weighted), np.int32)
    counts = np.zeros(len(cuts) - 1, np.int64)
    weights = NO_WEIGHTS if edges.weights is None else edges.weights
    renumber(edges.sources, ends[0])
    renumber(edges.targets, ends[1])
    entries_by_host(edges.sources, edges.targets, weights, cuts, both, asked.loops, asked.merge, entries, counts)
    return entries, counts


def _more_names(
    title: str, names: Sequence[str], kinds: Kinds | None, asked: ReadOptions, communicator: Communicator
) -> list[str]:
    """Return the names of vertices with those that host 0 is asked to add."""
    more: list[str] = []
    with together(communicator):
        if communicator.rank == 0 and asked.vertices is not None:
            more = with_vertices(title, names, kinds, asked.vertices)[len(names) :]
    text = from_host(communicator, 0, np.frombuffer(json.dumps(more).encode(), np.uint8))
    return [*names, *json.loads(text.tobytes())]


def _read_kinds(names: Sequence[str], asked: ReadOptions, communicator: Communicator) -> tuple[Kinds, list[str]]:
    """Read the kinds of vertices on host 0, which also says what the user should know."""
    kinds, notes = Kinds((), np.zeros(0, np.uint8)), list[str]()
    with together(communicator), memory_errors("the kinds of vertices"):
        if communicator.rank == 0:
            kinds, notes = read_kinds(names, asked)
    text = from_host(communicator, 0, np.frombuffer(json.dumps(kinds.names).encode(), np.uint8))
    return Kinds(tuple(json.loads(text.tobytes())), from_host(communicator, 0, kinds.of)), notes


_IN_PARTS = (from_table, from_array, from_pairs)  # readers of objects of which each host may give some edges
_FILE = "give its edges as a text or Parquet"


def read_share(source: Any, communicator: Communicator, *, threads: int | None = None, **options: Any) -> GraphShare:
    """Read a host's share of a graph; all hosts call this, with the same options.

    It is what `cut_graph` makes of what `read_graph` reads, except that vertices are cut by how often they are listed:
    where edges are listed several times, the cuts may differ. It is the same on any number of threads.

    Memory: besides what is per vertex, that of the rows of this host's vertices before equal edges are merged, and
    some tens of megabytes.

    `source` is a file, or a folder of files, of which every host reads its part (compressed text is unpacked by all
    hosts); or this host's edges: pairs or triples, a data frame, a table of Arrow, or an array of shape (E, 2). The
    edges of all hosts, in host order, are those of the graph; a host may have none.

    `options` are those of `read_graph`, whose errors are raised on all hosts; `vertices`, `kinds` and the file of kinds
    are those of host 0, which warns of what `read_graph` warns of.
    """
    cores = 1 if is_simulated(communicator) else host_cores(communicator)
    with together(communicator), memory_errors(readers.title_of(source)):
        form = readers.checked_format(options.pop("format", "auto"))
        asked = checked_options(source, format=form, threads=threads, **options)
        if threads is None or is_simulated(communicator):
            asked = asked._replace(threads=cores)
        reading = readers.source_options(source, asked)
        files, table = None, None
        if isinstance(source, str | os.PathLike):
            form, files = _files_in_parts(source, reading)
        else:
            table = _edges_in_memory(source, reading)
        mine = corpus_fingerprint(files, {"format": form, **_settings(asked)})
    with together(communicator):
        check_same_fingerprint(communicator, mine, "graphs")
    if table is not None:
        part: EdgePart = MemoryPart(table, communicator)
    with together(communicator), memory_errors(readers.title_of(source)):
        if files is not None:
            make = readers.FILE_FORMATS[form].part
            assert make is not None
            title = files[0].name if len(files) == 1 else os.fspath(source)
            part = make(files, reading, title, communicator)
        readers.check_columns(reading, part.title, part.columns)
        if asked.names is not None:
            given_names(asked.names, EdgeTable(part.title, [], []))
    share, notes = _build_share(part, asked, communicator)
    with together(communicator):
        check_unchanged(files or ())
    if communicator.rank == 0:
        for note in notes:
            warnings.warn(note, readers.GraphWarning, stacklevel=2)
    return share


def has_parts(path: str | os.PathLike[str], form: str = "auto") -> bool:
    """Return whether hosts can read a file, or a folder's files, in parts; raise if it is missing."""
    name, files = readers.files_of_graph(path, ReadOptions(readers.checked_format(form)))
    return readers.FILE_FORMATS[name].part is not None and all(file.size is not None for file in files)


def _files_in_parts(path: str | os.PathLike[str], options: ReadOptions) -> tuple[str, list[InputFile]]:
    """Return a file, or those of a folder, and their format; raise if they cannot be read in parts."""
    name, files = readers.files_of_graph(path, options)
    if readers.FILE_FORMATS[name].part is None:
        raise Any2VecError(f"{path}: the format {name} cannot be read in parts; {_FILE}, or {WHOLE}")
    for file in files:
        if file.path is None or file.size is None:
            raise Any2VecError(f"{file.name}: cannot be read in parts, as it is no regular file; give a file")
    return name, files


def _settings(asked: ReadOptions) -> dict[str, Any]:
    """Return the options that must be the same on all hosts."""
    not_compared = "format", "vertices", "kinds", "kind_prefix", "names", "threads", "block"
    options = {name: value for name, value in asked._asdict().items() if name not in not_compared}
    return options | {"kinds, kind_prefix": (asked.kinds is not None, asked.kind_prefix)}


def _edges_in_memory(source: Any, options: ReadOptions) -> EdgeTable:
    read = readers.object_reader(source)
    if read in _IN_PARTS or read in (refuse_view, refuse_lazy):  # the latter raise
        table = read(source, options)
        if table.numbered is None:
            return table
    raise Any2VecError(f"an object of type {type(source).__name__} cannot be read in parts; {_FILE}, or {WHOLE}")
