"""Labels of texts as users give them, and weights of labels."""

from collections.abc import Collection, Iterable, Mapping, Set, Sized
from dataclasses import replace
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from any2vec.corpus.raw_text import RawText
from any2vec.corpus.sentences import tokens_in
from any2vec.errors import Any2VecError, counted, shown

NO, LISTS, MATRIX = "", "lists", "matrix"
"""How texts have several labels."""


def labelled(texts: Iterable[Any], y: Any, prefix: str, raw: RawText) -> tuple[list[list[str]], dict[str, Any], str]:
    """Return lists of tokens with the labels among them, what was given for each label, and how labels were given."""
    plain = replace(raw, prefix="")
    tokens = [plain.words(text) if isinstance(text, str) else tokens_in(i, text) for i, text in enumerate(texts)]
    lists, several, columns = labels_of(y)
    check_as_many(tokens, lists)
    names: dict[str, Any] = {str(i): i for i in range(columns)}
    for i, labels in enumerate(lists):
        for label in labels:
            if not isinstance(label, str | Integral) or label == "":
                raise Any2VecError(f"label {i} is {shown(label)}; a string or an integer is expected")
            if (earlier := names.setdefault(as_read(label), label)) != label:
                raise Any2VecError(f"label {i} is {shown(label)}, an earlier one {shown(earlier)}; give one kind")
    found = [
        [prefix + str(label) for label in labels] + [plain.token(t) for t in line if not str(t).startswith(prefix)]
        for labels, line in zip(lists, tokens, strict=True)
    ]
    return found, names, several


def labels_of(y: Any) -> tuple[list[list[Any]], str, int]:
    """Return the labels of each text, how they were given, and the columns of a matrix."""
    given = y.toarray() if hasattr(y, "toarray") else y
    if getattr(given, "ndim", 1) == 2:  # also a data frame
        given = np.asarray(given)
        if given.shape[1] != 1:
            if not np.isin(given, (0, 1)).all():
                raise Any2VecError(f"`y` has the shape {given.shape}; such a matrix must be of zeros and ones")
            return [np.flatnonzero(row).tolist() for row in given], MATRIX, given.shape[1]
        given = given[:, 0]
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise Any2VecError(f"`y` is {shown(given)}; give the label of each text")
    given = given.tolist() if hasattr(given, "tolist") else list(given)
    are_lists = [isinstance(one, Collection) and not isinstance(one, str | bytes) for one in given]
    if not any(are_lists):
        return [[one] for one in given], NO, 0
    if not all(are_lists):
        first = are_lists.index(False)
        raise Any2VecError(f"label {first} is {shown(given[first])}, but others are lists of labels")
    return [sorted(one, key=str) if isinstance(one, Set) else list(one) for one in given], LISTS, 0


def as_read(label: Any) -> str:
    """Return a label as it is in a vocabulary, which has U+FFFD in place of lone surrogates."""
    return str(label).encode("utf-8", "surrogatepass").decode("utf-8", "replace")


def check_as_many(texts: Sized, labels: Sized) -> None:
    """Raise an error if there is not a label for each text."""
    if len(texts) != len(labels):
        raise Any2VecError(f"{counted(len(texts), 'text')} and {counted(len(labels), 'label')} were given, not as many")


_BALANCED = "balanced"


def weights_in(given: Mapping[Any, float] | str | None) -> Mapping[str, float] | str | None:
    """Check weights of labels; return them by label, or `balanced`, or None.

    Raises
    ------
    Any2VecError
        If they are neither, or a weight is no positive number.
    """
    if given is None or given == _BALANCED:
        return None if given is None else _BALANCED
    pairs = given.items() if isinstance(given, Mapping) else [p.rpartition("=")[::2] for p in str(given).split(",")]
    found = {}
    for label, value in pairs:
        try:
            found[as_read(label)] = weight = float(value)
        except (TypeError, ValueError):
            weight = -1.0
        if label == "" or not 0 < weight < np.inf:
            how = f"it must be {_BALANCED!r}, or weights by labels, such as spam=5,ham=1"
            raise Any2VecError(f"`class_weight` is {shown(given)}; {how}")
    return found


def weights_of(given: Mapping[str, float] | str, labels: list[str], counts: NDArray[np.int64]) -> NDArray[np.float32]:
    """Return the weights of labels, at most 1: larger ones would be larger steps, by which training can diverge."""
    if isinstance(given, str):
        return (counts.min() / counts).astype(np.float32)
    if unknown := [label for label in given if label not in labels]:
        raise Any2VecError(f"`class_weight` has the label {shown(unknown[0])}; the text has {shown(labels)}")
    found = np.array([given.get(label, 1.0) for label in labels])
    return (found / found.max()).astype(np.float32)
