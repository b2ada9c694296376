"""V: the vertices that get vectors, chosen from what was counted, or given: as a file in word2vec's format."""

import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from any2vec.cluster.communicator import Communicator, DamagedError, allgather_bytes, exchange, shared_errors, together
from any2vec.cluster.local import alone
from any2vec.corpus.word_table import PADDING, SEED, WordCounts, copy_words, key_of, merge, mix
from any2vec.errors import Any2VecError, shown
from any2vec.io.compression import open_compressed
from any2vec.io.inputs import BOM, WHITESPACE, refuse
from any2vec.io.outputs import Kind, check_writable, start_of, write_in_host_order
from any2vec.llvm.compiled import njit

_GROUP = 1 << 16  # words decoded at a time


@dataclass(frozen=True, eq=False, repr=False)
class Vocabulary:
    """Words in the order of their ids, by falling count, ties by their UTF-8 bytes; and how often each occurs."""

    words: Sequence[str]
    counts: NDArray[np.int64]

    @cached_property
    def ids(self) -> dict[str, int]:
        """Id of each word."""
        return {word: i for i, word in enumerate(self.words)}

    @cached_property
    def digest(self) -> str:
        """Hash of words and counts."""
        found = hashlib.sha256(json.dumps(list(self.words)).encode())
        found.update(np.ascontiguousarray(self.counts, np.int64).data)
        return found.hexdigest()

    def __len__(self) -> int:
        return len(self.words)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Vocabulary) and (self is other or self.digest == other.digest)

    def __hash__(self) -> int:
        return hash(self.digest)

    def __repr__(self) -> str:
        return f"<Vocabulary: {len(self):,} words>"


class _Totals(NamedTuple):
    """Words in the corpus, how many of them are distinct, and the largest count."""

    words: int
    distinct: int
    largest: int


def merge_valid(parts: Sequence[WordCounts]) -> tuple[WordCounts, list[NDArray[np.int32]], int]:
    """Merge counts as `merge` does, with U+FFFD in place of what is not UTF-8; count the words that were changed."""
    if len(parts) == 1:
        merged, places = parts[0], [np.arange(len(parts[0]), dtype=np.int32)]
    else:
        merged, places = merge(parts)
    changed = _invalid(merged)
    if not changed:
        return merged, places, 0
    words = [changed.get(i, word) for i, word in enumerate(merged.words())]
    invalid = int(merged.counts[list(changed)].sum())
    valid, (moved,) = merge([WordCounts.of(words, merged.counts)])
    return valid, [moved[place] for place in places], invalid


def _invalid(part: WordCounts) -> dict[int, bytes]:
    """Return the places of words that are not UTF-8, and what replaces them."""
    changed: dict[int, bytes] = {}
    for first in range(0, len(part), _GROUP):
        last = min(first + _GROUP, len(part))
        try:
            str(part.arena[part.starts[first] : part.starts[last]].data, "utf-8")
        except UnicodeDecodeError:
            for i in range(first, last):
                word = part.word(i)
                decoded = word.decode(errors="replace").encode()
                if decoded != word:
                    changed[i] = decoded
    return changed


def choose(
    part: WordCounts,
    min_count: int,
    max_size: int | None,
    totals: _Totals | None = None,
    known: Vocabulary | None = None,
) -> tuple[Vocabulary, NDArray[np.int32]]:
    """Choose the words that get vectors, all `known` ones among them; return also the id of each word of `part`, or -1.

    `totals` are those of the corpus, for messages, if `part` does not have all its words.
    """
    totals = totals or _totals_of(part)
    if known is not None:
        return _choose_more(part, min_count, max_size, totals, known)
    kept = _most_frequent(part, min_count, max_size)
    _check(part, kept, min_count, totals)
    return _numbered(part, kept)


def _choose_more(
    part: WordCounts, min_count: int, max_size: int | None, totals: _Totals, known: Vocabulary
) -> tuple[Vocabulary, NDArray[np.int32]]:
    """Choose the known words and the most frequent of the others, `max_size` in all."""
    if max_size is not None and max_size < len(known):
        raise Any2VecError(f"`max_size` is {max_size:,}, but there are {len(known):,} known words, which all stay")
    check_sum(known.counts, "the known words and the corpus", part.counts)
    merged, (old, places) = merge([_laid_out(known), part])
    is_new = np.ones(len(merged), bool)
    is_new[old] = False
    in_text = np.zeros(len(merged), np.int64)
    in_text[places] = part.counts
    new = _sorted(merged, np.flatnonzero(is_new & (in_text >= min_count)))
    kept = _sorted(merged, np.append(old, new if max_size is None else new[: max_size - len(known)]))
    if not in_text[kept].any():
        raise Any2VecError(
            f"nothing to learn: no word of the corpus is known, and `min_count={min_count}` leaves none of its "
            f"{totals.words:,} words, the largest count is {totals.largest:,}; lower `min_count`"
        )
    _check(merged, kept, min_count, totals)
    vocabulary, ids = _numbered(merged, kept)
    return vocabulary, ids[places]


def check_sum(counts: NDArray[np.int64], what: str, *more: NDArray[np.int64]) -> None:
    """Raise an error about `what` if the sum of all counts does not fit into 64 bits."""
    if sum(float(one.sum(dtype=np.float64)) for one in (counts, *more)) < 2.0**62:
        return
    total = sum(sum(one.tolist()) for one in (counts, *more))
    if total >= 1 << 63:
        raise Any2VecError(f"{what}: the counts sum to {total:,}; the most is 2^63 - 1, or {(1 << 63) - 1:,}")


def _laid_out(vocabulary: Vocabulary, refusal: str = "a known word is not UTF-8 text") -> WordCounts:
    """Lay out the words of a vocabulary as those of a text are; raise `refusal` if one cannot be encoded."""
    try:
        return WordCounts.of([word.encode() for word in vocabulary.words], vocabulary.counts)
    except UnicodeEncodeError as error:
        raise Any2VecError(f"{refusal}: {shown(error.object)}") from None


def _numbered(part: WordCounts, kept: NDArray[np.int64]) -> tuple[Vocabulary, NDArray[np.int32]]:
    """Make V of the words at some places, in the order of their ids; return also the id of each word of `part`."""
    ids = np.full(len(part), -1, np.int32)
    ids[kept] = np.arange(len(kept), dtype=np.int32)
    return Vocabulary([word.decode() for word in part.words(kept)], part.counts[kept]), ids


def _candidates(
    part: WordCounts, min_count: int, max_size: int | None, known: Vocabulary | None = None
) -> NDArray[np.int64]:
    """Return the places of words that `choose` may choose, if `part` has only some words of the corpus."""
    if known is None:
        return _most_frequent(part, min_count, max_size)
    _, (old, places) = merge([_laid_out(known), part])
    is_old = places < len(old)
    new = _sorted(part, np.flatnonzero(~is_old & (part.counts >= min_count)))
    return np.append(np.flatnonzero(is_old), new[:max_size])


def _most_frequent(part: WordCounts, min_count: int, max_size: int | None) -> NDArray[np.int64]:
    return _sorted(part, np.flatnonzero(part.counts >= min_count))[:max_size]


def _totals_of(part: WordCounts) -> _Totals:
    """Add up the counts of distinct words."""
    return _Totals(int(part.counts.sum()), int(np.count_nonzero(part.counts)), int(part.counts.max(initial=0)))


def _sorted(part: WordCounts, kept: NDArray[np.int64]) -> NDArray[np.int64]:
    """Sort words by falling count, ties by their bytes: first the first eight, as a number, then the rest."""
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


def _check(part: WordCounts, kept: NDArray[np.int64], min_count: int, totals: _Totals) -> None:
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


def build_vocabulary_distributed(
    part: WordCounts,
    min_count: int,
    max_size: int | None,
    communicator: Communicator,
    known: Vocabulary | None = None,
) -> tuple[Vocabulary, NDArray[np.int32]]:
    """Do what `choose` does, from what each host counted: the host that a word hashes to adds it up."""
    if communicator.size == 1:
        return choose(part, min_count, max_size, known=known)
    with shared_errors(communicator):
        owners = np.empty(len(part), np.int64)
        _owners(part.arena, part.starts, np.uint64(communicator.size), owners)
        rows = np.bincount(owners, minlength=communicator.size)
        sent = _take(part, np.argsort(owners, kind="stable"))
    received = _send(communicator, sent, rows)
    with shared_errors(communicator):
        mine, _ = merge([received])
        totals = _totals_of(mine)
        kept = _take(mine, _candidates(mine, min_count, max_size, known))
    del sent, received, mine
    each = communicator.allgather(np.array(totals, np.int64))
    totals = _Totals(int(each[:, 0].sum()), int(each[:, 1].sum()), int(each[:, 2].max()))
    every = _gather(communicator, kept)
    vocabulary, chosen = choose(every, min_count, max_size, totals, known)
    with shared_errors(communicator):
        _, (_, places) = merge([every, part])
        chosen = np.append(chosen, np.int32(-1))
        return vocabulary, chosen[np.minimum(places, len(every))]


def _send(communicator: Communicator, part: WordCounts, rows: NDArray[np.int64]) -> WordCounts:
    """Send each host its run of words, and return those received, which may repeat."""
    offsets = part.starts[np.concatenate(([0], np.cumsum(rows)))]
    lengths, _ = exchange(communicator, np.diff(part.starts), rows)
    counts, _ = exchange(communicator, part.counts, rows)
    arena, _ = exchange(communicator, part.arena[: offsets[-1]], np.diff(offsets))
    return _checked(arena, lengths, counts)


def _gather(communicator: Communicator, part: WordCounts) -> WordCounts:
    """Give every host the words of all, in host order."""
    columns = part.arena[: part.starts[-1]].tobytes(), np.diff(part.starts).tobytes(), part.counts.tobytes()
    arena, lengths, counts = (bytearray().join(allgather_bytes(communicator, column)) for column in columns)
    return _checked(np.frombuffer(arena, np.uint8), np.frombuffer(lengths, np.int64), np.frombuffer(counts, np.int64))


def _checked(arena: NDArray[np.uint8], lengths: NDArray[np.int64], counts: NDArray[np.int64]) -> WordCounts:
    """Return words that hosts sent, if they can be."""
    if min(lengths.min(initial=1) - 1, counts.min(initial=0)) < 0 or lengths.sum() != len(arena):
        raise DamagedError("hosts sent words whose lengths or counts cannot be: messages are damaged on their way")
    return _part(arena, lengths, counts)


def _part(arena: NDArray[np.uint8], lengths: NDArray[np.int64], counts: NDArray[np.int64]) -> WordCounts:
    starts = np.concatenate((np.zeros(1, np.int64), np.cumsum(lengths)))
    return WordCounts(np.concatenate((arena, np.zeros(PADDING, np.uint8))), starts, counts)


def _take(part: WordCounts, places: NDArray[np.int64]) -> WordCounts:
    """Return the words at some places of a part."""
    lengths = part.starts[places + 1] - part.starts[places]
    taken = _part(np.empty(int(lengths.sum()), np.uint8), lengths, part.counts[places])
    copy_words(part.arena, part.starts, places, taken.arena, taken.starts)
    return taken


@njit(nogil=True, cache=True)
def _owners(arena: NDArray[np.uint8], starts: NDArray[np.int64], hosts: np.uint64, owners: NDArray[np.int64]) -> None:
    """Choose a host for each word; the hash is mixed again, as its low bits are the word's slot in a table."""
    for i in range(owners.size):
        hashed, _, _ = key_of(arena, starts[i], starts[i + 1] - starts[i] - 1)
        owners[i] = np.int64(mix(hashed, SEED) % hosts)


LINE_END = "</s>"
"""The word that word2vec counts at the end of each line: the first one of its vocabularies."""

_NO_TEXT = "the vocabulary has a word that is no text"
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
        _check_given(vocabulary)
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
    _check_given(given)
    check_sum(given.counts, "the vocabulary")
    kept = int(np.count_nonzero(given.counts >= min_count))
    if kept < 2:
        had = f"the vocabulary has {len(given):,} words, the largest count is {int(given.counts.max(initial=0)):,}"
        raise Any2VecError(f"`min_count={min_count}` leaves {kept} of two words or more: {had}; lower `min_count`")
    return choose(_laid_out(given, _NO_TEXT), min_count, max_size)[0]


def look_up(vocabulary: Vocabulary, part: WordCounts) -> NDArray[np.int32]:
    """Return the id of each word of `part`, -1 if it has none."""
    _, (_, places) = merge([_laid_out(vocabulary, _NO_TEXT), part])
    return np.where(places < len(vocabulary), places, np.int32(-1))


def _check_given(vocabulary: Vocabulary) -> None:
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
    _laid_out(vocabulary, _NO_TEXT)  # raises if a word is no text


def _read(stream: IO[bytes], path: Path) -> dict[bytes, tuple[int, int]]:
    """Return the line and the count of each word."""
    found: dict[bytes, tuple[int, int]] = {}
    number = 0
    while line := stream.readline(_LONGEST_LINE):
        number += 1
        if number == 1:
            refuse(line, path, "a vocabulary")
        parts = (line.removeprefix(BOM) if number == 1 else line).split()
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
