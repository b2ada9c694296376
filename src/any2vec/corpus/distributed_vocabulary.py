"""V of a cluster: each host counted the words of its own text; each distinct word is added up by one host."""

import numpy as np
from numpy.typing import NDArray

from any2vec.cluster.communicator import Communicator, DamagedError, allgather_bytes, exchange, shared_errors
from any2vec.corpus.vocabulary import Totals, Vocabulary, candidates, choose, totals_of
from any2vec.corpus.word_hash import PADDING, SEED, key_of, mix
from any2vec.corpus.word_table import WordCounts, copy_words, merge
from any2vec.llvm.compiled import njit

__all__ = ["build_vocabulary_distributed"]


def build_vocabulary_distributed(
    part: WordCounts,
    min_count: int,
    max_size: int | None,
    communicator: Communicator,
    known: Vocabulary | None = None,
) -> tuple[Vocabulary, NDArray[np.int32]]:
    """Do what `choose` does, from what each host counted in its own text: all get the same V, and their words' ids.

    The host that a word hashes to adds it up, so none has to hold all distinct words; those kept go to all.
    """
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
        totals = totals_of(mine)
        kept = _take(mine, candidates(mine, min_count, max_size, known))
    del sent, received, mine
    each = communicator.allgather(np.array(totals, np.int64))
    totals = Totals(int(each[:, 0].sum()), int(each[:, 1].sum()), int(each[:, 2].max()))
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
