"""Algorithm 1 of GraphAny2Vec on one host: epochs, rounds, computing, synchronizing (`Run.epochs`).

What is kept of a run, and what may end it, listens (`training.listeners`).
"""

import math
import time
from collections.abc import Callable, Iterable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from any2vec.cluster.communicator import Communicator, SharedError
from any2vec.corpus import Corpus
from any2vec.operators.base import ThreadStats
from any2vec.operators.matrices import Matrices
from any2vec.report import Report
from any2vec.sync.combiners import Round
from any2vec.training.ending import LARGEST, Divergence, not_finite
from any2vec.training.host import Host, Task
from any2vec.training.listeners import Figures, Listener, RoundDone
from any2vec.training.options import Options
from any2vec.training.progress import Display, Meter, RoundTotals, pack_totals, too_many_hosts
from any2vec.training.schedule import Schedule
from any2vec.training.state import MeterState, TrainingState, what_is_left

_HOT_ROWS = 1000  # checked while an epoch runs: where values diverge, these do first
_SECONDS_BETWEEN_CHECKS = 1.0


class Run:
    """Algorithm 1 on one host (GraphAny2Vec, section 3.1)."""

    def __init__(
        self,
        host: Host,
        corpus: Corpus,
        options: Options,
        communicator: Communicator,
        display: Display,
        report: Report,
        kept: Callable[[], str] = str,
    ) -> None:
        self.host, self.corpus, self.options = host, corpus, options
        self.communicator, self.display, self.report = communicator, display, report
        self.kept = kept  # says what a run that fails leaves
        self.figures = Figures(report, host, communicator)
        self._order = options.seed if options.shuffle else None
        self.schedule = Schedule(options.decay, options.epochs, host.rounds, host.cuts, order=self._order)
        self.meter = Meter(options, self.schedule.words, host.share, corpus.raw_words, display)
        self.epoch = self._next = 0  # the epoch, and the round to begin with
        self.kappa = 0.25  # curvature of the loss, measured last; this is of matrices that are zero
        self.interrupted = False  # whether the run is to end, on all hosts: after Ctrl-C
        self._broken = self._resumed = False
        # in the middle of a round, what is left of the epoch, and what was measured
        self.cut: tuple[NDArray[np.int64], MeterState] | None = None
        self._measured: MeterState | None = None  # in the middle of a round
        self._listeners: tuple[Listener, ...] = ()
        self._divergence = Divergence(options, communicator, display, host.operator.first_loss)
        self._checked = self._began = 0.0
        self._computing: tuple[int, list[ThreadStats]] | None = None
        host.interrupts.seconds_left = self._seconds_left
        if line := too_many_hosts(self.schedule.words, len(host.cuts) - 1, host.rounds):
            display.say(line)

    def begin(self, state: TrainingState | None) -> None:
        """Get ready for the first round: that of a new run, or that after a state."""
        host, scheme = self.host, self.host.scheme
        if state:
            now, options = (self.communicator.size, host.rounds), self.options
            same = (state.hosts, state.rounds) == now  # the same rounds go on, and so to the same bits
            left = state.begun if same else state.left if state.within_epoch else None
            if not same or left is not None:  # else it is the schedule of an uninterrupted run
                begun = state.epoch, left, self._order
                self.schedule = Schedule(options.decay, options.epochs, host.rounds, host.cuts, *begun)
            self.epoch, self._resumed, self.kappa = state.epoch, state.within_epoch, state.kappa
            self._next = self.schedule.numbers(state.epoch).start + (state.rounds_done if same else 0)
            self.meter.restore(state.meter)
            scheme.restore(state.masters)
            if state.version is not None:  # read for this run alone
                state.masters.release()
            if state.hosts == self.communicator.size and not scheme.by_columns:
                scheme.balance.missing[:] = state.missing
        first = self.schedule.slice(host.part, self._next)
        if first is not None:
            scheme.begin(first)

    def epochs(self, listeners: Iterable[Listener]) -> bool:
        """Run all epochs (Algorithm 1, lines 5 to 12); return False, at once, if subsampling leaves no sample."""
        schedule, self._listeners = self.schedule, tuple(listeners)
        for epoch in range(self.epoch, self.options.epochs):  # line 5
            if self._is_over():
                break
            self.epoch, numbers = epoch, schedule.numbers(epoch)
            self.meter.start_epoch(resumed=self._resumed)
            self._resumed = False
            for number in range(max(self._next, numbers.start), numbers.stop):  # line 6
                stats = self._compute(number)  # lines 7 to 9
                totals = self._agree(number, stats)
                if totals.measured:
                    self.kappa = totals.curvature / totals.measured
                combined = self.host.synchronize(Round(number, schedule.middle(number), self.kappa))  # line 10
                self._record(RoundDone(number, totals, combined))
                if self.interrupted:
                    break
            if not self._end_epoch(numbers.stop - 1):
                return False
        return True

    @property
    def stopped(self) -> bool:
        """Whether the loss on what is held out has not fallen for so many epochs that the run is over."""
        losses, patience = self.meter.held_out, self.options.patience
        return patience is not None and bool(losses) and len(losses) - 1 - losses.index(min(losses)) >= patience

    def _is_over(self) -> bool:
        """Whether no further epoch begins; say so if that is for the loss on what is held out."""
        if self.stopped and not self.interrupted:
            best = self.meter.held_out.index(min(self.meter.held_out)) + 1
            self.display.say(f"the loss on what is held out was least in epoch {best}: training ends")
        return self.stopped or self.interrupted

    def _compute(self, number: int) -> list[ThreadStats]:
        """Apply the operator to this host's slice (Algorithm 1, lines 7 to 9); return the threads' counters."""
        host, schedule, stats = self.host, self.schedule, self.host.thread_stats()
        if self.communicator.rank == 0:
            self.meter.begin_round(stats)
        self.figures.begin()
        slice_ = schedule.slice(host.part, number)  # line 7
        assert slice_ is not None
        task = Task(slice_, schedule.rate(number, slice_.size), schedule.slice(host.part, number + 1), stats)
        self._began, self._computing = time.monotonic(), (number, stats)
        look = partial(self._look, stats)
        seconds = host.compute(task, look)
        while host.left and host.interrupts.paused and not self._broken:
            self._pause(number, stats)
            seconds += host.compute(task._replace(left=host.left), look)
        if host.interrupts.paused:  # just when all was done
            host.interrupts.go_on()
        self._computing = None
        self.figures.computed(seconds)
        return stats

    def _pause(self, number: int, stats: list[ThreadStats]) -> None:
        """Tell the listeners what is left in the middle of a round; the threads have returned."""
        self.host.complete()
        self.cut = self._left(number), self.meter.state(stats)
        for listener in self._listeners:
            listener.paused(self, number)
        self.cut = None
        self.host.interrupts.go_on()

    def _look(self, stats: list[ThreadStats]) -> None:
        """Monitor the threads while they compute."""
        host = self.host
        host.release()
        host.interrupts.watch()
        with host.interrupts.catching():
            self.meter.show(stats)
        for listener in self._listeners:
            listener.look(self)
        if time.monotonic() - self._checked > _SECONDS_BETWEEN_CHECKS:
            self._checked = time.monotonic()
            if not host.scheme.matrices.largest(min(_HOT_ROWS, host.scheme.live)) <= LARGEST:
                self._broken = True  # the others hear of it at the end of the round
                host.interrupts.stop()

    def _agree(self, number: int, stats: list[ThreadStats]) -> RoundTotals:
        """Add up what all hosts did; hear whether one was stopped, or has values that are not finite."""
        host, interrupts = self.host, self.host.interrupts
        with host.scheme.channel.timed():
            mine = pack_totals(stats, interrupts.interrupted, bool(host.left), self._broken)
            totals = RoundTotals(*self.communicator.allgather(mine).sum(axis=0).tolist())
        self.figures.agreed()
        self._measured = self.meter.state(stats) if host.divisible else None
        self.meter.add(totals)
        if totals.broken:
            raise self._not_finite(number)
        if totals.interrupted and not self.interrupted:
            self.interrupted = True
            if not interrupts.interrupted:
                self.display.say("another host was stopped: saving what is trained")
            host.skip_inspection()
            if not interrupts.finishes:
                interrupts.stop()
        return totals

    def _record(self, done: RoundDone) -> None:
        """Note what a round came to (line 10 is done), and tell the listeners."""
        if done.totals.cut:
            self.cut = self._left(done.number), self._measured or self.meter.state()
        self._broken = not done.combined.finite
        self.figures.add(done, self)
        for listener in self._listeners:
            listener.after_round(self, done)

    def _end_epoch(self, number: int) -> bool:
        """Look at an epoch whose last round was `number`, tell; return False if subsampling leaves no sample."""
        meter, options = self.meter, self.options
        meter.end_epoch()
        largest = self.agree_finite(number, finite=meter.is_finite)
        self._divergence.see(self.epoch + 1, meter.loss[-1], largest)
        if self.interrupted:
            return True
        if not meter.samples and not options.sample:
            raise SharedError("nothing to learn: no sentence has two words of the vocabulary (a line is a sentence)")
        if not meter.samples and not self.epoch:  # it may leave none later
            return False
        for listener in self._listeners:
            listener.after_epoch(self)
        return True

    def _left(self, number: int) -> NDArray[np.int64]:
        """Return what all hosts have left of the epoch of a round that was cut."""
        return what_is_left(self.schedule, number, self.host.part, self.host.left, self.communicator)

    def state_before(self, number: int, masters: Matrices) -> TrainingState:
        """Return the state when round `number` is about to begin; or in the middle of the one before, if it is cut."""
        schedule, numbers = self.schedule, self.schedule.numbers(self.epoch)
        done, begun, meter = number - numbers.start, schedule.begun(self.epoch), self.meter.state()
        left = schedule.left(number) if number < numbers.stop else np.empty((0, 2), np.int64)
        # the epoch's own follow when it is taken up again
        meter = meter._replace(losses=meter.losses[: self.epoch], held_out=meter.held_out[: self.epoch])
        if self.cut:
            left, meter = self.cut
            done, begun = 0, left
        return TrainingState(
            self.communicator.size,
            self.host.rounds,
            self.epoch,
            done,
            begun,
            left,
            self.kappa,
            meter,
            masters,
            self.host.scheme.balance.missing,
            sample=self.options.sample,
            scheme=str(self.options.scheme),
            wire=self.options.wire,
        )

    def agree_finite(self, number: int, *, finite: bool = True) -> float:
        """Return the largest magnitude on all hosts after round `number`; raise if trained vectors do not have it."""
        mine = self.host.scheme.masters.largest() if finite and not self._broken else math.nan
        largest = float(self.communicator.allgather(np.array([mine])).max())
        if not largest <= LARGEST:
            raise self._not_finite(number)
        return largest

    def _not_finite(self, number: int) -> SharedError:
        """Return the error for values that are not finite after round `number`."""
        epoch = self.schedule.epoch(number)
        when = f"round {number - self.schedule.numbers(epoch).start + 1} of epoch {epoch + 1}"
        rate, hosts, by_columns = self.schedule.middle(number), self.communicator.size, self.host.scheme.by_columns
        return not_finite(self.options, hosts, by_columns, when, rate, self.kept())

    def _seconds_left(self) -> float | None:
        """Estimate how long the hosts will take for this round, from those before, or from how far this one is."""
        if self._computing is None:
            return None
        number, stats = self._computing
        words = self.schedule.done(number + 1) - self.schedule.done(number)
        elapsed = time.monotonic() - self._began
        if pace := self.meter.pace:
            return max(pace * words - elapsed, 0.0)
        done = sum(float(one.words[0]) for one in stats) / max(self.host.share, 1e-9)
        return elapsed * max(words / done - 1, 0) if done else None
