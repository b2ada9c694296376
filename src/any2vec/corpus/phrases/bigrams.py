"""Count pairs of adjacent words: in parts by their hash, on disk, so that memory has to hold one part only.

Words are adjacent if there are only connector words between them; a pair with another run of these is another one.
"""

from collections.abc import Iterator
from contextlib import closing
from itertools import chain
from mmap import mmap
from pathlib import Path
from queue import SimpleQueue
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from any2vec.cluster.workers import ordered
from any2vec.corpus.corpus import map_file, release
from any2vec.corpus.phrases.pairs import (
    CONNECTOR,
    HALF,
    NO_RUN,
    NPMI,
    RARE,
    Rule,
    Runs,
    hash_pair,
    longer,
    may_be_phrase,
)
from any2vec.corpus.scan import END, IdText, Piece
from any2vec.io.memory import write_all, zeros
from any2vec.llvm.compiled import njit

_WORDS_PER_PART = 1 << 15  # so that a part fits into a core's cache
_FEWEST_PARTS, _MOST_PARTS = 4, 4096
_RELEASES = 16  # how often the memory that maps the pairs is given back


class _Bigrams(NamedTuple):
    """Pairs of words: ids (int32), ids of the connector words between them, counts (int64) and scores (float32)."""

    firsts: NDArray[Any]
    betweens: list[tuple[int, ...]]
    seconds: NDArray[Any]
    counts: NDArray[Any]
    scores: NDArray[Any]


class _Segments(NamedTuple):
    """A thread's files of pairs and of the runs between them, and for each piece where each part of it ends."""

    pairs: NDArray[np.uint64]
    runs: NDArray[np.int32]
    offsets: NDArray[np.int64]
    maps: list[mmap]


def find_bigrams(text: IdText, rule: Rule, connectors: NDArray[np.int32], folder: Path, threads: int) -> _Bigrams:
    """Find the pairs of words that are phrases by `rule`, in no particular order."""
    bits = int(np.clip(text.words // _WORDS_PER_PART, _FEWEST_PARTS, _MOST_PARTS)).bit_length() - 1
    of_words = rule.weights(text.counts, text.words)
    of_words[connectors] = CONNECTOR
    weights = [of_words[ids] for ids in text.final]
    runs = Runs(text, weights, rule.across_lines) if len(connectors) else None
    writers = [_Writer(folder, number, bits, runs) for number in range(threads)]
    free: SimpleQueue[_Writer] = SimpleQueue()
    for writer in writers:
        free.put(writer)

    def write(item: tuple[Piece, int, int]) -> None:
        piece, before, run = item
        writer = free.get()
        try:
            weight = of_words[before] if before >= 0 else RARE
            own = (text.load(piece), text.final[piece.part], weights[piece.part])
            writer.write(*own, before, weight, run, rule, text.words)
        finally:
            free.put(writer)

    try:
        befores = _befores(text, rule.across_lines) if runs is None else runs.befores
        with closing(ordered(write, befores, threads)) as written:
            for _ in written:
                pass
        segments = [writer.close() for writer in writers]

        def count(part: int) -> tuple[NDArray[Any], ...]:
            return _scored(segments, part, text, rule)

        with closing(ordered(count, range(1 << bits), threads)) as counted:
            found: list[tuple[NDArray[Any], ...]] = []
            for part, kept in enumerate(counted):
                found.append(kept)
                if part % max((1 << bits) // _RELEASES, 1) == 0:
                    release(chain.from_iterable(segment.maps for segment in segments))
    finally:
        for writer in writers:
            writer.remove()
    firsts, between, seconds, counts, scores = (np.concatenate(column) for column in zip(*found, strict=True))
    betweens = [() if runs is None else runs.words(run) for run in between.tolist()]
    return _Bigrams(firsts, betweens, seconds, counts, scores)


class _Writer:
    """A thread's files of pairs, ordered by part within each piece, and of the runs between them, if there are some."""

    def __init__(self, folder: Path, number: int, bits: int, runs: Runs | None) -> None:
        self._bits, self._runs = bits, runs
        self._offsets: list[NDArray[np.int64]] = []
        self._written = 0
        self._pairs, self._between = zeros(0, np.uint64), zeros(0, np.int32)
        self._files = [(folder / f"{what}-{number}").open("wb", buffering=0) for what in ("pairs", "runs")]

    def write(
        self,
        ids: NDArray[np.int32],
        final: NDArray[np.int32],
        weights: NDArray[np.float32],
        before: int,
        weight: np.float32,
        run: int,
        rule: Rule,
        words: int,
    ) -> None:
        if len(ids) > len(self._pairs):
            self._pairs = zeros(len(ids), np.uint64)
            self._between = zeros(len(ids) if self._runs else 0, np.int32)
        state = (before, weight, run, rule.across_lines)
        bound = (np.float32(rule.delta), rule.factor(words), rule.scoring == NPMI)
        slots = self._runs.slots if self._runs else np.zeros(0, np.uint64)
        size = _pairs(ids, final, weights, *state, *bound, slots, self._pairs, self._between)
        parts = (hash_pair.py_func(self._pairs[:size]) >> np.uint64(64 - self._bits)).astype(np.uint16)
        order = np.argsort(parts, kind="stable")
        for file, column in zip(self._files, (self._pairs, self._between), strict=True):
            write_all(file, column[order] if len(column) else column)
        counts = np.bincount(parts, minlength=1 << self._bits)
        self._offsets.append(np.append(0, np.cumsum(counts)) + self._written)
        self._written += size

    def close(self) -> _Segments:
        for file in self._files:
            file.close()
        offsets = np.array(self._offsets, np.int64).reshape(-1, (1 << self._bits) + 1)
        maps: list[mmap] = []
        pairs, runs = (Path(file.name) for file in self._files)
        return _Segments(map_file(pairs, np.uint64, maps), map_file(runs, np.int32, maps), offsets, maps)

    def remove(self) -> None:
        for file in self._files:
            file.close()
            Path(file.name).unlink()


def _befores(text: IdText, across: bool) -> Iterator[tuple[Piece, int, int]]:
    """Yield each piece with the word before it in the same sentence (or in any), -1 if there is none, and no run."""
    before = -1
    for piece, ids in zip(text.pieces, text.views(), strict=True):
        yield piece, before, NO_RUN
        before = _last(ids, text.final[piece.part], before, across)


def _scored(segments: list[_Segments], part: int, text: IdText, rule: Rule) -> tuple[NDArray[Any], ...]:
    """Count the pairs of a part; return the columns of those that are phrases, with runs between them."""
    spans = [(found, first, last) for found in segments for first, last in found.offsets[:, part : part + 2].tolist()]
    pairs = np.concatenate([found.pairs[first:last] for found, first, last in spans])
    runs = np.concatenate([found.runs[first:last] for found, first, last in spans])
    if len(runs):
        distinct, places = np.unique(pairs, return_inverse=True)
        keys, counts = np.unique((places.astype(np.uint64) << HALF) | runs.astype(np.uint64), return_counts=True)
        pairs, runs = distinct[keys >> HALF], keys.astype(np.int32)
    else:
        pairs, counts = np.unique(pairs, return_counts=True)
        runs = np.zeros(len(pairs), np.int32)
    frequent = counts >= rule.min_count
    pairs, runs, counts = pairs[frequent], runs[frequent], counts[frequent]
    firsts, seconds = (pairs >> HALF).astype(np.int32), pairs.astype(np.int32)
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
                run = longer(run, int(final[ids[i]]), slots) if a < RARE else NO_RUN
                continue
            pairs[size] = (last << HALF) | word
            if runs.size > 0:
                runs[size] = run
            size += may_be_phrase(a, b, delta, factor, npmi)
            last, a, run = word, b, NO_RUN
        elif ids[i] == END and not across:
            a, run = RARE, NO_RUN
    return size
