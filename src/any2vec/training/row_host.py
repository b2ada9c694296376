"""A host with whole rows: its part of the worklist, its matrices, and the threads that apply the operator."""

import math
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from any2vec.cluster.communicator import Communicator, allreduce
from any2vec.corpus import Corpus
from any2vec.corpus.corpus import StoredWorklist
from any2vec.errors import Any2VecError
from any2vec.operators.base import Rate, RowTable, ThreadStats, learning_rate
from any2vec.operators.kernel import Inspector, operator_kernel
from any2vec.operators.matrices import (
    HotRows,
    hot_rows,
    how_many_hot,
    memory_of_copies,
    new_documents,
    new_matrices,
    no_hot_rows,
    padded_width,
)
from any2vec.operators.merging import merge, open_copies
from any2vec.operators.tiles import dots
from any2vec.samples.targets import PooledTables
from any2vec.samples.windows import SampleTables, Slice, kept_counts, mean_context, total_of
from any2vec.sync import scheme_of
from any2vec.sync.combiners import CombinerContext, Round, Touched, combiner_of
from any2vec.sync.masters import Combined, memory_of_merging
from any2vec.sync.scheme import HostContext, warm_up, warm_up_balance
from any2vec.sync.wire import FLOAT32
from any2vec.training.choice import rounds_of
from any2vec.training.host import Copying, Host, Task
from any2vec.training.options import Options
from any2vec.training.state import Start

_SENTENCES = 100_000  # looked at for the mean size of a context
_NONE = no_hot_rows()
_SHORTEST, _LONGEST = 1 << 12, 1 << 16  # positions of a chunk
_MOST_UPDATES, _ENOUGH = np.iinfo(np.int32).max, 0.9  # of a row in a round; a share, since they are estimated
_BYTES_OF_BALANCING = 64  # times D^2: what matrices lack, their moments, eigenvectors
_MET = 256  # lines that a thread keeps
_PARTS = 4  # chunks that what is left would make for each thread


class RowHost(Host):
    """A host that takes slices of its own part of the worklist, on whole rows; see `Host`."""

    def __init__(self, corpus: Corpus, options: Options, communicator: Communicator, *more: Any) -> None:
        super().__init__(corpus, options, communicator, *more)
        counts = corpus.vocabulary.counts
        self.cuts, self.part = corpus.cuts, communicator.rank
        self.share = float(np.diff(corpus.cuts)[self.part] / max(int(corpus.cuts[-1]), 1))
        self.operator = options.operator_class(options).on(corpus)
        self.counts, self._dim = counts, padded_width(options.dim)
        self._per_pair = self.operator.samples_per_pair(counts)
        self._words, kept = max(total_of(counts), 1), float(kept_counts(counts, options.sample).sum())
        self.rounds = rounds_of(corpus, options, communicator.size, self.workers.threads)
        self._kept = kept / self._words
        self._check_updates()
        self._plan_copies()
        start = self._start
        self._frozen = np.zeros(0, np.uint8) if start is None else start.frozen
        self._blends = options.blend and start is not None and start.e is not None
        self._spare = 2 * max(self.operator.sources, 2 * options.window) if len(self._frozen) else 0

    def _check_updates(self) -> None:
        """Refuse rounds so long that int32 does not hold how often one updates a row."""
        positions = self._worklist.size / self.rounds
        most = 2 * self._options.window * self.operator.targets  # by a position
        if (self._alone and not self._options.pools) or positions * most < _MOST_UPDATES:
            return
        found = float(self.operator.updates(self.counts, self._contexts).max()) / self._words * positions
        if found >= _ENOUGH * _MOST_UPDATES:
            least = math.ceil(found * self.rounds / (_ENOUGH * _MOST_UPDATES)) + 1
            raise Any2VecError(
                f"with `rounds` {self.rounds:,}, a host would update a vector about {found:,.0f} times in a round, "
                f"where {_MOST_UPDATES:,} can be counted; give `rounds={least}` or more"
            )

    def _plan_copies(self) -> None:
        """Choose the rows that each thread has a copy of."""
        operator, threads, self._hot = self.operator, self.workers.threads, 0
        if threads > 1:
            contexts = self._contexts
            updates = operator.updates(self.counts, contexts) / self._words
            samples = operator.samples_per_update(self._per_pair, contexts)
            per_window = np.array([1.0, contexts if operator.group_per_context else 1.0])
            positions = self._worklist.size // (threads * self.rounds)
            if updates[0].any():  # else rows of e are documents, and merging would not see how t is curved
                self._hot = how_many_hot(updates, positions, self._dim)
            self._hottest = updates, samples, per_window, positions
        self._choice, self._copying = Copying(threads), self._hot > 0

    def open(self) -> None:
        """Take the memory of matrices, of threads' copies and of kernels."""
        options, start, operator, threads = self._options, self._start, self.operator, self.workers.threads
        self._copies = hot_rows(*self._hottest, threads, self._dim, self._shares) if threads > 1 else list[HotRows]()
        self._tables = self._new_tables()
        self.inspector = Inspector(self._worklist, self._tables, operator, self._corpus.vertices)
        context = HostContext(
            self._communicator,
            self.workers,
            self.inspector,
            self._partition,
            options.dim,
            copies=(self._hot + self._spare) * threads,
            rebalances=operator.score is dots and start is None,  # blending compares with what a run began with
            seed=start.seed(options.seed) if start else options.seed,
            scale=operator.scale,
            wire=FLOAT32 if self._alone else options.wire,  # one host trains on rows as they are
            shares=self._shares,
        )
        self.scheme = scheme_of(options.scheme, self._communicator.size)(context)
        if operator.documents:  # they stay here: schemes need not know of them, but for rebalancing
            documents = self._corpus.documents_of(self._communicator.rank)
            rows = new_documents(documents.start, documents.stop, options.dim, seed=options.seed)
            self.scheme.masters = replace(self.scheme.masters, documents=rows)
        self.divisible = self._alone and not self.scheme.of_its_own
        independent = operator.independent(self._contexts)
        combined = CombinerContext(self.scheme.masters, self._per_pair, self.scheme.channel, independent)
        self.combiner = combiner_of(options.combine).bind(combined)
        kinds = {"freezing": bool(self._spare), "measuring": self._blends, "copying": self._hot > 0}
        self._kernel = operator_kernel(operator, self._dim, self._width, self.scheme.addressing, **kinds)

    def _new_tables(self) -> SampleTables:
        """Make the tables that samples are drawn from."""
        options, counts, part = self._options, self.counts, self._worklist
        first = part.first + (self._start.seen if self._start else 0)
        given = counts, options.sample, self.operator.tables(counts), options.seed, first, options.narrowest
        held = options.held_out or 0.0, options.part
        if options.pools:
            return PooledTables(part, options.negatives, *given, *held)
        return SampleTables(*given, *held, self.operator.documents)

    def memory(self, dim: int, threads: int) -> int:
        """Bytes of threads' copies, of merging what hosts changed, and of rebalancing rows."""
        threads = min(threads, self.workers.threads)
        vertices, padded = self._corpus.vertices, padded_width(dim)
        most = self._hot if padded >= self._dim else vertices
        found = memory_of_copies(min(most, vertices) if self._hot and threads > 1 else 0, self._spare, threads, padded)
        if not self._alone:
            found += memory_of_merging(vertices, self._communicator.size, threads, padded)
        if self.operator.documents:
            found += 4 * padded * len(self._corpus.documents_of(self._communicator.rank))
        return found + (_BYTES_OF_BALANCING * dim**2 if self._hot or not self._alone else 0)

    @cached_property
    def _shares(self) -> NDArray[np.float64] | None:
        """Weights of rows of e in the balance, if not all are 1."""
        return self.operator.shares(self.counts, self._contexts)

    @cached_property
    def _contexts(self) -> float:
        """Words in a context, in the mean."""
        lengths = self._worklist.lengths(_SENTENCES - 1).astype(float)
        return mean_context(lengths, self._options.window, self._options.narrowest, self._kept)

    def begin_with(self, start: Start) -> None:
        """Let this host's rows begin as `start` says; all hosts call this."""
        masters = self.scheme.masters
        start.fill(masters, self.operator, self.counts, self._communicator)
        self.scheme.restore(masters)

    def updates(self) -> dict[str, NDArray[np.int64]]:
        """Count, by matrix, the updates that an epoch makes to each of this host's masters; all hosts call this.

        After Ctrl-C, and where it strikes meanwhile, they are estimated, since counting takes long.
        """
        sums = self.inspector.sums(self.workers, lambda: self.interrupts.interrupted)
        masters = self.scheme.masters
        if allreduce(self._communicator, np.array([sums is None], np.int64))[0] or sums is None:
            assert self._start
            mine = slice(masters.first, masters.first + masters.vertices)
            expected = self.operator.updates(self.counts, self._contexts)[:, mine]
            shares = self._start.shares(self.counts)[mine], self._start.share(self.counts)
            operator = self.operator
            pairs = 1 if operator.joined or operator.group_per_context else self._contexts  # of a window, with a target
            e, t = expected[0] * shares[0], expected[1] * shares[1] * pairs
            return {"e": np.ceil(e).astype(np.int64), "t": np.ceil(t).astype(np.int64)}
        sent, own = self.scheme.partition.sizes, masters.vertices
        found = {}
        for which, counts in zip("et", sums, strict=True):
            received = np.empty(own * len(sent), np.int64)
            self._communicator.ialltoallv(counts, sent, received, np.full(len(sent), own)).wait()
            found[which] = received.reshape(len(sent), own).sum(axis=0)
        return found

    def start(self, task: Task) -> "list[Future[float]]":
        """Let threads begin to apply the operator to a slice; futures give CPU seconds."""
        chunks = self.chunks(task.slice.size, len(task.stats)) if task.left is None else deque(task.left)
        self.left = []

        def thread(k: int) -> float:
            began = time.thread_time()
            for _ in self.take_chunks(task, chunks, k):
                pass
            return time.thread_time() - began

        return self.workers.start(thread, len(task.stats))

    @staticmethod
    def chunks(size: int, threads: int) -> "deque[tuple[int, int]]":
        """Cut a slice into chunks, of which threads take the next one each: all of it for one thread.

        They are long, since threads that read the same text learn the same thing twice, and short in the end.
        """
        if threads == 1:
            return deque([(0, size)])
        begin, found = 0, deque[tuple[int, int]]()
        while begin < size:
            length = min(max((size - begin) // (threads * _PARTS), _SHORTEST), _LONGEST, size - begin)
            found.append((begin, begin + length))
            begin += length
        return found

    def take_chunks(self, task: Task, chunks: "deque[tuple[int, int]]", k: int) -> Iterator[None]:
        """Apply the operator to chunks until none is left, as thread `k`; yield after each, where tests take turns."""
        slice_, stats = task.slice, task.stats
        draws = self._tables.round(slice_.epoch, slice_.ranges)
        matrices, rows, hot = self.scheme.matrices, self._rows_of(k), _NONE
        e, t = matrices.e.reshape(-1), matrices.t.reshape(-1)
        rate = task.rate._replace(pace=0.0) if self._options.pools else task.rate
        at, copying = slice_.size, self._hot > 0 and rate.alpha > 0
        live, behind = self.scheme.live if slice_.size else 0, matrices.vertices + k * self._hot
        copies = self._copies[k].first(live, behind) if copying else _NONE
        while chunks:
            try:
                begin, end = chunks.popleft()
            except IndexError:  # another thread was faster
                break
            began = time.perf_counter()
            wanted = copies if self._copying else _NONE
            if hot is not wanted:
                merge(e, t, hot, learning_rate(rate, begin), self._dim, k)
                open_copies(e, t, wanted, self._dim)
                hot = wanted
            before, place = stats[k].words[0], begin
            for low, high in () if stats[k].stop[0] else slice_.part(begin, end).ranges:
                ahead = rate._replace(done=rate.done + rate.pace * place, pace=rate.pace * len(stats))
                for ids, bounds, here, first, last in self._worklist.pieces(low, high):
                    ahead = ahead._replace(before=here + first - low)
                    self._kernel(ids, bounds, first, last, e, t, rows, draws.ahead(here), ahead, hot, stats[k])
                    if stats[k].stop[0]:  # walks of further pieces are not needed any more
                        break
                place += high - low
            reached = begin + int(stats[k].words[0] - before)
            if reached < end:  # it was stopped
                at = min(at, reached)
                self.left.append((reached, end))
            if copying:
                self._choice.done(hot is copies, reached - begin, time.perf_counter() - began)
            yield
        if hot.rows:
            merge(e, t, hot, learning_rate(rate, at), self._dim, k)

    def _rows_of(self, k: int) -> RowTable:
        """Say where rows are for thread `k`: the scheme's, frozen ones, documents."""
        matrices, documents = self.scheme.matrices, self.scheme.masters.documents
        spare = matrices.vertices + self._hot * self.workers.threads + k * self._spare
        rows = self.scheme.rows._replace(frozen=self._frozen, spare=spare, sources=self.operator.sources)
        if documents is None:
            return rows
        return rows._replace(documents=(documents.ctypes.data - matrices.e.ctypes.data) // documents.itemsize)

    def compute(self, task: Task, look: Callable[[], None]) -> float:
        """Apply the operator to this host's slice (Algorithm 1, line 9), and inspect the next one behind it."""
        self._choose()
        if self.operator.documents:
            self.scheme.met = {"apart": self._documents_in(task.slice)}
        computing = self.start(task)
        if task.left is None:
            self.scheme.prefetch(task.following)

        def look_and_choose() -> None:
            look()
            self._choose()

        seconds = sum(self.workers.join(computing, look_and_choose))
        if self.operator.lines:
            lines = np.concatenate([one.met[: one.groups[0]] for one in task.stats])
            self.scheme.met = {"joined": Touched(lines, np.arange(len(lines)), np.ones(len(lines), np.int32))}
        self.left.sort()
        return seconds

    def _documents_in(self, slice_: Slice) -> Touched:
        """List the documents of a slice, with about as many updates as they get."""
        documents = self.scheme.masters.documents
        assert documents is not None
        assert isinstance(self._worklist, StoredWorklist)
        bounds = self._worklist.bounds
        rows, words = [np.empty(0, np.int64)], [np.empty(0)]
        for low, high in slice_.ranges:
            first, last = np.searchsorted(bounds, low, side="right") - 1, np.searchsorted(bounds, high)
            rows.append(np.arange(first, last))
            words.append(np.diff(np.clip(bounds[first : last + 1], low, high).astype(float)))
        updates = np.maximum(self._kept * np.concatenate(words), 1).astype(np.int32)
        return Touched(documents, np.concatenate(rows), updates)

    def skip_inspection(self) -> None:
        """Inspect no more, as no round follows; all hosts agree on that."""
        self.inspector.skip()

    def _choose(self) -> None:
        """Decide whether threads copy rows, from their next chunk on."""
        self._copying = self._hot > 0 and self._choice.wanted()

    def synchronize(self, round_: Round) -> Combined:
        """Reduce, combine and broadcast."""
        self.complete()
        return self.scheme.synchronize(round_, self.combiner)

    def complete(self) -> None:
        """Add what merging the threads' copies changed in the balance."""
        dim = self.scheme.masters.dim
        for hot in self._copies:
            half = hot.missing[:dim, :dim]
            self.scheme.balance.missing += half + half.T
            hot.missing[:] = 0

    def thread_stats(self) -> list[ThreadStats]:
        """Make the threads' counters, with room for some of the lines that t meets."""
        stats = super().thread_stats()
        if not self.operator.lines:
            return stats
        met = np.zeros((len(stats), _MET, self._dim), np.float32)
        return [one._replace(met=rows, groups=np.zeros(1, np.int64)) for one, rows in zip(stats, met, strict=True)]

    def compile(self) -> None:
        """Compile what rounds do, or load it from the cache, by doing it to nothing."""
        nothing = Slice(0, ((0, 0),))
        self.workers.join(self.start(Task(nothing, Rate(0.0, 0.0, 0.0, 0.0, 1.0), None, self.thread_stats()[:1])))
        if self._hot:
            self._choice.wanted()
            warm_up_balance(new_matrices(0, 2, self.scheme.context.dim), self.workers)
        if self.scheme.inspects or self._blends:
            self.workers.join(self.inspector.begin(nothing, self.workers))
        if not self._alone:
            warm_up(self.combiner, self.scheme.wire)
