"""The words nearest to words and vectors, by cosine."""

import sys
from collections.abc import Callable, Iterable, Sequence
from numbers import Real
from typing import Any, Protocol, TypeAlias, overload

import numpy as np
from numpy.typing import NDArray

from any2vec.errors import Any2VecError, shown
from any2vec.options import whole_number
from any2vec.vectors.index import Index
from any2vec.vectors.lookup import Lookup, Query
from any2vec.vectors.search import cosines_of, nearest

Queries: TypeAlias = Query | Sequence[Query | tuple[Query, float]]
"""A word or vector, or a sequence of these, each alone or with its weight."""

Similar: TypeAlias = list[tuple[str, float]]
"""Words with their cosines, nearest first, ties in the order of their ids."""

_AsWord: TypeAlias = Callable[[Any], Any]
"""Returns an integer as the word it stands for, or raises an error; returns anything else as it is."""


class _Indexer(Protocol):
    """Finds the words nearest to a vector: an `Index`, or an indexer of gensim."""

    def most_similar(self, vector: NDArray[np.float32], topn: int, /) -> Similar:
        """Return words with their scores, the best first."""


class Neighbours(Lookup):
    """Nearest words, and analogies."""

    @overload
    def most_similar(
        self,
        positive: Queries | None = None,
        negative: Queries | None = None,
        topn: int = 10,
        clip_start: int = 0,
        clip_end: int | None = None,
        restrict_vocab: int | None = None,
        indexer: "_Indexer | None" = None,
        *,
        restrict: int | None = None,
        index: "_Indexer | None" = None,
    ) -> Similar: ...
    @overload
    def most_similar(
        self,
        positive: Queries | None = None,
        negative: Queries | None = None,
        *,
        topn: None,
        clip_start: int = 0,
        clip_end: int | None = None,
        restrict_vocab: int | None = None,
        restrict: int | None = None,
    ) -> NDArray[np.float32]: ...
    def most_similar(
        self,
        positive: Queries | None = None,
        negative: Queries | None = None,
        topn: int | None = 10,
        clip_start: int = 0,
        clip_end: int | None = None,
        restrict_vocab: int | None = None,
        indexer: "_Indexer | None" = None,
        *,
        restrict: int | None = None,
        index: "_Indexer | None" = None,
    ) -> Similar | NDArray[np.float32]:
        """Find the words nearest to the mean of the positive inputs and the negated negative ones.

        As in gensim, words are normalised to unit length first, vectors are taken as they are, and input words are no
        answers.

        Parameters
        ----------
        positive, negative : str, vector of shape (D,), or a sequence of these
            What the answers should be near to, and far from. In a sequence, a tuple (word or vector, weight) replaces
            the weights 1 of `positive` and -1 of `negative`.
        topn : int, optional
            How many answers; None for the cosines of all words searched.
        clip_start, clip_end : int, optional
            Search only words with ids from `clip_start` to before `clip_end`.
        restrict, restrict_vocab : int, optional
            Search only this many words, the most frequent ones: our name and gensim's.
        index, indexer : Index, optional
            Search in this, which `index` of these vectors has built: our name and gensim's. One of gensim's indexers
            will do: its answers are returned as they are, input words among them.

        Returns
        -------
        list of (str, float), or float32 array
            Words and cosines, nearest first, ties in the order of ids. With ``topn=None``: the cosines of all words
            searched, input words too, in the order of ids.

        Raises
        ------
        UnknownWordError
            If a word is unknown.
        Any2VecError
            If an argument is invalid, or there is no input.
        """
        rows = self._rows(restrict, restrict_vocab, clip_start, clip_end)
        queries, weights = weighted(positive, negative, self._as_word)
        mean = self._unit(self._mean(queries, np.array(weights)))
        searched = self._indexer(index, indexer, rows)
        if searched is not None and topn is None:
            raise Any2VecError("`topn=None` gives all cosines, for which there is no index; leave `index` out")
        if searched is not None and not isinstance(searched, Index):
            return searched.most_similar(mean, whole_number("topn", topn, 0))
        if topn is None:
            return cosines_of(self.matrix[rows], self.norms[rows], mean)
        own = np.array([[self._id(query) for query in queries if isinstance(query, str)]], np.int64)
        return self._nearest(mean[None], own, topn, rows, searched)[0]

    def most_similar_batch(
        self,
        queries: Sequence[Query],
        topn: int = 10,
        *,
        restrict: int | None = None,
        index: Index | None = None,
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
        index : Index, optional
            Search in this, which `index` of these vectors has built.

        Returns
        -------
        list of list of (str, float)
            For each query what `most_similar` returns.

        Raises
        ------
        UnknownWordError
            If a word is unknown.
        Any2VecError
            If an argument is invalid.
        """
        asked = as_queries(queries, self._as_word)
        rows = np.empty((len(asked), self.dim), np.float32)
        for row, query in zip(rows, asked, strict=True):
            row[:] = self._unit(query)
        own = [[self._id(query) if isinstance(query, str) else -1] for query in asked]
        searched = self._rows(restrict)
        if index is not None and not isinstance(self._indexer(index, None, searched), Index):
            raise Any2VecError(f"`index` is {shown(index)}; it must be what `vectors.index()` returns")
        return self._nearest(rows, np.array(own, np.int64).reshape(len(asked), 1), topn, searched, index)

    def similarity(self, w1: Query, w2: Query) -> float:
        """Return the cosine of two words or vectors of shape (D,), from -1 to 1; 0 if either vector is zero.

        Raises
        ------
        UnknownWordError
            If a word is unknown.
        """
        return float(np.dot(self._unit(w1), self._unit(w2)))

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
        UnknownWordError
            If a word is unknown.
        Any2VecError
            If an argument is invalid.
        """
        return self.most_similar([b, c], [a], topn, restrict=restrict)

    def _rows(
        self,
        restrict: int | None = None,
        restrict_vocab: int | None = None,
        clip_start: int = 0,
        clip_end: int | None = None,
    ) -> slice:
        """Return the ids that a search is limited to."""
        if restrict is not None and restrict_vocab is not None:
            raise Any2VecError("`restrict` and `restrict_vocab` are the same; give one of them")
        for name, last in (("restrict", restrict), ("restrict_vocab", restrict_vocab)):
            if last is not None:
                return slice(0, min(whole_number(name, last, 1), len(self)))
        last = len(self) if clip_end is None else min(whole_number("clip_end", clip_end, 1), len(self))
        return slice(min(whole_number("clip_start", clip_start, 0), last), last)

    def _indexer(self, index: Any, indexer: Any, rows: slice) -> Any:
        """Return what to search in, if given, under one of its two names."""
        if index is not None and indexer is not None:
            raise Any2VecError("`index` and `indexer` are the same; give one of them")
        searched = indexer if index is None else index
        if searched is None:
            return None
        if not callable(getattr(searched, "most_similar", None)) or isinstance(searched, Lookup):
            raise Any2VecError(f"`index` is {shown(searched)}; it must be what `vectors.index()` returns")
        if isinstance(searched, Index) and searched.vectors is not self:
            raise Any2VecError("`index` is of other vectors; give what `index()` of these returns")
        if rows != slice(0, len(self)):
            raise Any2VecError("an index is of all words; search some of them without `index`")
        return searched

    def _nearest(
        self,
        queries: NDArray[np.float32],
        own: NDArray[np.int64],
        topn: int,
        rows: slice,
        index: Index | None = None,
    ) -> list[Similar]:
        topn = whole_number("topn", topn, 0)
        if topn == 0:
            return [[] for _ in queries]
        first = rows.start
        if index is None:
            ids, cosines = nearest(self.matrix[rows], self.norms[rows], queries, topn, own - first)
        else:
            ids, cosines = index.find(queries, topn, own)
        return [self._named(*row, first) for row in zip(ids, cosines, strict=True)]

    def _named(self, ids: NDArray[np.int64], scores: NDArray[np.float32], first: int = 0) -> Similar:
        """Name what was found among the rows from `first` on; negative ids are none."""
        words = self.vocabulary.words
        return [(words[i + first], float(score)) for i, score in zip(ids, scores, strict=True) if i >= 0]


def weighted(positive: Queries | None, negative: Queries | None, as_word: _AsWord) -> tuple[list[Any], list[float]]:
    """List words (as strings) and vectors with their weights."""
    listed: list[Any] = []
    weights: list[float] = []
    sides = ((as_word(positive), 1.0), (negative, -1.0))
    inputs = [(item, weight) for side, weight in sides if side is not None for item in as_queries(side, as_word)]
    for item, weight in inputs:
        query, given = item, weight
        if isinstance(item, tuple) and len(item) == 2 and isinstance(as_word(item[0]), str | np.ndarray):
            query, given = item
        if not isinstance(given, Real) or not abs(given) <= sys.float_info.max:
            raise Any2VecError(f"the weight of an input is {shown(given)}; it must be a finite number")
        listed.append(as_word(query))
        weights.append(float(given))
    if not listed:
        raise Any2VecError("most_similar needs at least one word or vector")
    return listed, weights


def as_queries(queries: Any, as_word: _AsWord) -> list[Any]:
    """List words (as strings) and vectors."""
    of_words = isinstance(queries, np.ndarray) and queries.dtype.kind in "OTU"
    if isinstance(queries, str) or (isinstance(queries, np.ndarray) and queries.ndim == 1 and not of_words):
        return [queries]
    single = isinstance(queries, bytes) or (isinstance(queries, np.ndarray) and queries.ndim == 0)
    if single or not isinstance(queries, Iterable):
        raise Any2VecError(f"a word, a vector or a sequence of these is expected, not {shown(queries)}")
    return [as_word(query) for query in queries]
