"""A host of Algorithm 1, as the trainer sees it: it computes rounds, and Ctrl-C stops it."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from any2vec.cluster.communicator import Communicator
from any2vec.cluster.machine import usable_cores
from any2vec.cluster.workers import Workers
from any2vec.corpus import Corpus
from any2vec.operators import Operator
from any2vec.operators.base import Rate, ThreadStats
from any2vec.operators.tiles import register_width
from any2vec.samples.windows import Slice
from any2vec.sync.combiners import Round
from any2vec.sync.masters import Combined
from any2vec.sync.partition import Partition
from any2vec.sync.scheme import Scheme
from any2vec.training.going_on.start import Start
from any2vec.training.options import MOST_THREADS, Options
from any2vec.training.running.interrupts import Interrupts

__all__ = ["Host", "Task"]

_LEAST = 10_000  # words worth a thread


class Task(NamedTuple):
    """What a host computes of a round.

    Attributes
    ----------
    slice : Slice
        What it takes of its part.
    rate : Rate
        Learning rate in the slice, for one thread.
    following : Slice or None
        What it takes in the next round.
    stats : list of ThreadStats
        The threads' counters.
    left : list of (int, int), optional
        After a pause, what is left of the slice; None for all of it.
    """

    slice: Slice
    rate: Rate
    following: Slice | None
    stats: list[ThreadStats]
    left: list[tuple[int, int]] | None = None


class Host(ABC):
    """One host of Algorithm 1 (GraphAny2Vec, section 3.1); it takes its memory when it is opened.

    Parameters
    ----------
    corpus : Corpus
        V, and this host's part of W.
    options : Options
        How to train.
    communicator : Communicator
        The hosts.
    flags : int64 array, shape (2,), optional
        Those of `Interrupts`, if other hosts share them.
    start : Start, optional
        What rows begin with, and which are frozen.
    partition : Partition, optional
        Which host has the master of each vertex: as many each, by default.

    Attributes
    ----------
    scheme : Scheme
        Holds the matrices and synchronizes them.
    workers : Workers
        The threads, no more than there is work for.
    operator : Operator
        Applies samples.
    rounds : int
        S, rounds per epoch.
    cuts : int64 array
        Positions of W where the parts begin that slices are taken of.
    part : int
        Which of these this host takes.
    share : float
        Share of all words that its counters count.
    interrupts : Interrupts
        What stops the computation.
    divisible : bool
        Whether a round may end anywhere, and what is left be done later, to the same bits if there is one thread.
    most_threads : int
        Threads that it can make use of.
    left : list of (int, int)
        Words of the slice, from and to, that were left when the threads returned early.
    """

    scheme: Scheme
    operator: Operator
    rounds: int
    cuts: NDArray[np.int64]
    part: int
    share: float
    divisible = False
    most_threads: ClassVar[int] = MOST_THREADS

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
        threads = max(1, min(options.threads or usable_cores(), self._worklist.size // _LEAST))
        self.workers = Workers(min(threads, self.most_threads), communicator)
        self.release = corpus.worklist.release
        """Let the system take back the memory of what was read of the worklist."""
        self.interrupts, self.left = Interrupts(flags), list[tuple[int, int]]()
        self._alone = communicator.size == 1
        self._plan()

    @abstractmethod
    def _plan(self) -> None:
        """Find out what the host needs, before it takes memory; refuse what cannot be done."""

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
    def work(self, task: Task, look: Callable[[], None]) -> float:
        """Apply the operator to this host's slice of a round (Algorithm 1, line 9); return CPU seconds of all threads.

        `look` is called now and then.
        """

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
