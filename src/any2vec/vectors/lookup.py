"""Words and the rows of a matrix that are their vectors."""

import difflib
import operator
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cached_property, partial
from itertools import islice
from typing import Any, Self, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from any2vec.corpus.vocabulary import Vocabulary
from any2vec.errors import Any2VecError, UnknownWordError, shown
from any2vec.io.memory import blocks, check_finite, read_only
from any2vec.options import as_word, asked, of_integers
from any2vec.vectors.parts import Parts

NEGATIVE, HIERARCHICAL = "negative", "hierarchical"
"""The usual loss: negative sampling."""

_SHOWN = 10  # words in a notebook
_COMPARED = 50_000  # most frequent words that an unknown one is compared with: a fraction of a second

_Float = TypeVar("_Float", np.float32, np.float64)

Query: TypeAlias = str | int | NDArray[np.float32]
"""A word, an integer for the word of its digits where all words are integers, or a vector of shape (D,)."""


class Lookup:
    """Vectors as data: words, their counts, ids and rows; `Vectors` documents the parameters."""

    def __init__(
        self,
        vocabulary: Vocabulary | Collection[str],
        matrix: NDArray[np.float32],
        *,
        counts: NDArray[np.int64] | None = None,
        t: NDArray[np.float32] | None = None,
        loss: str = NEGATIVE,
        parts: Parts | None = None,
    ) -> None:
        self.vocabulary = _checked(vocabulary, counts)
        """The words, their counts (zeros: unknown) and ids."""
        self.e = _numbers(matrix)
        """The embedding vectors, float32, shape (V, D), read-only; random if they are `untrained`."""
        self.how: dict[str, Any] = {}
        """The model, and how text was read, that going on needs the same; empty where that is not known."""
        self.untrained = ""
        """Why the embedding vectors say nothing of their words; empty where they are trained."""
        self.t = None if t is None else _numbers(t)
        """The training vectors, float32, shape (V, D), read-only; or None."""
        if type(loss) is not str:
            raise Any2VecError(f"`loss` is {shown(loss)}; it must be a name")
        self.loss = loss
        """The loss that `t` was trained with; if "hierarchical", its rows are those of the tree's inner vertices."""
        if parts is not None and not isinstance(parts, Parts):
            raise Any2VecError(f"`parts` is {shown(parts)}; Parts are expected")
        self.parts = parts
        """The rows that the embedding vectors are means of, so that unknown words have vectors, too; or None."""
        self._check_shapes()

    @classmethod
    def of(cls, found: "Lookup") -> Self:
        """Return vectors with the same data, as this class."""
        made = cls.__new__(cls)
        made.__dict__.update(found.__dict__)
        return found if isinstance(found, cls) else made

    def _check_shapes(self) -> None:
        number = len(self.vocabulary)
        if self.e.ndim != 2 or len(self.e) != number or not self.e.shape[1]:
            raise Any2VecError(f"{number} words do not fit a matrix of shape {self.e.shape}")
        if len(self.counts) != number:
            raise Any2VecError(f"{number} words do not fit {len(self.counts)} counts")
        if self.t is not None and self.t.shape != self.matrix.shape:
            raise Any2VecError(f"t of shape {self.t.shape} does not fit e of shape {self.matrix.shape}")
        if self.parts is not None and self.parts.own.shape != self.matrix.shape:
            raise Any2VecError(f"parts of shape {self.parts.own.shape} do not fit e of shape {self.matrix.shape}")
        words = self.vocabulary.words
        if repeats(words) and len(self.vocabulary.ids) != number:
            first, word = next((i, w) for i, w in enumerate(words) if self.vocabulary.ids[w] != i)
            places = f"{first + 1:,} and {self.vocabulary.ids[word] + 1:,}"
            raise Any2VecError(f"the word {shown(word)} occurs twice, as vectors {places}; a word has one vector")

    @cached_property
    def words(self) -> Sequence[str]:
        """Word of each id, length V."""
        words = self.vocabulary.words
        return words if isinstance(words, list | tuple) else list(words)

    @property
    def counts(self) -> NDArray[np.int64]:
        """The number of times that each word occurs in the corpus, shape (V,); zeros if unknown."""
        return self.vocabulary.counts

    @property
    def dim(self) -> int:
        """D, the number of dimensions."""
        return int(self.e.shape[1])

    @property
    def matrix(self) -> NDArray[np.float32]:
        """The embedding vectors e, float32, shape (V, D), read-only.

        Raises
        ------
        Any2VecError
            If they are not trained, as those of words by PV-DBOW are not.
        """
        if self.untrained:
            raise Any2VecError(self.untrained)
        return self.e

    @cached_property
    def norms(self) -> NDArray[np.float32]:
        """Euclidean norm of each row, shape (V,), computed on first use.

        Raises
        ------
        Any2VecError
            If a row, or its norm, is not finite; the word is named.
        """
        norms = np.empty(len(self), np.float32)
        for block in blocks(self.matrix):
            rows = self.matrix[block]
            with np.errstate(over="ignore"):
                norms[block] = np.sqrt(np.einsum("ij,ij->i", rows, rows, dtype=np.float64))
        if not (finite := np.isfinite(norms)).all():
            check_finite(self.vocabulary.words, self.matrix)
            word = shown(self.vocabulary.words[int(finite.argmin())])
            raise Any2VecError(f"the vector of {word} is too long for cosines: its norm is no 32-bit number")
        return norms

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """Return these themselves, which cannot change: copies of estimators share them."""
        return self

    def __len__(self) -> int:
        return len(self.vocabulary)

    def __iter__(self) -> Iterator[str]:
        return iter(self.vocabulary.words)

    def __contains__(self, word: object) -> bool:
        """Whether a word has a vector: it is one of V, or has parts of which its vector is made."""
        name = as_word(word)
        if not isinstance(name, str) or not (isinstance(word, str) or self.of_integers):
            return False
        return name in self.vocabulary.ids or (self.parts is not None and self.parts.vector(name) is not None)

    def __getitem__(self, key: str | int | Sequence[str | int]) -> NDArray[np.float32]:
        """Look up a word, giving shape (D,), or a list of n words, giving shape (n, D)."""
        if isinstance(key, Iterable) and not isinstance(key, str | bytes) and getattr(key, "shape", None) != ():
            if self.parts is None:
                found: NDArray[np.float32] = self.matrix[[self.id(word) for word in key]]
                return found
            rows = [self._row(word) for word in key]
            return np.array(rows, np.float32).reshape(len(rows), self.dim)
        return self._row(key)  # type: ignore[arg-type]  # bytes: refused

    def __repr__(self) -> str:
        return f"<Vectors: {len(self):,} words of {self.dim} dimensions>"

    def _repr_html_(self) -> str:
        """Show sizes and the first words in a notebook; nothing is computed."""
        first = ", ".join(self.vocabulary.words[:_SHOWN]) + (", ..." if len(self) > _SHOWN else "")
        rows = [("words", f"{len(self):,}: {first}"), ("matrix", f"float32, shape {self.matrix.shape}")]
        if self.counts.any():
            rows.append(("counts", f"{self.counts.sum():,} in all"))
        from any2vec.io.shown import table  # Rich, which it needs, takes time to import

        return table(rows, f"Vectors of {self.dim} dimensions")

    @cached_property
    def of_integers(self) -> bool:
        """Whether all words are integers, so that an integer can be asked for: 3 for the word "3"."""
        return of_integers(self.vocabulary.words)

    def _as_word(self, value: Any) -> Any:
        """Return an integer as the word of its digits, if words are integers; return anything else as it is."""
        return value if type(value) is str else asked(value, self.of_integers)

    def id(self, word: str | int) -> int:
        """Return the id of a word, its row in the matrix; if tokens were integers, an integer stands for its digits.

        Raises
        ------
        UnknownWordError
            If the word is not one of V; the error, also a KeyError, names words spelt similarly.
        Any2VecError
            If it is no word, or an integer where not all words are integers.
        """
        found = self._id(word)
        if found < 0:
            raise UnknownWordError(f"no vector for {self._as_word(word)!r}", partial(self._hint, word))
        return found

    def _id(self, word: str | int) -> int:
        """Return the id of a word, -1 if it is not one of V."""
        name = self._as_word(word)
        if not isinstance(name, str):
            raise Any2VecError(f"a word is expected, not {shown(word)}")
        return self.vocabulary.ids.get(name, -1)

    def _row(self, word: str | int) -> NDArray[np.float32]:
        """Return the vector of a word of V, or the one that another word has from its parts; raise if it has none."""
        if self.parts is None or self._id(word) >= 0:
            return self.matrix[self.id(word)]
        made = self.parts.vector(name := self._as_word(word))
        if made is None:
            raise UnknownWordError(f"no vector for {name!r}, {self.parts.lacking(name)}", partial(self._hint, word))
        return made

    def _hint(self, word: str | int) -> str:
        """Return what completes the error for an unknown word."""
        if not isinstance(word, str):
            row = f", row {word} is `vectors.matrix[{word}]`" if 0 <= word < len(self) else ""
            return f"; an integer stands for the word of its digits{row}"
        ids = self.vocabulary.ids
        alike = [w for w in (word.lower(), word.upper(), word.title(), word.strip()) if w in ids]
        near = [w for w in islice(self.vocabulary.words, _COMPARED) if abs(len(w) - len(word)) <= 2]
        alike += difflib.get_close_matches(word, near, n=3, cutoff=0.7)
        return f"; did you mean {', '.join(map(repr, dict.fromkeys(alike)))}?" if alike else ""

    def _vector(self, query: Any) -> NDArray[np.float32]:
        """Return the vector of a word or the vector given, shape (D,), all finite."""
        query = self._as_word(query)
        vector = self[query] if isinstance(query, str) else numbers_of(query, np.float32)
        if vector.ndim == 0:
            raise Any2VecError(f"a word or a vector is expected, not {shown(query)}")
        if vector.shape != (self.dim,):
            raise Any2VecError(f"a vector of shape {vector.shape} does not have {self.dim} dimensions")
        if not np.isfinite(vector).all():
            what = f"the vector of {query!r}" if isinstance(query, str) else "the query vector"
            raise Any2VecError(f"{what} is not finite")
        return vector

    def _unit(self, query: Any) -> NDArray[np.float32]:
        return _unit(self._vector(query))

    def _mean(self, queries: Sequence[Any], weights: NDArray[np.float64], unit: bool = True) -> NDArray[np.float64]:
        """Add up queries times weights, over the sum of these: words of unit length if wanted, vectors as they are."""
        weights = weights / (np.abs(weights).max(initial=0) or 1)  # their sum is finite
        total = np.zeros(self.dim)
        for query, weight in zip(queries, weights, strict=True):
            word = unit and isinstance(self._as_word(query), str)
            total += weight * (self._unit(query) if word else self._vector(query)).astype(np.float64)
        return total / (np.abs(weights).sum() or 1)


def numbers_of(value: Any, kind: type[_Float]) -> NDArray[_Float]:
    """Return an array of numbers, not copied if it is one of this kind; of anything else one without dimensions."""
    try:
        with np.errstate(over="ignore"):  # callers refuse infinities
            return np.asarray(value, kind)
    except (TypeError, ValueError):
        return np.empty((), kind)


def check_vectors(value: object) -> None:
    """Refuse anything but Vectors, such as the estimator that has them."""
    if not isinstance(value, Lookup):
        hint = "; an estimator has them as vectors_" if hasattr(value, "fit") else ""
        raise Any2VecError(f"vectors: Vectors are expected, not {type(value).__name__}{hint}")


def repeats(words: Sequence[str]) -> bool:
    """Whether a word may occur twice: some have the same hash."""
    hashes = np.sort(np.fromiter(map(hash, words), np.int64, len(words)))  # a tenth of the memory of ids
    return bool((hashes[1:] == hashes[:-1]).any())


def _unit(vector: NDArray[Any]) -> NDArray[np.float32]:
    norm = np.sqrt(np.einsum("i,i->", vector, vector, dtype=np.float64))
    return (vector / norm if norm else vector).astype(np.float32)


def _checked(vocabulary: Any, counts: object) -> Vocabulary:
    """Return the vocabulary itself, or that of a collection of words, if it can be saved."""
    if not isinstance(vocabulary, Vocabulary):
        words = list(_checked_words(vocabulary))
        return Vocabulary(words, np.zeros(len(words), np.int64) if counts is None else _checked_counts(counts, words))
    words = _checked_words(vocabulary.words)
    numbers = _checked_counts(vocabulary.counts, words)
    same = words is vocabulary.words and numbers is vocabulary.counts
    return vocabulary if same else Vocabulary(words, numbers)


def _checked_words(words: Any) -> Any:
    """Return words, if they are strings themselves; integers as their digits."""
    if isinstance(words, str) or not isinstance(words, Collection):
        raise Any2VecError(f"vocabulary: a sequence of words is expected, not {shown(words)}")
    if set(map(type, words)) <= {str}:
        return words
    listed = [as_word(word) for word in words]
    for i, word in enumerate(listed):
        if not isinstance(word, str):
            raise Any2VecError(f"vocabulary: a word is expected, not {shown(word)}, which is word {i:,}")
    return [str(word) for word in listed]


def _checked_counts(counts: object, words: Sequence[str]) -> NDArray[np.int64]:
    """Return counts as they are saved, whole numbers from 0 to 2^63 - 1; an int64 array of them itself."""
    if isinstance(counts, np.ndarray) and counts.dtype == np.int64 and counts.ndim == 1 and not (counts < 0).any():
        return counts
    try:
        given = np.asarray(counts).reshape(-1).tolist()
        values = [operator.index(int(n) if isinstance(n, float) and n.is_integer() else n) for n in given]
        if bool in map(type, given):
            raise TypeError
    except (OverflowError, TypeError, ValueError):
        raise Any2VecError(f"the counts are not whole numbers: {shown(counts)}") from None
    for i, value in enumerate(values):
        if not 0 <= value < 1 << 63:
            of = f" of {shown(words[i])}" if len(values) == len(words) else ""
            raise Any2VecError(f"the count{of} is {value:,}; it must be from 0 to 2^63 - 1")
    return np.array(values, np.int64)


def _numbers(matrix: NDArray[np.float32]) -> NDArray[np.float32]:
    try:
        given = np.asarray(matrix)
        if given.dtype.kind not in "iufb":
            raise TypeError
        with np.errstate(over="ignore"):  # `check_finite` names the word
            return read_only(given.astype(np.float32, copy=False))
    except (TypeError, ValueError):
        raise Any2VecError(f"the matrix is not an array of numbers: {shown(matrix)}") from None
