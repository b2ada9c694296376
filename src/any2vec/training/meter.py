"""What training measures of itself as it goes: words, samples, loss and time."""

import time
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from any2vec.operators.skipgram import ThreadStats
from any2vec.training.options import Options
from any2vec.training.progress import Display
from any2vec.training.schedule import FLOOR

__all__ = ["Done", "Meter", "done"]


class Done(NamedTuple):
    """What was done in a round; hosts tell it to each other as one array.

    Attributes
    ----------
    words, samples, loss : float
        Positions, samples, and the sum of their losses.
    curvature, measured : float
        Sum of ``p (1 - p)``, p being the prediction, over so many samples.
    interrupted, broken : float
        Not 0 if a host was stopped by Ctrl-C, or found values that are not finite.
    """

    words: float
    samples: float
    loss: float
    curvature: float
    measured: float
    interrupted: float
    broken: float


def done(tallies: list[ThreadStats], interrupted: bool, broken: bool) -> NDArray[np.float64]:
    """Put what threads counted into the form of `Done`."""
    rows = [[*tally.words, *tally.samples, *tally.loss, *tally.curvature] for tally in tallies]
    return np.array([*np.sum(rows, axis=0), interrupted, broken])


class Meter:
    """Adds up what the hosts tell and shows it.

    Parameters
    ----------
    options : Options
        Options of training.
    words : int
        Positions of the worklist, of all hosts.
    share : float
        Share of them that this host does: what others do meanwhile is guessed from it.
    raw_words : int
        Words of the corpus, those that `min_count` dropped too: what speed is measured in.
    display : Display
        Where to show.

    Attributes
    ----------
    seconds : float
        Time spent in epochs.
    words_done : int
        Positions done, in all epochs.
    loss : list of float
        Mean loss over the samples of each epoch that was begun.
    """

    def __init__(self, options: Options, words: int, share: float, raw_words: int, display: Display) -> None:
        self.seconds = 0.0
        self.words_done = 0
        self.loss: list[float] = []
        self._options = options
        self._words, self._share = words, max(share, 1e-9)
        self._raw = raw_words / words
        self._display = display
        self._samples = self._loss = self._began = 0.0

    @property
    def samples(self) -> float:
        """Samples applied in this epoch, by rounds that are over."""
        return self._samples

    @property
    def words_per_second(self) -> float:
        """Raw words per second of training."""
        return self.words_done * self._raw / self.seconds if self.seconds else 0.0

    def start_epoch(self) -> None:
        """Begin to measure an epoch."""
        self._samples = self._loss = 0.0
        self._began = time.perf_counter()

    def add(self, all_: Done) -> None:
        """Add what all hosts did in a round."""
        self.words_done += int(all_.words)
        self._samples += all_.samples
        self._loss += all_.loss

    def end_epoch(self) -> None:
        """Stop the clock and note the epoch's loss."""
        self.seconds += time.perf_counter() - self._began
        self.loss.append(self._loss / self._samples if self._samples else 0.0)

    def show(self, tallies: list[ThreadStats]) -> None:
        """Show how it goes while this host's threads, that `tallies` belong to, run."""
        done = self.words_done + sum(float(tally.words[0]) for tally in tallies) / self._share
        samples = self._samples + sum(float(tally.samples[0]) for tally in tallies) / self._share
        loss = self._loss + sum(float(tally.loss[0]) for tally in tallies) / self._share
        seconds = self.seconds + time.perf_counter() - self._began
        total = self._words * self._options.epochs
        self._display.training(
            done / self._words,
            self._options.epochs,
            done * self._raw / seconds,
            self._options.alpha * max(1 - done / total, FLOOR),
            loss / samples if samples else 0.0,
            seconds * (total / done - 1) if done else 0.0,
        )
