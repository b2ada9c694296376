"""Vectors that lie on many hosts, asked where they are: only queries and answers travel (glint-word2vec, 3.1)."""

import json
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from any2vec.cluster.communicator import Communicator, allgather_bytes, allreduce, together
from any2vec.errors import Any2VecError, UnknownWordError, shown
from any2vec.options import as_word, asked, whole_number
from any2vec.vectors import Vectors
from any2vec.vectors.neighbours import Queries, Similar, weighted
from any2vec.vectors.search import nearest, unit


class ShardedVectors:
    """The vectors of all hosts, each with its own rows: what `fit` leaves on a cluster.

    All hosts call its methods, with the same arguments, and get the same answers. If words have parts, so do unknown
    words have vectors: each host adds up the rows of the parts that it has.

    Parameters
    ----------
    own : Vectors
        This host's rows; a word is on one host, and so is a row of a part.
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
        with_parts = np.flatnonzero(communicator.allgather(np.array([own.parts is not None])))
        self._has_parts = bool(with_parts.size)
        self._is_first = communicator.rank == min(with_parts, default=-1)
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
        """Whether a word is on some host, or has a vector from its parts; all hosts call this."""
        name = as_word(word)
        if not isinstance(name, str) or not (isinstance(word, str) or self._of_integers):
            return False
        known = bool(self.communicator.allgather(np.array([name in self.own.vocabulary.ids])).any())
        return known or bool(self._made([name]).any())

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
        if self._has_parts:
            made = self._made([name for name, known in zip(names, self._places(names)[1], strict=True) if not known])
            total += np.append(made.sum(axis=0, dtype=np.float64), np.count_nonzero(made.any(axis=1)))
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
        queries, weights = weighted(positive, negative, self._as_word)
        words = [query for query in queries if isinstance(query, str)]
        here, places, _, _ = self._find(words)
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
        here, places, missing, made = self._find(words)
        found = np.zeros((len(words), *own.shape[1:]), np.float32)
        found[here] = own[places[here]]
        whole: NDArray[np.float32] = allreduce(self.communicator, found)  # others have zeros: it is exact
        whole[missing] = made if whole.ndim > 1 else np.linalg.norm(made, axis=1)
        return whole

    def _find(
        self, words: list[str]
    ) -> tuple[NDArray[np.bool_], NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]]:
        """Find words: which are here, and their rows; which are on no host, and their vectors from their parts."""
        names = [self._as_word(word) for word in words]
        places, known = self._places(names)
        missing = np.flatnonzero(~known)
        made = self._made([names[i] for i in missing])
        if (lacking := missing[~made.any(axis=1)]).size:
            raise UnknownWordError(f"no vector for {shown(words[int(lacking[0])])}")
        return places >= 0, places, missing, made

    def _places(self, names: list[Any]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Return the rows of words that are here, -1 of others, and which words are on some host."""
        ids = self.own.vocabulary.ids
        places = np.array([ids.get(name, -1) if isinstance(name, str) else -1 for name in names], np.int64)
        return places, allreduce(self.communicator, (places >= 0).astype(np.int64)) > 0

    def _made(self, names: list[Any]) -> NDArray[np.float32]:
        """Compute the vectors that words have from their parts alone, shape (n, D), zeros if from none."""
        sums, parts = np.zeros((len(names), self.dim + 1)), self.own.parts
        if not self._has_parts or not names:
            return sums[:, :-1].astype(np.float32)
        if parts is not None:
            bounds, numbers = parts.settings.lists([name if isinstance(name, str) else "" for name in names])
            of, places = np.repeat(np.arange(len(names)), np.diff(bounds)), parts.places(numbers)
            if self._is_first or not parts.whole:  # else the first host has the same rows
                has = places >= 0
                np.add.at(sums[:, :-1], of[has], parts.rows[places[has]])
            if self._is_first:
                sums[:, -1] = np.diff(bounds)
        total = allreduce(self.communicator, sums)
        return (total[:, :-1] / np.maximum(total[:, -1:], 1)).astype(np.float32)

    def _as_word(self, value: Any) -> Any:
        return asked(value, self._of_integers)

    def _listed(self, words: Any) -> list[Any]:
        """List words; one alone is not taken for its letters, nor bytes for integers."""
        return [words] if isinstance(self._as_word(words), str | bytes) else list(words)
