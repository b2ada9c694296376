"""Standard error that may go away: training goes on without its reader."""

import sys
from contextlib import suppress
from typing import Any

__all__ = ["ignore_errors"]


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
