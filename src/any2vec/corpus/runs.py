"""Runs of connector words between two words of a text, such as "of the", as numbers."""

import numpy as np
from numpy.typing import NDArray

from any2vec.corpus.id_text import END, IdText
from any2vec.corpus.pair_table import find, hash_pair, pack, put
from any2vec.corpus.scan import Piece
from any2vec.corpus.scores import RARE
from any2vec.llvm.compiled import njit

__all__ = ["NO_RUN", "Runs", "longer"]

NO_RUN = 0
FIRST_RUNS = 1 << 10


class Runs:
    """The runs after words that may begin a phrase; each is a shorter run (`NO_RUN`: none) and one more word.

    `befores` has what is before each piece: the last word that is no connector (-1: none) and the run after it.
    """

    def __init__(self, text: IdText, weights: list[NDArray[np.float32]], across: bool) -> None:
        self.slots = np.zeros(4 * FIRST_RUNS, np.uint64)
        self._parts = np.zeros((FIRST_RUNS, 2), np.int32)
        self._number = 1
        self.befores: list[tuple[Piece, int, int]] = []
        before, weight, run = -1, RARE, NO_RUN
        for piece, ids in zip(text.pieces, text.views(), strict=True):
            self.befores.append((piece, before, run))
            own, at = (text.final[piece.part], weights[piece.part]), 0
            while True:
                state = (before, weight, run, self._number)
                at, before, weight, run, self._number = _learn(ids, at, *own, across, *state, self.slots, self._parts)
                if at == len(ids):
                    break
                self._grow()

    def words(self, run: int) -> tuple[int, ...]:
        """Return the ids of a run's words."""
        words: list[int] = []
        while run != NO_RUN:
            run, word = self._parts[run].tolist()
            words.append(word)
        return tuple(reversed(words))

    def _grow(self) -> None:
        self._parts = np.concatenate((self._parts, np.zeros_like(self._parts)))
        self.slots = np.zeros(2 * len(self.slots), np.uint64)
        _fill(self._parts, self._number, self.slots)


@njit(nogil=True, cache=True)
def longer(run: int, word: int, slots: NDArray[np.uint64]) -> int:
    """Return the number of a run and one more word, -1 if there is none."""
    pair = pack(run, word)
    return find(pair, hash_pair(pair), slots)


@njit(nogil=True, cache=True)
def _learn(
    ids: NDArray[np.int32],
    at: int,
    final: NDArray[np.int32],
    weights: NDArray[np.float32],
    across: bool,
    before: int,
    weight: np.float32,
    run: int,
    number: int,
    slots: NDArray[np.uint64],
    parts: NDArray[np.int32],
) -> tuple[int, int, np.float32, int, int]:
    """Give numbers to the runs of a piece from `at` on; return the state and where it is full or done."""
    for i in range(at, ids.size):
        if ids[i] >= 0:
            word = int(final[ids[i]])
            if weights[ids[i]] >= 0:
                before, weight, run = word, weights[ids[i]], NO_RUN
            elif weight < RARE:
                found = longer(run, word, slots)
                if found < 0:
                    if number == len(parts):
                        return i, before, weight, run, number
                    found = number
                    pair = pack(run, word)
                    put(pair, hash_pair(pair), found, slots)
                    parts[found, 0], parts[found, 1] = run, word
                    number += 1
                run = found
        elif ids[i] == END and not across:
            before, weight, run = -1, RARE, NO_RUN
    return ids.size, before, weight, run, number


@njit(nogil=True, cache=True)
def _fill(parts: NDArray[np.int32], number: int, slots: NDArray[np.uint64]) -> None:
    for run in range(1, number):
        pair = pack(parts[run, 0], parts[run, 1])
        put(pair, hash_pair(pair), run, slots)
