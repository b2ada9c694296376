"""A host of Algorithm 1, as the trainer sees it: it computes rounds, and Ctrl-C stops it."""

import math
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Sequence
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from any2vec.cluster.communicator import Communicator
from any2vec.cluster.machine import usable_cores
from any2vec.cluster.workers import SharedCache, Workers
from any2vec.corpus import Corpus
from any2vec.operators import Operator
from any2vec.operators.base import Rate, ThreadStats
from any2vec.operators.tiles import register_width
from any2vec.samples.windows import Slice
from any2vec.sync.channel import Partition
from any2vec.sync.combiners import Round
from any2vec.sync.masters import Combined
from any2vec.sync.scheme import Scheme
from any2vec.training.ending import Interrupts
from any2vec.training.options import MOST_THREADS, Options
from any2vec.training.state import Start

_LEAST = 10_000  # words worth a thread


class Task(NamedTuple):
    """What a host computes of a round."""

    slice: Slice  # what it takes of its part
    rate: Rate  # learning rate in the slice, for one thread
    following: Slice | None  # what it takes in the next round
    stats: list[ThreadStats]  # the threads' counters
    left: list[tuple[int, int]] | None = None  # after a pause, what is left of the slice; None for all of it


class Host(ABC):
    """One host of Algorithm 1 (GraphAny2Vec, section 3.1).

    Its constructor finds out what it needs, and refuses what cannot be done; it takes its memory when it is opened.
    """

    scheme: Scheme  # holds the matrices and synchronizes them
    operator: Operator  # applies samples
    rounds: int  # S, rounds per epoch
    cuts: NDArray[np.int64]  # positions of W where the parts begin that slices are taken of
    part: int  # which of these this host takes
    share: float  # share of all words that its counters count
    divisible = False  # whether a round may end anywhere, and go on later, to the same bits if there is one thread
    most_threads: ClassVar[int] = MOST_THREADS  # threads that it can make use of

    def __init__(
        self,
        corpus: Corpus,
        options: Options,
        communicator: Communicator,
        flags: NDArray[np.int64] | None = None,
        start: Start | None = None,
        partition: Partition | None = None,
    ) -> None:
        self._corpus, self._options, self._start = corpus, options, start
        self._width = register_width()
        self._communicator = communicator
        self._partition = partition or Partition.even(corpus.vertices, communicator.size)
        self._worklist = corpus.part(communicator.rank)
        # no more threads than there is work for
        threads = max(1, min(options.threads or usable_cores(), self._worklist.size // _LEAST))
        self.workers = Workers(min(threads, self.most_threads), communicator)
        self.release = corpus.worklist.release  # lets the system take back the memory of what was read
        self.interrupts = Interrupts(flags)
        self.left = list[tuple[int, int]]()  # words of the slice, from and to, that threads left when they were stopped
        self._alone = communicator.size == 1

    @abstractmethod
    def open(self) -> None:
        """Take the memory of matrices and kernels."""

    def memory(self, dim: int, threads: int) -> int:
        """Bytes that it needs with so many dimensions and threads, besides those of the scheme."""
        return 0

    @abstractmethod
    def compile(self) -> None:
        """Compile what rounds do, or load it from the cache, by doing it to nothing."""

    @abstractmethod
    def begin_with(self, start: Start) -> None:
        """Let this host's rows begin as `start` says; all hosts call this."""

    @abstractmethod
    def compute(self, task: Task, look: Callable[[], None]) -> float:
        """Apply the operator to this host's slice of a round (Algorithm 1, line 9); return CPU seconds of all threads.

        `look` is called now and then.
        """

    def judge(self, slice_: Slice, look: Callable[[], None]) -> list[ThreadStats]:
        """Compute the loss of a slice of the epoch `JUDGING`, and change nothing; return the threads' counters."""
        self.scheme.visit(slice_)
        stats, chunks = self.thread_stats(), list(self.chunks(slice_.size, self.workers.threads))
        self.compute(Task(slice_, Rate(0.0, 0.0, 0.0, 0.0, 1.0), None, stats, chunks), look)
        return stats

    @staticmethod
    def chunks(size: int, threads: int) -> Sequence[tuple[int, int]]:
        """Cut a slice into chunks, of which threads take the next one each."""
        return [(0, size)]

    @abstractmethod
    def synchronize(self, round_: Round) -> Combined:
        """Synchronize after a round (Algorithm 1, line 10)."""

    def thread_stats(self) -> list[ThreadStats]:
        """Make the threads' counters, on cache lines of their own."""
        rows = np.zeros((self.workers.threads, 16))
        flags = self.interrupts.flags
        return [ThreadStats(row[0:1], row[1:2], row[2:3], row[3:5], flags) for row in rows]

    def complete(self) -> None:  # noqa: B027
        """Make the state complete when a round, or a part of one, is computed."""

    def skip_inspection(self) -> None:  # noqa: B027
        """Inspect no more, as no round follows; all hosts agree on that."""


_FIRST = 10.0  # seconds of a shared cache until the first trial, and between two; each time twice as long
_TRIAL = 0.25  # seconds of a thread in a trial
_OFTEN, _SELDOM = 0.5, 5.0  # seconds between two looks at the cache while rows are not copied, and while they are
_RECENT = 0.5  # what counts of earlier chunks at each look


class Copying:
    """Decides whether the threads of a host copy the rows that are updated often."""

    def __init__(self, threads: int) -> None:
        self._threads, self._cache = threads, SharedCache()
        self._chunks = deque[tuple[bool, float, float]]()
        self._advantage = 0.0  # of chunks without copies where a cache is shared: sum over trials of the logarithm
        self._trying, self._settled = False, False
        self._usual, self._tried = np.zeros((2, 2))  # positions done, and the seconds that threads took for them
        self._wait, self._next = _FIRST, math.inf

    def done(self, copied: bool, positions: int, seconds: float) -> None:
        """Note how long a thread took for a chunk, with copies or without."""
        self._chunks.append((copied, positions, seconds))

    def wanted(self) -> bool:
        """Return whether threads are to copy rows, from their next chunk on; called every tenth of a second or so."""
        speeds = {False: np.zeros(2), True: np.zeros(2)}
        for _ in range(len(self._chunks)):  # threads add to it meanwhile
            copied, *speed = self._chunks.popleft()
            speeds[copied] += speed
        if not self._cache.is_shared(_SELDOM if self._copies else _OFTEN):
            self._stop_trial()
            self._advantage, self._wait = 0.0, _FIRST
            return True
        best = self._copies_best
        if self._trying:
            if self._settled:
                self._tried += speeds[not best]
            self._settled |= bool(speeds[not best][1])  # the first chunks fetch what others had
            if self._tried[1] >= _TRIAL * self._threads:
                self._compare()
            return self._copies
        self._usual = _RECENT * self._usual + speeds[best]
        self._next = min(self._next, time.monotonic() + self._wait)
        self._trying = bool(self._usual[0]) and time.monotonic() >= self._next
        return self._copies

    @property
    def _copies_best(self) -> bool:
        return self._advantage <= 0

    @property
    def _copies(self) -> bool:
        return self._copies_best != self._trying

    def _compare(self) -> None:
        tried, usual = (positions / seconds for positions, seconds in (self._tried, self._usual))
        self._advantage += math.log(tried / usual) * (1 if self._copies_best else -1)
        self._wait *= 2
        self._stop_trial()

    def _stop_trial(self) -> None:
        self._trying = self._settled = False
        self._usual, self._tried = np.zeros((2, 2))
        self._next = math.inf
