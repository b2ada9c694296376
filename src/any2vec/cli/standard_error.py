"""Standard error: it may go away, and training goes on without its reader; a warning is a line of it."""

import sys
import warnings
from contextlib import suppress
from typing import Any

from any2vec.errors import Any2VecWarning

__all__ = ["ignore_errors", "one_line_warnings"]


class _Dispensable:
    """A text stream that drops what the system refuses to write."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        with suppress(OSError):
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        with suppress(OSError):
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def ignore_errors() -> None:
    """Let messages be lost, and nothing else, where standard error cannot be written."""
    if sys.stderr is not None and sys.stderr is sys.__stderr__:  # not a calling program's
        sys.stderr = _Dispensable(sys.stderr)


def one_line_warnings() -> None:
    """Print what a user should know on one line, without the line of code that it comes from."""
    others = warnings.showwarning

    def show(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
        if issubclass(category, Any2VecWarning):
            print(f"any2vec: {message}", file=sys.stderr)
        else:
            others(message, category, *where, **more)

    warnings.showwarning = show
