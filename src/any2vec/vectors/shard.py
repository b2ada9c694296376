"""Vectors that lie on many hosts: each host's shard."""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from any2vec.cluster.communicator import Communicator, exchange, together
from any2vec.errors import Any2VecError, shown
from any2vec.io.outputs import refusals
from any2vec.vectors.vectors import Vectors

__all__ = ["Shard", "make_shard"]


@dataclass(frozen=True)
class Shard:
    """The rows of one host, and what the first host must know of all to write them."""

    own: Vectors
    """This host's rows; those of all hosts, in host order, are the whole."""
    training: bool
    """Whether the training vectors t are saved as well."""
    communicator: Communicator
    total: int
    """V, the number of words of the whole."""
    words: Sequence[str]
    """On the first host all words, length V; empty on others."""
    counts: NDArray[np.int64]
    """On the first host all counts, shape (V,); empty on others."""

    @property
    def first(self) -> bool:
        """Whether this is the first host, which writes what occurs once."""
        return self.communicator.rank == 0

    @property
    def header(self) -> bytes:
        """The first line of word2vec's formats on the first host; empty on others."""
        return f"{self.total} {self.own.dim}\n".encode() if self.first else b""


def make_shard(own: Vectors, training: bool, communicator: Communicator, path: Path) -> Shard:
    """Gather words and counts on the first host; matrices stay. All hosts raise if a word occurs on two of them."""
    if communicator.size == 1:
        _check_number(len(own), path)
        return Shard(own, training, communicator, len(own), own.vocabulary.words, own.counts)
    sizes = communicator.allgather(np.array([len(own), own.dim], np.int64))
    if len(dims := set(sizes[:, 1].tolist())) > 1:
        raise Any2VecError(f"{path}: not saved: the vectors of the hosts have {sorted(dims)} dimensions")
    _check_number(int(sizes[:, 0].sum()), path)
    with together(communicator), refusals(path, communicator):
        text = json.dumps(list(own.vocabulary.words)).encode()
    parts = _to_first(communicator, np.frombuffer(text, np.uint8))
    counts = np.concatenate(_to_first(communicator, own.counts))
    with together(communicator), refusals(path, communicator):
        words = [word for part in parts if len(part) for word in json.loads(part.tobytes())]
        if len(set(words)) < len(words):
            twice = next(word for word, times in Counter(words).items() if times > 1)
            raise Any2VecError(f"{path}: not saved: the word {shown(twice)} occurs twice; a word has one vector")
    return Shard(own, training, communicator, int(sizes[:, 0].sum()), words, counts)


def _check_number(words: int, path: Path) -> None:
    if not words:
        raise Any2VecError(f"{path}: not saved: there are no vectors")


def _to_first(communicator: Communicator, values: NDArray[np.generic]) -> list[NDArray[np.generic]]:
    """Send arrays of any length to the first host, which gets them in host order; others get empty ones."""
    send_counts = np.zeros(communicator.size, np.int64)
    send_counts[0] = len(values)
    received, counts = exchange(communicator, np.ascontiguousarray(values), send_counts)
    return np.split(received, np.cumsum(counts)[:-1])
