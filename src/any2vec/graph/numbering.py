"""Vertices are numbered in the order in which they first occur."""

import numpy as np
from numpy.typing import NDArray

from any2vec.corpus.word_table import WordCounts
from any2vec.graph.csr import NONE, Edges
from any2vec.graph.graph import Names
from any2vec.io.memory import zeros
from any2vec.llvm.compiled import njit

__all__ = ["number_vertices", "plain_names", "to_global"]


def number_vertices(edges: list[Edges], strings: WordCounts, highest: int) -> Names:
    """Replace codes (see parse.py) by vertices, in place, in the order of the text; `highest` is the largest code."""
    by_number, by_string = zeros(highest + 1, np.int32), zeros(len(strings), np.int32)
    vertices = 0
    for sources, targets, _ in edges:
        vertices = _number(sources, targets, by_number, by_string, vertices)
    return _names(by_number, by_string, strings.arena, strings.starts, vertices)


def plain_names(vertices: int) -> Names:
    """Return the names 0, 1, 2, ..."""
    numbers, strings = np.arange(1, vertices + 1, dtype=np.int32), np.zeros(0, np.int32)
    return _names(numbers, strings, np.zeros(1, np.uint8), np.zeros(1, np.int64), vertices)


def _names(
    by_number: NDArray[np.int32],
    by_string: NDArray[np.int32],
    string_arena: NDArray[np.uint8],
    string_starts: NDArray[np.int64],
    vertices: int,
) -> Names:
    """Write the names of vertices; `by_number` and `by_string` hold the vertex + 1 of each code, or 0."""
    starts = zeros(vertices + 1, np.int64)
    _measure(by_number, by_string, string_starts, starts)
    np.cumsum(starts, out=starts)
    arena = zeros(int(starts[-1]), np.uint8)
    _write(by_number, by_string, string_arena, string_starts, starts, arena)
    return Names(arena, starts)


@njit(nogil=True, cache=True)
def to_global(codes: NDArray[np.int32], ids: NDArray[np.int32]) -> None:
    """Replace the codes of a block's strings by those of distinct strings."""
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


@njit(nogil=True, cache=True)
def _measure(
    numbers: NDArray[np.int32], strings: NDArray[np.int32], string_starts: NDArray[np.int64], lengths: NDArray[np.int64]
) -> None:
    """Write the bytes of each name and its line feed, one place later: the cumulative sum is then `starts`."""
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
