"""Lines with labels, as fastText has them (Joulin et al. 2017, "Bag of tricks for efficient text classification").

A line is the rows of its words, of their n-grams of characters, of the end of the line, and of n-grams of words, which
are hashed to buckets. Every word of the text counts for n-grams of words, with a row or without.
"""

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from any2vec.cluster.communicator import Communicator, allreduce
from any2vec.corpus.corpus import Corpus
from any2vec.corpus.parts import BUCKETS, HASH, Subwords, WordRows, encoded_word, hash_more, joined_words
from any2vec.corpus.vocabulary import LINE_END
from any2vec.errors import Any2VecError, shown
from any2vec.llvm.compiled import njit

PREFIX = "__label__"
"""What labels begin with."""

END_HASH = np.int32(-677_604_519)
"""The `word_hash` of ``</s>``, the word that ends a line."""

_NEXT = np.uint64(116_049_371)


@njit(nogil=True, cache=True)
def word_hash(text: NDArray[np.uint8], begin: int, end: int) -> np.int32:
    """Hash a word's bytes as fastText does, to 32 bits with a sign."""
    hashed = HASH
    for at in range(begin, end):
        hashed = hash_more(hashed, text[at])
    return np.int32(np.uint32(hashed))


@njit(inline="always")
def longer_gram(gram: Any, hashed: Any) -> Any:
    """Hash an n-gram of words and the word behind it; an n-gram of one word is its hash, 64 bits with its sign."""
    return gram * _NEXT + np.uint64(np.int64(hashed))


@njit(inline="always")
def first_gram(hashed: Any) -> Any:
    """Return the n-gram of one word."""
    return np.uint64(np.int64(hashed))


@njit(inline="always")
def list_grams(
    words: Any, begin: int, end: int, labels: Any, hashes: Any, longest: int, buckets: int, out: Any, n: int
) -> int:
    """List the buckets of a line's n-grams of 2 to `longest` words behind n others; return how many there are then."""
    for at in range(begin, end):
        if labels[words[at]] >= 0:
            continue
        gram = first_gram(hashes[words[at]])
        taken, after = 1, at + 1
        while taken < longest and after <= end:
            if after < end and labels[words[after]] >= 0:
                after += 1
                continue
            gram = longer_gram(gram, hashes[words[after]] if after < end else END_HASH)
            out[n] = np.int64(gram % np.uint64(buckets))
            n += 1
            taken += 1
            after += 1
    return n


@dataclass(frozen=True, eq=False)
class LineRows(WordRows):
    """The rows of e that lines of a text are made of, and its labels, most frequent first.

    Words that occur less than `min_count` times have no row of their own; n-grams have one if they occur.
    """

    hashes: NDArray[np.int32]  # (V,): Of each word of V
    labels: NDArray[np.int32]  # (V,): The label that a word of V is, or -1
    own_words: NDArray[np.int64]  # (W,): The words of V with rows of their own, which are no labels
    own_rows: NDArray[np.int32]  # (W,): Their rows
    end: int  # row of the end of a line
    word_ngrams: int  # words of the longest n-gram
    grams: NDArray[np.int32]  # (buckets,): Row of each bucket, or -1
    uses: NDArray[np.float64]  # (rows,): Lines' uses of each row in an epoch
    names: list[str]  # of the L labels
    label_counts: NDArray[np.int64]  # (L,)
    lines: int  # lines with a label
    longest: int  # rows of the longest line
    weights: NDArray[np.float32] = field(default_factory=lambda: np.zeros(0, np.float32))  # (L,); empty if all are 1

    @property
    def number(self) -> int:
        """Rows of e: of words, of the end of a line, and of n-grams; or of t, if these are more."""
        return max(len(self.uses), len(self.label_counts))

    def of_words(self, places: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return what words have, for the rows of their own, and -1 for others; shape (V,) to shape (rows,)."""
        found = np.full(self.number, -1, np.int32)
        found[self.own_rows] = places[self.own_words]
        return found

    def visits(self, of_words: NDArray[np.float64]) -> float:
        """Return how often an epoch meets a row of e, or a label if that is oftener, in the mean."""
        return max(super().visits(of_words), self.lines / len(self.label_counts))

    def spread(self, of_words: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return how often lines use each row; shape (rows,)."""
        return np.pad(self.uses, (0, self.number - len(self.uses)))

    @classmethod
    def of_lines(
        cls,
        corpus: Corpus,
        subwords: Subwords | None,
        *,
        prefix: str = PREFIX,
        min_count: int = 1,
        word_ngrams: int = 1,
        buckets: int = BUCKETS,
        only: tuple[Collection[str], NDArray[np.int64]] | None = None,
        communicator: Communicator,
    ) -> Self:
        """Give rows to what occurs in a text, `only` to some words and buckets if given; all hosts call this."""
        words, counts = corpus.vocabulary.words, corpus.vocabulary.counts
        is_label = np.fromiter((word.startswith(prefix) for word in words), np.bool_, len(words))
        labels = np.where(is_label, np.cumsum(is_label) - 1, -1).astype(np.int32)
        hashes = np.empty(len(words), np.int32)
        _hash_all(*joined_words([encoded_word(word) for word in words]), hashes)
        has_grams = word_ngrams > 1 or subwords is not None
        used = np.zeros(buckets if has_grams else 0, np.int64)
        bounds, parts = np.zeros(len(words) + 1, np.int64), np.zeros(0, np.int32)
        if subwords is not None:
            bounds, parts = subwords.lists([LINE_END if label else w for w, label in zip(words, is_label, strict=True)])
        found = np.zeros(2, np.int64)  # lines with a label, rows of the longest
        in_text = np.zeros(len(used) if word_ngrams > 1 else 0, np.int64)
        worklist, sizes = corpus.worklist, np.diff(bounds)
        for ids, of_lines, _, low, high in worklist.pieces(0, worklist.size):
            first, last = np.searchsorted(of_lines, [low, high])
            _look(ids, of_lines[first : last + 1], labels, hashes, sizes, word_ngrams, in_text, found)
        of_hosts = communicator.allgather(found)
        lines, longest = int(of_hosts[:, 0].sum()), int(of_hosts[:, 1].max())
        if not lines:
            example = shown(f"{prefix}good a film")
            what = f"a word that begins with {shown(prefix)}, such as {example}"
            raise Any2VecError(f"no line has a label, {what}; of a table, give `column` and `label_column`")
        if is_label.sum() == 1:
            single = shown(words[int(is_label.argmax())].removeprefix(prefix))
            raise Any2VecError(f"all lines have the label {single}; two labels are needed")
        if in_text.size:
            used += allreduce(communicator, in_text)
        if len(parts):
            used += np.bincount(parts, np.repeat(counts, sizes), len(used)).astype(np.int64)
        has = np.flatnonzero(used)
        kept = np.ones(len(words), np.bool_)
        if only is not None:
            has, chosen = np.intersect1d(has, only[1]), set(only[0])
            kept = np.fromiter((word in chosen for word in words), np.bool_, len(words))
        is_end = np.fromiter((word == LINE_END for word in words), np.bool_, len(words))
        own = np.flatnonzero(~is_label & ~is_end & (counts >= min_count) & kept)
        every = np.concatenate([[lines], counts[own], used[has]])
        order = np.argsort(-every, kind="stable")
        rows = np.empty(len(every), np.int32)
        rows[order] = np.arange(len(every), dtype=np.int32)
        line_end, own_rows, of_parts = int(rows[0]), rows[1 : len(own) + 1], rows[len(own) + 1 :]
        grams = np.full(len(used), -1, np.int32)
        grams[has] = of_parts
        has_own = np.zeros(len(words), np.int64)
        has_own[own] = 1
        listed, of_words = grams[parts], bounds
        if only is not None:
            has_row = listed >= 0
            listed, of_words = listed[has_row], np.append(0, np.cumsum(has_row))[bounds]
        listed = np.insert(listed, of_words[own], own_rows)
        return cls(
            of_words + np.append(0, np.cumsum(has_own)),
            listed,
            has,
            of_parts,
            hashes,
            labels,
            own,
            own_rows,
            line_end,
            word_ngrams,
            grams,
            every[order].astype(np.float64),
            [word.removeprefix(prefix) for word, label in zip(words, is_label, strict=True) if label],
            counts[is_label],
            lines,
            longest,
        )


@njit(nogil=True, cache=True)
def _hash_all(text: NDArray[np.uint8], starts: NDArray[np.int64], found: NDArray[np.int32]) -> None:
    for i in range(found.size):
        found[i] = word_hash(text, starts[i], starts[i + 1])


@njit(nogil=True, cache=True)
def _look(
    ids: NDArray[np.int32],
    bounds: NDArray[np.int64],
    labels: NDArray[np.int32],
    hashes: NDArray[np.int32],
    sizes: NDArray[np.int64],
    word_ngrams: int,
    used: NDArray[np.int64],
    found: NDArray[np.int64],
) -> None:
    """Count the uses of buckets by n-grams of words; add up lines with a label, and find the rows of the longest."""
    longest = 0
    for line in range(bounds.size - 1):
        longest = max(longest, bounds[line + 1] - bounds[line])
    listed = np.empty(longest * (word_ngrams - 1), np.int64)
    for line in range(bounds.size - 1):
        begin, end, rows, has_label = bounds[line], bounds[line + 1], 1, False
        for at in range(begin, end):
            word = ids[at]
            if labels[word] >= 0:
                has_label = True
            else:
                rows += 1 + sizes[word]
        if word_ngrams > 1:
            number = list_grams(ids, begin, end, labels, hashes, word_ngrams, used.size, listed, 0)
            rows += number
            for k in range(number):
                used[listed[k]] += 1
        found[0] += has_label
        found[1] = max(found[1], rows)
