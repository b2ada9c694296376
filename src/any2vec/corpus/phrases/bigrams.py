"""Count pairs of adjacent words: in parts by their hash, on disk, so that memory has to hold one part only.

Words are adjacent if there are only connector words between them; a pair with another run of these is another one.
"""

from collections.abc import Iterator, Sequence
from contextlib import closing
from itertools import chain, pairwise
from mmap import mmap
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from any2vec.cluster.workers import ordered
from any2vec.corpus.corpus import map_file, release
from any2vec.corpus.phrases.pairs import CONNECTOR, HALF, NO_RUN, NPMI, RARE, Rule, Runs, find, hash_pair, may_be_phrase
from any2vec.corpus.scan import END, IdText, Piece, lent
from any2vec.io.memory import write_all, zeros
from any2vec.llvm.compiled import njit

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
    of_words[connectors] = CONNECTOR
    weights = [of_words[ids] for ids in text.final]
    runs = Runs(text, weights, rule.across_lines) if len(connectors) else None
    befores = _befores(text, rule.across_lines) if runs is None else runs.befores
    writers = [_Writer(folder, number, bits, text, rule, weights, runs) for number in range(threads)]

    def write(writer: _Writer, item: tuple[Piece, int, int]) -> None:
        piece, before, run = item
        writer.write(piece, before, of_words[before] if before >= 0 else RARE, run)

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
        parts = (hash_pair.py_func(self._pairs[:size]) >> np.uint64(64 - self._bits)).astype(np.uint16)
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
        yield piece, before, NO_RUN
        before = _last(ids, text.final[piece.part], before, across)


def _scored(writers: Sequence[_Writer], part: int, text: IdText, rule: Rule) -> tuple[NDArray[Any], ...]:
    """Count the pairs of a part; return the columns of those that are phrases, with runs between them."""
    written = chain.from_iterable(writer.part(part) for writer in writers)
    pairs, runs = (np.concatenate(column) for column in zip(*written, strict=True))
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
                run = find(run, int(final[ids[i]]), slots) if a < RARE else NO_RUN
                continue
            pairs[size] = (last << HALF) | word
            if runs.size > 0:
                runs[size] = run
            size += may_be_phrase(a, b, delta, factor, npmi)
            last, a, run = word, b, NO_RUN
        elif ids[i] == END and not across:
            a, run = RARE, NO_RUN
    return size
