"""word2vec's formats, which `any2vec.save` writes: for gensim, fastText and many others."""

import os
from typing import TYPE_CHECKING

from any2vec.errors import Any2VecError
from any2vec.options import as_path
from any2vec.vectors.export.target import first_words, opened_by

if TYPE_CHECKING:
    from any2vec.vectors.vectors import Vectors

__all__ = ["to_word2vec"]


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
    from any2vec.vectors.formats import format_of, save

    where = as_path(path)
    if format_of(where).files:
        raise Any2VecError(f"{where}: give a name that ends in .bin, .txt or .vec")
    save(first_words(vectors, top), where, force=force)
