"""A host of Algorithm 1, as the trainer sees it: it computes rounds, and Ctrl-C stops it."""

import signal
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray

from any2vec.cluster.communicator import Communicator
from any2vec.cluster.cores import usable_cores
from any2vec.cluster.local import is_simulated
from any2vec.cluster.workers import Workers
from any2vec.corpus import Corpus
from any2vec.operators import Operator
from any2vec.operators.arguments import ThreadStats
from any2vec.sync.combiners import Round
from any2vec.sync.masters import Combined
from any2vec.sync.scheme import Scheme
from any2vec.training.options import Options
from any2vec.training.schedule import Schedule
from any2vec.training.start import Start

__all__ = ["Host"]

_LEAST = 10_000  # words worth a thread


class Host(ABC):
    """One host of Algorithm 1 (GraphAny2Vec, section 3.1).

    Parameters
    ----------
    corpus : Corpus
        V, and this host's part of W.
    options : Options
        How to train.
    communicator : Communicator
        The hosts.
    stop : int64 array, shape (1,), optional
        A flag that other hosts share.
    most_threads : int, optional
        Threads that it can make use of, if not any number.

    Attributes
    ----------
    scheme : Scheme
        Holds the labels and synchronizes them.
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
    interrupted : bool
        Whether Ctrl-C stopped the computation.
    finishes_rounds : bool
        Whether Ctrl-C lets the round end first, so that a checkpoint can be written; pressed twice, it does not.
    """

    scheme: Scheme
    operator: Operator
    rounds: int
    cuts: NDArray[np.int64]
    part: int
    share: float

    def __init__(
        self,
        corpus: Corpus,
        options: Options,
        communicator: Communicator,
        stop: NDArray[np.int64] | None = None,
        most_threads: int | None = None,
    ) -> None:
        self._communicator = communicator
        self._worklist = corpus.part(communicator.rank)
        threads = max(1, min(options.threads or usable_cores(), len(self._worklist.ids) // _LEAST))
        threads = 1 if is_simulated(communicator) else min(threads, most_threads or threads)
        self.workers = Workers(threads, communicator)
        self.release = corpus.worklist.release
        """Let the system take back the memory of what was read of the worklist."""
        self.interrupted = self.finishes_rounds = False
        self._alone = communicator.size == 1
        self._stop = np.zeros(1, np.int64) if stop is None else stop

    @abstractmethod
    def compile(self) -> None:
        """Compile what rounds do, or load it from the cache, by doing it to nothing."""

    @abstractmethod
    def begin_with(self, start: Start) -> None:
        """Let this host's rows begin as `start` says; all hosts call this."""

    @abstractmethod
    def work(self, schedule: Schedule, number: int, stats: list[ThreadStats], look: Callable[[], None]) -> float:
        """Apply the operator to this host's slice of a round (Algorithm 1, line 9), calling `look` now and then.

        Returns
        -------
        float
            CPU seconds of all threads.
        """

    @abstractmethod
    def synchronize(self, round_: Round) -> Combined:
        """Synchronize after a round (Algorithm 1, line 10)."""

    def thread_stats(self) -> list[ThreadStats]:
        """Make the threads' counters, on cache lines of their own."""
        rows = np.zeros((self.workers.threads, 16))
        return [ThreadStats(row[0:1], row[1:2], row[2:3], row[3:5], self._stop) for row in rows]

    @property
    def stopped(self) -> bool:
        """Whether the threads return early."""
        return bool(self._stop[0])

    def stop(self) -> None:
        """Let the threads return early, now and from here on."""
        self._stop[0] = 1

    @contextmanager
    def interruptible(self) -> Iterator[None]:
        """Within the block, let Ctrl-C end the computation, now and from here on, instead of raising an exception.

        (An exception could strike while a thread holds a lock.) Likewise SIGTERM, where it is handled as Ctrl-C, as on
        the command line. Programs with a handler of their own keep it.
        """
        ours = [
            number
            for number in (signal.SIGINT, signal.SIGTERM)
            if threading.current_thread() is threading.main_thread()
            and signal.getsignal(number) is signal.default_int_handler
        ]
        for number in ours:
            signal.signal(number, lambda *_: self._interrupt())
        try:
            yield
        except KeyboardInterrupt:  # of another handler
            if not self._alone:  # others wait for this host
                raise
            self._interrupt()
        finally:
            for number in ours:
                signal.signal(number, signal.default_int_handler)

    @contextmanager
    def catching(self) -> Iterator[None]:
        """Treat a KeyboardInterrupt in the block, of a callback or other handler, as Ctrl-C: others must hear of it."""
        try:
            yield
        except KeyboardInterrupt:
            self._interrupt()

    def _interrupt(self) -> None:
        if self.interrupted or not self.finishes_rounds:
            self.stop()
        self.interrupted = True
