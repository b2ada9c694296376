"""What every source is asked (`ReadOptions`) and answers (`EdgeTable`), and the graph made from it."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from any2vec.errors import Any2VecError
from any2vec.graph.csr import Edges, build_csr
from any2vec.graph.graph import Graph, count_loops
from any2vec.graph.kinds import Kinds
from any2vec.graph.names import names_of_vertices
from any2vec.graph.text import HEADER, quoted
from any2vec.graph.undirected import both_noted
from any2vec.io.memory import zeros

__all__ = [
    "EdgeTable",
    "ReadOptions",
    "build_graph",
    "check_edges",
    "extended",
    "header_noted",
    "second_vertex",
    "titled",
    "with_vertices",
]


class ReadOptions(NamedTuple):
    """How to read a source: options of `read_graph`, and the bytes of a block (None: by the file's size)."""

    directed: bool | None = None
    weighted: bool | None = None
    comments: str = "#%"
    delimiter: str | None = None
    header: bool = False
    key: str = "network"
    threads: int = 1
    block: int | None = None
    bipartite: bool | tuple[str, str] | None = None
    columns: tuple[str, ...] | None = None
    kind: str | None = None


@dataclass(eq=False)
class EdgeTable:
    """Edges as a source lists them, between the indices of `names`; `directed` if the source says so itself."""

    name: str  # of the source, for errors
    edges: list[Edges]
    names: Sequence[str]
    directed: bool | None = None
    notes: list[str] = field(default_factory=list)  # what the user should know of how it was read
    first: bytes = b""  # the first line of edges, of a file of text
    kinds: Kinds | None = None
    columns: tuple[str, str] | None = None  # what the ends of edges are called, in a table
    numbered: Sequence[tuple[str, int]] | None = None  # if vertices are numbered: the kinds in turn, and their sizes
    once: int = 0  # edges that it lists in both directions, and that are in `edges` once


def build_graph(
    table: EdgeTable, *, directed: bool | None, merge: bool, loops: bool, vertices: Iterable[Any] | None, threads: int
) -> Graph:
    """Build a graph with the options of `read_graph`; empties the table's list of edges to free memory early."""
    directed = bool(table.directed) if directed is None else directed
    if not any(len(edges.sources) for edges in table.edges):
        raise Any2VecError(f"{table.name}: has no edges; expected at least one")
    with titled(table.name):
        csr = build_csr(table.edges, len(table.names), directed=directed, merge=merge, loops=loops, threads=threads)
    check_edges(table.name, len(csr.indices), loops=loops)
    names, kinds = table.names, table.kinds
    if csr.weights is not None and (csr.once or table.once):
        pairs = (len(csr.indices) - count_loops(csr.indptr, csr.indices)) // 2
        table.notes += both_noted(table.name, pairs, csr.once + table.once)
    if table.first:
        second = second_vertex(kinds)
        rows = [csr.indices[csr.indptr[i] : csr.indptr[i + 1]].tolist() for i in (0, second) if i < len(names)]
        into = int(np.count_nonzero((csr.indices == 0) | (csr.indices == second))) if directed else 0
        table.notes += header_noted(table.name, table.first, names, kinds, rows, into, directed=directed)
    if vertices is not None:
        names = with_vertices(table.name, names, kinds, vertices)
        csr = csr._replace(indptr=extended(csr.indptr, len(names)))
    return Graph(csr.indptr, csr.indices, csr.weights, names, directed, kinds)


@contextmanager
def titled(name: str) -> Iterator[None]:
    """Let errors name the source."""
    try:
        yield
    except Any2VecError as error:
        raise Any2VecError(f"{name}: {error}") from error


def check_edges(name: str, entries: int, *, loops: bool) -> None:
    """Raise if a graph has no entries; `loops` says whether self loops count."""
    if entries == 0:
        dropped = "" if loops else " other than self loops, which `loops=False` drops"
        raise Any2VecError(f"{name}: has no edges{dropped}; expected at least one")


def second_vertex(kinds: Kinds | None) -> int:
    """Return the target of the first edge, if that is no self loop."""
    return 1 if kinds is None else int(kinds.counts[0])


def header_noted(
    name: str,
    line: bytes,
    names: Sequence[str],
    kinds: Kinds | None,
    rows: list[list[int]],
    into: int,
    *,
    directed: bool,
) -> list[str]:
    """Say for a warning if the first edge looks like a header: words that are in no other edge.

    `rows` are those of its two ends, and `into` how many entries of a directed graph are one of these.
    """
    if len(names) < 4 or not (len(names) > 4 or names[2][:1].isdigit()):  # two edges of words are no evidence
        return []
    second = second_vertex(kinds)
    if rows != [[second], [] if directed else [0]] or (directed and into != 1):
        return []
    own = [names[i] if kinds is None else names[i].removeprefix(f"{kinds[i]}:") for i in (0, second)]
    if any(name.lstrip("+-")[:1].isdigit() for name in own):
        return []
    return [f"{name}: the vertices of the first line, {quoted(line)}, are in no other; {HEADER}"]


def with_vertices(name: str, names: Sequence[str], kinds: Kinds | None, vertices: Iterable[Any]) -> list[str]:
    """Return the names of a graph's vertices, and after them those of others that it is to have."""
    every = list(dict.fromkeys((*names, *names_of_vertices(vertices, "`vertices`"))))
    if kinds is not None and len(every) > len(kinds):
        why = "vertices of this graph have kinds, and those that `vertices` adds have none"
        raise Any2VecError(f"`vertices`: {every[len(kinds)]!r} is not in {name}; {why}; leave it out")
    return every


def extended(indptr: NDArray[np.int64], rows: int) -> NDArray[np.int64]:
    """Append empty rows."""
    longer = zeros(rows + 1, np.int64)
    longer[: len(indptr)] = indptr
    longer[len(indptr) :] = indptr[-1]
    return longer
