"""What is kept of a run: figures of its rounds; and what listens to it: checkpoints and checks."""

import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numba import float32
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from any2vec.cluster.communicator import Communicator, SharedError, allreduce, together
from any2vec.cluster.local import is_simulated
from any2vec.llvm.compiled import njit
from any2vec.operators.matrices import Matrices
from any2vec.operators.merging import LEAST, share_gone
from any2vec.report import Report, decimals, peak_memory
from any2vec.report.rounds import Clocked, figures_of, pack_round_stats
from any2vec.samples.windows import JUDGING
from any2vec.sync.channel import Channel, Partition
from any2vec.sync.combiners import CombinerContext, Touched
from any2vec.sync.combiners.quadratic import QuadraticModel
from any2vec.sync.masters import Combined
from any2vec.training.checkpoints.checkpoint import Checkpoints
from any2vec.training.host import Host
from any2vec.training.options import Decay, Options
from any2vec.training.progress import RoundTotals
from any2vec.training.row_host import RowHost
from any2vec.training.schedule import Schedule
from any2vec.training.state import Rows, Start

if TYPE_CHECKING:
    from any2vec.training.run import Run

_SECONDS_BETWEEN_CHECKPOINTS = 1.0  # at least, within a round
_BLENDED = 1 << 15  # rows blended at a time
_FEW_EPOCHS = 20  # more are not worth a line each

AfterEpoch = Callable[[int, Matrices], dict[str, float]]


class RoundDone(NamedTuple):
    """A round that is over: its number, totals of all hosts, what was combined."""

    number: int
    totals: RoundTotals
    combined: Combined


class Figures:
    """Puts the figures of rounds into the report, and shows them to what records them."""

    def __init__(self, report: Report, host: Host, communicator: Communicator) -> None:
        self._report, self._host, self._communicator = report, host, communicator
        self._apart = communicator.size > 1 and not is_simulated(communicator)
        self._received = 0.0  # seconds in the call at the end of the last round
        self._began = self._calls = self._computing = self._waited = self._cpu = 0.0

    def begin(self) -> None:
        """Start the clock of a round."""
        self._began, self._calls = time.perf_counter(), self._host.scheme.channel.seconds

    def computed(self, cpu: float) -> None:
        """Note how long this host computed, without its calls meanwhile, and the CPU seconds of its threads."""
        channel = self._host.scheme.channel
        self._computing = time.perf_counter() - self._began - (channel.seconds - self._calls)
        self._calls, self._cpu = channel.seconds, cpu

    def agreed(self) -> None:
        """Note how long it waited for the others."""
        self._waited = self._host.scheme.channel.seconds - self._calls

    def add(self, done: RoundDone, run: "Run") -> None:
        """Gather the figures of all hosts on a round that is synchronized."""
        scheme, threads = self._host.scheme, self._host.workers.threads
        channel = scheme.channel
        seconds = [scheme.inspecting / threads, self._cpu / threads, scheme.combining / threads, channel.seconds]
        clocked = Clocked(self._computing, self._waited, self._received, channel.hidden) if self._apart else Clocked()
        packed = pack_round_stats(seconds, scheme.touched, done.combined, channel.take(), clocked)
        scheme.inspecting = scheme.combining = channel.seconds = channel.hidden = 0.0
        with channel.timed():  # counts for the next round
            hosts = self._communicator.allgather(packed)
        self._received = channel.seconds
        so_far, number, sample = run.meter.done(done.totals), done.number + 1, run.options.sample
        self._report.rounds.add(hosts, so_far)
        run.display.record("round", lambda: {"round": number, "sample": sample, **figures_of(hosts, so_far)})

    def note(self, run: "Run") -> None:
        """Write what a run came to into the report."""
        report, meter, host = self._report, run.meter, self._host
        report.threads = host.workers.threads
        report.hosts, report.round_count = self._communicator.size, host.rounds
        report.interrupted = run.interrupted or host.interrupts.interrupted
        report.loss = meter.loss
        report.seconds["train"] = meter.seconds
        report.words_per_second = meter.words_per_second
        report.walking = run.corpus.worklist.seconds
        report.peak_memory = peak_memory()


class Listener:
    """Hears of a run; all hosts have the same listeners, since some ask the other hosts."""

    def look(self, run: "Run") -> None:
        """Look every tenth of a second or so while threads compute."""

    def paused(self, run: "Run", number: int) -> None:
        """Hear that threads pause in a round, as a listener wished; `run.cut` has what is left."""

    def after_round(self, run: "Run", done: RoundDone) -> None:
        """Hear that a round is synchronized."""

    def after_epoch(self, run: "Run") -> None:
        """Hear that an epoch is over, and was of use."""


class Checkpointing(Listener):
    """Writes checkpoints when they are due; where a round may be cut anywhere, also in the middle of one."""

    def __init__(self, checkpoints: Checkpoints) -> None:
        self._checkpoints = checkpoints
        self._written = -1  # the round before which the last one was written
        self._kept = self._keeping = 0.0  # when that was, and how long it took

    def look(self, run: "Run") -> None:
        """Let threads pause if a checkpoint is due; writing them may take a fifth of the time."""
        may = run.host.divisible and not run.host.interrupts.stopped
        apart = max(_SECONDS_BETWEEN_CHECKPOINTS, 4 * self._keeping)
        if may and self._checkpoints.late() and time.monotonic() - self._kept > apart:
            run.host.interrupts.pause()

    def paused(self, run: "Run", number: int) -> None:
        """Write it."""
        self._write(run, number + 1)

    def after_round(self, run: "Run", done: RoundDone) -> None:
        """Write one if it is due; the last round's always is."""
        last = done.number + 1 == run.schedule.numbers(run.options.epochs - 1).stop
        if self._checkpoints.due() or last or run.interrupted:
            self._write(run, done.number + 1)

    def after_epoch(self, run: "Run") -> None:
        """Write one if a check was interrupted."""
        number = run.schedule.numbers(run.epoch).stop
        if (run.interrupted or run.stopped) and self._written != number:
            self._write(run, number)

    def _write(self, run: "Run", number: int) -> None:
        """Write one when round `number` is about to begin, or in the middle of the one before."""
        run.agree_finite(number - 1)
        began, self._written = time.monotonic(), -1 if run.cut else number
        self._checkpoints.write(run.state_before(number, run.host.scheme.masters), run.host.scheme)
        self._kept = time.monotonic()
        self._keeping = self._kept - began


class HeldOut(Listener):
    """Measures the loss on what is left out of training, after each epoch: with the same samples each time."""

    def __init__(self, host: Host, report: Report) -> None:
        # all of an epoch, also where the run took up what another number of hosts had left of one
        self._schedule = Schedule(Decay(0.0), 1, host.rounds, host.cuts)
        self._report = report

    def after_epoch(self, run: "Run") -> None:
        """Measure it; `run.stopped` sees whether it still falls."""
        host, interrupts = run.host, run.host.interrupts

        def look() -> None:
            host.release()
            interrupts.watch()

        sums = np.zeros(3)
        for number in self._schedule.numbers(0):
            slice_ = self._schedule.slice(host.part, number)
            assert slice_ is not None
            stats = host.judge(slice_._replace(epoch=JUDGING), look)
            sums += [sum(float(one.loss[0]) for one in stats), sum(float(one.samples[0]) for one in stats), 0]
        sums[2] = interrupts.interrupted
        loss, samples, interrupted = run.communicator.allgather(sums).sum(axis=0).tolist()
        run.interrupted = interrupted > 0
        if not run.interrupted:
            if not samples:
                raise SharedError(
                    f"nothing is held out: with `held_out` {run.options.held_out:g}, no sentence that has samples was "
                    "drawn; give a larger share, or a longer text"
                )
            run.meter.held_out.append(loss / samples)
            self._report.held_out = run.meter.held_out
        host.scheme.visit(run.schedule.slice(host.part, run.schedule.numbers(run.epoch).stop))


class Checks(Listener):
    """Lets callbacks judge the matrices after an epoch, and shows the epoch."""

    def __init__(self, after_epoch: AfterEpoch | None, blend: "Blend | None", report: Report) -> None:
        self._judge, self._blend, self._report = after_epoch, blend, report

    def after_epoch(self, run: "Run") -> None:
        """Judge, on host 0, matrices that are blended as they would be in the end."""
        epoch, interrupts, figures = run.epoch + 1, run.host.interrupts, dict[str, float]()
        if self._judge:
            masters = run.host.scheme.rows_of_masters()
            masters = self.blended(run, masters.copy()) if self._blend else masters
            matrices = _on_first(masters, run.host.scheme.partition, run.communicator)
            with together(run.communicator), interrupts.catching("the callbacks"):
                if matrices:
                    with threadpool_limits(run.host.workers.threads, "blas"):
                        figures = self._judge(epoch, matrices)
            pressed = np.array([interrupts.interrupted], np.int64)
            run.interrupted = bool(allreduce(run.communicator, pressed)[0])
        self._report.checks += [{"epoch": epoch, **figures}] if figures else []
        held = run.meter.held_out[-1] if len(run.meter.held_out) == epoch else None
        told = {"loss": run.meter.loss[-1]} | ({} if held is None else {"held_out": held})
        run.display.record("epoch", lambda: {"epoch": epoch, **told, **figures})
        if figures or run.options.epochs <= _FEW_EPOCHS:
            line = [f"epoch {epoch}/{run.options.epochs}", f"loss {decimals(run.meter.loss[-1])}"]
            line += [] if held is None else [f"held out {decimals(held)}"]
            run.display.say("  ".join(line + [f"{name} {value:.2f}" for name, value in figures.items()]))

    def blended(self, run: "Run", masters: Matrices) -> Matrices:
        """Blend what is trained so far, in place, with the matrices that the run went on from, if it did.

        After Ctrl-C, or if that strikes meanwhile, updates are estimated, which takes no time, and not counted.
        """
        if self._blend:
            began, seconds = time.perf_counter(), self._report.seconds
            self._blend.apply(masters, run.meter.words_done / (run.schedule.words * run.options.epochs), run.kappa)
            seconds["blend"] = seconds.get("blend", 0.0) + time.perf_counter() - began
        return masters


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


class Blend:
    """Blends the masters that a run went on from with those it ended with, as one run on all texts would have them.

    Training on a new text alone forgets the earlier ones: rows that are updated often come to lie where the new
    text wants them, as if there had been no other. On the quadratic model of the loss (`operators.merging`), n
    updates take a row x the part g(n) = 1 - exp(-alpha c n) of the way to the optimum of their text, along an
    eigenvector of the curvature. The earlier run came from near 0, by its n' updates, to x' = g(n') a. This run
    went by d = g(n) (b - x') from there. One run on all texts, of N = n + n' updates, would come from 0 to::

        g(N) (n' a + n b) / N  =  ((1 - s) g(N) / g(n') + s g(N)) x'  +  s g(N) / g(n) d        s = n / N

    So small changes are kept. Large changes are scaled to the share s that the new text has in what is known of the
    row. Where either text alone had too few updates to reach the optimum, both together come nearer to it. A
    further run can go on likewise. The earlier run's epochs and learning rate are taken to be this one's. The
    common part of all rows of e has no optimum: only d is scaled there.
    """

    def __init__(self, start: Start, host: RowHost, options: Options) -> None:
        self._start, self._host, self._counts = start, host, host.counts
        self._decay, self._epochs = options.decay, options.epochs
        self._updates: dict[str, NDArray[np.int64]] = {}

    @classmethod
    def of(cls, start: Start | None, host: Host, options: Options) -> "Blend | None":
        """Return what blends a run that goes on; None if it does not, or is not to be blended."""
        if start is None or start.e is None or not options.blend:
            return None
        assert isinstance(host, RowHost)  # the other refuses
        return cls(start, host, options)

    def apply(self, masters: Matrices, done: float, kappa: float) -> None:
        """Blend in place, after a share `done` of the run; all hosts call this.

        `kappa` is the mean curvature of the loss; if that is 0, changes are scaled by their shares alone.
        """
        scheme, kappa = self._host.scheme, self._host.combiner.kappa_of(kappa)
        self._updates = self._updates or self._host.updates()
        channel = Channel(scheme.context.communicator)  # not that of the rounds, which counts their bytes
        context = CombinerContext(masters, self._host.operator.samples_per_pair(self._counts), channel)
        model = QuadraticModel(context, mean_apart=True) if kappa else None
        if model:
            here = {}
            for which, matrix in (("e", masters.e), ("t", masters.t)):
                rows = np.flatnonzero(self._updates[which])
                met = np.minimum(self._updates[which][rows], np.iinfo(np.int32).max).astype(np.int32)
                here[which] = Touched(matrix, rows, met)
            model.measure(self._decay.mean(done) * done * self._epochs, kappa, here)
        start, mine = self._start, slice(masters.first, masters.first + masters.vertices)
        assert start.e
        assert start.t
        counts = self._counts
        shares = start.shares(counts)
        if len(start.frozen):
            shares[start.frozen == 1] = 0
        self._blend("e", masters.e, start.e, start.places[mine], shares[mine], model)
        carried, shares = start.carried(self._host.operator, counts), np.full(masters.vertices, start.share(counts))
        self._blend("t", masters.t, start.t, carried[mine], shares, model)

    def _blend(
        self,
        which: str,
        matrix: NDArray[np.float32],
        rows: Rows,
        places: NDArray[np.int32],
        shares: NDArray[np.float64],
        model: QuadraticModel | None,
    ) -> None:
        scheme, workers = self._host.scheme, self._host.workers
        most = int(scheme.partition.sizes.max())  # hosts ask each other: as many blocks on all
        for begin in range(0, most, _BLENDED):
            block = slice(begin, begin + _BLENDED)
            before = np.zeros((len(places[block]), matrix.shape[1]), np.float32)
            rows.put(places[block], before, scheme.context.communicator)
            old = np.flatnonzero((places[block] >= 0) & (shares[block] < 1))
            share = shares[block][old]
            moved = matrix[begin + old] - before[old]
            updates = self._updates[which][block][old]
            if model is None:
                moved *= share[:, None].astype(np.float32)
            else:
                given = share.astype(np.float32), updates, model.vectors[which], model.rates[which], model.shared[which]
                blend = partial(_blend_rows, before[old], moved, *given)
                workers.join(workers.spread(blend, len(old), 64))
            matrix[begin + old] = before[old] + moved


@njit(nogil=True, fastmath=True, error_model="numpy", cache=True)
def _blend_rows(
    before: Any, changes: Any, shares: Any, updates: Any, vectors: Any, rates: Any, shared: Any, low: int, high: int
) -> None:
    one = float32(1.0)
    for i in range(low, high):
        share = shares[i]
        if share <= 0:
            changes[i] = 0
            continue
        total = float32(updates[i]) / share
        last = rates.size - 1
        for c in range(last, -1, -1):
            apart = shared > 0 and c == last
            steps = shared if apart else rates[c] * total
            if steps < float32(LEAST) and not apart:
                break
            gone = share_gone(steps)
            moved = share * gone / share_gone(share * steps) - one
            kept = float32(0.0)
            if not apart:
                kept = (one - share) * gone / share_gone((one - share) * steps) + share * gone - one
            along = float32(0.0)
            for d in range(vectors.shape[1]):
                along += (moved * changes[i, d] + kept * before[i, d]) * vectors[c, d]
            for d in range(vectors.shape[1]):
                changes[i, d] += along * vectors[c, d]
