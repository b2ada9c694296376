"""The one kind of error that a user sees."""

import reprlib

__all__ = ["Any2VecError", "missing_extra", "shown"]


class Any2VecError(Exception):
    """What the user gave cannot be used; the message says where, what, and what would be right.

    The command line prints the message alone, on one line, and ends with status 1.
    """


def missing_extra(module: str, extra: str) -> Any2VecError:
    """Make the error for a library that is not installed; `extra` is the extra of any2vec that installs it."""
    return Any2VecError(f"this needs {module}, which is not installed: pip install 'any2vec[{extra}]'")


def shown(value: object) -> str:
    """Return a value's repr for a message: on one line, and short however large the value is."""
    return " ".join(reprlib.repr(value).split())
