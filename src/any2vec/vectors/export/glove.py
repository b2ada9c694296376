"""GloVe's text format: word2vec's without the first line."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

from any2vec.cluster.local import alone
from any2vec.io.outputs import write_in_host_order
from any2vec.io.replaceable import Kind, has_mark
from any2vec.vectors.decimals import decimals
from any2vec.vectors.export.target import Target, opened_by

if TYPE_CHECKING:
    from any2vec.vectors.vectors import Vectors

__all__ = ["to_glove"]

_NAME = "GloVe's format"


def _holds(path: Path) -> bool:
    from any2vec.vectors.recognize import holds_text

    return has_mark(path, _NAME) or holds_text(path)  # of few dimensions, a table could be anything


TARGET = Target(
    Kind(_NAME, _holds, marked=True),
    (".txt", ".txt.gz"),
    refused=r"^$|[ \t\n\r\v\f]",
    reason="empty, or with whitespace",
)


@opened_by("gensim's KeyedVectors.load_word2vec_format({python}, no_header=True)")
def to_glove(vectors: "Vectors", path: str | os.PathLike[str], *, top: int | None = None, force: bool = False) -> None:
    """Write GloVe's text format: a line per word, with its numbers, separated by spaces.

    The numbers are read back to the same float32. `any2vec.load` reads the file, too.

    Parameters
    ----------
    path : str or path
        The file, which ends in `.txt`, or `.txt.gz` to compress it; earlier vectors are replaced.
    top : int, optional
        Write the first words only, which are the most frequent.
    force : bool
        Replace a file that holds something else, too.

    Raises
    ------
    Any2VecError
        If a vector is not finite, a word is empty or has whitespace, or the file cannot be written.
    """
    from any2vec.vectors.word2vec_text import text_rows

    rows, where = TARGET.check(vectors, path, top, force)
    write_in_host_order(where, text_rows(rows, decimals), alone(), TARGET.kind)
