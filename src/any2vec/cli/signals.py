"""The signal to terminate is taken for Ctrl-C, so that what is half-written goes and what is trained is saved."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["terminate_as_interrupt", "terminate_at_once", "unterminated"]


def terminate_as_interrupt() -> None:
    """Take it for Ctrl-C from here on, unless it is ignored, or a program that calls this one handles it."""
    if signal.getsignal(signal.SIGTERM) == signal.SIG_DFL:
        signal.signal(signal.SIGTERM, signal.default_int_handler)


def terminate_at_once() -> None:
    """End at once by it, as this program is about to end: launchers send it to all hosts when one fails."""
    if signal.getsignal(signal.SIGTERM) is signal.default_int_handler:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


@contextmanager
def unterminated() -> Iterator[None]:
    """Ignore it in the block: after the first one schedulers send more, and vectors are being saved."""
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
