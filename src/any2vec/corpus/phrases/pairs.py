"""Pairs of words that may be phrases: a table of pairs, their scores, and the runs of connector words between them."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from any2vec.corpus.scan import END, IdText, Piece
from any2vec.llvm.compiled import njit

_PRIME, HALF, _ONE, _TWO = np.uint64(0x9E3779B97F4A7C15), np.uint64(32), np.uint64(1), np.uint64(2)


@njit(nogil=True, cache=True)
def hash_pair(pair: np.uint64) -> np.uint64:
    """Hash two ids, packed in 64 bits; the highest bits are the best."""
    hashed = (pair ^ (pair >> HALF)) * _PRIME
    return np.uint64((hashed ^ (hashed >> HALF)) * _PRIME)


@njit(nogil=True, cache=True)
def _slot_of(first: int, second: int, slots: NDArray[np.uint64]) -> tuple[np.uint64, np.uint64]:
    """Return two ids, packed and plus 1, and where they are in a table, or where the empty slot for them is."""
    pair = np.uint64((np.uint64(first) << HALF) | np.uint64(second))
    mask = np.uint64(slots.size - 2)
    slot = (hash_pair(pair) >> HALF) & mask
    while slots[slot] != 0 and slots[slot] != pair + _ONE:
        slot = (slot + _TWO) & mask
    return pair + _ONE, slot


@njit(nogil=True, cache=True)
def find(first: int, second: int, slots: NDArray[np.uint64]) -> int:
    """Return the number of a pair of ids; -1 if it is not in the table."""
    _, slot = _slot_of(first, second, slots)
    return int(np.int64(slots[slot + _ONE])) if slots[slot] != 0 else -1


@njit(nogil=True, cache=True)
def _put(first: int, second: int, number: int, slots: NDArray[np.uint64]) -> None:
    key, slot = _slot_of(first, second, slots)
    slots[slot], slots[slot + _ONE] = key, np.uint64(number)


@njit(nogil=True, cache=True)
def put_all(pairs: NDArray[np.int64], number: int, slots: NDArray[np.uint64]) -> None:
    """Add rows of two ids, numbered from `number` on, to a table that is not full."""
    for i in range(len(pairs)):
        _put(pairs[i, 0], pairs[i, 1], number + i, slots)


WORD2PHRASE, NPMI = "word2phrase", "npmi"
SCORINGS = (WORD2PHRASE, NPMI)

CONNECTOR = np.float32(-1)  # the weight of a connector word
RARE = np.float32(np.inf)  # of a word that is in no phrase
_SLACK = 1 - 1e-5  # of a bound in float32


@dataclass(frozen=True)
class Rule:
    """The rule for phrases: both words and the pair occur `min_count` times, and the score is above `threshold`."""

    threshold: float
    min_count: int
    delta: float
    across_lines: bool = False
    scoring: str = WORD2PHRASE

    def weights(self, counts: NDArray[np.int64], words: int) -> NDArray[np.float32]:
        """Return what `may_be_phrase` takes of words with these counts, in a text of so many words."""
        weights = counts.astype(np.float32)
        if self.scoring == NPMI:
            weights = -np.log(np.maximum(counts, 1) / words).astype(np.float32)
        weights[counts < self.min_count] = RARE
        return weights

    def factor(self, words: int) -> np.float32:
        """Return the factor that `may_be_phrase` takes."""
        bound = max(self.threshold, 0) if self.scoring == NPMI else self.threshold / words
        return np.float32(_SLACK * bound)

    def phrases(
        self, counts: NDArray[np.int64], firsts: NDArray[np.int64], seconds: NDArray[np.int64], words: int
    ) -> tuple[NDArray[np.bool], NDArray[np.float32]]:
        """Return which pairs are phrases, by the counts of pairs and of their words, and the scores of all pairs."""
        if self.scoring == NPMI:  # in float64 as in gensim, the other after each step in float32 as in word2phrase
            exact = _npmi(counts, firsts, seconds, float(words))
            return exact > self.threshold, exact.astype(np.float32)
        scores = (counts - float(self.delta)).astype(np.float32)
        for ones in (firsts, seconds):
            scores /= ones.astype(np.float32)
        scores *= np.float32(words)
        return scores > np.float32(self.threshold), scores


@njit(nogil=True, cache=True)
def may_be_phrase(a: np.float32, b: np.float32, delta: np.float32, factor: np.float32, npmi: bool) -> bool:
    """Whether two words would be a phrase if the rarer one never occurred without the other, by their weights."""
    if npmi:
        return bool((max(a, b) < RARE) & (min(a, b) >= factor * max(a, b)))
    return bool(min(a, b) - delta >= factor * a * b)


@njit(nogil=True, cache=True)
def _npmi(
    counts: NDArray[np.int64], firsts: NDArray[np.int64], seconds: NDArray[np.int64], words: float
) -> NDArray[Any]:
    scores = np.empty(counts.size, np.float64)
    for i in range(counts.size):
        a, b, both = firsts[i] / words, seconds[i] / words, counts[i] / words
        scores[i] = math.log(both / (a * b)) / -math.log(both)
    return scores


NO_RUN = 0
_FIRST_RUNS = 1 << 10


class Runs:
    """The runs after words that may begin a phrase; each is a shorter run (`NO_RUN`: none) and one more word."""

    def __init__(self, text: IdText, weights: list[NDArray[np.float32]], across: bool) -> None:
        self.slots = np.zeros(4 * _FIRST_RUNS, np.uint64)
        self._parts = np.zeros((_FIRST_RUNS, 2), np.int64)
        self._number = 1
        self.befores: list[tuple[Piece, int, int]] = []  # a piece, the last other word before it (or -1), and its run
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
        put_all(self._parts[1 : self._number], 1, self.slots)


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
    parts: NDArray[np.int64],
) -> tuple[int, int, np.float32, int, int]:
    """Give numbers to the runs of a piece from `at` on; return the state and where it is full or done."""
    for i in range(at, ids.size):
        if ids[i] >= 0:
            word = int(final[ids[i]])
            if weights[ids[i]] >= 0:
                before, weight, run = word, weights[ids[i]], NO_RUN
            elif weight < RARE:
                found = find(run, word, slots)
                if found < 0:
                    if number == len(parts):
                        return i, before, weight, run, number
                    found = number
                    _put(run, word, found, slots)
                    parts[found, 0], parts[found, 1] = run, word
                    number += 1
                run = found
        elif ids[i] == END and not across:
            before, weight, run = -1, RARE, NO_RUN
    return ids.size, before, weight, run, number
