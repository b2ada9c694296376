"""Maps of words in two dimensions, and classes of words by k-means, which may colour them."""

import logging
import os
import warnings
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from any2vec.cluster.machine import usable_cores
from any2vec.errors import Any2VecError, UnknownWordError, library, shown
from any2vec.options import as_path, can_be_path, whole_number
from any2vec.vectors.lookup import Lookup, check_vectors
from any2vec.vectors.questions import read_lines
from any2vec.vectors.search import directions, neighbour_graph

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from any2vec.plot.projection import Groups, Labels
    from any2vec.plot.word_map import WordMap


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


TOP = 10_000
"""Words of a map, unless they are named."""

_NAMED = 3  # unknown words in an error
_log = logging.getLogger("any2vec")


class Maps(Lookup):
    """`map` and `plot`."""

    def map(
        self,
        words: "str | os.PathLike[str] | Sequence[str | int] | None" = None,
        top: int | None = None,
        *,
        method: str = "umap",
        labels: "Labels | None" = None,
        skip_unknown: bool = False,
        clusters: int | None = None,
        neighbours: int = 10,
        seed: int = 1,
        **settings: float,
    ) -> "WordMap":
        """Give words places in two dimensions, so that similar words are near to each other.

        Only the directions of vectors count: they are normalised to unit length first. The same seed gives the same
        places, on the same machine with the same versions of libraries.

        Parameters
        ----------
        words : sequence of str, or path, optional
            Which words: listed, or a file with a word per line. By default the most frequent ones.
        top : int, optional
            How many words, the most frequent ones; by default 10,000, or all if there are fewer.
        method : str
            "umap" (umap-learn, of its nearest words by cosine), "pca" or "tsne" (scikit-learn).
        labels : path, VertexLabels or dict, optional
            The label or labels of words: groups for colours. A file is read by `read_labels`. A word with several
            labels is in the group of the most frequent one.
        skip_unknown : bool
            Leave out labels of words that have no vector; otherwise they are an error.
        clusters : int, optional
            How many classes of k-means to group the words by, in place of labels. A class is named by three words:
            those whose places by frequency, and by nearness to its centre, have the least sum.
        neighbours : int
            How many nearest words of each word to list, of those shown; 0 for none.
        seed : int
            Of random numbers.
        **settings : float
            Of umap-learn: `n_neighbors`, `min_dist`, `spread`, `n_epochs`, `negative_sample_rate`. Of t-SNE:
            `perplexity`, `early_exaggeration`, `learning_rate`, `max_iter`.

        Returns
        -------
        WordMap
            `words`; `coordinates`, float32, shape (n, 2); `neighbours`, `cosines`, `groups`. Its `save` writes a page
            or a picture.

        Raises
        ------
        UnknownWordError
            If one of the `words` is unknown.
        Any2VecError
            If there are fewer than three words, a vector is not finite, all vectors point the same way, an argument is
            invalid, or a library is not installed.
        """
        from any2vec.plot import projection
        from any2vec.plot.word_map import WordMap

        method = projection.check_method(method, settings)
        seed, neighbours = whole_number("seed", seed, 0), whole_number("neighbours", neighbours, 0)
        if labels is not None and clusters is not None:
            raise Any2VecError("`labels` and `clusters` both give words their groups; give one of them")
        ids = self._shown(words, top)
        if len(ids) < projection.FEWEST:
            raise Any2VecError(f"a map needs at least {projection.FEWEST} words, not {len(ids)}")
        if self.dim < 2:
            raise Any2VecError("vectors of 1 dimension have no map: it needs at least 2")
        names = [self.words[i] for i in ids]
        grouped: Groups | None = None
        if labels is not None:
            grouped = projection.by_labels(names, labels, self, skip_unknown=skip_unknown)
        elif clusters is not None:
            grouped = self._clusters(names, ids, clusters, seed)
        rows = directions(self.matrix[ids], self.norms[ids])
        topn = max(min(neighbours, len(ids) - 1), projection.wanted_neighbours(method, len(ids), settings))
        projection.check_rows(rows)
        if method == "umap":
            _log.info("UMAP is compiled first: some 10 seconds, or half a minute for many words")
        near, cosines = np.empty((len(rows), 0), np.int32), np.empty((len(rows), 0), np.float32)
        if topn:
            near, cosines = neighbour_graph(rows, topn, seed=seed)
        places = projection.project(rows, method, (near, cosines), seed=seed, settings=settings)
        return WordMap(names, places, method, near[:, :neighbours], cosines[:, :neighbours], grouped)

    def plot(
        self,
        words: "str | os.PathLike[str] | Sequence[str | int] | None" = None,
        top: int | None = None,
        *,
        width: float = 8.0,
        height: float = 6.0,
        **how: Any,
    ) -> "Figure":
        """Draw a map of words as a figure of matplotlib, with as many words as do not overlap.

        Parameters
        ----------
        words, top, **how
            As for `map`.
        width, height : float
            Size of the figure in inches.

        Returns
        -------
        matplotlib.figure.Figure
            `figure.savefig(path)` saves it.

        Raises
        ------
        Any2VecError
            As `map` does, or if the size is not 0.5 to 100 inches.
        """
        from any2vec.plot.word_map import check_size

        check_size(width, height)
        return self.map(words, top, **{"neighbours": 0, **how}).figure(width, height)

    def _shown(self, words: Any, top: int | None) -> NDArray[np.int64]:
        """Return the ids of the words to show."""
        if words is None:
            return np.arange(min(TOP if top is None else whole_number("top", top, 1), len(self)))
        if top is not None:
            raise Any2VecError("`words` and `top` both say which words to show; give one of them")
        source = "words"
        if (
            isinstance(words, str)
            and words in self.vocabulary.ids
            and not (can_be_path(words) and Path(words).is_file())
        ):
            words = [words]
        if isinstance(words, str | os.PathLike):
            source = str(words)
            words = [line for line in read_lines(as_path(words)) if line]
        elif isinstance(words, bytes) or not hasattr(words, "__iter__"):
            raise Any2VecError(f"words: a list of words or a file of them is expected, not {shown(words)}")
        listed = list(dict.fromkeys(map(self._name, words)))
        unknown = [word for word in listed if word not in self.vocabulary.ids]
        if len(unknown) == 1:
            raise UnknownWordError(f"{source}: no vector for {shown(unknown[0])}", partial(self._hint, unknown[0]))
        if unknown:
            some = ", ".join(map(shown, unknown[:_NAMED])) + ", ..." * (len(unknown) > _NAMED)
            raise UnknownWordError(f"{source}: {len(unknown):,} of {len(listed):,} words have no vector: {some}")
        return np.array([self.vocabulary.ids[word] for word in listed], np.int64)

    def _name(self, word: Any) -> str:
        name = self._as_word(word)
        if not isinstance(name, str):
            raise Any2VecError(f"words: a word is expected, not {shown(word)}")
        return name

    def _clusters(self, names: list[str], ids: NDArray[np.int64], number: int, seed: int) -> "Groups":
        from any2vec.plot.projection import MOST, by_classes

        if (number := whole_number("clusters", number, 1)) > len(ids):
            raise Any2VecError(f"`clusters` is {number:,}, but the map has {len(ids):,} words; give at most as many")
        if number > MOST:
            raise Any2VecError(f"`clusters` is {number:,}; a map has colours for {MOST}")
        some = Lookup(names, self.matrix[ids])
        found = classes(some, number, seed=seed, threads=1)
        return by_classes(names, ids, some.matrix, found)
