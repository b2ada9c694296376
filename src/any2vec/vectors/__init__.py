"""Vectors of words: look-up, nearest neighbours, files."""

import os

from any2vec.vectors import derived, questions
from any2vec.vectors import index as indexes
from any2vec.vectors.derived import Conversions
from any2vec.vectors.export import Exports
from any2vec.vectors.files import read_vectors
from any2vec.vectors.files.hub import Hub
from any2vec.vectors.gensim_names import GensimNames
from any2vec.vectors.maps import Maps

__all__ = ["Vectors", "load"]


class Vectors(GensimNames, Conversions, Exports, Hub, Maps):
    """The embedding of each word of a vocabulary.

    `Lookup` is its data, words and rows, `Neighbours` finds the nearest words, and `GensimNames` has the other methods
    of gensim's KeyedVectors. `Conversions` has gensim, pandas and Arrow, `Exports` files of other programs, `Maps`
    pictures, and `Hub` that of Hugging Face. Other methods are functions of the modules that are named below.

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

    vectors_for_all, add_vectors = derived.vectors_for_all, derived.add_vectors
    means, vector_of_features = derived.means, derived.vector_of_features
    evaluate_word_analogies = questions.evaluate_word_analogies
    evaluate_word_pairs = questions.evaluate_word_pairs
    index, load_index = indexes.build, indexes.load_index

    @property
    def features(self) -> tuple[str, ...]:
        """The features that have vectors, sorted; none if the vectors were trained without features."""
        return derived.feature_names(self)


def load(path: str | os.PathLike[str]) -> Vectors:
    """Load vectors from a file in word2vec's formats (or GloVe's), a model of fastText, or a folder in any2vec's.

    Parameters
    ----------
    path : str or path
        The file or folder; its ending says the format, as in `save`. A model of fastText is recognized.

    Returns
    -------
    Vectors
        Those of a folder are memory-mapped and have counts; those of files have counts of zero. A model of fastText
        has counts, parts and t.

    Raises
    ------
    Any2VecError
        If it does not exist, is damaged, or has an unknown ending.
    """
    return Vectors.of(read_vectors(path))
