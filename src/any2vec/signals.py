"""Ctrl-C and signals to end, which are taken for Ctrl-C: partial files are removed, trained vectors saved."""

import atexit
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import NoReturn

INTERRUPTED = 130  # exit status of a program that Ctrl-C ended, as shells report it
_RETRY = 0.02  # seconds
_TERMINATING = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))

ENDING = (signal.SIGINT, *_TERMINATING)
"""Ctrl-C; the signal to terminate; that a terminal or connection is gone, where there is such a signal."""

_ignored = threading.Event()
_saves = threading.Event()  # what is trained is being saved, or soon will be
_says: list[Callable[[str], None]] = []  # the last prints a line


def _terminate(number: int, _: FrameType | None) -> None:
    """Raise KeyboardInterrupt; while what is trained is saved, do nothing: schedulers send more than one signal."""
    if not _saves.is_set():
        raise KeyboardInterrupt
    with suppress(RuntimeError, IndexError):  # it struck while a line was being written; there is none to print it
        _says[-1](f"{signal.Signals(number).name}: what is trained is saved first")


HANDLERS = (signal.default_int_handler, _terminate)
"""Handlers in whose place training has its own."""


def raise_interrupts() -> None:
    """Raise KeyboardInterrupt on all signals to end from here on, unless they are ignored or a calling program's."""
    if threading.current_thread() is not threading.main_thread():
        return  # a program that calls the command line in a thread
    _ignored.clear()
    _saves.clear()
    if signal.getsignal(signal.SIGINT) is _quit:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        sys.unraisablehook = _unraisable
    for number in _TERMINATING:
        if signal.getsignal(number) == signal.SIG_DFL:  # under nohup, SIGHUP is ignored
            signal.signal(number, _terminate)


def end() -> None:
    """Let signals to terminate wait from here on: training has ended, and what is trained is not saved yet."""
    _saves.set()


def interrupt_was_ignored() -> bool:
    """Whether an interrupt struck where exceptions are ignored; what that left half done may raise another error."""
    return _ignored.is_set()


def quit_at_once() -> None:
    """Exit at once on all signals to end, where an exception could only be printed: while importing and when done.

    When one host fails, launchers send SIGTERM to the others.
    """
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _quit)
    for number in _TERMINATING:
        if signal.getsignal(number) is _terminate:
            signal.signal(number, signal.SIG_DFL)


def exit_now(status: int) -> NoReturn:
    """Exit without waiting for threads, which may still compile a kernel, and without taking the interpreter apart.

    Temporary files are removed. What connects hosts is ended in an orderly way.
    """
    if not {"mpi4py", "torch"} & sys.modules.keys():
        atexit._run_exitfuncs()
        for stream in filter(None, (sys.stdout, sys.stderr)):
            with suppress(OSError, ValueError):
                stream.flush()
        os._exit(status)
    sys.exit(status)


@contextmanager
def unterminated(say: Callable[[str], None] = lambda line: None) -> Iterator[None]:
    """Let signals to terminate wait in the block, which saves vectors, and `say` so."""
    _says.append(say)
    _saves.set()
    try:
        yield
    finally:
        _says.pop()
        _saves.clear()


def _quit(*_: object) -> None:
    os._exit(INTERRUPTED)


def _unraisable(event: "sys.UnraisableHookArgs") -> None:
    """Raise an interrupt again that struck where exceptions are ignored, such as in a callback of the compiler."""
    if event.exc_type is KeyboardInterrupt:
        _ignored.set()
        timer = threading.Timer(_RETRY, _interrupt_main)
        timer.daemon = True
        timer.start()
    else:
        sys.__unraisablehook__(event)


def _interrupt_main() -> None:
    """Send SIGINT to the main thread, which may wait in a system call: one to another thread would not end that."""
    main = threading.main_thread().ident
    if hasattr(signal, "pthread_kill") and main is not None:
        signal.pthread_kill(main, signal.SIGINT)
    else:  # Windows
        signal.raise_signal(signal.SIGINT)
