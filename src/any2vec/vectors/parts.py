"""Parts of which vectors of words are made: a row of each word's own, and rows that words share."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from any2vec.cluster.machine import usable_cores
from any2vec.cluster.workers import ordered
from any2vec.corpus.parts import Features, Subwords
from any2vec.errors import Any2VecError, shown
from any2vec.io.memory import check_finite, first_not_finite, read_only
from any2vec.llvm.compiled import njit
from any2vec.options import whole_number

_WORDS = 1 << 14  # whose parts are listed at a time, and as many n-grams as they may have
_TOGETHER = 1 << 22


@dataclass(frozen=True, eq=False, repr=False)
class Parts:
    """Rows of which the vectors of words are means, also those of words that have no row of their own.

    The vector of a word of V is the mean of its own row and the rows of its parts; that of another word, of the rows of
    its parts. A part that has no row counts as a row of zeros. These are fastText's rules.

    Parameters
    ----------
    settings : Subwords or Features
        Which parts a word has, as numbers from 0 to below `buckets`.
    own : float32 array, shape (V, D)
        The row of each word, in the order of ids. No array is copied; memory maps will do.
    ids : int64 array, shape (P,)
        The numbers of the parts that have a row, each once, in any order.
    rows : float32 array, shape (P, D)
        The row of each.
    whole : bool
        Whether these are the rows of all parts; if False, of one of many hosts, other words have no vectors.

    Raises
    ------
    Any2VecError
        If the shapes do not fit, or a number is out of range or occurs twice.
    """

    settings: Subwords | Features
    own: NDArray[np.float32]
    ids: NDArray[np.int64]
    rows: NDArray[np.float32]
    whole: bool = True

    def __post_init__(self) -> None:
        own, rows, ids = np.asarray(self.own, np.float32), np.asarray(self.rows, np.float32), np.asarray(self.ids)
        if own.ndim != 2 or rows.ndim != 2 or own.shape[1] != rows.shape[1] or ids.shape != (len(rows),):
            shapes = f"`own` of shape {own.shape}, `ids` of {ids.shape} and `rows` of {rows.shape}"
            raise Any2VecError(f"parts: {shapes} do not fit: (V, D), (P,) and (P, D) are expected")
        if ids.dtype.kind not in "iu" and len(ids):
            raise Any2VecError(f"parts: `ids` are whole numbers, not {shown(ids)}")
        ids = ids.astype(np.int64, copy=False)
        for name, array in (("own", own), ("ids", ids), ("rows", rows)):
            object.__setattr__(self, name, read_only(array))
        numbers = self._sorted[0]
        if len(numbers) and (numbers[0] < 0 or numbers[-1] >= self.settings.buckets):
            wrong = numbers[0] if numbers[0] < 0 else numbers[-1]
            raise Any2VecError(f"parts: `ids` has {wrong:,}; it must be from 0 to below {self.settings.buckets:,}")
        if (twice := np.flatnonzero(np.diff(numbers) == 0)).size:
            raise Any2VecError(f"parts: `ids` has {numbers[twice[0]]:,} twice; a part has one row")

    def __repr__(self) -> str:
        return f"<Parts {self.settings}: {len(self.own):,} rows of words and {len(self.rows):,} of their parts>"

    def means(self, words: Sequence[str], threads: int | None = None) -> NDArray[np.float32]:
        """Compute the vectors of all words of V, in the order of ids; shape (V, D), the same bits for any threads.

        A vector is the sum of a word's own row and those of its parts, in their order, times 1 / (1 + their number).
        """
        if len(words) != len(self.own):
            raise Any2VecError(f"parts: {len(words):,} words do not fit {len(self.own):,} rows")
        return self._means(words, self.own, usable_cores() if threads is None else whole_number("threads", threads, 1))

    def of(self, words: Sequence[str]) -> NDArray[np.float32]:
        """Compute the vectors that words have from their parts alone, float32, shape (n, D); zeros if from none."""
        return self._means(words, None, 1) if self.whole else np.zeros((len(words), self.rows.shape[1]), np.float32)

    def vector(self, word: str) -> NDArray[np.float32] | None:
        """Compute the vector that a word has from its parts alone, float32, shape (D,); None if that is zero."""
        found = self.of([word])[0]
        return found if found.any() else None

    def lacking(self, word: str) -> str:
        """Say why a word has no vector."""
        if not isinstance(self.settings, Features):
            return "nor for parts of it"
        if word in self.settings.numbers:
            return "which is a feature: see `vector_of_features`, and `any2vec similar --feature`"
        return "and no features of it are known"

    def first(self, number: int) -> Self:
        """Return these with the rows of the first words only."""
        return replace(self, own=self.own[:number])

    def of_all_buckets(self, copy: bool = False) -> NDArray[np.float32]:
        """Return the rows of all buckets, shape (buckets, D), zeros where there is none; not copied if all have one."""
        numbers, order = self._sorted
        if len(numbers) == self.settings.buckets and (order[:-1] < order[1:]).all():
            return np.array(self.rows) if copy else self.rows
        found = np.zeros((self.settings.buckets, self.rows.shape[1]), np.float32)
        found[self.ids] = self.rows
        return found

    def check_finite(self, words: Sequence[str], where: str = "") -> None:
        """Raise an error that names the first word or part whose row is not finite; `where` precedes the message."""
        check_finite(words, self.own, f"{where}the parts: ")
        if bad := first_not_finite(self.rows):
            number = int(self.ids[bad[0]])
            part = repr(self.settings.names[number]) if isinstance(self.settings, Features) else f"{number:,}"
            raise Any2VecError(f"{where}the row of part {part} holds {self.rows[bad]}, not a finite number")

    @cached_property
    def _sorted(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The numbers of parts, sorted, and the row of each."""
        if (np.diff(self.ids) >= 0).all():
            return self.ids, np.arange(len(self.ids))
        order = np.argsort(self.ids, kind="stable")
        return self.ids[order], order

    def places(self, numbers: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
        """Return the row of each part, -1 if it has none."""
        known, rows = self._sorted
        if len(known) == self.settings.buckets and numbers.min(initial=0) >= 0:  # all have one
            return rows[numbers]
        if not len(known):
            return np.full(len(numbers), -1, np.int64)
        at = np.minimum(np.searchsorted(known, numbers), len(known) - 1)
        return np.where(known[at] == numbers, rows[at], -1)

    def _means(self, words: Sequence[str], own: NDArray[np.float32] | None, threads: int) -> NDArray[np.float32]:
        shape = len(words), self.rows.shape[1]
        found = np.zeros(shape, np.float32) if own is None else np.array(own, order="C")

        def mean(some: slice) -> None:
            bounds, numbers = self.settings.lists(words[some])
            _add_rows(bounds, self.places(numbers), self.rows, own is not None, found[some])

        for _ in ordered(mean, self._blocks(words), threads):
            pass
        check_finite(words, found)  # finite rows may have a sum that is not
        return found

    def _blocks(self, words: Sequence[str]) -> Iterator[slice]:
        """Cut words into blocks, smaller where they have many n-grams."""
        most, n_grams = _WORDS, self.settings if isinstance(self.settings, Subwords) else None
        begin = 0
        while begin < len(words):
            if n_grams is not None:
                lengths = 2 + np.fromiter(map(len, words[begin : begin + _WORDS]), np.int64)
                sums = np.cumsum(lengths * np.minimum(lengths, n_grams.most - n_grams.least + 1))
                most = max(1, int(np.searchsorted(sums, _TOGETHER, "right")))
            yield slice(begin, begin + most)
            begin += most


def lost_parts(settings: Subwords | Features, where: Path) -> str:
    """Say what a format does not hold."""
    lost, kept = ("n-grams", " or the format fasttext") if isinstance(settings, Subwords) else ("features", "")
    only = "so that only words of the vocabulary have vectors"
    return f"{where} will hold no {lost}, {only}; a folder (a name without an ending){kept} keeps them"


def means_of(
    rows: NDArray[np.float32], bounds: NDArray[np.int64], places: NDArray[np.integer[Any]]
) -> NDArray[np.float32]:
    """Compute the means of the rows ``places[bounds[i] : bounds[i + 1]]``, to the bits of `Parts.means`."""
    found = np.zeros((len(bounds) - 1, rows.shape[1]), np.float32)
    _add_rows(bounds, places.astype(np.int64, copy=False), rows, False, found)
    return found


@njit(nogil=True, cache=True)
def _add_rows(bounds: Any, places: Any, rows: Any, own: bool, sums: Any) -> None:
    """Add the rows of each word's parts to a sum, which may have its own row, and divide by the number of rows."""
    for word in range(bounds.size - 1):
        for part in range(bounds[word], bounds[word + 1]):
            row = places[part]
            if row >= 0:
                for i in range(rows.shape[1]):
                    sums[word, i] += rows[row, i]
        number = bounds[word + 1] - bounds[word] + own
        if number > 1:
            share = np.float32(1.0 / number)
            for i in range(rows.shape[1]):
                sums[word, i] *= share
