"""What training measures of itself as it goes: words, samples, loss and time."""

import time

from any2vec.operators.skipgram import Tally
from any2vec.training.host import FLOOR
from any2vec.training.options import Options
from any2vec.training.progress import Display

__all__ = ["Meter"]


class Meter:
    """Adds up what the threads tell and shows it.

    Parameters
    ----------
    options : Options
        Options of training.
    words : int
        Positions of the worklist.
    raw_words : int
        Words of the corpus, those that `min_count` dropped too: what speed is measured in.
    display : Display
        Where to show.

    Attributes
    ----------
    seconds : float
        Time spent computing.
    words_done : int
        Positions done, in all epochs.
    loss : list of float
        Mean loss over the samples of each epoch that was begun.
    """

    def __init__(self, options: Options, words: int, raw_words: int, display: Display) -> None:
        self.seconds = 0.0
        self.words_done = 0
        self.loss: list[float] = []
        self._options = options
        self._words = words
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

    def add(self, tallies: list[Tally]) -> None:
        """Add what the threads counted in a slice that is done."""
        for tally in tallies:
            self.words_done += int(tally.words[0])
            self._samples += float(tally.samples[0])
            self._loss += float(tally.loss[0])

    def end_epoch(self) -> None:
        """Stop the clock and note the epoch's loss."""
        self.seconds += time.perf_counter() - self._began
        self.loss.append(self._loss / self._samples if self._samples else 0.0)

    def show(self, tallies: list[Tally]) -> None:
        """Show how it goes while the threads that `tallies` belong to run."""
        done = self.words_done + sum(float(tally.words[0]) for tally in tallies)
        samples = self._samples + sum(float(tally.samples[0]) for tally in tallies)
        loss = self._loss + sum(float(tally.loss[0]) for tally in tallies)
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
