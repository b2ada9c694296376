"""The progress of a run: what is measured as it runs, and a moving line, plain lines or log records that show it."""

import logging
import math
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from numba.core.event import Listener, install_listener
from numpy.typing import NDArray
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from any2vec.errors import escaped, is_installed
from any2vec.io.shown import Console
from any2vec.operators.base import ThreadStats
from any2vec.report import decimals
from any2vec.report.rounds import Done
from any2vec.training.options import Options
from any2vec.training.state import MeterState

COMPILING = "compiling kernels: some seconds, once for these options"

_log = logging.getLogger("any2vec")
_SECONDS_BETWEEN_LINES = 10.0
_Recorder = Callable[[str, dict[str, Any]], None]
_FEW_WORDS = 1000  # of a host in a round: they take about a millisecond, and synchronizing more


class Display:
    """Shows how reading and training progress: nothing, unless a subclass does."""

    recorder: "_Recorder | None" = None
    """What keeps figures, if something does."""

    def say(self, line: str) -> None:
        """Print a line."""

    def reading(self, done: int, total: int | None) -> None:
        """Show the bytes of the corpus read so far, and their total if known."""

    def compiling(self) -> None:
        """Show that kernels are loaded or compiled."""

    def training(self, epoch: float, epochs: int, speed: float, alpha: float, loss: float, left: float) -> None:
        """Show epochs done, all epochs, raw words per second (0 at first), rate, loss (or NaN) and seconds left."""

    def record(self, event: str, figures: Callable[[], dict[str, Any]]) -> None:
        """Keep the figures of an event (start, progress, round, epoch, again, end), which are made if they are kept."""
        if self.recorder:
            self.recorder(event, figures())

    def close(self) -> None:
        """Restore the terminal."""


class Quiet(Display):
    """Shows nothing."""


class _SomeLines(Display):
    """What is said, without progress."""

    def __init__(self, console: Console | None = None) -> None:
        self._console = console or Console(stderr=True)

    def say(self, line: str) -> None:
        """Print a line, above the moving one if there is one."""
        self._console.print(line, highlight=False, markup=False, soft_wrap=True)


class PlainLines(_SomeLines):
    """A line every ten seconds, for files and pipes."""

    def __init__(self, console: Console | None = None) -> None:
        super().__init__(console)
        self._last: float | None = time.monotonic()

    def reading(self, done: int, total: int | None) -> None:
        """Print the bytes read, if a line is due."""
        if self._due():
            of = f" of {total / 1e6:,.0f}" if total else ""
            self.say(f"read {done / 1e6:,.0f}{of} MB")

    def compiling(self) -> None:
        """Print nothing (see `announcing_compilation`); the ten seconds begin anew with training."""
        self._last = None

    def training(self, epoch: float, epochs: int, speed: float, alpha: float, loss: float, left: float) -> None:
        """Print the state of training, if a line is due and there is something to say."""
        if speed and self._due():
            self.say(f"epoch {epoch:.2f}/{epochs}  {_figures(speed, alpha, loss)}  {_clock(left)} left")

    def _due(self) -> bool:
        now = time.monotonic()
        if self._last is None:
            self._last = now
        if now - self._last < _SECONDS_BETWEEN_LINES:
            return False
        self._last = now
        return True


class Logged(PlainLines):
    """The same lines as records of the logger `any2vec`; those that must be seen are warnings."""

    def say(self, line: str) -> None:
        """Log a line."""
        _log.info(escaped(line))


class RichLine(_SomeLines):
    """A moving line on a terminal."""

    def __init__(self, console: Console | None = None) -> None:
        super().__init__(console)
        self._bar: Progress | None = None
        self._task = TaskID(0)

    def reading(self, done: int, total: int | None) -> None:
        """Update the line."""
        self._show("reading", done, total, f"{done / 1e6:,.0f} MB")

    def compiling(self) -> None:
        """Update the line."""
        self._show("preparing", 0, None, "")

    def training(self, epoch: float, epochs: int, speed: float, alpha: float, loss: float, left: float) -> None:
        """Update the line."""
        now = min(int(epoch) + 1, epochs)
        self._show(f"epoch {now}/{epochs}", epoch, epochs, _figures(speed, alpha, loss) if speed else "")

    def close(self) -> None:
        """Remove the line."""
        if self._bar:
            self._bar.stop()
            self._bar = None

    def _show(self, name: str, done: float, total: float | None, figures: str) -> None:
        if self._bar is None:
            self._bar = Progress(
                TextColumn("{task.description}"),
                BarColumn(bar_width=24),
                TextColumn("{task.percentage:>3.0f}%"),
                TextColumn("{task.fields[figures]}"),
                TimeRemainingColumn(compact=True),
                console=self._console,
                transient=True,
            )
            self._task = self._bar.add_task(name, total=total, figures=figures)
            self._bar.start()
        self._bar.update(self._task, description=name, completed=done, total=total, figures=figures)


def display_for(console: Console, *, quiet: bool = False, progress: bool = True) -> Display:
    """Return a moving line if `console` is a terminal, else plain lines; nothing if `quiet`."""
    if quiet:
        return Quiet()
    if not progress:
        return _SomeLines(console)
    return RichLine(console) if console.is_terminal else PlainLines(console)


def display_of(verbose: "bool | Display | None") -> Display:
    """Return what an estimator's `verbose` says: by default progress where somebody sees it, else log records."""
    if isinstance(verbose, bool | None):
        console = Console(stderr=True)
        seen = console.is_terminal or console.is_jupyter
        if not (seen if verbose is None else verbose):
            return Logged(console)
        moving = console.is_terminal or (console.is_jupyter and is_installed("ipywidgets"))  # else rich shows nothing
        return RichLine(console) if moving else PlainLines(console)
    return verbose


def warn(display: Display, line: str) -> None:
    """Print a line that must be seen, on standard error where `display` shows nothing: work may be lost."""
    if isinstance(display, Logged):
        _log.warning(escaped(line))
    elif isinstance(display, Quiet):
        print(escaped(line), file=sys.stderr, flush=True)
    else:
        display.say(line)


@contextmanager
def announcing_compilation(say: Callable[[str], None]) -> Iterator[None]:
    """Say so at once, and once, if a kernel is compiled in the block and not taken from the cache."""
    with install_listener("numba:compile", _FirstCompilation(say)):
        yield


class _FirstCompilation(Listener):  # type: ignore[misc]
    def __init__(self, say: Callable[[str], None]) -> None:
        self._say: Callable[[str], None] | None = say

    def on_start(self, event: Any) -> None:
        if self._say:
            say, self._say = self._say, None
            say(COMPILING)

    def on_end(self, event: Any) -> None:
        pass


def too_many_hosts(words: int, hosts: int, rounds: int) -> str | None:
    """Return a line to say where hosts have too few words per round to be worth their synchronizing, else None."""
    each = words // (hosts * rounds)
    if hosts == 1 or each >= _FEW_WORDS:
        return None
    return (
        f"Too many hosts for this corpus: {words:,} words for {hosts} hosts and {rounds} rounds per epoch are {each:,} "
        "per host and round; fewer would be faster"
    )


def _figures(speed: float, alpha: float, loss: float) -> str:
    return f"{speed:,.0f} words/s  rate {alpha:.5f}  loss {decimals(loss)}"


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


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
    """Adds up rounds of W, of so many words, and shows progress.

    From the `share` that this host does, what the others do meanwhile is estimated. Speed is in raw words: those below
    `min_count` included.
    """

    def __init__(self, options: Options, words: int, share: float, raw_words: int, display: Display) -> None:
        self.seconds = 0.0  # in epochs
        self.words_done = 0  # positions, in all epochs
        self.loss: list[float] = []  # mean of each epoch that has ended; not a number if it had no samples
        self.held_out: list[float] = []  # the same, on what is held out
        self.samples = 0.0  # of the current epoch, of rounds that are over
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
