"""Pairs of words that may be phrases: their scores, the runs of connector words between them, and how they are counted.

Pairs are counted in parts by their hash, on disk, so that memory has to hold one part only. Words are adjacent if there
are only connector words between them; a pair with another run of these is another one.
"""

import math
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import chain, pairwise
from mmap import mmap
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from any2vec.cluster.workers import ordered
from any2vec.corpus.corpus import map_file, release
from any2vec.corpus.scan import END, IdText, Piece, lent
from any2vec.io.memory import write_all, zeros
from any2vec.llvm.compiled import njit

_PRIME, _HALF, _ONE, _TWO = np.uint64(0x9E3779B97F4A7C15), np.uint64(32), np.uint64(1), np.uint64(2)


@njit(nogil=True, cache=True)
def _hash_pair(pair: np.uint64) -> np.uint64:
    """Hash two ids, packed in 64 bits; the highest bits are the best."""
    hashed = (pair ^ (pair >> _HALF)) * _PRIME
    return np.uint64((hashed ^ (hashed >> _HALF)) * _PRIME)


@njit(nogil=True, cache=True)
def _slot_of(first: int, second: int, slots: NDArray[np.uint64]) -> tuple[np.uint64, np.uint64]:
    """Return two ids, packed and plus 1, and where they are in a table, or where the empty slot for them is."""
    pair = np.uint64((np.uint64(first) << _HALF) | np.uint64(second))
    mask = np.uint64(slots.size - 2)
    slot = (_hash_pair(pair) >> _HALF) & mask
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

_CONNECTOR = np.float32(-1)  # the weight of a connector word
_RARE = np.float32(np.inf)  # of a word that is in no phrase
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
        """Return what `_may_be_phrase` takes of words with these counts, in a text of so many words."""
        weights = counts.astype(np.float32)
        if self.scoring == NPMI:
            weights = -np.log(np.maximum(counts, 1) / words).astype(np.float32)
        weights[counts < self.min_count] = _RARE
        return weights

    def factor(self, words: int) -> np.float32:
        """Return the factor that `_may_be_phrase` takes."""
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
def _may_be_phrase(a: np.float32, b: np.float32, delta: np.float32, factor: np.float32, npmi: bool) -> bool:
    """Whether two words would be a phrase if the rarer one never occurred without the other, by their weights."""
    if npmi:
        return bool((max(a, b) < _RARE) & (min(a, b) >= factor * max(a, b)))
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


_NO_RUN = 0
_FIRST_RUNS = 1 << 10


class Runs:
    """The runs after words that may begin a phrase; each is a shorter run (`_NO_RUN`: none) and one more word."""

    def __init__(self, text: IdText, weights: list[NDArray[np.float32]], across: bool) -> None:
        self.slots = np.zeros(4 * _FIRST_RUNS, np.uint64)
        self._parts = np.zeros((_FIRST_RUNS, 2), np.int64)
        self._number = 1
        self.befores: list[tuple[Piece, int, int]] = []  # a piece, the last other word before it (or -1), and its run
        before, weight, run = -1, _RARE, _NO_RUN
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
        while run != _NO_RUN:
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
                before, weight, run = word, weights[ids[i]], _NO_RUN
            elif weight < _RARE:
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
            before, weight, run = -1, _RARE, _NO_RUN
    return ids.size, before, weight, run, number


_WORDS_PER_PART = 1 << 15  # so that a part fits into a core's cache
_FEWEST_PARTS, _MOST_PARTS = 4, 4096
_RELEASES = 16  # how often the memory that maps the pairs is given back


def find_bigrams(
    text: IdText, rule: Rule, connectors: NDArray[np.int32], folder: Path, threads: int
) -> tuple[list[tuple[int, ...]], NDArray[np.int64], NDArray[np.float32]]:
    """Find the pairs of words that are phrases by `rule`, in no particular order.

    Return the ids of each pair's words, with those of the connector words between them, counts and scores.
    """
    bits = int(np.clip(text.words // _WORDS_PER_PART, _FEWEST_PARTS, _MOST_PARTS)).bit_length() - 1
    of_words = rule.weights(text.counts, text.words)
    of_words[connectors] = _CONNECTOR
    weights = [of_words[ids] for ids in text.final]
    runs = Runs(text, weights, rule.across_lines) if len(connectors) else None
    befores = _befores(text, rule.across_lines) if runs is None else runs.befores
    writers = [_Writer(folder, number, bits, text, rule, weights, runs) for number in range(threads)]

    def write(writer: _Writer, item: tuple[Piece, int, int]) -> None:
        piece, before, run = item
        writer.write(piece, before, of_words[before] if before >= 0 else _RARE, run)

    def count(part: int) -> tuple[NDArray[Any], ...]:
        return _scored(writers, part, text, rule)

    found: list[tuple[NDArray[Any], ...]] = []
    try:
        with closing(ordered(lent(writers, write), befores, threads)) as written:
            for _ in written:
                pass
        for writer in writers:
            writer.close()
        with closing(ordered(count, range(1 << bits), threads)) as counted:
            for part, kept in enumerate(counted):
                found.append(kept)
                if part % max((1 << bits) // _RELEASES, 1) == 0:
                    release(chain.from_iterable(writer.maps for writer in writers))
    finally:
        for writer in writers:
            writer.remove()
    firsts, between, seconds, counts, scores = (np.concatenate(column) for column in zip(*found, strict=True))
    rows = zip(firsts.tolist(), between.tolist(), seconds.tolist(), strict=True)
    return [(first, *(runs.words(run) if runs else ()), second) for first, run, second in rows], counts, scores


class _Writer:
    """A thread's files of pairs, ordered by part within each piece, and of the runs between them, if there are some."""

    def __init__(
        self,
        folder: Path,
        number: int,
        bits: int,
        text: IdText,
        rule: Rule,
        weights: Sequence[NDArray[np.float32]],  # of the ids in each file
        runs: Runs | None,
    ) -> None:
        self._bits, self._text, self._rule, self._weights, self._runs = bits, text, rule, weights, runs
        self._ends = [np.zeros(1, np.int64)]  # of the parts of each piece
        self._pairs, self._between = zeros(0, np.uint64), zeros(0, np.int32)
        self._files = [(folder / f"{what}-{number}").open("wb", buffering=0) for what in ("pairs", "runs")]
        self.maps: list[mmap] = []

    def write(self, piece: Piece, before: int, weight: np.float32, run: int) -> None:
        """Write the pairs of a piece that may be phrases; a word of this id and weight, and a run, are before it."""
        ids, rule = self._text.load(piece), self._rule
        if len(ids) > len(self._pairs):
            self._pairs = zeros(len(ids), np.uint64)
            self._between = zeros(len(ids) if self._runs else 0, np.int32)
        own = self._text.final[piece.part], self._weights[piece.part]
        bound = (np.float32(rule.delta), rule.factor(self._text.words), rule.scoring == NPMI)
        slots = self._runs.slots if self._runs else np.zeros(0, np.uint64)
        state = (before, weight, run, rule.across_lines)
        size = _pairs(ids, *own, *state, *bound, slots, self._pairs, self._between)
        parts = (_hash_pair.py_func(self._pairs[:size]) >> np.uint64(64 - self._bits)).astype(np.uint16)
        order = np.argsort(parts, kind="stable")
        for file, column in zip(self._files, (self._pairs, self._between), strict=True):
            write_all(file, column[order] if len(column) else column)
        counts = np.bincount(parts, minlength=1 << self._bits)
        self._ends.append(np.cumsum(counts) + self._ends[-1][-1])

    def close(self) -> None:
        """Close the files, and map them."""
        for file in self._files:
            file.close()
        pairs, runs = (Path(file.name) for file in self._files)
        self._pairs, self._between = map_file(pairs, np.uint64, self.maps), map_file(runs, np.int32, self.maps)

    def part(self, part: int) -> Iterator[tuple[NDArray[np.uint64], NDArray[np.int32]]]:
        """Yield the pairs of a part, and the runs between them, by piece."""
        for before, ends in pairwise(self._ends):
            span = slice(ends[part - 1] if part else before[-1], ends[part])
            yield self._pairs[span], self._between[span]

    def remove(self) -> None:
        """Remove the files."""
        for file in self._files:
            file.close()
            Path(file.name).unlink()


def _befores(text: IdText, across: bool) -> Iterator[tuple[Piece, int, int]]:
    """Yield each piece with the word before it in the same sentence (or in any), -1 if there is none, and no run."""
    before = -1
    for piece, ids in zip(text.pieces, text.views(), strict=True):
        yield piece, before, _NO_RUN
        before = _last(ids, text.final[piece.part], before, across)


def _scored(writers: Sequence[_Writer], part: int, text: IdText, rule: Rule) -> tuple[NDArray[Any], ...]:
    """Count the pairs of a part; return the columns of those that are phrases, with runs between them."""
    written = chain.from_iterable(writer.part(part) for writer in writers)
    pairs, runs = (np.concatenate(column) for column in zip(*written, strict=True))
    if len(runs):
        distinct, places = np.unique(pairs, return_inverse=True)
        keys, counts = np.unique((places.astype(np.uint64) << _HALF) | runs.astype(np.uint64), return_counts=True)
        pairs, runs = distinct[keys >> _HALF], keys.astype(np.int32)
    else:
        pairs, counts = np.unique(pairs, return_counts=True)
        runs = np.zeros(len(pairs), np.int32)
    frequent = counts >= rule.min_count
    pairs, runs, counts = pairs[frequent], runs[frequent], counts[frequent]
    firsts, seconds = (pairs >> _HALF).astype(np.int32), pairs.astype(np.int32)
    kept, scores = rule.phrases(counts, text.counts[firsts], text.counts[seconds], text.words)
    return firsts[kept], runs[kept], seconds[kept], counts[kept], scores[kept]


@njit(nogil=True, cache=True)
def _last(ids: NDArray[np.int32], final: NDArray[np.int32], before: int, across: bool) -> int:
    for i in range(ids.size - 1, -1, -1):
        if ids[i] >= 0:
            return int(final[ids[i]])
        if ids[i] == END and not across:
            return -1
    return before


@njit(nogil=True, cache=True)
def _pairs(
    ids: NDArray[np.int32],
    final: NDArray[np.int32],
    weights: NDArray[np.float32],
    before: int,
    weight: np.float32,
    run: int,
    across: bool,
    delta: np.float32,
    factor: np.float32,
    npmi: bool,
    slots: NDArray[np.uint64],
    pairs: NDArray[np.uint64],
    runs: NDArray[np.int32],
) -> int:
    """Write the pairs of a piece that may be phrases by their weights, and the runs between; return their number."""
    size = 0  # grows without a branch, which could not be predicted
    last, a = np.uint64(before), weight
    for i in range(ids.size):
        if ids[i] >= 0:
            word, b = np.uint64(final[ids[i]]), weights[ids[i]]
            if b < 0:
                run = find(run, int(final[ids[i]]), slots) if a < _RARE else _NO_RUN
                continue
            pairs[size] = (last << _HALF) | word
            if runs.size > 0:
                runs[size] = run
            size += _may_be_phrase(a, b, delta, factor, npmi)
            last, a, run = word, b, _NO_RUN
        elif ids[i] == END and not across:
            a, run = _RARE, _NO_RUN
    return size
