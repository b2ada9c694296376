"""Upper and lower case are not told apart in evaluations."""

from collections.abc import Iterable

__all__ = ["fold", "folded_ids"]


def fold(word: str) -> str:
    """Map the spellings of a word in upper and lower case to one.

    Parameters
    ----------
    word : str
        Any word.

    Returns
    -------
    str
        In upper case, as word2vec's compute-accuracy has it.
    """
    return word.upper()


def folded_ids(words: Iterable[str]) -> dict[str, int]:
    """Map words to ids by their folded spelling.

    Parameters
    ----------
    words : iterable of str
        In the order of their ids, the most frequent first.

    Returns
    -------
    dict of int
        Id of each folded spelling; of several words with the same one, the first's.
    """
    ids: dict[str, int] = {}
    for i, word in enumerate(words):
        ids.setdefault(fold(word), i)
    return ids
