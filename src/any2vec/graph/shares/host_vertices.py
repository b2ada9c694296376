"""The vertices of a host's part of the edges, and how hosts number all vertices in the order of the whole text."""

import numpy as np
from numpy.typing import NDArray

from any2vec.cluster.communicator import Communicator, from_host
from any2vec.corpus.word_table import PADDING, WordTable, find, key_of
from any2vec.errors import Any2VecError
from any2vec.graph.csr import NONE, Edges, Ints, Longs
from any2vec.graph.graph import Names
from any2vec.graph.numbering import NameWriter, spelled
from any2vec.io.memory import zeros
from any2vec.llvm.compiled import njit

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
        self._by_string = _grown(self._by_string, strings)
        done = 0
        while True:
            tables = self._slots, _shift(self._slots), self._by_string, self._codes
            done, self._count = _number(edges.sources, edges.targets, *tables, done, self._count)
            if done == len(edges.sources):
                return
            self._codes = _grown(self._codes, 2 * len(self._codes))
            old, self._slots = self._slots, zeros(2 * len(self._slots), np.int32)
            _move(old, self._slots, _shift(self._slots))

    def share(self, communicator: Communicator, strings: WordTable) -> tuple[Ints, Names]:
        """Return the number of each of this host's vertices among those of all hosts, and the names of all; collective.

        Hosts take turns, in the order of the text: each sends the names that none before it has sent.
        """
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


def _grown(array: Ints, size: int) -> Ints:
    """Return an array of at least a size that begins as another."""
    if size <= len(array):
        return array
    grown = zeros(max(size, 2 * len(array)), np.int32)
    grown[: len(array)] = array
    return grown


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
def _number(
    sources: Ints,
    targets: Ints,
    slots: Ints,
    shift: np.uint64,
    by_string: Ints,
    codes: Ints,
    done: int,
    count: int,
) -> tuple[int, int]:
    """Replace codes by vertices, from edge `done` on; add those that are new to `count`, and note their codes.

    Return where this ends, as there is memory for no more vertices, and the count.
    """
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
