"""Measures training as it runs: words, samples, loss, time."""

import math
import time
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from any2vec.operators.base import ThreadStats
from any2vec.report.rounds import Done
from any2vec.training.options import Options
from any2vec.training.progress import Display
from any2vec.training.state import MeterState


class RoundTotals(NamedTuple):
    """Totals of a round; hosts exchange them as one array, whose sum is over all hosts."""

    words: float  # positions, samples, and the sum of their losses
    samples: float
    loss: float
    curvature: float  # sum of the loss's second derivative over `measured` samples
    measured: float
    # nonzero if a host was stopped by Ctrl-C, has left some of its slice, or found values that are not finite
    interrupted: float
    cut: float
    broken: float


def pack_totals(stats: list[ThreadStats], interrupted: bool, cut: bool, broken: bool) -> NDArray[np.float64]:
    """Sum up the threads' counters, in the order of `RoundTotals`."""
    return np.array([*_sums(stats), interrupted, cut, broken])


def _sums(stats: list[ThreadStats]) -> NDArray[np.float64]:
    rows = [[*thread.words, *thread.samples, *thread.loss, *thread.curvature] for thread in stats]
    return np.asarray(np.sum(rows, axis=0))


class Meter:
    """Adds up rounds and shows progress.

    Parameters
    ----------
    options : Options
        Options of training.
    words : int
        Positions of W.
    share : float
        Share of them that this host does; from it, what the others do meanwhile is estimated.
    raw_words : int
        Words of the corpus, those below `min_count` included: the unit of speed.
    display : Display
        Where to show.

    Attributes
    ----------
    seconds : float
        Time spent in epochs.
    words_done : int
        Positions done, in all epochs.
    loss : list of float
        Mean loss of each epoch that has ended; not a number if it had no samples.
    held_out : list of float
        Mean loss on what is held out, after each epoch.
    samples : float
        Samples of the current epoch, of rounds that are over.
    """

    def __init__(self, options: Options, words: int, share: float, raw_words: int, display: Display) -> None:
        self.seconds = 0.0
        self.words_done = 0
        self.loss: list[float] = []
        self.held_out: list[float] = []
        self.samples = 0.0
        self._options = options
        self._words, self._share = words, max(share, 1e-9)
        self._raw = raw_words / words * options.trained
        self._display = display
        self._loss = self._began = 0.0
        self._part: Sequence[float] = ()

    def state(self, stats: list[ThreadStats] | None = None) -> MeterState:
        """Return what was measured within an epoch; with `stats`, in the middle of a round."""
        part = () if stats is None else tuple(_sums(stats).tolist())
        losses = tuple(self.loss), self.samples, self._loss, part, tuple(self.held_out)
        return MeterState(self.words_done, self.elapsed, *losses)

    def restore(self, state: MeterState) -> None:
        """Go on from a state; `start_epoch` follows."""
        self.words_done, self.seconds, self.loss = state.words, state.seconds, list(state.losses)
        self.samples, self._loss, self._part = state.samples, state.loss, state.part
        self.held_out = list(state.held_out)

    def begin_round(self, stats: list[ThreadStats]) -> None:
        """Let the counters of a round begin with what was counted of it before the run was taken up again."""
        if self._part:
            one = stats[0]
            one.words[0], one.samples[0], one.loss[0] = self._part[:3]
            one.curvature[:] = self._part[3:]
            self._part = ()

    @property
    def elapsed(self) -> float:
        """Seconds of training so far, within an epoch."""
        return self.seconds + time.perf_counter() - self._began

    @property
    def words_per_second(self) -> float:
        """Raw words per second of training."""
        return self.words_done * self._raw / self.seconds if self.seconds else 0.0

    @property
    def is_finite(self) -> bool:
        """Whether the sum of the epoch's losses is."""
        return math.isfinite(self._loss)

    @property
    def pace(self) -> float:
        """Seconds per position so far; 0 if nothing is done."""
        return self.elapsed / self.words_done if self.words_done else 0.0

    def start_epoch(self, *, resumed: bool = False) -> None:
        """Start the clock; unless the epoch is `resumed`, from no samples."""
        if not resumed:
            self.samples = self._loss = 0.0
        self._began = time.perf_counter()

    def add(self, totals: RoundTotals) -> None:
        """Add a round."""
        self.words_done += int(totals.words)
        self.samples += totals.samples
        self._loss += totals.loss

    def done(self, totals: RoundTotals) -> Done:
        """Return what a round that was added did, and how far training is."""
        return Done(self.words_done / self._words, self.elapsed, totals.words, totals.samples, totals.loss)

    def end_epoch(self) -> None:
        """Stop the clock and record the epoch's loss."""
        now = time.perf_counter()
        self.seconds, self._began = self.seconds + now - self._began, now
        self.loss.append(self._loss / self.samples if self.samples else math.nan)

    def show(self, stats: list[ThreadStats]) -> None:
        """Show progress while this host's threads run."""
        words, samples, loss = (
            sum(float(getattr(thread, name)[0]) for thread in stats) / self._share
            for name in ("words", "samples", "loss")
        )
        done, samples = self.words_done + words, self.samples + samples
        seconds = self.elapsed
        total = self._words * self._options.epochs
        epochs, options = done / self._words, self._options
        figures = {
            "speed": done * self._raw / seconds,
            "alpha": options.decay.at(done / total),
            "loss": (self._loss + loss) / samples if samples else math.nan,
            "left": seconds * (total / done - 1) if done else 0.0,
        }
        self._display.training(epochs, options.epochs, *figures.values())
        self._display.record("progress", lambda: {"epochs": epochs, **figures})
