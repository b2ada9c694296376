"""Ctrl-C and the signal to terminate, which is taken for Ctrl-C: partial files are removed, trained vectors saved."""

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["INTERRUPTED", "interrupt_was_ignored", "quit_at_once", "raise_interrupts", "unterminated"]

INTERRUPTED = 130  # exit status of a program that Ctrl-C ended, as shells report it
_RETRY = 0.02  # seconds
_ignored = threading.Event()


def raise_interrupts() -> None:
    """Raise KeyboardInterrupt on both signals from here on, unless they are ignored or handled by a calling program."""
    if threading.current_thread() is not threading.main_thread():
        return  # a program that calls the command line in a thread
    _ignored.clear()
    if signal.getsignal(signal.SIGINT) is _quit:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        sys.unraisablehook = _unraisable
    if signal.getsignal(signal.SIGTERM) == signal.SIG_DFL:
        signal.signal(signal.SIGTERM, signal.default_int_handler)


def interrupt_was_ignored() -> bool:
    """Whether an interrupt struck where exceptions are ignored; what that left half done may raise another error."""
    return _ignored.is_set()


def quit_at_once() -> None:
    """Exit at once on both signals, where an exception could only be printed: while importing and when done.

    When one host fails, launchers send SIGTERM to the others.
    """
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _quit)
    if signal.getsignal(signal.SIGTERM) is signal.default_int_handler:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


@contextmanager
def unterminated() -> Iterator[None]:
    """Ignore SIGTERM in the block, while vectors are saved: schedulers send more than one."""
    ours = (
        threading.current_thread() is threading.main_thread()
        and signal.getsignal(signal.SIGTERM) is signal.default_int_handler
    )
    if ours:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        yield
    finally:
        if ours:
            signal.signal(signal.SIGTERM, signal.default_int_handler)


def _quit(*_: object) -> None:
    os._exit(INTERRUPTED)


def _unraisable(event: "sys.UnraisableHookArgs") -> None:
    """Raise an interrupt again that struck where exceptions are ignored, such as in a callback of the compiler."""
    if event.exc_type is KeyboardInterrupt:
        _ignored.set()
        timer = threading.Timer(_RETRY, signal.raise_signal, (signal.SIGINT,))
        timer.daemon = True
        timer.start()
    else:
        sys.__unraisablehook__(event)
