"""`Owners`: questions about vertices, which the hosts answer that have their rows.

All hosts ask at the same time, again and again, until none has a question. A question is a row of words, the vertex
first; its answer is one of fewer words. Answers come back in the order of the questions, so nothing says whose they
are.
"""

from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np
from numba import int64
from numpy.typing import NDArray

from any2vec.cluster.communicator import Communicator, Counted, DamagedError, Request, checked_counts
from any2vec.llvm.compiled import njit

Answer = Callable[[NDArray[np.uint32], NDArray[np.uint32]], None]

_FEW = 4096  # questions that one thread answers at a time, at least


class Buffers:
    """Arrays of words that are used again and again: new ones would cost page faults."""

    def __init__(self) -> None:
        self._arrays: dict[str, NDArray[np.uint32]] = {}

    def __call__(self, name: str, rows: int, words: int) -> NDArray[np.uint32]:
        """Return the array of that name, of shape (rows, words)."""
        kept = self._arrays.get(name)
        if kept is None or kept.size < rows * words:
            kept = self._arrays[name] = np.empty(rows * words + rows * words // 4, np.uint32)
        return kept[: rows * words].reshape(rows, words)


class Owners:
    """The hosts of a group, each of which has the rows of some vertices: host h those from ``cuts[h]`` on.

    ``answer(questions, answers)`` answers questions about this host's vertices, which are counted from its first, in so
    many `words`; on any thread, such as those of a pool.
    """

    def __init__(
        self,
        communicator: Communicator,
        cuts: NDArray[np.int64],
        answer: Answer,
        words: int,
        pool: ThreadPoolExecutor | None = None,
        threads: int = 1,
    ) -> None:
        self._communicator, self._cuts, self._answer, self._words = Counted(communicator), cuts, answer, words
        self._pool, self._threads = pool, threads

    @property
    def sent(self) -> int:
        """Bytes that this host has sent to others."""
        return self._communicator.sent

    def ask(
        self, questions: NDArray[np.uint32], buffers: Buffers
    ) -> Generator[Request, None, tuple[NDArray[np.uint32], NDArray[np.int32]] | None]:
        """Ask; yield what is under way, to go on once it is done; return answers, and which of them is each question's.

        Both stay as they are until `buffers` are used again. None if no host has a question.
        """
        communicator = self._communicator
        size, (many, words) = communicator.size, questions.shape
        send, places = buffers("send", many, words), np.empty(many, np.int32)
        counts, theirs, ones = np.zeros((size, 2), np.int64), np.empty((size, 2), np.int64), np.ones(size, np.int64)
        _sort(questions, self._cuts, send, places, counts)
        counts[:, 1] = many
        yield communicator.ialltoallv(counts, ones, theirs, ones)
        if not theirs[:, 1].any():
            return None
        mine, asked = counts[:, 0].copy(), checked_counts(theirs[:, 0].copy())
        received = buffers("received", int(asked.sum()), words)
        yield communicator.ialltoallv(send, mine, received, asked)
        self._check(received, asked)
        replies, answers = buffers("replies", len(received), self._words), buffers("answers", many, self._words)
        self._reply(received, replies)
        yield communicator.ialltoallv(replies, asked, answers, mine)
        return answers, places

    def _check(self, received: NDArray[np.uint32], asked: NDArray[np.int64]) -> None:
        own = int(self._cuts[self._communicator.rank + 1] - self._cuts[self._communicator.rank])
        if len(received) and (wrong := received[:, 0]).max() >= own:
            host = int(np.searchsorted(np.cumsum(asked), int(wrong.argmax()), side="right"))
            raise DamagedError.of(host, f"{wrong.max():,} as one of {own:,} vertices")

    def _reply(self, received: NDArray[np.uint32], replies: NDArray[np.uint32]) -> None:
        """Answer what was asked, on threads if it is much."""
        parts = min(self._threads, len(received) // _FEW)
        if parts < 2 or self._pool is None:
            self._answer(received, replies)
            return

        def some(cut: tuple[int, int]) -> None:
            self._answer(received[slice(*cut)], replies[slice(*cut)])

        list(self._pool.map(some, pairwise(len(received) * i // parts for i in range(parts + 1))))


@njit(nogil=True, cache=True)
def _sort(questions: Any, cuts: Any, send: Any, places: Any, counts: Any) -> None:
    """Put questions in the order of the hosts that own their vertices, count those of each, and note their places."""
    hosts = cuts.size - 1
    half = 1
    while 2 * half < hosts:
        half *= 2
    for i in range(questions.shape[0]):
        vertex, host, step = int64(questions[i, 0]), 0, half
        while step > 0:  # no branch: it could not be predicted
            host += step * int64(vertex >= cuts[min(host + step, hosts)])
            step >>= 1
        places[i] = host
        counts[host, 0] += 1
    at = np.zeros(hosts, np.int64)
    for host in range(1, hosts):
        at[host] = at[host - 1] + counts[host - 1, 0]
    for i in range(questions.shape[0]):
        host = places[i]
        place = at[host]
        at[host] = place + 1
        places[i] = place
        send[place, 0] = questions[i, 0] - np.uint32(cuts[host])
        for k in range(1, questions.shape[1]):
            send[place, k] = questions[i, k]
