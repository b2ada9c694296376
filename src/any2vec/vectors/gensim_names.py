"""The names of gensim's KeyedVectors (4.4), on what any2vec has."""

import warnings
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from any2vec.errors import Any2VecError, UnknownWordError, method_meant, shown
from any2vec.options import as_word, whole_number
from any2vec.vectors.lookup import Query, numbers_of
from any2vec.vectors.neighbours import Neighbours, as_queries
from any2vec.vectors.search import best, cosines_of, directions

_SMALL = np.float32(1e-6)  # keeps the denominator of 3CosMul from being zero, as in gensim

_Word = TypeVar("_Word", str, int)


class GensimNames(Neighbours):
    """The methods that users of gensim call; arguments and results are gensim's, except as a docstring says.

    Throughout, an integer never stands for a row, but where all words are integers for the word of its digits, and the
    cosine with a vector of zeros is 0, not NaN.
    """

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Say what is here in place of a method that gensim's have, and these lack."""
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}{method_meant(name, self)}")

    @property
    def key_to_index(self) -> dict[str, int]:
        """Id of each word."""
        return self.vocabulary.ids

    @property
    def index_to_key(self) -> Sequence[str]:
        """Word of each id: `words`."""
        return self.words

    @property
    def vectors(self) -> NDArray[np.float32]:
        """The matrix, shape (V, D), read-only: `matrix`."""
        return self.matrix

    @property
    def vector_size(self) -> int:
        """D: `dim`."""
        return self.dim

    def has_index_for(self, key: str | int) -> bool:
        """Whether a word is one of V."""
        known = isinstance(key, str) or (isinstance(as_word(key), str) and self.of_integers)
        return known and self._id(key) >= 0

    def get_index(self, key: str | int, default: int | None = None) -> int:
        """Return the id of a word; of an unknown one `default`, or raise UnknownWordError if that is None."""
        return default if default is not None and not self.has_index_for(key) else self.id(key)

    def get_vector(self, key: str | int, norm: bool = False) -> NDArray[np.float32]:
        """Return the vector of a word, shape (D,), of unit length if `norm`; raise UnknownWordError."""
        row = self._row(key)
        return self._unit(key) if norm else row

    def get_vecattr(self, key: str | int, attr: str) -> int:
        """Return how often a word occurs; "count" is the only attribute. Raise Any2VecError if counts are unknown."""
        if attr != "count":
            raise Any2VecError(f"words have no attribute {shown(attr)}; the only one is 'count'")
        count = int(self.counts[self.id(key)])
        if not count and not self.counts.any():
            raise Any2VecError("these vectors have no counts; any2vec's own format, a folder, keeps them")
        return count

    def fill_norms(self, force: bool = False) -> None:
        """Compute `norms` now; they are computed once, on first use, since vectors do not change."""
        _ = self.norms

    def get_normed_vectors(self) -> NDArray[np.float32]:
        """Return all vectors of unit length, shape (V, D); rows of zeros stay zeros."""
        return directions(self.matrix, self.norms)

    def get_mean_vector(
        self,
        keys: Query | Sequence[Query],
        weights: Sequence[float] | NDArray[np.floating[Any]] | None = None,
        pre_normalize: bool = True,
        post_normalize: bool = False,
        ignore_missing: bool = True,
    ) -> NDArray[np.float32]:
        """Return the mean of words and vectors, shape (D,).

        Parameters
        ----------
        keys : sequence of str or of vectors of shape (D,)
            Vectors are taken as they are.
        weights : sequence of float, shape (len(keys),), optional
            The sum is divided by the sum of their absolute values.
        pre_normalize, post_normalize : bool
            Scale the words, the mean, to unit length.
        ignore_missing : bool
            Leave out unknown words; the mean of nothing is a vector of zeros.

        Raises
        ------
        UnknownWordError
            If a word is unknown and `ignore_missing` is False.
        Any2VecError
            If `keys` is empty, or `weights` are not as many finite numbers.
        """
        queries = self._listed("keys", keys)
        shares = _weights(weights, len(queries))
        if ignore_missing:
            known = [not isinstance(query, str) or query in self for query in queries]
            queries = [query for query, has in zip(queries, known, strict=True) if has]
            shares = shares[known]
        mean = self._mean(queries, shares, pre_normalize)
        return self._unit(mean) if post_normalize else mean.astype(np.float32)

    def similar_by_word(self, word: str | int, topn: int | None = 10, restrict_vocab: int | None = None) -> Any:
        """Find the words nearest to a word: `most_similar`."""
        self._row(word)  # not a vector
        return self.most_similar([word], topn=topn, restrict_vocab=restrict_vocab)

    def similar_by_key(self, key: str | int, topn: int | None = 10, restrict_vocab: int | None = None) -> Any:
        """Find the words nearest to a word: `most_similar`."""
        return self.similar_by_word(key, topn, restrict_vocab)

    def similar_by_vector(self, vector: Query, topn: int | None = 10, restrict_vocab: int | None = None) -> Any:
        """Find the words nearest to a vector of shape (D,): `most_similar`."""
        return self.most_similar([vector], topn=topn, restrict_vocab=restrict_vocab)

    def most_similar_cosmul(
        self,
        positive: Query | Sequence[Query] | None = None,
        negative: Query | Sequence[Query] | None = None,
        topn: int | None = 10,
        restrict_vocab: int | None = None,
    ) -> Any:
        """Find the words nearest by the multiplicative objective (3CosMul; Levy and Goldberg 2014, equation 4).

        Parameters and results are those of `most_similar`, with scores in place of cosines: the product of
        (1 + cos) / 2 over the positive inputs, divided by that over the negative ones. Unlike gensim's, it searches
        only `restrict_vocab` words if that is given, and takes the cosine of vectors, too.

        Raises
        ------
        UnknownWordError
            If a word is unknown.
        Any2VecError
            If there is no positive input, or an argument is invalid.
        """
        near = self._listed("positive", () if positive is None else positive)
        far = [] if negative is None else as_queries(self._as_word(negative), self._as_word)
        rows = self._rows(restrict_vocab=restrict_vocab)
        top, bottom = (np.prod([(1 + self._cosines(query, rows)) / 2 for query in q], axis=0) for q in (near, far))
        scores: NDArray[np.float32] = (top / (bottom + _SMALL)).astype(np.float32)
        if topn is None:
            return scores
        own = np.array([self._id(query) for query in near + far if isinstance(query, str)], np.int64)
        scores[own[(own >= 0) & (own < len(scores))]] = -np.inf
        return self._named(*best(scores, whole_number("topn", topn, 0)))

    def distance(self, w1: Query, w2: Query) -> float:
        """Return 1 minus the cosine of two words or vectors, from 0 to 2."""
        return 1 - self.similarity(w1, w2)

    def distances(self, word_or_vector: Query, other_words: Iterable[str | int] | None = ()) -> NDArray[np.float32]:
        """Return 1 minus the cosine of a word or vector with `other_words`, by default with all: shape (n,)."""
        others = [] if other_words is None else as_queries(self._as_word(other_words), self._as_word)
        return 1 - (
            self._cosines_with(word_or_vector, others) if others else self._cosines(word_or_vector, slice(None))
        )

    def n_similarity(self, ws1: Sequence[str | int], ws2: Sequence[str | int]) -> float:
        """Return the cosine of the means of two sets of words, the vectors as long as they are.

        Raises
        ------
        UnknownWordError
            If no word of a set is known; otherwise unknown ones are left out.
        Any2VecError
            If a set is empty.
        """
        means = []
        for name, words in (("ws1", self._listed("ws1", ws1)), ("ws2", self._listed("ws2", ws2))):
            if all(isinstance(word, str) and word not in self for word in words):
                raise UnknownWordError(f"no word of `{name}` has a vector: {shown(words)}")
            means.append(self.get_mean_vector(words, pre_normalize=False))
        return self.similarity(*means)

    def relative_cosine_similarity(self, wa: str | int, wb: str | int, topn: int = 10) -> float:
        """Return the cosine of two words, over the sum of the cosines of `wa` and the `topn` words nearest to it.

        Above 1 / `topn`, `wb` is nearer than these are on average: a synonym perhaps (Leeuwenberg et al. 2016,
        equation 1).

        Raises
        ------
        UnknownWordError
            If a word is unknown.
        Any2VecError
            If `topn` is no whole number from 1 up, or the sum is not above 0.
        """
        total = sum(cosine for _, cosine in self.similar_by_word(wa, whole_number("topn", topn, 1)))
        if total <= 0:
            raise Any2VecError(
                f"the cosines of {shown(wa)} and the words nearest to it add up to {total:g}, not above 0"
            )
        return self.similarity(wa, wb) / total

    def most_similar_to_given(self, key1: Query, keys_list: Sequence[_Word]) -> _Word:
        """Return the word of a list that is nearest to a word, the first of equals."""
        keys = list(keys_list)
        return keys[int(self._cosines_with(key1, self._listed("keys_list", keys)).argmax())]

    def closer_than(self, key1: str | int, key2: str | int) -> list[str]:
        """Return the words that are nearer to `key1` than `key2` is, in the order of ids, without `key1`."""
        self._row(key1)  # not a vector
        cosines, one = self._cosines(key1, slice(None)), self._id(key1)
        least = cosines[self._id(key2)] if self._id(key2) >= 0 else self._cosines_with(key1, [key2])[0]
        return [self.words[i] for i in np.flatnonzero(cosines > least).tolist() if i != one]

    def rank(self, key1: str | int, key2: str | int) -> int:
        """Return 1 plus the number of words that are nearer to `key1` than `key2` is."""
        return len(self.closer_than(key1, key2)) + 1

    def rank_by_centrality(self, words: Sequence[str | int], use_norm: bool = True) -> list[tuple[float, str]]:
        """Rank words by the product with their mean, which is of unit length, the largest first.

        Unknown words are left out, with a UserWarning. `use_norm` scales words to unit length.

        Raises
        ------
        UnknownWordError
            If no word is known.
        Any2VecError
            If there are no words.
        """
        listed = self._listed("words", words)
        unknown = [word for word in listed if isinstance(word, str) and word not in self]
        known = [word for word in listed if not isinstance(word, str) or word in self]
        if not known:
            raise UnknownWordError(f"no word of `words` has a vector: {shown(listed)}")
        if unknown:
            warnings.warn(f"words without a vector are left out: {shown(unknown)}", UserWarning, stacklevel=2)
        rows = np.stack([self.get_vector(word, use_norm) for word in known])
        products = rows @ self.get_mean_vector(list(rows), post_normalize=True)
        return sorted(zip(products.tolist(), known, strict=True), reverse=True)

    def doesnt_match(self, words: Sequence[str | int]) -> str:
        """Return the word farthest from the mean of all: the last one of `rank_by_centrality`, with its errors."""
        return self.rank_by_centrality(words)[-1][1]

    @staticmethod
    def cosine_similarities(vector_1: NDArray[Any], vectors_all: NDArray[Any]) -> NDArray[np.floating[Any]]:
        """Return the n cosines of a vector of shape (D,) with the rows of a matrix of shape (n, D)."""
        vector, rows = _floats(vector_1), _floats(vectors_all)
        if vector.ndim != 1 or rows.ndim != 2 or rows.shape[1] != len(vector):
            given = f"{shown(vector_1)} and {shown(vectors_all)}"
            raise Any2VecError(f"a vector and a matrix with as many columns are expected, not {given}")
        length, lengths = (np.sqrt(np.einsum("...i,...i", x, x, dtype=np.float64)) for x in (vector, rows))
        with np.errstate(all="ignore"):
            cosines = rows @ (vector / (length or 1)).astype(vector.dtype) / np.where(lengths > 0, lengths, 1)
        if not np.isfinite(cosines).all():
            raise Any2VecError("the vectors hold numbers that are not finite, or too large")
        return cosines.astype(np.result_type(vector, rows))

    def _listed(self, name: str, queries: Any) -> list[Any]:
        """List words (as strings) and vectors; refuse none."""
        listed = as_queries(self._as_word(queries), self._as_word)
        if not listed:
            raise Any2VecError(f"`{name}` is empty; at least one word or vector is expected")
        return listed

    def _cosines(self, query: Query, rows: slice | list[int]) -> NDArray[np.float32]:
        """Return the cosines of a word or vector with rows of the matrix."""
        return cosines_of(self.matrix[rows], self.norms[rows], self._unit(query))

    def _cosines_with(self, query: Query, words: list[Any]) -> NDArray[np.float32]:
        """Return the cosines of a word or vector with words."""
        if self.parts is None:
            return self._cosines(query, [self.id(word) for word in words])
        vectors = self[words]
        return cosines_of(vectors, np.linalg.norm(vectors, axis=1), self._unit(query))


def _floats(numbers: Any) -> NDArray[np.floating[Any]]:
    """Return an array of floats, not copied if it is one; of what holds no numbers, one without dimensions."""
    try:
        array = np.asarray(numbers)
        return array if array.dtype.kind == "f" else array.astype(np.float64)
    except (TypeError, ValueError):
        return np.empty(())


def _weights(weights: Any, number: int) -> NDArray[np.float64]:
    shares = np.ones(number) if weights is None else numbers_of(weights, np.float64)
    if shares.shape != (number,) or not np.isfinite(shares).all():
        raise Any2VecError(f"`weights` is {shown(weights)}; {number:,} finite numbers are expected, as many as `keys`")
    return shares
