"""Vertices are numbered in the order in which they first occur."""

import numpy as np
from numpy.typing import NDArray

from any2vec.corpus.word_table import WordCounts
from any2vec.graph.csr import NONE, Edges
from any2vec.graph.graph import GROUP, Names
from any2vec.graph.name_writer import NameWriter, spelled
from any2vec.io.memory import zeros
from any2vec.llvm.compiled import njit

__all__ = ["number_vertices", "plain_names", "to_global"]


def number_vertices(edges: list[Edges], strings: WordCounts, highest: int) -> Names:
    """Replace codes (see parse.py) by vertices, in place, in the order of the text; `highest` is the largest code."""
    by_number, by_string = zeros(highest + 1, np.int32), zeros(len(strings), np.int32)
    vertices = 0
    for sources, targets, _ in edges:
        vertices = _number(sources, targets, by_number, by_string, vertices)
    codes = np.empty(vertices, np.int32)
    for table, sign, first in ((by_number, 1, 0), (by_string, -1, -1)):
        found = np.flatnonzero(table)
        codes[table[found] - 1] = first + sign * found
    return _names(codes, strings)


def plain_names(vertices: int) -> Names:
    """Return the names 0, 1, 2, ..."""
    return _names(np.arange(vertices, dtype=np.int32), WordCounts.of([], np.zeros(0, np.int64)))


def _names(codes: NDArray[np.int32], strings: WordCounts) -> Names:
    """Write the names that codes stand for."""
    writer = NameWriter()
    for first in range(0, len(codes), GROUP):
        group, lengths, arena = spelled(codes[first : first + GROUP], strings)
        writer.add(group, arena, np.append(0, np.cumsum(lengths)))
    return writer.names()


def to_global(codes: NDArray[np.int32], ids: NDArray[np.int32]) -> None:
    """Replace the codes of a block's strings by those of distinct strings."""
    strings = np.flatnonzero((codes < 0) & (codes != NONE))
    codes[strings] = -1 - ids[-1 - codes[strings]]


@njit(nogil=True, cache=True)
def _number(
    sources: NDArray[np.int32],
    targets: NDArray[np.int32],
    numbers: NDArray[np.int32],
    strings: NDArray[np.int32],
    vertices: int,
) -> int:
    """Replace codes by vertices; `numbers` and `strings` hold the vertex + 1 of each code, 0 if it has none yet."""
    for i in range(sources.size):
        for ends in (sources, targets):
            code = np.int64(ends[i])
            if code == NONE:
                continue
            table = numbers if code >= 0 else strings
            place = code if code >= 0 else -1 - code
            if table[place] == 0:
                vertices += 1
                table[place] = vertices
            ends[i] = table[place] - 1
    return vertices
