"""The error for a word that has no vector, with words that look like it."""

import difflib
from itertools import islice

from any2vec.corpus.vocabulary import Vocabulary
from any2vec.errors import Any2VecError

__all__ = ["unknown_word"]

LOOKED_AT = 50_000  # the most frequent words; comparing them takes a fraction of a second


def unknown_word(word: object, vocabulary: Vocabulary) -> Any2VecError:
    """Say that a word is unknown and which known words are spelt nearly so.

    Parameters
    ----------
    word : object
        What was asked for.
    vocabulary : Vocabulary
        The known words.

    Returns
    -------
    Any2VecError
        To be raised by the caller.
    """
    if not isinstance(word, str):
        return Any2VecError(f"a word is expected, not {word!r}")
    alike = [w for w in (word.lower(), word.upper(), word.title(), word.strip()) if w in vocabulary.ids]
    near = [w for w in islice(vocabulary.words, LOOKED_AT) if abs(len(w) - len(word)) <= 2]
    alike += difflib.get_close_matches(word, near, n=3, cutoff=0.7)
    message = f"no vector for {word!r}"
    if alike:
        message += "; spelt nearly so: " + ", ".join(repr(w) for w in dict.fromkeys(alike))
    return Any2VecError(message)
