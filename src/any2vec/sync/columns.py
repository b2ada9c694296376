"""Columns: every host has all rows, and its own columns of e and t (Ordentlich et al. 2016; glint-word2vec, section 2).

All hosts train on the same mini-batch. Each computes what its columns add to the scores; the host that owns the centre
sums these up and makes them steps, and all apply all steps to their columns. No row, seed or negative travels, only
w (K + 1) scores a centre, to and fro, for each host but one.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from any2vec.cluster.communicator import Request
from any2vec.io.memory import release
from any2vec.operators.base import RowTable
from any2vec.operators.columns import MiniBatch, add_parts
from any2vec.operators.matrices import Matrices, new_matrices, padded_width, zeros
from any2vec.sync.combiners import Combiner, Round
from any2vec.sync.masters import Combined
from any2vec.sync.scheme import HostContext, Scheme

_BLOCKS = 8  # H that divides it gives the bits of one host


@dataclass(frozen=True)
class ColumnLayout:
    """D columns in blocks, some for each of H hosts; all blocks of all hosts have the same padded width.

    There are eight blocks, or one for each host if H does not divide 8. A score is the sum over blocks in a tree
    (`operators.columns`): with 1, 2, 4 and 8 hosts it is the same tree.
    """

    dim: int
    hosts: int

    @property
    def blocks(self) -> int:
        """Blocks of a host."""
        return max(1, _BLOCKS // self.hosts) if _BLOCKS % self.hosts == 0 else 1

    @property
    def block(self) -> int:
        """Floats of a block, padded."""
        return padded_width(-(-self.dim // (self.blocks * self.hosts)))

    @property
    def width(self) -> int:
        """Floats of a host's row."""
        return self.block * self.blocks

    def put(self, host: int, rows: NDArray[np.float32], out: NDArray[np.float32]) -> None:
        """Copy a host's columns of whole rows to its own."""
        for own, whole in self._spans(host):
            out[:, own] = rows[:, whole]

    def take(self, host: int, own_rows: NDArray[np.float32], out: NDArray[np.float32]) -> None:
        """Copy a host's columns to whole rows."""
        for own, whole in self._spans(host):
            out[:, whole] = own_rows[:, own]

    def _spans(self, host: int) -> list[tuple[slice, slice]]:
        """Return a host's blocks, as slices of its own rows and of whole ones."""
        count = self.blocks * self.hosts
        bounds = [self.dim * k // count for k in range(count + 1)]
        found = []
        for k in range(self.blocks):
            low, high = bounds[host * self.blocks + k : host * self.blocks + k + 2]
            found.append((slice(k * self.block, k * self.block + high - low), slice(low, high)))
        return found


_BLOCK = 1 << 22  # floats of whole rows in hand at a time
_HOTTEST = 16  # rows whose changes are watched


class Columns(Scheme):
    """All rows of some columns. `masters` are these; `rows_of_masters` are those of a range of vertices."""

    addressing = "direct"
    by_columns = True
    of_its_own = True
    addresses = 1.5  # at the end, rows of e lie beside columns of both matrices

    def __init__(self, context: HostContext) -> None:
        super().__init__(context)
        hosts, self._rank = context.communicator.size, context.communicator.rank
        self.layout = ColumnLayout(context.dim, hosts)
        width, self._low = self.layout.width, self.partition.range(self._rank)[0]
        e, t = (zeros(context.vertices, width) for _ in range(2))
        self.masters = self.matrices = Matrices(e, t, 0, context.vertices, width)
        self.live, self.rows = context.vertices, RowTable()
        self.largest = 0.0
        self._hot = np.zeros((2, min(_HOTTEST, context.vertices), width), np.float32)
        for low, high in self.blocks():
            self.put(new_matrices(low, high, context.dim, seed=context.seed, scale=context.scale))

    @classmethod
    def memory(cls, vertices: int, dim: int, hosts: int, wire: str | None = None, own: int | None = None) -> int:
        """Bytes that a host needs: for its columns of all rows."""
        return 2 * 4 * vertices * ColumnLayout(dim, hosts).width

    def blocks(self) -> Iterator[tuple[int, int]]:
        """Ranges of vertices whose whole rows may be in hand at once."""
        size = max(1, _BLOCK // self.context.dim)
        for low in range(0, self.context.vertices, size):
            yield low, min(low + size, self.context.vertices)

    def put(self, rows: Matrices) -> None:
        """Take over this host's columns of whole rows."""
        here = slice(rows.first, rows.first + rows.vertices)
        for own, whole in ((self.matrices.e, rows.embedding), (self.matrices.t, rows.training)):
            self.layout.put(self._rank, whole, own[here])

    def synchronize(self, round_: Round, combiner: Combiner | None) -> Combined:
        """Do nothing: all steps of a round were made by all hosts together."""
        largest, self.largest = self.largest, 0.0
        return Combined(finite=bool(np.isfinite(largest)), largest=largest)

    def begin_sums(self, batch: MiniBatch, scores: NDArray[np.float32]) -> tuple[Request, NDArray[np.float32]]:
        """Begin to send partial scores to the owners of their centres; the array gets those of all hosts, (H, n)."""
        hosts, sent = self.partition.hosts, np.diff(batch.owned[:, 1])
        own = int(sent[self._rank])
        parts = np.empty(hosts * own, np.float32)
        request = self.channel.begin(("reduce", "both", "values"), scores, sent, parts, np.full(hosts, own))
        return request, parts.reshape(hosts, own)

    def sums(self, request: Request, parts: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the whole scores of the centres that this host owns."""
        self.channel.wait([request])
        add_parts(parts, parts.shape[1])
        return parts[0]

    def share_steps(self, batch: MiniBatch, own: NDArray[np.float32], steps: NDArray[np.float32]) -> None:
        """Send this host's steps to all; `steps` gets those of all hosts."""
        self.channel.allgather(("broadcast", "both", "values"), own, np.diff(batch.owned[:, 1]), steps)

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Add the block's largest change of the hottest rows, which change most, to the round's largest update."""
        n = self._hot.shape[1]
        matrices = (self.matrices.e[:n], self.matrices.t[:n])
        for before, now in zip(self._hot, matrices, strict=True):
            before[:] = now
        yield
        for before, now in zip(self._hot, matrices, strict=True):
            change = float(np.abs(now - before).max(initial=0.0))
            self.largest = change if not change <= self.largest else self.largest  # not a number is largest

    def rows_of_masters(self, *, last: bool = False) -> Matrices:
        """Exchange columns for the rows of this host's range of vertices; if `last`, giving back memory meanwhile."""
        low, high = self._low, self.partition.range(self._rank)[1]
        left, found = [self.matrices.t, self.matrices.e], []
        if last:
            none = np.zeros((0, self.layout.width), np.float32)
            self.matrices = self.masters = Matrices(none, none, 0, 0, self.layout.width)
        while left:
            found.append(zeros(high - low, self.context.dim))
            self._exchange(left.pop(), found[-1], last)  # and with the last of its columns, its addresses are free
        return Matrices(found[0], found[1], low, high - low, self.context.dim)

    def restore(self, masters: Matrices) -> None:
        """Take over whole rows of this host's range of vertices: exchange them for columns."""
        for own, whole in ((self.matrices.e, masters.embedding), (self.matrices.t, masters.training)):
            self._exchange_back(own, whole)

    def _exchange_back(self, own: NDArray[np.float32], whole: NDArray[np.float32]) -> None:
        """Receive each host's rows of these columns, as `_exchange` sends them."""
        hosts = self.partition.hosts
        for low, high in self._parts():
            mine = slice(int(low[self._rank] - self._low), int(high[self._rank] - self._low))
            n = mine.stop - mine.start
            sent = np.zeros((hosts * n, self.layout.width), np.float32)
            for host in range(hosts):
                self.layout.put(host, whole[mine], sent[host * n : (host + 1) * n])
            received = np.empty((int((high - low).sum()), self.layout.width), np.float32)
            with self.channel.timed():
                self.context.communicator.ialltoallv(sent, np.full(hosts, n), received, high - low).wait()
            begin = 0
            for first, last in zip(low.tolist(), high.tolist(), strict=True):
                own[first:last] = received[begin : begin + last - first]
                begin += last - first

    def _parts(self) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """Ranges of vertices, one of each host's range, whose whole rows may be in hand at once."""
        bounds = self.partition.bounds
        size = max(1, _BLOCK // self.context.dim)
        for first in range(0, int(self.partition.sizes.max()), size):
            low, high = (np.minimum(bounds[:-1] + first + ahead, bounds[1:]) for ahead in (0, size))
            yield low, high

    def stream_rows(self) -> Iterator[tuple[str, NDArray[np.float32]]]:
        """Exchange columns for the rows of this host's range of vertices, part by part."""
        for which, own in (("e", self.matrices.e), ("t", self.matrices.t)):
            for low, high in self._parts():
                yield which, self._rows(own, low, high)

    def _exchange(self, own: NDArray[np.float32], whole: NDArray[np.float32], last: bool) -> None:
        """Exchange columns for the rows of this host's range, part by part of all ranges, so that memory stays even."""
        begin = 0
        for low, high in self._parts():
            rows = self._rows(own, low, high)
            whole[begin : begin + len(rows), : self.context.dim] = rows
            begin += len(rows)
            if last:
                for bounds in zip(low.tolist(), high.tolist(), strict=True):
                    release(own, *bounds)

    def _rows(self, own: NDArray[np.float32], low: NDArray[np.int64], high: NDArray[np.int64]) -> NDArray[np.float32]:
        """Send each host these columns of vertices low[h]..high[h]-1; return this host's whole rows."""
        hosts, n = self.partition.hosts, int(high[self._rank] - low[self._rank])
        received = np.empty((hosts * n, self.layout.width), np.float32)
        with self.channel.timed():
            self.context.communicator.ialltoallv(own, high - low, received, np.full(hosts, n), low).wait()
        rows = np.empty((n, self.context.dim), np.float32)
        for host in range(hosts):
            self.layout.take(host, received[host * n : (host + 1) * n], rows)
        return rows
