"""How a run ends early: Ctrl-C and signals, and values that are not finite any more."""

import math
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType

import numpy as np
from numpy.typing import NDArray

from any2vec import signals
from any2vec.cluster.communicator import Communicator, SharedError
from any2vec.training.options import Options
from any2vec.training.progress import Display, warn

_PATIENCE = 3.0  # seconds that a round may still take; schedulers wait for 30 s and more, users less


class Interrupts:
    """How a host hears of Ctrl-C and other signals, and lets its threads return.

    `flags`, shape (2,), are shared by simulated hosts: nonzero if threads are to return early; if not 0, when they are
    to (monotonic, ns).
    """

    def __init__(self, flags: NDArray[np.int64] | None = None) -> None:
        self.flags = np.zeros(2, np.int64) if flags is None else flags
        self.interrupted = False  # whether this host was told to end
        self.finishes = False  # whether the round is to end first, if it soon does; told twice, it is cut short
        self.paused = False  # whether threads return early to go on soon
        self.say: Callable[[str], None] = lambda line: None
        self.seconds_left: Callable[[], float | None] = lambda: None  # in the round; None if that is unknown
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


LARGEST = 1e6
"""Of a number in a row: larger ones are of no use, though they are finite."""

_SUSPECT = 1e2  # a row of 100 such numbers is as long as 1,000; those of good runs stay below 10
_WORST = 2.0  # mean loss of a sample, if it is log 2 before training: no more in good runs of any operator

_MANY_NEGATIVES = 50  # from here on they, rather than alpha, are why shared negatives diverge


def not_finite(options: Options, hosts: int, by_columns: bool, when: str, rate: float, kept: str) -> SharedError:
    """Make the error: `when` is the round and epoch, `rate` the learning rate then, `kept` what a checkpoint has."""
    which = options.combine
    name = which if isinstance(which, str) else getattr(which, "__name__", type(which).__name__)
    other = f", or the combiner {name!r} adds up too much" if hosts > 1 else ""
    if by_columns:
        other = f", or `batch` {options.centres(hosts)} is (`batch` times hosts up to 400 usually works)"
    why = _cause(options)
    return SharedError(
        f"training stopped in {when}: values are not finite any more, or beyond {LARGEST:,.0f}, at a learning rate of "
        f"{rate:.2g}; {why}{other}{kept}"
    )


class Divergence:
    """Says once that training seems to diverge, and ends it if it has become worse after a further epoch."""

    def __init__(self, options: Options, communicator: Communicator, display: Display, first: float) -> None:
        self._options, self._communicator, self._display, self._first = options, communicator, display, first
        self._seen: tuple[float, float] | None = None  # loss and largest number, where they were of no good run

    def see(self, epoch: int, loss: float, largest: float) -> None:
        """Look at an epoch's mean loss and the largest number of a row; raise, on all hosts, if it diverges."""
        if not (line := diverging(self._options, self._communicator.size, epoch, loss, largest, self._first)):
            return
        before, self._seen = self._seen, self._seen or (loss, largest)
        if before and loss > before[0] and largest > before[1]:
            raise SharedError(f"training stopped: it diverges: {line}")
        if not before and self._communicator.rank == 0:
            warn(self._display, f"training seems to diverge: {line}")


def diverging(options: Options, hosts: int, epoch: int, loss: float, largest: float, first: float = math.log(2)) -> str:
    """Return what to say after an epoch whose mean loss, or largest number of a row, is of no good run; else nothing.

    Training began with the loss `first`. The losses of users' own operators may have any scale.
    """
    own = not options.operator_class.__module__.startswith("any2vec.")
    if largest <= _SUSPECT and (own or not loss > _WORST * first / math.log(2)):
        return ""
    other = f", or the combiner {options.combine!r} adds up too much" if hosts > 1 else ""
    return (
        f"after epoch {epoch} the mean loss is {loss:.2f} ({first:.2f} before training), and the largest number in a "
        f"row {largest:,.4g}; {_cause(options)}{other}"
    )


def _cause(options: Options) -> str:
    if options.negatives >= _MANY_NEGATIVES and options.negatives_per != "pair":
        return (
            f"`alpha` {options.initial_alpha} is too large for `negative` {options.negatives} shared by a "
            "window; lower one of them (5 to 20 negatives are usual), or use `negatives_per='pair'`"
        )
    return f"`alpha` {options.initial_alpha} is too large for this corpus ({options.operator_class.alpha} is usual)"
