"""`Owners`: questions about vertices, which the hosts answer that have their rows.

All hosts ask at the same time, again and again, until none has a question. A question is a row of words, the vertex
first; its answer is one of fewer words. Answers come back in the order of the questions, so nothing says whose they
are.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from any2vec.cluster.communicator import Communicator
from any2vec.cluster.local import computing
from any2vec.cluster.lost import DamagedError, checked_counts
from any2vec.llvm.compiled import njit

__all__ = ["Owners"]

Answer = Callable[[NDArray[np.uint32], NDArray[np.uint32]], None]

_FEW = 4096  # questions that one thread answers at a time, at least


class Owners:
    """The hosts of a group, each of which has the rows of some vertices.

    Parameters
    ----------
    communicator : Communicator
        Connects them.
    cuts : int64 array, shape (H + 1,)
        Host h has vertices ``cuts[h]`` to ``cuts[h + 1] - 1``.
    answer : callable
        ``answer(questions, answers)`` answers questions about this host's vertices, which are counted from its first;
        on any thread.
    words : int
        Words of an answer.
    pool : ThreadPoolExecutor, optional
        Its threads answer.
    threads : int
        How many.

    Attributes
    ----------
    sent : int
        Bytes that this host has sent to others.
    asked : int
        Its questions.
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
        self._communicator, self._cuts, self._answer, self._words = communicator, cuts, answer, words
        self._pool, self._threads = pool, threads
        self.sent = self.asked = 0

    def ask(self, questions: NDArray[np.uint32]) -> tuple[NDArray[np.uint32], NDArray[np.int32]] | None:
        """Ask; return answers, and which of them is each question's. None if no host has a question."""
        communicator = self._communicator
        size, rank, many = communicator.size, communicator.rank, len(questions)
        send, places = np.empty_like(questions), np.empty(many, np.int32)
        counts = np.zeros((size, 2), np.int64)
        _sort(questions, self._cuts, send, places, counts)
        counts[:, 1] = many
        ones, theirs = np.ones(size, np.int64), np.empty((size, 2), np.int64)
        communicator.ialltoallv(counts, ones, theirs, ones).wait()
        if not theirs[:, 1].any():
            return None
        mine, asked = counts[:, 0].copy(), checked_counts(theirs[:, 0].copy())
        received = np.empty((int(asked.sum()), questions.shape[1]), np.uint32)
        communicator.ialltoallv(send, mine, received, asked).wait()
        self._check(received, asked)
        replies, answers = np.empty((len(received), self._words), np.uint32), np.empty((many, self._words), np.uint32)
        self._reply(received, replies)
        communicator.ialltoallv(replies, asked, answers, mine).wait()
        self.asked += many
        abroad = (
            received.itemsize * (many - mine[rank]) * questions.shape[1],
            (len(replies) - asked[rank]) * self._words,
        )
        self.sent += int(abroad[0] + replies.itemsize * abroad[1]) + counts.itemsize * 2 * (size - 1)
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
            with computing(self._communicator):
                self._answer(received[slice(*cut)], replies[slice(*cut)])

        list(self._pool.map(some, pairwise(len(received) * i // parts for i in range(parts + 1))))


@njit(nogil=True, cache=True)
def _sort(questions: Any, cuts: Any, send: Any, places: Any, counts: Any) -> None:
    """Put questions in the order of the hosts that own their vertices, count those of each, and note their places."""
    hosts = cuts.size - 1
    for i in range(questions.shape[0]):
        low, high = 0, hosts
        while high - low > 1:
            middle = (low + high) >> 1
            if questions[i, 0] >= cuts[middle]:
                low = middle
            else:
                high = middle
        places[i] = low
        counts[low, 0] += 1
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
