"""Ctrl-C and signals while a run trains: its round ends, or is cut short, and what is trained is kept."""

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType

import numpy as np
from numpy.typing import NDArray

from any2vec import signals

__all__ = ["Interrupts"]

_PATIENCE = 3.0  # seconds that a round may still take; schedulers wait for 30 s and more, users less


class Interrupts:
    """How a host hears of Ctrl-C and other signals, and lets its threads return.

    Parameters
    ----------
    flags : int64 array, shape (2,), optional
        Shared by simulated hosts: nonzero if threads are to return early; if not 0, when they are to (monotonic, ns).

    Attributes
    ----------
    interrupted : bool
        Whether this host was told to end.
    finishes : bool
        Whether the round is to end first, if it soon does; told twice, it is cut short.
    paused : bool
        Whether threads return early to go on soon.
    say : function
        Prints a line.
    seconds_left : function
        Estimates the seconds that the round will take; None if that is unknown.
    """

    def __init__(self, flags: NDArray[np.int64] | None = None) -> None:
        self.flags = np.zeros(2, np.int64) if flags is None else flags
        self.interrupted = self.finishes = self.paused = False
        self.say: Callable[[str], None] = lambda line: None
        self.seconds_left: Callable[[], float | None] = lambda: None
        self._ended = False
        self._waits_for = ""  # code of the user's

    @property
    def stopped(self) -> bool:
        """Whether the threads return early."""
        return bool(self.flags[0])

    def stop(self) -> None:
        """Let the threads return early, now and from here on."""
        self._ended = True
        self.flags[0] = 1

    def pause(self) -> None:
        """Let the threads return early."""
        self.paused = True
        self.flags[0] = 1

    def go_on(self) -> None:
        """Let the threads compute again after a pause, unless they were stopped meanwhile."""
        self.paused = False
        self.flags[0] = 0
        if self._ended:  # perhaps by a signal, just now
            self.flags[0] = 1

    def watch(self) -> None:
        """Stop when the time is over in which the round was to end; called now and then."""
        if not self.stopped and 0 < self.flags[1] <= time.monotonic_ns():
            self._tell("the round takes longer: it is cut short")
            self.stop()

    def interrupt(self, name: str = "Ctrl-C") -> None:
        """End the run, as `name` wants it to: now, or when its round is over, if that is soon."""
        again, self.interrupted = self.interrupted, True
        if again:
            waited = self.finishes and not self.stopped
            self.stop()
            if self._waits_for:
                raise KeyboardInterrupt
            if waited:
                self._tell(f"{name}: the round is cut short")
            return
        if self._waits_for:
            self._tell(f"{name}: waiting for {self._waits_for}, then saving; a second one does not wait")
            return
        left = self.seconds_left() if self.finishes else None
        if not self.finishes:
            self.stop()
            self._tell(f"{name}: stopping, then saving what is trained")
        elif left is not None and left > _PATIENCE:
            self.stop()
            self._tell(f"{name}: the round would take another {left:,.0f} s: it is cut short, then saved")
        else:
            self.flags[1] = time.monotonic_ns() + int(1e9 * _PATIENCE)
            soon = f"about {left:.0f} s" if left is not None and left >= 1 else f"at most {_PATIENCE:g} s"
            self._tell(f"{name}: finishing the round, {soon}, then saving")

    @contextmanager
    def handling(self) -> Iterator[None]:
        """Within the block, let Ctrl-C end the computation, now and from here on, instead of raising an exception.

        (An exception could strike while a thread holds a lock.) Likewise the signals that are handled as Ctrl-C, as on
        the command line. Programs with a handler of their own keep it.
        """
        here = threading.current_thread() is threading.main_thread()
        before = {number: signal.getsignal(number) for number in signals.ENDING if here}
        ours = [number for number, handler in before.items() if handler in signals.HANDLERS]
        for number in ours:
            signal.signal(number, self._handle)
        try:
            yield
        finally:
            signals.end()
            self.seconds_left = lambda: None  # no cycle: a corpus's temporary files go with its last reference
            for number in ours:
                signal.signal(number, before[number])

    @contextmanager
    def catching(self, waits_for: str = "") -> Iterator[None]:
        """Treat a KeyboardInterrupt in the block, of a callback or other handler, as Ctrl-C: others must hear of it.

        If `waits_for` says what code of the user's the block runs, a second signal raises KeyboardInterrupt in it.
        """
        self._waits_for = waits_for
        try:
            yield
        except KeyboardInterrupt:
            if not waits_for:
                self.interrupt()
            elif not self.interrupted:
                self.interrupted = True
                self._tell("Ctrl-C: saving what is trained")
        finally:
            self._waits_for = ""

    def _handle(self, number: int, _: FrameType | None) -> None:
        self.interrupt("Ctrl-C" if number == signal.SIGINT else signal.Signals(number).name)

    def _tell(self, line: str) -> None:
        with suppress(RuntimeError):  # the signal struck while a line was being written
            self.say(line)
