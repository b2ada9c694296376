"""A host with some columns of all rows: all hosts take every mini-batch together (`sync.columns`)."""

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from any2vec.cluster.communicator import Communicator, DamagedError, checked_counts
from any2vec.corpus import Corpus, Worklist
from any2vec.errors import Any2VecError
from any2vec.operators.base import Rate, ThreadStats
from any2vec.operators.columns import (
    Chunk,
    add_parts,
    column_kernels,
    most_scores,
    new_batch,
    new_chunk,
    new_cursor,
    spacing,
)
from any2vec.operators.kernel import Inspector
from any2vec.operators.matrices import new_matrices
from any2vec.samples.windows import EpochDraws, SampleTables, needed_around
from any2vec.sync.channel import Channel
from any2vec.sync.columns import Columns
from any2vec.sync.combiners import Round
from any2vec.sync.masters import Combined
from any2vec.sync.scheme import HostContext
from any2vec.training.host import Host, Task
from any2vec.training.options import Options
from any2vec.training.schedule import MOST_ROUNDS
from any2vec.training.state import Start

_WHAT = ("inspect", "both", "ids")


class _SharedIds(NamedTuple):
    """Consecutive words of W."""

    ids: NDArray[np.int32]  # (n,): Their ids
    # (sentences + 1,): Sentence i is ``ids[bounds[i] : bounds[i + 1]]``; of the first and last one, what windows need
    bounds: NDArray[np.int64]
    first: int  # position in W of ``ids[0]``


def _share_ids(
    worklist: Worklist, low: int, high: int, window: int, draws: EpochDraws, channel: Channel, vertices: int
) -> _SharedIds:
    """Gather positions low..high-1 of W, of which `worklist` is this host's part, and what their windows need around.

    All hosts call this, with the epoch's draws for their parts.
    """
    ids, lengths, first = _own(worklist, low - worklist.first, high - worklist.first, window, draws)
    communicator = channel.communicator
    sizes = checked_counts(communicator.allgather(np.array([len(ids), len(lengths), worklist.first + first], np.int64)))
    whole, spans = _gather(ids, sizes[:, 0], channel), _gather(lengths, sizes[:, 1], channel)
    has = np.flatnonzero(sizes[:, 0])
    bounds = np.concatenate([np.zeros(1, np.int64), np.cumsum(spans)])
    if spans.min(initial=0) < 0 or bounds[-1] != len(whole):
        raise DamagedError("lengths of sentences that hosts sent do not add up: messages are damaged on their way")
    if len(whole) and not 0 <= int(whole.min()) <= int(whole.max()) < vertices:
        raise DamagedError("hosts sent ids that do not exist: messages are damaged on their way")
    return _SharedIds(whole, bounds, int(sizes[has[0], 2]) if len(has) else low)


def _own(
    worklist: Worklist, low: int, high: int, window: int, draws: EpochDraws
) -> tuple[NDArray[np.int32], NDArray[np.int64], int]:
    """Return ids, lengths of sentences and the first position, in this host's part, of what it has of them."""
    low, high = max(low, 0), min(high, worklist.size)
    ids, lengths, firsts = [np.empty(0, np.int32)], [np.empty(0, np.int64)], [0]
    for words, bounds, at, begin, end in worklist.pieces(low, high) if low < high else ():
        i, j = int(np.searchsorted(bounds, begin, side="right")) - 1, int(np.searchsorted(bounds, end))
        keep, around = draws.ahead(at), (int(bounds[i]), int(bounds[j]))
        first, last = around  # whole sentences, where some are left out by where they begin
        if not keep.held_out and keep.part >= 1 << 32:
            first, last = needed_around(words, begin, end, *around, window, keep.keep, keep.keep_key)
        ids.append(words[first:last])
        lengths.append(np.diff(np.clip(bounds[i : j + 1], first, last)).astype(np.int64))
        firsts.append(at + first)
    return np.concatenate(ids), np.concatenate(lengths), firsts[1] if len(firsts) > 1 else 0


def _gather(own: NDArray[Any], sizes: NDArray[np.int64], channel: Channel) -> NDArray[Any]:
    """Gather the arrays of all hosts, of these lengths, on all."""
    out = np.empty(int(sizes.sum()), own.dtype)
    channel.allgather(_WHAT, own, sizes, out)
    return out


_WORDS = 1 << 20  # of a round, by default: ids that a host holds
_BETWEEN = 64  # mini-batches, after which hosts agree on going on
_WATCHED = 16  # one in 16 is looked at for the largest update
_SECONDS = 0.1


class ColumnHost(Host):
    """A host of the scheme ``columns``; see `Host`.

    A mini-batch is `batch` times H centres in the order of W, so that the outcome is that of one host with a
    `batch` of as many; a round ends with a shorter one. It has one thread: a cluster starts a rank for each core.
    """

    most_threads = 1

    def __init__(self, corpus: Corpus, options: Options, communicator: Communicator, *more: Any) -> None:
        super().__init__(corpus, options, communicator, *more)
        start = self._start
        given = {"freezes": bool(start and start.freezes), "goes_on": bool(start and start.goes_on)}
        if refused := options.columns_refuse(communicator.size, **given):
            raise Any2VecError(f"`scheme` is 'columns', {refused[1]}")
        words = int(corpus.cuts[-1])
        self.cuts, self.part = np.array([0, words], np.int64), 0
        hosts = communicator.size
        self.share = 1 / hosts
        self._centres = options.centres(hosts) * hosts
        if self._centres > words and options.batch is not None:
            raise Any2VecError(
                f"`batch` is {options.batch:,} on {hosts} hosts, but the corpus has only {words:,} words of the "
                f"vocabulary; {max(1, words // hosts):,} or less would do"
            )
        self._centres = min(self._centres, max(words, 1))
        self.operator = options.operator_class(options).on(corpus)
        self._counts, self._window = corpus.vocabulary.counts, options.window
        self.rounds = options.rounds or min(max(1, math.ceil(words / _WORDS)), MOST_ROUNDS)

    def open(self) -> None:
        """Take the memory of matrices and kernels."""
        options, communicator, start, operator = self._options, self._communicator, self._start, self.operator
        counts, vertices, hosts = self._counts, len(self._counts), communicator.size
        first, seed = (start.seen, start.seed(options.seed)) if start else (0, options.seed)
        tables = operator.tables(counts)
        held = options.held_out or 0.0, options.part
        self._tables = SampleTables(counts, options.sample, tables, options.seed, first, options.narrowest, *held)
        inspector = Inspector(self._worklist, self._tables, operator, vertices)  # a scheme's; not used here
        context = HostContext(communicator, self.workers, inspector, self._partition, options.dim, 0, False, seed)
        self.scheme: Columns = Columns(context)
        layout = self.scheme.layout
        self._kernels = column_kernels(operator, layout.block, layout.blocks, self._width)
        self._cursor = new_cursor(options.window)
        self._chunks = [new_chunk(operator, self._centres) for _ in range(2)]  # one is listed while one is trained on
        self._batch = new_batch(operator, self._centres, hosts)
        self._scores = np.empty(most_scores(operator, self._centres), np.float32)

    def compile(self) -> None:
        """Compile what mini-batches do, or load it from the cache, by doing it to nothing."""
        nothing = _SharedIds(np.zeros(1, np.int32), np.array([0, 1], np.int64), 0)
        rate = Rate(0.0, 0.0, 0.0, 0.0, 1.0)
        chunk, batch = self._chunks[0], self._batch
        self._list(_Place(nothing, self._tables.epoch(0), rate, 0, 0), chunk)
        self._kernels.pick(chunk, 0, batch)
        self._kernels.dotprod(*self._matrices, chunk, batch, self._scores)
        self._kernels.stepping(chunk, batch, 0, self._scores, self.thread_stats()[0])
        self._kernels.adjust(*self._matrices, chunk, batch, self._scores)
        add_parts(np.zeros((1, 1), np.float32), 1)

    def begin_with(self, start: Start) -> None:
        """Let this host's columns begin as `start` says; all hosts call this."""
        dim, seed = self.scheme.context.dim, self.scheme.context.seed
        for low, high in self.scheme.blocks():
            rows = new_matrices(low, high, dim, seed=seed)
            start.fill(rows, self.operator, self._counts, self._communicator)
            self.scheme.put(rows)

    def compute(self, task: Task, look: Callable[[], None]) -> float:
        """Take the mini-batches of a round, with all hosts."""
        channel, before, rate = self.scheme.channel, 0, task.rate
        self._computed, self.left = 0.0, []
        keep = self._tables.epoch(task.slice.epoch, self._worklist.first)
        for low, high in task.slice.ranges:
            shared = _share_ids(self._worklist, low, high, self._window, keep, channel, self.scheme.context.vertices)
            draws = self._tables.epoch(task.slice.epoch, shared.first)
            ahead = rate._replace(done=rate.done + rate.pace * before)
            place = _Place(shared, draws, ahead, low - shared.first, high - shared.first)
            reached = self._take(place, task.stats[0], look)
            before += reached - place.low
            if reached < place.high:
                self.left = [(before, task.slice.size)]
                break
        return self._computed

    def synchronize(self, round_: Round) -> Combined:
        """Give out what the round has shown; all else is done."""
        return self.scheme.synchronize(round_, None)

    @property
    def _matrices(self) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        return self.scheme.matrices.e.reshape(-1), self.scheme.matrices.t.reshape(-1)

    def _list(self, place: "_Place", chunk: Chunk) -> int:
        """List the next centres, as many as a mini-batch has, into a chunk; return the position after them."""
        shared, draws, rate, low, high = place
        most, dim = self._centres, self.scheme.matrices.e.shape[1]
        return self._kernels.listing(
            shared.ids, shared.bounds, low, high, most, draws, rate, *self._matrices, dim, self._cursor, chunk
        )

    def _take(self, place: "_Place", stats: ThreadStats, look: Callable[[], None]) -> int:
        """Take the mini-batches of shared ids, all unless a host wants to stop; return the position after the last."""
        scheme, at, apart = self.scheme, self._cursor.at, spacing(self._window)
        at[:] = place.low, np.searchsorted(place.shared.bounds, place.low, side="right") - 1, 0, 0
        now, ahead = self._chunks
        now.size[:] = 0
        for _ in range(apart):
            end = self._list(place, now)
        begin, count, agreed, clock = place.low, 0, 0, time.monotonic()
        while now.size[0]:
            ahead.size[:] = 0
            for first in range(apart):
                following = self._train(place, now, first, ahead, stats, watching=count % _WATCHED == 0)
                done = [begin + (end - begin) * (first + k) // apart - place.low for k in (0, 1)]
                stats.words[0] += self._own(done[1]) - self._own(done[0])
                count += 1
                if time.monotonic() - clock > _SECONDS:
                    look()
                    clock = time.monotonic()
            if count - agreed >= _BETWEEN:  # only here all before a position is done, and nothing after it
                agreed = count
                if scheme.channel.any(self.interrupts.stopped):
                    return end
            begin, end = end, following
            now, ahead = ahead, now
        stats.words[0] += self._own(place.high - place.low) - self._own(begin - place.low)  # without a centre
        return place.high

    def _train(
        self, place: "_Place", chunk: Chunk, first: int, ahead: Chunk, stats: ThreadStats, *, watching: bool
    ) -> int:
        """Take a mini-batch of a chunk, and list as many centres of the next one; return the position after those."""
        scheme, kernels, batch, scores = self.scheme, self._kernels, self._batch, self._scores
        with self._computing():
            kernels.pick(chunk, first, batch)
            kernels.dotprod(*self._matrices, chunk, batch, scores)
        request, parts = scheme.begin_sums(batch, scores)
        with self._computing():
            following = self._list(place, ahead)  # while the scores travel
        own = scheme.sums(request, parts)
        with self._computing():
            kernels.stepping(chunk, batch, self._communicator.rank, own, stats)
        scheme.share_steps(batch, own, scores)
        with self._computing(), scheme.watching() if watching else nullcontext():
            kernels.adjust(*self._matrices, chunk, batch, scores)
        return following

    @contextmanager
    def _computing(self) -> Iterator[None]:
        """Add the CPU time of the block to that of the round."""
        began = time.thread_time()
        yield
        self._computed += time.thread_time() - began

    def _own(self, words: int) -> int:
        """Return how many of so many words this host counts."""
        rank, hosts = self._communicator.rank, self._communicator.size
        return words * (rank + 1) // hosts - words * rank // hosts


class _Place(NamedTuple):
    """Where mini-batches are listed: positions low..high-1 of shared ids."""

    shared: _SharedIds
    draws: EpochDraws
    rate: Rate
    low: int
    high: int
