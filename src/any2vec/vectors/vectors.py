"""Vectors: words, their embeddings, and nearest neighbours."""

from any2vec.errors import Any2VecError
from any2vec.vectors.convert import Conversions
from any2vec.vectors.derived import Derived, Featured, Means
from any2vec.vectors.evaluations import Evaluations
from any2vec.vectors.export.exports import Exports
from any2vec.vectors.files.hub import Hub
from any2vec.vectors.gensim_names import GensimNames
from any2vec.vectors.indexed import Indexed
from any2vec.vectors.lookup import NEGATIVE
from any2vec.vectors.maps import Maps

__all__ = ["NEGATIVE", "Vectors", "check_vectors"]


class Vectors(GensimNames, Derived, Evaluations, Conversions, Exports, Hub, Featured, Indexed, Maps, Means):
    """The embedding of each word of a vocabulary.

    Its methods have files of their own. `Lookup` has words and rows, `Neighbours` analogies, `GensimNames` the other
    methods of gensim's KeyedVectors, `Derived` those that make other vectors. `Conversions` has gensim, pandas and
    Arrow, `Exports` files of other programs. `Evaluations`, `Means` of texts, `Maps`, indexes (`Indexed`), the
    `Hub` of Hugging Face and vectors of features (`Featured`) are the rest.

    Parameters
    ----------
    vocabulary : Vocabulary or collection of str
        The words in the order of their ids, length V; integers stand for their digits.
    matrix : float32 array, shape (V, D)
        The embedding vectors e. Not copied; a view of a padded buffer or a read-only memory map will do.
    counts : int64 array, shape (V,), optional
        How often each word occurs, if `vocabulary` is a collection of words. Zeros (unknown) by default.
    t : float32 array, shape (V, D), optional
        The training vectors, for further training or to predict contexts.
    loss : str
        The loss that `t` was trained with.
    parts : Parts, optional
        What the embedding vectors are means of: words that are not in `vocabulary` have vectors from their parts.

    Raises
    ------
    Any2VecError
        If the shapes do not fit, a word is no string or occurs twice.

    Examples
    --------
    >>> vectors = Vectors(["north", "south"], np.eye(2, dtype=np.float32))
    >>> vectors.most_similar("north")
    [('south', 0.0)]
    """


def check_vectors(value: object) -> None:
    """Refuse anything but Vectors, such as the estimator that has them."""
    if not isinstance(value, Vectors):
        hint = "; an estimator has them as vectors_" if hasattr(value, "fit") else ""
        raise Any2VecError(f"vectors: Vectors are expected, not {type(value).__name__}{hint}")
