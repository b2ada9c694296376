"""The rows of a host's vertices, from edges that come in any order: placed, then sorted and merged where they are.

An entry is its column, and in a weighted graph above the bits of its weight, in one integer of 64 bits: as weights are
positive, these are in order, so a sorted row does not depend on the order in which entries came. Weights with a sign
(see `entries_by_host`) follow those without. No second copy of the entries is in memory.
"""

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from any2vec.graph.csr import CSR, NONE, Floats, Ints, Longs, merged
from any2vec.io.memory import release, zeros
from any2vec.llvm.compiled import njit

_LONG = 1 << 14  # entries of a row from which NumPy sorts it: never in quadratic time
_COPIED = 1 << 20  # entries copied at a time
_LOW, _HIGH = np.uint64(0xFFFFFFFF), np.uint64(32)
_MINUS = np.int32(-(2**31))


class RowBuilder:
    """Collects the entries of the rows of vertices `first` on, of which it is known how many each row gets."""

    def __init__(self, first: int, lengths: Longs, *, weighted: bool) -> None:
        self._first, self._weighted = first, weighted
        self._indptr = zeros(len(lengths) + 1, np.int64)
        np.cumsum(lengths, out=self._indptr[1:])
        self._cursor = self._indptr[:-1].copy()
        self._entries = zeros(int(self._indptr[-1]), np.uint64 if weighted else np.int32)

    def place(self, rows: Ints) -> bool:
        """Place entries: row, column and, if there are weights, the bits of one; return whether there can be such."""
        place = _place_weighted if self._weighted else _place
        return bool(place(rows, self._first, self._cursor, self._entries))

    def complete(self) -> bool:
        """Return whether each row got as many entries as it was to get."""
        return bool((self._cursor == self._indptr[1:]).all())

    def finish(self, *, merge: bool, in_order: bool, threads: int) -> CSR:
        """Sort the rows, and merge equal entries or, if `in_order`, leave them in the order in which they came.

        Then `both` counts edges whose first end is in these rows, as `settled` wants them of all hosts.
        """
        del self._cursor
        indptr, entries = self._indptr, self._entries
        del self._entries
        if in_order:
            _sort_stably(indptr, entries)
        else:
            _sort_rows(indptr, entries, threads)
        csr = _unpacked(indptr, entries) if self._weighted else CSR(indptr, entries, None)
        self.both = np.zeros(2, np.int64)
        if merge:
            csr, self.both = merged(csr, self._first)
        return csr


def _unpacked(indptr: Longs, entries: NDArray[np.uint64]) -> CSR:
    """Take entries apart, giving back their memory."""
    indices, weights = zeros(len(entries), np.int32), zeros(len(entries), np.float32)
    for low in range(0, len(entries), _COPIED):
        some = entries[low : low + _COPIED]
        weights[low : low + _COPIED] = (some & _LOW).astype(np.uint32).view(np.float32)
        indices[low : low + _COPIED] = some >> _HIGH
        release(entries, 0, low + len(some))
    return CSR(indptr, indices, weights)


def _sort_rows(indptr: Longs, entries: NDArray[Any], threads: int) -> None:
    """Sort each row, on threads: ranges of rows with about as many entries each."""
    cuts = np.searchsorted(indptr, np.linspace(0, len(entries), 8 * threads + 1)[1:-1]).tolist()
    ranges = zip([0, *cuts], [*cuts, len(indptr) - 1], strict=True)
    work = [partial(_sort, indptr, entries, *some) for some in ranges]
    long = np.flatnonzero(np.diff(indptr) >= _LONG).tolist()
    work += [partial(entries[indptr[row] : indptr[row + 1]].sort) for row in long]
    if threads == 1 or len(entries) < _COPIED:
        for sort in work:
            sort()
        return
    with ThreadPoolExecutor(threads, thread_name_prefix="any2vec-graph") as executor:
        for done in [executor.submit(sort) for sort in work[::-1]]:  # long rows first
            done.result()


@njit(nogil=True, cache=True)
def _sort(indptr: Longs, entries: NDArray[Any], low: int, high: int) -> None:
    """Sort the rows `low` to ``high - 1`` that are not long."""
    for row in range(low, high):
        begin, end = indptr[row], indptr[row + 1]
        if 1 < end - begin < _LONG:
            entries[begin:end].sort()


@njit(nogil=True, cache=True)
def _sort_stably(indptr: Longs, entries: NDArray[np.uint64]) -> None:
    """Sort each row by column alone."""
    for row in range(indptr.size - 1):
        some = entries[indptr[row] : indptr[row + 1]]
        some[:] = some[np.argsort(some >> _HIGH, kind="mergesort")]


@njit(nogil=True, cache=True)
def _place(rows: Ints, first: int, cursor: Longs, entries: Ints) -> bool:
    for i in range(rows.shape[0]):
        row = rows[i, 0] - first
        if row < 0 or row >= cursor.size or cursor[row] >= entries.size:
            return False
        entries[cursor[row]] = rows[i, 1]
        cursor[row] += 1
    return True


@njit(nogil=True, cache=True)
def _place_weighted(rows: Ints, first: int, cursor: Longs, entries: NDArray[np.uint64]) -> bool:
    for i in range(rows.shape[0]):
        row = rows[i, 0] - first
        if row < 0 or row >= cursor.size or cursor[row] >= entries.size:
            return False
        entries[cursor[row]] = (np.uint64(rows[i, 1]) << _HIGH) | (np.uint64(rows[i, 2]) & _LOW)
        cursor[row] += 1
    return True


@njit(nogil=True, cache=True)
def count_entries(sources: Ints, targets: Ints, lengths: Longs, apart: bool, both: bool, loops: bool) -> None:
    """Count the entries that edges make in the rows of their sources (column 0) and targets (column 0, or 1 if apart).

    If sources and targets are vertices `apart`, no edge is a self loop; else one counts once. `both` ends get an entry,
    or only the source.
    """
    other = 1 if apart else 0
    for i in range(sources.size):
        source, target = sources[i], targets[i]
        loop = not apart and source == target
        if target == NONE or (loop and not loops):
            continue
        lengths[source, 0] += 1
        if both and not loop:
            lengths[target, other] += 1


@njit(nogil=True, cache=True)
def _host_of(row: int, cuts: Longs) -> int:
    """Return the host that has a row: the last whose cut is not after it."""
    low, high = 0, cuts.size - 1
    while high - low > 1:
        middle = (low + high) // 2
        if cuts[middle] <= row:
            low = middle
        else:
            high = middle
    return low


@njit(nogil=True, cache=True)
def entries_by_host(
    sources: Ints,
    targets: Ints,
    weights: Floats,
    cuts: Longs,
    both: bool,
    loops: bool,
    merge: bool,
    entries: Ints,
    counts: Longs,
) -> None:
    """Write the entries of edges, as `RowBuilder` takes them, in the order of the hosts of their rows; count these.

    A host has the vertices from its cut to the next. Weights of edges that `merge` will take together get a sign if an
    undirected edge is listed from its larger end.
    """
    bits = weights.view(np.int32)
    for i in range(sources.size):
        loop = sources[i] == targets[i]
        if targets[i] != NONE and (loops or not loop):
            counts[_host_of(sources[i], cuts)] += 1
            if both and not loop:
                counts[_host_of(targets[i], cuts)] += 1
    starts = np.zeros(counts.size, np.int64)
    for host in range(1, counts.size):
        starts[host] = starts[host - 1] + counts[host - 1]
    for i in range(sources.size):
        row, column = sources[i], targets[i]
        loop = row == column
        if column == NONE or (loop and not loops):
            continue
        for _ in range(2 if both and not loop else 1):
            host = _host_of(row, cuts)
            place = starts[host]
            starts[host] = place + 1
            entries[place, 0], entries[place, 1] = row, column
            if bits.size > 0:
                entries[place, 2] = bits[i] ^ _MINUS if both and merge and sources[i] > targets[i] else bits[i]
            row, column = column, row


@njit(nogil=True, cache=True)
def renumber(codes: Ints, numbers: Ints) -> None:
    """Replace vertices by their numbers, in place."""
    for i in range(codes.size):
        if codes[i] != NONE:
            codes[i] = numbers[codes[i]]
