"""Vertices are numbered in the order in which they first occur, also by many hosts; how names are made of numbers."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from any2vec.cluster.communicator import Communicator, from_host
from any2vec.corpus.word_table import PADDING, WordCounts, WordTable, copy_words, find, key_of
from any2vec.errors import Any2VecError, shown
from any2vec.graph.build import EdgeTable
from any2vec.graph.csr import NONE, Edges, Ints, Longs
from any2vec.graph.graph import GROUP, Kinds, Names, names_of_vertices
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
        text = np.empty(_LONGEST_NUMBER * len(codes) + int(ends[-1]), np.uint8)
        self._arena += text[: _write(codes, arena, ends, text, lengths)].data
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


_LONGEST_NUMBER = 11  # bytes of an int32, and a line feed


@njit(nogil=True, cache=True)
def _write(codes: Ints, arena: NDArray[np.uint8], ends: Longs, text: NDArray[np.uint8], lengths: Longs) -> int:
    """Write names, each followed by a line feed, and their lengths with it; return the sum of these."""
    word = at = 0
    for i in range(codes.size):
        start = at
        if codes[i] < 0:
            for j in range(ends[word], ends[word + 1]):
                text[at] = arena[j]
                at += 1
            word += 1
        else:
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
        lengths[i] = at - start
    return at


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


_FEW = 1 << 12  # vertices for which there is memory at first
_SENT = 1 << 17  # names sent at a time
_MOST = 2**31 - 1
_ODD = np.uint64(0x9E3779B97F4A7C15)  # 2^64 divided by the golden ratio
_WORD = np.uint64(2)  # where a slot of a `WordTable` has the word + 1


class HostVertices:
    """Numbers vertices by first occurrence: first among those of this host's part, its own; then among all.

    Numbers that are names are looked up in a hash table of slots of two int32: the number, and its vertex + 1 here (0
    if the slot is empty). So they take memory by the vertices that there are, not by how large they are.
    """

    def __init__(self) -> None:
        self._slots = zeros(4 * _FEW, np.int32)  # of which at most half are used
        self._by_string = zeros(_FEW, np.int32)  # vertex + 1
        self._codes = zeros(_FEW, np.int32)
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def add(self, edges: Edges, strings: int) -> None:
        """Replace codes (see parse.py) by this host's vertices, in place; so many strings are known."""
        self._by_string = grown(self._by_string, strings)
        done = 0
        while True:
            tables = self._slots, _shift(self._slots), self._by_string, self._codes
            done, self._count = _number_here(edges.sources, edges.targets, *tables, done, self._count)
            if done == len(edges.sources):
                return
            self._codes = grown(self._codes, 2 * len(self._codes))
            old, self._slots = self._slots, zeros(2 * len(self._slots), np.int32)
            _move(old, self._slots, _shift(self._slots))

    def share(self, communicator: Communicator, strings: WordTable) -> tuple[Ints, Names]:
        """Return the number of each of this host's vertices in the order of the text, and all names; collective."""
        numbers = np.full(self._count, -1, np.int32)
        names = NameWriter()
        for host in range(communicator.size):
            mine = communicator.rank == host
            new = np.flatnonzero(numbers < 0) if mine else np.zeros(0, np.int64)
            count = int(from_host(communicator, host, np.array([len(new)], np.int64))[0])
            if len(names) + count > _MOST:
                raise Any2VecError(f"the graph has more than {_MOST:,} vertices, but vertices have 31 bits")
            for low in range(0, count, _SENT):
                codes, lengths, arena = spelled(self._codes[new[low : low + _SENT]], strings)
                codes = from_host(communicator, host, codes)
                lengths = from_host(communicator, host, lengths)
                arena = np.append(from_host(communicator, host, arena), np.zeros(PADDING, np.uint8))
                ends = np.append(0, np.cumsum(lengths))
                table = strings.slots, strings.starts, strings.arena
                _settle(
                    codes, arena, ends, *table, self._slots, _shift(self._slots), self._by_string, numbers, len(names)
                )
                names.add(codes, arena, ends)
        return numbers, names.names()


def _shift(slots: Ints) -> np.uint64:
    """Return how far a hash of 64 bits is shifted for a table."""
    return np.uint64(66 - len(slots).bit_length())


def grown(array: NDArray[Any], rows: int) -> NDArray[Any]:
    """Return an array of at least so many rows that begins as another."""
    if rows <= len(array):
        return array
    longer = zeros((max(rows, 2 * len(array)), *array.shape[1:]), array.dtype.type)
    longer[: len(array)] = array
    return longer


@njit(nogil=True, cache=True)
def _slot(number: int, slots: Ints, shift: np.uint64) -> int:
    """Return where the slot of a number begins, or the empty one where it belongs.

    The table has 2 ** (64 - shift) slots. The highest bits of a multiple of the golden ratio: neighbours stay apart.
    """
    mask = np.int64(slots.size // 2 - 1)
    slot = np.int64((np.uint64(number) * _ODD) >> shift)
    while slots[2 * slot + 1] != 0 and slots[2 * slot] != number:
        slot = (slot + 1) & mask
    return int(2 * slot)


@njit(nogil=True, cache=True)
def _move(old: Ints, slots: Ints, shift: np.uint64) -> None:
    """Move numbers to an empty table."""
    for i in range(0, old.size, 2):
        if old[i + 1] != 0:
            slot = _slot(np.int64(old[i]), slots, shift)
            slots[slot], slots[slot + 1] = old[i], old[i + 1]


@njit(nogil=True, cache=True)
def _number_here(
    sources: Ints,
    targets: Ints,
    slots: Ints,
    shift: np.uint64,
    by_string: Ints,
    codes: Ints,
    done: int,
    count: int,
) -> tuple[int, int]:
    """Replace codes by vertices from edge `done` on; return where memory ended this, and how many there are."""
    for i in range(done, sources.size):
        if count + 2 > codes.size:
            return i, count
        for ends in (sources, targets):
            code = np.int64(ends[i])
            if code == NONE:
                continue
            if code >= 0:
                slot = _slot(code, slots, shift)
                if slots[slot + 1] == 0:
                    codes[count] = code
                    count += 1
                    slots[slot], slots[slot + 1] = code, count
                ends[i] = slots[slot + 1] - 1
            else:
                place = -1 - code
                if by_string[place] == 0:
                    codes[count] = code
                    count += 1
                    by_string[place] = count
                ends[i] = by_string[place] - 1
    return sources.size, count


@njit(nogil=True, cache=True)
def _settle(
    codes: Ints,
    arena: NDArray[np.uint8],
    ends: Longs,
    word_slots: NDArray[np.uint64],
    word_starts: Longs,
    word_arena: NDArray[np.uint8],
    slots: Ints,
    shift: np.uint64,
    by_string: Ints,
    numbers: Ints,
    first: int,
) -> None:
    """Write the numbers, from `first` on, of those of this host's vertices that codes, or an arena's words, name."""
    word = 0
    for i in range(codes.size):
        if codes[i] >= 0:
            vertex = slots[_slot(np.int64(codes[i]), slots, shift) + 1]
        else:
            begin, length = ends[word], ends[word + 1] - ends[word] - 1
            word += 1
            hashed, one, two = key_of(arena, begin, length)
            slot = find(hashed, one, two, arena, begin, length, word_slots, word_starts, word_arena)
            found = np.int64(word_slots[slot + _WORD])
            vertex = by_string[found - 1] if found > 0 else np.int32(0)
        if vertex > 0:
            numbers[vertex - 1] = first + i
