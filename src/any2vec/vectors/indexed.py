"""Indexes of vectors: building one, and loading what was saved."""

import os

from any2vec.vectors.index import Index, build
from any2vec.vectors.lookup import Lookup

__all__ = ["Indexed"]


class Indexed(Lookup):
    """`index` and `load_index`."""

    def index(self, *, recall: float = 0.98, topn: int = 10, seed: int = 1, threads: int | None = None) -> Index:
        """Build an index, in which `most_similar` finds the nearest words of many without comparing all.

        It pays from some 100,000 words on. Some of the nearest words are missed; the cosines of the others are exact.

        Parameters
        ----------
        recall : float
            The share of the nearest words to find, between 0 and 1: more lists are searched until that share is
            found, on average, for up to 1,000 of the words.
        topn : int
            The number of answers that `recall` is for. With more answers fewer of them are the nearest.
        seed : int
            Of k-means and of the words that recall is measured on.
        threads : int, optional
            Threads that build it; all cores by default.

        Returns
        -------
        Index
            For ``most_similar(..., index=)`` and ``most_similar_batch(..., index=)``; its `recall` is what was
            measured, and its `save` writes it to a file.

        Raises
        ------
        Any2VecError
            If a vector is not finite, an argument is invalid, or faiss is not installed.
        """
        return build(self, recall, topn, seed, threads)

    def load_index(self, path: str | os.PathLike[str]) -> Index:
        """Load an index of these vectors that was saved, memory-mapped: programs on a machine share its memory.

        Raises
        ------
        Any2VecError
            If it is of other vectors, damaged or cannot be read, or faiss is not installed.
        """
        from any2vec.vectors.index import load_index

        return load_index(self, path)
