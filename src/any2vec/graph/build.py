"""What every source is asked (`ReadOptions`) and answers (`EdgeTable`), and the graph made from it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from any2vec.errors import Any2VecError
from any2vec.graph.csr import CSR, Edges, build_csr
from any2vec.graph.graph import Graph
from any2vec.graph.kinds import Kinds
from any2vec.graph.names import names_of_vertices
from any2vec.graph.text import HEADER, quoted
from any2vec.io.memory import zeros

__all__ = ["EdgeTable", "ReadOptions", "build_graph"]


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


def build_graph(
    table: EdgeTable, *, directed: bool | None, merge: bool, loops: bool, vertices: Iterable[Any] | None, threads: int
) -> Graph:
    """Build a graph with the options of `read_graph`; empties the table's list of edges to free memory early."""
    directed = bool(table.directed) if directed is None else directed
    if not any(len(edges.sources) for edges in table.edges):
        raise Any2VecError(f"{table.name}: has no edges; expected at least one")
    try:
        csr = build_csr(table.edges, len(table.names), directed=directed, merge=merge, loops=loops, threads=threads)
    except Any2VecError as error:
        raise Any2VecError(f"{table.name}: {error}") from error
    if len(csr.indices) == 0:
        dropped = "" if loops else " other than self loops, which `loops=False` drops"
        raise Any2VecError(f"{table.name}: has no edges{dropped}; expected at least one")
    names = table.names
    if table.first and _once_only(names, csr, table.kinds, directed=directed):
        line = quoted(table.first)
        table.notes.append(f"{table.name}: the vertices of the first line, {line}, are in no other; {HEADER}")
    kinds = table.kinds
    if vertices is not None:
        names, csr = _add_vertices(names, csr, vertices)
        if kinds is not None and len(names) > len(kinds):
            why = "vertices of this graph have kinds, and those that `vertices` adds have none"
            raise Any2VecError(f"`vertices`: {names[len(kinds)]!r} is not in {table.name}; {why}; leave it out")
    return Graph(csr.indptr, csr.indices, csr.weights, names, directed, kinds)


def _once_only(names: Sequence[str], csr: CSR, kinds: Kinds | None, *, directed: bool) -> bool:
    """Whether the first edge looks like a header: words that are in no other edge."""
    if len(names) < 4 or not (len(names) > 4 or names[2][:1].isdigit()):  # two edges of words are no evidence
        return False
    second = 1 if kinds is None else int(kinds.counts[0])  # the target of the first edge
    rows = [csr.indices[csr.indptr[i] : csr.indptr[i + 1]].tolist() for i in (0, second)]
    if rows != [[second], [] if directed else [0]]:
        return False
    own = [names[i] if kinds is None else names[i].removeprefix(f"{kinds[i]}:") for i in (0, second)]
    if any(name.lstrip("+-")[:1].isdigit() for name in own):
        return False
    return not directed or int(np.count_nonzero((csr.indices == 0) | (csr.indices == second))) == 1


def _add_vertices(names: Sequence[str], csr: CSR, vertices: Iterable[Any]) -> tuple[list[str], CSR]:
    names = list(dict.fromkeys((*names, *names_of_vertices(vertices, "`vertices`"))))
    indptr = zeros(len(names) + 1, np.int64)
    indptr[: len(csr.indptr)] = csr.indptr
    indptr[len(csr.indptr) :] = csr.indptr[-1]
    return names, csr._replace(indptr=indptr)
