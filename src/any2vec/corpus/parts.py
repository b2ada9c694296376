"""Words with parts: n-grams of characters, as in fastText, and features of items, such as brands; and the rows of e.

The vector of a word with parts is the mean of several rows: a row of its own, and those of its parts. Parts are n-grams
(Bojanowski et al. 2017, "Enriching word vectors with subword information", section 3.2), features, or what an operator
of a user makes of a word.
"""

import hashlib
import json
import operator
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from numbers import Integral
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from any2vec.corpus.vocabulary import LINE_END, Vocabulary
from any2vec.errors import Any2VecError, counted, shown
from any2vec.io.compression import open_compressed
from any2vec.io.inputs import split
from any2vec.io.memory import available, size
from any2vec.llvm.compiled import njit
from any2vec.options import can_be_path

_FEW = 1 << 22  # numbers of which each may have an entry in a table, whatever is listed


@dataclass(frozen=True, eq=False)
class WordRows:
    """The rows of e that make each word's vector: V rows of words and P rows of parts, the most frequent ones first."""

    bounds: NDArray[np.int64]  # word w has the rows ``rows[bounds[w] : bounds[w + 1]]``
    rows: NDArray[np.int32]  # each word's own row first, then those of its parts, as often as it has them
    ids: NDArray[np.int64]  # rising numbers of the P parts that words have
    parts: NDArray[np.int32]  # row of each part

    @classmethod
    def of(
        cls, counts: NDArray[np.int64], bounds: NDArray[np.int64], parts: Sequence[int] | NDArray[np.integer]
    ) -> Self:
        """Give rows to words that have the parts ``parts[bounds[w] : bounds[w + 1]]``, by the counts of words."""
        ids, listed = _numbered(parts)
        used = np.bincount(listed, np.repeat(counts.astype(np.float64), np.diff(bounds)), len(ids))
        places = np.flatnonzero(np.bincount(listed, minlength=len(ids)))
        every = np.concatenate([counts, used[places]])
        numbers = np.empty(len(every), np.int32)
        numbers[np.argsort(-every, kind="stable")] = np.arange(len(every), dtype=np.int32)
        own, of_parts = np.split(numbers, [len(counts)])
        at = np.empty(len(ids), np.int32)
        at[places] = of_parts
        rows = np.insert(at[listed], bounds[:-1], own)
        return cls(bounds + np.arange(len(bounds)), rows, ids[places], of_parts)

    @property
    def own(self) -> NDArray[np.int32]:
        """The row of each word's own; shape (V,)."""
        return self.rows[self.bounds[:-1]]

    @property
    def number(self) -> int:
        """V + P, the rows of e."""
        return len(self.bounds) - 1 + len(self.ids)

    @property
    def nbytes(self) -> int:
        """Bytes of the lists."""
        return sum(one.nbytes for one in vars(self).values() if isinstance(one, np.ndarray))

    @property
    def most(self) -> int:
        """Rows of the word that has most."""
        return int(np.diff(self.bounds).max())

    def of_words(self, places: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return what words have, for the rows of their own, and -1 for others; shape (V,) to shape (V + P,)."""
        found = np.full(self.number, -1, np.int32)
        found[self.own] = places
        return found

    def visits(self, of_words: NDArray[np.float64]) -> float:
        """Return how often an epoch meets a row, in the mean over rows, if it meets words so often."""
        met = self.spread(of_words)
        return float(met.sum()) / max(len(met), 1)

    def spread(self, of_words: NDArray[np.float64]) -> NDArray[np.float64]:
        """Sum up, for each row of e, what words have of something; shape (V,) to shape (V + P,)."""
        weights = np.repeat(np.asarray(of_words, np.float64), np.diff(self.bounds))
        return np.bincount(self.rows, weights, self.number).astype(np.float64, copy=False)

    def shares(self, counts: NDArray[np.float64], words: float = 1.0) -> NDArray[np.float64]:
        """Return a row's share of so many words: 1/n, if they have n rows, in the mean over words by their counts."""
        sizes = np.diff(self.bounds)
        others = (words - 1.0) * np.average(sizes, weights=counts)
        return self.spread(counts / (sizes + others)) / self.spread(counts)


def _numbered(parts: Sequence[int] | NDArray[np.integer]) -> tuple[NDArray[np.int64], NDArray[np.integer]]:
    """Return numbers, rising, and the place among them of each part: the parts themselves, unless these are sparse."""
    listed = parts if isinstance(parts, np.ndarray) and parts.dtype == np.int32 else np.asarray(parts, np.int64)
    if not len(listed):
        return np.empty(0, np.int64), listed
    if listed.min() >= 0 and listed.max() < max(_FEW, len(listed)):
        return np.arange(int(listed.max()) + 1), listed
    found, places = np.unique(np.asarray(listed, np.int64), return_inverse=True)
    return found, places


BUCKETS = 2_000_000
"""The usual number of buckets."""

_MOST = 2**31 - 1  # fastText counts in 32 bits
_OF_A_WORD = 1 << 24  # n-grams; of 3 to 6 characters, a word of 4 million has them
_BYTES = 16  # of memory for each in a list, and for its place
_LITTLE = 1 << 28
HASH = np.uint64(2166136261)  # of nothing
_PRIME, _LOW = np.uint64(16777619), np.uint64(0xFFFFFFFF)  # FNV-1a, 32 bits
_SIGN = np.uint64(0xFFFFFF00)


@dataclass(frozen=True)
class Subwords:
    """The parts of a word that count: the n-grams of ``<word>`` of `least` to `most` characters, hashed to buckets.

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
        buckets = _whole(self.buckets)
        if buckets is None or not 1 <= buckets <= _MOST:
            usual = f"from 1 to {_MOST:,} ({BUCKETS:,} is usual)"
            raise Any2VecError(f"`buckets` is {shown(self.buckets)}; it must be a whole number {usual}")
        least, most = _lengths((self.least, self.most), (self.least, self.most))
        for name, number in (("least", least), ("most", most), ("buckets", buckets)):
            object.__setattr__(self, name, number)

    @classmethod
    def parse(cls, lengths: object, buckets: int = BUCKETS) -> Self | None:
        """Return what "3-6" or (3, 6) says; None for "0", 0 and None: words have no parts."""
        if isinstance(lengths, cls):
            return lengths
        if lengths is None or (isinstance(lengths, int | str) and lengths in (0, "0")):
            return None
        pair: list[Any] = []
        if isinstance(lengths, str):
            if found := re.fullmatch(r"\s*(\d{1,10})\s*-\s*(\d{1,10})\s*", lengths, re.ASCII):
                pair = list(map(int, found.groups()))
        elif isinstance(lengths, Sequence) or (isinstance(lengths, np.ndarray) and lengths.ndim == 1):
            pair = list(lengths)
        return cls(*_lengths(pair, lengths), buckets)

    def lists(self, words: Sequence[str]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """List buckets of n-grams, in fastText's order: word i has ``buckets[bounds[i] : bounds[i + 1]]``."""
        encoded = [b"" if word == LINE_END else b"<%b>" % encoded_word(word) for word in words]
        text, starts = joined_words(encoded)
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


def joined_words(encoded: Sequence[bytes]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return words one after the other, and where each begins and the last one ends."""
    starts = np.zeros(len(encoded) + 1, np.int64)
    np.cumsum([len(word) for word in encoded], out=starts[1:])
    return np.frombuffer(b"".join(encoded), np.uint8), starts


def _whole(value: object) -> int | None:
    try:
        return None if isinstance(value, bool) else operator.index(value)  # type: ignore[arg-type]  # TypeError
    except TypeError:
        return None


def _lengths(pair: Sequence[Any], given: object) -> tuple[int, int]:
    """Return the fewest and the most characters; refuse others, as they were given."""
    least, most = map(_whole, pair) if len(pair) == 2 else (None, None)
    if least is None or most is None or not 1 <= least <= most <= _MOST:
        right = "the fewest and the most characters of a part of a word, such as 3-6"
        raise Any2VecError(f"`subwords` is {shown(given)}; it must be {right}, in Python also (3, 6); 0 is no parts")
    return least, most


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
            hashed, at, n = HASH, first, 1
            while at < stop and n <= most:
                hashed = hash_more(hashed, text[at])
                at += 1
                while at < stop and (text[at] & 0xC0) == 0x80:
                    hashed = hash_more(hashed, text[at])
                    at += 1
                if n >= least and not (n == 1 and (first == begin or at == stop)):
                    found[listed] = hashed % buckets
                    listed += 1
                n += 1


@njit(inline="always")
def hash_more(hashed: Any, byte: Any) -> Any:
    """Hash one more byte, taken as a signed one: fastText's models have been trained so."""
    signed = np.uint64(byte) | _SIGN if byte >= 128 else np.uint64(byte)
    return ((hashed ^ signed) * _PRIME) & _LOW


class Features:
    """The features that tokens have.

    Parameters
    ----------
    given : mapping of str to a list of str
        The features of tokens, each a name without ASCII whitespace; what is given twice counts once. An integer token
        is its digits.

    Attributes
    ----------
    names : tuple of str
        All features, sorted: number i is ``names[i]``.
    tokens : tuple of str
        All tokens with features, sorted.
    where : str
        What gave them, for messages.

    Raises
    ------
    Any2VecError
        If this is no such mapping, or no token has a feature.
    """

    def __init__(self, given: Mapping[str, Iterable[str]]) -> None:
        if not isinstance(given, Mapping):
            right = 'a dict of lists, such as {"token": ["brand=x"]}, or a file of them'
            raise Any2VecError(f"`features` is {shown(given)}; it must be {right}")
        self._fill(_checked(given.items()), "`features`")

    @classmethod
    def parse(cls, given: object) -> Self | None:
        """Return the features of a mapping or a file; None for None."""
        if given is None or isinstance(given, cls):
            return given
        if isinstance(given, str | os.PathLike):
            if not can_be_path(given):
                raise Any2VecError(f"`features` is {shown(given)}; the name of a file is expected")
            return cls.read(Path(given))
        return cls(given)  # type: ignore[arg-type]  # checked there

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read lines of a token, a tab, and features with spaces between them; compressed if the name says so."""
        found = cls.__new__(cls)
        with open_compressed(path) as stream:
            found._fill(_lines(path, stream), str(path))
        return found

    def _fill(self, given: Iterable[tuple[str, list[str]]], where: str) -> None:
        of = {token: features for token, features in given if features}
        if not of:
            raise Any2VecError(f"{where}: no token has a feature; iterators and pipes can be read once only")
        self.where = where
        self.tokens, self.names = tuple(sorted(of)), tuple(sorted(set(chain.from_iterable(of.values()))))
        lists = [sorted({self.numbers[name] for name in of[token]}) for token in self.tokens]
        self._bounds = np.cumsum([0, *map(len, lists)])
        self._listed = np.fromiter(chain.from_iterable(lists), np.int32, self._bounds[-1])

    @classmethod
    def from_json(cls, content: Any) -> Self:
        """Return what `as_json` has made; raise KeyError, TypeError, IndexError or Any2VecError for anything else."""
        names = content["names"]
        found = cls({token: [names[number] for number in numbers] for token, numbers in content["tokens"].items()})
        if found.as_json() != content:  # rows of features would be those of others
            raise Any2VecError("features in another order")
        return found

    def as_json(self) -> dict[str, Any]:
        """Return these as JSON can hold them."""
        lists = (part.tolist() for part in np.split(self._listed, self._bounds[1:-1]))
        return {"names": list(self.names), "tokens": dict(zip(self.tokens, lists, strict=True))}

    @property
    def buckets(self) -> int:
        """The number of features: numbers are below."""
        return len(self.names)

    @cached_property
    def numbers(self) -> dict[str, int]:
        """The number of each feature."""
        return {name: number for number, name in enumerate(self.names)}

    @cached_property
    def _ids(self) -> dict[str, int]:
        return {token: i for i, token in enumerate(self.tokens)}

    @cached_property
    def digest(self) -> str:
        """Hash of all tokens and their features."""
        return hashlib.sha256(json.dumps(self.as_json()).encode()).hexdigest()

    def lists(self, words: Iterable[str]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """List the numbers of features, rising: token i has ``numbers[bounds[i] : bounds[i + 1]]``."""
        places = np.fromiter((self._ids.get(word, -1) for word in words), np.int64)
        begins = self._bounds[places]
        sizes = np.where(places < 0, 0, self._bounds[places + 1] - begins)
        bounds = np.append(0, np.cumsum(sizes))
        at = np.arange(bounds[-1]) + np.repeat(begins - bounds[:-1], sizes)
        return bounds, self._listed[at]

    def check_known(self, vocabulary: Vocabulary, kind: str) -> str:
        """Say how many words (`kind`) of V have features, and how many tokens are not in V; raise if none is."""
        unknown = sum(token not in vocabulary.ids for token in self.tokens)
        known = len(self.tokens) - unknown
        if not known:
            has = f"{self.where}: has {counted(unknown, 'token')}, such as {shown(self.tokens[0])}"
            raise Any2VecError(f"{has}; none is among the {len(vocabulary):,} {kind}")
        said = f"{known:,} of {len(vocabulary):,} {kind} have features, of {len(self.names):,} in all"
        return f"{said}; {counted(unknown, 'token')} with features not in the data" if unknown else said

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Features) and (self is other or self.digest == other.digest)

    def __hash__(self) -> int:
        return hash(self.digest)

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """Return these themselves, which cannot change."""
        return self

    def __repr__(self) -> str:
        return f"<Features: {len(self.names):,} of {len(self.tokens):,} tokens, sha256 {self.digest[:16]}>"


def _checked(items: Iterable[tuple[Any, Any]]) -> Iterator[tuple[str, list[str]]]:
    """Yield tokens and lists of features; refuse what is not text."""
    seen = set()
    for given, features in items:
        token = str(int(given)) if isinstance(given, Integral) and not isinstance(given, bool) else given
        if not isinstance(token, str):
            raise Any2VecError(f"`features` has the token {shown(token)}; a string is expected")
        if isinstance(features, str | bytes | Mapping) or not isinstance(features, Iterable):
            raise Any2VecError(f"`features` of {shown(token)} are {shown(features)}; a list of strings is expected")
        listed = list(features)
        for name in listed:
            if not isinstance(name, str) or split(name) != [name]:
                right = "a string without whitespace is expected"
                raise Any2VecError(f"`features` of {shown(token)} have {shown(name)}; {right}")
        if token in seen:
            raise Any2VecError(f"`features` has the token {shown(token)} as a string and as an integer; give one")
        seen.add(token)
        yield str(token), [str(name) for name in listed]


def _lines(path: Path, stream: Iterable[bytes]) -> Iterator[tuple[str, list[str]]]:
    """Yield the tokens and features of a file's lines; empty lines are skipped."""
    seen: dict[str, int] = {}
    for number, line in enumerate(stream, 1):
        where = f"{path}: line {number:,}"
        try:
            text = line.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n")
        except UnicodeDecodeError:
            raise Any2VecError(f"{where}: not UTF-8") from None
        token, tab, features = text.partition("\t")
        if not text:
            continue
        if not tab or not token:
            what = "no tab" if not tab else "no token before the tab"
            raise Any2VecError(f"{where}: {what} in {shown(text)}; a token, a tab, and its features are expected")
        if token in seen:
            raise Any2VecError(f"{where}: the token {shown(token)} is in line {seen[token]:,}, too; give it one line")
        seen[token] = number
        yield token, split(features)
