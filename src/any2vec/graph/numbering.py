"""Vertices are numbered in the order in which they first occur; how numbers and kinds make names."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from any2vec.corpus.word_table import WordCounts, WordTable, copy_words
from any2vec.errors import Any2VecError, shown
from any2vec.graph.build import EdgeTable
from any2vec.graph.csr import NONE, Edges, Ints, Longs
from any2vec.graph.graph import GROUP, Kinds, Names
from any2vec.graph.names import names_of_vertices
from any2vec.io.memory import zeros
from any2vec.llvm.compiled import njit

NO_COLON = "expected a name without a colon, which ends the kind in the name of a vertex"


def numbered_names(kinds: Iterable[tuple[str, int]]) -> Names:
    """Return the names of vertices that are numbered from 0 within their kind: kinds with their numbers of vertices."""
    numbers = range(np.iinfo(np.int32).max)
    return names_by_kind((kind, numbers, np.arange(count)) for kind, count in kinds)


def names_by_kind(parts: Iterable[tuple[str, Sequence[Any], NDArray[Any]]]) -> Names:
    """Return the names of vertices of some kinds: of each kind, names and the places of its own among these."""
    arena, lengths = bytearray(), [np.zeros(1, np.int64)]
    for kind, names, places in parts:
        for first in range(0, len(places), GROUP):
            group = [f"{kind}:{names[i]}".encode() for i in places[first : first + GROUP].tolist()]
            lengths.append(np.fromiter((len(name) + 1 for name in group), np.int64, len(group)))
            arena += b"\n".join(group) + b"\n"
    return Names(np.frombuffer(arena, np.uint8), np.cumsum(np.concatenate(lengths)))


def kinds_in_turn(kinds: Sequence[tuple[str, int]]) -> Kinds:
    """Return the kinds of vertices that are ordered by kind."""
    counts = [count for _, count in kinds]
    return Kinds(tuple(kind for kind, _ in kinds), np.repeat(np.arange(len(kinds)), counts))


def kinds_of_names(names: Iterable[str]) -> Kinds:
    """Return the kinds of vertices whose names begin with them, and a colon."""
    return Kinds.of_vertices(name.partition(":")[0] for name in names)


def given_names(names: Any, table: EdgeTable) -> list[str]:
    """Return the names that the user gives the vertices of a source that numbers them, as many and distinct.

    `names` is a list; if the source has several kinds, lists in their order, or a dict of them.
    """
    kinds = table.numbered
    if kinds is None:
        which = "matrices, and of graphs of PyTorch Geometric and DGL"
        raise Any2VecError(f"{table.name}: its vertices have names; `names` is for those of {which}")
    if table.kinds is None:
        names = [names]
    elif isinstance(names, dict) and set(names) == {kind for kind, _ in kinds}:
        names = [names[kind] for kind, _ in kinds]
    if not isinstance(names, tuple | list) or len(names) != len(kinds):
        wanted = ", ".join(f"{count:,} of {kind}" for kind, count in kinds)
        raise Any2VecError(f"`names` is {shown(names)}; {table.name} needs {len(kinds)} lists: {wanted}")
    found: dict[str, str] = {}
    for (kind, count), several in zip(kinds, names, strict=True):
        of_kind = names_of_vertices(several, f"`names` of {kind}")
        if len(of_kind) != count:
            raise Any2VecError(f"`names` of {kind}: {len(of_kind):,} are given; {table.name} has {count:,}")
        for name in of_kind:
            if name in found:
                both = f"two of {kind}" if found[name] == kind else f"one of {found[name]} and one of {kind}"
                raise Any2VecError(f"`names`: {both} are called {name!r}; give each its own, such as {kind}:{name}")
            found[name] = kind
    return list(found)


class NameWriter:
    """Writes the names that codes stand for."""

    def __init__(self) -> None:
        self._arena = bytearray()
        self._lengths = [np.zeros(1, np.int64)]
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def add(self, codes: Ints, arena: NDArray[np.uint8], ends: Longs) -> None:
        """Add numbers, and in place of each code below 0 the next word of an arena."""
        lengths = np.empty(len(codes), np.int64)
        text = np.empty(int(_measure(codes, ends, lengths)), np.uint8)
        _write(codes, arena, ends, text)
        self._arena += text.data
        self._lengths.append(lengths)
        self._count += len(codes)

    def names(self) -> Names:
        """Return all names."""
        starts = np.concatenate(self._lengths)
        np.cumsum(starts, out=starts)
        return Names(np.frombuffer(self._arena, np.uint8), starts)


def spelled(codes: Ints, strings: WordTable | WordCounts) -> tuple[Ints, Longs, NDArray[np.uint8]]:
    """Return codes with -1 in place of -k - 1 for string k, and these strings' lengths (with a line feed) and bytes."""
    places = -1 - codes[codes < 0].astype(np.int64)
    lengths = strings.starts[places + 1] - strings.starts[places]
    ends = np.append(0, np.cumsum(lengths))
    arena = np.empty(int(ends[-1]), np.uint8)
    copy_words(strings.arena, strings.starts, places, arena, ends)
    return np.maximum(codes, -1), lengths, arena


@njit(nogil=True, cache=True)
def _measure(codes: Ints, ends: Longs, lengths: Longs) -> int:
    """Write the length of each name, with one byte more, and return their sum."""
    word = total = 0
    for i in range(codes.size):
        if codes[i] < 0:
            lengths[i] = ends[word + 1] - ends[word]
            word += 1
        else:
            rest, digits = codes[i] // 10, 1
            while rest > 0:
                rest //= 10
                digits += 1
            lengths[i] = digits + 1
        total += int(lengths[i])
    return total


@njit(nogil=True, cache=True)
def _write(codes: Ints, arena: NDArray[np.uint8], ends: Longs, text: NDArray[np.uint8]) -> None:
    """Write names, each followed by a line feed."""
    word = at = 0
    for i in range(codes.size):
        if codes[i] < 0:
            for j in range(ends[word], ends[word + 1]):
                text[at] = arena[j]
                at += 1
            word += 1
            continue
        rest, digits = codes[i] // 10, 1
        while rest > 0:
            rest //= 10
            digits += 1
        rest = codes[i]
        for j in range(digits):
            text[at + digits - 1 - j] = 48 + rest % 10
            rest //= 10
        text[at + digits] = 10
        at += digits + 1


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


def _names(codes: Ints, strings: WordCounts) -> Names:
    """Write the names that codes stand for."""
    writer = NameWriter()
    for first in range(0, len(codes), GROUP):
        group, lengths, arena = spelled(codes[first : first + GROUP], strings)
        writer.add(group, arena, np.append(0, np.cumsum(lengths)))
    return writer.names()


def to_global(codes: Ints, ids: Ints) -> None:
    """Replace the codes of a block's strings by those of distinct strings."""
    strings = np.flatnonzero((codes < 0) & (codes != NONE))
    codes[strings] = -1 - ids[-1 - codes[strings]]


@njit(nogil=True, cache=True)
def _number(sources: Ints, targets: Ints, numbers: Ints, strings: Ints, vertices: int) -> int:
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
