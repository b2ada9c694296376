"""`GraphShare`: a graph in parts, of which a host has the rows of some vertices."""

import math
import os
import warnings
from collections.abc import Mapping, Sequence
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
from any2vec.graph.graph import Graph, Kinds
from any2vec.graph.lines import read_blocks
from any2vec.graph.readers import FILE_FORMATS, GraphWarning, checked_format, files_of_graph, title_of
from any2vec.io.inputs import InputFile
from any2vec.io.memory import available, memory_errors, size


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
    """Return whether hosts are to have parts of the graph; all hosts call this, with the options of `read_graph`.

    Host 0 warns of a graph that may not fit; one that fits nowhere is an error.
    """
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
    name, files = files_of_graph(path, checked_format(options.get("format", "auto")), ReadOptions())
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
