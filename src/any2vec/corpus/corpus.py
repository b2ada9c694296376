"""A corpus that was read: what training needs of it."""

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from any2vec.corpus.documents import Documents
from any2vec.corpus.vocabulary import Vocabulary
from any2vec.corpus.word_rows import WordRows
from any2vec.corpus.worklist import StoredWorklist, Worklist

__all__ = ["NO_KIND", "Corpus"]

NO_KIND = 255
"""Kind of a vertex of an earlier graph."""


@dataclass(frozen=True, eq=False)
class Corpus:
    """A text, ready for training.

    Attributes
    ----------
    vocabulary : Vocabulary
        The words that get vectors; the same on all hosts.
    worklist : Worklist
        The text as their ids: W, or on a cluster this host's part of it.
    raw_words : int
        Words in the text, with those that `min_count` dropped. This and the next two are totals over all hosts.
    sentences : int
        Sentences in W: those with a word in the vocabulary.
    invalid : int
        Words of the text with bytes that are not UTF-8, or tokens with lone surrogates: U+FFFD replaces these.
    cuts : int64 array, shape (hosts + 1,)
        Host h's part of W is positions ``cuts[h]`` to ``cuts[h + 1] - 1``: whole sentences, or nothing.
    held : range
        The hosts whose parts are in `worklist`.
    cached : bool
        Whether the corpus was taken from the cache.
    seconds : dict from str to float
        ``scan``: read, count, choose. ``encode``: write the worklist. Both are 0 if cached.
    folder : Path
        Holds the worklist's files; removed with this object unless it is in the cache.
    line_ends : int
        Line feeds of the text, and words ``</s>`` if these end sentences; 0 if it has no lines.
    rows : WordRows or None
        The rows of e that make a word's vector, if they are several (`operators.Operator.divide`).
    documents : Documents or None
        Which documents the sentences are, if the text was read as some.
    memory : dict from str to int
        Bytes by part, those of a graph and its walks.
    kinds : uint8 array, shape (V,), or None
        The kind of each vertex, of a graph that has kinds; `NO_KIND` if the graph lacks the vertex.
    read_bytes : int
        Bytes that hosts have sent each other to read a graph in parts.
    walk_bytes : int
        The same, to walk on it.
    """

    vocabulary: Vocabulary
    worklist: Worklist
    raw_words: int
    sentences: int
    invalid: int
    cuts: NDArray[np.int64]
    held: range
    cached: bool
    seconds: dict[str, float] = field(repr=False)
    folder: Path
    line_ends: int = 0
    rows: WordRows | None = None
    documents: Documents | None = None
    memory: dict[str, int] = field(default_factory=dict, repr=False)
    kinds: NDArray[np.uint8] | None = None
    read_bytes: int = 0
    walk_bytes: int = 0

    @property
    def vertices(self) -> int:
        """The rows that a matrix has: V, or V + P with P rows of parts."""
        return len(self.vocabulary) if self.rows is None else self.rows.number

    @property
    def hosts(self) -> int:
        """H, the number of hosts the text is cut for."""
        return len(self.cuts) - 1

    def documents_of(self, host: int) -> range:
        """Return the numbers in W of a host's documents; the host is one of `held`."""
        assert self.documents
        assert isinstance(self.worklist, StoredWorklist)
        low, high = (int(cut) - self.worklist.first for cut in self.cuts[host : host + 2])
        first, last = (np.searchsorted(self.worklist.bounds, [low, high]) + self.documents.first).tolist()
        return range(first, last)

    def part(self, host: int) -> Worklist:
        """Return the worklist of a host, one of those `held`: it begins at position `first` of W, and may be empty."""
        if host not in self.held:
            raise IndexError(f"host {host}'s part is not here; those of {self.held} are")
        low, high = (int(cut) - self.worklist.first for cut in self.cuts[host : host + 2])
        return self.worklist.between(low, high)
