"""Measures training as it runs: words, samples, loss, time."""

import time
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from any2vec.operators.arguments import ThreadStats
from any2vec.training.options import Options
from any2vec.training.progress import Display
from any2vec.training.schedule import FLOOR
from any2vec.training.state import MeterState

__all__ = ["Meter", "RoundTotals", "pack_totals"]


class RoundTotals(NamedTuple):
    """Totals of a round; hosts exchange them as one array, whose sum is over all hosts.

    Attributes
    ----------
    words, samples, loss : float
        Positions, samples, and the sum of their losses.
    curvature, measured : float
        Sum of the loss's second derivative over `measured` samples.
    interrupted, broken : float
        Nonzero if a host was stopped by Ctrl-C, or found values that are not finite.
    """

    words: float
    samples: float
    loss: float
    curvature: float
    measured: float
    interrupted: float
    broken: float


def pack_totals(stats: list[ThreadStats], interrupted: bool, broken: bool) -> NDArray[np.float64]:
    """Sum up the threads' counters, in the order of `RoundTotals`."""
    rows = [[*thread.words, *thread.samples, *thread.loss, *thread.curvature] for thread in stats]
    return np.array([*np.sum(rows, axis=0), interrupted, broken])


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
        Mean loss of each epoch that has ended.
    samples : float
        Samples of the current epoch, of rounds that are over.
    """

    def __init__(self, options: Options, words: int, share: float, raw_words: int, display: Display) -> None:
        self.seconds = 0.0
        self.words_done = 0
        self.loss: list[float] = []
        self.samples = 0.0
        self._options = options
        self._words, self._share = words, max(share, 1e-9)
        self._raw = raw_words / words
        self._display = display
        self._loss = self._began = 0.0

    @property
    def state(self) -> MeterState:
        """What was measured, at the end of a round within an epoch."""
        seconds = self.seconds + time.perf_counter() - self._began
        return MeterState(self.words_done, seconds, tuple(self.loss), self.samples, self._loss)

    def restore(self, state: MeterState) -> None:
        """Go on from a state; `start_epoch` follows."""
        self.words_done, self.seconds, self.loss = state.words, state.seconds, list(state.losses)
        self.samples, self._loss = state.samples, state.loss

    @property
    def words_per_second(self) -> float:
        """Raw words per second of training."""
        return self.words_done * self._raw / self.seconds if self.seconds else 0.0

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

    def end_epoch(self) -> None:
        """Stop the clock and record the epoch's loss."""
        self.seconds += time.perf_counter() - self._began
        self.loss.append(self._loss / self.samples if self.samples else 0.0)

    def show(self, stats: list[ThreadStats]) -> None:
        """Show progress while this host's threads run."""
        words, samples, loss = (
            sum(float(getattr(thread, name)[0]) for thread in stats) / self._share
            for name in ("words", "samples", "loss")
        )
        done, samples = self.words_done + words, self.samples + samples
        seconds = self.seconds + time.perf_counter() - self._began
        total = self._words * self._options.epochs
        self._display.training(
            done / self._words,
            self._options.epochs,
            done * self._raw / seconds,
            self._options.initial_alpha * max(1 - done / total, FLOOR),
            (self._loss + loss) / samples if samples else 0.0,
            seconds * (total / done - 1) if done else 0.0,
        )
