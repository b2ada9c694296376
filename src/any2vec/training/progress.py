"""How a person sees training go: a line that moves on a terminal, plain lines elsewhere, or nothing."""

import time
from typing import Protocol

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

__all__ = ["Display", "PlainLines", "Quiet", "RichLine", "display_for"]

_SECONDS_BETWEEN_LINES = 10.0


class Display(Protocol):
    """What training tells as it goes."""

    def say(self, line: str) -> None:
        """Show a line that stays."""

    def reading(self, done: int, total: int | None) -> None:
        """Show how many bytes of the corpus are read, of how many if it is known."""

    def compiling(self) -> None:
        """Show that the operator is compiled, which takes some seconds the first time."""

    def training(self, epoch: float, epochs: int, speed: float, alpha: float, loss: float, left: float) -> None:
        """Show epochs done and their number, raw words per second, learning rate, loss, and seconds left."""

    def close(self) -> None:
        """Leave the terminal as it was."""


class Quiet:
    """Shows nothing."""

    def say(self, line: str) -> None:
        """Show nothing."""

    def reading(self, done: int, total: int | None) -> None:
        """Show nothing."""

    def compiling(self) -> None:
        """Show nothing."""

    def training(self, epoch: float, epochs: int, speed: float, alpha: float, loss: float, left: float) -> None:
        """Show nothing."""

    def close(self) -> None:
        """Do nothing."""


class PlainLines:
    """A line now and then, for files and pipes.

    Parameters
    ----------
    console : rich.console.Console
        Where the lines go.
    """

    def __init__(self, console: Console) -> None:
        self._console = console
        self._last = time.monotonic()

    def say(self, line: str) -> None:
        """Show a line."""
        self._console.print(line, highlight=False, markup=False, soft_wrap=True)

    def reading(self, done: int, total: int | None) -> None:
        """Show the bytes read, now and then."""
        if self._due():
            of = f" of {total / 1e6:,.0f}" if total else ""
            self.say(f"read {done / 1e6:,.0f}{of} MB")

    def compiling(self) -> None:
        """Show nothing: it is over before the next line is due."""

    def training(self, epoch: float, epochs: int, speed: float, alpha: float, loss: float, left: float) -> None:
        """Show the state of training, now and then."""
        if self._due():
            self.say(f"epoch {epoch:.2f}/{epochs}  {_figures(speed, alpha, loss)}  {_clock(left)} left")

    def close(self) -> None:
        """Do nothing."""

    def _due(self) -> bool:
        now = time.monotonic()
        if now - self._last < _SECONDS_BETWEEN_LINES:
            return False
        self._last = now
        return True


class RichLine:
    """One line that moves.

    Parameters
    ----------
    console : rich.console.Console
        A terminal.
    """

    def __init__(self, console: Console) -> None:
        self._console = console
        self._bar: Progress | None = None
        self._task = TaskID(0)

    def say(self, line: str) -> None:
        """Show a line above the one that moves."""
        self._console.print(line, highlight=False, markup=False, soft_wrap=True)

    def reading(self, done: int, total: int | None) -> None:
        """Move the line."""
        self._show("reading", done, total, f"{done / 1e6:,.0f} MB")

    def compiling(self) -> None:
        """Move the line."""
        self._show("compiling", 0, None, "some seconds, the first time only")

    def training(self, epoch: float, epochs: int, speed: float, alpha: float, loss: float, left: float) -> None:
        """Move the line."""
        now = min(int(epoch) + 1, epochs)
        self._show(f"epoch {now}/{epochs}", epoch, epochs, _figures(speed, alpha, loss))

    def close(self) -> None:
        """Take the line away."""
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


def display_for(console: Console, *, quiet: bool = False) -> Display:
    """Choose how to show progress.

    Parameters
    ----------
    console : rich.console.Console
        Where to.
    quiet : bool
        Show nothing.

    Returns
    -------
    Display
        A moving line if `console` is a terminal, else plain lines.
    """
    if quiet:
        return Quiet()
    return RichLine(console) if console.is_terminal else PlainLines(console)


def _figures(speed: float, alpha: float, loss: float) -> str:
    return f"{speed:,.0f} words/s  rate {alpha:.5f}  loss {loss:.4f}"


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
