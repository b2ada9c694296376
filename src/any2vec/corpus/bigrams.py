"""Count pairs of adjacent words: in parts by their hash, on disk, so that memory has to hold one part only."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from itertools import chain
from mmap import mmap
from pathlib import Path
from queue import SimpleQueue
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from any2vec.corpus.id_text import END, IdText
from any2vec.corpus.scan import Piece
from any2vec.corpus.worklist import map_file, release
from any2vec.io.disk import write_all
from any2vec.io.memory import zeros
from any2vec.io.ordered import ordered
from any2vec.llvm.compiled import njit

__all__ = ["Bigrams", "Rule", "find_bigrams", "hash_pair"]

WORDS_PER_PART = 1 << 15  # so that a part fits into a core's cache
FEWEST_PARTS, MOST_PARTS = 4, 4096
RELEASES = 16  # how often the memory that maps the pairs is given back
PRIME, HALF = np.uint64(0x9E3779B97F4A7C15), np.uint64(32)
SLACK = 1 - 1e-5  # of a bound in float64 on scores in float32


@dataclass(frozen=True)
class Rule:
    """Which pairs are phrases: both words and the pair occur `min_count` times, and the score is above `threshold`.

    With `across_lines`, pairs are counted across the ends of sentences too.
    """

    threshold: float
    min_count: int
    delta: float
    across_lines: bool = False


class Bigrams(NamedTuple):
    """Pairs of words: ids (int32), counts (int64) and scores (float32)."""

    firsts: NDArray[Any]
    seconds: NDArray[Any]
    counts: NDArray[Any]
    scores: NDArray[Any]


class _Segments(NamedTuple):
    """A thread's file of pairs, and for each piece written where each part of it ends."""

    pairs: NDArray[np.uint64]
    offsets: NDArray[np.int64]
    maps: list[mmap]


def find_bigrams(text: IdText, rule: Rule, folder: Path, threads: int) -> Bigrams:
    """Find the pairs of words that are phrases by `rule`, in no particular order; `folder` holds temporary files."""
    bits = int(np.clip(text.words // WORDS_PER_PART, FEWEST_PARTS, MOST_PARTS)).bit_length() - 1
    counts = np.where(text.counts >= rule.min_count, text.counts, np.inf).astype(np.float32)
    weights = [counts[ids] for ids in text.final]
    writers = [_Writer(folder / f"pairs-{number}", bits) for number in range(threads)]
    free: SimpleQueue[_Writer] = SimpleQueue()
    for writer in writers:
        free.put(writer)

    def write(item: tuple[Piece, int]) -> None:
        piece, before = item
        writer = free.get()
        try:
            weight = counts[before] if before >= 0 else np.float32(np.inf)
            writer.write(
                text.load(piece), text.final[piece.part], weights[piece.part], before, weight, rule, text.words
            )
        finally:
            free.put(writer)

    try:
        with closing(ordered(write, _befores(text, rule.across_lines), threads)) as written:
            for _ in written:
                pass
        segments = [writer.close() for writer in writers]

        def count(part: int) -> Bigrams:
            return _scored(segments, part, text, rule)

        with closing(ordered(count, range(1 << bits), threads)) as counted:
            found: list[Bigrams] = []
            for part, kept in enumerate(counted):
                found.append(kept)
                if part % max((1 << bits) // RELEASES, 1) == 0:
                    release(chain.from_iterable(segment.maps for segment in segments))
    finally:
        for writer in writers:
            writer.remove()
    return Bigrams(*(np.concatenate(column) for column in zip(*found, strict=True)))


class _Writer:
    """A thread's file of pairs, ordered by part within each piece."""

    def __init__(self, path: Path, bits: int) -> None:
        self._path, self._bits = path, bits
        self._file = path.open("wb", buffering=0)
        self._offsets: list[NDArray[np.int64]] = []
        self._written = 0
        self._pairs = self._sorted = zeros(0, np.uint64)

    def write(
        self,
        ids: NDArray[np.int32],
        final: NDArray[np.int32],
        weights: NDArray[np.float32],
        before: int,
        weight: np.float32,
        rule: Rule,
        words: int,
    ) -> None:
        if len(ids) > len(self._pairs):
            self._pairs, self._sorted = zeros(len(ids), np.uint64), zeros(len(ids), np.uint64)
        factor, delta = np.float32(SLACK * rule.threshold / words), np.float32(rule.delta)
        size = _pairs(ids, final, weights, before, weight, rule.across_lines, factor, delta, self._pairs)
        offsets = np.zeros((1 << self._bits) + 1, np.int64)
        _partition(self._pairs[:size], self._bits, self._sorted, offsets)
        write_all(self._file, self._sorted[:size])
        self._offsets.append(offsets + self._written)
        self._written += size

    def close(self) -> _Segments:
        self._file.close()
        offsets = np.array(self._offsets, np.int64).reshape(-1, (1 << self._bits) + 1)
        maps: list[mmap] = []
        return _Segments(map_file(self._path, np.uint64, maps), offsets, maps)

    def remove(self) -> None:
        self._file.close()
        self._path.unlink()


def _befores(text: IdText, across: bool) -> Iterator[tuple[Piece, int]]:
    """Yield each piece with the word before it in the same sentence (or in any), -1 if there is none."""
    before = -1
    for piece, ids in zip(text.pieces, text.views(), strict=True):
        yield piece, before
        before = _last(ids, text.final[piece.part], before, across)


def _scored(segments: list[_Segments], part: int, text: IdText, rule: Rule) -> Bigrams:
    """Count the pairs of a part, and return those that are phrases.

    The score is word2phrase's, rounded to float32 after each operation as there, so that no tie is decided otherwise.
    """
    runs = [(found.pairs, run) for found in segments for run in found.offsets[:, part : part + 2].tolist()]
    pairs, counts = np.unique(np.concatenate([pairs[first:last] for pairs, (first, last) in runs]), return_counts=True)
    frequent = counts >= rule.min_count
    pairs, counts = pairs[frequent], counts[frequent]
    firsts, seconds = (pairs >> HALF).astype(np.int32), pairs.astype(np.int32)
    scores = (counts - float(rule.delta)).astype(np.float32)
    for ids in (firsts, seconds):
        scores /= text.counts[ids].astype(np.float32)
    scores *= np.float32(text.words)
    kept = scores > np.float32(rule.threshold)
    return Bigrams(firsts[kept], seconds[kept], counts[kept], scores[kept])


@njit(nogil=True, cache=True)
def _last(ids: NDArray[np.int32], final: NDArray[np.int32], before: int, across: bool) -> int:
    for i in range(ids.size - 1, -1, -1):
        if ids[i] >= 0:
            return int(final[ids[i]])
        if ids[i] == END and not across:
            return -1
    return before


@njit(nogil=True, cache=True)
def hash_pair(pair: np.uint64) -> np.uint64:
    """Hash two ids, packed in 64 bits; the highest bits are the best."""
    hashed = (pair ^ (pair >> HALF)) * PRIME
    return (hashed ^ (hashed >> HALF)) * PRIME


@njit(nogil=True, cache=True)
def _pairs(
    ids: NDArray[np.int32],
    final: NDArray[np.int32],
    weights: NDArray[np.float32],
    before: int,
    weight: np.float32,
    across: bool,
    factor: np.float32,
    delta: np.float32,
    pairs: NDArray[np.uint64],
) -> int:
    """Write the pairs of a piece that may be phrases; return their number.

    Left out are those that would be none even if the rarer word never occurred without the other. `weights` are the
    words' counts, infinite if they are below `min_count`. There are no branches, which could not be predicted.
    """
    size = 0
    last, a = np.uint64(before), weight
    for i in range(ids.size):
        if ids[i] >= 0:
            word, b = np.uint64(final[ids[i]]), weights[ids[i]]
            pairs[size] = (last << HALF) | word
            size += min(a, b) - delta >= factor * a * b
            last, a = word, b
        elif ids[i] == END and not across:
            a = np.float32(np.inf)
    return size


@njit(nogil=True, cache=True)
def _partition(pairs: NDArray[np.uint64], bits: int, out: NDArray[np.uint64], offsets: NDArray[np.int64]) -> None:
    """Sort pairs by the first `bits` of their hash; write where each part of them begins, and the end."""
    shift = np.uint64(64 - bits)
    for i in range(pairs.size):
        offsets[np.int64(hash_pair(pairs[i]) >> shift) + 1] += 1
    for part in range(offsets.size - 1):
        offsets[part + 1] += offsets[part]
    for i in range(pairs.size):
        part = int(np.int64(hash_pair(pairs[i]) >> shift))
        out[offsets[part]] = pairs[i]
        offsets[part] += 1
    for part in range(offsets.size - 1, 0, -1):  # each has moved to where the next part begins
        offsets[part] = offsets[part - 1]
    offsets[0] = 0
