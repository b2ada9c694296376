"""A model of fastText, with the rows of n-grams if there are some: for fastText and gensim."""

import os
from typing import TYPE_CHECKING

from any2vec.options import as_path
from any2vec.vectors.export.target import first_words, opened_by

if TYPE_CHECKING:
    from any2vec.vectors.vectors import Vectors

__all__ = ["to_fasttext"]


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
    from any2vec.vectors.formats import save

    first = first_words(vectors, top)
    if first is not vectors and vectors.parts is not None:
        first = type(vectors)(first.vocabulary, first.matrix, parts=vectors.parts.first(len(first)))
    save(first, as_path(path), force=force, format="fasttext")
