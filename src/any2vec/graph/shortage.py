"""Graphs that do not fit into memory: said before it is taken where the size is known, and where it was not."""

import errno
from collections.abc import Iterator
from contextlib import contextmanager

from any2vec.errors import Any2VecError
from any2vec.io.memory import available

__all__ = ["check_fits", "naming_shortage"]


def check_fits(needed: int, name: str, what: str) -> None:
    """Raise if a source needs more bytes of memory than there are; `what` says they are for."""
    if needed > (there := available()):
        raise Any2VecError(
            f"{name}: not enough memory: {needed / 1e9:,.1f} GB for {what}, and {there / 1e9:,.1f} GB are available"
        )


@contextmanager
def naming_shortage(name: str) -> Iterator[None]:
    """Turn a refused allocation into an error that names the source."""
    try:
        yield
    except MemoryError as error:
        raise _shortage(name, error) from error
    except OSError as error:  # of pages that are mapped
        if error.errno != errno.ENOMEM:
            raise
        raise _shortage(name, error) from error


def _shortage(name: str, error: Exception) -> Any2VecError:
    reason = " ".join(str(error).split())[:100]
    return Any2VecError(f"{name}: not enough memory to read this graph{f' ({reason})' if reason else ''}")
