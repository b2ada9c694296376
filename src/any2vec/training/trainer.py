"""Algorithm 1 of GraphAny2Vec: epochs, rounds, computing, synchronizing."""

import math
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from any2vec.cluster.communicator import Communicator, SharedError, allreduce, together
from any2vec.cluster.local import is_simulated
from any2vec.corpus import Corpus
from any2vec.operators.labels import Labels
from any2vec.operators.skipgram import ThreadStats
from any2vec.sync.combiners import Round
from any2vec.sync.partition import Partition
from any2vec.training.host import Host
from any2vec.training.meter import Done, Meter, done
from any2vec.training.options import Options
from any2vec.training.progress import Display, too_many_hosts
from any2vec.training.report import Report, peak_memory
from any2vec.training.rounds import told
from any2vec.training.schedule import Schedule

__all__ = ["AfterEpoch", "default_rounds", "train"]

_HOT_ROWS = 1000  # looked at while an epoch runs: where values explode, they explode first
_SECONDS_BETWEEN_LOOKS = 1.0
_FEW_EPOCHS = 20  # more than that are not worth a line each

AfterEpoch = Callable[[int, Labels], dict[str, float]]


def default_rounds(hosts: int) -> int:
    """S where the user names none: the papers' rule (GraphAny2Vec, A.1), 1 for one host, else about 1.5 for each."""
    return 1 if hosts == 1 else math.floor(1.5 * hosts + 0.5)


def train(
    corpus: Corpus,
    options: Options,
    communicator: Communicator,
    display: Display,
    report: Report,
    *,
    after_epoch: AfterEpoch | None = None,
    width: int | None = None,
    stop: NDArray[np.int64] | None = None,
) -> Labels:
    """Train the labels of all vertices on a corpus; all hosts call this.

    Parameters
    ----------
    corpus : Corpus
        V, and this host's part of W.
    options : Options
        How; the same on all hosts but for the threads.
    communicator : Communicator
        The hosts.
    display : Display
        Shows how it goes.
    report : Report
        Gets the figures: losses, checks, seconds, speed, memory.
    after_epoch : function, optional
        Called on host 0 after each epoch with its number, from 1, and the labels; only `e` if there are several
        hosts. The figures it returns are shown and kept.
    width : int, optional
        Floats in a register, if not this processor's.
    stop : int64 array, shape (1,), optional
        A flag that simulated hosts share, 0: what stops one stops all, and not only at the end of a round.

    Returns
    -------
    Labels
        The labels of this host's masters. After Ctrl-C, as far as they are trained; ``report.interrupted`` is true
        then.

    Raises
    ------
    SharedError
        If the labels do not fit into memory, there is nothing to learn from, or values stop being finite.
    """
    with together(communicator):
        host = Host(corpus, options, communicator, width, stop)
    run = _Run(host, corpus, options, communicator, display, report)
    with host.workers, _one_blas_thread(communicator):
        try:
            run.compile()
            with host.interruptible():
                run.epochs(after_epoch)
        except BaseException:
            host.stop()
            raise
        finally:
            display.close()
            run.note()
    return host.scheme.masters


def _one_blas_thread(communicator: Communicator) -> AbstractContextManager[Any]:
    """Let combiners that call BLAS not wake its threads, which would take cores from hosts and spin for more work."""
    once_a_process = communicator.rank == 0 or not is_simulated(communicator)
    return threadpool_limits(1, "blas") if communicator.size > 1 and once_a_process else nullcontext()


class _Run:
    """Algorithm 1 on one host."""

    def __init__(
        self,
        host: Host,
        corpus: Corpus,
        options: Options,
        communicator: Communicator,
        display: Display,
        report: Report,
    ) -> None:
        self._host, self._options, self._communicator = host, options, communicator
        self._display, self._report = display, report
        rounds = options.rounds or default_rounds(communicator.size)
        self._schedule = Schedule(options.alpha, options.epochs, rounds, corpus.cuts)
        rank, words = communicator.rank, self._schedule.words
        share = float(corpus.cuts[rank + 1] - corpus.cuts[rank]) / words
        self._meter = Meter(options, words, share, corpus.raw_words, display)
        self._vertices = len(corpus.vocabulary)
        self._interrupted = self._broken = False
        self._clock = 0.0
        self._kappa = 0.25  # of labels that are zero
        if line := too_many_hosts(words, communicator.size, rounds):
            display.say(line)

    def compile(self) -> None:
        """Compile the operator: host 0 first, so that others find it in the cache."""
        started = time.perf_counter()
        self._display.compiling()
        if self._communicator.rank == 0:
            self._host.compile()
        self._communicator.barrier()
        self._host.compile()
        self._report.seconds["compile"] = time.perf_counter() - started

    def epochs(self, after_epoch: AfterEpoch | None) -> None:
        """Do all epochs (Algorithm 1, lines 5 to 12)."""
        first = self._schedule.slice(self._communicator.rank, 0)
        assert first is not None
        self._host.scheme.begin(first)
        for epoch in range(self._options.epochs):
            self._meter.start_epoch()
            for number in self._schedule.numbers(epoch):
                self._round(number)
                if self._interrupted:
                    break
            self._meter.end_epoch()
            masters = self._host.scheme.masters
            self._agree_finite(masters.is_finite() and math.isfinite(self._meter.loss[-1]), epoch)
            if self._interrupted:
                break
            if not self._meter.samples:
                raise SharedError("nothing to learn: no sentence keeps two words (a line is a sentence)")
            self._check(epoch, after_epoch)
            if self._interrupted:
                break

    def note(self) -> None:
        """Write the figures into the report."""
        report, meter = self._report, self._meter
        report.threads = self._host.workers.threads
        report.hosts, report.round_count = self._communicator.size, self._schedule.rounds
        report.interrupted = self._interrupted or self._host.interrupted
        report.loss = meter.loss
        report.seconds["train"] = meter.seconds
        report.words_per_second = meter.words_per_second
        report.peak_memory = peak_memory()

    def _round(self, number: int) -> None:
        """Compute and synchronize (Algorithm 1, lines 7 to 10)."""
        host, scheme, communicator = self._host, self._host.scheme, self._communicator
        tallies = host.tallies()
        computing = host.compute(self._schedule, number, communicator.rank, tallies)
        scheme.prefetch(self._schedule.slice(communicator.rank, number + 1))
        computed = sum(host.workers.join(computing, lambda: self._look(tallies)))
        with scheme.wire.timed():
            hosts = communicator.allgather(done(tallies, host.interrupted, self._broken))
        all_ = Done(*hosts.sum(axis=0).tolist())
        self._meter.add(all_)
        if all_.broken:
            raise self._not_finite(self._schedule.epoch(number))
        if all_.interrupted and not self._interrupted:
            self._interrupted = True
            host.stop()
        if all_.measured:
            self._kappa = all_.curvature / all_.measured
        combined = scheme.synchronize(Round(number, self._schedule.middle(number), self._kappa), host.combiner)
        self._broken = not combined.finite
        if communicator.size > 1:
            seconds = [scheme.inspecting / host.workers.threads, computed / host.workers.threads]
            seconds += [scheme.combining / host.workers.threads, scheme.wire.seconds]
            figures = told(seconds, scheme.touched, combined, scheme.wire.take())
            scheme.inspecting = scheme.combining = scheme.wire.seconds = 0.0
            self._report.rounds.add(communicator.allgather(figures))

    def _look(self, tallies: list[ThreadStats]) -> None:
        """Look after the threads while they compute."""
        self._host.release()
        with self._host.catching():
            self._meter.show(tallies)
        if time.monotonic() - self._clock > _SECONDS_BETWEEN_LOOKS:
            self._clock = time.monotonic()
            if not self._host.scheme.labels.is_finite(min(_HOT_ROWS, self._host.scheme.live)):
                self._broken = True  # the others hear of it at the end of the round
                self._host.stop()

    def _agree_finite(self, finite: bool, epoch: int) -> None:
        if allreduce(self._communicator, np.array([not finite], np.int64))[0]:
            raise self._not_finite(epoch)

    def _check(self, epoch: int, after_epoch: AfterEpoch | None) -> None:
        """Let the user judge the labels, and tell of the epoch."""
        figures: dict[str, float] = {}
        if after_epoch:
            labels = _on_first(self._host.scheme.masters, self._vertices, self._communicator)
            with together(self._communicator), self._host.catching():
                figures = after_epoch(epoch + 1, labels) if labels else {}
            pressed = np.array([self._host.interrupted], np.int64)
            self._interrupted = bool(allreduce(self._communicator, pressed)[0])
        self._report.checks += [{"epoch": epoch + 1, **figures}] if figures else []
        if figures or self._options.epochs <= _FEW_EPOCHS:
            line = [f"epoch {epoch + 1}/{self._options.epochs}", f"loss {self._meter.loss[-1]:.4f}"]
            self._display.say("  ".join(line + [f"{name} {value:.2f}" for name, value in figures.items()]))

    def _not_finite(self, epoch: int) -> SharedError:
        which = self._options.combine
        name = which if isinstance(which, str) else which.__name__
        combiner = f", or the combiner {name!r} adds up too much" if self._communicator.size > 1 else ""
        return SharedError(
            f"training stopped in epoch {epoch + 1}: values are not finite any more; alpha {self._options.alpha} is "
            f"too large for this corpus (0.025 is usual){combiner}"
        )


def _on_first(masters: Labels, vertices: int, communicator: Communicator) -> Labels | None:
    """Bring the embedding vectors of all masters to host 0; the others get None."""
    if communicator.size == 1:
        return masters
    counts = np.diff(Partition(vertices, communicator.size).bounds) * (communicator.rank == 0)
    sent = np.zeros(communicator.size, np.int64)
    sent[0] = masters.vertices
    e = np.empty((int(counts.sum()), masters.e.shape[1]), np.float32)
    communicator.alltoallv(masters.e[: masters.vertices], sent, e, counts)
    return Labels(e, e[:0], 0, vertices, masters.dim) if communicator.rank == 0 else None
