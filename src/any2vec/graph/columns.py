"""Edges from columns, some rows at a time: vertices are numbered by first occurrence, without an object for each."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from any2vec.corpus.word_table import WordCounts, WordTable
from any2vec.graph.csr import Edges
from any2vec.graph.graph import Names
from any2vec.graph.numbering import number_vertices

__all__ = ["ColumnVertices"]

_FEW = 1 << 20  # integers up to this, or to some times the rows, are looked up in an array
_MANY = 2**31 - 2


class ColumnVertices:
    """Gives vertices codes, as parse.py does: integers that are not large are their own, other names are in a table.

    A graph's vertices are all added as integers, or all as strings.
    """

    def __init__(self, rows: int) -> None:
        self._limit = min(max(_FEW, 4 * rows), _MANY)
        self.table = WordTable()
        self._highest = -1

    def integers(self, column: NDArray[Any]) -> NDArray[np.int32]:
        """Return the codes of integers."""
        small = (column >= 0) & (column <= self._limit)
        if small.all():
            codes = column.astype(np.int32)
        else:
            codes = np.where(small, column, 0).astype(np.int32)
            values, places = np.unique(column[~small], return_inverse=True)
            words = WordCounts.of([b"%d" % value for value in values.tolist()], np.zeros(len(values), np.int64))
            codes[~small] = -1 - self.table.add(words)[places]
        self._highest = max(self._highest, int(codes.max(initial=-1)))
        return codes

    def strings(self, words: WordCounts) -> NDArray[np.int32]:
        """Return the codes of strings."""
        return -1 - self.table.add(words)

    def names(self, edges: list[Edges]) -> Names:
        """Replace codes by vertices, in place, and return their names."""
        return number_vertices(edges, self.table.part(), self._highest)
