"""Standard output whose errors name it."""

import io
import sys
from typing import Any

from any2vec.errors import Any2VecError

__all__ = ["name_errors"]


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
