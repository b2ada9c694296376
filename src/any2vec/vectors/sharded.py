"""Vectors that lie on many hosts, asked where they are: only queries and answers travel (glint-word2vec, 3.1)."""

import json
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from any2vec.cluster.communicator import Communicator, allgather_bytes, allreduce, together
from any2vec.errors import Any2VecError, UnknownWordError, shown
from any2vec.vectors.arguments import as_word, asked, whole_number
from any2vec.vectors.neighbours import Queries, Similar, weighted
from any2vec.vectors.search import nearest, unit
from any2vec.vectors.vectors import Vectors

__all__ = ["ShardedVectors"]


class ShardedVectors:
    """The vectors of all hosts, each with its own rows: what `fit` leaves on a cluster.

    All hosts call its methods, with the same arguments, and get the same answers.

    Parameters
    ----------
    own : Vectors
        This host's rows; a word is on one host.
    communicator : Communicator
        The hosts, ``any2vec.cluster.connect()``.

    Examples
    --------
    >>> from any2vec.cluster import connect
    >>> vectors = Vectors(["north", "south"], np.eye(2, dtype=np.float32))
    >>> ShardedVectors(vectors, connect()).most_similar("north")
    [('south', 0.0)]
    """

    def __init__(self, own: Vectors, communicator: Communicator) -> None:
        self.own, self.communicator = own, communicator
        sizes = communicator.allgather(np.array([len(own), own.dim], np.int64))
        with together(communicator):
            if len(dims := set(sizes[:, 1].tolist())) > 1:
                raise Any2VecError(f"the vectors of the hosts have {sorted(dims)} dimensions")
        texts = communicator.allgather(np.array([len(own) > 0 and not own.of_integers]))
        self._of_integers = not texts.any()
        self._first = int(sizes[: communicator.rank, 0].sum())
        self._size = int(sizes[:, 0].sum())

    def __len__(self) -> int:
        """V, the words of all hosts."""
        return self._size

    @property
    def dim(self) -> int:
        """D."""
        return self.own.dim

    def __repr__(self) -> str:
        return f"<ShardedVectors: {len(self):,} words of {self.dim} dimensions on {self.communicator.size} hosts>"

    def __contains__(self, word: object) -> bool:
        """Whether a word is on some host; all hosts call this."""
        here = (isinstance(word, str) or self._of_integers) and as_word(word) in self.own.vocabulary.ids
        return bool(self.communicator.allgather(np.array([here])).any())

    def __getitem__(self, words: str | Sequence[str]) -> NDArray[np.float32]:
        """Return the vectors of n words, shape (n, D), or of one word, shape (D,); raise an UnknownWordError."""
        listed = self._listed(words)
        rows = self._gathered(listed, self.own.matrix)
        return rows[0] if isinstance(self._as_word(words), str) else rows

    def norms(self, words: Sequence[str]) -> NDArray[np.float32]:
        """Return the lengths of the vectors of some words, shape (n,); raise an UnknownWordError."""
        return self._gathered(self._listed(words), self.own.norms)

    def mean(self, words: Iterable[str]) -> NDArray[np.float32]:
        """Return the mean vector of some words, those that are known, shape (D,): each host sends one row.

        Raises
        ------
        UnknownWordError
            If none is.
        """
        names = [self._as_word(word) for word in self._listed(words)]
        ids = [found for name in names if (found := self.own.vocabulary.ids.get(name)) is not None]
        own = np.zeros(self.dim + 1)
        own[-1] = len(ids)
        for begin in range(0, len(ids), 1 << 14):
            own[:-1] += self.own.matrix[ids[begin : begin + (1 << 14)]].sum(axis=0, dtype=np.float64)
        total = allreduce(self.communicator, own)
        if not total[-1]:
            raise UnknownWordError("none of the words has a vector")
        return np.asarray(total[:-1] / total[-1], np.float32)

    def most_similar(self, positive: Queries | None = None, negative: Queries | None = None, topn: int = 10) -> Similar:
        """Find the words nearest to the mean of the positive inputs and the negated negative ones.

        As `Vectors.most_similar`: words are normalised to unit length, vectors taken as they are, and input words are
        no answers.

        Parameters
        ----------
        positive, negative : str, vector of shape (D,), or a sequence of these
            What the answers should be near to, and far from; a tuple (word or vector, weight) has that weight.
        topn : int
            How many answers.

        Returns
        -------
        list of (str, float)
            Words and cosines, nearest first, ties in the order of ids.

        Raises
        ------
        UnknownWordError
            If a word is unknown.
        Any2VecError
            If an argument is invalid, or there is no input.
        """
        topn = whole_number("topn", topn, 0)
        queries, weights = weighted(self._as_word(positive), 1.0, self._as_word)
        others, more = weighted(negative, -1.0, self._as_word)
        queries, weights = queries + others, weights + more
        if not queries:
            raise Any2VecError("most_similar needs at least one word or vector")
        words = [query for query in queries if isinstance(query, str)]
        here, places = self._find(words)
        rows = self[words] if words else np.empty((0, self.dim), np.float32)
        units = iter(unit(rows))
        known = [next(units) if isinstance(query, str) else query for query in queries]
        mean = self.own.get_mean_vector(known, weights)[None]
        if not topn:
            return []
        ids, cosines = nearest(self.own.matrix, self.own.norms, mean, topn, places[here][None])
        near = [
            [-float(cosine), self._first + row, self.own.words[row]]
            for row, cosine in zip(ids[0].tolist(), cosines[0].tolist(), strict=True)
            if row >= 0
        ]
        answers = [
            a for part in allgather_bytes(self.communicator, json.dumps(near).encode()) for a in json.loads(part)
        ]
        return [(word, -cosine) for cosine, _, word in sorted(answers)[:topn]]

    def _gathered(self, words: list[str], own: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return what the hosts have of words, by the rows of each host's own array."""
        here, places = self._find(words)
        found = np.zeros((len(words), *own.shape[1:]), np.float32)
        found[here] = own[places[here]]
        whole: NDArray[np.float32] = allreduce(self.communicator, found)  # others have zeros: it is exact
        return whole

    def _find(self, words: list[str]) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
        """Find words: which are here, and their rows; raise an UnknownWordError on all hosts if one is nowhere."""
        names = [self._as_word(word) for word in words]
        ids = self.own.vocabulary.ids
        places = np.array([ids.get(name, -1) if isinstance(name, str) else -1 for name in names], np.int64)
        known = allreduce(self.communicator, (places >= 0).astype(np.int64))
        if (missing := np.flatnonzero(known == 0)).size:
            raise UnknownWordError(f"no vector for {shown(words[int(missing[0])])}")
        return places >= 0, places

    def _as_word(self, value: Any) -> Any:
        return asked(value, self._of_integers)

    def _listed(self, words: Any) -> list[Any]:
        """List words; one alone is not taken for its letters, nor bytes for integers."""
        return [words] if isinstance(self._as_word(words), str | bytes) else list(words)
