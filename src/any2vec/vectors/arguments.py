"""Arguments that a user passes, checked."""

import operator
import os
import re
from collections.abc import Collection
from numbers import Integral, Real
from pathlib import Path
from typing import Any

from any2vec.errors import Any2VecError, shown
from any2vec.options import can_be_path

__all__ = ["as_path", "as_word", "asked", "fraction", "of_integers", "whole_number"]


_INTEGER = re.compile(r"0|-?[1-9][0-9]*")


def as_path(path: object) -> Path:
    """Return a path that a user gave as a Path; refuse an empty one and what is no path."""
    name = os.fspath(path) if isinstance(path, str | os.PathLike) else None
    if not isinstance(name, str):
        raise Any2VecError(f"path: the name of a file or folder is expected, not {shown(path)}")
    if not can_be_path(name):
        raise Any2VecError(f"path: {shown(path)} is not the name of a file or folder")
    return Path(name)


def as_word(value: Any) -> Any:
    """Return an integer id as the word that it was in training; return anything else as it is."""
    return str(int(value)) if isinstance(value, Integral) and not isinstance(value, bool) else value


def of_integers(words: Collection[str]) -> bool:
    """Whether tokens were integers: all words are the digits of one, as `as_word` writes them."""
    return bool(words) and all(map(_INTEGER.fullmatch, words))


def asked(value: Any, integers: bool) -> Any:
    """Return what was asked for as a word; an integer only where tokens were integers, or it is meant as a row."""
    if integers or not isinstance(value, Integral) or isinstance(value, bool):
        return as_word(value)
    number = int(value)
    row = f", row {number} is `vectors.matrix[{number}]`" if number >= 0 else ""
    raise Any2VecError(
        f"{number} is an integer, and stands for a word only where all words are integers: "
        f"the word of its digits is {str(number)!r}{row}"
    )


def whole_number(name: str, value: object, least: int) -> int:
    """Return an argument as an int; refuse what is not a whole number from `least` up."""
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise Any2VecError(f"`{name}` is {shown(value)}; it must be a whole number from {least} up") from None
    if number < least:
        raise Any2VecError(f"`{name}` is {number:,}; it must be a whole number from {least} up")
    return number


def fraction(name: str, value: object, example: str) -> float:
    """Return an argument as a float; refuse what is not a number between 0 and 1, both excluded."""
    if not isinstance(value, Real):
        raise Any2VecError(f"{name}: {shown(value)} is not a number; {example}")
    if not 0 < float(value) < 1:
        raise Any2VecError(f"{name}: {float(value):g} is not between 0 and 1; {example}")
    return float(value)
