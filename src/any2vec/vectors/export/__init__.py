"""Vectors as files of other programs: the list of targets; those of word2vec, fastText and GloVe are here."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from any2vec.cluster.local import alone
from any2vec.errors import Any2VecError
from any2vec.io.memory import decimals
from any2vec.io.outputs import Kind, has_mark, write_in_host_order
from any2vec.options import as_path
from any2vec.vectors.export import folders, tables
from any2vec.vectors.export.target import Target, first_words, opened_by
from any2vec.vectors.files import format_of, holds_text, save
from any2vec.vectors.files.word2vec import text_rows
from any2vec.vectors.lookup import Lookup

if TYPE_CHECKING:
    from any2vec.vectors import Vectors

__all__ = ["TARGETS", "Exports"]


@opened_by("any2vec info {shell}")
def to_word2vec(
    vectors: "Vectors", path: str | os.PathLike[str], *, top: int | None = None, force: bool = False
) -> None:
    """Write word2vec's text or binary format, as `any2vec.save` does.

    Parameters
    ----------
    path : str or path
        The file: `.bin` is binary, `.txt` and `.vec` are text (fastText takes `.vec` for ``-pretrainedVectors``);
        `.gz` may follow. Earlier vectors are replaced.
    top : int, optional
        Write the first words only, which are the most frequent.
    force : bool
        Replace a file that holds something else, too.

    Raises
    ------
    Any2VecError
        If a vector is not finite, a word is empty or has whitespace, or the file cannot be written.
    """
    where = as_path(path)
    if format_of(where).files:
        raise Any2VecError(f"{where}: give a name that ends in .bin, .txt or .vec")
    save(first_words(vectors, top), where, force=force)


@opened_by("fasttext.load_model({python})")
def to_fasttext(
    vectors: "Vectors", path: str | os.PathLike[str], *, top: int | None = None, force: bool = False
) -> None:
    """Write a model of fastText, as `any2vec.save` with ``format="fasttext"`` does.

    It has the rows of words and of their parts, and t; what fastText calls arguments is not known, and has its
    defaults. gensim's `load_facebook_model` reads it, too.

    Parameters
    ----------
    path : str or path
        The file, which ends in `.bin`. Earlier vectors are replaced.
    top : int, optional
        Write the first words only, which are the most frequent, with all parts, and without t.
    force : bool
        Replace a file that holds something else, too.

    Raises
    ------
    Any2VecError
        If a vector is not finite, a word has a zero byte, the name ends otherwise, or the file cannot be written.
    """
    first = first_words(vectors, top)
    if first is not vectors and vectors.parts is not None:
        first = type(vectors)(first.vocabulary, first.matrix, parts=vectors.parts.first(len(first)))
    save(first, as_path(path), force=force, format="fasttext")


_NAME = "GloVe's format"


def _holds(path: Path) -> bool:
    return has_mark(path, _NAME) or holds_text(path)  # of few dimensions, a table could be anything


_GLOVE = Target(
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
    rows, where = _GLOVE.check(vectors, path, top, force)
    write_in_host_order(where, text_rows(rows, decimals), alone(), _GLOVE.kind)


class Exports(Lookup):
    """Vectors as files of other programs; each method is a target of `any2vec export`."""

    to_tensorboard = folders.to_tensorboard
    to_embedding_atlas = tables.to_embedding_atlas
    to_sentence_transformers = folders.to_sentence_transformers
    to_model2vec = folders.to_sentence_transformers
    to_spacy = folders.to_spacy
    to_word2vec = to_word2vec
    to_fasttext = to_fasttext
    to_glove = to_glove
    to_numpy = tables.to_numpy
    to_parquet = tables.to_parquet


TARGETS: dict[str, Callable[..., None]] = {
    name.removeprefix("to_").replace("_", "-"): write for name, write in vars(Exports).items() if name.startswith("to_")
}
"""By the names of the command line."""
