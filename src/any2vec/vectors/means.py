"""Means of vectors: features of texts."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from any2vec.corpus.corpus import Corpus
from any2vec.corpus.raw_text import RawText
from any2vec.corpus.rows import sentences_of
from any2vec.errors import Any2VecError, shown
from any2vec.vectors.lookup import Lookup

__all__ = ["Means", "check_texts"]

_TEXTS = 1 << 10  # taken at a time


class Means(Lookup):
    """`means`."""

    def means(
        self, texts: Any, column: str | None = None, *, lowercase: bool = False, tokenize: bool = False
    ) -> NDArray[np.float32]:
        """Return the mean of the vectors of each text's words.

        Parameters
        ----------
        texts : iterable
            Lists of n tokens, or rows (dicts, a data frame, an Arrow table) with a `column`.
        column : str, optional
            The column of rows that holds texts, which are split at whitespace, or tokens.
        lowercase, tokenize : bool
            Whether texts and tokens are made lower case, and texts split into words and punctuation, as `Word2Vec`
            does with these parameters.

        Returns
        -------
        float32 array, shape (n, D)
            Words without a vector do not count; a text without any other has zeros. Unknown words that have a vector
            from their parts count.

        Raises
        ------
        Any2VecError
            If a text is no list of tokens, rows have no such column, or a vector is not finite.
        """
        check_texts(texts, column)
        raw = RawText(lowercase, tokenize and column is not None)
        listed, parts = _checked(sentences_of(texts, column, raw), raw), [np.zeros((0, self.dim), np.float32)]
        while some := list(islice(listed, _TEXTS)):
            parts.append(self._means(some))
        found = np.concatenate(parts)
        if not np.isfinite(found).all():
            raise Any2VecError("the vectors of some of the words are not finite: their mean would be none")
        return found

    def _means(self, texts: list[list[Any]]) -> NDArray[np.float32]:
        ids = self.vocabulary.ids
        tokens = [self._as_word(token) for token in chain.from_iterable(texts)]
        of = np.repeat(np.arange(len(texts)), list(map(len, texts)))
        rows = np.array([ids.get(token, -1) for token in tokens], np.int64)
        known = rows >= 0
        sums = np.zeros((len(texts), self.dim))
        np.add.at(sums, of[known], self.matrix[rows[known]])
        if self.parts is not None:
            others: dict[str, int] = {}
            places = np.flatnonzero(~known)
            numbers = np.array([others.setdefault(tokens[i], len(others)) for i in places], np.int64)
            made = self.parts.of(list(others))
            has = np.count_nonzero(made, axis=1)[numbers] > 0
            np.add.at(sums, of[places[has]], made[numbers[has]])
            known[places[has]] = True
        return np.asarray(sums / np.maximum(np.bincount(of[known], minlength=len(texts)), 1)[:, None], np.float32)


def check_texts(texts: Any, column: str | None) -> None:
    """Raise an error for what are no texts, as far as that is known without drawing them."""
    if isinstance(texts, str | bytes | Corpus) or hasattr(texts, "__fspath__") or not isinstance(texts, Iterable):
        raise Any2VecError(f"texts: lists of tokens are expected, not {shown(texts)}")
    if column is None and isinstance(texts, Sequence) and len(texts):
        _check_text(0, texts[0])


def _check_text(i: int, text: Any) -> None:
    if isinstance(text, str | bytes | Mapping) or not isinstance(text, Iterable):
        raise Any2VecError(
            f"text {i} is {shown(text)}; a list of tokens is expected: split it, or give rows with a `column`"
        )


def _checked(texts: Iterable[Any], raw: RawText) -> Iterator[list[Any]]:
    """Yield texts as lists of what words are looked up by."""
    for i, text in enumerate(texts):
        _check_text(i, text)
        tokens = list(text)
        for token in tokens:
            if not isinstance(token, str | Integral):
                raise Any2VecError(f"text {i} has the token {shown(token)}; strings or integers are expected")
        yield [*map(raw.token, tokens)]
