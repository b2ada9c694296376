"""Other vectors, made of these: of some of the words, or of more."""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from numbers import Integral
from typing import Any, Self, cast

import numpy as np
from numpy.typing import ArrayLike

from any2vec.errors import Any2VecError, shown
from any2vec.vectors.lookup import Lookup
from any2vec.vectors.neighbours import as_queries

__all__ = ["Derived"]


class Derived(Lookup):
    """Methods that return new vectors, without training vectors; these do not change."""

    def vectors_for_all(
        self, keys: Iterable[str | int], allow_inference: bool = True, copy_vecattrs: bool = True
    ) -> Self:
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
        words = as_queries(keys, self._as_word)
        for word in words:
            if not isinstance(word, str):
                raise Any2VecError(f"a word is expected, not {shown(word)}")
        ids = self.vocabulary.ids
        taken = [word for word in dict.fromkeys(words) if word in (self if allow_inference else ids)]
        kept = [int(self.counts[ids[word]]) if word in ids else 0 for word in taken]
        counts = kept if copy_vecattrs else range(len(taken), 0, -1)
        matrix = self[taken] if taken else self.matrix[:0]
        return type(self)(taken, matrix, counts=np.array(counts, np.int64))

    def add_vectors(self, keys: str | int | Sequence[str | int], weights: ArrayLike, replace: bool = False) -> Self:
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
        given = type(self)([keys] if single else keys, rows)  # type: ignore[arg-type, list-item]  # checked there
        if given.dim != self.dim:
            raise Any2VecError(f"vectors of {given.dim} dimensions cannot be added to vectors of {self.dim}")
        places = np.array([self.vocabulary.ids.get(word, -1) for word in given.words], np.int64)
        known = places >= 0
        matrix = np.concatenate((self.matrix, given.matrix[~known]))
        if replace:
            matrix[places[known]] = given.matrix[known]
        new = [word for word in given.words if word not in self.vocabulary.ids]
        counts = np.concatenate((self.counts, np.zeros(len(new), np.int64)))
        return type(self)([*self.words, *new], matrix, counts=counts)
