"""A vocabulary that is given, not counted: its file, in word2vec's format, and its words in a text."""

import os
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray

from any2vec.cluster.communicator import Communicator, together
from any2vec.cluster.local import alone
from any2vec.corpus.vocabulary import Vocabulary, check_sum, choose, laid_out, merge_valid
from any2vec.corpus.word_table import WordCounts, merge
from any2vec.errors import Any2VecError, shown
from any2vec.io.compression import open_compressed
from any2vec.io.inputs import WHITESPACE, refuse
from any2vec.io.outputs import Kind, check_writable, start_of, write_in_host_order

LINE_END = "</s>"
"""The word that word2vec counts at the end of each line: the first one of its vocabularies."""

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_LONGEST_LINE = 1 << 16
_LONGEST_WORD = _LONGEST_LINE - 32
_LONGEST_COUNT = 18  # digits of a number that certainly fits into 64 bits


def load_vocabulary(path: str | os.PathLike[str]) -> Vocabulary:
    """Load lines of a word and its count, in any order, without word2vec's ``</s>``: here a line is a sentence."""
    name = Path(path)
    with open_compressed(name) as stream:
        lines = _read(stream, name)
    if len(lines) < 2:
        had = f"only the word {shown(next(iter(lines)).decode(errors='replace'))}" if lines else "no words"
        raise Any2VecError(
            f"{name}: {had}; a vocabulary has two or more, each on a line with its count, such as: cat 42"
        )
    counts = np.array([count for _, count in lines.values()], np.int64)
    check_sum(counts, str(name))
    part, _, _ = merge_valid([WordCounts.of(list(lines), counts)])
    return choose(part, 0, None)[0]


def save_vocabulary(
    vocabulary: Vocabulary,
    path: str | os.PathLike[str],
    *,
    line_ends: int = 0,
    force: bool = False,
    communicator: Communicator | None = None,
) -> None:
    """Save a vocabulary as word2vec does, first the line of ``</s>``, with `line_ends`; all hosts call this."""
    communicator = communicator or alone()
    name = Path(path)
    check_writable(name, VOCABULARY, force=force, communicator=communicator)
    with together(communicator):
        _check(vocabulary)
        whitespace = frozenset(WHITESPACE)
        for word in vocabulary.words:
            long = 4 * len(word) > _LONGEST_WORD and len(word.encode()) > _LONGEST_WORD
            if not word or long or not whitespace.isdisjoint(word):
                raise Any2VecError(f"{name}: a line holds a word and its count, not the word {shown(word)}")
        counts = dict(zip(vocabulary.words, vocabulary.counts.tolist(), strict=True))
        counts = {LINE_END: line_ends + counts.pop(LINE_END, 0), **counts}
        for word, count in counts.items():
            if not 0 <= count < 10**_LONGEST_COUNT:
                raise Any2VecError(f"{name}: the count of {shown(word)} is {count:,}; it must be below 10^18")
        if len(counts) < 3:
            raise Any2VecError(f"{name}: not saved: a vocabulary has two words or more, not {len(vocabulary)}")
    lines = (f"{word} {count}\n".encode() for word, count in counts.items())
    write_in_host_order(name, lines if communicator.rank == 0 else (), communicator)


def _holds_vocabulary(path: Path) -> bool:
    """Recognize what `save_vocabulary` or word2vec wrote: </s> first, then words by falling count."""
    counts = numbers_of(path)
    return counts is not None and counts == sorted(counts, reverse=True)


def numbers_of(path: Path) -> list[int] | None:
    """Return the numbers on the lines after that of </s>; None if the first lines are not words with a number each."""
    content, whole = start_of(path, _LONGEST_LINE)
    lines = content.split(b"\n")[: None if whole else -1]
    rows = [fields for line in lines if (fields := line.split())]
    if not rows or rows[0][0] != LINE_END.encode() or not all(len(row) == 2 and row[1].isdigit() for row in rows):
        return None
    return [int(count) for _, count in rows[1:]]


VOCABULARY = Kind("a vocabulary", _holds_vocabulary)


def given_vocabulary(given: object, min_count: int, max_size: int | None) -> Vocabulary:
    """Return the words of a given vocabulary, or of its file, that are frequent enough."""
    if isinstance(given, str | os.PathLike):
        given = load_vocabulary(given)
    if not isinstance(given, Vocabulary):
        raise Any2VecError(f"`vocabulary` is {shown(given)}; it must be a Vocabulary, or the name of its file")
    _check(given)
    check_sum(given.counts, "the vocabulary")
    kept = int(np.count_nonzero(given.counts >= min_count))
    if kept < 2:
        had = f"the vocabulary has {len(given):,} words, the largest count is {int(given.counts.max(initial=0)):,}"
        raise Any2VecError(f"`min_count={min_count}` leaves {kept} of two words or more: {had}; lower `min_count`")
    return choose(_laid_out(given), min_count, max_size)[0]


def look_up(vocabulary: Vocabulary, part: WordCounts) -> NDArray[np.int32]:
    """Return the id of each word of `part`, -1 if it has none."""
    _, (_, places) = merge([_laid_out(vocabulary), part])
    return np.where(places < len(vocabulary), places, np.int32(-1))


def _check(vocabulary: Vocabulary) -> None:
    """Refuse a vocabulary of a user's own that could not be trained on or saved."""
    for word in vocabulary.words:
        if not isinstance(word, str):
            raise Any2VecError(f"the vocabulary has {shown(word)}; a word is a string")
    if len(vocabulary.ids) != len(vocabulary):
        twice = next(word for i, word in enumerate(vocabulary.words) if vocabulary.ids[word] != i)
        raise Any2VecError(f"the vocabulary has the word {shown(twice)} twice")
    counts = np.asarray(vocabulary.counts)
    if counts.shape != (len(vocabulary),) or counts.dtype.kind not in "iu":
        raise Any2VecError(
            f"the counts of the vocabulary are {shown(counts)}; they must be whole numbers, one per word"
        )
    if (wrong := np.flatnonzero((counts < 0) | (counts >= 1 << 63))).size:
        word, count = vocabulary.words[int(wrong[0])], int(counts[wrong[0]])
        raise Any2VecError(f"the count of {shown(word)} is {count:,}; it must be from 0 to 2^63 - 1")
    _laid_out(vocabulary)  # raises if a word is no text


def _laid_out(vocabulary: Vocabulary) -> WordCounts:
    return laid_out(vocabulary, "the vocabulary has a word that is no text")


def _read(stream: IO[bytes], path: Path) -> dict[bytes, tuple[int, int]]:
    """Return the line and the count of each word."""
    found: dict[bytes, tuple[int, int]] = {}
    number = 0
    while line := stream.readline(_LONGEST_LINE):
        number += 1
        if number == 1:
            refuse(line, path, "a vocabulary")
        parts = (line.removeprefix(_BYTE_ORDER_MARK) if number == 1 else line).split()
        if not parts:
            continue
        word, *rest = parts
        if len(rest) == 1 and rest[0].isdigit() and len(rest[0]) > _LONGEST_COUNT:
            raise Any2VecError(f"{path}, line {number:,}: the count of {_quoted(word)} is 10^{_LONGEST_COUNT} or more")
        if len(rest) != 1 or not rest[0].isdigit():
            raise Any2VecError(f"{path}, line {number:,}: {_quoted(line)} is not a word and its count, such as: cat 42")
        if word in found:
            first = f"it is on line {found[word][0]:,} too"
            raise Any2VecError(f"{path}, line {number:,}: the word {_quoted(word)} occurs again; {first}")
        found[word] = number, int(rest[0])
    found.pop(LINE_END.encode(), None)
    return found


def _quoted(text: bytes) -> str:
    return shown(text.decode("utf-8", "backslashreplace").strip()[:40])
