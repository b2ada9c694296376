"""A host: its model, and the threads that apply the operator to its slices of the worklist."""

import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from types import TracebackType
from typing import Self

import numpy as np

from any2vec.corpus import Vocabulary, Worklist
from any2vec.operators.mirrors import Mirrors
from any2vec.operators.skipgram import Rate, Samples, Tally, skipgram_kernel
from any2vec.operators.tiles import register_width
from any2vec.samples.draws import KEEP, NEGATIVES, epoch_key
from any2vec.samples.negatives import alias_table, probabilities
from any2vec.samples.skipgram import keep_thresholds
from any2vec.training.model import new_model
from any2vec.training.options import Options, usable_cores

__all__ = ["FLOOR", "Host"]

FLOOR = 1e-4
"""Share of its start below which the learning rate does not fall (word2vec's)."""

HOT = {"window": 256, "exact": 1024}
"""Rows of which each thread has mirrors, where there are several threads (measured: benchmarks/README.md)."""

EVERY = 4000
"""Centres that a thread does between two merges of its mirrors (likewise)."""

_LEAST = 10_000  # words worth a thread
_POLL = 0.1  # seconds between two looks at the threads


class Host:
    """One host of Algorithm 1 (GraphAny2Vec, section 3.1); use it in a ``with`` block.

    Parameters
    ----------
    vocabulary : Vocabulary
        V.
    worklist : Worklist
        W.
    options : Options
        How to train.
    width : int, optional
        Floats in a register, if not this processor's.

    Attributes
    ----------
    model : Model
        The labels.
    threads : int
        Threads at work: no more than there is work for.
    interrupted : bool
        Whether Ctrl-C stopped the computing.
    """

    def __init__(self, vocabulary: Vocabulary, worklist: Worklist, options: Options, width: int | None = None) -> None:
        self.worklist = worklist
        self.options = options
        self.words = int(worklist.bounds[-1])
        wanted = usable_cores() if options.threads is None else options.threads
        self.threads = max(1, min(wanted, self.words // _LEAST))
        self._hot = min(HOT[options.schedule], len(vocabulary)) if self.threads > 1 else 0
        self.model = new_model(len(vocabulary), options.dim, mirrors=self._hot * self.threads, seed=options.seed)
        self.interrupted = False
        self._keep = keep_thresholds(vocabulary.counts, options.sample)
        self._negatives = alias_table(probabilities(vocabulary.counts))
        self._lock = np.zeros(1, np.int32)
        self._stop = np.zeros(1, np.int64)
        self._pool = ThreadPoolExecutor(self.threads)
        padded = self.model.e.shape[1]
        self._kernel = skipgram_kernel(
            options.schedule, padded, options.window, options.negative, width or register_width()
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop[0] = 1
        self._pool.shutdown()

    def compile(self) -> None:
        """Compile the operator, or load it from the cache, by applying it to nothing."""
        self._apply(0, 0, 0, 0.0, self.tallies()[0], 0)

    def tallies(self) -> list[Tally]:
        """Make what each thread counts in, on cache lines of their own."""
        rows = np.zeros((self.threads, 16))
        return [Tally(row[0:1], row[1:2], row[2:3], self._stop) for row in rows]

    def compute(self, epoch: int, low: int, high: int, tallies: list[Tally], look: Callable[[], None]) -> None:
        """Apply the operator to the samples of a slice (Algorithm 1, line 9).

        Parameters
        ----------
        epoch : int
            Epoch, from 0.
        low, high : int
            The slice: positions low..high-1 of the worklist.
        tallies : list of Tally
            What the threads count in.
        look : function
            Called now and then while the threads run; what it raises stops them.
        """
        done = float(epoch) * self.words + low
        cuts = [low + (high - low) * k // self.threads for k in range(self.threads + 1)]
        running: set[Future[None]] = {
            self._pool.submit(self._apply, epoch, cuts[k], cuts[k + 1], done, tally, k)
            for k, tally in enumerate(tallies)
        }
        try:
            while running:
                finished, running = wait(running, timeout=_POLL, return_when=FIRST_EXCEPTION)
                for future in finished:
                    future.result()
                self.worklist.release()
                look()
        except BaseException:
            self._stop[0] = 1
            wait(running)
            raise

    @contextmanager
    def interruptible(self) -> Iterator[None]:
        """Let Ctrl-C end what is computed in the block, now and from here on, instead of raising an exception.

        (That could strike while a lock of the threads is held.) Programs with a handler of their own keep it.
        """
        ours = (
            threading.current_thread() is threading.main_thread()
            and signal.getsignal(signal.SIGINT) is signal.default_int_handler
        )
        if ours:
            signal.signal(signal.SIGINT, lambda *_: self._interrupt())
        try:
            yield
        except KeyboardInterrupt:  # of another handler, or of a callback
            self._interrupt()
        finally:
            if ours:
                signal.signal(signal.SIGINT, signal.default_int_handler)

    def _interrupt(self) -> None:
        self._stop[0] = 1
        self.interrupted = True

    def _apply(self, epoch: int, low: int, high: int, done: float, tally: Tally, thread: int) -> None:
        options = self.options
        samples = Samples(
            self._keep,
            self._negatives,
            np.uint64(epoch_key(options.seed, epoch, KEEP)),
            np.uint64(epoch_key(options.seed, epoch, NEGATIVES)),
        )
        total = float(self.words) * options.epochs
        rate = Rate(float(options.alpha), FLOOR, done, float(self.threads), total)
        mirrors = Mirrors(self._hot, self.model.vertices + thread * self._hot, EVERY, self._lock)
        e, t = self.model.e.reshape(-1), self.model.t.reshape(-1)
        ids, bounds = self.worklist.ids, self.worklist.bounds
        self._kernel(ids, bounds, low, high, e, t, samples, rate, mirrors, tally)
