"""Standard error may go away, and training goes on; errors of standard output name it. A warning is one line."""

import io
import sys
import warnings
from contextlib import suppress
from typing import Any

from any2vec.errors import Any2VecError, Any2VecWarning

__all__ = ["ignore_errors", "name_errors", "one_line_warnings"]


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


class _Named(io.FileIO):
    _failed = False

    def write(self, data: Any) -> int:
        if self._failed:  # buffers are written again at exit
            return len(data)
        try:
            return super().write(data)
        except BrokenPipeError:  # whoever read it has seen enough
            raise
        except OSError as error:
            self._failed = True
            raise Any2VecError(f"standard output: cannot be written: {error.strerror or error}") from None


def name_errors() -> None:
    """Let what is written to standard output raise an Any2VecError where the system refuses it."""
    own = sys.__stdout__
    if own is None or sys.stdout is not own:  # closed, or a calling program's
        return
    own.flush()
    bytes_ = io.BufferedWriter(_Named(own.fileno(), "w", closefd=False))
    errors = "backslashreplace" if own.errors == "strict" else own.errors  # names that the terminal cannot show
    sys.stdout = io.TextIOWrapper(bytes_, own.encoding, errors, line_buffering=own.line_buffering)
