"""Documents: which lines of a text, or items of a program's, the sentences of W are, and what they are called."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from any2vec.errors import Any2VecError, shown

__all__ = ["Documents", "Tags", "taken_apart"]


@dataclass(frozen=True, eq=False)
class Documents:
    """The documents that have a word of V: each is a sentence of W.

    Attributes
    ----------
    lines : int64 array, shape (n,)
        Number, from 1, of the line, row or item that each sentence held here is, among those that this process read.
    first : int
        Sentences of W before those held here.
    before : int
        Lines, rows or items before those that this process read.
    number : int
        Lines, rows or items in all: those that are no sentence have no word of V.
    tags : list of str
        The names of all items that this process read; empty if they have none, and so their numbers.
    """

    lines: NDArray[np.int64]
    first: int
    before: int
    number: int
    tags: Sequence[str] = field(default=(), repr=False)

    def names(self, low: int, high: int) -> list[str]:
        """Return the names of sentences low..high-1 of W."""
        lines = self.lines[low - self.first : high - self.first]
        if self.tags:
            return [self.tags[line - 1] for line in lines.tolist()]
        return list(map(str, (lines + self.before).tolist()))


class Tags:
    """The tags of items, of which all have one or none has.

    Attributes
    ----------
    names : list of str
        In the order of the items.
    """

    def __init__(self) -> None:
        self.names: list[str] = []
        self._items: dict[str, int] = {}

    def take(self, i: int, item: Any) -> Any:
        """Keep the tag of item `i`, and return its tokens."""
        tag, tokens = taken_apart(i, item)
        if i and (tag is None) == bool(self.names):
            has, others = ("no tag", "have one") if tag is None else (f"the tag {tag!r}", "have none")
            raise Any2VecError(f"item {i} has {has}, and those before {others}; give all documents a tag, or none")
        if tag is not None:
            if (first := self._items.setdefault(tag, i)) != i:
                twice = f"items {first} and {i} both have the tag {shown(tag)}"
                raise Any2VecError(f"{twice}; a tag is the name of one document: give each its own")
            self.names.append(tag)
        return tokens


def taken_apart(i: int, item: Any) -> tuple[str | None, Any]:
    """Return the tag and the tokens of item `i`: tokens alone, (tag, tokens), or a TaggedDocument of gensim's."""
    if hasattr(item, "words") and hasattr(item, "tags"):
        return _tag(i, item.tags), item.words
    if isinstance(item, tuple) and len(item) == 2:
        if isinstance(item[1], str):  # of one word, it could be the second of two tokens
            expected = "a list of its words, (tag, tokens), or a list of tokens is expected"
            raise Any2VecError(f"item {i} is {shown(item)}, a pair with the text {shown(item[1])}; {expected}")
        if not isinstance(item[1], bytes | Integral):
            return _tag(i, item[0]), item[1]
    return None, item


def _tag(i: int, given: Any) -> str:
    """Return a tag, which may be the only one of a list; integers stand for their digits, as tokens do."""
    if isinstance(given, list | tuple | set | frozenset):
        if len(given) != 1:
            has = f"{len(given)} tags, {shown(given)}" if given else "no tag"
            raise Any2VecError(f"item {i} has {has}; a document has one, the name of its vector")
        (given,) = given
    if isinstance(given, str):
        return given
    if isinstance(given, Integral) and not isinstance(given, bool):
        return str(int(given))
    raise Any2VecError(f"item {i} has the tag {shown(given)}; a string or an integer is expected")
