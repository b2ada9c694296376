"""From what threads counted to the vocabulary: merge, repair, choose."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from any2vec.corpus.vocabulary import Vocabulary
from any2vec.corpus.word_hash import ROOM
from any2vec.corpus.word_table import WordCounts, WordTable
from any2vec.errors import Any2VecError

__all__ = ["Totals", "choose", "merge", "most_frequent", "pack", "repair", "totals_of"]

GROUP = 1 << 16  # words decoded at a time


class Totals(NamedTuple):
    """Words in the corpus, how many of them are distinct, and the largest count."""

    words: int
    distinct: int
    largest: int


def pack(words: Sequence[bytes], counts: NDArray[np.int64]) -> WordCounts:
    """Put words into a WordCounts.

    Parameters
    ----------
    words : sequence of bytes
        The words.
    counts : int64 array, shape (len(words),)
        How often each occurs.

    Returns
    -------
    WordCounts
        The same.
    """
    starts = np.zeros(len(words) + 1, np.int64)
    np.cumsum([len(word) + 1 for word in words], out=starts[1:])
    arena = np.frombuffer(bytearray(b"\n").join([*words, bytes(ROOM)]), np.uint8)
    return WordCounts(arena, starts, counts)


def merge(parts: Sequence[WordCounts]) -> tuple[WordCounts, list[NDArray[np.int32]]]:
    """Add up what several threads or hosts counted.

    Parameters
    ----------
    parts : sequence of WordCounts
        The counts; words may repeat within a part too.

    Returns
    -------
    merged : WordCounts
        Each word once.
    ids : list of int32 arrays, shapes (len(part),)
        For each part, the places of its words in `merged`.
    """
    table = WordTable()
    ids = [table.add(part) for part in parts]
    return table.part(), ids


def repair(part: WordCounts) -> tuple[WordCounts, NDArray[np.int32] | None, int]:
    """Replace what is not UTF-8 by U+FFFD, and add up words that become the same.

    Parameters
    ----------
    part : WordCounts
        Distinct words.

    Returns
    -------
    repaired : WordCounts
        Distinct words, all UTF-8; `part` itself if all its words are.
    ids : int32 array, shape (len(part),), or None
        The places in `repaired` of the words of `part`; None if nothing changed.
    invalid : int
        Occurrences of words that were changed.
    """
    changed: dict[int, bytes] = {}
    for first in range(0, len(part), GROUP):
        last = min(first + GROUP, len(part))
        try:
            str(part.arena[part.starts[first] : part.starts[last]].data, "utf-8")
        except UnicodeDecodeError:
            for i in range(first, last):
                word = part.word(i)
                decoded = word.decode(errors="replace").encode()
                if decoded != word:
                    changed[i] = decoded
    if not changed:
        return part, None, 0
    words = [changed[i] if i in changed else part.word(i) for i in range(len(part))]
    repaired, (ids,) = merge([pack(words, part.counts)])
    return repaired, ids, int(part.counts[list(changed)].sum())


def choose(
    part: WordCounts, min_count: int, max_size: int | None, totals: Totals | None = None
) -> tuple[Vocabulary, NDArray[np.int32]]:
    """Choose the words that get vectors, and give them their ids.

    Parameters
    ----------
    part : WordCounts
        Distinct words, all UTF-8, and their counts in the whole corpus.
    min_count : int
        Words that occur less often are dropped.
    max_size : int or None
        At most so many words are kept, the most frequent ones.
    totals : Totals, optional
        Of the corpus, for error messages, if `part` does not have all its words.

    Returns
    -------
    vocabulary : Vocabulary
        By falling count, ties by the words' bytes.
    ids : int32 array, shape (len(part),)
        The id of each word of `part`; -1 if it is dropped.

    Raises
    ------
    Any2VecError
        If fewer than two words are left.
    """
    kept = most_frequent(part, min_count, max_size)
    _check(part, kept, min_count, totals or totals_of(part))
    ids = np.full(len(part), -1, np.int32)
    ids[kept] = np.arange(len(kept), dtype=np.int32)
    starts, stops = part.starts[kept].tolist(), (part.starts[kept + 1] - 1).tolist()
    arena = part.arena.tobytes()
    words = [arena[start:stop].decode() for start, stop in zip(starts, stops, strict=True)]
    return Vocabulary(words, part.counts[kept]), ids


def most_frequent(part: WordCounts, min_count: int, max_size: int | None) -> NDArray[np.int64]:
    """Return the places of the words that `choose` chooses, in the order of their ids."""
    return _sorted(part, np.flatnonzero(part.counts >= min_count))[:max_size]


def totals_of(part: WordCounts) -> Totals:
    """Add up a part."""
    return Totals(int(part.counts.sum()), len(part), int(part.counts.max(initial=0)))


def _sorted(part: WordCounts, kept: NDArray[np.int64]) -> NDArray[np.int64]:
    """Sort words by falling count, ties by their bytes: first the first load_u64, as a number, then the rest."""
    starts, lengths = part.starts[kept], part.starts[kept + 1] - part.starts[kept] - 1
    prefixes = np.zeros(len(kept), np.uint64)
    for i in range(8):
        byte = np.where(i < lengths, part.arena[np.minimum(starts + i, len(part.arena) - 1)], 0)
        prefixes = prefixes << np.uint64(8) | byte.astype(np.uint64)
    counts = part.counts[kept]
    order = np.lexsort((prefixes, -counts))
    tied = (np.diff(counts[order]) == 0) & (np.diff(prefixes[order]) == 0)
    edges = np.flatnonzero(np.diff(np.concatenate(([0], tied.view(np.int8), [0]))))
    kept = kept[order]
    for first, last in edges.reshape(-1, 2).tolist():
        kept[first : last + 1] = sorted(kept[first : last + 1].tolist(), key=part.word)
    return kept


def _check(part: WordCounts, kept: NDArray[np.int64], min_count: int, totals: Totals) -> None:
    if len(kept) >= 2:
        return
    had = f"the corpus has {totals.words:,} words, {totals.distinct:,} of them distinct"
    if len(kept) == 0:
        raise Any2VecError(
            f"`min_count={min_count}` leaves no word: {had}, the largest count is {totals.largest:,}; lower `min_count`"
        )
    word = part.word(int(kept[0])).decode()
    advice = "lower `min_count`" if totals.distinct > 1 else "give more text"
    raise Any2VecError(
        f"a vocabulary of 1 word ({word[:40]!r}) cannot be trained: {had}, "
        f"and `min_count={min_count}` leaves one; {advice}"
    )
