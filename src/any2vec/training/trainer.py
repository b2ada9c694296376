"""Algorithm 1 of GraphAny2Vec: epochs, rounds, computing, synchronizing."""

import math
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from any2vec.cluster.communicator import Communicator, SharedError, allreduce, together
from any2vec.cluster.local import is_simulated
from any2vec.cluster.lost import LostHostError
from any2vec.corpus import Corpus
from any2vec.operators.arguments import ThreadStats
from any2vec.operators.labels import Labels
from any2vec.sync.combiners import Round
from any2vec.sync.memory import check_memory
from any2vec.sync.partition import Partition
from any2vec.sync.schemes import AUTO, scheme_of
from any2vec.training.blend import Blend
from any2vec.training.checkpoint import Checkpoints
from any2vec.training.choice import choose, usual_scheme
from any2vec.training.column_host import ColumnHost
from any2vec.training.divergence import not_finite
from any2vec.training.host import Host
from any2vec.training.meter import Meter, RoundTotals, pack_totals
from any2vec.training.options import Options
from any2vec.training.progress import Display, too_many_hosts
from any2vec.training.report import Report, peak_memory
from any2vec.training.rounds import Rounds, pack_round_stats
from any2vec.training.row_host import RowHost
from any2vec.training.schedule import Schedule
from any2vec.training.start import Start
from any2vec.training.state import TrainingState

__all__ = ["AfterEpoch", "AfterRound", "train"]

_HOT_ROWS = 1000  # checked while an epoch runs: where values diverge, these do first
_SECONDS_BETWEEN_CHECKS = 1.0
_FEW_EPOCHS = 20  # more are not worth a line each

AfterEpoch = Callable[[int, Labels], dict[str, float]]
AfterRound = Callable[[TrainingState], None]


def train(
    corpus: Corpus,
    options: Options,
    communicator: Communicator,
    display: Display,
    report: Report,
    *,
    after_epoch: AfterEpoch | None = None,
    after_round: AfterRound | None = None,
    state: TrainingState | None = None,
    checkpoints: Checkpoints | None = None,
    start: Start | None = None,
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
        Shows progress.
    report : Report
        Receives losses, checks, seconds, speed, memory.
    after_epoch : function, optional
        Called on host 0 after each epoch with its number, from 1, and the labels; only `e` if there are several
        hosts. The figures it returns are shown and kept.
    after_round : function, optional
        Called on every host after each round with its state, whose masters must be copied to be kept.
    state : TrainingState, optional
        To go on from. From the same number of hosts and rounds, the outcome has the bits of an uninterrupted run; with
        others, what is left of the epoch is cut anew. `state.masters` must be this host's range of vertices.
    checkpoints : Checkpoints, optional
        Where the state is written now and then; the caller closes it.
    start : Start, optional
        What rows begin with, and which are frozen. With a `state`, what its run began with.
    width : int, optional
        Floats in a register, if not this processor's.
    stop : int64 array, shape (1,), optional
        A flag that simulated hosts share, 0: what stops one stops all at once, not only at the end of a round.

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
    options = options.training_options()
    with together(communicator):
        options = replace(options, scheme=options.scheme or usual_scheme(corpus, options, communicator))
    if options.scheme == AUTO:
        options, line = choose(corpus, options, communicator, start)
        display.say(line)
    report.scheme = str(options.scheme)
    scheme = scheme_of(options.scheme, communicator.size)
    check_memory(scheme, len(corpus.vocabulary), options.dim, communicator)
    with together(communicator):
        host: Host = (ColumnHost if scheme.by_columns else RowHost)(corpus, options, communicator, width, stop, start)
    host.finishes_rounds = checkpoints is not None
    run = _Run(host, corpus, options, communicator, display, report, checkpoints)
    with host.workers, _one_blas_thread(communicator):
        try:
            run.compile()
            with host.interruptible():
                run.begin(state, start)
                learned = run.epochs(after_epoch, after_round)
                if learned:
                    run.blend(host.scheme.masters)
        except LostHostError as error:
            kept = checkpoints.newest_line() if checkpoints else ""
            error.args = (f"{error}{kept}",)
            host.stop()
            raise
        except BaseException:
            host.stop()
            raise
        finally:
            display.close()
            run.note()
    if not learned:
        display.say(f"`sample` {options.sample:g} leaves nothing of so small a corpus: training without subsampling")
        report.rounds = Rounds()
        again = {"after_epoch": after_epoch, "after_round": after_round, "checkpoints": checkpoints, "start": start}
        options = replace(options, sample=0.0)
        return train(corpus, options, communicator, display, report, **again, width=width, stop=stop)  # type: ignore[arg-type]
    return host.scheme.rows_of_masters(last=True)


def _one_blas_thread(communicator: Communicator) -> AbstractContextManager[Any]:
    """Limit BLAS to one thread; its spinning workers would steal the cores."""
    once_a_process = communicator.rank == 0 or not is_simulated(communicator)
    return threadpool_limits(1, "blas") if once_a_process else nullcontext()


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
        checkpoints: Checkpoints | None,
    ) -> None:
        self._checkpoints = checkpoints
        self._host, self._corpus, self._options, self._communicator = host, corpus, options, communicator
        self._display, self._report = display, report
        self._rounds = host.rounds
        self._schedule = Schedule(options.initial_alpha, options.epochs, self._rounds, host.cuts)
        words = self._schedule.words
        self._meter = Meter(options, words, host.share, corpus.raw_words, display)
        self._epoch = self._number = 0  # to begin with
        self._resumed = False  # in the middle of that epoch
        self._interrupted = self._broken = False
        self._clock = 0.0
        self._kappa = 0.25  # of labels that are zero
        self._blend: Blend | None = None
        if line := too_many_hosts(words, len(host.cuts) - 1, self._rounds):
            display.say(line)

    def compile(self) -> None:
        """Compile the operator: host 0 first, so that others find it in the cache."""
        started = time.perf_counter()
        self._display.compiling()
        first = self._communicator.rank == 0
        if first:
            self._host.compile()
        self._communicator.barrier()
        if not first:
            self._host.compile()
        self._report.seconds["compile"] = time.perf_counter() - started

    def begin(self, state: TrainingState | None, start: Start | None) -> None:
        """Get ready for the first round: that of a new run, or that after a state."""
        if start and not state:
            self._host.begin_with(start)
        if start and start.e and self._options.blend:
            counts, options = self._corpus.vocabulary.counts, self._options
            assert isinstance(self._host, RowHost)  # the other refuses
            self._blend = Blend(start, self._host, counts, options.initial_alpha, options.epochs)
        if state:
            options, same = self._options, state.matches(self._communicator.size, self._rounds)
            left = state.begun if same else state.left if state.rounds_done else None
            if not same or left is not None:  # else it is the schedule of an uninterrupted run
                cuts = self._host.cuts
                self._schedule = Schedule(options.initial_alpha, options.epochs, self._rounds, cuts, state.epoch, left)
            self._epoch, self._resumed, self._kappa = state.epoch, state.rounds_done > 0, state.kappa
            self._number = self._schedule.numbers(state.epoch).start + (state.rounds_done if same else 0)
            self._meter.restore(state.meter)
            self._host.scheme.restore(state.masters)
            if state.version is not None:  # read for this run alone
                state.masters.release()
            if state.hosts == self._communicator.size:
                self._host.scheme.gauge.missing[:] = state.missing
        first = self._schedule.slice(self._host.part, self._number)
        if first is not None:
            self._host.scheme.begin(first)

    def epochs(self, after_epoch: AfterEpoch | None, after_round: AfterRound | None) -> bool:
        """Run all epochs (Algorithm 1, lines 5 to 12); return False, at once, if subsampling leaves no sample."""
        for epoch in range(self._epoch, self._options.epochs):
            numbers = self._schedule.numbers(epoch)
            self._meter.start_epoch(resumed=self._resumed)
            self._resumed = False
            for number in range(max(self._number, numbers.start), numbers.stop):
                self._round(number)
                self._checkpoint(epoch, number + 1)
                if self._interrupted:
                    break
                if after_round:
                    after_round(self._state(epoch, number + 1, self._host.scheme.rows_of_masters()))
            self._meter.end_epoch()
            masters = self._host.scheme.masters
            self._agree_finite(masters.is_finite() and math.isfinite(self._meter.loss[-1]), numbers.stop - 1)
            if self._interrupted:
                break
            if not self._meter.samples and not (self._options.sample and epoch):  # subsampling may leave none later
                if self._options.sample:
                    return False
                raise SharedError(
                    "nothing to learn: no sentence has two words of the vocabulary (a line is a sentence)"
                )
            self._check(epoch, after_epoch)
            if self._interrupted:
                break
        return True

    def blend(self, masters: Labels) -> Labels:
        """Blend what is trained so far, in place, with the labels that the run went on from, if it did."""
        if self._blend:
            began = time.perf_counter()
            done = self._meter.words_done / (self._schedule.words * self._options.epochs)
            self._blend.apply(masters, done, self._kappa)
            seconds = self._report.seconds
            seconds["blend"] = seconds.get("blend", 0.0) + time.perf_counter() - began
        return masters

    def note(self) -> None:
        """Write the figures into the report."""
        report, meter = self._report, self._meter
        report.threads = self._host.workers.threads
        report.hosts, report.round_count = self._communicator.size, self._rounds
        report.interrupted = self._interrupted or self._host.interrupted
        report.loss = meter.loss
        report.seconds["train"] = meter.seconds
        report.words_per_second = meter.words_per_second
        report.peak_memory = peak_memory()

    def _state(self, epoch: int, number: int, masters: Labels) -> TrainingState:
        """State when round `number` is about to begin, after one of `epoch`."""
        numbers = self._schedule.numbers(epoch)
        left = self._schedule.left(number) if number < numbers.stop else np.empty((0, 2), np.int64)
        return TrainingState(
            self._communicator.size,
            self._rounds,
            epoch,
            number - numbers.start,
            self._schedule.begun(epoch),
            left,
            self._kappa,
            self._meter.state,
            masters,
            self._host.scheme.gauge.missing,
        )

    def _checkpoint(self, epoch: int, number: int) -> None:
        """Write a checkpoint, if one is due when round `number` is about to begin; the last round's always is."""
        last = number == self._schedule.numbers(self._options.epochs - 1).stop
        if self._checkpoints and (self._checkpoints.due() or last or self._interrupted):
            if allreduce(self._communicator, np.array([self._host.stopped], np.int64))[0]:
                return  # in the middle of a round
            self._agree_finite(self._host.scheme.masters.is_finite() and not self._broken, number - 1)
            self._checkpoints.write(self._state(epoch, number, self._host.scheme.masters), self._host.scheme)

    def _round(self, number: int) -> None:
        """Compute and synchronize (Algorithm 1, lines 7 to 10)."""
        host, scheme, communicator = self._host, self._host.scheme, self._communicator
        stats = host.thread_stats()
        computed = host.work(self._schedule, number, stats, lambda: self._look(stats))
        with scheme.channel.timed():
            hosts = communicator.allgather(pack_totals(stats, host.interrupted, self._broken))
        totals = RoundTotals(*hosts.sum(axis=0).tolist())
        self._meter.add(totals)
        if totals.broken:
            raise self._not_finite(number)
        if totals.interrupted and not self._interrupted:
            self._interrupted = True
            if not host.finishes_rounds:
                host.stop()
        if totals.measured:
            self._kappa = totals.curvature / totals.measured
        combined = host.synchronize(Round(number, self._schedule.middle(number), self._kappa))
        self._broken = not combined.finite
        if communicator.size > 1:
            seconds = [scheme.inspecting / host.workers.threads, computed / host.workers.threads]
            seconds += [scheme.combining / host.workers.threads, scheme.channel.seconds]
            packed = pack_round_stats(seconds, scheme.touched, combined, scheme.channel.take())
            scheme.inspecting = scheme.combining = scheme.channel.seconds = 0.0
            self._report.rounds.add(communicator.allgather(packed))

    def _look(self, stats: list[ThreadStats]) -> None:
        """Monitor the threads while they compute."""
        self._host.release()
        with self._host.catching():
            self._meter.show(stats)
        if time.monotonic() - self._clock > _SECONDS_BETWEEN_CHECKS:
            self._clock = time.monotonic()
            if not self._host.scheme.labels.is_finite(min(_HOT_ROWS, self._host.scheme.live)):
                self._broken = True  # the others hear of it at the end of the round
                self._host.stop()

    def _agree_finite(self, finite: bool, number: int) -> None:
        if allreduce(self._communicator, np.array([not finite], np.int64))[0]:
            raise self._not_finite(number)

    def _check(self, epoch: int, after_epoch: AfterEpoch | None) -> None:
        """Let the user's callbacks judge the labels, and show the epoch."""
        figures: dict[str, float] = {}
        if after_epoch:
            masters = self._host.scheme.rows_of_masters()
            masters = self.blend(masters.copy()) if self._blend else masters
            labels = _on_first(masters, len(self._corpus.vocabulary), self._communicator)
            with together(self._communicator), self._host.catching():
                if labels:
                    with threadpool_limits(self._host.workers.threads, "blas"):
                        figures = after_epoch(epoch + 1, labels)
            pressed = np.array([self._host.interrupted], np.int64)
            self._interrupted = bool(allreduce(self._communicator, pressed)[0])
        self._report.checks += [{"epoch": epoch + 1, **figures}] if figures else []
        if figures or self._options.epochs <= _FEW_EPOCHS:
            line = [f"epoch {epoch + 1}/{self._options.epochs}", f"loss {self._meter.loss[-1]:.4f}"]
            self._display.say("  ".join(line + [f"{name} {value:.2f}" for name, value in figures.items()]))

    def _not_finite(self, number: int) -> SharedError:
        """Return the error for values that are not finite after round `number`."""
        epoch = self._schedule.epoch(number)
        when = f"round {number - self._schedule.numbers(epoch).start + 1} of epoch {epoch + 1}"
        kept = self._checkpoints.newest_line() if self._checkpoints else ""
        rate, hosts = self._schedule.middle(number), self._communicator.size
        return not_finite(self._options, hosts, self._host.scheme.by_columns, when, rate, kept)


def _on_first(masters: Labels, vertices: int, communicator: Communicator) -> Labels | None:
    """Gather the embedding vectors of all masters on host 0; the others get None."""
    if communicator.size == 1:
        return masters
    counts = np.diff(Partition(vertices, communicator.size).bounds) * (communicator.rank == 0)
    sent = np.zeros(communicator.size, np.int64)
    sent[0] = masters.vertices
    e = np.empty((int(counts.sum()), masters.e.shape[1]), np.float32)
    communicator.alltoallv(masters.e[: masters.vertices], sent, e, counts)
    return Labels(e, e[:0], 0, vertices, masters.dim) if communicator.rank == 0 else None
