"""Connector words: what may stand inside a phrase, such as "of" in bank_of_america."""

from collections.abc import Collection
from numbers import Integral
from pathlib import Path
from typing import Any

from any2vec.errors import Any2VecError, MissingFileError, file_error, shown
from any2vec.io.compression import open_compressed
from any2vec.io.inputs import HEAD, refuse
from any2vec.options import can_be_path

__all__ = ["CONNECTORS", "check_connectors", "connectors_of", "named"]

_ENGLISH = "a an the for of with without at from to in on by and or"
CONNECTORS = {"english": tuple(_ENGLISH.split())}
"""Sets by name; `english` is gensim's ENGLISH_CONNECTOR_WORDS."""

_WAYS = f"{', '.join(map(repr, CONNECTORS))}, a file of words, or a list of words"


def check_connectors(given: Any) -> None:
    """Raise an error if this is neither the name of a set, nor a path, nor words; a file is not read."""
    if given is None or (isinstance(given, str | Path) and can_be_path(given)):
        return
    single = isinstance(given, str | bytes | bytearray | Path) or getattr(given, "shape", None) == ()
    if single or not isinstance(given, Collection):
        raise Any2VecError(f"`connector_words` is {shown(given)}; it must be {_WAYS}")
    for word in given:
        if not _is_word(_spelt(word)):
            raise Any2VecError(f"`connector_words` has {shown(word)}; each must be a word, a str without whitespace")


def connectors_of(given: Any) -> tuple[str, ...]:
    """Return the words of a set, of a file, or that are given, each once."""
    if given is None:
        return ()
    if isinstance(given, str | Path):
        return CONNECTORS.get(str(given)) or tuple(dict.fromkeys(_read(Path(given))))
    words = dict.fromkeys(map(_spelt, given))
    return tuple(sorted(words) if isinstance(given, set | frozenset) else words)


def named(words: tuple[str, ...]) -> str | list[str]:
    """Return the name of the set that has these words, else a list of them."""
    return next((name for name, known in CONNECTORS.items() if set(known) == set(words)), list(words))


def _spelt(word: Any) -> Any:
    """Return an integer as its digits, as tokens are."""
    return str(int(word)) if isinstance(word, Integral) and not isinstance(word, bool) else word


def _is_word(word: object) -> bool:
    return isinstance(word, str) and word.split() == [word] and word.isprintable()


def _read(path: Path) -> list[str]:
    try:
        with open_compressed(path) as stream:
            data = stream.read()
    except MissingFileError as error:
        raise file_error(f"{error}; `connector_words` must be {_WAYS}", error) from None
    refuse(data[:HEAD], path, "text")
    try:
        words = data.decode("utf-8-sig").split()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise Any2VecError(f"{path}, line {line:,}: not UTF-8 text") from error
    if not words:
        raise Any2VecError(f"{path}: has no word; a file of connector words has some, separated by whitespace")
    return words
