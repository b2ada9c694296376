"""Evaluation sets of words: read their lines, match words regardless of case."""

import codecs
from collections.abc import Iterable
from pathlib import Path

from any2vec.errors import Any2VecError, file_error, shown
from any2vec.io.inputs import HEAD, refuse, strip
from any2vec.vectors.lookup import Lookup

__all__ = ["fold", "folded_ids", "meant_word", "read_lines"]


def read_lines(path: Path, encoding: str = "utf-8") -> list[str]:
    """Read the lines of a file, stripped, without UTF-8's byte-order mark; errors name the line."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise file_error(f"{path}: cannot be read: {error.strerror or error}", error) from None
    refuse(content[:HEAD], path, "text")
    try:
        name = codecs.lookup(encoding).name
        text = content.decode("utf-8-sig" if name == "utf-8" else name)
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise Any2VecError(f"{path}, line {line:,}: not {name.upper()} text") from error
    except (LookupError, TypeError, ValueError):
        raise Any2VecError(f"`encoding` is {shown(encoding)}; a name such as 'utf-8' is expected") from None
    return [strip(line) for line in text.split("\n")]


def fold(word: str) -> str:
    """Map the spellings of a word in upper and lower case to one: upper case, as word2vec's compute-accuracy does."""
    return word.upper()


def folded_ids(words: Iterable[str]) -> dict[str, int]:
    """Map folded words to ids; of several words that fold to the same, the first (most frequent) wins."""
    ids: dict[str, int] = {}
    for i, word in enumerate(words):
        ids.setdefault(fold(word), i)
    return ids


def meant_word(word: str, vectors: Lookup, ids: dict[str, int], fold_case: bool = True) -> str | None:
    """Return the word that a set means: one of `ids`, else one that has a vector from its parts; None if there is none.

    If case does not count, `ids` are of folded words, and a word that is unknown is taken in lower case.
    """
    found = ids.get(fold(word) if fold_case else word)
    if found is not None:
        return vectors.words[found]
    spelt = word.lower() if fold_case else word
    return spelt if vectors.parts is not None and spelt in vectors else None
