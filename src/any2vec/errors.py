"""The one kind of error that a user sees."""

import re
import reprlib
import sys
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from shlex import quote
from typing import Any

_UNSEEN = re.compile("[\0-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
_MARKED = re.compile(r"`([a-z]\w*)(?:=([^`]*))?`")


def escaped(text: str) -> str:
    """Return a line for a terminal: escapes for control characters, those that turn lines around, lone surrogates."""
    return _UNSEEN.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


class Any2VecError(Exception):
    """What the user gave cannot be used; the message says where, what, and what would be right.

    The command line prints the message alone, on one line, and ends with status 1.
    """

    def __str__(self) -> str:
        return escaped(super().__str__())


class Any2VecWarning(UserWarning):
    """Something that a user should know, though the work goes on; the command line prints it on one line."""

    def __str__(self) -> str:
        return escaped(super().__str__())


class FileError(Any2VecError, OSError):
    """A file cannot be read; of one of the kinds below it is also the error that Python has for that."""

    def __str__(self) -> str:  # OSError's has a number
        return escaped(str(self.args[0]))


class MissingFileError(FileError, FileNotFoundError):
    """There is no such file or directory; also a FileNotFoundError."""


class ForbiddenFileError(FileError, PermissionError):
    """A file may not be read; also a PermissionError."""


class DirectoryError(FileError, IsADirectoryError):
    """A directory stands where a file is wanted; also an IsADirectoryError."""


FILE_ERRORS = (MissingFileError, ForbiddenFileError, DirectoryError)


def file_error(message: str, cause: Exception) -> Any2VecError:
    """Make an error about a file, of the kind of what the system raised."""
    kind = next((kind for kind in FILE_ERRORS if isinstance(cause, kind.__bases__[1])), None)
    if kind is None:
        return Any2VecError(message)
    error = kind(message)
    error.errno = getattr(cause, "errno", None)
    error.filename = getattr(cause, "filename", None)
    return error


class UnknownWordError(Any2VecError, KeyError):
    """A word has no vector; also a KeyError, as for a missing key of a dict and in gensim.

    `hint` completes the message when it is shown: loops that catch the error for many words do not wait for it.
    """

    def __init__(self, message: str, hint: Callable[[], str] = str) -> None:
        super().__init__(message)
        self._hint = hint

    def __str__(self) -> str:  # KeyError's is a repr
        self.args, self._hint = (self.args[0] + self._hint(),), str  # who shows it may put another message in `args`
        return escaped(str(self.args[0]))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (str(self),)


class NotTrainedError(Any2VecError, ValueError, AttributeError):
    """A model has no vectors yet; also the errors that scikit-learn's NotFittedError is."""


class UnknownParameterError(Any2VecError, TypeError):
    """A function or class has no such parameter; also a TypeError, as Python has it."""


def is_installed(module: str) -> bool:
    """Whether a library can be imported, without importing it."""
    if module in sys.modules:
        return sys.modules[module] is not None
    try:
        return find_spec(module) is not None
    except ImportError:  # of a finder that hides it
        return False


def missing_extra(module: str, extra: str) -> Any2VecError:
    """Make the error for a library that is not installed; `extra` is the extra of any2vec that installs it."""
    return Any2VecError(f"this needs {module}, which is not installed: {installing(extra, module)} (extra `{extra}`)")


def library(module: str, extra: str, package: str = "") -> Any:
    """Import a module of a library that an extra of any2vec installs."""
    try:
        return import_module(module)
    except ImportError:
        raise missing_extra(package or module.partition(".")[0], extra) from None


def installing(extra: str, module: str) -> str:
    """Return the command that installs what an extra needs; any2vec itself may come from a folder, not from PyPI."""
    from importlib.metadata import PackageNotFoundError, requires

    try:
        declared = requires("any2vec") or []
    except PackageNotFoundError:  # run from its sources
        declared = []
    return "pip install " + (" ".join(map(quote, _needed(declared, extra))) or module)


def _needed(declared: list[str], extra: str) -> list[str]:
    """Return the requirements of an extra, and of others of any2vec that it names."""
    needed: dict[str, None] = {}
    for requirement, _, marker in (line.partition(";") for line in declared):
        if re.search(rf"extra == ['\"]{extra}['\"]", marker):
            own = re.match(r"any2vec\[(.*)\]", requirement)
            for other in own[1].split(",") if own else ():
                needed |= dict.fromkeys(_needed(declared, other.strip()))
            needed |= {} if own else {requirement.strip(): None}
    return list(needed)


def shown(value: object) -> str:
    """Return a value's repr for a message: on one line, and short however large the value is."""
    try:
        return " ".join(reprlib.repr(value).split())
    except Exception:  # what a user's class may raise; Python shows no integer of thousands of digits
        return f"a value of type {type(value).__name__} that cannot be shown"


def counted(number: int, noun: str) -> str:
    """Return a number and what it is of, such as "1 round" or "1,000 rounds"."""
    return f"{number:,} {noun}{'s' * (number != 1)}"


def respelled(message: str, spelled: Callable[[str, str | None], str | None]) -> str:
    """Replace Python parameters in a message by what `spelled` makes of name and value, or leave them if None."""

    def replaced(found: re.Match[str]) -> str:
        name, value = found.groups()
        return spelled(name, value and value.strip("'")) or found[0]

    return _MARKED.sub(replaced, message)
