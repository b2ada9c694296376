"""Vectors as the objects of other libraries, and from gensim's."""

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import DTypeLike, NDArray

from any2vec.corpus.parts import Subwords
from any2vec.errors import Any2VecError, library, shown
from any2vec.vectors.lookup import Lookup
from any2vec.vectors.parts import Parts

if TYPE_CHECKING:
    import gensim
    import pandas as pd
    import pyarrow as pa


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
