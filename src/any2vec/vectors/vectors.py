"""Vectors: words, their embeddings, and nearest neighbours."""

import difflib
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import islice
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from any2vec.corpus.vocabulary import Vocabulary
from any2vec.errors import Any2VecError, shown
from any2vec.io.finite import blocks, check_finite
from any2vec.vectors.arguments import as_word, whole_number
from any2vec.vectors.search import nearest

__all__ = ["NEGATIVE", "Query", "Similar", "Vectors", "check_vectors"]

NEGATIVE = "negative"
"""The usual loss: negative sampling."""

COMPARED = 50_000  # most frequent words that an unknown one is compared with: a fraction of a second

Query: TypeAlias = str | NDArray[np.float32]
"""A word, or a vector of shape (D,)."""

Similar: TypeAlias = list[tuple[str, float]]
"""Words with their cosines, nearest first, ties in the order of their ids."""


class Vectors:
    """The embedding of each word of a vocabulary.

    Parameters
    ----------
    vocabulary : Vocabulary or sequence of str
        The words in the order of their ids, length V.
    matrix : float32 array, shape (V, D)
        The embedding vectors e. Not copied; a view of a padded buffer or a read-only memory map will do.
    counts : int64 array, shape (V,), optional
        How often each word occurs, if `vocabulary` is a sequence of words. Zeros (unknown) by default.
    t : float32 array, shape (V, D), optional
        The training vectors, for further training or to predict contexts.
    loss : str
        The loss that `t` was trained with.

    Raises
    ------
    Any2VecError
        If the shapes do not fit or a word occurs twice.

    Examples
    --------
    >>> vectors = Vectors(["north", "south"], np.eye(2, dtype=np.float32))
    >>> vectors.most_similar("north")
    [('south', 0.0)]
    """

    def __init__(
        self,
        vocabulary: Vocabulary | Sequence[str],
        matrix: NDArray[np.float32],
        *,
        counts: NDArray[np.int64] | None = None,
        t: NDArray[np.float32] | None = None,
        loss: str = NEGATIVE,
    ) -> None:
        if not isinstance(vocabulary, Vocabulary):
            if isinstance(vocabulary, str) or not isinstance(vocabulary, Collection):
                raise Any2VecError(f"vocabulary: a sequence of words is expected, not {shown(vocabulary)}")
            known = np.zeros(len(vocabulary), np.int64) if counts is None else np.asarray(counts, np.int64)
            vocabulary = Vocabulary(vocabulary, known)
        self.vocabulary = vocabulary
        """The words, their counts (zeros: unknown) and ids."""
        self.matrix = _read_only(matrix)
        """The embedding vectors e, float32, shape (V, D), read-only."""
        self.t = None if t is None else _read_only(t)
        """The training vectors, float32, shape (V, D), read-only; or None."""
        self.loss = loss
        """The loss that `t` was trained with."""
        self._check_shapes()

    def _check_shapes(self) -> None:
        number = len(self.vocabulary)
        if self.matrix.ndim != 2 or len(self.matrix) != number:
            raise Any2VecError(f"{number} words do not fit a matrix of shape {self.matrix.shape}")
        if len(self.counts) != number:
            raise Any2VecError(f"{number} words do not fit {len(self.counts)} counts")
        if self.t is not None and self.t.shape != self.matrix.shape:
            raise Any2VecError(f"t of shape {self.t.shape} does not fit e of shape {self.matrix.shape}")
        if len(self.vocabulary.ids) != number:
            twice = next(w for i, w in enumerate(self.words) if self.vocabulary.ids[w] != i)
            raise Any2VecError(f"the word {twice!r} occurs twice; a word has one vector")

    @property
    def words(self) -> Sequence[str]:
        """Word of each id, length V."""
        return self.vocabulary.words

    @property
    def counts(self) -> NDArray[np.int64]:
        """How often each word occurs in the corpus, shape (V,); zeros if unknown."""
        return self.vocabulary.counts

    @property
    def dim(self) -> int:
        """D, the number of dimensions."""
        return int(self.matrix.shape[1])

    @cached_property
    def norms(self) -> NDArray[np.float32]:
        """Euclidean norm of each row, shape (V,), computed on first use.

        Raises
        ------
        Any2VecError
            If a row is not finite; the word is named.
        """
        norms = np.empty(len(self), np.float32)
        for block in blocks(self.matrix):
            rows = self.matrix[block]
            norms[block] = np.sqrt(np.einsum("ij,ij->i", rows, rows, dtype=np.float64))
        if not np.isfinite(norms).all():
            check_finite(self.words, self.matrix)
        return norms

    def __len__(self) -> int:
        return len(self.vocabulary)

    def __iter__(self) -> Iterator[str]:
        return iter(self.words)

    def __contains__(self, word: object) -> bool:
        return as_word(word) in self.vocabulary.ids

    def __getitem__(self, key: str | int | Sequence[str | int]) -> NDArray[np.float32]:
        """Look up a word, giving shape (D,), or a list of n words, giving shape (n, D)."""
        if isinstance(key, Iterable) and not isinstance(key, str):
            found: NDArray[np.float32] = self.matrix[[self.id(word) for word in key]]
        else:
            found = self.matrix[self.id(key)]
        return found

    def __repr__(self) -> str:
        return f"<Vectors: {len(self):,} words of {self.dim} dimensions>"

    def id(self, word: str | int) -> int:
        """Return the id of a word, its row in the matrix; an integer stands for its digits, as in training.

        Raises
        ------
        Any2VecError
            If the word is unknown; the error names words spelt similarly.
        """
        word = as_word(word)
        found = self.vocabulary.ids.get(word) if isinstance(word, str) else None
        if found is None:
            raise _unknown_word(word, self.vocabulary)
        return found

    def most_similar(
        self,
        positive: Query | Sequence[Query],
        negative: Query | Sequence[Query] = (),
        topn: int = 10,
        *,
        restrict: int | None = None,
    ) -> Similar:
        """Find the words nearest to the mean of the positive inputs and the negated negative ones.

        As in gensim, inputs are normalised to unit length first, and input words are no answers.

        Parameters
        ----------
        positive, negative : str, vector of shape (D,), or a sequence of these
            What the answers should be near to, and far from.
        topn : int
            How many answers.
        restrict : int, optional
            Search only this many words, the most frequent ones.

        Returns
        -------
        list of (str, float)
            Words and cosines, nearest first, ties in the order of ids.

        Raises
        ------
        Any2VecError
            If a word is unknown, an argument is invalid, or there is no input.
        """
        wanted, unwanted = _listed(as_word(positive)), _listed(negative)
        if not wanted and not unwanted:
            raise Any2VecError("most_similar needs at least one word or vector")
        mean = np.zeros(self.dim, np.float32)
        for query in wanted:
            mean += self._unit(query)
        for query in unwanted:
            mean -= self._unit(query)
        own = [self.id(query) for query in wanted + unwanted if isinstance(query, str)]
        return self._nearest(mean[None], np.array([own], np.int64), topn, restrict)[0]

    def most_similar_batch(
        self, queries: Sequence[Query], topn: int = 10, *, restrict: int | None = None
    ) -> list[Similar]:
        """Find the words nearest to each of many words or vectors.

        Much faster than one at a time: queries are multiplied with blocks of the matrix, in 64 MiB of memory.

        Parameters
        ----------
        queries : sequence of str or of vectors of shape (D,), or array of shape (Q, D)
            Each is answered on its own.
        topn : int
            How many answers for each.
        restrict : int, optional
            Search only this many words, the most frequent ones.

        Returns
        -------
        list of list of (str, float)
            For each query what `most_similar` returns.

        Raises
        ------
        Any2VecError
            If a word is unknown or an argument is invalid.
        """
        asked = _listed(queries)
        rows = np.empty((len(asked), self.dim), np.float32)
        for row, query in zip(rows, asked, strict=True):
            row[:] = self._unit(query)
        own = [[self.id(query) if isinstance(query, str) else -1] for query in asked]
        return self._nearest(rows, np.array(own, np.int64).reshape(len(asked), 1), topn, restrict)

    def similarity(self, a: Query, b: Query) -> float:
        """Return the cosine of two words or vectors of shape (D,), from -1 to 1; 0 if either vector is zero.

        Raises
        ------
        Any2VecError
            If a word is unknown.
        """
        return float(np.dot(self._unit(a), self._unit(b)))

    def analogy(self, a: str, b: str, c: str, topn: int = 10, *, restrict: int | None = None) -> Similar:
        """Answer "a is to b as c is to ?" by the words nearest to b - a + c (3CosAdd).

        Parameters
        ----------
        a, b, c : str
            Such as "man", "king", "woman".
        topn : int
            How many answers.
        restrict : int, optional
            Search only this many words, the most frequent ones.

        Returns
        -------
        list of (str, float)
            Words and cosines, nearest first.

        Raises
        ------
        Any2VecError
            If a word is unknown or an argument is invalid.
        """
        return self.most_similar([b, c], [a], topn, restrict=restrict)

    def _unit(self, query: Query) -> NDArray[np.float32]:
        query = as_word(query)
        try:
            vector = self[query] if isinstance(query, str) else np.asarray(query, np.float32)
        except (TypeError, ValueError):
            vector = np.empty((), np.float32)
        if vector.ndim == 0:
            raise Any2VecError(f"a word or a vector is expected, not {shown(query)}")
        if vector.shape != (self.dim,):
            raise Any2VecError(f"a vector of shape {vector.shape} does not have {self.dim} dimensions")
        if not np.isfinite(vector).all():
            what = f"the vector of {query!r}" if isinstance(query, str) else "the query vector"
            raise Any2VecError(f"{what} is not finite")
        norm = np.sqrt(np.einsum("i,i->", vector, vector, dtype=np.float64))
        return vector if norm == 0 else (vector / norm).astype(np.float32)

    def _nearest(
        self, queries: NDArray[np.float32], own: NDArray[np.int64], topn: int, restrict: int | None
    ) -> list[Similar]:
        topn = whole_number("topn", topn, 0)
        last = None if restrict is None else whole_number("restrict", restrict, 1)
        if topn == 0:
            return [[] for _ in queries]
        ids, cosines = nearest(self.matrix[:last], self.norms[:last], queries, topn, own)
        return [
            [(self.words[i], float(cosine)) for i, cosine in zip(*row, strict=True) if i >= 0]
            for row in zip(ids, cosines, strict=True)
        ]


def check_vectors(value: object) -> None:
    """Refuse anything but Vectors, such as the estimator that has them."""
    if not isinstance(value, Vectors):
        hint = "; an estimator has them as vectors_" if hasattr(value, "fit") else ""
        raise Any2VecError(f"vectors: Vectors are expected, not {type(value).__name__}{hint}")


def _read_only(matrix: NDArray[np.float32]) -> NDArray[np.float32]:
    try:
        view = np.asarray(matrix, np.float32).view()
    except (TypeError, ValueError):
        raise Any2VecError(f"the matrix is not an array of numbers: {shown(matrix)}") from None
    view.flags.writeable = False
    return view


def _listed(queries: Query | Sequence[Query]) -> list[Query]:
    if isinstance(queries, str) or (isinstance(queries, np.ndarray) and queries.ndim == 1):
        return [queries]
    if not isinstance(queries, Iterable) or (isinstance(queries, np.ndarray) and queries.ndim == 0):
        raise Any2VecError(f"a word, a vector or a sequence of these is expected, not {shown(queries)}")
    return [as_word(query) for query in queries]


def _unknown_word(word: object, vocabulary: Vocabulary) -> Any2VecError:
    """Return the error for a word without a vector, with words spelt similarly."""
    if not isinstance(word, str):
        return Any2VecError(f"a word is expected, not {shown(word)}")
    alike = [w for w in (word.lower(), word.upper(), word.title(), word.strip()) if w in vocabulary.ids]
    near = [w for w in islice(vocabulary.words, COMPARED) if abs(len(w) - len(word)) <= 2]
    alike += difflib.get_close_matches(word, near, n=3, cutoff=0.7)
    message = f"no vector for {word!r}"
    if alike:
        message += "; did you mean " + ", ".join(repr(w) for w in dict.fromkeys(alike)) + "?"
    return Any2VecError(message)
