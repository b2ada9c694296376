"""Vertices get their numbers in the order in which they first occur."""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from any2vec.corpus.word_table import WordCounts
from any2vec.graph.csr import NONE, Edges
from any2vec.graph.graph import Names
from any2vec.io.memory import zeros

__all__ = ["localize", "number", "plain_names"]


def number(edges: list[Edges], strings: WordCounts, highest: int) -> Names:
    """Replace codes by vertices, in place.

    Parameters
    ----------
    edges : list of Edges
        In the order of the text; their ends are codes: a number itself, or -k - 1 for string k.
    strings : WordCounts
        Distinct strings.
    highest : int
        Largest code.

    Returns
    -------
    Names
        Of the vertices.
    """
    number_vertices, string_vertices = zeros(highest + 1, np.int32), zeros(len(strings), np.int32)
    vertices = 0
    for sources, targets, _ in edges:
        vertices = _number(sources, targets, number_vertices, string_vertices, vertices)
    starts = zeros(vertices + 1, np.int64)
    _measure(number_vertices, string_vertices, strings.starts, starts)
    np.cumsum(starts, out=starts)
    arena = zeros(int(starts[-1]), np.uint8)
    _write(number_vertices, string_vertices, strings.arena, strings.starts, starts, arena)
    return Names(arena, starts)


def plain_names(vertices: int) -> Names:
    """Return the names 0, 1, 2, ..."""
    ids, none = np.arange(1, vertices + 1, dtype=np.int32), np.zeros(0, np.int32)
    starts = zeros(vertices + 1, np.int64)
    nothing = np.zeros(1, np.int64)
    _measure(ids, none, nothing, starts)
    np.cumsum(starts, out=starts)
    arena = zeros(int(starts[-1]), np.uint8)
    _write(ids, none, np.zeros(1, np.uint8), nothing, starts, arena)
    return Names(arena, starts)


@njit(nogil=True, cache=True)
def localize(codes: NDArray[np.int32], ids: NDArray[np.int32]) -> None:
    """Turn strings by place of occurrence into distinct strings."""
    for i in range(codes.size):
        if codes[i] < 0 and codes[i] != NONE:
            codes[i] = -1 - ids[-1 - codes[i]]


@njit(nogil=True, cache=True)
def _number(
    sources: NDArray[np.int32],
    targets: NDArray[np.int32],
    numbers: NDArray[np.int32],
    strings: NDArray[np.int32],
    vertices: int,
) -> int:
    """Replace codes by vertices; `numbers` and `strings` hold the vertex + 1 of each, 0 if it has none yet."""
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


@njit(nogil=True, cache=True)
def _measure(
    numbers: NDArray[np.int32], strings: NDArray[np.int32], string_starts: NDArray[np.int64], lengths: NDArray[np.int64]
) -> None:
    """Write how many bytes each name takes, and one behind it, at the place behind its own."""
    length, bound = 2, 10
    for value in range(numbers.size):
        if value == bound:
            length += 1
            bound *= 10
        if numbers[value] > 0:
            lengths[numbers[value]] = length
    for i in range(strings.size):
        if strings[i] > 0:
            lengths[strings[i]] = string_starts[i + 1] - string_starts[i]


@njit(nogil=True, cache=True)
def _write(
    numbers: NDArray[np.int32],
    strings: NDArray[np.int32],
    string_arena: NDArray[np.uint8],
    string_starts: NDArray[np.int64],
    starts: NDArray[np.int64],
    arena: NDArray[np.uint8],
) -> None:
    """Write the names, each followed by a line feed."""
    for number in range(numbers.size):
        if numbers[number] > 0:
            place = starts[numbers[number]] - 1
            arena[place] = 10
            left = number
            while True:
                place -= 1
                arena[place] = 48 + left % 10
                left //= 10
                if left == 0:
                    break
    for i in range(strings.size):
        if strings[i] > 0:
            begin = starts[strings[i] - 1]
            for j in range(string_starts[i + 1] - string_starts[i]):
                arena[begin + j] = string_arena[string_starts[i] + j]
