"""The parts of words that fastText knows, as the numbers of buckets: n-grams of characters, hashed.

Everything is as in fastText's `Dictionary::computeSubwords`, so that its models mean the same here.
"""

import operator
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from any2vec.errors import Any2VecError, shown
from any2vec.io.memory import available
from any2vec.io.shown import size
from any2vec.llvm.compiled import njit

__all__ = ["BUCKETS", "Subwords", "encoded_word"]

BUCKETS = 2_000_000
"""The usual number of buckets."""

_MOST = 2**31 - 1  # fastText counts in 32 bits
_OF_A_WORD = 1 << 24  # n-grams; of 3 to 6 characters, a word of 4 million has them
_BYTES = 16  # of memory for each in a list, and for its place
_LITTLE = 1 << 28
_LINE_END = "</s>"  # fastText's word for the end of a line has no parts
_OFFSET, _PRIME, _LOW = np.uint64(2166136261), np.uint64(16777619), np.uint64(0xFFFFFFFF)  # FNV-1a, 32 bits
_SIGN = np.uint64(0xFFFFFF00)


@dataclass(frozen=True)
class Subwords:
    """Which parts of a word count: the n-grams of ``<word>`` of `least` to `most` characters, hashed to buckets.

    Attributes
    ----------
    least, most : int
        Characters of the shortest and the longest n-grams, from 1 up; 3 and 6 are usual.
    buckets : int
        Numbers to which n-grams are hashed; those with the same number share a vector.

    Raises
    ------
    Any2VecError
        If `least` is above `most`, or a number is out of range.
    """

    least: int = 3
    most: int = 6
    buckets: int = BUCKETS

    def __post_init__(self) -> None:
        least, most, buckets = map(_whole, (self.least, self.most, self.buckets))
        if buckets is None or not 1 <= buckets <= _MOST:
            usual = f"from 1 to {_MOST:,} ({BUCKETS:,} is usual)"
            raise Any2VecError(f"`buckets` is {shown(self.buckets)}; it must be a whole number {usual}")
        if least is None or most is None or not 1 <= least <= most <= _MOST:
            raise _refused(f"{self.least}-{self.most}")
        for name, number in (("least", least), ("most", most), ("buckets", buckets)):
            object.__setattr__(self, name, number)

    @classmethod
    def parse(cls, lengths: object, buckets: int = BUCKETS) -> Self | None:
        """Return what "3-6" or (3, 6) says; None for "0", 0 and None: words have no parts."""
        if isinstance(lengths, cls):
            return lengths
        if lengths is None or (isinstance(lengths, int | str) and lengths in (0, "0")):
            return None
        if isinstance(lengths, str):
            found = re.fullmatch(r"\s*(\d{1,10})\s*-\s*(\d{1,10})\s*", lengths, re.ASCII)
            pair: list[Any] = [int(number) for number in found.groups()] if found else []
        else:
            listed = isinstance(lengths, Sequence) or (isinstance(lengths, np.ndarray) and lengths.ndim == 1)
            pair = list(lengths) if listed else []  # type: ignore[call-overload]
        numbers = [number for number in map(_whole, pair) if number is not None]
        if len(pair) != 2 or len(numbers) != 2 or not 1 <= numbers[0] <= numbers[1] <= _MOST:
            raise _refused(lengths)
        return cls(numbers[0], numbers[1], buckets)

    def lists(self, words: Sequence[str]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """List the buckets of the n-grams of each word, in fastText's order, repetitions included.

        Word i has ``buckets[bounds[i] : bounds[i + 1]]``; ``</s>`` has none. A surrogate of `surrogateescape` stands
        for a byte that is no UTF-8.
        """
        encoded = [b"" if word == _LINE_END else b"<%b>" % encoded_word(word) for word in words]
        starts = np.zeros(len(encoded) + 1, np.int64)
        np.cumsum([len(word) for word in encoded], out=starts[1:])
        text = np.frombuffer(b"".join(encoded), np.uint8)
        bounds = np.zeros(len(encoded) + 1, np.int64)
        _count(text, starts, self.least, self.most, bounds)
        self._check_number(bounds, words)
        found = np.empty(bounds[-1], np.int32)
        _list(text, starts, self.least, self.most, np.uint64(self.buckets), found)
        return bounds, found

    def _check_number(self, bounds: NDArray[np.int64], words: Sequence[str]) -> None:
        """Refuse what memory would not hold, before it is taken: numbers grow with the squares of lengths."""
        longest = int(np.diff(bounds).argmax()) if len(words) else 0
        if len(words) and (number := int(bounds[longest + 1] - bounds[longest])) > _OF_A_WORD:
            what = f"the word {shown(words[longest])} has {number:,} n-grams of {self} characters"
            raise Any2VecError(f"{what}, and at most {_OF_A_WORD:,} can be used: it is too long for such `subwords`")
        if (need := _BYTES * int(bounds[-1])) > _LITTLE and need > (has := available()):
            what = f"{len(words):,} words have {bounds[-1]:,} n-grams of {self} characters"
            raise Any2VecError(f"{what}, which take {size(need)}, and {size(has)} are free: give shorter `subwords`")

    def __str__(self) -> str:
        return f"{self.least}-{self.most}"


def encoded_word(word: str) -> bytes:
    """Return a word's bytes in a text: those that `surrogateescape` could not decode, as they were."""
    try:
        return word.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # another surrogate, of a user's own words
        return word.encode("utf-8", "surrogatepass")


def _whole(value: object) -> int | None:
    try:
        return None if isinstance(value, bool) else operator.index(value)  # type: ignore[arg-type]  # TypeError
    except TypeError:
        return None


def _refused(lengths: object) -> Any2VecError:
    right = "the fewest and the most characters of a part of a word, such as 3-6, in Python also (3, 6); 0 is no parts"
    return Any2VecError(f"`subwords` is {shown(lengths)}; it must be {right}")


@njit(nogil=True, cache=True)
def _count(
    text: NDArray[np.uint8], starts: NDArray[np.int64], least: int, most: int, bounds: NDArray[np.int64]
) -> None:
    """Write where the n-grams of each word end, in a list of all."""
    for word in range(starts.size - 1):
        characters = 0
        for at in range(starts[word], starts[word + 1]):
            characters += (text[at] & 0xC0) != 0x80
        listed = 0
        for n in range(least, min(most, characters) + 1):
            listed += characters - n + 1
        if least == 1 and characters:
            listed -= 2  # "<" and ">" alone are none
        bounds[word + 1] = bounds[word] + listed


@njit(nogil=True, cache=True)
def _list(
    text: NDArray[np.uint8],
    starts: NDArray[np.int64],
    least: int,
    most: int,
    buckets: np.uint64,
    found: NDArray[np.int32],
) -> None:
    """Write the buckets of the n-grams of all words, by their first character, then by length."""
    listed = 0
    for word in range(starts.size - 1):
        begin, stop = starts[word], starts[word + 1]
        for first in range(begin, stop):
            if (text[first] & 0xC0) == 0x80:
                continue
            hashed, at, n = _OFFSET, first, 1
            while at < stop and n <= most:
                hashed = _hash(hashed, text[at])
                at += 1
                while at < stop and (text[at] & 0xC0) == 0x80:
                    hashed = _hash(hashed, text[at])
                    at += 1
                if n >= least and not (n == 1 and (first == begin or at == stop)):
                    found[listed] = hashed % buckets
                    listed += 1
                n += 1


@njit(nogil=True, cache=True)
def _hash(hashed: np.uint64, byte: np.uint8) -> np.uint64:
    """Hash one more byte, taken as a signed one: fastText's models have been trained so."""
    signed = np.uint64(byte) | _SIGN if byte >= 128 else np.uint64(byte)
    return ((hashed ^ signed) * _PRIME) & _LOW
