"""Groups of words, for their colours: by labels, or by classes of k-means."""

import os
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from any2vec.errors import Any2VecError, counted, shown

if TYPE_CHECKING:
    from any2vec.graph.vertex_labels import VertexLabels

__all__ = ["MOST", "Groups", "Labels", "by_classes", "by_labels", "labels_of"]

Labels: TypeAlias = "str | os.PathLike[str] | VertexLabels | Mapping[Any, Any]"
"""A file of labels, what `read_labels` returns, or a dict of the label of each word."""

MOST = 200
"""Groups of a map; of more, nobody can tell the colours, and a page is slow."""

_NAMED = 3  # words in an error, and in the name of a class


@dataclass(frozen=True, eq=False)
class Groups:
    """The group of each word.

    Attributes
    ----------
    numbers : int32 array, shape (n,)
        The group of each word, a place in `names`; -1 for none.
    names : list of str
        The names of the groups.
    """

    numbers: NDArray[np.int32]
    names: list[str]


def labels_of(labels: Any) -> "VertexLabels":
    """Return labels that a user gave, read if they are a file."""
    from any2vec.graph.vertex_labels import VertexLabels, read_labels

    if isinstance(labels, str | os.PathLike):
        return read_labels(labels)
    if isinstance(labels, VertexLabels):
        return labels
    if isinstance(labels, Mapping):
        return VertexLabels.of(labels)
    expected = "a file, a dict of labels, or what read_labels returns"
    raise Any2VecError(f"labels: {expected} is expected, not {shown(labels)}")


def by_labels(
    words: Sequence[str], labels: "VertexLabels", known: Container[str], *, skip_unknown: bool = False
) -> Groups:
    """Group words by their labels; of a word with several, by the most frequent one.

    Labels of words that are not `known` are an error, as where labels are predicted, unless they are skipped.
    """
    matrix = np.asarray(labels.matrix, np.bool_)
    labelled = np.flatnonzero(matrix.any(axis=1))
    unknown = [i for i in labelled.tolist() if labels.names[i] not in known]
    if len(unknown) == len(labelled):
        raise Any2VecError(f"{labels.source}: none of the {len(labelled):,} labelled words has a vector")
    if unknown and not skip_unknown:
        some = ", ".join(labels.where(i) for i in unknown[:_NAMED])
        more = ", ..." if len(unknown) > _NAMED else ""
        lacking = f"{len(unknown):,} of {len(labelled):,} labelled words have no vector: {some}{more}"
        raise Any2VecError(f"{labels.source}: {lacking}; `skip_unknown=True` leaves them out")
    places = {word: i for i, word in enumerate(words)}
    pairs = [(places[labels.names[i]], i) for i in labelled if labels.names[i] in places]
    if not pairs:
        raise Any2VecError(f"{labels.source}: none of the {len(words):,} words of the map has a label")
    shown_rows, rows = (np.array(column) for column in zip(*pairs, strict=True))
    counts = matrix[rows].sum(axis=0)
    if (used := int(np.count_nonzero(counts))) > len(rows):
        what = f"{counted(len(rows), 'word')} with {counted(used, 'label')}: too many to tell apart"
        raise Any2VecError(
            f"{labels.source}: {what}; if line i lists the vertices of label i, its `format` is 'labels'"
        )
    if used > MOST:
        raise Any2VecError(f"{labels.source}: {used:,} labels; a map has colours for {MOST}")
    order = np.argsort(-counts, kind="stable")[:used]
    numbers = np.full(len(words), -1, np.int32)
    numbers[shown_rows] = matrix[rows][:, order].argmax(axis=1)  # the first that is set
    return Groups(numbers, [labels.labels[i] for i in order])


def by_classes(
    words: Sequence[str], ids: NDArray[Any], rows: NDArray[np.float32], classes: NDArray[np.int32]
) -> Groups:
    """Name classes, largest first, by frequent words near their centres.

    The nearest words alone are often rare, and the most frequent ones far from the centre: the names are the words
    whose places in both orders have the least sum. Ids fall with the count.
    """
    found, sizes = np.unique(classes, return_counts=True)
    order = found[np.argsort(-sizes, kind="stable")]
    numbers, names = np.empty(len(words), np.int32), []
    for number, one in enumerate(order):
        members = np.flatnonzero(classes == one)
        members = members[np.argsort(ids[members])]
        numbers[members] = number
        own = rows[members]
        norms = np.linalg.norm(own, axis=1)
        cosines = own @ own.sum(axis=0) / np.where(norms > 0, norms, 1)
        nearness = np.argsort(np.argsort(-cosines, kind="stable"))
        best = members[np.argsort(nearness + np.arange(len(members)), kind="stable")[:_NAMED]]
        names.append(", ".join(words[i] for i in best))
    return Groups(numbers, names)
