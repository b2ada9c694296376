"""What is made of vectors: others, of some of the words or of more, means of texts, and objects of other libraries."""

import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain, islice
from numbers import Integral
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from any2vec.corpus.corpus import Corpus
from any2vec.corpus.parts import Features, Subwords
from any2vec.corpus.raw_text import RawText
from any2vec.corpus.sentences import sentences_of
from any2vec.errors import Any2VecError, UnknownWordError, library, shown
from any2vec.vectors.lookup import Lookup
from any2vec.vectors.neighbours import as_queries
from any2vec.vectors.parts import Parts

if TYPE_CHECKING:
    import gensim
    import pandas as pd
    import pyarrow as pa


V = TypeVar("V", bound=Lookup)


def vectors_for_all(
    vectors: V, keys: Iterable[str | int], allow_inference: bool = True, copy_vecattrs: bool = True
) -> V:
    """Return the vectors of some words, as new `Vectors`, in the order of the words.

    Parameters
    ----------
    keys : iterable of str
        Unknown words are left out, and all but the first of equal ones.
    allow_inference : bool
        Take the words, too, that have a vector from their parts alone.
    copy_vecattrs : bool
        Keep the counts; words from their parts alone have none. If False, counts are made up as gensim's are by
        default: n for the first of n words, then one less for each.

    Returns
    -------
    Vectors
        The matrix is a copy, float32, shape (n, D). There may be no words.

    Raises
    ------
    Any2VecError
        If `keys` holds something else.
    """
    words = as_queries(keys, vectors._as_word)
    for word in words:
        if not isinstance(word, str):
            raise Any2VecError(f"a word is expected, not {shown(word)}")
    ids = vectors.vocabulary.ids
    taken = [word for word in dict.fromkeys(words) if word in (vectors if allow_inference else ids)]
    kept = [int(vectors.counts[ids[word]]) if word in ids else 0 for word in taken]
    counts = kept if copy_vecattrs else range(len(taken), 0, -1)
    matrix = vectors[taken] if taken else vectors.matrix[:0]
    return type(vectors)(taken, matrix, counts=np.array(counts, np.int64))


def add_vectors(vectors: V, keys: str | int | Sequence[str | int], weights: ArrayLike, replace: bool = False) -> V:
    """Return these vectors and more, as new `Vectors`: these do not change.

    Parameters
    ----------
    keys : str or sequence of str
        A word, or n distinct words. The new ones get the next ids, in their order.
    weights : array of numbers, shape (D,) or (n, D)
        Their vectors.
    replace : bool
        Whether a word that has a vector gets the one given; by default it keeps its own.

    Returns
    -------
    Vectors
        The matrix is a copy, float32. Counts are kept; those of new words are 0. Parts of words are not kept:
        unknown words have no vectors.

    Raises
    ------
    Any2VecError
        If the shapes do not fit, a word is no string or occurs twice in `keys`.
    """
    single, rows = isinstance(keys, str | Integral), cast("Any", weights)
    if single:
        with suppress(ValueError):  # no numbers: refused with all others
            rows = np.asarray(weights).reshape(1, -1)
    given = type(vectors)([keys] if single else keys, rows)  # type: ignore[arg-type, list-item]  # checked there
    if given.dim != vectors.dim:
        raise Any2VecError(f"vectors of {given.dim} dimensions cannot be added to vectors of {vectors.dim}")
    places = np.array([vectors.vocabulary.ids.get(word, -1) for word in given.words], np.int64)
    known = places >= 0
    matrix = np.concatenate((vectors.matrix, given.matrix[~known]))
    if replace:
        matrix[places[known]] = given.matrix[known]
    new = [word for word in given.words if word not in vectors.vocabulary.ids]
    counts = np.concatenate((vectors.counts, np.zeros(len(new), np.int64)))
    return type(vectors)([*vectors.words, *new], matrix, counts=counts)


_TEXTS = 1 << 10  # taken at a time


def means(
    vectors: Lookup, texts: Any, column: str | None = None, *, lowercase: bool = False, tokenize: bool = False
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
    listed, parts = _checked(sentences_of(texts, column, raw), raw), [np.zeros((0, vectors.dim), np.float32)]
    while some := list(islice(listed, _TEXTS)):
        parts.append(_means(vectors, some))
    found = np.concatenate(parts)
    if not np.isfinite(found).all():
        raise Any2VecError("the vectors of some of the words are not finite: their mean would be none")
    return found


def _means(vectors: Lookup, texts: list[list[Any]]) -> NDArray[np.float32]:
    ids = vectors.vocabulary.ids
    tokens = [vectors._as_word(token) for token in chain.from_iterable(texts)]
    of = np.repeat(np.arange(len(texts)), list(map(len, texts)))
    rows = np.array([ids.get(token, -1) for token in tokens], np.int64)
    known = rows >= 0
    sums = np.zeros((len(texts), vectors.dim))
    np.add.at(sums, of[known], vectors.matrix[rows[known]])
    if vectors.parts is not None:
        others: dict[str, int] = {}
        places = np.flatnonzero(~known)
        numbers = np.array([others.setdefault(tokens[i], len(others)) for i in places], np.int64)
        made = vectors.parts.of(list(others))
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


def feature_names(vectors: Lookup) -> tuple[str, ...]:
    """Return the features that have vectors, sorted; none if the vectors were trained without features."""
    if vectors.parts is None or not isinstance(vectors.parts.settings, Features):
        return ()
    names = vectors.parts.settings.names
    return tuple(names[number] for number in np.sort(vectors.parts.ids))


def vector_of_features(vectors: Lookup, features: Iterable[str]) -> NDArray[np.float32]:
    """Compute the vector of a new item that has some features, or, if it is one, the vector of the feature.

    Parameters
    ----------
    features : list of str
        Features of the vectors, such as ``["brand=x", "category=y"]``; what is given twice counts once.

    Returns
    -------
    float32 array, shape (D,)
        The mean of their rows. `most_similar` takes it.

    Raises
    ------
    Any2VecError
        If this is no list of features, or the vectors were trained without features.
    UnknownWordError
        If a feature has no vector; the error, also a KeyError, names features spelt similarly.
    """
    if vectors.parts is None or not isinstance(settings := vectors.parts.settings, Features):
        raise Any2VecError("these vectors were trained without `features`, so features have no vectors")
    if not vectors.parts.whole:
        raise Any2VecError("these vectors are of one host of many, which has some features: save and load them")
    several = isinstance(features, Iterable) and not isinstance(features, str | bytes)
    names = list(dict.fromkeys(features)) if several else []
    if not names or not all(isinstance(name, str) for name in names):
        raise Any2VecError(f"`features` is {shown(features)}; a list of features is expected: [{settings.names[0]!r}]")
    places = vectors.parts.places(np.array([settings.numbers.get(name, -1) for name in names], np.int64))
    if (lacking := np.flatnonzero(places < 0)).size:
        name = names[lacking[0]]
        raise UnknownWordError(f"no vector for the feature {name!r}", lambda: _hint(name, feature_names(vectors)))
    return np.asarray(vectors.parts.rows[places].mean(axis=0, dtype=np.float32))


def _hint(name: str, known: tuple[str, ...]) -> str:
    alike = difflib.get_close_matches(name, known, n=3)
    return f"; did you mean {', '.join(map(repr, alike))}?" if alike else ""


class Conversions(Lookup):
    """Conversions of vectors."""

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        """Return the matrix, shape (V, D): ``np.asarray(vectors)`` a read-only view, ``np.array(vectors)`` a copy."""
        return np.array(self.matrix, dtype=dtype, copy=copy)

    @classmethod
    def from_gensim(cls, keyed_vectors: "gensim.models.KeyedVectors") -> Self:
        """Make vectors of gensim's KeyedVectors, with its counts if it has some.

        Parameters
        ----------
        keyed_vectors : gensim.models.KeyedVectors
            Such as ``model.wv``, of FastText, too. Its matrix is not copied if it is float32: copy what will change.

        Raises
        ------
        Any2VecError
            If this is something else.
        """
        words, matrix = (getattr(keyed_vectors, name, None) for name in ("index_to_key", "vectors"))
        if words is None or matrix is None:
            hint = "; a model has them as wv" if hasattr(keyed_vectors, "wv") else ""
            raise Any2VecError(f"gensim's KeyedVectors are expected, not {type(keyed_vectors).__name__}{hint}")
        counts = getattr(keyed_vectors, "expandos", {}).get("count")
        return cls(words, matrix, counts=counts, parts=_parts_of(keyed_vectors))

    def to_gensim(self, copy: bool = False) -> "gensim.models.KeyedVectors":
        """Make gensim's KeyedVectors, with counts if they are known; of words with parts its FastTextKeyedVectors.

        Unlike fastText, gensim gives the word ``</s>`` parts, once it computes its vector again.

        Parameters
        ----------
        copy : bool
            Copy the matrices; by default they are shared, and read-only in gensim, too. The rows of parts are copied,
            unless all buckets have one.

        Raises
        ------
        Any2VecError
            If gensim is not installed.
        """
        models = library("gensim.models", "gensim")
        with_n_grams = self._with_n_grams(copy)
        keyed = models.KeyedVectors(self.dim) if with_n_grams is None else with_n_grams
        keyed.index_to_key, keyed.key_to_index = list(self.words), dict(self.vocabulary.ids)
        keyed.vectors, keyed.next_index = np.array(self.matrix) if copy else self.matrix, len(self)
        if self.counts.any():
            keyed.expandos["count"] = np.array(self.counts)
        return keyed

    def _with_n_grams(self, copy: bool) -> "gensim.models.fasttext.FastTextKeyedVectors | None":
        """Return what has n-grams; None if words have none: gensim knows no features."""
        if (parts := self.parts) is None or not isinstance(settings := parts.settings, Subwords):
            return None
        from gensim.models.fasttext import FastTextKeyedVectors

        keyed = FastTextKeyedVectors(self.dim, settings.least, settings.most, settings.buckets)
        keyed.vectors_vocab = np.array(parts.own) if copy else parts.own
        keyed.vectors_ngrams = parts.of_all_buckets(copy)
        bounds, buckets = settings.lists(self.words)
        keyed.buckets_word = np.split(buckets.astype(np.uint32), bounds[1:-1])
        return keyed

    def to_pandas(self) -> "pd.DataFrame":
        """Make a data frame with a copy of the matrix, float32, shape (V, D); its index, "word", has the words.

        Raises
        ------
        Any2VecError
            If pandas is not installed.
        """
        pd = library("pandas", "pandas")
        return pd.DataFrame(np.array(self.matrix), index=pd.Index(self.words, name="word", dtype=object))

    def to_arrow(self) -> "pa.Table":
        """Make an Arrow table with a row for each word, in the order of ids.

        Returns
        -------
        pyarrow.Table
            Columns: "word", string; "count", int64, null if unknown; "vector", a fixed-size list of D
            float32. The matrix is not copied if its rows are not padded.

        Raises
        ------
        Any2VecError
            If pyarrow is not installed, or a word is not Unicode text.
        """
        pa = library("pyarrow", "arrow")
        try:
            words = pa.array(self.words, pa.string())
        except UnicodeEncodeError as error:
            raise Any2VecError(f"Arrow cannot hold the word {shown(error.object)}: a lone surrogate") from None
        counts = pa.array(self.counts) if self.counts.any() else pa.nulls(len(self), pa.int64())
        rows = pa.FixedSizeListArray.from_arrays(pa.array(np.ascontiguousarray(self.matrix).reshape(-1)), self.dim)
        return pa.table({"word": words, "count": counts, "vector": rows})


def _parts_of(keyed_vectors: Any) -> Parts | None:
    """Return what the vectors of gensim's FastText are means of; None if they are of whole words."""
    if getattr(keyed_vectors, "vectors_ngrams", None) is None or not keyed_vectors.bucket:
        return None
    least, most, rows = max(keyed_vectors.min_n, 1), keyed_vectors.max_n, keyed_vectors.vectors_ngrams
    settings = Subwords(least, most, keyed_vectors.bucket) if most >= least else None
    return None if settings is None else Parts(settings, keyed_vectors.vectors_vocab, np.arange(len(rows)), rows)
