"""Classes of words: k-means on the directions of their vectors."""

import warnings

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from any2vec.cluster.machine import usable_cores
from any2vec.errors import Any2VecError, library
from any2vec.options import whole_number
from any2vec.vectors.lookup import Lookup, check_vectors
from any2vec.vectors.search import directions

_ITERATIONS = 50  # at most; word2vec has ten, from a poorer start


def classes(vectors: Lookup, number: int, *, seed: int = 1, threads: int | None = None) -> NDArray[np.int32]:
    """Divide words into classes by k-means, as word2vec's ``-classes`` does: words of a class point the same way.

    Vectors are normalised to unit length, and weigh as much as they were long, so that the centre of a class has the
    direction of the sum of its words' vectors.

    Parameters
    ----------
    vectors : Vectors
        Of V words.
    number : int
        How many classes, 1 to V.
    seed : int
        Of the draws of first centres.
    threads : int, optional
        Threads; all cores by default. With one, the same seed gives the same classes on every machine.

    Returns
    -------
    int32 array, shape (V,)
        The class of each word, 0 to `number` - 1, in the order of ids.

    Raises
    ------
    Any2VecError
        If there are more classes than words, a vector is not finite, or scikit-learn is not installed.

    Examples
    --------
    >>> near = Vectors(["a", "b", "c"], np.array([[1, 0], [0, 1], [0, 2]], np.float32))
    >>> found = classes(near, 2)
    >>> bool(found[0] != found[1] == found[2])
    True
    """
    check_vectors(vectors)
    number = check_classes(number, len(vectors))
    from sklearn.cluster import KMeans
    from sklearn.exceptions import ConvergenceWarning

    norms = vectors.norms
    rows = directions(vectors.matrix, norms)
    means = KMeans(number, n_init=1, max_iter=_ITERATIONS, random_state=whole_number("seed", seed, 0), copy_x=False)
    with warnings.catch_warnings(), threadpool_limits(threads or usable_cores()):
        warnings.simplefilter("ignore", ConvergenceWarning)  # fewer different vectors than classes
        return means.fit_predict(rows, sample_weight=norms if norms.any() else None).astype(np.int32)


def check_classes(number: object, words: int | None = None) -> int:
    """Return the number of classes; refuse more than there are words, or if scikit-learn is missing."""
    count = whole_number("classes", number, 1)
    if words is not None and count > words:
        raise Any2VecError(f"`classes` is {count:,}, but there are {words:,} words; give at most as many classes")
    library("sklearn.cluster", "classes", "scikit-learn")
    return count
