"""Other vectors, made of these: of some of the words or of more, means of texts, and vectors of features."""

import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain, islice
from numbers import Integral
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from any2vec.corpus.corpus import Corpus
from any2vec.corpus.parts import Features
from any2vec.corpus.raw_text import RawText
from any2vec.corpus.sentences import sentences_of
from any2vec.errors import Any2VecError, UnknownWordError, shown
from any2vec.vectors.lookup import Lookup
from any2vec.vectors.neighbours import as_queries

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
