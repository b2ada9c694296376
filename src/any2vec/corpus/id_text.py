"""A text as ids in temporary files: what phrases are found in, and joined in, pass by pass.

An entry of a piece is a word, or `END` (a sentence ends), or `INSIDE`: the word belongs to the phrase whose id stands
where it begins. So every entry keeps its place, whatever is joined.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from any2vec.corpus.scan import Piece, Scan
from any2vec.corpus.vocabulary import merge_valid
from any2vec.corpus.word_table import WordCounts, WordTable
from any2vec.corpus.worklist import map_file
from any2vec.io.memory import write_all

__all__ = ["END", "INSIDE", "IdText"]

END, INSIDE = -1, -2


@dataclass(eq=False)
class IdText:
    """A text as ids of distinct words, all UTF-8.

    Attributes
    ----------
    table : WordTable
        The words; more can be added.
    counts : int64 array, shape (n,)
        How often each occurs.
    words : int
        Words in the text: the sum of `counts`.
    invalid : int
        Words that were not UTF-8.
    files : list of Path
        Where the ids are.
    pieces : list of Piece
        Where each block's ids are, in the order of the text.
    final : list of int32 arrays
        The ids that those in each file stand for.
    """

    table: WordTable
    counts: NDArray[np.int64]
    words: int
    invalid: int
    files: list[Path]
    pieces: list[Piece]
    final: list[NDArray[np.int32]]

    @classmethod
    def of(cls, scan: Scan) -> "IdText":
        """Take what a pass over the text found; its files may be changed."""
        part, places, invalid = merge_valid(scan.parts)
        table = WordTable()
        moved = table.add(part)
        final = [moved[place] for place in places]
        return cls(table, table.part().counts, scan.words, invalid, scan.files, scan.pieces, final)

    def part(self) -> WordCounts:
        """Return the words with their counts."""
        words = self.table.part()
        return WordCounts(words.arena, words.starts, self.counts)

    def add(self, words: list[bytes]) -> NDArray[np.int32]:
        """Return the ids of words, which are added if they are new."""
        ids = self.table.add(WordCounts.of(words, np.zeros(len(words), np.int64)))
        more = len(self.table.part()) - len(self.counts)
        self.counts = np.concatenate((self.counts, np.zeros(more, np.int64)))
        return ids

    def load(self, piece: Piece) -> NDArray[np.int32]:
        """Read the ids of a piece."""
        return piece.read(self.files, np.empty(piece.entries, np.int32))

    def store(self, piece: Piece, ids: NDArray[np.int32]) -> None:
        """Replace the ids of a piece."""
        with self.files[piece.part].open("r+b", buffering=0) as file:
            file.seek(piece.offset)
            write_all(file, ids)

    def views(self) -> list[NDArray[np.int32]]:
        """Map the ids of each piece, read-only."""
        files = [map_file(path, np.int32, []) for path in self.files]
        firsts = [piece.offset // 4 for piece in self.pieces]
        return [
            files[piece.part][first : first + piece.entries] for piece, first in zip(self.pieces, firsts, strict=True)
        ]
