"""A host's share of vectors that lie on many hosts, and what is to be known of the whole to write it."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from any2vec.cluster.communicator import Communicator, exchange, together
from any2vec.errors import Any2VecError
from any2vec.io.outputs import refusals
from any2vec.vectors.vectors import Vectors

__all__ = ["Share", "share_of"]


@dataclass(frozen=True)
class Share:
    """The rows of one host.

    Attributes
    ----------
    own : Vectors
        The rows; those of all hosts in host order are the whole.
    communicator : Communicator
        This host's.
    number : int
        V, the number of words of the whole.
    words : sequence of str
        On the first host those of the whole, length V; empty on others.
    counts : int64 array
        On the first host those of the whole, shape (V,); empty on others.
    """

    own: Vectors
    communicator: Communicator
    number: int
    words: Sequence[str]
    counts: NDArray[np.int64]

    @property
    def first(self) -> bool:
        """Whether this is the first host, which writes what is there once."""
        return self.communicator.rank == 0

    @property
    def header(self) -> bytes:
        """The first line of word2vec's formats, where this host is to write it."""
        return f"{self.number} {self.own.dim}\n".encode() if self.first else b""


def share_of(own: Vectors, communicator: Communicator, path: Path) -> Share:
    """Learn what the rows of all hosts make; words and counts go to the first host, matrices nowhere.

    Parameters
    ----------
    own : Vectors
        This host's rows.
    communicator : Communicator
        This host's.
    path : Path
        Where the vectors are to be saved, for errors.

    Returns
    -------
    Share
        To be written.

    Raises
    ------
    Any2VecError
        On all hosts, if a word occurs on two of them or their dimensions differ.
    """
    if communicator.size == 1:
        return Share(own, communicator, len(own), own.words, own.counts)
    sizes = communicator.allgather(np.array([len(own), own.dim], np.int64))
    if len(dims := set(sizes[:, 1].tolist())) > 1:
        raise Any2VecError(f"{path}: not saved: the vectors of the hosts have {sorted(dims)} dimensions")
    with together(communicator), refusals(path, communicator):
        text = json.dumps(list(own.words)).encode()
    parts = _to_first(communicator, np.frombuffer(text, np.uint8))
    counts = np.concatenate(_to_first(communicator, own.counts))
    with together(communicator), refusals(path, communicator):
        words = [word for part in parts if len(part) for word in json.loads(part.tobytes())]
        _check_unique(words, path)
    return Share(own, communicator, int(sizes[:, 0].sum()), words, counts)


def _to_first(communicator: Communicator, values: NDArray[np.generic]) -> list[NDArray[np.generic]]:
    """Send arrays of any length to the first host, which gets them in host order; others get empty ones."""
    send_counts = np.zeros(communicator.size, np.int64)
    send_counts[0] = len(values)
    received, counts = exchange(communicator, np.ascontiguousarray(values), send_counts)
    return np.split(received, np.cumsum(counts)[:-1])


def _check_unique(words: Sequence[str], path: Path) -> None:
    seen = set(words)
    if len(seen) == len(words):
        return
    for word in words:  # the first to be met again
        if word not in seen:
            raise Any2VecError(f"{path}: not saved: the word {word!r} occurs twice; a word has one vector")
        seen.remove(word)
