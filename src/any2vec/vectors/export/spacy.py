"""spaCy: a pipeline without components whose vocabulary has the vectors."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from any2vec.errors import Any2VecError, missing_extra, shown
from any2vec.io.replaceable import Kind, json_of
from any2vec.vectors.export.target import Target, opened_by

if TYPE_CHECKING:
    from any2vec.vectors.vectors import Vectors

__all__ = ["to_spacy"]

_NAME = "any2vec"
META, FILES = "meta.json", ("config.cfg", "meta.json", "tokenizer", "vocab")


def _holds(path: Path) -> bool:
    meta = json_of(path / META)
    return isinstance(meta, dict) and meta.get("name") == _NAME and meta.get("pipeline") == []


TARGET = Target(Kind("vectors of spaCy", _holds, files=FILES), refused=r"^$", reason="empty")


@opened_by("spacy.load({python})")
def to_spacy(
    vectors: "Vectors",
    path: str | os.PathLike[str],
    *,
    language: str = "xx",
    top: int | None = None,
    force: bool = False,
) -> None:
    """Write a folder that ``spacy.load`` loads, or that ``initialize.vectors`` of a training configuration names.

    A token has the vector of the word that is spelt like it, also in case; others have zeros. spaCy's mean of a text
    includes them.

    Parameters
    ----------
    path : str or path
        The folder; an earlier one is replaced. A folder with other files is refused.
    language : str
        spaCy's code of the language, such as "en", whose rules cut texts into tokens; by default "xx", of no language.
    top : int, optional
        Write the first words only, which are the most frequent.
    force : bool
        Replace a folder that holds another pipeline of spaCy, too.

    Raises
    ------
    Any2VecError
        If spaCy is not installed or does not know the language, a vector is not finite, or the folder cannot be
        written.
    """
    try:
        import spacy
        from spacy.vectors import Vectors as Table
    except ImportError:
        raise missing_extra("spacy", "spacy") from None
    with TARGET.writing(vectors, path, top, force) as (rows, folder):
        try:
            nlp = spacy.blank(language, meta={"name": _NAME})
        except (ImportError, TypeError, ValueError) as error:
            right = 'one of spaCy\'s codes, such as "en", whose rules need no other library, or "xx"'
            raise Any2VecError(f"`language` is {shown(language)}; it must be {right}") from error
        for word in rows.words:
            nlp.vocab.strings.add(word)
        data = np.array(rows.matrix, np.float32)  # spaCy's may change
        nlp.vocab.vectors = Table(strings=nlp.vocab.strings, data=data, keys=list(rows.words), name=_NAME)
        nlp.to_disk(folder)
