"""The windows of a slice: which occurrences subsampling keeps, and the context of each kept one (Mikolov et al. 2013).

Everything is a function of (seed, epoch, position in the worklist): neighbours are looked up in the same sentence,
wherever a slice begins or ends. Kernels and inspection both loop over what `list_windows` lists.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numba import int64, uint64
from numpy.typing import NDArray

from any2vec.errors import Any2VecError
from any2vec.llvm.compiled import njit
from any2vec.samples.draws import HELD_OUT, KEEP, NEGATIVES, below, draw, epoch_key, mix, shifted

JUDGING = -1
"""The epoch whose samples are those left out of training: the same ones, with the same draws, each time."""


class Slice(NamedTuple):
    """What a host takes of its part of the worklist in a round."""

    epoch: int  # from 0; or `JUDGING`
    # positions from and to; one range, unless another number of hosts began the epoch. Never empty
    ranges: tuple[tuple[int, int], ...]

    @classmethod
    def of(cls, epoch: int, pieces: Sequence[tuple[int, int]], begin: int, end: int) -> "Slice":
        """Take words number `begin` to `end` of some pieces laid one after the other."""
        found: list[tuple[int, int]] = []
        before = 0
        for low, high in pieces:
            first, last = max(begin - before, 0), min(end - before, high - low)
            if first < last or (first == last == begin - before and not found):  # one range, even if there are no words
                found = [r for r in found if r[0] < r[1]] + [(low + first, low + last)]
            before += high - low
        return cls(epoch, tuple(found))

    @property
    def size(self) -> int:
        """Words in it."""
        return sum(high - low for low, high in self.ranges)

    def part(self, begin: int, end: int) -> "Slice":
        """Take words number `begin` to `end` of it."""
        return Slice.of(self.epoch, self.ranges, begin, end)


_MOST = 1 << 62  # as many again may be counted on from there


def total_of(counts: NDArray[np.int64], what: str = "counts") -> int:
    """Return the sum of counts, which must be below 2^62; `what` they are, for the error."""
    found = float(counts.sum(dtype=np.float64))
    if found >= _MOST:
        largest = int(counts.max())
        raise Any2VecError(f"{what} sum up to {found:.3g}, the largest is {largest:,}; their sum must be below 2^62")
    return int(counts.sum())


CHUNK = 512
"""Positions listed at once: bounds the memory that a sentence of any length needs."""

ALL = 1 << 62
"""Positions, more than any sentence has."""


class EpochDraws(NamedTuple):
    """What the samples of an epoch are drawn from."""

    keep: NDArray[np.uint32]  # (V,): Subsampling thresholds (`keep_thresholds`)
    tables: Any  # the operator's own tables (`operators.base.Operator.tables`)
    keep_key: np.uint64  # the epoch's keys (`samples.draws.epoch_key`)
    sample_key: np.uint64
    narrowest: int = 1  # least reach of a window
    held_key: np.uint64 = np.uint64(0)
    held_out: np.uint64 = np.uint64(0)  # of 2^32: The share of sentences, or of words, that is left out of training
    part: np.uint64 = np.uint64(1 << 32)  # of 2^32: Where what is trained on ends; a part of the text, if that is less
    by_word: int = 0  # 1: centres are left out, not sentences
    judging: int = 0  # 1: what is left out is listed, and nothing else

    def ahead(self, by: int) -> "EpochDraws":
        """Return the same draws for positions that count from `by` on."""
        if not by:
            return self
        keys = self.keep_key, self.sample_key, self.held_key
        keep, sample, held = (np.uint64(shifted(int(key), by)) for key in keys)
        return self._replace(keep_key=keep, sample_key=sample, held_key=held)


class SampleTables:
    """What the samples of all epochs are drawn from."""

    def __init__(
        self,
        counts: NDArray[np.int64],  # (V,): occurrences of each vertex
        sample: float,  # subsampling threshold; 0 for none
        tables: Any,  # the operator's own
        seed: int,  # the user's
        first: int = 0,  # position in W of this host's part, whose positions count from 0
        narrowest: int = 1,  # least reach of a window
        held_out: float = 0.0,  # share of sentences that is left out of training
        part: float = 1.0,  # share of the other sentences that is trained on
        by_word: bool = False,  # whether words are left out, each by itself
    ) -> None:
        self._keep = keep_thresholds(counts, sample)
        self._tables, self._seed, self._first, self._narrowest = tables, seed, first, narrowest
        part += 0.0 if by_word else held_out * (1 - part)
        self._held = np.uint64(held_out * 2**32), np.uint64(part * 2**32), int(by_word)

    def epoch(self, epoch: int, ahead: int = 0) -> EpochDraws:
        """Return what the samples of an epoch, from 0, are drawn from, where positions count from `ahead` on."""
        streams = (epoch, KEEP), (epoch, NEGATIVES), (0, HELD_OUT)
        keys = [np.uint64(shifted(epoch_key(self._seed, *of), self._first + ahead)) for of in streams]
        held = keys[2], *self._held, int(epoch == JUDGING)
        return EpochDraws(self._keep, self._tables, keys[0], keys[1], self._narrowest, *held)

    def round(self, epoch: int, ranges: tuple[tuple[int, int], ...]) -> EpochDraws:
        """Return what the samples of some positions of an epoch are drawn from: those of the epoch."""
        return self.epoch(epoch)


class Window(NamedTuple):
    """A centre and its context: the words at ``begin <= i < end`` other than `centre`.

    There is at least one, unless the operator has documents.
    """

    words: NDArray[Any]  # vertices of the kept occurrences around; of a line, the whole worklist
    centre: int  # indices into `words`
    begin: int
    end: int
    key: int  # key of the window's own draws; draw 0 is its size
    # number of its sentence in the piece of W that is read, from 0; of all of this host's part, if it is stored
    sentence: int
    # where the operator is `chunked`: words from `first` on are in reach of this window or a later one of the chunk,
    # words from `fresh` on of no earlier one, words from `kept` on of a later one
    first: int
    fresh: int
    kept: int
    uses: NDArray[np.int64]  # there: how many windows have a word in their context


class Windows(NamedTuple):
    """The windows of a chunk; window i has its centre at position ``position[i]`` of the worklist.

    `follow_words` fills `first`, `fresh` and `uses`: see `Window`, whose `kept` is the `first` of the next one.
    """

    words: NDArray[np.int64]
    kept_at: NDArray[np.int64]
    centre: NDArray[np.int64]
    begin: NDArray[np.int64]
    end: NDArray[np.int64]
    position: NDArray[np.int64]
    key: NDArray[np.uint64]
    first: NDArray[np.int64]
    fresh: NDArray[np.int64]
    uses: NDArray[np.int64]


@njit(nogil=True)
def new_windows(window: int) -> Windows:
    """Allocate what `list_windows` fills."""
    kept = CHUNK + 2 * window
    return Windows(
        np.empty(kept, np.int64),
        np.empty(kept, np.int64),
        np.empty(CHUNK, np.int64),
        np.empty(CHUNK, np.int64),
        np.empty(CHUNK, np.int64),
        np.empty(CHUNK, np.int64),
        np.empty(CHUNK, np.uint64),
        np.empty(CHUNK + 1, np.int64),
        np.empty(CHUNK, np.int64),
        np.empty(kept + 1, np.int64),
    )


@njit(inline="always")
def window_of(windows: Windows, ids: NDArray[np.int32], i: int, sentence: int) -> Window:
    """Return window i, of a sentence, of those listed in the worklist `ids`."""
    return Window(
        windows.words,
        windows.centre[i],
        windows.begin[i],
        windows.end[i],
        windows.key[i],
        sentence,
        windows.first[i],
        windows.fresh[i],
        windows.first[i + 1],
        windows.uses,
    )


@njit(nogil=True, error_model="numpy")
def list_windows(
    ids: NDArray[np.int32],
    position: int,
    high: int,
    begin: int,
    end: int,
    window: int,
    draws: EpochDraws,
    out: Windows,
    fewest: int = 1,
) -> tuple[int, int]:
    """List the windows with centres from `position` up to `high`, one chunk, in the sentence from `begin` to `end`.

    Those whose context has fewer than `fewest` words are not, and nor are those left out of training; or these alone,
    while they are judged. Return how many there are, and the position where the next chunk begins.
    """
    stop = min(position + CHUNK, end, high)
    if (draws.held_out or draws.part >> uint64(32) == 0) and _is_left_out(begin, draws):
        return 0, stop
    first, last, size = kept_around(ids, position, stop, begin, end, window, draws.keep, draws.keep_key, out)
    count = 0
    for centre in range(first, last):
        key = draw(draws.sample_key, out.kept_at[centre])
        reach = window_size(key, window, draws.narrowest)
        out.centre[count] = centre
        out.begin[count], out.end[count] = max(centre - reach, 0), min(centre + reach + 1, size)
        out.position[count], out.key[count] = out.kept_at[centre], key
        listed = out.end[count] - out.begin[count] > fewest
        if draws.by_word:
            held_out = mix(draw(draws.held_key, out.kept_at[centre])) >> uint64(32) < draws.held_out
            listed = listed and held_out == (draws.judging != 0)
        count += int64(listed)
    return count, stop


@njit(nogil=True, error_model="numpy")
def list_line(
    ids: NDArray[np.int32],
    position: int,
    high: int,
    begin: int,
    end: int,
    window: int,
    draws: EpochDraws,
    out: Windows,
    fewest: int = 1,
) -> tuple[int, int]:
    """List the sentence from `begin` to `end` as one window, unless it is left out; as `list_windows` does."""
    if (draws.held_out or draws.part >> uint64(32) == 0) and _is_left_out(begin, draws):
        return 0, end
    out.begin[0], out.end[0], out.position[0] = begin, end, begin
    out.key[0] = draw(draws.sample_key, begin)
    return 1, end


@njit(inline="always")
def line_of(windows: Windows, ids: NDArray[np.int32], i: int, sentence: int) -> Window:
    """Return the window that is a sentence; its words are those of the worklist."""
    begin, end = windows.begin[0], windows.end[0]
    return Window(ids, begin, begin, end, windows.key[0], sentence, begin, begin, end, windows.uses)


@njit(nogil=True, cache=True)
def needed_around(
    ids: NDArray[np.int32],
    low: int,
    high: int,
    begin: int,
    end: int,
    window: int,
    keep: NDArray[np.uint32],
    key: int,
) -> tuple[int, int]:
    """Find the positions, from and to, that windows with centres at low..high-1 need, within begin..end-1."""
    left = right = 0
    while low > begin and left < window:
        low -= 1
        left += int64(is_kept(ids[low], low, keep, key))
    while high < end and right < window:
        right += int64(is_kept(ids[high], high, keep, key))
        high += 1
    return low, high


def keep_thresholds(counts: NDArray[np.int64], sample: float) -> NDArray[np.uint32]:
    """Return `keep_probability` as thresholds by vertex: an occurrence whose 32 random bits are not above is kept."""
    known = np.maximum(counts, 1)  # 0: a word of an earlier text whose count is unknown
    return np.maximum(2.0**32 * keep_probability(known, total_of(counts), sample) - 1, 0).astype(np.uint32)


def keep_probability(counts: NDArray[Any], words: float, sample: float) -> NDArray[np.float64]:
    """Return how likely subsampling keeps an occurrence of each vertex, in a corpus of so many `words`; shape (V,).

    word2vec's formula: a vertex with share f of the corpus is kept with probability
    ``sqrt(sample / f) + sample / f``, at most 1; `sample` 0 keeps everything.
    """
    if sample <= 0:
        return np.ones(counts.size)
    share = sample * words / counts
    return np.minimum(np.sqrt(share) + share, 1.0)


def kept_counts(counts: NDArray[np.int64], sample: float) -> NDArray[np.float64]:
    """Compute how many occurrences of each vertex subsampling keeps, in the mean; shape (V,)."""
    return counts * ((keep_thresholds(counts, sample) + 1.0) / 2.0**32)


def mean_context(lengths: NDArray[np.float64], window: int, narrowest: int = 1, kept: float = 1.0) -> float:
    """Compute the mean number of words in a context, in sentences of these lengths of which a share is kept."""
    if kept < 1:  # the one is right for sentences shorter than the window, the other for long ones
        return max(kept * mean_context(lengths, window, narrowest), mean_context(kept * lengths, window, narrowest))
    found, reaches = 0.0, range(narrowest, window + 1)
    for reach in reaches:
        cut = reach * (reach + 1) / np.maximum(lengths, 1)  # words of the windows that the ends of a sentence cut off
        found += float((lengths * np.maximum(np.where(lengths > reach, 2 * reach - cut, lengths - 1), 0)).sum())
    return found / len(reaches) / max(float(lengths.sum()), 1.0)


@njit(inline="always")
def is_kept(word: int, position: int, keep: NDArray[np.uint32], key: int) -> bool:
    """Whether subsampling keeps the occurrence of `word` at `position`."""
    return (draw(key, position) >> uint64(32)) <= uint64(keep[word])


@njit(inline="always")
def _is_left_out(position: int, draws: EpochDraws) -> bool:
    """Whether the sentence that begins at `position` is left out: held out, or not in the part that is trained on."""
    drawn = draw(draws.held_key, position) >> uint64(32)
    if draws.judging and not draws.by_word:
        return drawn >= draws.held_out
    return drawn >= draws.part or (drawn < draws.held_out and not draws.by_word)


@njit(inline="always")
def window_size(key: int, window: int, narrowest: int) -> int:
    """Draw the reach of the window with this key, uniform on `narrowest` to `window`; word2vec's begin with 1."""
    return narrowest + int64(below(draw(key, 0), window - narrowest + 1))


@njit(nogil=True, error_model="numpy")
def kept_around(
    ids: NDArray[np.int32],
    low: int,
    high: int,
    begin: int,
    end: int,
    window: int,
    keep: NDArray[np.uint32],
    key: int,
    out: Windows,
) -> tuple[int, int, int]:
    """List the kept words at low..high-1 and up to `window` kept ones on each side, within the sentence begin..end-1.

    Return first, last, size: ``out.words[first:last]`` are those at low..high-1, ``out.words[:size]`` all.
    """
    words, positions = out.words, out.kept_at
    first = 0
    position = low
    while position > begin and first < window:
        position -= 1
        word = int64(ids[position])
        if is_kept(word, position, keep, key):
            first += 1
            words[window - first] = word
            positions[window - first] = position
    if first < window:  # rare: close up what was listed backwards from `window` on
        for i in range(first):
            words[i] = words[window - first + i]
            positions[i] = positions[window - first + i]
    size = first
    for position in range(low, high):
        word = int64(ids[position])
        words[size] = word
        positions[size] = position
        size += int64(is_kept(word, position, keep, key))  # no branch: which are kept cannot be predicted
    last = size
    position = high
    while position < end and size < last + window:
        word = int64(ids[position])
        words[size] = word
        positions[size] = position
        size += int64(is_kept(word, position, keep, key))
        position += 1
    return first, last, size


@njit(nogil=True, error_model="numpy")
def follow_words(windows: Windows, count: int) -> None:
    """Fill `first`, `fresh` and `uses` of the `count` windows that are listed; the last one keeps no word."""
    reached = int64(0)
    for i in range(count):
        windows.fresh[i] = reached
        reached = max(reached, windows.end[i])
    first = reached
    windows.first[count] = reached
    for i in range(count - 1, -1, -1):
        first = min(first, windows.begin[i])
        windows.first[i] = first
    if count:
        windows.fresh[0] = first
    uses = windows.uses
    for word in range(first, reached + 1):
        uses[word] = 0
    for i in range(count):
        uses[windows.begin[i]] += 1
        uses[windows.end[i]] -= 1
    for word in range(first + 1, reached):
        uses[word] += uses[word - 1]
    for i in range(count):
        uses[windows.centre[i]] -= 1


@njit(nogil=True, error_model="numpy")
def list_followed(
    ids: NDArray[np.int32],
    position: int,
    high: int,
    begin: int,
    end: int,
    window: int,
    draws: EpochDraws,
    out: Windows,
    fewest: int = 1,
) -> tuple[int, int]:
    """List windows as `list_windows` does, and follow their words."""
    count, stop = list_windows(ids, position, high, begin, end, window, draws, out, fewest)
    follow_words(out, count)
    return count, stop


@njit(nogil=True, error_model="numpy")
def first_chunk(bounds: NDArray[np.int64], low: int, high: int, whole: int) -> tuple[int, int]:
    """Find the sentence and the position where the first chunk of a slice begins.

    If chunks are taken whole, they begin at every `whole` positions of a sentence. A slice has those that begin in it.
    So they do not depend on where slices begin and end.
    """
    sentence: Any = np.searchsorted(bounds, low, side="right") - 1
    position = low
    if whole and low < high:
        begin, end = bounds[sentence], bounds[sentence + 1]
        position = min(begin + (low - begin + whole - 1) // whole * whole, end)
        sentence += int64(position == end)
    return sentence, position
