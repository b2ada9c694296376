"""A run on one host: epochs, rounds, what is kept of them, and how it ends early."""

import math
import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from any2vec.cluster.communicator import Communicator, SharedError, allreduce, together
from any2vec.cluster.local import is_simulated
from any2vec.corpus import Corpus
from any2vec.operators.base import ThreadStats
from any2vec.operators.matrices import Matrices
from any2vec.report.report import Report, decimals, peak_memory
from any2vec.report.rounds import Clocked, figures_of, pack_round_stats
from any2vec.sync.channel import Partition
from any2vec.sync.combiners import Round
from any2vec.training.blend import Blend
from any2vec.training.checkpoints.checkpoint import Checkpoints
from any2vec.training.ending import LARGEST, diverging, not_finite
from any2vec.training.hosts.host import Host, Task
from any2vec.training.hosts.row_host import RowHost
from any2vec.training.meter import Meter, RoundTotals, pack_totals
from any2vec.training.options import Options
from any2vec.training.progress import Display, too_many_hosts, warn
from any2vec.training.schedule import Schedule
from any2vec.training.start import Start
from any2vec.training.state import MeterState, TrainingState, what_is_left

__all__ = ["AfterEpoch", "AfterRound", "Run"]

_HOT_ROWS = 1000  # checked while an epoch runs: where values diverge, these do first
_SECONDS_BETWEEN_CHECKS = 1.0
_SECONDS_BETWEEN_CHECKPOINTS = 1.0  # at least, within a round
_FEW_EPOCHS = 20  # more are not worth a line each

AfterEpoch = Callable[[int, Matrices], dict[str, float]]
AfterRound = Callable[[TrainingState], None]


class Run:
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
        self._apart = communicator.size > 1 and not is_simulated(communicator)
        self._received = 0.0  # seconds in the call at the end of the last round
        self._schedule = Schedule(options.decay, options.epochs, self._rounds, host.cuts)
        words = self._schedule.words
        self._meter = Meter(options, words, host.share, corpus.raw_words, display)
        self._epoch = self._number = 0  # to begin with
        self._written = -1  # the round before which a checkpoint was written
        self._compiled = True
        self._resumed = False  # in the middle of that epoch
        self._interrupted = self._broken = False
        self._seen: tuple[float, float] | None = None  # loss and largest number, where they were of no good run
        self._cut: tuple[NDArray[np.int64], MeterState] | None = None  # what is left of the epoch, in mid-round
        self._kept = self._keeping = 0.0  # when the last checkpoint was written, and how long that took
        self._clock = self._began = 0.0
        host.interrupts.seconds_left = self._seconds_left
        self._kappa = 0.25  # of matrices that are zero
        self._computing: tuple[int, list[ThreadStats]] | None = None
        self._blend: Blend | None = None
        if line := too_many_hosts(words, len(host.cuts) - 1, self._rounds):
            display.say(line)

    def compile(self) -> None:
        """Compile the operator: host 0 first, so that others find it in the cache."""
        started = time.perf_counter()
        self._display.compiling()
        first = self._communicator.rank == 0
        try:
            if first:
                self._host.compile()
            self._communicator.barrier()
            if not first:
                self._host.compile()
        except KeyboardInterrupt:  # a thread may still compile, and is not waited for
            self._compiled = False
            raise
        self._report.seconds["compile"] = time.perf_counter() - started

    def begin(self, state: TrainingState | None, start: Start | None) -> None:
        """Get ready for the first round: that of a new run, or that after a state."""
        if start and not state:
            self._host.begin_with(start)
        if start and start.e and self._options.blend:
            counts, options = self._corpus.vocabulary.counts, self._options
            assert isinstance(self._host, RowHost)  # the other refuses
            self._blend = Blend(start, self._host, counts, options.decay, options.epochs)
        if state:
            options, now = self._options, (self._communicator.size, self._rounds)
            same = (state.hosts, state.rounds) == now  # the same rounds go on, and so to the same bits
            left = state.begun if same else state.left if state.within_epoch else None
            if not same or left is not None:  # else it is the schedule of an uninterrupted run
                cuts = self._host.cuts
                self._schedule = Schedule(options.decay, options.epochs, self._rounds, cuts, state.epoch, left)
            self._epoch, self._resumed, self._kappa = state.epoch, state.within_epoch, state.kappa
            self._number = self._schedule.numbers(state.epoch).start + (state.rounds_done if same else 0)
            self._meter.restore(state.meter)
            self._host.scheme.restore(state.masters)
            if state.version is not None:  # read for this run alone
                state.masters.release()
            if state.hosts == self._communicator.size and not self._host.scheme.by_columns:
                self._host.scheme.balance.missing[:] = state.missing
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
            largest = self._agree_finite(self._meter.is_finite, numbers.stop - 1)
            self._see_divergence(epoch, largest)
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
                if self._checkpoints and self._written != numbers.stop:
                    self._write(epoch, numbers.stop)
                break
        return True

    def blend(self, masters: Matrices) -> Matrices:
        """Blend what is trained so far, in place, with the matrices that the run went on from, if it did.

        After Ctrl-C, or if that strikes meanwhile, updates are estimated, which takes no time, and not counted.
        """
        if self._blend:
            began = time.perf_counter()
            done = self._meter.words_done / (self._schedule.words * self._options.epochs)
            self._blend.apply(masters, done, self._kappa)
            seconds = self._report.seconds
            seconds["blend"] = seconds.get("blend", 0.0) + time.perf_counter() - began
        return masters

    def note(self) -> None:
        """Write the figures into the report, if training began."""
        if not self._compiled:
            return
        report, meter = self._report, self._meter
        report.threads = self._host.workers.threads
        report.hosts, report.round_count = self._communicator.size, self._rounds
        report.interrupted = self._interrupted or self._host.interrupts.interrupted
        report.loss = meter.loss
        report.seconds["train"] = meter.seconds
        report.words_per_second = meter.words_per_second
        report.walking = self._corpus.worklist.seconds
        report.peak_memory = peak_memory()

    def _state(self, epoch: int, number: int, masters: Matrices) -> TrainingState:
        """State when round `number` is about to begin, after one of `epoch`; or in the middle of the one before."""
        numbers = self._schedule.numbers(epoch)
        done, begun, meter = number - numbers.start, self._schedule.begun(epoch), self._meter.state()
        left = self._schedule.left(number) if number < numbers.stop else np.empty((0, 2), np.int64)
        meter = meter._replace(losses=meter.losses[:epoch])  # that of the epoch follows when the run is taken up again
        if self._cut:
            left, meter = self._cut
            done, begun = 0, left
        return TrainingState(
            self._communicator.size,
            self._rounds,
            epoch,
            done,
            begun,
            left,
            self._kappa,
            meter,
            masters,
            self._host.scheme.balance.missing,
            sample=self._options.sample,
            scheme=str(self._options.scheme),
            wire=self._options.wire,
        )

    def _checkpoint(self, epoch: int, number: int) -> None:
        """Write a checkpoint, if one is due when round `number` is about to begin; the last round's always is."""
        last = number == self._schedule.numbers(self._options.epochs - 1).stop
        if self._checkpoints and (self._checkpoints.due() or last or self._interrupted):
            self._write(epoch, number)

    def _write(self, epoch: int, number: int) -> None:
        """Write a checkpoint when round `number` is about to begin, or in the middle of the one before."""
        assert self._checkpoints
        self._agree_finite(not self._broken, number - 1)
        began, self._written = time.monotonic(), -1 if self._cut else number
        self._checkpoints.write(self._state(epoch, number, self._host.scheme.masters), self._host.scheme)
        self._kept = time.monotonic()
        self._keeping = self._kept - began

    def _round(self, number: int) -> None:
        """Compute and synchronize (Algorithm 1, lines 7 to 10)."""
        host, scheme, communicator = self._host, self._host.scheme, self._communicator
        stats = host.thread_stats()
        if communicator.rank == 0:
            self._meter.begin_round(stats)
        channel, began = scheme.channel, time.perf_counter()
        calls = channel.seconds
        computed = self._compute(number, stats)
        computing, calls = time.perf_counter() - began - (channel.seconds - calls), channel.seconds
        with channel.timed():
            told = host.interrupts.interrupted, bool(host.left), self._broken
            hosts = communicator.allgather(pack_totals(stats, *told))
        waited = channel.seconds - calls
        totals = RoundTotals(*hosts.sum(axis=0).tolist())
        meter = self._meter.state(stats) if host.divisible else None
        self._meter.add(totals)
        if totals.broken:
            raise self._not_finite(number)
        if totals.interrupted and not self._interrupted:
            self._interrupted = True
            if not host.interrupts.interrupted:
                self._display.say("another host was stopped: saving what is trained")
            host.skip_inspection()
            if not host.interrupts.finishes:
                host.interrupts.stop()
        if totals.measured:
            self._kappa = totals.curvature / totals.measured
        combined = host.synchronize(Round(number, self._schedule.middle(number), self._kappa))
        if totals.cut:
            left = what_is_left(self._schedule, number, host.part, host.left, communicator)
            self._cut = left, meter or self._meter.state()
        self._broken = not combined.finite
        seconds = [scheme.inspecting / host.workers.threads, computed / host.workers.threads]
        seconds += [scheme.combining / host.workers.threads, channel.seconds]
        clocked = Clocked(computing, waited, self._received, channel.hidden) if self._apart else Clocked()
        packed = pack_round_stats(seconds, scheme.touched, combined, channel.take(), clocked)
        scheme.inspecting = scheme.combining = channel.seconds = channel.hidden = 0.0
        with channel.timed():  # counts for the next round
            hosts = communicator.allgather(packed)
        self._received = channel.seconds
        done = self._meter.done(totals)
        self._report.rounds.add(hosts, done)
        sample = self._options.sample
        self._display.record("round", lambda: {"round": number + 1, "sample": sample, **figures_of(hosts, done)})

    def _compute(self, number: int, stats: list[ThreadStats]) -> float:
        """Compute a round; where it may be cut anywhere, write the checkpoints that are due meanwhile."""
        host, schedule = self._host, self._schedule
        slice_ = schedule.slice(host.part, number)
        assert slice_ is not None
        task = Task(slice_, schedule.rate(number, slice_.size), schedule.slice(host.part, number + 1), stats)
        self._began, self._computing = time.monotonic(), (number, stats)

        def look() -> None:
            self._look(stats)

        computed = host.work(task, look)
        while host.left and host.interrupts.paused and not self._broken:
            host.complete()
            left = what_is_left(schedule, number, host.part, host.left, self._communicator)
            self._cut = left, self._meter.state(stats)
            self._write(schedule.epoch(number), number + 1)
            self._cut = None
            host.interrupts.go_on()
            computed += host.work(task._replace(left=host.left), look)
        if host.interrupts.paused:  # just when all was done
            host.interrupts.go_on()
        self._computing = None
        return computed

    def _seconds_left(self) -> float | None:
        """Estimate how long the hosts will take for this round, from those before, or from how far this one is."""
        if self._computing is None:
            return None
        number, stats = self._computing
        words = self._schedule.done(number + 1) - self._schedule.done(number)
        elapsed = time.monotonic() - self._began
        if pace := self._meter.pace:
            return max(pace * words - elapsed, 0.0)
        done = sum(float(one.words[0]) for one in stats) / max(self._host.share, 1e-9)
        return elapsed * max(words / done - 1, 0) if done else None

    def _look(self, stats: list[ThreadStats]) -> None:
        """Monitor the threads while they compute."""
        interrupts = self._host.interrupts
        self._host.release()
        with interrupts.catching():
            self._meter.show(stats)
        interrupts.watch()
        if self._host.divisible and not interrupts.stopped and self._late():
            interrupts.pause()
        if time.monotonic() - self._clock > _SECONDS_BETWEEN_CHECKS:
            self._clock = time.monotonic()
            if not self._host.scheme.matrices.largest(min(_HOT_ROWS, self._host.scheme.live)) <= LARGEST:
                self._broken = True  # the others hear of it at the end of the round
                interrupts.stop()

    def _late(self) -> bool:
        """Whether a checkpoint is due in the middle of a round; writing them may take a fifth of the time."""
        apart = max(_SECONDS_BETWEEN_CHECKPOINTS, 4 * self._keeping)
        return bool(self._checkpoints and self._checkpoints.late() and time.monotonic() - self._kept > apart)

    def _agree_finite(self, finite: bool, number: int) -> float:
        """Return the largest magnitude on all hosts; raise if it cannot be of vectors that are trained."""
        mine = self._host.scheme.masters.largest() if finite else math.nan
        largest = float(self._communicator.allgather(np.array([mine])).max())
        if not largest <= LARGEST:
            raise self._not_finite(number)
        return largest

    def _see_divergence(self, epoch: int, largest: float) -> None:
        """Say once that training seems to diverge; raise, on all hosts, if it has become worse since."""
        loss = self._meter.loss[-1]
        if line := diverging(self._options, self._communicator.size, epoch + 1, loss, largest):
            before, self._seen = self._seen, self._seen or (loss, largest)
            if before and loss > before[0] and largest > before[1]:
                raise SharedError(f"training stopped: it diverges: {line}")
            if not before and self._communicator.rank == 0:
                warn(self._display, f"training seems to diverge: {line}")

    def _check(self, epoch: int, after_epoch: AfterEpoch | None) -> None:
        """Let the user's callbacks judge the matrices, and show the epoch."""
        figures: dict[str, float] = {}
        if after_epoch:
            masters = self._host.scheme.rows_of_masters()
            masters = self.blend(masters.copy()) if self._blend else masters
            matrices = _on_first(masters, self._host.scheme.partition, self._communicator)
            with together(self._communicator), self._host.interrupts.catching("the callbacks"):
                if matrices:
                    with threadpool_limits(self._host.workers.threads, "blas"):
                        figures = after_epoch(epoch + 1, matrices)
            pressed = np.array([self._host.interrupts.interrupted], np.int64)
            self._interrupted = bool(allreduce(self._communicator, pressed)[0])
        self._report.checks += [{"epoch": epoch + 1, **figures}] if figures else []
        self._display.record("epoch", lambda: {"epoch": epoch + 1, "loss": self._meter.loss[-1], **figures})
        if figures or self._options.epochs <= _FEW_EPOCHS:
            line = [f"epoch {epoch + 1}/{self._options.epochs}", f"loss {decimals(self._meter.loss[-1])}"]
            self._display.say("  ".join(line + [f"{name} {value:.2f}" for name, value in figures.items()]))

    def _not_finite(self, number: int) -> SharedError:
        """Return the error for values that are not finite after round `number`."""
        epoch = self._schedule.epoch(number)
        when = f"round {number - self._schedule.numbers(epoch).start + 1} of epoch {epoch + 1}"
        kept = self._checkpoints.newest_line() if self._checkpoints else ""
        rate, hosts = self._schedule.middle(number), self._communicator.size
        return not_finite(self._options, hosts, self._host.scheme.by_columns, when, rate, kept)


def _on_first(masters: Matrices, partition: Partition, communicator: Communicator) -> Matrices | None:
    """Gather the embedding vectors of all masters on host 0; the others get None."""
    if communicator.size == 1:
        return masters
    counts = partition.sizes * (communicator.rank == 0)
    sent = np.zeros(communicator.size, np.int64)
    sent[0] = masters.vertices
    e = np.empty((int(counts.sum()), masters.e.shape[1]), np.float32)
    communicator.ialltoallv(masters.e[: masters.vertices], sent, e, counts).wait()
    whole = Matrices(e, e[:0], 0, partition.vertices, masters.dim, masters.documents)
    return whole if communicator.rank == 0 else None
