"""Features of items, such as brands and categories: parts of tokens that are named (Vasile et al. 2016).

"Meta-Prod2Vec: product embeddings using side-information for recommendation". A feature is numbered by its place in
the sorted list of all names.
"""

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from itertools import chain
from numbers import Integral
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from any2vec.corpus.vocabulary import Vocabulary
from any2vec.errors import Any2VecError, counted, shown
from any2vec.io.compression import open_compressed
from any2vec.io.inputs import split
from any2vec.options import can_be_path

__all__ = ["Features"]


class Features:
    """Which features tokens have.

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
        """How many features there are: numbers are below."""
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
        """List the features of each of V tokens.

        Parameters
        ----------
        words : iterable of str
            The tokens, V in all; those that are not known have no features.

        Returns
        -------
        bounds : int64 array, shape (V + 1,)
            Token i has ``numbers[bounds[i] : bounds[i + 1]]``.
        numbers : int32 array
            Rising for each token.
        """
        places = np.fromiter((self._ids.get(word, -1) for word in words), np.int64)
        begins = self._bounds[places]
        sizes = np.where(places < 0, 0, self._bounds[places + 1] - begins)
        bounds = np.append(0, np.cumsum(sizes))
        at = np.arange(bounds[-1]) + np.repeat(begins - bounds[:-1], sizes)
        return bounds, self._listed[at]

    def check_known(self, vocabulary: Vocabulary, kind: str) -> str:
        """Say how many words of V have features, and how many tokens are not in V; raise an error if all are not.

        `kind` is what words are called: "words" or "vertices".
        """
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
