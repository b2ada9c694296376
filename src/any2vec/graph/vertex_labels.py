"""Class labels of vertices, by which embeddings are judged."""

import os
import warnings
from collections.abc import Container, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from any2vec.errors import Any2VecError, shown
from any2vec.graph.build import HEADER, ReadOptions
from any2vec.graph.graph import label_name, vertex_name
from any2vec.graph.readers import GraphWarning, detect_format
from any2vec.graph.reading import checked_text, graph_file
from any2vec.graph.sources.matrices import load_mat
from any2vec.graph.vertex_kinds import read_fields
from any2vec.io.inputs import InputFile

_EXPECTED = "expected lines of a vertex and its labels"

_NAMED = 3  # unknown vertices in an error

LABEL_FORMATS = ("auto", "vertices", "labels", "mat")


@dataclass(frozen=True, eq=False)
class VertexLabels:
    """Which vertices have which class labels.

    Attributes
    ----------
    names : list of str, length n
        The vertices that have a label.
    matrix : bool array, shape (n, L)
        Whether vertex i has label j.
    labels : list of str, length L
        Names of the labels.
    source : str
        Where they come from, for errors.
    lines : sequence of int, length n or 0
        Line, from 1, in which each vertex is first named, in a file of lines.
    """

    names: list[str]
    matrix: NDArray[np.bool_]
    labels: list[str]
    source: str = "the labels"
    lines: Sequence[int] = ()

    @classmethod
    def of(cls, labels: Mapping[Any, Any]) -> "VertexLabels":
        """Make them of a dict.

        Parameters
        ----------
        labels : dict
            The label of each vertex, or a list, tuple or set of its labels. Vertices and labels are named as vertices
            of graphs are (see `read_graph`); of labels, also bools.

        Raises
        ------
        Any2VecError
            If a vertex or a label has no name.
        """
        if not hasattr(labels, "items"):
            raise Any2VecError(f"labels: a dict of the label of each vertex is expected, not {shown(labels)}")
        pairs = []
        for vertex, given in labels.items():
            where = f"the dict, vertex {shown(vertex)}"
            name = vertex_name(vertex, where)
            several = given if isinstance(given, list | tuple | Set) or getattr(given, "ndim", 0) == 1 else [given]
            pairs += [(name, label_name(label, where), 0) for label in several]
        found = _labels_of_pairs("the dict", pairs, _sorted({label for _, label, _ in pairs}))
        return cls(found.names, found.matrix, found.labels, found.source)

    def __len__(self) -> int:
        return len(self.names)

    def where(self, vertex: int) -> str:
        """Return the name of a vertex, by its number, and its line, for errors."""
        return shown(self.names[vertex]) + (f" (line {self.lines[vertex]:,})" if len(self.lines) else "")


def read_labels(
    path: str | os.PathLike[str],
    *,
    format: str = "auto",  # noqa: A002 (as read_graph)
    comments: str | None = "#%",
    delimiter: str | None = None,
    header: bool = False,
    key: str = "group",
) -> VertexLabels:
    """Read class labels of vertices.

    Parameters
    ----------
    path : str or Path
        A file, also compressed.
    format : str
        ``vertices``: each line is a vertex and its labels; ``labels``: line i, from 0, lists the vertices of label i;
        ``mat``: Matlab, a row for each vertex and a column for each label; ``auto``: by the ending, ``.mat`` (also
        compressed) or else ``vertices``.
    comments : str
        Lines that begin with one of these characters are skipped, and not counted; None or an empty string: none. If
        there are such lines after the first one with labels, a warning says so.
    delimiter : str, optional
        The character between two fields; a space stands for any whitespace. By default as of edge lists (see
        `read_graph`), but a tab in the first line is what separates it. Fields may be quoted, as in CSV.
    header : bool
        Whether the first line that is no comment is a header, and is skipped.
    key : str
        Name of the matrix in a ``.mat`` file.

    Returns
    -------
    VertexLabels
        Vertices are in the order in which they first occur; labels are sorted, as numbers if all are.

    Raises
    ------
    Any2VecError
        If the file cannot be read.
    """
    if format not in LABEL_FORMATS:
        raise Any2VecError(f"`format` is {shown(format)}; known are {', '.join(LABEL_FORMATS)}")
    if not isinstance(path, str | os.PathLike):
        raise Any2VecError(f"labels are read from a file, not from {shown(path)}; `VertexLabels.of` takes a dict")
    options = ReadOptions(comments=checked_text("comments", comments) or "", delimiter=delimiter, header=header)
    checked_text("delimiter", delimiter)
    file = graph_file(path)
    if format == "mat" or (format == "auto" and detect_format(file) == "mat"):
        return _labels_of_mat(file, key)
    lines, notes = read_fields(file, options, "labels", _EXPECTED)
    for note in notes:
        warnings.warn(note, GraphWarning, stacklevel=2)
    pairs, labels = _pairs_of_lines(file.name, lines) if format != "labels" else _pairs_by_label(lines)
    return _labels_of_pairs(file.name, pairs, labels)


_Pairs = list[tuple[str, str, int]]  # vertex, label and line


def _pairs_by_label(lines: list[tuple[int, list[str]]]) -> tuple[_Pairs, list[str]]:
    """Take lines as lists of vertices: line i, from 0, has those of label i."""
    while lines and not lines[-1][1]:  # what follows the last label
        lines.pop()
    pairs = [(vertex, str(label), at) for label, (at, fields) in enumerate(lines) for vertex in fields]
    return pairs, [str(label) for label in range(len(lines))]


def _pairs_of_lines(name: str, lines: list[tuple[int, list[str]]]) -> tuple[_Pairs, list[str]]:
    """Take lines as a vertex and its labels."""
    pairs = []
    for number, fields in lines:
        if not fields:
            continue
        if len(fields) == 1:
            raise Any2VecError(f"{name}, line {number:,}: {shown(fields[0])} has no label; {_EXPECTED}")
        pairs += [(fields[0], label, number) for label in fields[1:]]
    return pairs, _sorted({label for _, label, _ in pairs})


def _labels_of_pairs(source: str, pairs: Sequence[tuple[str, str, int]], labels: list[str]) -> VertexLabels:
    if not pairs:
        raise Any2VecError(f"{source}: has no labels; {_EXPECTED}")
    lines: dict[str, int] = {}
    for vertex, _, line in pairs:
        lines.setdefault(vertex, line)
    names = {name: place for place, name in enumerate(lines)}
    columns = {label: column for column, label in enumerate(labels)}
    matrix = np.zeros((len(names), len(labels)), np.bool_)
    for vertex, label, _ in pairs:
        matrix[names[vertex], columns[label]] = True
    return VertexLabels(list(names), matrix, labels, source, list(lines.values()))


def _labels_of_mat(file: InputFile, key: str) -> VertexLabels:
    entries = load_mat(file, key).tocoo()
    held = np.asarray(entries.data) != 0
    if not held.any():
        raise Any2VecError(
            f"{file.name}, {key!r}: has no labels; expected a row for each vertex and a column for each label"
        )
    vertices, places = np.unique(entries.row[held], return_inverse=True)
    matrix = np.zeros((len(vertices), entries.shape[1]), np.bool_)
    matrix[places, entries.col[held]] = True
    labels = [str(label) for label in range(entries.shape[1])]
    return VertexLabels([str(vertex) for vertex in vertices.tolist()], matrix, labels, f"{file.name}, {key!r}")


def _sorted(labels: Iterable[str]) -> list[str]:
    labels = sorted(labels)
    return sorted(labels, key=int) if all(label.isdecimal() for label in labels) else labels


def labels_of(labels: Any) -> VertexLabels:
    """Return labels that a user gave: read if they are a file, made if they are a dict."""
    if isinstance(labels, str | os.PathLike):
        return read_labels(labels)
    if isinstance(labels, Mapping):
        return VertexLabels.of(labels)
    if isinstance(labels, VertexLabels):
        return labels
    expected = "a file, a dict of labels, or what read_labels returns"
    raise Any2VecError(f"labels: {expected} is expected, not {shown(labels)}")


def labelled(
    labels: VertexLabels, known: Container[str], what: str, skip_unknown: bool
) -> tuple[NDArray[np.intp], NDArray[np.bool_], int]:
    """Return which vertices have a label and are known, their labels, and how many others have a label.

    These are an error that calls them `what`, unless they are skipped.
    """
    matrix = np.asarray(labels.matrix, np.bool_)
    found = np.flatnonzero(matrix.any(axis=1))
    if not len(found):
        raise Any2VecError(f"{labels.source}: no vertex has a label")
    has = np.array([labels.names[i] in known for i in found])
    if not has.any():
        raise Any2VecError(f"{labels.source}: none of the {len(found):,} labelled {what} has a vector")
    unknown = found[~has]
    if len(unknown) and not skip_unknown:
        some = ", ".join(labels.where(i) for i in unknown[:_NAMED]) + ", ..." * (len(unknown) > _NAMED)
        lacking = f"{len(unknown):,} of {len(found):,} labelled {what} have no vector: {some}"
        hint = f"; {HEADER}" if len(labels.lines) and unknown.tolist() == [0] else ""
        raise Any2VecError(f"{labels.source}: {lacking}; `skip_unknown=True` leaves them out{hint}")
    return found[has], matrix[found[has]], len(unknown)
